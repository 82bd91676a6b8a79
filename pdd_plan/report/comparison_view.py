"""Several plans → one table: alternatives as columns, what they cost and reach as rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pdd_plan.fleet.shared_plan import AnyPlan
from pdd_plan.report import charts, digits
from pdd_plan.report.blocks import (
    Column,
    Fact,
    Facts,
    Section,
    Sentence,
    Sentences,
    Table,
    Text,
    View,
)
from pdd_plan.report.comparison import Alternatives, Comparison, P
from pdd_plan.report.comparison_rows import Row, all_rows
from pdd_plan.report.digits import clean
from pdd_plan.report.labels import Labels


def comparison_view(comparison: Comparison, lang: str = "en") -> View:
    """Return the report of a comparison.

    Parameters
    ----------
    comparison : Comparison
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
    charts = _charts(comparison, labels)
    return side_by_side(comparison, all_rows(comparison, labels), labels, charts)


def side_by_side(
    comparison: Alternatives[P],
    rows: Iterable[Row[P]],
    labels: Labels,
    details: Sequence[Section] = (),
) -> View:
    """Return a report with a column for every plan.

    Parameters
    ----------
    comparison : Alternatives
        The plans; values that differ from the first are marked, and the best of a row.
    rows : iterable of Row
        What is told of each.
    labels : Labels
        Words of the language.
    details : sequence of Section
        What follows the table.
    """
    names: tuple[str, ...] = tuple(clean(name) for name, _ in comparison.alternatives)
    table = Table(
        (Column(""), *(Column(name, right=True) for name in names)),
        tuple(_cells(row, comparison.plans) for row in rows),
        wide=True,
    )
    said: list[Sentence] = [Sentence("", text, "bad") for text in _notes(comparison.plans, labels)]
    legend = Sentences((*said, Sentence("", labels.say("legend"), "faint")))
    sections = [
        *_warnings(comparison.alternatives, labels),
        Section("comparison", labels.word("comparison"), (table, legend)),
        *details,
        Section(
            "reproduce",
            labels.word("reproduce"),
            (_footer(comparison.alternatives, comparison.command, labels),),
        ),
    ]
    return View(
        title=labels.word("comparison"),
        subtitle=", ".join(names),
        language=labels.language,
        sections=tuple(sections),
        good=any(plan.status != "infeasible" for plan in comparison.plans),
    )


def _charts(comparison: Comparison, labels: Labels) -> list[Section]:
    drawn = charts.comparison_charts(comparison, labels)
    return [Section("charts", labels.word("charts"), drawn, detail=True)] if drawn else []


def _cells(row: Row[P], plans: Sequence[P]) -> tuple[Text, ...]:
    """Return a row in which what differs from the first and what is best are marked.

    Numbers are held to be equal where the reader sees no difference between them.
    """
    said = [row.text(plan) for plan in plans]
    known = [text for text in said if text != digits.MISSING]
    differs = len(set(known)) > 1
    best = _best(row, plans, said) if differs else None
    texts = [Text(f"~ {row.label}" if differs else f"  {row.label}", "" if differs else "faint")]
    for plan, text in zip(plans, said, strict=True):
        if best is not None and text == best and _counts(row, plan):
            texts.append(Text(f"{text} *", "best"))
        elif differs and known and text not in (known[0], digits.MISSING):
            texts.append(Text(f"{text}  ", "changed"))
        else:
            texts.append(Text(f"{text}  "))
    return tuple(texts)


def _best(row: Row[P], plans: Sequence[P], said: Sequence[str]) -> str | None:
    """Return the best text among plans that meet their limits; None where ranks say nothing."""
    if row.best is None or (row.is_cost and len({plan.currency for plan in plans}) > 1):
        return None
    ranked = [
        (float(value), text)
        for value, plan, text in zip(map(row.value, plans), plans, said, strict=True)
        if isinstance(value, int | float) and _counts(row, plan)
    ]
    if len({text for _, text in ranked}) < 2:
        return None
    end = row.best([value for value, _ in ranked])
    return next(text for value, text in ranked if value == end)


def _counts(row: Row[P], plan: P) -> bool:
    """Say whether a plan may be called best: one that misses a limit is not the cheapest."""
    return plan.status != "infeasible" and (not row.is_cost or plan.slo_met)


def _notes(plans: Sequence[AnyPlan], labels: Labels) -> list[str]:
    """Return what makes costs of plans hard to compare."""
    found = []
    if len({plan.currency for plan in plans}) > 1:
        found.append(labels.say("other_currencies"))
    if len({plan.demand for plan in plans if plan.demand is not None}) > 1:
        found.append(labels.say("other_scenarios"))
    return found


def _warnings(alternatives: Sequence[tuple[str, AnyPlan]], labels: Labels) -> list[Section]:
    """Return every warning once, with the alternatives it is about."""
    about: dict[str, list[str]] = {}
    for name, plan in alternatives:
        said = list(plan.warnings)
        if plan.infeasibility is not None:
            said.append(plan.infeasibility.reason)
        for text in dict.fromkeys(said):
            about.setdefault(text, []).append(clean(name))
    texts = [
        Sentence("" if len(names) == len(alternatives) else ", ".join(names), clean(text), "bad")
        for text, names in about.items()
    ]
    if not texts:
        return []
    return [Section("warnings", labels.word("warnings"), (Sentences(tuple(texts)),))]


def _footer(alternatives: Sequence[tuple[str, AnyPlan]], command: str, labels: Labels) -> Facts:
    """Return how to get the comparison again; alternatives of the same origin share a line."""
    facts = []
    if command:
        facts.append(Fact(labels.word("command"), (Text(clean(command)),)))
    versions = ", ".join(dict.fromkeys(clean(plan.tool_version) for _, plan in alternatives))
    facts.append(Fact(labels.word("version"), (Text(f"pdd-plan {versions}"),)))
    origins: dict[tuple[str, ...], list[str]] = {}
    for name, plan in alternatives:
        own = plan.command if plan.command != command else ""
        origin = (plan.scenario.name, plan.scenario.sha256, own)
        origins.setdefault(origin, []).append(clean(name))
    for source, names in origins.items():
        texts = tuple(Text(clean(text)) for text in source if text)
        facts.append(Fact(", ".join(names), texts))
    return Facts(tuple(facts))
