"""Break-evens in a report: sentences, a table with both bounds, and a report of their own."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass

from pdd_plan.fleet.plan import BreakEven
from pdd_plan.report import digits
from pdd_plan.report.blocks import (
    Block,
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
from pdd_plan.report.digits import clean
from pdd_plan.report.labels import Labels
from pdd_plan.report.sentences import warnings
from pdd_plan.report.tables import trimmed
from pdd_plan.report.tidy import Tidy, break_even_table

FIBER_KM_PER_RTT_MS = 102.1
"""Way of light in fiber in half a millisecond [km]: 299,792 km/s over a group index of 1.4682
(Corning SMF-28 data sheet, 1,550 nm), there and back."""
HALF_EARTH_KM = 20_015.0
"""The farthest that two places on earth are apart."""


@dataclass(frozen=True)
class BreakEvens:
    """The answers to one question for break-evens, to be reported by themselves.

    Attributes
    ----------
    scenario : str
        Name of the scenario.
    sha256 : str
        Hash of its content.
    currency : str
        Of all money.
    items : tuple of BreakEven
        One for every direction in which there is a change.
    command : str
        The command that gives them again.
    tool_version : str
        Of this tool.
    warnings : tuple of str
        What the scenario says and the answers pass over.
    """

    scenario: str
    sha256: str
    currency: str
    items: tuple[BreakEven, ...]
    command: str
    tool_version: str
    warnings: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the answers as indented JSON."""
        data = {
            "schema_version": 1,
            "tool_version": self.tool_version,
            "scenario": {"name": self.scenario, "sha256": self.sha256},
            "command": self.command,
            "currency": self.currency,
            "warnings": list(self.warnings),
            "break_even": [item.model_dump(mode="json") for item in self.items],
        }
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def break_even_view(answer: BreakEvens, lang: str = "en") -> View:
    """Return the report of break-evens alone.

    Parameters
    ----------
    answer : BreakEvens
        As found.
    lang : str
        Language of labels and sentences.

    Raises
    ------
    InputError
        If there is no such language.
    """
    labels = Labels(lang)
    footer = (
        ("command", answer.command),
        ("version", f"pdd-plan {answer.tool_version}"),
        ("input_hash", answer.sha256),
    )
    facts = Facts(tuple(Fact(labels.word(key), (Text(clean(text)),)) for key, text in footer))
    blocks = break_even_blocks(answer.items, answer.currency, labels)
    told = (warnings(answer.warnings),) if answer.warnings else ()
    return View(
        title=clean(answer.scenario),
        subtitle=labels.say("break_even_of", path=clean(answer.items[0].path)),
        language=lang,
        sections=(
            Section("summary", labels.word("break_even"), blocks),
            *(Section("warnings", labels.word("warnings"), (said,)) for said in told),
            Section("reproduce", labels.word("reproduce"), (facts,)),
        ),
    )


def break_even_tables(answer: BreakEvens) -> tuple[Tidy, ...]:
    """Return the answers as a tidy table; warnings, where there are any, are a last column."""
    return (break_even_table(answer.items).warning(answer.warnings),)


def break_even_blocks(
    items: Iterable[BreakEven], currency: str, labels: Labels
) -> tuple[Block, ...]:
    """Return what pays up to where, in sentences, and the planned values on either side.

    Parameters
    ----------
    items : iterable of BreakEven
        None give no blocks.
    currency : str
        Of all money.
    labels : Labels
        Words of the language.
    """
    known = tuple(items)
    if not known:
        return ()
    said = tuple(Sentence("", sentence(item, labels)) for item in known)
    bounded = [item for item in known if item.pays_at is not None]
    if not bounded:
        return (Sentences(said),)
    columns = (
        Column(labels.word("pays_what")),
        *(Column(labels.word(key), right=True) for key in ("now", "pays_at", "fails_at")),
        Column(labels.word("unit")),
        Column(labels.word("without_it", currency=clean(currency)), right=True),
    )
    rows = tuple(
        (
            Text(f"{_who(item, labels)}{labels.say('part')}{_varied(item, labels)}"),
            *(Text(_number(value)) for value in (item.now, _inward(item), item.fails_at)),
            Text(clean(item.unit)),
            Text(digits.money(item.usd_per_hour_without)),
        )
        for item in bounded
    )
    return Sentences(said), trimmed(Table(columns, rows))


def sentence(item: BreakEven, labels: Labels) -> str:
    """Say up to where something pays."""
    who, varied = _who(item, labels), _varied(item, labels)
    if item.pays == "unknown":
        return labels.say("pays_unknown", who=who, varied=varied, reason=clean(item.reason))
    if item.pays in ("always", "never"):
        if item.pays == "always" and item.possible_without is False:
            return labels.say("pays_needed", who=who)
        low, high = (_value(value, item) for value in (item.tried_from, item.tried_to))
        text = labels.say(f"pays_{item.pays}", who=who, varied=varied, low=low, high=high)
    else:
        at = _value(_inward(item), item)
        own = labels.say("own", varied=varied) if varied != clean(item.path) else varied
        text = labels.say(f"pays_{item.pays}", who=who, varied=own, at=at)
        if item.now is not None:
            text += labels.say("pays_now", now=_value(item.now, item))
        text += labels.say("end")
        if item.path.endswith(".rtt") and item.pays_at is not None:
            text += labels.say("blank") + _distance(item.pays_at, labels)
    return text if item.proven else text + labels.say("blank") + labels.say("pays_unproven")


def _distance(rtt_ms: float, labels: Labels) -> str:
    """Say how far light gets in fiber, there and back, in a round-trip time."""
    way_km = rtt_ms * FIBER_KM_PER_RTT_MS
    if way_km > HALF_EARTH_KM:
        return labels.say("distance_any")
    return labels.say("distance", km=digits.significant(way_km, 2))


def _who(item: BreakEven, labels: Labels) -> str:
    return clean(item.subject) if item.subject else labels.word(f"pays.{item.what}")


def _varied(item: BreakEven, labels: Labels) -> str:
    """Return the name of what is varied; the path itself where it is not the subject's own."""
    tail = item.path.rpartition(".")[2]
    if item.subject and labels.knows(f"varied.{tail}"):
        return labels.word(f"varied.{tail}")
    return clean(item.path)


def _inward(item: BreakEven) -> float | None:
    """Return the value that pays, to four digits and not beyond itself."""
    if not item.pays_at:
        return item.pays_at
    step = 10.0 ** (math.floor(math.log10(item.pays_at)) - 3)
    turned = math.floor if item.pays == "below" else math.ceil
    return turned(item.pays_at / step) * step


def _value(value: float | None, item: BreakEven) -> str:
    return f"{_number(value)} {clean(item.unit)}".rstrip()


def _number(value: float | None) -> str:
    return digits.significant(value, 4)
