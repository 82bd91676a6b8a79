"""Chart → inline SVG, in the colors of the page around it; no script, no font, no library."""

from __future__ import annotations

import math
import re
from html import escape
from typing import NamedTuple

from pdd_plan.report.blocks import Chart, Series
from pdd_plan.report.digits import significant

WIDTH = 720
PLOT_HEIGHT = 240
BAR_HEIGHT = 22
BAR_STEP = 32
FONT = 12
TOP = 34
COLORS = """
:root{color-scheme:light dark;--ink:#1c2430;--soft:#5b6675;--paper:#fff;--line:#dfe4ea;
--head:#f4f6f8;--good:#17763a;--bad:#b3261e;--changed:#8a5a00;
--tone0:#2f6fb3;--tone1:#e08a1e;--tone2:#2f9e77;--tone3:#8e5bb5;--tone4:#7a8290;--tone5:#cfd4da}
@media(prefers-color-scheme:dark){:root{--ink:#e3e8ee;--soft:#9aa6b5;--paper:#14181d;
--line:#323a44;--head:#1d232a;--good:#5fc98a;--bad:#ff8a80;--changed:#e3b34c;
--tone0:#6aa5e3;--tone1:#f0aa55;--tone2:#5cc79f;--tone3:#b48ad8;--tone4:#a9b1bd;--tone5:#4a525c}}
"""
"""Colors of a page or a picture, by day and by night."""
CHART_RULES = """
.chart{width:100%;height:auto;max-width:50rem;display:block;font-size:12px}
.chart text{fill:var(--ink)}.chart text.panel{font-weight:600}
.chart text.tick,.chart text.label{fill:var(--soft)}
.chart .grid{stroke:var(--line)}.chart .axis{stroke:var(--soft)}
.chart .rule{stroke:var(--bad);stroke-dasharray:5 4}.chart text.rule-text{fill:var(--bad)}
.tone0{fill:var(--tone0)}.tone1{fill:var(--tone1)}.tone2{fill:var(--tone2)}
.tone3{fill:var(--tone3)}
.tone4{fill:var(--tone4)}.tone5{fill:var(--tone5)}
.curve{fill:none;stroke-width:2}.curve.tone0{stroke:var(--tone0)}
.curve.tone1{stroke:var(--tone1)}.curve.tone2{stroke:var(--tone2)}
.curve.tone3{stroke:var(--tone3)}
.curve.tone4{stroke:var(--tone4)}.curve.tone5{stroke:var(--tone5)}
"""
"""How the parts of a chart look, in these colors."""


class Frame(NamedTuple):
    """The plot's rectangle [px] and the ranges of its axes."""

    left: float
    top: float
    right: float
    bottom: float
    x: tuple[float, float]
    y: tuple[float, float]

    def at_x(self, value: float) -> float:
        """Return the pixel of an x value."""
        low, high = self.x
        return self.left + (value - low) / (high - low) * (self.right - self.left)

    def at_y(self, value: float) -> float:
        """Return the pixel of a y value; y grows upward."""
        low, high = self.y
        return self.bottom - (value - low) / (high - low) * (self.bottom - self.top)


def render_svg(chart: Chart) -> str:
    """Return a chart as an `svg` element with a title and a description for screen readers."""
    if chart.kind == "tornado":
        from pdd_plan.report.tornado_svg import tornado

        height, parts = tornado(chart)
    elif chart.kind in ("curves", "heat", "panels"):
        from pdd_plan.report import sweep_svg

        kinds = {"curves": sweep_svg.curves, "heat": sweep_svg.heat, "panels": sweep_svg.panels}
        height, parts = kinds[chart.kind](chart)
    elif chart.kind == "scatter":
        from pdd_plan.report.scatter_svg import scatter

        height, parts = scatter(chart)
    else:
        draw = {"line": _curves, "steps": _curves, "points": _curves, "bars": _bars}[chart.kind]
        height, parts = draw(chart)
    name = f"chart-{chart.key}"
    head = (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-labelledby="{name}-title {name}-text" xmlns="http://www.w3.org/2000/svg">'
        f'<title id="{name}-title">{escape(chart.title)}</title>'
        f'<desc id="{name}-text">{escape(chart.description)}</desc>'
    )
    return "".join([head, *parts, "</svg>"])


