"""The single changes of a scenario whose effect on a plan is worth knowing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pdd_plan.fleet.plan import Plan
from pdd_plan.scenario.lines import Link
from pdd_plan.scenario.schema import Scenario
from pdd_plan.units import format_quantity

Kind = Literal["price", "limit", "stock", "bandwidth", "rate", "hit_rate", "budget"]

SHARE_STEP = 0.10
"""Prices, the budget and the arrival rate are changed by this share."""
HIT_RATE_STEP = 0.05
"""The mean hit rate is changed by 5 points, or halfway to its end where that is nearer."""
LIMIT_STEP_S = 1.0
"""Limits are changed by a second, or by a fifth where that is less."""
LIMIT_SHARE = 0.2
LINE_STEP_BYTES_PER_S = 1.25e9
"""Lines are changed by 10 Gbps."""
DIGITS = 6


@dataclass(frozen=True)
class Probe:
    """One change of a scenario.

    Attributes
    ----------
    kind : str
        What is changed.
    subject : str
        Whose it is, such as ``shanghai h20``; empty for what belongs to the whole scenario.
    path : str
        Path of the scenario that is set.
    now, value : str
        What the plan was made with, and what is tried, each with its unit.
    step : str
        By how much it is changed, in words.
    sign : {-1, 1}
        Whether `value` is below or above `now`.
    """

    kind: Kind
    subject: str
    path: str
    now: str
    value: str
    step: str
    sign: int

    @property
    def change(self) -> str:
        """The override of the scenario."""
        return f"{self.path}={self.value}"

    @property
    def relaxes(self) -> bool:
        """Whether every fleet that was allowed before is allowed still, at the same cost."""
        return self.sign > 0 and self.kind in ("limit", "stock", "budget")


def probes_of(scenario: Scenario, plan: Plan) -> tuple[Probe, ...]:
    """Return the changes to try around a plan.

    Parameters
    ----------
    scenario : Scenario
        What was planned.
    plan : Plan
        Its plan, with a fleet.

    Returns
    -------
    tuple of Probe
        Changes that cannot matter to the objective are left out: prices where the goodput of a
        stock is maximized, the demand where goodput is the answer.
    """
    found = [*_limits(scenario), *_stock(scenario, plan), *_lines(scenario, plan)]
    if scenario.objective != "goodput":
        found += _prices(scenario)
    if scenario.budget_usd_per_hour:
        amount = scenario.budget_usd_per_hour
        found += _around("budget", "", "budget", amount, "price", None, scenario)
    if scenario.objective == "cost_per_token" and plan.demand is not None:
        rate = plan.demand.requests_per_s
        found += _around("rate", "", "workload.rate", rate, "request_rate", None, scenario)
    return (*found, *_hits(plan))


def link_path(scenario: Scenario, link: Link) -> str:
    """Return the path of a line in overrides: by its name, or by its place where two share one."""
    names = [other.name for other in scenario.links]
    alone = names.count(link.name) == 1 and "." not in link.name
    return f"links.{link.name if alone else scenario.links.index(link)}"


def _around(
    kind: Kind,
    subject: str,
    path: str,
    now: float,
    dimension: str,
    step: float | None,
    scenario: Scenario,
) -> Iterator[Probe]:
    """Yield a change down and one up, by 10 % where no step is given; nothing below zero."""
    by = SHARE_STEP * now if step is None else step

    def text(value: float) -> str:
        return format_quantity(value, dimension, scenario.currency, DIGITS)

    for sign in (-1, 1):
        value = now + sign * by
        if value > 1e-12 * now and now > 0:
            said = f"{100 * SHARE_STEP:g} %" if step is None else text(by)
            yield Probe(kind, subject, path, text(now), text(value), said, sign)


def _limits(scenario: Scenario) -> Iterator[Probe]:
    for limit in scenario.slo.limits:
        step = min(LIMIT_STEP_S, LIMIT_SHARE * limit.limit_s)
        path = f"slo.{limit.key}"
        yield from _around("limit", limit.key, path, limit.limit_s, "time", step, scenario)


def _prices(scenario: Scenario) -> Iterator[Probe]:
    for site_name, site in scenario.sites.items():
        for name, chip in site.chips.items():
            path = f"sites.{site_name}.chips.{name}.price"
            owner, price = f"{site_name} {name}", chip.usd_per_chip_hour
            yield from _around("price", owner, path, price, "price", None, scenario)
    for link in scenario.links:
        path = link_path(scenario, link)
        for key, amount, dimension in (
            ("price", link.usd_per_bytes_per_s_hour, "bandwidth_price"),
            ("fixed_price", link.usd_per_hour, "price"),
        ):
            if amount:
                own = f"{path}.{key}"
                yield from _around("price", link.name, own, amount, dimension, None, scenario)


def _stock(scenario: Scenario, plan: Plan) -> Iterator[Probe]:
    """One more engine of each chip: of the largest shape of it in use, or of any in use."""
    sizes = {(pool.site, pool.chip): 0 for pool in plan.pools}
    for pool in plan.pools:
        key = (pool.site, pool.chip)
        sizes[key] = max(sizes[key], pool.chips // max(pool.engines, 1))
    largest = max(sizes.values(), default=1)
    for site_name, site in scenario.sites.items():
        for name, chip in site.chips.items():
            more = sizes.get((site_name, name), largest)
            yield Probe(
                "stock",
                f"{site_name} {name}",
                f"sites.{site_name}.chips.{name}.available",
                str(chip.available),
                str(chip.available + more),
                f"{more} chips",
                1,
            )


def _lines(scenario: Scenario, plan: Plan) -> Iterator[Probe]:
    """Every line that the plan buys, 10 Gbps smaller and larger."""
    for link in scenario.links:
        bought = [
            one.gbps
            for one in plan.links
            if (one.from_site, one.to_site, one.name or "")
            == (link.from_site, link.to_site, link.given_name)
        ]
        if len(bought) == 1:
            path = f"{link_path(scenario, link)}.bandwidth"
            size, step = bought[0] * 1.25e8, LINE_STEP_BYTES_PER_S
            yield from _around("bandwidth", link.name, path, size, "bandwidth", step, scenario)


def _hits(plan: Plan) -> Iterator[Probe]:
    if plan.workload is None:
        return
    now = plan.workload.mean_hit_rate
    for sign, room in ((-1, now), (1, 1.0 - now)):
        step = HIT_RATE_STEP if room > HIT_RATE_STEP else room / 2
        if step > 1e-6:
            value = now + sign * step
            yield Probe(
                "hit_rate",
                "",
                "workload.mean_hit_rate",
                f"{100 * now:.4g} %",
                f"{100 * value:.6g} %",
                f"{100 * step:.6g} points",
                sign,
            )
