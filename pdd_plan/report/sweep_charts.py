"""The numbers behind the charts of a sweep."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from pdd_plan.report import digits
from pdd_plan.report.blocks import Chart, Series
from pdd_plan.report.digits import clean
from pdd_plan.report.sweep import (
    BASELINES,
    COST,
    KINDS,
    KINDS_OF_SERVICES,
    SweepAxis,
    SweepReport,
    SweepRow,
    middle_slices,
)
from pdd_plan.report.sweep_crossings import Crossing
from pdd_plan.report.sweep_svg import Cell, CurveChart, MapChart, Mark, PanelChart
from pdd_plan.report.sweep_words import SweepLabels

MOST_FRONTS = 4
"""Fronts in one chart; as many as there are colors."""
TONES = 5
"""Colors that curves can be told apart by; more curves begin anew."""
ROLES = ("prefill", "relay", "decode")
PLAN_TONE = -1
"""The plan is drawn in the color of the text."""


def sweep_charts(report: SweepReport, labels: SweepLabels) -> tuple[Chart, ...]:
    """Return the charts that suit the axes: the front, curves over one axis, maps over two.

    Parameters
    ----------
    report : SweepReport
        As planned.
    labels : SweepLabels
        Words of the language.

    Returns
    -------
    tuple of Chart
        None where no point has a plan.
    """
    if not report.any_plan:
        return ()
    if report.is_front:
        front = _front(report, labels)
        return (front,) if front.series else ()
    if len(report.axes) == 1:
        each = (_service_costs, _service_ttft) if report.services else (_ttft, _goodput)
        made = [draw(report, labels) for draw in (_cost, *each, _chips)]
        return tuple(chart for chart in made if chart is not None)
    return (*_levers(report, labels), *_maps(report, labels))


def axis_label(axis: SweepAxis, labels: SweepLabels) -> str:
    """Return the paths of an axis, with the unit of its numbers."""
    unit = f", {clean(axis.unit)}" if axis.unit else ""
    return labels.say("next").join(clean(item.path) for item in axis.varied) + unit


def _per_token(report: SweepReport, labels: SweepLabels) -> str:
    return labels.word("axis.per_m_out", currency=clean(report.currency))


def _series(report: SweepReport, key: str, label: str, tone: int, style: str = "") -> list[Series]:
    """Return a curve, in pieces where points have no value."""
    axis = report.axes[0]
    rows = sorted(report.rows, key=lambda row: axis.place(row.steps[0]))
    pieces = groupby(rows, key=lambda row: row.amount(key) is not None)
    names = (style,) if style else ()
    found = []
    for known, piece in pieces:
        if known:
            pairs = [(axis.place(row.steps[0]), row.amount(key)) for row in piece]
            xs = tuple(x for x, _ in pairs)
            ys = tuple(y for _, y in pairs if y is not None)
            found.append(Series(label, xs, ys, tone, names))
    return found


def _curves(
    report: SweepReport,
    labels: SweepLabels,
    key: str,
    y_label: str,
    series: list[Series],
    marks: tuple[Mark, ...] = (),
) -> CurveChart | None:
    if not series:
        return None
    axis = report.axes[0]
    return CurveChart(
        key=key,
        kind="curves",
        title=labels.word(f"chart.{key}"),
        description=labels.say(f"chart.{key}"),
        x_label=axis_label(axis, labels),
        y_label=y_label,
        series=tuple(series),
        x_names=() if axis.numbers else tuple(clean(name) for name in axis.names),
        marks=marks,
    )


def _by_kind(
    report: SweepReport,
    labels: SweepLabels,
    plan_key: str,
    tail: str,
    kinds: tuple[str, ...] = BASELINES,
) -> list[Series]:
    series = _series(report, plan_key, labels.word("plan_curve"), PLAN_TONE, "wide")
    for tone, name in enumerate(kinds):
        style = "dashed" if name == "pdd" else ""  # without a relay it is the cross-site fleet
        series += _series(report, f"{name}_{tail}", labels.word(name), tone, style)
    return series


def _cost(
    report: SweepReport, labels: SweepLabels, kinds: tuple[str, ...] = BASELINES
) -> CurveChart | None:
    unit = clean(report.axes[0].unit)
    known = [item for item in report.crossings if {item.below, item.above} <= set(kinds)]
    places = dict.fromkeys(_place(report, item) for item in known)
    marks = tuple(Mark(x, y, f"{digits.significant(x, 3)} {unit}".strip()) for x, y in places)
    series = _by_kind(report, labels, COST, COST, kinds)
    return _curves(report, labels, "sweep_cost", _per_token(report, labels), series, marks)


def _place(report: SweepReport, item: Crossing) -> tuple[float, float]:
    """Return where curves cross; where one of them begins or ends between, that end of it."""
    if item.at is not None and item.value is not None:
        return item.at, item.value
    begins, ends = (dict(report.curve(f"{name}_{COST}")) for name in (item.above, item.below))
    if begins.get(item.low) is None:
        return item.high, begins[item.high] or 0.0
    return item.low, ends[item.low] or 0.0


def _levers(report: SweepReport, labels: SweepLabels) -> tuple[Chart, ...]:
    """Draw the cost along each of two axes, at the middle value of the other."""
    drawn = []
    for part in middle_slices(report):
        chart = _cost(part.report, labels, KINDS)
        if chart is not None:
            value = clean(part.held.texts[part.step])
            drawn.append(replace(chart, title=f"{clean(part.held.path)} = {value}"))
    if not drawn:
        return ()
    return (
        PanelChart(
            key="sweep_levers",
            kind="panels",
            title=labels.word("chart.sweep_levers"),
            description=labels.say("chart.sweep_levers"),
            x_label="",
            y_label="",
            series=(),
            panels=tuple(drawn),
        ),
    )


def _ttft(report: SweepReport, labels: SweepLabels) -> CurveChart | None:
    series = _by_kind(report, labels, "ttft_p90_s", "ttft_p90_s")
    return _curves(report, labels, "sweep_ttft", labels.word("axis.seconds"), series)


def _service_costs(report: SweepReport, labels: SweepLabels) -> CurveChart | None:
    series = _by_service(report, "usd_per_hour")
    label = labels.word("axis.cost", currency=clean(report.currency))
    return _curves(report, labels, "service_cost", label, series)


def _service_ttft(report: SweepReport, labels: SweepLabels) -> CurveChart | None:
    series = _by_service(report, "ttft_p90_s")
    return _curves(report, labels, "service_ttft", labels.word("axis.seconds"), series)


def _by_service(report: SweepReport, key: str) -> list[Series]:
    return [
        series
        for number, name in enumerate(report.services)
        for series in _series(report.of_service(name), key, clean(name), number % TONES)
    ]


def _goodput(report: SweepReport, labels: SweepLabels) -> CurveChart | None:
    series = _series(report, "goodput_requests_per_s", labels.word("plan_curve"), 0)
    return _curves(report, labels, "sweep_goodput", labels.word("axis.goodput"), series)


def _chips(report: SweepReport, labels: SweepLabels) -> CurveChart | None:
    series = []
    for tone, role in enumerate(ROLES):
        series += _series(report, f"{role}_chips", labels.word(role), tone)
    return _curves(report, labels, "sweep_chips", labels.word("axis.chips"), series)


def _front(report: SweepReport, labels: SweepLabels) -> CurveChart:
    """Draw the front of each point of the other axes; of many only the first few."""
    groups: dict[str, list[SweepRow]] = {}
    for row in report.rows:
        groups.setdefault(", ".join(other_names(report, row)), []).append(row)
    series = []
    for tone, (name, rows) in enumerate(list(groups.items())[:MOST_FRONTS]):
        points = sorted(
            (row.amount("ttft_p90_s"), row.amount("usd_per_hour")) for row in rows if row.on_front
        )
        if points:
            xs, ys = zip(*points, strict=True)
            series.append(Series(name, xs, ys, tone))
    return CurveChart(
        key="sweep_front",
        kind="curves",
        title=labels.word("chart.front"),
        description=labels.say("chart.sweep_front"),
        x_label=labels.word("axis.p90"),
        y_label=labels.word("axis.cost", currency=clean(report.currency)),
        series=tuple(series),
        front=True,
    )


def other_names(report: SweepReport, row: SweepRow) -> list[str]:
    """Return what a row is called on every axis but that of the limit that a front sweeps."""
    return [
        clean(axis.names[step])
        for axis, step in zip(report.axes, row.steps, strict=True)
        if not axis.is_limit
    ]


def _maps(report: SweepReport, labels: SweepLabels) -> tuple[Chart, ...]:
    """Draw the first two axes; over the others, each field is the cheapest point."""
    best: dict[tuple[int, int], SweepRow] = {}
    for row in report.rows:
        place = row.steps[0], row.steps[1]
        cost, known = row.amount(COST), best.get(place)
        known_cost = known.amount(COST) if known else None
        if known is None or (cost is not None and (known_cost is None or cost < known_cost)):
            best[place] = row
    description = ""
    if len(report.axes) > 2:
        others = ", ".join(clean(item.path) for axis in report.axes[2:] for item in axis.varied)
        description = " " + labels.say("least_over_others", others=others)
    across, up = report.axes[:2]
    made = []
    for key in ("sweep_map", "sweep_kinds"):
        kinds = [row.record["architecture"] for row in best.values()]
        series = [
            Series(labels.kind(name), (), (), tone)
            for tone, name in enumerate(KINDS_OF_SERVICES)
            if name in kinds
        ]
        made.append(
            MapChart(
                key=key,
                kind="heat",
                title=labels.word(f"chart.{key}"),
                description=labels.say(f"chart.{key}") + description,
                x_label=axis_label(across, labels),
                y_label=axis_label(up, labels),
                series=tuple(series) if key == "sweep_kinds" else (),
                columns=tuple(clean(across.names[step]) for step in _order(across)),
                rows=tuple(clean(up.names[step]) for step in _order(up)),
                cells=tuple(_cells(best, across, up, key == "sweep_kinds", labels)),
            )
        )
    return tuple(made)


def _order(axis: SweepAxis) -> list[int]:
    """Return the steps of an axis as they stand beside each other."""
    return sorted(range(len(axis.names)), key=axis.place)


def _cells(
    best: dict[tuple[int, int], SweepRow],
    across: SweepAxis,
    up: SweepAxis,
    kinds: bool,
    labels: SweepLabels,
) -> list[Cell]:
    columns, rows = _order(across), _order(up)
    found = []
    for (first, second), row in best.items():
        value, kind = row.amount(COST), str(row.record["architecture"])
        cost = digits.money(value)
        known = kinds and kind in KINDS_OF_SERVICES
        said = labels.word(f"letter.{kind}") if known else cost
        what = labels.kind(kind) if row.planned else labels.status(row.record["status"])
        names = f"{clean(across.names[first])}, {clean(up.names[second])}"
        tone = KINDS_OF_SERVICES.index(kind) if known else 0
        place = columns.index(first), rows.index(second)
        found.append(Cell(*place, value, said, f"{names}: {cost}, {what}", tone))
    return found
