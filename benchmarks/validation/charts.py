"""Charts of the validation report: small SVG files that stand on their own, in light and dark."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from pdd_plan.report.svg import ticks

FloatArray = NDArray[np.float64]

WIDTH = 720
STYLE = """
svg { background: #ffffff; font: 12px system-ui, sans-serif; }
text { fill: #24292f; } .dim { fill: #57606a; } .line { stroke: #d0d7de; }
.mark { fill: #0969da; fill-opacity: .55; } .mark2 { fill: #bc4c00; fill-opacity: .8; }
.bar { fill: #0969da; fill-opacity: .75; } .rule { stroke: #57606a; stroke-dasharray: 4 3; }
.curve { fill: none; stroke: #0969da; stroke-width: 2; }
.curve2 { fill: none; stroke: #bc4c00; stroke-width: 2; stroke-dasharray: 6 3; }
.band { fill: #2da44e; fill-opacity: .13; } .cell { stroke: #ffffff; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
svg { background: #0d1117; } text { fill: #e6edf3; } .dim { fill: #9198a1; }
.line { stroke: #30363d; } .mark, .bar { fill: #4493f8; } .mark2 { fill: #f0883e; }
.curve { stroke: #4493f8; } .curve2 { stroke: #f0883e; } .cell { stroke: #0d1117; }
.rule { stroke: #9198a1; } .cell-text { fill: #1f2328; } }
"""


@dataclass(frozen=True)
class Axis:
    """An axis from pixel to pixel over a range of values, linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        scale: Callable[[float], float] = math.log if self.log else float
        low, high = scale(self.low), scale(self.high)
        share = (scale(value) - low) / (high - low)
        return self.start + share * (self.end - self.start)

    def ticks(self, wanted: int = 5) -> list[float]:
        """Return round values in the range."""
        if not self.log:
            return ticks(self.low, self.high, wanted)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        steps = (1, 2, 5) if self.high / self.low < 100 else (1,)
        values = [step * 10.0**power for power in powers for step in steps]
        return [v for v in values if self.low * 0.999 <= v <= self.high * 1.001]


def page(title: str, description: str, height: float, parts: Sequence[str]) -> str:
    """Return a whole SVG file.

    Parameters
    ----------
    title, description : str
        For screen readers; the title is also shown.
    height : float
        [px]
    parts : sequence of str
        Elements.
    """
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'width="{WIDTH}" height="{height:.0f}" role="img" aria-labelledby="t d">'
        f'<title id="t">{escape(title)}</title><desc id="d">{escape(description)}</desc>'
        f"<style>{STYLE.strip()}</style>"
    )
    shown = text(WIDTH / 2, 22, title, "middle", 'style="font-weight:600;font-size:14px"')
    return "\n".join([head, shown, *parts, "</svg>"]) + "\n"


def text(x: float, y: float, said: str, anchor: str = "start", more: str = "") -> str:
    """Return a text element."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(said)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "line") -> str:
    """Return a straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def frame(x: Axis, y: Axis, labels: tuple[str, str], show: Callable[[float], str]) -> list[str]:
    """Return grid, ticks and axis labels of a plot."""
    parts = []
    for value in y.ticks(5):
        parts.append(line(x.start, y.at(value), x.end, y.at(value)))
        parts.append(text(x.start - 6, y.at(value) + 4, show(value), "end", 'class="dim"'))
    for value in x.ticks(5):
        parts.append(line(x.at(value), y.start, x.at(value), y.start + 4))
        parts.append(text(x.at(value), y.start + 18, show(value), "middle", 'class="dim"'))
    parts.append(line(x.start, y.start, x.end, y.start))
    parts.append(text((x.start + x.end) / 2, y.start + 36, labels[0], "middle"))
    middle = (y.start + y.end) / 2
    turned = f'transform="rotate(-90 {x.start - 48:.1f} {middle:.1f})"'
    parts.append(text(x.start - 48, middle, labels[1], "middle", turned))
    return parts


def number(value: float) -> str:
    """Return a short number for a tick."""
    return f"{value:g}"


def error_histograms(
    title: str, errors: Sequence[tuple[str, FloatArray, float]], reach: float = 0.15
) -> str:
    """Return histograms of relative errors side by side, with the accepted band.

    Parameters
    ----------
    title : str
    errors : sequence of (name, errors, tolerance)
        Relative errors; those beyond the reach are counted in the outermost bars.
    reach : float
        Largest error that is shown.
    """
    parts = []
    top, bottom, gap = 60.0, 210.0, 28.0
    width = (WIDTH - 60 - gap * (len(errors) - 1)) / len(errors)
    bins = np.linspace(-reach, reach, 31)
    for index, (name, values, tolerance) in enumerate(errors):
        start = 40 + index * (width + gap)
        x = Axis(-reach, reach, start, start + width)
        counts, _ = np.histogram(np.clip(values, -reach * 0.999, reach * 0.999), bins)
        y = Axis(0.0, max(float(counts.max()), 1.0), bottom, top)
        band = x.at(tolerance) - x.at(-tolerance)
        parts.append(
            f'<rect x="{x.at(-tolerance):.1f}" y="{top}" width="{band:.1f}" '
            f'height="{bottom - top}" class="band"/>'
        )
        for low, high, count in zip(bins[:-1], bins[1:], counts.tolist(), strict=True):
            if count:
                said = f"<title>{low:+.0%} to {high:+.0%}: {count}</title>"
                parts.append(
                    f'<rect x="{x.at(low) + 0.5:.1f}" y="{y.at(count):.1f}" '
                    f'width="{x.at(high) - x.at(low) - 1:.1f}" '
                    f'height="{bottom - y.at(count):.1f}" class="bar">{said}</rect>'
                )
        for value in (-0.1, 0.0, 0.1):
            parts.append(line(x.at(value), bottom, x.at(value), bottom + 4))
            parts.append(
                text(
                    x.at(value),
                    bottom + 18,
                    f"{value:+.0%}" if value else "0",
                    "middle",
                    'class="dim"',
                )
            )
        parts.append(line(x.start, bottom, x.end, bottom))
        parts.append(text((x.start + x.end) / 2, top - 10, name, "middle"))
    note = "relative error of the prediction (green: accepted beyond the interval)"
    parts.append(text(WIDTH / 2, bottom + 42, note, "middle"))
    description = "; ".join(
        f"{name}: median {np.median(values):+.1%}, 90 % within {np.quantile(abs(values), 0.9):.1%}"
        for name, values, _ in errors
    )
    return page(title, description, bottom + 58, parts)


def scatter(
    title: str,
    points: Sequence[tuple[float, float, str]],
    labels: tuple[str, str],
    others: Sequence[tuple[float, float, str]] = (),
    band: float = 0.05,
) -> str:
    """Return predicted against simulated on logarithmic axes, with the diagonal.

    Parameters
    ----------
    title : str
    points, others : sequence of (x, y, name)
        Others are drawn in another color.
    labels : (str, str)
        Of the axes.
    band : float
        Relative width around the diagonal.
    """
    values = [v for x, y, _ in [*points, *others] for v in (x, y)]
    low, high = min(values) * 0.8, max(values) * 1.25
    x = Axis(low, high, 80, WIDTH - 30, log=True)
    y = Axis(low, high, 420, 44, log=True)
    parts = frame(x, y, labels, number)
    corners = [
        (low, low * (1 - band)), (high, high * (1 - band)),
        (high, high * (1 + band)), (low, low * (1 + band)),
    ]  # fmt: skip
    shape = " ".join(f"{x.at(a):.1f},{y.at(min(max(b, low), high)):.1f}" for a, b in corners)
    parts.append(f'<polygon points="{shape}" class="band"/>')
    parts.append(line(x.start, y.start, x.end, y.end, "rule"))
    for kind, group in (("mark", points), ("mark2", others)):
        for a, b, name in group:
            said = f"<title>{escape(name)}: {a:.3g}, {b:.3g}</title>"
            parts.append(
                f'<circle cx="{x.at(a):.1f}" cy="{y.at(b):.1f}" r="4" class="{kind}">'
                f"{said}</circle>"
            )
    return page(title, f"{len(values) // 2} points around the diagonal", 470, parts)


def heat(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float]],
    labels: tuple[str, str],
    full: float = 0.10,
) -> str:
    """Return a table of relative errors with colors: blue low, orange high.

    Parameters
    ----------
    title : str
    rows, columns : sequence of str
        Names.
    values : rows of columns
        Relative errors.
    labels : (str, str)
        What rows and columns are.
    full : float
        Error at full color.
    """
    left, top, height = 130.0, 66.0, 34.0
    width = (WIDTH - left - 20) / len(columns)
    parts = [
        text(left + width * len(columns) / 2, 44, labels[1], "middle", 'class="dim"'),
        text(left - 10, top - 6, labels[0], "end", 'class="dim"'),
    ]
    for c, name in enumerate(columns):
        parts.append(text(left + (c + 0.5) * width, top - 6, name, "middle"))
    for r, name in enumerate(rows):
        at = top + r * height
        parts.append(text(left - 10, at + 22, name, "end"))
        for c, value in enumerate(values[r]):
            share = min(abs(value) / full, 1.0)
            tone = (9, 105, 218) if value < 0 else (188, 76, 0)
            color = ",".join(str(round(255 - share * 0.6 * (255 - part))) for part in tone)
            parts.append(
                f'<rect x="{left + c * width:.1f}" y="{at:.1f}" width="{width:.1f}" '
                f'height="{height}" class="cell" style="fill:rgb({color})"/>'
            )
            middle = left + (c + 0.5) * width
            parts.append(text(middle, at + 22, f"{value:+.1%}", "middle", 'class="cell-text"'))
    return page(title, "relative errors by row and column", top + height * len(rows) + 16, parts)


def laws(
    title: str,
    panels: Sequence[tuple[str, FloatArray, FloatArray, FloatArray]],
    names: tuple[str, str],
    x_label: str,
) -> str:
    """Return distribution functions, two a panel, on a logarithmic time axis.

    Parameters
    ----------
    title : str
    panels : sequence of (name, times, first, second)
        Times [s] and two distribution functions at them.
    names : (str, str)
        Of the two.
    x_label : str
    """
    gap, top, bottom = 56.0, 70.0, 270.0
    width = (WIDTH - 70 - 20 - gap * (len(panels) - 1)) / len(panels)
    parts = [
        line(80, 42, 104, 42, "curve"), text(110, 46, names[0]),
        line(300, 42, 324, 42, "curve2"), text(330, 46, names[1]),
    ]  # fmt: skip
    for index, (name, times, first, second) in enumerate(panels):
        start = 70 + index * (width + gap)
        x = Axis(float(times[0]), float(times[-1]), start, start + width, log=True)
        y = Axis(0.0, 1.0, bottom, top)
        parts += frame(x, y, (x_label, "share of requests" if index == 0 else ""), number)
        parts.append(text((x.start + x.end) / 2, top - 8, name, "middle"))
        for kind, curve in (("curve", first), ("curve2", second)):
            at = " ".join(f"{x.at(t):.1f},{y.at(p):.1f}" for t, p in zip(times, curve, strict=True))
            parts.append(f'<polyline points="{at}" class="{kind}"/>')
    return page(title, "distribution functions of TTFT", bottom + 50, parts)
