"""Charts of sweeps as SVG: curves over an axis with their crossings, and maps over two axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise, zip_longest

from pdd_plan.report.blocks import Chart, Series
from pdd_plan.report.digits import significant
from pdd_plan.report.svg import (
    PLOT_HEIGHT,
    TOP,
    WIDTH,
    Frame,
    _axes,
    _axis_names,
    _legend,
    _line,
    _text,
    _width_of,
    ticks,
)

ROW_HEIGHT = 28.0
MOST_HEIGHT = 420.0
CELL_TEXT_WIDTH = 34.0
"""A cell narrower than this has no text [px]."""
FAINTEST, STRONGEST = 0.06, 0.62
"""Opacity of the least and the greatest value of a map; text stays readable on both."""
LINES = {
    ("wide",): "stroke:var(--ink);stroke-width:7;stroke-opacity:.22",
    ("dashed",): "stroke-dasharray:7 5",
}
"""Curves that others may cover, and those that let others show through, by their names."""
SIDESTEP = 11.0
"""Distance of the points of two series over the same name [px]."""
WIDE_DOT = ' style="fill:var(--ink);fill-opacity:.22"'


@dataclass(frozen=True)
class Mark:
    """A place that is pointed out: a ring on the curves and its x above them."""

    x: float
    y: float
    label: str


@dataclass(frozen=True)
class CurveChart(Chart):
    """Curves over one axis.

    Attributes
    ----------
    x_names : tuple of str
        Names of the positions 0, 1, … on the x axis, where they are no numbers.
    marks : tuple of Mark
        What is pointed out.
    front : bool
        Each curve is a front: a staircase, over a logarithmic x axis.
    """

    x_names: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    front: bool = False


class LogFrame(Frame):
    """A frame with a logarithmic x axis."""

    def at_x(self, value: float) -> float:
        """Return the pixel of an x value."""
        low, high = self.x
        share = math.log(value / low) / math.log(high / low)
        return self.left + share * (self.right - self.left)


@dataclass(frozen=True)
class Cell:
    """One field of a map: its column and row, its value or tone, and what is written on it."""

    column: int
    row: int
    value: float | None
    text: str
    title: str
    tone: int = 0


@dataclass(frozen=True)
class MapChart(Chart):
    """Fields over two axes, colored by value, or by tone where `series` name the tones."""

    columns: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class PanelChart(Chart):
    """Charts of curves under each other, each with its title."""

    panels: tuple[CurveChart, ...] = ()


PANEL_TITLE = 30.0
"""Height of the title above a panel [px]."""


def panels(chart: Chart) -> tuple[float, list[str]]:
    """Draw a `PanelChart`; return its height [px] and its elements."""
    assert isinstance(chart, PanelChart)
    parts, top = [], 0.0
    for panel in chart.panels:
        height, drawn = curves(panel)
        parts.append(_text(8, top + 20, panel.title, kind="panel"))
        parts += [f'<g transform="translate(0 {top + PANEL_TITLE:.0f})">', *drawn, "</g>"]
        top += PANEL_TITLE + height + 8
    return top, parts


def curves(chart: Chart) -> tuple[float, list[str]]:
    """Draw a `CurveChart`; return its height [px] and its elements."""
    assert isinstance(chart, CurveChart)
    levels = _label_levels(chart)
    frame = _curve_frame(chart, 16.0 * max(levels.values(), default=0))
    named = {item.tone: item for item in chart.series}
    parts = _curve_legend(tuple(named.values())) if len(named) > 1 else []
    plain = not chart.x_names and not chart.front
    parts += _axes(chart, frame) if plain else _own_axes(chart, frame)
    for item in chart.series:
        style = f' style="{LINES[item.names]}"' if item.names in LINES else ""
        if len(item.x) > 1 and not chart.x_names:
            places = list(zip(item.x, item.y, strict=True))
            if chart.front:  # between two plans one gets what the left one gives
                corners = [(x, y) for (_, y), (x, _) in pairwise(places)]
                places = [p for pair in zip_longest(places, corners) for p in pair if p]
            points = " ".join(f"{frame.at_x(x):.1f},{frame.at_y(y):.1f}" for x, y in places)
            parts.append(f'<polyline points="{points}" class="curve tone{item.tone}"{style}/>')
        beside = SIDESTEP * (item.tone - 1) if chart.x_names and item.names != ("wide",) else 0.0
        parts += _dots(item, frame, chart.x_names, beside)
    for mark in chart.marks:
        x, y = frame.at_x(mark.x), frame.at_y(mark.y)
        top = frame.top - 8 - 16 * levels[mark]
        parts.append(_line(x, top + 4, x, frame.bottom, "grid"))
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" '
            'style="fill:none;stroke:var(--ink);stroke-width:1.5"/>'
        )
        anchor = "end" if x + _width_of(mark.label) > frame.right else "start"
        parts.append(_text(x + (-4 if anchor == "end" else 4), top, mark.label, anchor))
    return frame.bottom + 50, parts


def _dots(item: Series, frame: Frame, names: Sequence[str], beside: float) -> list[str]:
    wide = item.names == ("wide",)
    radius, style = (5.5, WIDE_DOT) if wide else (4.0 if names else 2.6, "")
    parts = []
    for x, y in zip(item.x, item.y, strict=True):
        where = names[round(x)] if names else significant(x, 6)
        said = f"{item.label} {where}: {significant(y, 5)}"
        parts.append(
            f'<circle cx="{frame.at_x(x) + beside:.1f}" cy="{frame.at_y(y):.1f}" r="{radius}" '
            f'class="tone{item.tone}"{style}><title>{escape(said)}</title></circle>'
        )
    return parts


def _curve_legend(series: Sequence[Series]) -> list[str]:
    parts = []
    x = 8.0
    for item in series:
        color = f'class="tone{item.tone}"{WIDE_DOT if item.names == ("wide",) else ""}'
        parts.append(f'<rect x="{x:.1f}" y="8" width="12" height="12" rx="2" {color}/>')
        parts.append(_text(x + 17, 18, item.label))
        x += 17 + _width_of(item.label) + 18
    return parts


def _label_levels(chart: CurveChart) -> dict[Mark, int]:
    """Return on which line above the plot each label stands, so that none covers another."""
    ends: list[float] = []
    levels: dict[Mark, int] = {}
    xs = [x for item in chart.series for x in item.x]
    scale = 600.0 / ((max(xs) - min(xs)) or 1.0) if xs else 1.0
    for mark in sorted(chart.marks, key=lambda item: item.x):
        start = (mark.x - min(xs)) * scale
        level = next((k for k, end in enumerate(ends) if end < start), len(ends))
        ends[level:] = [start + _width_of(mark.label) + 12, *ends[level + 1 :]]
        levels[mark] = level
    return levels


def _span(values: Sequence[float]) -> tuple[float, float]:
    """Return the range of an axis: from 0 unless the values lie close together far from it."""
    low, high = min(values), max(values)
    if 0 <= low < 0.4 * high:
        low = 0.0
    pad = (high - low) * 0.06 or max(abs(high), 1.0) * 0.1
    return (low if low == 0 else low - pad), high + pad


def _curve_frame(chart: CurveChart, above: float) -> Frame:
    xs = [x for item in chart.series for x in item.x] + [mark.x for mark in chart.marks]
    ys = [y for item in chart.series for y in item.y] + [mark.y for mark in chart.marks]
    x, y = _span(xs), _span(ys)
    if chart.x_names:
        x = (-0.5, len(chart.x_names) - 0.5)
    widest = max(_width_of(significant(value, 6)) for value in ticks(*y))
    top = TOP + 18 + above
    kind = Frame
    if chart.front:
        kind, x = LogFrame, (min(xs) / 1.15, max(xs) * 1.15)
    return kind(30 + widest, top, WIDTH - 14, top + PLOT_HEIGHT, x, y)


def _own_axes(chart: CurveChart, frame: Frame) -> list[str]:
    """Draw axes with names below, or with the ticks of a logarithm."""
    parts = [_line(frame.left, frame.bottom, frame.right, frame.bottom, "axis")]
    for value in ticks(*frame.y):
        y = frame.at_y(value)
        parts.append(_line(frame.left, y, frame.right, y, "grid"))
        parts.append(_text(frame.left - 6, y + 4, significant(value, 6), "end", "tick"))
    room = (frame.right - frame.left) / max(len(chart.x_names), 1) - 6
    for index, name in enumerate(chart.x_names):
        parts.append(_fitted(frame.at_x(index), frame.bottom + 18, name, room))
    for value in _log_ticks(*frame.x) if chart.front else ():
        x = frame.at_x(value)
        parts.append(_line(x, frame.bottom, x, frame.bottom + 4, "axis"))
        parts.append(_text(x, frame.bottom + 18, significant(value, 6), "middle", "tick"))
    return parts + _axis_names(chart, frame)


def _log_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times the powers of ten in a range; over many decades only the powers."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    digits = (1, 2, 5) if last - first <= 4 else (1,)
    found = [digit * 10.0**power for power in range(first, last + 1) for digit in digits]
    return [value for value in found if low <= value <= high]


def _fitted(x: float, y: float, said: str, room: float, anchor: str = "middle") -> str:
    """Write a text, squeezed into its room rather than cut."""
    squeeze = ""
    if _width_of(said) > room:
        squeeze = f' textLength="{max(room, 8):.0f}" lengthAdjust="spacingAndGlyphs"'
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="tick"{squeeze}>'
        f"{escape(said)}</text>"
    )


def heat(chart: Chart) -> tuple[float, list[str]]:
    """Draw a `MapChart`; return its height [px] and its elements."""
    assert isinstance(chart, MapChart)
    left = 16 + min(150.0, max(_width_of(name) for name in chart.rows))
    top = TOP + 22.0
    width = (WIDTH - 14 - left) / len(chart.columns)
    height = min(ROW_HEIGHT, MOST_HEIGHT / len(chart.rows))
    bottom = top + height * len(chart.rows)
    values = [cell.value for cell in chart.cells if cell.value is not None]
    low, high = (min(values), max(values)) if values else (0.0, 0.0)
    parts = _legend(chart.series) if chart.series else _scale(low, high)
    for cell in chart.cells:
        x, y = left + cell.column * width, bottom - (cell.row + 1) * height
        strength = 0.62
        if not chart.series and cell.value is not None:
            share = (cell.value - low) / (high - low) if high > low else 0.5
            strength = FAINTEST + share * (STRONGEST - FAINTEST)
        fill = f'class="tone{cell.tone}" style="fill-opacity:{strength:.2f}"'
        if cell.value is None:
            fill = 'style="fill:none;stroke:var(--line)"'
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" {fill}>'
            f"<title>{escape(cell.title)}</title></rect>"
        )
        if width >= CELL_TEXT_WIDTH and height >= 14:
            parts.append(_text(x + width / 2, y + height / 2 + 4, cell.text, "middle"))
    return bottom + 50, parts + _map_names(chart, left, width, bottom, height)


def _map_names(
    chart: MapChart, left: float, width: float, bottom: float, height: float
) -> list[str]:
    parts = []
    widest = max(_width_of(name) for name in chart.columns) + 10
    every = max(1, math.ceil(min(widest, 110.0) / width))
    for index in range(0, len(chart.columns), every):
        x = left + (index + 0.5) * width
        parts.append(_fitted(x, bottom + 16, chart.columns[index], every * width - 4))
    every = max(1, math.ceil(13 / height))
    for index in range(0, len(chart.rows), every):
        y = bottom - (index + 0.5) * height + 4
        parts.append(_fitted(left - 6, y, chart.rows[index], 150.0, "end"))
    center = (left + WIDTH - 14) / 2
    parts.append(_text(center, bottom + 38, chart.x_label, "middle", "label"))
    return [*parts, _text(8, TOP + 14, chart.y_label, "start", "label")]


def _scale(low: float, high: float) -> list[str]:
    """Draw what the colors stand for."""
    steps = 5 if high > low else 1
    parts = [_text(8, 18, significant(low, 4))]
    x = 8 + _width_of(significant(low, 4)) + 8
    for step in range(steps):
        share = step / max(steps - 1, 1)
        strength = FAINTEST + share * (STRONGEST - FAINTEST)
        parts.append(
            f'<rect x="{x:.1f}" y="8" width="22" height="12" class="tone0" '
            f'style="fill-opacity:{strength:.2f}"/>'
        )
        x += 22
    return [*parts, _text(x + 8, 18, significant(high, 4))] if high > low else parts
