"""Pieces of the validation report: sections, claims, figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.pages import table


@dataclass(frozen=True)
class Section:
    """A part of the report.

    Attributes
    ----------
    title : str
    body : str
        Markdown.
    charts : mapping of str to str
        SVG text by file name.
    summary : tuple of str
        Lines for the overview at the top of the report.
    limits : tuple of str
        Where the model is off, and why: lines for the list at the end.
    """

    title: str
    body: str
    charts: Mapping[str, str] = field(default_factory=dict)
    summary: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A published figure beside what the model says of it.

    Attributes
    ----------
    what : str
    published, predicted : str
        With units.
    difference : str
        Relative, or in words where a ratio says nothing.
    fitted : str
        Inputs that were fitted or chosen for it; "nothing" if none.
    """

    what: str
    published: str
    predicted: str
    difference: str
    fitted: str


def claims_table(claims: Sequence[Claim]) -> str:
    """Return the table of published against predicted."""
    return table(
        ("", "published", "predicted", "difference", "fitted or chosen"),
        [(c.what, c.published, c.predicted, c.difference, c.fitted) for c in claims],
        "lrrrl",
    )


def percent(value: float, digits: int = 0) -> str:
    """Return a share as percent, without sign."""
    return f"{100 * value:.{digits}f} %"


def signed(value: float, digits: int = 1) -> str:
    """Return a relative difference as percent, with sign."""
    return f"{100 * value:+.{digits}f} %"


def seconds(value: float) -> str:
    """Return a time with three digits."""
    if value < 0.1:
        return f"{1000 * value:.3g} ms"
    return f"{value:.3g} s" if value < 100 else f"{value:.0f} s"


def image(file: str, said: str) -> str:
    """Return an image of the report."""
    return f"![{said}](images/{file})"
