"""The numbers behind a report's charts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pdd_plan.fleet.plan import Baseline, Plan
from pdd_plan.report import digits
from pdd_plan.report.blocks import Chart, Rule, Series
from pdd_plan.report.comparison import Comparison
from pdd_plan.report.digits import clean
from pdd_plan.report.labels import Labels
from pdd_plan.report.tables import is_this_plan
from pdd_plan.report.tornado import tornado_chart
from pdd_plan.report.uncertainty import risk_chart

ROLES = ("prefill", "relay", "decode")


def all_charts(plan: Plan, labels: Labels) -> tuple[Chart, ...]:
    """Return the charts that the plan has numbers for."""
    made = (
        _ttft(plan, labels),
        _cost(plan, labels),
        _use(plan, labels),
        _hits(plan, labels),
        _front(plan, labels),
        tornado_chart(plan, labels),
        risk_chart(plan, labels),
    )
    return tuple(chart for chart in made if chart is not None)


def comparison_charts(comparison: Comparison, labels: Labels) -> tuple[Chart, ...]:
    """Return cost by role, and cost against P90 TTFT, of alternatives in one currency."""
    if len({plan.currency for plan in comparison.plans}) > 1:
        return ()
    currency = comparison.plans[0].currency
    named = [(clean(name), plan) for name, plan in comparison.alternatives]
    cost = _cost_bars(named, currency, labels)
    points = [
        (plan.latency.ttft_s.p90, plan.cost.usd_per_hour, name)
        for name, plan in named
        if plan.cost is not None and plan.latency is not None
    ]
    series = [
        Series("", (p90,), (amount,), 0, (name,)) for p90, amount, name in points if p90 is not None
    ]
    axes = (labels.word("axis.p90"), labels.word("axis.cost", currency=clean(currency)))
    against = _chart("front", labels, "points", axes, series) if len(series) > 1 else None
    if against is not None:
        against = replace(against, description=labels.say("chart.alternatives"))
    return tuple(chart for chart in (cost, against) if chart is not None)


def _chart(
    key: str,
    labels: Labels,
    kind: str,
    axes: tuple[str, str],
    series: Iterable[Series],
    rules: Iterable[Rule] = (),
) -> Chart:
    assert kind in ("line", "bars", "steps", "points")
    return Chart(
        key=key,
        kind=kind,  # type: ignore[arg-type]  # checked above
        title=labels.word(f"chart.{key}"),
        description=labels.say(f"chart.{key}"),
        x_label=axes[0],
        y_label=axes[1],
        series=tuple(series),
        rules=tuple(rules),
    )


def _ttft(plan: Plan, labels: Labels) -> Chart | None:
    curves = plan.ttft_distribution
    if curves is None or len(curves.time_s) < 2:
        return None
    lines = (("all", curves.overall), ("direct", curves.direct), ("relay", curves.relay))
    series = [
        Series(labels.word(key), curves.time_s, values, tone)
        for tone, (key, values) in enumerate(lines)
        if values is not None
    ]
    rules = []
    for item in plan.slo:
        if item.metric == "ttft" and item.period is None and not item.of_part:
            at = digits.limit_seconds(item.limit)
            rules.append(Rule(f"{labels.word('limit')} {at}", item.limit))
            if item.percentile is not None:
                name = f"P{digits.significant(100 * item.percentile, 6)}"
                rules.append(Rule(name, item.percentile, "y"))
    axes = (labels.word("axis.seconds"), labels.word("axis.share_within"))
    return _chart("ttft", labels, "line", axes, series, dict.fromkeys(rules))


def _cost(plan: Plan, labels: Labels) -> Chart | None:
    if plan.cost is None:
        return None
    bars: list[tuple[str, Baseline | Plan]] = [
        (labels.name(clean(base.name)), base)
        for base in plan.baselines
        if base.pools and not is_this_plan(base, plan)
    ]
    return _cost_bars([*bars, (labels.word("this_plan"), plan)], plan.currency, labels)


def _cost_bars(
    bars: Sequence[tuple[str, Baseline | Plan]], currency: str, labels: Labels
) -> Chart | None:
    """Stack what roles, lines and unused chips cost, a bar for each fleet that has a cost."""
    fleets = [(name, fleet, fleet.cost) for name, fleet in bars if fleet.cost is not None]
    names = tuple(name for name, _, _ in fleets)
    heights = tuple(float(index) for index in range(len(fleets)))
    parts = [
        tuple(_sum(p.usd_per_hour for p in fleet.pools if p.role == role) for _, fleet, _ in fleets)
        for role in ROLES
    ]
    parts.append(tuple(cost.links_usd_per_hour for _, _, cost in fleets))
    parts.append(
        tuple(
            _sum(p.usd_per_hour for p in fleet.pools if p.role == "aggregated")
            for _, fleet, _ in fleets
        )
    )
    parts.append(
        tuple(
            max(round(cost.chips_usd_per_hour - _sum(p.usd_per_hour for p in fleet.pools), 6), 0.0)
            for _, fleet, cost in fleets
        )
    )
    keys = (*ROLES, "lines", "aggregated", "idle")
    series = [
        Series(labels.word(key), lengths, heights, tone, names)
        for tone, (key, lengths) in enumerate(zip(keys, parts, strict=True))
        if any(lengths)
    ]
    if not series:
        return None
    axis = labels.word("axis.cost", currency=clean(currency))
    return _chart("cost", labels, "bars", (axis, ""), series)


def _sum(values: Iterable[float]) -> float:
    return float(sum(values))


def _use(plan: Plan, labels: Labels) -> Chart | None:
    pools = [
        (f"{clean(pool.site)} {labels.word(pool.role)} {clean(pool.chip)}", pool.utilization, tone)
        for tone, role in enumerate(ROLES)
        for pool in plan.pools
        if pool.role == role
    ]
    lines = [
        (
            labels.word("line", a=clean(link.from_site), b=clean(link.to_site))
            + (f" {clean(link.name)}" if link.name else ""),
            link.utilization,
            3,
        )
        for link in plan.links
    ]
    bars = pools + lines
    if not bars:
        return None
    names = tuple(name for name, _, _ in bars)
    heights = tuple(float(index) for index in range(len(bars)))
    series = []
    for tone, key in enumerate((*ROLES, "lines")):
        lengths = tuple(use if own == tone else 0.0 for _, use, own in bars)
        if any(own == tone for _, _, own in bars):
            series.append(Series(labels.word(key), lengths, heights, tone, names))
    return _chart("use", labels, "bars", (labels.word("axis.use"), ""), series, (Rule("1", 1.0),))


def _hits(plan: Plan, labels: Labels) -> Chart | None:
    if plan.workload is None or plan.workload.hit_rate is None:
        return None
    bins = plan.workload.hit_rate
    if not bins.weights:
        return None
    rules = []
    routing = plan.routing
    relays = routing is not None and routing.relay_request_fraction > 0
    if routing is not None and relays and routing.by == "hit_rate" and routing.threshold:
        said = f"{labels.word('threshold')} {digits.significant(routing.threshold, 4)}"
        rules.append(Rule(said, routing.threshold))
    axes = (labels.word("axis.hit_rate"), labels.word("axis.share"))
    series = Series(labels.word("all"), bins.edges, bins.weights)
    chart = _chart("hits", labels, "steps", axes, (series,), rules)
    return replace(chart, description=labels.say("chart.hits_routed")) if rules else chart


def _front(plan: Plan, labels: Labels) -> Chart | None:
    if not plan.front:
        return None
    front = sorted(plan.front, key=lambda point: (point.ttft_p90_s, point.usd_per_hour))
    series = [
        Series(
            "",
            tuple(point.ttft_p90_s for point in front),
            tuple(point.usd_per_hour for point in front),
            0,
            tuple(clean(point.label) for point in front),
        )
    ]
    if plan.cost is not None and plan.latency is not None and plan.latency.ttft_s.p90 is not None:
        own = labels.word("this_plan")
        at, cost = plan.latency.ttft_s.p90, plan.cost.usd_per_hour
        series.append(Series(own, (at,), (cost,), 1, (own,)))
    rules = [
        Rule(f"{labels.word('limit')} {digits.limit_seconds(item.limit)}", item.limit)
        for item in plan.slo
        if item.metric == "ttft" and item.percentile == 0.9 and not item.of_part
    ]
    axes = (labels.word("axis.p90"), labels.word("axis.cost", currency=clean(plan.currency)))
    return _chart("front", labels, "points", axes, series, dict.fromkeys(rules))
