"""Plans of several services side by side: totals, then each service, then what they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.plan import Plan
from pdd_plan.fleet.shared_plan import AnyPlan, SharedPlan
from pdd_plan.report import digits
from pdd_plan.report.blocks import View
from pdd_plan.report.comparison import Comparison, SharedComparison, warnings_table
from pdd_plan.report.comparison_rows import Row
from pdd_plan.report.comparison_view import side_by_side
from pdd_plan.report.digits import clean
from pdd_plan.report.labels import Labels
from pdd_plan.report.shared_tidy import COST
from pdd_plan.report.tidy import Tidy, Value

SharedRow = Row[SharedPlan]


def compared(
    alternatives: Sequence[tuple[str, AnyPlan]], command: str = ""
) -> Comparison | SharedComparison:
    """Return a comparison of plans that are all of one service, or all of several.

    Parameters
    ----------
    alternatives : sequence of (name, plan)
        What to show side by side.
    command : str
        The command that compares them again.

    Raises
    ------
    InputError
        If there are plans of both kinds, none, or two of one name.
    """
    one = [(name, plan) for name, plan in alternatives if isinstance(plan, Plan)]
    several = [(name, plan) for name, plan in alternatives if isinstance(plan, SharedPlan)]
    if one and several:
        raise InputError(
            Issue(
                f"{one[0][0]} is of one service and {several[0][0]} of several: "
                "they cannot stand side by side",
                help="compare plans of one kind",
            )
        )
    if several:
        return SharedComparison(tuple(several), command)
    return Comparison(tuple(one), command)


def shared_comparison_view(comparison: SharedComparison, lang: str = "en") -> View:
    """Return the report of a comparison of plans of several services.

    Parameters
    ----------
    comparison : SharedComparison
        The plans; values that differ from the first are marked, and the best of a row.
    lang : str
        Language of labels and sentences.

    Returns
    -------
    View

    Raises
    ------
    InputError
        If there is no such language.
    """
    labels = Labels(lang)
    return side_by_side(comparison, _rows(comparison.plans, labels), labels)


def _row(
    label: str,
    value: Callable[[SharedPlan], float | None],
    write: Callable[[float | None], str],
    best: Callable[[Sequence[float]], float] | None = None,
    *,
    is_cost: bool = False,
) -> SharedRow:
    return Row(label, value, lambda plan: write(value(plan)), best, is_cost)


def _rows(plans: Sequence[SharedPlan], labels: Labels) -> list[SharedRow]:
    """Return every row, in the order of reading."""
    currency = clean(plans[0].currency)
    per_hour = labels.word("per_hour", currency=currency)
    rows = [_row(per_hour, _cost("usd_per_hour"), digits.money, min, is_cost=True)]
    per_token = _cost("usd_per_million_output_tokens")
    label = labels.word("per_m_out", currency=currency)
    rows.append(_row(label, per_token, digits.money, min, is_cost=True))
    services = dict.fromkeys(name for plan in plans for name in plan.services)
    for name in services:
        rows += _service_rows(name, per_hour, labels)
    rows += _shared_rows(plans, labels)
    rows.append(
        Row(
            labels.word("limits_met"),
            lambda plan: plan.slo_met if plan.services else None,
            lambda plan: (
                labels.word("yes" if plan.slo_met else "no") if plan.services else digits.MISSING
            ),
        )
    )
    rows.append(
        Row(
            labels.word("status_row"),
            lambda plan: plan.status,
            lambda plan: labels.word(
                f"status.{plan.status}"
                if plan.certificate is not None or plan.status == "infeasible"
                else "evaluated"
            ),
        )
    )
    rows.append(
        _row(labels.word("gap"), lambda p: p.certificate.gap if p.certificate else None, digits.gap)
    )
    return rows


def _cost(key: str) -> Callable[[SharedPlan], float | None]:
    return lambda plan: getattr(plan.cost, key) if plan.cost is not None else None


def _service_rows(name: str, per_hour: str, labels: Labels) -> Iterator[SharedRow]:
    """Yield cost, latency, goodput and chips of one service."""

    def of(value: Callable[[Plan], float | None]) -> Callable[[SharedPlan], float | None]:
        return lambda plan: value(plan.services[name]) if name in plan.services else None

    def label(text: str) -> str:
        return f"{clean(name)}: {text}"

    cost = of(lambda own: own.cost.usd_per_hour if own.cost else None)
    ttft = of(lambda own: own.latency.ttft_s.p90 if own.latency else None)
    tpot = of(lambda own: own.latency.tpot_s.p90 if own.latency else None)
    goodput = of(lambda own: own.goodput.requests_per_s if own.goodput else None)
    chips = of(lambda own: float(sum(pool.chips for pool in own.pools)))
    yield _row(label(per_hour), cost, digits.money, min, is_cost=True)
    yield _row(label(labels.word("p90_ttft")), ttft, digits.seconds, min)
    yield _row(label(f"{labels.word('tpot')} P90"), tpot, digits.seconds, min)
    yield _row(label(f"{labels.word('goodput')}, req/s"), goodput, digits.rate, max)
    yield _row(label(labels.word("chips_row")), chips, _count)


def _shared_rows(plans: Sequence[SharedPlan], labels: Labels) -> Iterator[SharedRow]:
    """Yield how much of every chip and line is used."""
    for site, chip in dict.fromkeys((x.site, x.chip) for plan in plans for x in plan.stock):

        def used(plan: SharedPlan, key: tuple[str, str] = (site, chip)) -> float | None:
            return next((x.used for x in plan.stock if (x.site, x.chip) == key), None)

        yield _row(f"{labels.word('chips_row')}, {clean(site)} {clean(chip)}", used, _count)
    for ends in dict.fromkeys((x.from_site, x.to_site) for plan in plans for x in plan.links):

        def gbps(plan: SharedPlan, ends: tuple[str, str] = ends) -> float | None:
            mine = [x.gbps for x in plan.links if (x.from_site, x.to_site) == ends]
            return sum(mine) if plan.services else None

        name = labels.word("line_row", a=clean(ends[0]), b=clean(ends[1]))
        yield _row(name, gbps, lambda value: digits.significant(value, 6))


def _count(value: float | None) -> str:
    return digits.number(value, 0)


def shared_comparison_tables(comparison: SharedComparison) -> tuple[Tidy, ...]:
    """Return a comparison as tidy tables: a row an alternative, a service, a shared thing.

    Parameters
    ----------
    comparison : SharedComparison
        The plans.
    """
    head = ("alternative", "scenario", "sha256", "status", "gap", "currency")
    totals: list[tuple[Value, ...]] = []
    services: list[tuple[Value, ...]] = []
    stock: list[tuple[Value, ...]] = []
    for name, plan in comparison.alternatives:
        proof = plan.certificate
        totals.append(
            (
                *(name, plan.scenario.name, plan.scenario.sha256, plan.status),
                *(proof.gap if proof else None, plan.currency),
                *(getattr(plan.cost, key, None) for key in COST),
                plan.slo_met if plan.services else None,
            )
        )
        for service, own in plan.services.items():
            times = own.latency
            services.append(
                (
                    *(name, service, own.cost.usd_per_hour if own.cost else None),
                    times.ttft_s.p90 if times else None,
                    times.tpot_s.p90 if times else None,
                    own.demand.requests_per_s if own.demand else None,
                    own.goodput.requests_per_s if own.goodput else None,
                    sum(pool.chips for pool in own.pools),
                )
            )
        stock += [(name, x.site, x.chip, x.available, x.used) for x in plan.stock]
    load = ("demand_requests_per_s", "goodput_requests_per_s", "chips")
    keys = ("alternative", "service", "usd_per_hour", "ttft_p90_s", "tpot_p90_s", *load)
    return (
        Tidy("comparison", (*head, *COST, "slo_met"), tuple(totals)),
        Tidy("services", keys, tuple(services)),
        Tidy("shared_stock", ("alternative", "site", "chip", "available", "used"), tuple(stock)),
        warnings_table(comparison.alternatives),
    )
