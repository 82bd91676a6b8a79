"""A sweep → view: what was varied, the best, where fleets change places, every point."""

from __future__ import annotations

from collections.abc import Iterable

from pdd_plan.report import digits
from pdd_plan.report.blocks import (
    Block,
    Fact,
    Facts,
    Section,
    Sentence,
    Sentences,
    Text,
    View,
)
from pdd_plan.report.digits import clean
from pdd_plan.report.sentences import warnings
from pdd_plan.report.sweep import COST, KINDS, SweepAxis, SweepReport, SweepRow, middle_slices
from pdd_plan.report.sweep_charts import sweep_charts
from pdd_plan.report.sweep_crossings import Crossing
from pdd_plan.report.sweep_tables import (
    all_points,
    front_table,
    grid_table,
    point_name,
    service_points,
    short_points,
)
from pdd_plan.report.sweep_words import SweepLabels

NAMED_POINTS = 3
"""Points without a plan that are named for one reason; the others are counted."""
LISTED_VALUES = 4
"""An axis of at most this many values is told value by value."""


def sweep_view(report: SweepReport, lang: str = "en") -> View:
    """Return the report of a sweep.

    Parameters
    ----------
    report : SweepReport
        As planned.
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
    labels = SweepLabels(lang)
    charts = sweep_charts(report, labels)
    table_key = "front_points" if report.is_front else "points"
    sections = [
        Section("summary", labels.word("summary"), (_summary(report, labels),)),
        *_crossings(report, labels),
        *_warnings(report, labels),
        *_no_plan(report, labels),
        Section(table_key, labels.word(table_key), _short(report, labels), brief=True),
        *_services(report, labels, short=True),
        *([Section("charts", labels.word("charts"), charts, detail=True)] if charts else []),
        *_front(report, labels),
        Section("points", labels.word("points"), (all_points(report, labels),), detail=True),
        *_services(report, labels, short=False),
        Section("reproduce", labels.word("reproduce"), (_footer(report, labels),)),
    ]
    return View(
        title=clean(report.scenario) or labels.word("scenario"),
        subtitle=_headline(report, labels),
        language=lang,
        sections=tuple(section for section in sections if section.blocks),
        good=report.any_plan,
    )


def _headline(report: SweepReport, labels: SweepLabels) -> str:
    count = len(report.rows)
    points = (
        labels.say("one_point")
        if count == 1
        else labels.say("point_count", count=digits.number(count, 0))
    )
    if report.is_front:
        kept = sum(bool(row.on_front) for row in report.rows)
        return labels.say("front_title", points=points, count=kept)
    planned = sum(row.planned for row in report.rows)
    return labels.say("sweep_title", points=points, planned=digits.number(planned, 0))


def _summary(report: SweepReport, labels: SweepLabels) -> Facts:
    varied = tuple(
        Text(labels.say("swept", path=clean(item.path), values=_values(axis, item.texts, labels)))
        for axis in report.axes
        for item in axis.varied
    )
    facts = [Fact(labels.word("varied"), varied)]
    planned = [
        row
        for row in report.rows
        if row.amount(COST) is not None and (row.on_front or not report.is_front)
    ]
    if planned:
        ranked = sorted(planned, key=lambda row: row.amount(COST) or 0.0)
        facts.append(Fact(labels.word("best_point"), _point(report, ranked[0], labels)))
        if len(ranked) > 1:
            facts.append(Fact(labels.word("dearest_point"), _point(report, ranked[-1], labels)))
    return Facts(tuple(facts))


def _warnings(report: SweepReport, labels: SweepLabels) -> list[Section]:
    if not report.warnings:
        return []
    return [Section("warnings", labels.word("warnings"), (warnings(report.warnings),))]


def _values(axis: SweepAxis, texts: tuple[str, ...], labels: SweepLabels) -> str:
    if len(texts) <= LISTED_VALUES:
        return clean(", ".join(texts))
    order = sorted(range(len(texts)), key=axis.place)
    first, last = clean(texts[order[0]]), clean(texts[order[-1]])
    return labels.say("values", first=first, last=last, count=len(texts))


def _point(report: SweepReport, row: SweepRow, labels: SweepLabels) -> tuple[Text, ...]:
    currency = clean(report.currency)
    cost = digits.money(row.amount(COST))
    if report.services:
        times = tuple(
            Text(
                labels.say(
                    "of_service", name=clean(name), said=_p90(row, labels, f"services.{name}.")
                )
            )
            for name in report.services
        )
    else:
        times = (Text(_p90(row, labels)),)
    return (
        Text(labels.say("per_m_output", amount=cost, currency=currency), "strong"),
        Text(labels.say("at_point", values=point_name(report, row))),
        Text(
            labels.say(
                "effect_cost", amount=digits.money(row.amount("usd_per_hour")), currency=currency
            )
        ),
        *times,
        Text(labels.kind(row.record["architecture"])),
    )


def _p90(row: SweepRow, labels: SweepLabels, prefix: str = "") -> str:
    return labels.say("effect_p90", p90=digits.seconds(row.amount(f"{prefix}ttft_p90_s")))


def _crossings(report: SweepReport, labels: SweepLabels) -> list[Section]:
    said = _changes(report, report.crossings, labels)
    for part in middle_slices(report):
        path, value = clean(part.held.path), clean(part.held.texts[part.step])
        said += [
            labels.say("at_value", path=path, value=value, said=text)
            for text in _changes(part.report, _of_kinds(part.report.crossings), labels)
        ]
    if not said:
        return []
    sentences = tuple(Sentence("", text) for text in said)
    return [Section("crossings", labels.word("crossings"), (Sentences(sentences),))]


def _of_kinds(found: Iterable[Crossing]) -> list[Crossing]:
    return [item for item in found if {item.below, item.above} <= set(KINDS)]


def _changes(report: SweepReport, found: Iterable[Crossing], labels: SweepLabels) -> list[str]:
    """Say where along the only axis fleets change places.

    Where no relay pays the best PDD fleet is the cross-site fleet; then both are in one sentence.
    """
    unit = f" {clean(report.axes[0].unit)}".rstrip()
    said = []
    alike: dict[tuple[float, float, str, str, str], list[Crossing]] = {}
    for item in found:
        names = (_without_relay(item.below), _without_relay(item.above))
        place = (item.low, item.high, digits.money(item.value))
        alike.setdefault((*place, *names), []).append(item)
    for same in alike.values():
        item = same[0]
        sentence = labels.say(
            "crossing_both" if len({one.below for one in same}) > 1 else "crossing",
            below=_kinds((one.below for one in same), labels),
            above=_kinds((one.above for one in same), labels),
            low=f"{digits.significant(item.low, 6)}{unit}",
            high=f"{digits.significant(item.high, 6)}{unit}",
        )
        if item.at is not None:
            at = f"{digits.significant(item.at, 3)}{unit}"
            value = f"{digits.money(item.value)} {clean(report.currency)}"
            sentence += labels.say("blank") + labels.say("meet", at=at, value=value)
        said.append(sentence)
    return said


def _without_relay(name: str) -> str:
    return "cross_site" if name == "pdd" else name


def _kinds(names: Iterable[str], labels: SweepLabels) -> str:
    return labels.say("and_kind").join(labels.word(name) for name in dict.fromkeys(names))


def _no_plan(report: SweepReport, labels: SweepLabels) -> list[Section]:
    """Name the points without a plan by reason, most frequent first."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for row in _limits_left_out(report) if report.is_front else report.rows:
        if not row.planned:
            status = labels.status(row.record["status"])
            reason = clean(str(row.record["reason"] or ""))
            by_reason.setdefault((status, reason), []).append(point_name(report, row))
    sentences = []
    for (status, reason), names in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        lead = labels.say("next").join(names[:NAMED_POINTS])
        if len(names) > NAMED_POINTS:
            more = digits.number(len(names) - NAMED_POINTS, 0)
            lead = labels.say("several_points", first=lead, count=more)
        sentences.append(Sentence(lead, f"{status}. {reason}" if reason else status))
    if not sentences:
        return []
    return [Section("no_plan", labels.word("no_plan"), (Sentences(tuple(sentences)),))]


