"""A calibration → view: errors, fitted values with ranges, residuals, the line to paste."""

from __future__ import annotations

import math
from collections import Counter

from pdd_plan.fleet.calibrated import Calibrated, Kept
from pdd_plan.report import digits
from pdd_plan.report.blocks import (
    Chart,
    Column,
    Fact,
    Facts,
    Rule,
    Section,
    Sentence,
    Sentences,
    Series,
    Table,
    Text,
    View,
)
from pdd_plan.report.calibration import Residual, residuals
from pdd_plan.report.calibration_words import CalibrationLabels
from pdd_plan.report.digits import clean
from pdd_plan.roofline.efficiency_files import parameter_name, parameter_text
from pdd_plan.units import format_quantity

SHOWN_POINTS = 12
"""Most measurements that the console lists."""


def calibration_view(calibrated: Calibrated, lang: str = "en") -> View:
    """Return the report of a calibration.

    Parameters
    ----------
    calibrated : Calibrated
        What was found.
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
    labels = CalibrationLabels(lang)
    runs, rows = calibrated.chip_runs, residuals(calibrated)
    fitted = (_parameters(calibrated, labels), _range_note(labels))
    sections = [
        Section("summary", labels.word("summary"), (_summary(calibrated, rows, labels),)),
        Section("parameters", labels.word("parameters"), fitted),
        *_kept(calibrated, labels),
        Section("points", labels.word("points"), _worst(rows, labels), brief=True),
        Section("points", labels.word("points"), (_points(rows, labels),), detail=True),
        Section("charts", labels.word("charts"), _charts(calibrated, rows, labels), detail=True),
        Section("paste", labels.word("paste"), (_paste(calibrated, labels),)),
        Section("reproduce", labels.word("reproduce"), (_footer(calibrated, labels),)),
    ]
    count = len(calibrated.calibration.values)
    return View(
        title=clean(
            labels.say("title", chip=runs.chip, model=runs.model, framework=runs.framework)
        ),
        subtitle=labels.say("subtitle", count=len(runs.points), parameters=count),
        language=lang,
        sections=tuple(sections),
    )


def _summary(
    calibrated: Calibrated, rows: tuple[Residual, ...], labels: CalibrationLabels
) -> Facts:
    runs = calibrated.chip_runs
    counts = Counter(point.phase for point in runs.points)
    texts = [Text(labels.say("kinds", count=n, phase=phase)) for phase, n in counts.items()]
    if runs.others:
        texts.append(Text(labels.say("others", count=runs.others)))
    outliers = sum(row.outlier for row in rows)
    if outliers:
        texts.append(Text(labels.say("outliers", count=outliers), "bad"))
    facts = [Fact(labels.word("measured_points"), tuple(texts))]
    for name, (before, after, left) in calibrated.median_errors().items():
        said = [
            Text(labels.say("error", after=digits.percent(after)), "strong"),
            Text(labels.say("error_before", before=digits.percent(before))),
        ]
        if not math.isnan(left):
            said.append(Text(labels.say("error_left_out", left=digits.percent(left))))
        facts.append(Fact(labels.word(name), tuple(said)))
    return Facts(tuple(facts))


def _parameters(calibrated: Calibrated, labels: CalibrationLabels) -> Table:
    columns = (
        Column(labels.word("parameter")),
        Column(""),
        *(Column(labels.word(key), True) for key in ("fitted", "range", "default")),
    )
    rows = []
    for one in calibrated.calibration.values:
        low, high = (parameter_text(one.name, value) for value in (one.low, one.high))
        rows.append(
            (
                Text(parameter_name(one.name)),
                Text(labels.word(f"meaning.{parameter_name(one.name)}"), "faint"),
                Text(parameter_text(one.name, one.value), "strong"),
                Text(f"{low} - {high}"),
                Text(parameter_text(one.name, one.default)),
            )
        )
    return Table(columns, tuple(rows))


def _range_note(labels: CalibrationLabels) -> Sentences:
    return Sentences((Sentence("", labels.say("range_note"), "faint"),))


def _kept(calibrated: Calibrated, labels: CalibrationLabels) -> list[Section]:
    if not calibrated.kept:
        return []
    said = tuple(_kept_sentence(one, labels) for one in calibrated.kept)
    return [Section("kept", labels.word("kept"), (Sentences(said),))]


def _kept_sentence(one: Kept, labels: CalibrationLabels) -> Sentence:
    value = parameter_text(one.name, one.value)
    if one.doubt is None:
        said = labels.say("kept_as_asked", value=value)
    else:
        said = labels.say("kept_since", value=value, reason=_reason(one, labels))
    return Sentence(parameter_name(one.name), said)


def _reason(one: Kept, labels: CalibrationLabels) -> str:
    assert one.doubt is not None
    if one.doubt.silent:
        parts = [labels.say("reason_silent", change=digits.percent(one.doubt.doubling))]
    elif one.doubt.partner is not None:
        parts = [labels.say("reason_partner", partner=parameter_name(one.doubt.partner))]
    else:
        parts = [labels.say("reason_small")]
    for what, value in one.doubt.alike:
        word = labels.word(f"quantity.{what}")
        if value is None:
            parts.append(labels.say("reason_none", what=word))
        else:
            shown = digits.significant(value, 6)
            parts.append(labels.say("reason_alike", what=word, value=shown))
    return labels.say("next").join(parts)


def _worst(rows: tuple[Residual, ...], labels: CalibrationLabels) -> tuple[Table | Sentences, ...]:
    """Return what the console shows: all points if they are few, else those furthest off."""
    if len(rows) <= SHOWN_POINTS:
        return (_points(rows, labels),)
    order = sorted(range(len(rows)), key=lambda index: -abs(rows[index].off))
    shown = tuple(rows[index] for index in sorted(order[:SHOWN_POINTS]))
    said = labels.say("furthest", shown=SHOWN_POINTS, count=len(rows))
    return _points(shown, labels), Sentences((Sentence("", said, "faint"),))


def _points(rows: tuple[Residual, ...], labels: CalibrationLabels) -> Table:
    right = ("measured", "fitted", "off", "off_default", "off_left_out")
    columns = (
        Column(labels.word("row"), True),
        Column(labels.word("point")),
        Column(labels.word("measure")),
        *(Column(labels.word(key), True) for key in right),
    )
    cells = tuple(
        (
            Text(str(row.point.line)),
            Text(_point(row, labels)),
            Text(labels.word(row.measure)),
            Text(format_quantity(row.measured_s, "time")),
            Text(format_quantity(row.fitted_s, "time")),
            Text(_off(row.off), "bad" if row.outlier else ""),
            Text(_off(row.default_off)),
            Text(_off(row.left_out_off)),
        )
        for row in rows
    )
    return Table(columns, cells, heads=2)


def _point(row: Residual, labels: CalibrationLabels) -> str:
    point = row.point
    parts = [labels.say("lengths", input=digits.number(point.input_tokens, 0))]
    if point.cached_tokens:
        parts.append(labels.say("cached", cached=digits.number(point.cached_tokens, 0)))
    if point.phase == "serving":
        parts.append(labels.say("outputs", output=digits.number(point.output_tokens, 0)))
    if point.phase != "prefill":
        parts.append(labels.say("batch_of", batch=digits.number(point.concurrency, 0)))
    return labels.say("comma").join([*parts, row.shape])


def _off(value: float | None) -> str:
    return digits.MISSING if value is None else f"{100.0 * value:+.1f} %"


def _charts(
    calibrated: Calibrated, rows: tuple[Residual, ...], labels: CalibrationLabels
) -> tuple[Chart, ...]:
    series = []
    for tone, measure in enumerate(dict.fromkeys(row.measure for row in rows)):
        mine = [row for row in rows if row.measure == measure]
        series.append(
            Series(
                labels.word(measure),
                tuple(1e3 * row.measured_s for row in mine),
                tuple(100.0 * row.off for row in mine),
                tone,
                tuple(f"{row.point.line}: {_point(row, labels)}" for row in mine),
            )
        )
    spread = 100.0 * math.expm1(calibrated.calibration.scatter)
    chart = Chart(
        key="residuals",
        kind="scatter",
        title=labels.word("chart.residuals"),
        description=labels.say("chart.residuals"),
        x_label=labels.word("axis.measured"),
        y_label=labels.word("axis.off"),
        series=tuple(series),
        rules=(Rule("", spread, "y"), Rule("", -spread, "y")),
    )
    return (chart,)


def _paste(calibrated: Calibrated, labels: CalibrationLabels) -> Facts:
    places = tuple(Text(clean(place)) for place in calibrated.places)
    facts = [
        Fact(labels.word("line_to_paste"), (Text(clean(calibrated.line), "strong"),)),
        Fact(labels.word("where"), places or (Text(labels.word("top_level")),)),
    ]
    if calibrated.framework_line:
        said = labels.say("framework", line=calibrated.framework_line)
        facts.append(Fact(labels.word("besides"), (Text(said),)))
    return Facts(tuple(facts))


def _footer(calibrated: Calibrated, labels: CalibrationLabels) -> Facts:
    facts = [
        ("command", calibrated.command),
        ("version", f"pdd-plan {calibrated.tool_version}"),
        ("scenario", calibrated.scenario),
        ("measurements", f"{calibrated.file}, SHA-256 {calibrated.sha256}"),
        ("model", f"{calibrated.chip_runs.model}, {calibrated.precision}"),
    ]
    return Facts(tuple(Fact(labels.word(key), (Text(clean(text)),)) for key, text in facts if text))