def picture(chart: Chart) -> str:
    """Return a chart as an SVG file of its own, with its style and on a ground of its own."""
    body = render_svg(chart)
    width, height = re.findall(r'viewBox="0 0 (\d+) (\d+)"', body)[0]
    end = body.index(">") + 1
    font = 'system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans CJK SC",sans-serif'
    own = f"svg.chart{{font:12px {font};max-width:none}}"
    ground = f'<rect width="{width}" height="{height}" style="fill:var(--paper)"/>'
    head = f'{body[: end - 1]} width="{width}" height="{height}">'
    return f"{head}<style>{COLORS}{CHART_RULES}{own}</style>{ground}{body[end:]}\n"


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Return round values from `low` to `high`, steps of 1, 2 or 5 times a power of ten."""
    span = high - low
    if span <= 0 or not math.isfinite(span):
        return [low]
    raw = span / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def _range(values: list[float], zero: bool = True) -> tuple[float, float]:
    low, high = min(values), max(values)
    if zero:
        low = min(0.0, low)
    pad = (high - low) * 0.06 if high > low else max(abs(high), 1.0) * 0.1
    return (low if zero else max(0.0, low - pad)), high + pad


def _text(x: float, y: float, said: str, anchor: str = "start", kind: str = "") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{style}>{escape(said)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def _width_of(said: str) -> float:
    """Return the width of a text [px], on the safe side: wide characters count double."""
    return sum(1.0 if ord(character) > 0x2E80 else 0.58 for character in said) * FONT


def _legend(series: tuple[Series, ...]) -> list[str]:
    parts: list[str] = []
    x = 8.0
    for item in series:
        if not item.label:
            continue
        parts.append(
            f'<rect x="{x:.1f}" y="8" width="12" height="12" rx="2" class="tone{item.tone}"/>'
        )
        parts.append(_text(x + 17, 18, item.label))
        x += 17 + _width_of(item.label) + 18
    return parts


def _frame(chart: Chart) -> Frame:
    xs = [value for item in chart.series for value in item.x]
    ys = [value for item in chart.series for value in item.y]
    xs += [rule.value for rule in chart.rules if rule.axis == "x"]
    ys += [rule.value for rule in chart.rules if rule.axis == "y"]
    x, y = _range(xs), _range(ys)
    if chart.kind == "points":
        x, y = _range(xs, zero=False), _range(ys, zero=False)
    elif chart.kind == "line":
        y = (0.0, 1.0)
    elif max(xs) <= 1:
        x = (0.0, 1.0)
    widest = max(_width_of(significant(value, 6)) for value in ticks(*y))
    left = 30 + widest
    return Frame(left, TOP + 16, WIDTH - 14, TOP + 16 + PLOT_HEIGHT, x, y)


def _axes(chart: Chart, frame: Frame) -> list[str]:
    parts = []
    for value in ticks(*frame.y):
        y = frame.at_y(value)
        parts.append(_line(frame.left, y, frame.right, y, "grid"))
        parts.append(_text(frame.left - 6, y + 4, significant(value, 6), "end", "tick"))
    for value in ticks(*frame.x, wanted=8):
        x = frame.at_x(value)
        parts.append(_line(x, frame.bottom, x, frame.bottom + 4, "axis"))
        parts.append(_text(x, frame.bottom + 18, significant(value, 6), "middle", "tick"))
    parts.append(_line(frame.left, frame.bottom, frame.right, frame.bottom, "axis"))
    return parts + _axis_names(chart, frame)


def _axis_names(chart: Chart, frame: Frame) -> list[str]:
    """Write what the axes are."""
    center, middle = (frame.left + frame.right) / 2, (frame.top + frame.bottom) / 2
    return [
        _text(center, frame.bottom + 38, chart.x_label, "middle", "label"),
        f'<text transform="translate(14 {middle:.1f}) rotate(-90)" text-anchor="middle" '
        f'class="label">{escape(chart.y_label)}</text>',
    ]


def _rules(chart: Chart, frame: Frame) -> list[str]:
    parts = []
    for rule in chart.rules:
        if rule.axis == "y":
            y = frame.at_y(rule.value)
            parts.append(_line(frame.left, y, frame.right, y, "rule"))
            parts.append(_text(frame.right - 4, y - 4, rule.label, "end", "rule-text"))
            continue
        x = frame.at_x(rule.value)
        parts.append(_line(x, frame.top - 6, x, frame.bottom, "rule"))
        fits_right = x + _width_of(rule.label) < frame.right
        anchor, shift = ("start", 4) if fits_right else ("end", -4)
        parts.append(_text(x + shift, frame.top - 8, rule.label, anchor, "rule-text"))
    return parts


def _curves(chart: Chart) -> tuple[float, list[str]]:
    frame = _frame(chart)
    parts = _legend(chart.series if len(chart.series) > 1 else ()) + _axes(chart, frame)
    for item in chart.series:
        if chart.kind == "steps":
            parts += _steps(item, frame)
        elif chart.kind == "points":
            parts += _points(item, frame)
        else:
            parts.append(_path(item, frame))
    return frame.bottom + 50, parts + _rules(chart, frame)


def _path(item: Series, frame: Frame) -> str:
    points = " ".join(
        f"{frame.at_x(x):.1f},{frame.at_y(y):.1f}" for x, y in zip(item.x, item.y, strict=True)
    )
    return f'<polyline points="{points}" class="curve tone{item.tone}"/>'


def _staircase(item: Series, frame: Frame) -> str:
    """Draw a front: between two plans one gets what the left one gives, at its cost."""
    corners = [(item.x[0], item.y[0])]
    for x, y in zip(item.x[1:], item.y[1:], strict=True):
        corners += [(x, corners[-1][1]), (x, y)]
    xs, ys = (tuple(values) for values in zip(*corners, strict=True))
    return _path(Series(item.label, xs, ys, item.tone), frame)


def _steps(item: Series, frame: Frame) -> list[str]:
    parts = []
    for low, high, weight in zip(item.x[:-1], item.x[1:], item.y, strict=True):
        x, y = frame.at_x(low), frame.at_y(weight)
        width = max(0.5, frame.at_x(high) - x - 1)
        said = f"{significant(low, 4)}-{significant(high, 4)}: {significant(weight, 3)}"
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{frame.bottom - y:.1f}" '
            f'class="tone{item.tone}"><title>{escape(said)}</title></rect>'
        )
    return parts


def _points(item: Series, frame: Frame) -> list[str]:
    parts = []
    if len(item.x) > 1:
        parts.append(_staircase(item, frame))
    for number, (x, y) in enumerate(zip(item.x, item.y, strict=True)):
        name = item.names[number] if number < len(item.names) else ""
        said = f"{name} {significant(x, 3)}, {significant(y, 5)}".strip()
        parts.append(
            f'<circle cx="{frame.at_x(x):.1f}" cy="{frame.at_y(y):.1f}" r="4.5" '
            f'class="tone{item.tone}"><title>{escape(said)}</title></circle>'
        )
        if name and item.label != name:
            end = frame.at_x(x) + 8 + _width_of(name) > frame.right
            anchor, shift = ("end", -8) if end else ("start", 8)
            at_x, at_y = frame.at_x(x) + shift, frame.at_y(y) - 8
            parts.append(_text(at_x, at_y, name, anchor, "tick"))
    return parts


def _bars(chart: Chart) -> tuple[float, list[str]]:
    """Horizontal bars, the series stacked on each other, with the sum at the end."""
    names = chart.series[0].names
    sums = [sum(item.x[row] for item in chart.series) for row in range(len(names))]
    tops = [*sums, *(rule.value for rule in chart.rules)]
    end = max(_width_of(significant(value, 4)) for value in sums) + 8
    left = min(300.0, 16 + max(_width_of(name) for name in names))
    bottom = TOP + 10 + BAR_STEP * len(names)
    high = max(tops) or 1.0
    frame = Frame(left, TOP + 10, WIDTH - end - 8, bottom, (0.0, high), (0.0, 1.0))
    parts = _legend(chart.series)
    for value in ticks(*frame.x):
        x = frame.at_x(value)
        parts.append(_line(x, frame.top, x, bottom, "grid"))
        parts.append(_text(x, bottom + 16, significant(value, 6), "middle", "tick"))
    for row, name in enumerate(names):
        y = frame.top + row * BAR_STEP + (BAR_STEP - BAR_HEIGHT) / 2
        parts.append(_bar_name(name, left - 8, y))
        x = frame.left
        for item in chart.series:
            width = item.x[row] / high * (frame.right - frame.left)
            if width > 0:
                said = f"{name}, {item.label}: {significant(item.x[row], 6)}"
                parts.append(
                    f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BAR_HEIGHT}" '
                    f'class="tone{item.tone}"><title>{escape(said)}</title></rect>'
                )
            x += width
        parts.append(_text(x + 6, y + 16, significant(sums[row], 4), "start", "tick"))
    parts += _rules(chart, frame._replace(top=frame.top + 2))
    parts.append(_text((left + frame.right) / 2, bottom + 36, chart.x_label, "middle", "label"))
    return bottom + 46, parts


def _bar_name(name: str, right: float, y: float) -> str:
    """Write a bar's name; a long one is squeezed into its column rather than cut."""
    squeeze = ""
    if _width_of(name) > right:
        squeeze = f' textLength="{right - 4:.0f}" lengthAdjust="spacingAndGlyphs"'
    return (
        f'<text x="{right:.1f}" y="{y + 16:.1f}" text-anchor="end"{squeeze}>{escape(name)}</text>'
    )
