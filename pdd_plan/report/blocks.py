"""The parts that a report is made of, between the plan and the renderers.

A view is a title and sections; a section holds facts, paragraphs, tables and charts. Everything
is final text in the reader's language, so that the renderers only lay out and escape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mark = Literal["", "good", "bad", "best", "changed", "strong", "faint"]
"""What a text is marked as; a renderer may show it by color, weight or not at all."""


@dataclass(frozen=True)
class Text:
    """A piece of final text with its mark."""

    text: str
    mark: Mark = ""


@dataclass(frozen=True)
class Fact:
    """A labeled line of several texts, such as a cost and what it is compared with."""

    label: str
    texts: tuple[Text, ...]


@dataclass(frozen=True)
class Facts:
    """Labeled lines under each other."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Sentence:
    """A sentence with a lead word, such as 'Route'; the lead may be empty."""

    lead: str
    text: str
    mark: Mark = ""


@dataclass(frozen=True)
class Sentences:
    """Sentences under each other."""

    sentences: tuple[Sentence, ...]


@dataclass(frozen=True)
class Column:
    """Heading of a table's column; numbers stand to the right."""

    label: str
    right: bool = False


@dataclass(frozen=True)
class Table:
    """A table of final texts; the first `heads` columns name the row."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Text, ...], ...]
    heads: int = 1
    total: bool = False
    """The last row is a sum."""
    wide: bool = False
    """Columns are alternatives: too many of them are shown in groups, not row by row."""


@dataclass(frozen=True)
class Series:
    """Points of one line, or lengths of one kind of bar."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    tone: int = 0
    """Number of the color."""
    names: tuple[str, ...] = ()
    """Names of the points or bars, where they have any."""


@dataclass(frozen=True)
class Rule:
    """A straight line across a chart, such as a limit."""

    label: str
    value: float
    axis: Literal["x", "y"] = "x"


@dataclass(frozen=True)
class Chart:
    """Numbers to draw; `description` says in words what is seen."""

    key: str
    kind: Literal[
        "line", "bars", "steps", "points", "curves", "heat", "panels", "tornado", "scatter"
    ]
    title: str
    description: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    rules: tuple[Rule, ...] = ()


Block = Facts | Sentences | Table | Chart


@dataclass(frozen=True)
class Section:
    """Blocks under a title; on the console, details are left out and briefs stand for them."""

    key: str
    title: str
    blocks: tuple[Block, ...]
    detail: bool = False
    brief: bool = False


@dataclass(frozen=True)
class View:
    """A whole report in one language."""

    title: str
    subtitle: str
    language: str
    sections: tuple[Section, ...]
    good: bool = True
    """The answer is a plan, not a refusal."""

    def brief_sections(self) -> tuple[Section, ...]:
        """Return the sections for the console."""
        return tuple(section for section in self.sections if not section.detail)

    def full_sections(self) -> tuple[Section, ...]:
        """Return the sections for a document."""
        return tuple(section for section in self.sections if not section.brief)
