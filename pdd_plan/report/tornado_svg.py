"""A tornado chart as SVG: bars to either side of what is, the longest on top."""

from __future__ import annotations

import math
from html import escape

from pdd_plan.report.blocks import Chart, Series
from pdd_plan.report.digits import significant
from pdd_plan.report.svg import (
    BAR_HEIGHT,
    BAR_STEP,
    TOP,
    WIDTH,
    Frame,
    _bar_name,
    _legend,
    _line,
    _text,
    _width_of,
    ticks,
)

HALF = 13.0
"""Height of bars that stand on the same side [px]."""


def tornado(chart: Chart) -> tuple[float, list[str]]:
    """Draw a tornado; return its height [px] and its elements.

    Parameters
    ----------
    chart : Chart
        Two series with a length for each row, not a number where there is no plan, and the value
        tried as its name; a third names the rows. The label of the y axis says what there is
        where a length is missing.
    """
    down, up, rows = chart.series
    names = rows.names
    left = min(270.0, 16 + max(map(_width_of, names)))
    bottom = TOP + 10 + BAR_STEP * len(names)
    frame = _frame(down, up, left, bottom)
    parts = _legend((down, up))
    for value in ticks(*frame.x):
        x = frame.at_x(value)
        parts.append(_line(x, frame.top, x, bottom, "grid"))
        parts.append(_text(x, bottom + 16, significant(value, 6), "middle", "tick"))
    zero = frame.at_x(0.0)
    parts.append(_line(zero, frame.top - 4, zero, bottom, "axis"))
    for row, name in enumerate(names):
        y = frame.top + row * BAR_STEP + (BAR_STEP - BAR_HEIGHT) / 2
        parts.append(_bar_name(name, left - 8, y))
        both = (down.x[row], up.x[row])
        half = both[0] * both[1] > 0 or any(map(math.isnan, both))
        for place, item in enumerate((down, up)):
            top = frame.top + row * BAR_STEP + 3 + place * HALF if half else y
            height = HALF if half else BAR_HEIGHT
            parts += _bar(chart, item, row, frame, top, height)
    center = (left + frame.right) / 2
    parts.append(_text(center, bottom + 36, chart.x_label, "middle", "label"))
    return bottom + 46, parts


def _frame(down: Series, up: Series, left: float, bottom: float) -> Frame:
    """Return the frame of the largest scale at which bars and the values behind them fit."""
    bars = [
        (length, _width_of(value) + 10)
        for item in (down, up)
        for length, value in zip(item.x, item.names, strict=True)
        if not math.isnan(length)
    ]
    right = WIDTH - 14.0

    def sides(scale: float) -> tuple[float, float]:
        back = max((-x * scale + room for x, room in bars if x < 0), default=4.0)
        return back, max((x * scale + room for x, room in bars if x > 0), default=4.0)

    low, high = 0.0, (right - left) / max(abs(x) for x, _ in bars) if bars else 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(sides(middle)) <= right - left else (low, middle)
    back = sides(low)[0]
    scale = low or 1.0
    x = (-back / scale, (right - left - back) / scale)
    return Frame(left, TOP + 10, right, bottom, x, (0.0, 1.0))


def _bar(
    chart: Chart, item: Series, row: int, frame: Frame, top: float, height: float
) -> list[str]:
    length, value = item.x[row], item.names[row]
    zero, middle = frame.at_x(0.0), top + height / 2 + 4
    if math.isnan(length):
        return [_text(zero + 6, middle, f"{value}: {chart.y_label}", "start", "rule-text")]
    if length == 0.0:
        return []
    end = frame.at_x(length)
    said = f"{chart.series[2].names[row]} {value}: {significant(length, 3)} %"
    back = length < 0
    label = _text(end + (-5 if back else 5), middle, value, "end" if back else "start", "tick")
    return [
        f'<rect x="{min(zero, end):.1f}" y="{top:.1f}" width="{abs(end - zero):.1f}" '
        f'height="{height:.1f}" class="tone{item.tone}"><title>{escape(said)}</title></rect>',
        label,
    ]