def _limits_left_out(report: SweepReport) -> list[SweepRow]:
    """Return, of the points of a front, those without a plan that tell something.

    That tight limits cannot be kept is no news: of them only the loosest counts.
    """
    number = next(index for index, axis in enumerate(report.axes) if axis.is_limit)
    found: dict[tuple[int, ...], SweepRow] = {}
    others = []
    for row in sorted(report.rows, key=lambda row: report.axes[number].place(row.steps[number])):
        if row.record["status"] == "infeasible":
            found[row.steps[:number] + row.steps[number + 1 :]] = row
        elif not row.planned:
            others.append(row)
    return [*found.values(), *others]


def _short(report: SweepReport, labels: SweepLabels) -> tuple[Block, ...]:
    """Return what the console shows of the points."""
    if not report.any_plan:
        return ()
    if report.is_front:
        return (front_table(report, labels, short=True),)
    return grid_table(report, labels) if len(report.axes) == 2 else short_points(report, labels)


def _services(report: SweepReport, labels: SweepLabels, short: bool) -> list[Section]:
    """Return what each service costs and reaches: briefly for the console, whole for documents."""
    if not report.services or not report.any_plan:
        return []
    blocks = service_points(report, labels, short)
    return [Section("services", labels.word("services"), blocks, brief=short, detail=not short)]


def _front(report: SweepReport, labels: SweepLabels) -> list[Section]:
    if not report.is_front or not report.any_plan:
        return []
    limits = len({row.steps for row in report.rows})
    said = Sentences((Sentence("", labels.say("front_method", limits=limits), "faint"),))
    table = front_table(report, labels, short=False)
    return [Section("front_points", labels.word("front_points"), (table, said), detail=True)]


def _footer(report: SweepReport, labels: SweepLabels) -> Facts:
    facts = [Fact(labels.word("command"), (Text(clean(report.command)),))] if report.command else []
    facts.append(Fact(labels.word("version"), (Text(f"pdd-plan {clean(report.tool_version)}"),)))
    return Facts(tuple(facts))
