"""The tables of a plan's report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pdd_plan.fleet.plan import Assumption, Baseline, Percentiles, Plan, TrafficGroup
from pdd_plan.report import digits, sentences
from pdd_plan.report.blocks import Column, Mark, Table, Text
from pdd_plan.report.digits import clean
from pdd_plan.report.labels import Labels
from pdd_plan.report.limit_names import latency_name, predicted_text


def row(*cells: str | Text) -> tuple[Text, ...]:
    """Return a table row, plain strings turned to unmarked texts."""
    return tuple(cell if isinstance(cell, Text) else Text(cell) for cell in cells)


def columns(labels: Labels, left: Iterable[str], right: Iterable[str]) -> tuple[Column, ...]:
    """Return columns of words: first those that stand left, then those of numbers."""
    return tuple(Column(labels.word(key)) for key in left) + tuple(
        Column(labels.word(key), right=True) for key in right
    )


def fleet_table(plan: Plan, labels: Labels) -> Table:
    """Return pools, lines and chips that are paid but not used, as the cost adds up."""
    heads = ("pool", "hardware")
    money = Column(labels.word("per_hour", currency=clean(plan.currency)), right=True)
    names = columns(labels, heads, ("engines", "chips", "use"))
    rows = [
        row(
            f"{clean(pool.site)} {labels.word(pool.role)}",
            f"{clean(pool.chip)} {clean(pool.shape)}",
            number_text(pool.engines),
            number_text(pool.chips),
            usage(pool.utilization),
            labels.name(clean(pool.bound_by)),
            digits.money(pool.usd_per_hour),
        )
        for pool in plan.pools
    ]
    rows += [
        row(
            f"{clean(link.from_site)} -> {clean(link.to_site)} {clean(link.name or '')}".strip(),
            f"{digits.significant(link.gbps, 6)} Gbps",
            "",
            "",
            usage(link.utilization),
            "",
            digits.money(link.usd_per_hour),
        )
        for link in plan.links
    ]
    idle = [item for item in plan.paid_chips if item.paid > item.used]
    rows += [
        row(
            labels.say("idle_chips", site=clean(item.site)),
            clean(item.chip),
            "",
            number_text(item.paid - item.used),
            "",
            labels.word("contract" if item.paid == item.under_contract else "whole_nodes"),
            digits.money(item.idle_usd_per_hour),
        )
        for item in idle
    ]
    if plan.cost is not None and len(rows) > 1:
        engines = number_text(sum(pool.engines for pool in plan.pools))
        unused = sum(item.paid - item.used for item in idle)
        chips = number_text(sum(pool.chips for pool in plan.pools) + unused)
        cost = digits.money(plan.cost.usd_per_hour)
        rows.append(row(labels.word("total"), "", engines, chips, "", "", cost))
    table_columns = (*names, Column(labels.word("bound_by")), money)
    return Table(table_columns, tuple(rows), total=plan.cost is not None and len(rows) > 1)


def trimmed(table: Table) -> Table:
    """Return a table without the columns that say nothing in any row."""
    kept = [
        index
        for index in range(len(table.columns))
        if index < table.heads
        or any(cells[index].text not in ("", digits.MISSING) for cells in table.rows)
    ]
    return replace(
        table,
        columns=tuple(table.columns[index] for index in kept),
        rows=tuple(tuple(cells[index] for index in kept) for cells in table.rows),
    )


def number_text(value: int) -> str:
    """Write a count."""
    return digits.number(value, 0)


def usage(value: float) -> Text:
    """Write a utilization so that it reads 1 only where it is at least 1."""
    decimals = 2
    while value < 1 and float(f"{value:.{decimals}f}") >= 1 and decimals < 9:
        decimals += 1
    return Text(f"{value:.{decimals}f}", "bad" if value >= 1 else "")


def baselines_table(plan: Plan, labels: Labels) -> Table:
    """Return the baselines and the plan itself, one row each; one row where they are the same."""
    currency = clean(plan.currency)
    heads = (
        Column(labels.word("plan")),
        Column(labels.word("per_hour", currency=currency), right=True),
        Column(labels.word("per_m_out", currency=currency), right=True),
        Column(labels.word("per_m_goodput"), right=True),
        *columns(labels, (), ("p50_ttft", "p90_ttft", "p99_ttft", "goodput", "bcr")),
    )
    if plan.cost is None and not any(base.cost for base in plan.baselines):
        return Table(heads, ())
    own = labels.word("this_plan")
    if plan.architecture is not None:
        own += f" ({labels.word(plan.architecture)})"
    entries: list[tuple[str, str, Mark, object]] = [
        (labels.name(clean(base.name)), base.status, "", base)
        for base in plan.baselines
        if not is_this_plan(base, plan)
    ]
    given = plan.certificate is None  # a fleet that is scored as it is was not searched for
    entries.append((own, "optimal" if given else plan.status, "strong", plan))
    rows = []
    for name, status, mark, item in entries:
        label = name if status == "optimal" else f"{name}, {labels.word(f'status.{status}')}"
        rows.append(tuple(Text(text, mark) for text in (label, *_baseline_cells(item))))
    return Table(heads, tuple(rows))


def is_this_plan(base: Baseline, plan: Plan) -> bool:
    """Return whether the best plan of a simpler kind is the plan itself."""
    same = (base.cost, base.pools, base.links) == (plan.cost, plan.pools, plan.links)
    return base.name == plan.architecture and base.cost is not None and same


def _baseline_cells(item: object) -> list[str]:
    cost, latency = getattr(item, "cost", None), getattr(item, "latency", None)
    goodput, bcr = getattr(item, "goodput", None), getattr(item, "bcr", None)
    block: Percentiles | None = latency.ttft_s if latency else None
    return [
        digits.money(cost.usd_per_hour if cost else None),
        digits.money(cost.usd_per_million_output_tokens if cost else None),
        digits.money(cost.usd_per_million_output_tokens_at_goodput if cost else None),
        *(digits.seconds(getattr(block, name, None)) for name in ("p50", "p90", "p99")),
        digits.rate(goodput.requests_per_s if goodput else None),
        digits.number(bcr, 2),
    ]


def limits_table(plan: Plan, labels: Labels) -> Table:
    """Return every limit, what is predicted and whether that is met."""
    rows = [
        row(
            latency_name(item.metric, item.percentile, labels),
            clean(item.traffic or ""),
            clean(item.region or ""),
            clean(item.period or ""),
            digits.limit_seconds(item.limit),
            predicted_text(item, labels),
            digits.percent(item.fraction_within),
            Text(labels.word("yes" if item.met else "no"), "good" if item.met else "bad"),
        )
        for item in plan.slo
    ]
    heads = ("metric", "traffic_class", "region", "period")
    names = columns(labels, heads, ("limit", "predicted", "within", "met"))
    return Table(names, tuple(rows))


def latency_table(plan: Plan, labels: Labels) -> Table:
    """Return percentiles of every latency, by route."""
    names = (Column(labels.word("metric")), *(Column(p, True) for p in ("P50", "P90", "P95")))
    names = (*names, Column("P99", True), Column(labels.word("mean"), True))
    if plan.latency is None:
        return Table(names, ())
    times = plan.latency
    blocks = (
        ("ttft", times.ttft_s),
        ("ttft_direct", times.ttft_direct_s),
        ("ttft_relay", times.ttft_relay_s),
        ("ttft_home", times.ttft_home_s),
        ("ttft_remote", times.ttft_remote_s),
        ("tpot", times.tpot_s),
        ("handoff_gap", times.handoff_gap_s),
        ("e2e", times.e2e_s),
    )
    rows = [
        row(
            labels.word(key),
            *(digits.seconds(getattr(block, p)) for p in ("p50", "p90", "p95", "p99", "mean")),
        )
        for key, block in blocks
        if block is not None
    ]
    return Table(names, tuple(rows))


GROUP_LATENCIES = (
    ("ttft", "p50"),
    ("ttft", "p90"),
    ("ttft", "p99"),
    ("tpot", "p90"),
    ("e2e", "p90"),
)
"""Columns of a table of groups of requests."""


def groups_table(groups: Sequence[TrafficGroup], head: str, labels: Labels) -> Table:
    """Return latencies of groups of requests, one row each.

    Parameters
    ----------
    groups : sequence of TrafficGroup
        Such as the traffic classes of a plan.
    head : str
        Word for what a group is.
    """
    names = (
        *columns(labels, (head,), ("share",)),
        *(Column(f"{labels.word(m)} {p.upper()}", True) for m, p in GROUP_LATENCIES),
    )
    rows = [
        row(
            clean(group.name) or labels.word("others"),
            digits.percent(group.request_fraction),
            *(digits.seconds(getattr(getattr(group, f"{m}_s"), p)) for m, p in GROUP_LATENCIES),
        )
        for group in groups
    ]
    return Table(names, tuple(rows))


def pools_table(plan: Plan, labels: Labels) -> Table:
    """Return all that is known of every pool."""
    names = (
        *columns(labels, ("site", "role", "chip", "shape"), ("engines", "chips", "available")),
        *columns(labels, (), ("request_share", "slots", "kv_use")),
        Column(labels.word("per_chip_hour", currency=clean(plan.currency)), right=True),
    )
    rows = [
        row(
            clean(pool.site),
            labels.word(pool.role),
            clean(pool.chip),
            clean(pool.shape),
            number_text(pool.engines),
            number_text(pool.chips),
            digits.number(pool.chips_available, 0),
            digits.percent(pool.request_fraction),
            digits.number(pool.slots_per_engine, 0),
            digits.percent(pool.kv_memory_utilization),
            digits.money(pool.usd_per_chip_hour),
        )
        for pool in plan.pools
    ]
    return Table(names, tuple(rows), heads=2)


def lanes_table(plan: Plan, labels: Labels) -> Table:
    """Return where prefilled requests are decoded."""
    names = columns(labels, ("from", "to", "line_name"), ("share", "threshold"))
    rows = []
    for lane in plan.lanes:
        own = lane.threshold
        if own is None and plan.routing is not None:
            own = plan.routing.threshold
        said = sentences.threshold_text(plan, own)
        rows.append(
            row(
                clean(lane.from_site),
                clean(lane.to_site),
                clean(lane.name or ""),
                digits.percent(lane.share),
                said,
            )
        )
    return Table(names, tuple(rows), heads=2)


def plain_value(value: str | bool | float | None) -> str:
    """Write a value as the scenario would take it."""
    if value is None:
        return digits.MISSING
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return clean(value)
    if abs(value) >= 1e7:
        return f"{value:.8g}".replace("e+", "e")
    return digits.significant(value, 8).replace(",", "")


def sensitivity_table(plan: Plan, labels: Labels) -> Table:
    """Return what each single change would do, those of the scenario planned anew."""
    names = (
        *columns(labels, ("change", "path"), ("value",)),
        Column(labels.word("per_hour", currency=clean(plan.currency)), right=True),
        *columns(labels, (), ("p90_ttft",)),
        Column(labels.word("effect")),
    )
    rows = [
        row(
            clean(item.change),
            clean(item.path),
            plain_value(item.value),
            digits.money(item.usd_per_hour),
            digits.seconds(item.ttft_p90_s),
            sentences.effect_text(item, plan, labels),
        )
        for item in plan.sensitivity
    ]
    return Table(names, tuple(rows))


def rejected_table(plan: Plan, labels: Labels) -> Table:
    """Return the engine shapes that are no candidates, and why."""
    rows = tuple(
        row(clean(item.site), clean(item.chip), clean(item.shape), clean(item.reason))
        for item in plan.rejected_shapes
    )
    return Table(columns(labels, ("site", "chip", "shape", "reason"), ()), rows, heads=3)


def _assumed(item: Assumption) -> str:
    """Write an assumed value with its unit, numbers on four digits."""
    value = item.value
    if isinstance(value, float) and abs(value) < 1e7:
        return f"{digits.significant(value, 4)} {clean(item.unit)}".strip()
    said = plain_value(value)
    return f"{said} {clean(item.unit)}".strip()


def assumptions_table(plan: Plan, labels: Labels) -> Table:
    """Return the values that the scenario did not give, with their sources."""
    names = columns(labels, ("path", "value", "source", "confidence"), ())
    rows = tuple(
        row(
            clean(item.path),
            _assumed(item),
            clean(item.source),
            Text(
                labels.word(item.confidence) if item.confidence else "",
                "bad" if item.confidence == "low" else "",
            ),
        )
        for item in plan.assumptions
    )
    return Table(names, rows)


def assumptions_brief(plan: Plan, labels: Labels) -> Table:
    """Return the assumptions, those of one parent, or of equal parents, in one row a source."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for item in plan.assumptions:
        parent, _, name = item.path.rpartition(".")
        shared = sum(
            other.path.rpartition(".")[0] == parent
            and (other.source, other.confidence) == (item.source, item.confidence)
            for other in plan.assumptions
        )
        value = _assumed(item)
        path = parent if shared > 1 else item.path
        text = f"{name} {value}" if shared > 1 else value
        key = (path, item.source, item.confidence or "")
        groups.setdefault(key, []).append(text)
    alike: dict[tuple[str, str, str], list[str]] = {}
    for (path, source, confidence), values in groups.items():
        alike.setdefault((", ".join(values), source, confidence), []).append(path)
    rows = tuple(
        row(
            clean(", ".join(paths)),
            clean(values),
            clean(source),
            Text(
                labels.word(confidence) if confidence else "", "bad" if confidence == "low" else ""
            ),
        )
        for (values, source, confidence), paths in alike.items()
    )
    return Table(columns(labels, ("path", "value", "source", "confidence"), ()), rows)
