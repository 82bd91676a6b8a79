"""Scatter charts as SVG: points over a logarithmic axis, such as residuals over times."""

from __future__ import annotations

import math
from html import escape

from pdd_plan.report.blocks import Chart, Series
from pdd_plan.report.digits import significant
from pdd_plan.report.svg import (
    PLOT_HEIGHT,
    TOP,
    WIDTH,
    _axis_names,
    _legend,
    _line,
    _rules,
    _text,
    _width_of,
    ticks,
)
from pdd_plan.report.sweep_svg import LogFrame

LABEL_WIDTH = 46.0
"""Room that a number on the x axis wants [px]."""


def scatter(chart: Chart) -> tuple[float, list[str]]:
    """Draw points, x logarithmic; return the height [px] and the elements."""
    frame = _frame(chart)
    parts = _legend(chart.series if len(chart.series) > 1 else ()) + _axes(chart, frame)
    for item in chart.series:
        parts += _dots(item, frame)
    return frame.bottom + 50, parts + _rules(chart, frame)


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Return round values between positive bounds, 1, 2 and 5 times powers of ten if they fit."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1,)):
        found = [f * 10.0**power for power in powers for f in factors]
        found = [value for value in found if low <= value <= high]
        if len(found) <= most:
            return found
    return found[:: -(-len(found) // most)]


def _frame(chart: Chart) -> LogFrame:
    xs = [value for item in chart.series for value in item.x]
    ys = [value for item in chart.series for value in item.y]
    ys += [rule.value for rule in chart.rules if rule.axis == "y"]
    low, high = min(0.0, *ys), max(0.0, *ys)
    pad = (high - low) * 0.08 or 1.0
    y = (low - pad, high + pad)
    left = 30 + max(_width_of(significant(value, 6)) for value in ticks(*y))
    x = (min(xs) / 1.15, max(xs) * 1.15)
    return LogFrame(left, TOP + 16, WIDTH - 14, TOP + 16 + PLOT_HEIGHT, x, y)


def _axes(chart: Chart, frame: LogFrame) -> list[str]:
    parts = []
    for value in ticks(*frame.y):
        y = frame.at_y(value)
        parts.append(_line(frame.left, y, frame.right, y, "axis" if value == 0 else "grid"))
        parts.append(_text(frame.left - 6, y + 4, significant(value, 6), "end", "tick"))
    for value in log_ticks(*frame.x, int((frame.right - frame.left) / LABEL_WIDTH)):
        x = frame.at_x(value)
        parts.append(_line(x, frame.bottom, x, frame.bottom + 4, "axis"))
        parts.append(_text(x, frame.bottom + 18, significant(value, 6), "middle", "tick"))
    parts.append(_line(frame.left, frame.bottom, frame.right, frame.bottom, "grid"))
    return parts + _axis_names(chart, frame)


def _dots(item: Series, frame: LogFrame) -> list[str]:
    parts = []
    for number, (x, y) in enumerate(zip(item.x, item.y, strict=True)):
        name = item.names[number] if number < len(item.names) else ""
        said = f"{name}: {significant(x, 4)}, {significant(y, 3)}".strip(": ")
        parts.append(
            f'<circle cx="{frame.at_x(x):.1f}" cy="{frame.at_y(y):.1f}" r="4" '
            f'class="tone{item.tone}"><title>{escape(said)}</title></circle>'
        )
    return parts
