"""What a break-even is asked of, and when something pays."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Literal

from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.plan import Plan
from pdd_plan.scenario import Question, SharedScenario
from pdd_plan.scenario.lines import Link
from pdd_plan.scenario.overrides import real_path
from pdd_plan.scenario.schema import Scenario
from pdd_plan.scenario.services import beside_services
from pdd_plan.studies.probes import link_path
from pdd_plan.studies.sweep_outcome import SAME_COST, Outcome
from pdd_plan.units import nearest, to_si

What = Literal["chip", "line", "split", "relay"]

CHIP = re.compile(r"(sites\.([^.]+)\.chips\.([^.]+))\.(\w+)")
SERVICE = re.compile(r"services\.([^.]+)\.(.+)")
LINE = re.compile(r"(links\.([^.]+))\.(\w+)")
LONGEST_RTT_MS = 1000.0
"""No line on earth takes longer; by way of a geostationary satellite it is some 600 ms."""
NO_LINE = "0.000001 Gbps"
"""Size of a line that can carry nothing: the plan is then made as if there were none."""


@dataclass(frozen=True)
class Asked:
    """A value of the scenario, and what is to pay or not as it changes.

    Attributes
    ----------
    what : {"chip", "line", "split", "relay"}
        A chip at a site, a line, any fleet over several sites, or a relay.
    subject : str
        Which chip or line; empty for the others.
    path : str
        Path of the scenario that is varied.
    unit : str
        Unit of the numbers; empty for bare numbers.
    now : float or None
        The scenario's own value.
    without : tuple of str
        Overrides that take the chip or line away; empty for the others.
    ways : tuple of int
        Directions in which to look: -1 down, 1 up.
    """

    what: What
    subject: str
    path: str
    unit: str
    now: float | None
    without: tuple[str, ...] = ()
    ways: tuple[int, ...] = (-1, 1)

    @property
    def is_price(self) -> bool:
        """Whether the chip or line is paid by the value: the cost of a fleet is linear in it."""
        return bool(self.without) and self.path.endswith((".price", ".fixed_price"))

    @property
    def most(self) -> float:
        """The largest value to try."""
        return LONGEST_RTT_MS if self.path.endswith(".rtt") and self.unit == "ms" else math.inf

    def at(self, value: float) -> tuple[str, ...]:
        """Return the overrides for a value."""
        return (f"{self.path}={value:.10g} {self.unit}".rstrip(),)


@dataclass(frozen=True)
class Verdict:
    """Whether something pays at a value, the cost of the best fleet, and whether that is proven."""

    pays: bool
    sure: bool
    usd_per_hour: float


def verdict(asked: Asked, outcome: Outcome, without: Outcome | None) -> Verdict:
    """Say whether something pays.

    A chip or a line pays where the best fleet costs less than the best without it, or where there
    is none without it; a split or a relay where the best fleet is one, or that of any service.

    Parameters
    ----------
    asked : Asked
        What is to pay.
    outcome : Outcome
        Of the scenario at a value.
    without : Outcome or None
        Of the scenario without the chip or line; where that cannot even be built, for want of any
        chip for a role say, there is no plan without it.
    """
    cost, least = _cost(outcome), _least(outcome)
    if without is None:
        kinds = ("pdd",) if asked.what == "relay" else ("pdd", "cross_site")
        return Verdict(
            any(kind in kinds for kind in outcome.kinds), outcome.status != "feasible", cost
        )
    other, other_least = _cost(without), _least(without)
    pays = cost < other * (1.0 - SAME_COST) if math.isfinite(other) else math.isfinite(cost)
    slack = 1.0 - SAME_COST
    sure = cost < other_least * slack if pays else least >= other * slack**2
    return Verdict(pays, sure, cost)


def _cost(outcome: Outcome) -> float:
    return math.inf if outcome.usd_per_hour is None else outcome.usd_per_hour


def _least(outcome: Outcome) -> float:
    """Return what the best fleet costs at least; without end where it is proven that none is."""
    if outcome.usd_per_hour is None:
        return math.inf
    return outcome.lower_bound_usd_per_hour or 0.0


def asked_of(scenario: Question, path: str, what: What | None, unit: str | None = None) -> Asked:
    """Return the question for a path of the scenario.

    Parameters
    ----------
    scenario : Scenario or SharedScenario
        As loaded.
    path : str
        Such as ``sites.shanghai.chips.h20.price``.
    what : str or None
        What is to pay; by default the chip or line that the path belongs to, else a split.
    unit : str or None
        Unit of the values that are given beside it; None where none are.

    Raises
    ------
    InputError
        If the path is of no chip or line although one is asked about, or its value is not known.
    """
    known = _known(scenario, path)
    if known is None:
        real_path(scenario.source.data, path)
    if known is None and unit is None:
        raise InputError(
            Issue(
                f"the present value of {path} is no single known number",
                path="--of",
                help="say where to look: --between 'LOW,HIGH', each with its unit",
            )
        )
    number, own_unit = (_tidy(known[0]), known[1]) if known else (None, "")
    if unit is not None and unit != own_unit:
        number, own_unit = None, unit
    chip, line = CHIP.fullmatch(path), LINE.fullmatch(path)
    default: What = "chip" if chip else "line" if line else "split"
    what = what or default
    if what in ("chip", "line") and what != default:
        raise InputError(
            Issue(
                f"{path} belongs to no {what}",
                path="--pays",
                help=f"use --pays {default}, or name a path such as "
                + ("sites.NAME.chips.CHIP.price" if what == "chip" else "links.FROM-TO.price"),
            )
        )
    subject: str = ""
    without: tuple[str, ...] = ()
    if what == "chip" and chip:
        subject, without = f"{chip[2]} {chip[3]}", (f"{chip[1]}.available=0",)
    elif what == "line" and line:
        subject = _link(scenario, line[2]).name
        without = (f"{line[1]}.bandwidth={NO_LINE}",)
    return Asked(what, subject, path, own_unit, number, without)


def asked_about(scenario: Scenario, plan: Plan) -> tuple[Asked, ...]:
    """Return the questions that a plan raises: prices, distances and sizes of lines.

    Parameters
    ----------
    scenario : Scenario
        What was planned, with objective ``cost_per_token``.
    plan : Plan
        Its plan.
    """
    found = []
    for site_name, site in scenario.sites.items():
        for name, chip in site.chips.items():
            if chip.usd_per_chip_hour > 0 and chip.available > 0:
                path = f"sites.{site_name}.chips.{name}.price"
                found.append(asked_of(scenario, path, None))
    for link in scenario.links:
        path = link_path(scenario, link)
        if link.usd_per_bytes_per_s_hour:
            found.append(asked_of(scenario, f"{path}.price", None))
        if link.rtt_s > 0:
            found.append(asked_of(scenario, f"{path}.rtt", None))
        sizes = [one.gbps for one in plan.links if f"{one.from_site}-{one.to_site}" == link.name]
        if len(sizes) == 1:
            asked = asked_of(scenario, f"{path}.bandwidth", None, "Gbps")
            found.append(replace(asked, now=_tidy(sizes[0]), ways=(-1,)))
    return tuple(found)


def _tidy(number: float) -> float:
    """Return a number without the rounding errors of a change of unit."""
    return float(f"{number:.12g}")


def _known(scenario: Question, path: str) -> tuple[float, str] | None:
    """Return the present value of a path in the unit it is told in, where it is one number."""
    chip, line, currency = CHIP.fullmatch(path), LINE.fullmatch(path), scenario.currency
    if chip and chip[4] == "price":
        return _chip_price(scenario, chip[2], chip[3]), f"{currency}/h"
    if line:
        return _line_value(_link(scenario, line[2]), line[3], currency)
    if isinstance(scenario, SharedScenario):
        wrong = beside_services(path, scenario.services)
        if wrong is not None:
            raise InputError(Issue(wrong[0], path="--of", help=wrong[1]))
        inside = SERVICE.fullmatch(path)
        return _known_of_service(_service(scenario, inside[1]), inside[2]) if inside else None
    return _known_of_service(scenario, path)


def _known_of_service(scenario: Scenario, path: str) -> tuple[float, str] | None:
    """Return the present value of a limit or of the load of a service."""
    if path.startswith("slo.") and path[4:] in {limit.key for limit in scenario.slo.limits}:
        return float(getattr(scenario.slo, path[4:])), "s"
    if path == "workload.rate" and scenario.workload.rate_per_s:
        return scenario.workload.rate_per_s, "req/s"
    if path == "workload.mean_hit_rate" and scenario.workload.mean_hit_rate is not None:
        return 100.0 * scenario.workload.mean_hit_rate, "%"
    return None


def _service(scenario: SharedScenario, name: str) -> Scenario:
    alone = scenario.scenarios.get(name)
    if alone is None:
        raise _unknown(f"services.{name}", "services.", name, list(scenario.scenarios))
    return alone


def _chip_price(scenario: Question, site_name: str, name: str) -> float:
    site = scenario.sites.get(site_name)
    if site is None:
        raise _unknown(f"sites.{site_name}", "sites.", site_name, list(scenario.sites))
    if name not in site.chips:
        path = f"sites.{site_name}.chips."
        raise _unknown(f"{path}{name}", path, name, list(site.chips))
    return site.chips[name].usd_per_chip_hour


def _line_value(link: Link, key: str, currency: str) -> tuple[float, str] | None:
    unit = f"{currency}/Gbps/month"
    if key == "price" and link.usd_per_bytes_per_s_hour is not None:
        size = to_si(1.0, unit, "bandwidth_price", currency)
        return link.usd_per_bytes_per_s_hour / size, unit
    if key == "fixed_price" and link.usd_per_hour is not None:
        return link.usd_per_hour, f"{currency}/h"
    if key == "rtt":
        return 1e3 * link.rtt_s, "ms"
    if key == "bandwidth" and len(link.bandwidth.levels()) == 1:
        return link.bandwidth.min_bytes_per_s / 1.25e8, "Gbps"
    return None


def _link(scenario: Question, name: str) -> Link:
    if name.isdigit() and int(name) < len(scenario.links):
        return scenario.links[int(name)]
    for link in scenario.links:
        if link.name == name:
            return link
    raise _unknown(f"links.{name}", "links.", name, [link.name for link in scenario.links])


def _unknown(path: str, parent: str, name: str, known: list[str]) -> InputError:
    near = nearest(name, known)
    mend = f"did you mean {parent}{near}?" if near else f"known: {', '.join(known) or 'none'}"
    return InputError(Issue(f"{path} is not in the scenario", path="--of", help=mend))
