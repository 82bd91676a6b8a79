"""The rows of a comparison: cost, latency, load, fleet and proof."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic

from pdd_plan.fleet.plan import Plan
from pdd_plan.report import digits, sentences
from pdd_plan.report.comparison import Comparison, P
from pdd_plan.report.digits import clean
from pdd_plan.report.labels import Labels
from pdd_plan.report.tidy import Value

PoolKey = tuple[str, str, str]


@dataclass(frozen=True)
class Row(Generic[P]):
    """One row: how to read its value off a plan, how to write it, and which end is best."""

    label: str
    value: Callable[[P], Value]
    text: Callable[[P], str]
    best: Callable[[Sequence[float]], float] | None = None
    is_cost: bool = False


def all_rows(comparison: Comparison, labels: Labels) -> list[Row[Plan]]:
    """Return every row of the comparison, in the order of reading."""
    return [
        *_money_rows(comparison, labels),
        *_latency_rows(comparison, labels),
        *_load_rows(comparison, labels),
        *_fleet_rows(comparison, labels),
        *_proof_rows(labels),
    ]


def _money_rows(comparison: Comparison, labels: Labels) -> list[Row[Plan]]:
    currencies = {plan.currency for plan in comparison.plans}
    one = clean(currencies.pop()) if len(currencies) == 1 else ""

    def amount(key: str) -> tuple[Callable[[Plan], Value], Callable[[Plan], str]]:
        def value(plan: Plan) -> Value:
            found = getattr(plan.cost, key, None)
            return None if found is None else float(found)

        def text(plan: Plan) -> str:
            found = value(plan)
            said = digits.money(found if isinstance(found, float) else None)
            return said if one or found is None else f"{said} {clean(plan.currency)}"

        return value, text

    unit = one or labels.word("cost_row")
    per_m_out = labels.word("per_m_out", currency=unit)
    keys = (
        (labels.word("per_hour", currency=unit), "usd_per_hour"),
        (per_m_out, "usd_per_million_output_tokens"),
        (
            f"{per_m_out} {labels.word('per_m_goodput')}",
            "usd_per_million_output_tokens_at_goodput",
        ),
        (labels.word("per_m_total", currency=unit), "usd_per_million_total_tokens"),
    )
    rows = [Row(label, *amount(key), best=min, is_cost=True) for label, key in keys]
    first = comparison.plans[0].cost
    if one and first is not None and first.usd_per_million_output_tokens > 0:
        base = first.usd_per_million_output_tokens

        def change(plan: Plan) -> float | None:
            return None if plan.cost is None else plan.cost.usd_per_million_output_tokens / base - 1

        name = clean(comparison.alternatives[0][0])
        label = labels.say("against", what=keys[1][0], name=name)
        rows.insert(2, Row(label, change, lambda plan: digits.signed_percent(change(plan))))
    return rows


def _latency_rows(comparison: Comparison, labels: Labels) -> list[Row[Plan]]:
    def times(metric: str, name: str) -> Row[Plan]:
        def value(plan: Plan) -> Value:
            return getattr(getattr(plan.latency, metric, None), name, None)

        def text(plan: Plan) -> str:
            found = value(plan)
            return digits.seconds(found if isinstance(found, float) else None)

        key = {"ttft_s": "ttft", "tpot_s": "tpot", "handoff_gap_s": "handoff_gap"}[metric]
        return Row(f"{labels.word(key)} {name.upper()}", value, text, best=min)

    rows = [times("ttft_s", name) for name in ("p50", "p90", "p99")]
    rows.append(times("tpot_s", "p90"))
    if any(plan.latency is not None and plan.latency.handoff_gap_s for plan in comparison.plans):
        rows.append(times("handoff_gap_s", "p90"))

    def met(plan: Plan) -> Value:
        return all(item.met for item in plan.slo) if plan.slo else None

    def met_text(plan: Plan) -> str:
        found = met(plan)
        return digits.MISSING if found is None else labels.word("yes" if found else "no")

    return [*rows, Row(labels.word("limits_met"), met, met_text)]


def _load_rows(comparison: Comparison, labels: Labels) -> list[Row[Plan]]:
    def demand(plan: Plan) -> Value:
        return plan.demand.requests_per_s if plan.demand is not None else None

    def goodput(plan: Plan) -> Value:
        return plan.goodput.requests_per_s if plan.goodput is not None else None

    references = {plan.bcr_reference for plan in comparison.plans if plan.bcr is not None}
    shared = references.pop() if len(references) == 1 else None
    label = labels.word("bcr")
    if shared is not None:
        label = f"{label} ({labels.name(clean(shared))} = 1)"

    def bcr(plan: Plan) -> str:
        if plan.bcr is None:
            return digits.MISSING
        return digits.number(plan.bcr, 2) if shared else sentences.bcr_text(plan, labels)

    return [
        Row(f"{labels.word('demand')}, req/s", demand, lambda p: digits.rate(_number(demand(p)))),
        Row(
            f"{labels.word('goodput')}, req/s",
            goodput,
            lambda p: digits.rate(_number(goodput(p))),
            best=max,
        ),
        Row(label, lambda plan: plan.bcr, bcr, best=max if shared is not None else None),
    ]


def _number(value: Value) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _fleet_rows(comparison: Comparison, labels: Labels) -> list[Row[Plan]]:
    plans = comparison.plans

    def of_routing(key: str) -> Callable[[Plan], Value]:
        return lambda plan: getattr(plan.routing, key, None)

    def threshold(plan: Plan) -> str:
        if plan.routing is None:
            return digits.MISSING
        return sentences.threshold_text(plan, plan.routing.threshold)

    requests, tokens = of_routing("relay_request_fraction"), of_routing("relay_token_fraction")
    rows = [
        Row(labels.word("threshold"), of_routing("threshold"), threshold),
        Row(
            labels.word("relay_requests"),
            requests,
            lambda plan: digits.percent(_number(requests(plan))),
        ),
        Row(
            labels.word("relay_tokens"), tokens, lambda plan: digits.percent(_number(tokens(plan)))
        ),
    ]
    pools = [(pool.role, pool.site, pool.chip) for plan in plans for pool in plan.pools]
    order = {role: number for number, role in enumerate(("prefill", "relay", "decode"))}
    by_role = sorted(dict.fromkeys(pools), key=lambda pool: order[pool[0]])
    rows += [_chips_row(key, labels) for key in by_role]
    links = [(link.from_site, link.to_site) for plan in plans for link in plan.links]
    rows += [_link_row(key, labels) for key in dict.fromkeys(links)]
    return [*rows, _total_row(labels)]


def _chips_row(key: PoolKey, labels: Labels) -> Row[Plan]:
    role, site, chip = key

    def chips(plan: Plan) -> Value:
        mine = [p.chips for p in plan.pools if (p.role, p.site, p.chip) == key]
        return sum(mine) if plan.pools else None

    label = f"{labels.word('chips_row')}, {clean(site)} {labels.word(role)} {clean(chip)}"
    return Row(label, chips, lambda plan: digits.number(_number(chips(plan)), 0))


def _total_row(labels: Labels) -> Row[Plan]:
    def chips(plan: Plan) -> Value:
        return sum(pool.chips for pool in plan.pools) if plan.pools else None

    label = f"{labels.word('chips_row')}, {labels.word('total')}"
    return Row(label, chips, lambda plan: digits.number(_number(chips(plan)), 0))


def _link_row(key: tuple[str, str], labels: Labels) -> Row[Plan]:
    def gbps(plan: Plan) -> Value:
        mine = [p.gbps for p in plan.links if (p.from_site, p.to_site) == key]
        return sum(mine) if plan.pools else None

    label = labels.word("line_row", a=clean(key[0]), b=clean(key[1]))
    return Row(label, gbps, lambda plan: digits.significant(_number(gbps(plan)), 6))


def _proof_rows(labels: Labels) -> list[Row[Plan]]:
    def gap(plan: Plan) -> Value:
        return plan.certificate.gap if plan.certificate is not None else None

    def status(plan: Plan) -> str:
        proven = plan.certificate is not None or plan.status == "infeasible"
        return labels.word(f"status.{plan.status}" if proven else "evaluated")

    return [
        Row(labels.word("status_row"), lambda plan: plan.status, status),
        Row(labels.word("gap"), gap, lambda plan: digits.gap(_number(gap(plan)))),
    ]
