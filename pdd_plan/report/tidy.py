"""Plan → tidy tables: one row an observation, raw numbers, the keys of the JSON plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pdd_plan.fleet.plan import (
    Baseline,
    BreakEven,
    Percentiles,
    Plan,
    PlanLink,
    PlanModel,
    Pool,
    TrafficGroup,
)
from pdd_plan.fleet.plan_uncertainty import Probability, Risk, Spread, Uncertainty
from pdd_plan.fleet.shared_plan import AnyPlan

SUMMARY_KEYS = ("section", "key", "value")
"""Headings of the one table that has a row for each number."""

Value = str | bool | int | float | None


@dataclass(frozen=True)
class Tidy:
    """A table for other programs: a name, keys as headings, and raw values."""

    name: str
    keys: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def warning(self, texts: Iterable[str]) -> Tidy:
        """Return the table with these warnings in a last column; without any, as it is."""
        said = "; ".join(texts)
        if not said:
            return self
        return Tidy(self.name, (*self.keys, "warnings"), tuple((*row, said) for row in self.rows))


def plan_tables(plan: Plan) -> tuple[Tidy, ...]:
    """Return every table of a plan; a table without rows keeps its headings."""
    return (
        _summary(plan),
        models_table("slo", plan.slo, _SLO),
        _latency(plan),
        _groups("classes", plan.classes),
        _groups("regions", plan.regions),
        models_table("pools", plan.pools, _POOL),
        models_table("links", plan.links, _LINK),
        models_table("paid_chips", plan.paid_chips, _PAID_CHIPS),
        models_table("lanes", plan.lanes, ("from", "to", "name", "share", "threshold")),
        _baselines(plan),
        _baseline_parts("baseline_pools", [(b.name, b.pools) for b in plan.baselines], _POOL),
        _baseline_parts("baseline_links", [(b.name, b.links) for b in plan.baselines], _LINK),
        models_table("sensitivity", plan.sensitivity, _SENSITIVITY),
        models_table("binding", plan.binding, ("what", "value", "limit", "unit")),
        break_even_table(plan.break_even),
        changes_table(plan),
        models_table("assumptions", plan.assumptions, _ASSUMPTION),
        models_table("rejected_shapes", plan.rejected_shapes, ("site", "chip", "shape", "reason")),
        Tidy("warnings", ("warning",), tuple((text,) for text in plan.warnings)),
        _distribution(plan),
        _hit_rates(plan),
        models_table("front", plan.front, ("label", "usd_per_hour", "ttft_p90_s")),
        *_outages(plan),
        *_risk_tables(plan.uncertainty),
    )


_SLO = (
    "metric",
    "percentile",
    "limit",
    "predicted",
    "met",
    "fraction_within",
    "period",
    "traffic",
    "region",
)
_POOL = (
    "site",
    "role",
    "chip",
    "shape",
    "engines",
    "chips",
    "utilization",
    "bound_by",
    "usd_per_hour",
    "usd_per_chip_hour",
    "chips_available",
    "request_fraction",
    "slots_per_engine",
    "kv_memory_utilization",
)
_PAID_CHIPS = (
    "site",
    "chip",
    "used",
    "paid",
    "under_contract",
    "node",
    "idle_usd_per_hour",
)
_LINK = ("from", "to", "name", "gbps", "max_gbps", "utilization", "usd_per_hour")
_SENSITIVITY = (
    "change",
    "path",
    "value",
    "feasible",
    "usd_per_hour",
    "ttft_p90_s",
    "effect",
    "kind",
    "subject",
    "from_value",
    "step",
    "direction",
    "relative_change",
    "goodput_requests_per_s",
    "same_fleet",
    "gap",
    "within_gap",
)
_BREAK_EVEN = (
    "what",
    "subject",
    "path",
    "unit",
    "now",
    "pays",
    "pays_at",
    "fails_at",
    "tried_from",
    "tried_to",
    "usd_per_hour_without",
    "possible_without",
    "proven",
    "reason",
)
_ASSUMPTION = ("path", "value", "unit", "source", "confidence")
_PERCENTILES = ("p50", "p90", "p95", "p99", "mean")


def break_even_table(items: Iterable[BreakEven]) -> Tidy:
    """Return a row for every break-even."""
    return models_table("break_even", items, _BREAK_EVEN)


def models_table(name: str, items: Iterable[PlanModel], keys: Sequence[str]) -> Tidy:
    """Return parts of a plan as a table, one row a part."""
    return Tidy(name, tuple(keys), tuple(_cells(item, keys) for item in items))


def _cells(item: PlanModel, keys: Sequence[str]) -> tuple[Value, ...]:
    values = item.model_dump()
    return tuple(values[key] for key in keys)


def _baseline_parts(
    name: str,
    parts: Sequence[tuple[str, Sequence[Pool] | Sequence[PlanLink]]],
    keys: Sequence[str],
) -> Tidy:
    rows = tuple((owner, *_cells(item, keys)) for owner, items in parts for item in items)
    return Tidy(name, ("baseline", *keys), rows)


def _summary(plan: Plan) -> Tidy:
    """One row a number: section, key, value."""
    own = ("architecture", "currency", "model", "precision", "bcr", "bcr_reference")
    rows = plan_rows(plan, own)
    parts: tuple[tuple[str, PlanModel | None], ...] = (
        ("cost", plan.cost),
        ("demand", plan.demand),
        ("goodput", plan.goodput),
        ("routing", plan.routing),
        ("handoff", plan.handoff),
        ("workload", plan.workload),
        ("certificate", plan.certificate),
        ("uncertainty", plan.uncertainty),
        ("headroom", plan.uncertainty.headroom if plan.uncertainty is not None else None),
    )
    for section, part in parts:
        rows += part_rows(section, part)
    found = plan.resilience
    if found is not None and found.tolerated is not None:
        rows += [("tolerated", key, value) for key, value in found.tolerated.model_dump().items()]
        rows += [
            ("resilience", "usd_per_hour", found.usd_per_hour),
            ("resilience", "usd_per_hour_without", found.usd_per_hour_without),
            ("resilience", "binding", ", ".join(found.binding)),
        ]
    if plan.infeasibility is not None:
        rows.append(("infeasibility", "reason", plan.infeasibility.reason))
    return Tidy("summary", SUMMARY_KEYS, tuple(rows))


def plan_rows(plan: AnyPlan, own: Sequence[str]) -> list[tuple[Value, ...]]:
    """Return a row for each number that tells which plan it is, and for more of its keys."""
    rows: list[tuple[Value, ...]] = [
        ("plan", "schema_version", plan.schema_version),
        ("plan", "tool_version", plan.tool_version),
        ("plan", "scenario", plan.scenario.name),
        ("plan", "sha256", plan.scenario.sha256),
        ("plan", "command", plan.command),
        ("plan", "status", plan.status),
    ]
    return rows + [("plan", key, getattr(plan, key)) for key in own]


def part_rows(section: str, part: PlanModel | None) -> list[tuple[Value, ...]]:
    """Return a row for each number of a part of a plan; none where there is no such part."""
    values = part.model_dump().items() if part is not None else ()
    return [(section, key, value) for key, value in values if not _nested(value)]


def _nested(value: object) -> bool:
    return isinstance(value, dict | list | tuple)


def _latency(plan: Plan) -> Tidy:
    """One row a metric and plan; `this_plan` and the baselines under each other."""
    owners = [("this_plan", plan.latency), *((b.name, b.latency) for b in plan.baselines)]
    metrics = ("ttft_s", "ttft_direct_s", "ttft_relay_s", "tpot_s", "handoff_gap_s", "e2e_s")
    rows = []
    for owner, latency in owners:
        for metric in metrics if latency is not None else ():
            block: Percentiles | None = getattr(latency, metric)
            if block is not None:
                rows.append((owner, metric, *_cells(block, _PERCENTILES)))
    return Tidy("latency", ("plan", "metric", *_PERCENTILES), tuple(rows))


def _groups(name: str, groups: Sequence[TrafficGroup]) -> Tidy:
    """One row a group of requests and metric."""
    rows = []
    for group in groups:
        for metric in ("ttft_s", "tpot_s", "handoff_gap_s", "e2e_s"):
            block: Percentiles | None = getattr(group, metric)
            if block is not None:
                own = (group.name, group.request_fraction, metric)
                rows.append((*own, *_cells(block, _PERCENTILES)))
    return Tidy(name, ("name", "request_fraction", "metric", *_PERCENTILES), tuple(rows))


def _baselines(plan: Plan) -> Tidy:
    cost = (
        "usd_per_hour",
        "chips_usd_per_hour",
        "links_usd_per_hour",
        "usd_per_million_output_tokens",
        "usd_per_million_total_tokens",
        "usd_per_million_output_tokens_at_goodput",
        "usd_per_million_total_tokens_at_goodput",
    )
    made = ("requests_per_s", "output_tokens_per_s")
    rows = []
    items: tuple[Baseline | Plan, ...] = (*plan.baselines, plan)
    for item in items:
        name = "this_plan" if isinstance(item, Plan) else item.name
        p = item.latency.ttft_s if item.latency is not None else None
        rows.append(
            (
                name,
                item.status,
                *(_cells(item.cost, cost) if item.cost is not None else [None] * len(cost)),
                *((p.p50, p.p90, p.p99) if p is not None else (None, None, None)),
                *(_cells(item.goodput, made) if item.goodput is not None else (None, None)),
                item.bcr,
                None if isinstance(item, Plan) else item.reason,
            )
        )
    times = ("ttft_p50_s", "ttft_p90_s", "ttft_p99_s")
    load = ("goodput_requests_per_s", "goodput_output_tokens_per_s", "bcr", "reason")
    return Tidy("baselines", ("baseline", "status", *cost, *times, *load), tuple(rows))


def changes_table(plan: AnyPlan) -> Tidy:
    """Return the changes that would make a plan, where there is none."""
    changes = plan.infeasibility.smallest_changes if plan.infeasibility is not None else ()
    return models_table("smallest_changes", changes, ("change", "path", "value"))


def _distribution(plan: Plan) -> Tidy:
    keys = ("route", "time_s", "share_within")
    curves = plan.ttft_distribution
    if curves is None:
        return Tidy("ttft_distribution", keys, ())
    parts = (("all", curves.overall), ("direct", curves.direct), ("relay", curves.relay))
    rows = [
        (route, time, share)
        for route, curve in parts
        if curve is not None
        for time, share in zip(curves.time_s, curve, strict=True)
    ]
    return Tidy("ttft_distribution", keys, tuple(rows))


def _hit_rates(plan: Plan) -> Tidy:
    keys = ("hit_rate_from", "hit_rate_to", "share")
    if plan.workload is None or plan.workload.hit_rate is None:
        return Tidy("hit_rates", keys, ())
    bins = plan.workload.hit_rate
    rows = zip(bins.edges[:-1], bins.edges[1:], bins.weights, strict=True)
    return Tidy("hit_rates", keys, tuple(rows))


def _outages(plan: Plan) -> tuple[Tidy, ...]:
    """Losses with their latency, what they do to each limit, and where requests then go."""
    found = plan.resilience.outages if plan.resilience is not None else ()
    keys = ("outage", "kind", "name", "engines_lost", "status", "reason", "rerouting", "threshold")
    times = ("ttft_p50_s", "ttft_p90_s", "ttft_p99_s", "tpot_mean_s", "tpot_p90_s")
    rows = []
    for one in found:
        seen = one.latency
        ttft = (seen.ttft_s.p50, seen.ttft_s.p90, seen.ttft_s.p99) if seen else (None,) * 3
        tpot = (seen.tpot_s.mean, seen.tpot_s.p90) if seen else (None,) * 2
        made = one.goodput.requests_per_s if one.goodput is not None else None
        rows.append((*_cells(one, keys), *ttft, *tpot, made))
    slo = [(one.outage, *_cells(item, _SLO)) for one in found for item in one.slo]
    bounds = plan.resilience.bounds if plan.resilience is not None else ()
    lane = ("from", "to", "share")
    lanes = [(one.outage, *_cells(item, lane)) for one in found for item in one.lanes]
    return (
        Tidy("outages", (*keys, *times, "goodput_requests_per_s"), tuple(rows)),
        Tidy("outage_slo", ("outage", *_SLO), tuple(slo)),
        Tidy("outage_lanes", ("outage", *lane), tuple(lanes)),
        models_table("outage_bounds", bounds, ("outage", "lower_bound_usd_per_hour")),
    )


_INPUT = ("path", "unit", "distribution", "written", "p5", "p50", "p95")
_SPREAD = ("p5", "p50", "p90", "p95", "mean")
_PROBABILITY = ("estimate", "low", "high")


def _risk_tables(told: Uncertainty | None) -> tuple[Tidy, ...]:
    """What the draws do to the plan, and to the one for the values as written."""
    risks: list[tuple[str, Risk | None]] = []
    if told is not None:
        fresh = told.headroom.verification if told.headroom is not None else None
        risks = [("this_plan", told.risk), ("as_written", told.nominal_risk), ("verified", fresh)]
    rows = [
        (owner, *cells) for owner, risk in risks if risk is not None for cells in _risk_rows(risk)
    ]
    keys = ("plan", "what", "percentile", "limit", "draws", "holds", "holds_low", "holds_high")
    bins = told.ttft_p90_histogram if told is not None else None
    return (
        models_table("uncertain_inputs", told.inputs if told is not None else (), _INPUT),
        Tidy("risk", (*keys, *_SPREAD), tuple(rows)),
        models_table(
            "drivers",
            told.drivers if told is not None else (),
            ("path", "outcome", "rank_correlation"),
        ),
        Tidy(
            "risk_ttft_p90",
            ("ttft_p90_from_s", "ttft_p90_to_s", "share"),
            tuple(zip(bins.edges[:-1], bins.edges[1:], bins.weights, strict=True)) if bins else (),
        ),
    )


def _risk_rows(risk: Risk) -> list[tuple[Value, ...]]:
    """A row for every limit, for all of them together, and for what has no limit."""

    def cells(
        what: str,
        percentile: float | None,
        limit: float | None,
        held: Probability | None,
        spread: Spread | None,
    ) -> tuple[Value, ...]:
        own = _cells(held, _PROBABILITY) if held is not None else (None,) * len(_PROBABILITY)
        its = _cells(spread, _SPREAD) if spread is not None else (None,) * len(_SPREAD)
        return (what, percentile, limit, risk.draws, *own, *its)

    rows = [cells("every_limit", None, None, risk.holds, None)]
    rows += [
        cells(one.metric, one.percentile, one.limit, one.holds, one.predicted)
        for one in risk.limits
    ]
    others = ("ttft_p90_s", "usd_per_hour", "usd_per_million_output_tokens")
    return rows + [cells(name, None, None, None, getattr(risk, name)) for name in others]
