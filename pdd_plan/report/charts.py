"""The numbers behind a report's charts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pdd_plan.fleet.plan import Plan, PlanLink, Pool
from pdd_plan.report import digits
from pdd_plan.report.blocks import Chart, Rule, Series
from pdd_plan.report.digits import clean
from pdd_plan.report.labels import Labels

ROLES = ("prefill", "relay", "decode")


def all_charts(plan: Plan, labels: Labels) -> tuple[Chart, ...]:
    """Return the charts that the plan has numbers for."""
    made = (
        _ttft(plan, labels),
        _cost(plan, labels),
        _use(plan, labels),
        _hits(plan, labels),
        _front(plan, labels),
    )
    return tuple(chart for chart in made if chart is not None)


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
        if item.metric == "ttft" and item.period is None:
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
    bars: list[tuple[str, tuple[Pool, ...], tuple[PlanLink, ...], float]] = [
        (labels.name(clean(base.name)), base.pools, base.links, base.cost.links_usd_per_hour)
        for base in plan.baselines
        if base.cost is not None and base.pools
    ]
    own = labels.word("this_plan")
    bars.append((own, plan.pools, plan.links, plan.cost.links_usd_per_hour))
    names = tuple(bar[0] for bar in bars)
    heights = tuple(float(index) for index in range(len(bars)))
    series = [
        Series(
            labels.word(role),
            tuple(_sum(pool.usd_per_hour for pool in bar[1] if pool.role == role) for bar in bars),
            heights,
            tone,
            names,
        )
        for tone, role in enumerate(ROLES)
    ]
    lines = tuple(bar[3] for bar in bars)
    series.append(Series(labels.word("lines"), lines, heights, 3, names))
    shown = [item for item in series if any(item.x)]
    if not shown:
        return None
    axis = labels.word("axis.cost", currency=clean(plan.currency))
    return _chart("cost", labels, "bars", (axis, ""), shown)


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
        (labels.word("line", a=clean(link.from_site), b=clean(link.to_site)), link.utilization, 3)
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
    if routing is not None and routing.by == "hit_rate" and routing.threshold is not None:
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
        if item.metric == "ttft" and item.percentile == 0.9
    ]
    axes = (labels.word("axis.p90"), labels.word("axis.cost", currency=clean(plan.currency)))
    return _chart("front", labels, "points", axes, series, dict.fromkeys(rules))
