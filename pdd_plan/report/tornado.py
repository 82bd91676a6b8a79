"""What changes of the scenario do to the plan: a table, and a tornado chart."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pdd_plan.fleet.plan import Plan, Sensitivity
from pdd_plan.report import digits
from pdd_plan.report.blocks import Block, Chart, Column, Sentence, Sentences, Series, Table, Text
from pdd_plan.report.digits import clean
from pdd_plan.report.labels import Labels
from pdd_plan.report.limit_names import key_name

NOTHING = 5e-5
"""Relative change below which a change counts as without effect."""
FEW = 24
"""Rows of the chart."""


@dataclass(frozen=True)
class Pair:
    """What is changed, and what comes of it one way and the other; either may not exist."""

    down: Sensitivity | None
    up: Sensitivity | None

    @property
    def entries(self) -> tuple[Sensitivity, ...]:
        """Those that exist."""
        return tuple(item for item in (self.down, self.up) if item is not None)

    @property
    def swing(self) -> float:
        """The greatest relative change; infinite where a change leaves no plan."""
        return max(map(_size, self.entries))


def _size(item: Sensitivity) -> float:
    return math.inf if item.relative_change is None else abs(item.relative_change)


def pairs(plan: Plan) -> tuple[Pair, ...]:
    """Return the changes of the scenario by what they change, the greatest effect first."""
    paths: dict[str, dict[str, Sensitivity]] = {}
    for item in plan.sensitivity:
        if item.of_scenario and item.direction is not None:
            paths.setdefault(item.path, {})[item.direction] = item
    found = [Pair(both.get("down"), both.get("up")) for both in paths.values()]
    return tuple(sorted(found, key=lambda pair: -_finite_swing(pair)))


def _finite_swing(pair: Pair) -> float:
    """Order by what is known: the effect that has a number, else before all others."""
    sizes = [_size(item) for item in pair.entries if item.relative_change is not None]
    return max(sizes, default=math.inf)


def probe_name(item: Sensitivity, labels: Labels) -> str:
    """Return what is changed, in the reader's language."""
    subject = clean(item.subject)
    if item.kind == "limit":
        subject = key_name(subject, labels)
    return labels.say(f"probe.{item.kind}", subject=subject)


def tornado_blocks(plan: Plan, labels: Labels) -> tuple[Block, ...]:
    """Return the table of changes and what is to be said about them.

    Parameters
    ----------
    plan : Plan
        With changes of its scenario in ``sensitivity``, or without.
    labels : Labels
        Words of the language.

    Returns
    -------
    tuple of Block
        Changes without any effect are named in a sentence instead of a row.
    """
    every = pairs(plan)
    if not every:
        return ()
    moving = [pair for pair in every if pair.swing > NOTHING]
    idle = [probe_name(pair.entries[0], labels) for pair in every if pair.swing <= NOTHING]
    keys = ("probed", "now", "by", "lower", "higher")
    columns = tuple(Column(labels.word(key), right=key != "probed") for key in keys)
    rows = tuple(
        (
            Text(probe_name(pair.entries[0], labels)),
            Text(clean(pair.entries[0].from_value or "")),
            Text(" / ".join(dict.fromkeys(clean(item.step) for item in pair.entries))),
            _cell(pair.down, plan, labels),
            _cell(pair.up, plan, labels),
        )
        for pair in moving
    )
    return Table(columns, rows), Sentences(_notes(moving, idle, plan, labels))


def _cell(item: Sensitivity | None, plan: Plan, labels: Labels) -> Text:
    if item is None:
        return Text("")
    if item.relative_change is None:
        return Text(labels.word("no_plan_cell"), "bad")
    text = digits.signed_percent(item.relative_change, NOTHING)
    if item.within_gap:
        return Text(f"{text} ~", "faint")
    if abs(item.relative_change) <= NOTHING:
        return Text(text)
    better = (item.relative_change > 0) == (_objective(plan) == "goodput")
    star = " *" if item.same_fleet is False else ""
    return Text(text + star, "good" if better else "changed")


def _notes(moving: list[Pair], idle: list[str], plan: Plan, labels: Labels) -> tuple[Sentence, ...]:
    entries = [item for pair in moving for item in pair.entries]
    notes = [labels.say(f"tornado_note.{_objective(plan)}")]
    if any(item.same_fleet is False and not item.within_gap for item in entries):
        notes.append(labels.say("tornado_star"))
    if any(item.within_gap for item in entries):
        notes.append(labels.say("tornado_gap"))
    said = [Sentence("", labels.say("blank").join(notes), "faint")]
    for item in entries:
        if item.relative_change is None:
            what, value = probe_name(item, labels), clean(str(item.value))
            reason = clean(item.effect)
            text = labels.say("tornado_refused", what=what, value=value, reason=reason)
            said.append(Sentence("", text))
    if idle:
        said.append(Sentence("", labels.say("tornado_idle", names=labels.say("next").join(idle))))
    return tuple(said)


def _objective(plan: Plan) -> str:
    objective = plan.certificate.objective if plan.certificate is not None else ""
    return objective if objective in ("goodput", "bcr") else "cost_per_token"


def tornado_chart(plan: Plan, labels: Labels) -> Chart | None:
    """Return the changes as bars to either side of the plan, the longest on top.

    Parameters
    ----------
    plan : Plan
        With changes of its scenario in ``sensitivity``, or without.
    labels : Labels
        Words of the language.

    Returns
    -------
    Chart or None
        Lengths are percentages; not a number where a change leaves no plan. None without changes
        that have an effect.
    """
    moving = [pair for pair in pairs(plan) if pair.swing > NOTHING][:FEW]
    if not moving:
        return None
    names = tuple(probe_name(pair.entries[0], labels) for pair in moving)
    rows = tuple(float(index) for index in range(len(moving)))
    series = [
        Series(
            labels.word(word),
            tuple(_percent(getattr(pair, side)) for pair in moving),
            rows,
            tone,
            tuple(_value(getattr(pair, side)) for pair in moving),
        )
        for tone, (side, word) in enumerate((("down", "lower"), ("up", "higher")))
    ]
    return Chart(
        key="tornado",
        kind="tornado",
        title=labels.word("chart.tornado"),
        description=labels.say("chart.tornado"),
        x_label=labels.word(f"axis.tornado.{_objective(plan)}"),
        y_label=labels.word("no_plan_cell"),
        series=(*series, Series("", (), (), 0, names)),
    )


def _percent(item: Sensitivity | None) -> float:
    if item is None:
        return 0.0
    return math.nan if item.relative_change is None else 100.0 * item.relative_change


def _value(item: Sensitivity | None) -> str:
    return "" if item is None else clean(str(item.value))
