"""Several plans → one table: alternatives as columns, what they cost and reach as rows."""

from __future__ import annotations

from collections.abc import Sequence

from pdd_plan.fleet.plan import Plan
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
from pdd_plan.report.comparison import Comparison
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
    names = tuple(clean(name) for name, _ in comparison.alternatives)
    rows = all_rows(comparison, labels)
    table = Table(
        (Column(""), *(Column(name, right=True) for name in names)),
        tuple(_cells(row, comparison) for row in rows),
        wide=True,
    )
    notes = [Sentence("", said, "bad") for said in _notes(comparison, labels)]
    legend = Sentences((*notes, Sentence("", labels.say("legend"), "faint")))
    sections = [
        *_warnings(comparison, labels),
        Section("comparison", labels.word("comparison"), (table, legend)),
        *_charts(comparison, labels),
        Section("reproduce", labels.word("reproduce"), (_footer(comparison, labels),)),
    ]
    return View(
        title=labels.word("comparison"),
        subtitle=", ".join(names),
        language=lang,
        sections=tuple(sections),
        good=any(plan.status != "infeasible" for plan in comparison.plans),
    )


def _charts(comparison: Comparison, labels: Labels) -> list[Section]:
    drawn = charts.comparison_charts(comparison, labels)
    return [Section("charts", labels.word("charts"), drawn, detail=True)] if drawn else []


def _cells(row: Row, comparison: Comparison) -> tuple[Text, ...]:
    """Return a row in which what differs from the first and what is best are marked.

    Numbers are held to be equal where the reader sees no difference between them.
    """
    plans = comparison.plans
    said = [row.text(plan) for plan in plans]
    known = [text for text in said if text != digits.MISSING]
    differs = len(set(known)) > 1
    best = _best(row, plans, said) if differs else None
    cells = [Text(f"~ {row.label}" if differs else f"  {row.label}", "" if differs else "faint")]
    for plan, text in zip(plans, said, strict=True):
        if best is not None and text == best and _counts(row, plan):
            cells.append(Text(f"{text} *", "best"))
        elif differs and known and text not in (known[0], digits.MISSING):
            cells.append(Text(f"{text}  ", "changed"))
        else:
            cells.append(Text(f"{text}  "))
    return tuple(cells)


def _best(row: Row, plans: Sequence[Plan], said: Sequence[str]) -> str | None:
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


def _counts(row: Row, plan: Plan) -> bool:
    """Say whether a plan may be called best: one that misses a limit is not the cheapest."""
    return plan.status != "infeasible" and (not row.is_cost or all(item.met for item in plan.slo))


def _notes(comparison: Comparison, labels: Labels) -> list[str]:
    plans = comparison.plans
    notes = []
    if len({plan.currency for plan in plans}) > 1:
        notes.append(labels.say("other_currencies"))
    if len({plan.demand for plan in plans if plan.demand is not None}) > 1:
        notes.append(labels.say("other_scenarios"))
    return notes


def _warnings(comparison: Comparison, labels: Labels) -> list[Section]:
    """Return every warning once, with the alternatives it is about."""
    about: dict[str, list[str]] = {}
    for name, plan in comparison.alternatives:
        said = list(plan.warnings)
        if plan.infeasibility is not None:
            said.append(plan.infeasibility.reason)
        for text in dict.fromkeys(said):
            about.setdefault(text, []).append(clean(name))
    texts = [
        Sentence(
            "" if len(names) == len(comparison.plans) else ", ".join(names), clean(text), "bad"
        )
        for text, names in about.items()
    ]
    if not texts:
        return []
    return [Section("warnings", labels.word("warnings"), (Sentences(tuple(texts)),))]


def _footer(comparison: Comparison, labels: Labels) -> Facts:
    """Return how to get the comparison again; alternatives of the same origin share a line."""
    facts = []
    if comparison.command:
        facts.append(Fact(labels.word("command"), (Text(clean(comparison.command)),)))
    versions = ", ".join(dict.fromkeys(clean(plan.tool_version) for plan in comparison.plans))
    facts.append(Fact(labels.word("version"), (Text(f"pdd-plan {versions}"),)))
    origins: dict[tuple[str, ...], list[str]] = {}
    for name, plan in comparison.alternatives:
        command = plan.command if plan.command != comparison.command else ""
        origin = (plan.scenario.name, plan.scenario.sha256, command)
        origins.setdefault(origin, []).append(clean(name))
    for source, names in origins.items():
        texts = tuple(Text(clean(text)) for text in source if text)
        facts.append(Fact(", ".join(names), texts))
    return Facts(tuple(facts))
