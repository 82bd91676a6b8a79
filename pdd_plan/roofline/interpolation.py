"""Monotone interpolation of measured tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pdd_plan.errors import InputError, Issue
from pdd_plan.roofline.operators import FloatArray


class MonotoneCurve:
    """Piecewise cubic through measured points that never overshoots them (PCHIP).

    Slopes are the weighted harmonic means of Fritsch and Butland; the curve is monotone where
    the points are [1]_. Outside the points it goes on along the end slopes.

    Parameters
    ----------
    x : array_like
        Strictly increasing abscissas, at least one.
    y : array_like
        Values, same length.

    Raises
    ------
    InputError
        If lengths differ, x does not increase, or a value is not finite and positive.

    References
    ----------
    .. [1] F. N. Fritsch, J. Butland, "A method for constructing local monotone piecewise cubic
       interpolants", SIAM J. Sci. Stat. Comput. 5 (1984) 300-304.
    """

    def __init__(self, x: ArrayLike, y: ArrayLike) -> None:
        self.x = np.asarray(x, dtype=np.float64)
        self.y = np.asarray(y, dtype=np.float64)
        if self.x.ndim != 1 or self.x.shape != self.y.shape or self.x.size == 0:
            raise InputError(
                Issue(f"table has {self.x.size} lengths and {self.y.size} times; give one each")
            )
        if np.any(np.diff(self.x) <= 0.0):
            raise InputError(Issue("table lengths do not increase", help="sort them, no repeats"))
        if not (np.all(np.isfinite(self.y)) and np.all(self.y > 0.0)):
            raise InputError(Issue("table holds a time that is not positive"))
        self.slopes = _pchip_slopes(self.x, self.y)

    def __call__(self, points: ArrayLike) -> FloatArray:
        """Return the curve at `points`, same shape."""
        at = np.asarray(points, dtype=np.float64)
        if self.x.size == 1:
            return np.full(at.shape, self.y[0])
        cell = np.clip(np.searchsorted(self.x, at, side="right") - 1, 0, self.x.size - 2)
        width = self.x[cell + 1] - self.x[cell]
        t = (at - self.x[cell]) / width
        inner = (
            (1 + 2 * t) * (1 - t) ** 2 * self.y[cell]
            + t * (1 - t) ** 2 * width * self.slopes[cell]
            + t**2 * (3 - 2 * t) * self.y[cell + 1]
            + t**2 * (t - 1) * width * self.slopes[cell + 1]
        )
        above = self.y[-1] + (at - self.x[-1]) * self.slopes[-1]
        line = self.y[0] + (at - self.x[0]) * self.slopes[0]
        below = np.maximum(line, self.y[0] * np.maximum(at, 0.0) / self.x[0]) if self.x[0] else line
        return np.asarray(np.where(t > 1.0, above, np.where(t < 0.0, below, inner)))

    def outside(self, points: ArrayLike, low: float | None, high: float | None) -> bool:
        """Return whether any point lies outside [low, high] (default: the table's own range)."""
        at = np.asarray(points, dtype=np.float64)
        if at.size == 0:
            return False
        first = self.x[0] if low is None else low
        last = self.x[-1] if high is None else high
        return bool(at.min() < first * (1 - 1e-9) or at.max() > last * (1 + 1e-9))


def pooled_increasing(values: ArrayLike, tolerance: float = 0.05) -> tuple[FloatArray, float]:
    """Return values with small dips pooled so that they never decrease, and the largest dip.

    Adjacent violators are replaced by their mean (isotonic regression with equal weights).

    Parameters
    ----------
    values : array_like
        Measured times at increasing lengths.
    tolerance : float
        Largest relative dip below an earlier value that may be noise.

    Returns
    -------
    tuple of ndarray and float
        Non-decreasing values; the largest relative dip found (0 if none).

    Raises
    ------
    InputError
        If a dip exceeds the tolerance.
    """
    measured = np.asarray(values, dtype=np.float64)
    ceiling = np.maximum.accumulate(measured)
    dip = float(np.max(1.0 - measured / ceiling, initial=0.0))
    if dip > tolerance:
        where = int(np.argmax(1.0 - measured / ceiling))
        raise InputError(
            Issue(
                f"measured time falls by {100 * dip:.0f} % at entry {where + 1} "
                "though the load rises",
                help="check the table; times must not fall with length, batch or context",
            )
        )
    blocks: list[list[float]] = []
    for value in measured:
        blocks.append([float(value), 1.0])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, count = blocks.pop()
            total = blocks[-1][1] + count
            blocks[-1] = [(blocks[-1][0] * blocks[-1][1] + mean * count) / total, total]
    return np.concatenate([np.full(int(count), mean) for mean, count in blocks]), dip


def _pchip_slopes(x: FloatArray, y: FloatArray) -> FloatArray:
    if x.size == 1:
        return np.zeros(1)
    step = np.diff(x)
    secant = np.diff(y) / step
    if x.size == 2:
        return np.array([secant[0], secant[0]])
    slopes = np.zeros_like(x)
    left, right = 2 * step[1:] + step[:-1], step[1:] + 2 * step[:-1]
    same = secant[:-1] * secant[1:] > 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (left + right) / (left / secant[:-1] + right / secant[1:])
    slopes[1:-1] = np.where(same, mean, 0.0)
    slopes[0] = _end_slope(step[0], step[1], secant[0], secant[1])
    slopes[-1] = _end_slope(step[-1], step[-2], secant[-1], secant[-2])
    return slopes


def _end_slope(near: float, far: float, near_secant: float, far_secant: float) -> float:
    """Return the one-sided three-point slope, kept within what monotonicity allows."""
    slope = ((2 * near + far) * near_secant - near * far_secant) / (near + far)
    if slope * near_secant <= 0.0:
        return 0.0
    if near_secant * far_secant < 0.0 and abs(slope) > 3.0 * abs(near_secant):
        return 3.0 * near_secant
    return float(slope)
