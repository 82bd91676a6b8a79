"""Where two curves of a sweep change places."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import combinations

Curve = tuple[tuple[float, float | None], ...]
"""Points (x, y) by growing x; y is None where the curve is without end above all others."""
SAME = 1e-9
"""Relative difference up to which two values count as equal."""


@dataclass(frozen=True)
class Crossing:
    """Two curves change places between two neighboring points.

    Attributes
    ----------
    below, above : str
        Name of the curve that is lower before, and of the one that is lower after.
    low, high : float
        The last x before and the first x after at which they differ.
    at, value : float or None
        Where straight lines between the points meet, and at what value; a guess within `low` and
        `high`, since true costs move in steps. None where one of the curves is there on one side
        only.
    """

    below: str
    above: str
    low: float
    high: float
    at: float | None
    value: float | None

    def record(self) -> dict[str, str | float | None]:
        """Return the values by their keys."""
        return asdict(self)


def crossings(curves: Mapping[str, Curve]) -> tuple[Crossing, ...]:
    """Return every place where two curves change places.

    Parameters
    ----------
    curves : Mapping of str to Curve
        Named curves.

    Returns
    -------
    tuple of Crossing
        By growing x. Curves that touch, or run together and part to the same side, do not cross.
    """
    found = []
    for first, second in combinations(curves, 2):
        found += _between(first, dict(curves[first]), second, dict(curves[second]))
    return tuple(sorted(found, key=lambda item: (item.low, item.below, item.above)))


def _between(
    first: str, one: Mapping[float, float | None], second: str, other: Mapping[float, float | None]
) -> list[Crossing]:
    found = []
    before: tuple[float, float] | None = None
    for x in sorted(one.keys() & other.keys()):
        difference = _difference(one[x], other[x])
        if difference == 0:
            continue
        if before is not None and before[1] * difference < 0:
            low, earlier = before
            at = value = None
            if math.isfinite(earlier) and math.isfinite(difference):
                share = earlier / (earlier - difference)
                at = low + share * (x - low)
                start, end = one[low] or 0.0, one[x] or 0.0
                value = start + share * (end - start)
            below, above = (first, second) if earlier < 0 else (second, first)
            found.append(Crossing(below, above, low, x, at, value))
        before = x, difference
    return found


def _difference(one: float | None, other: float | None) -> float:
    """Return by how much `one` is above `other`: 0 if they are equal, infinite if one is absent."""
    if one is None or other is None:
        return 0.0 if one is other else (math.inf if one is None else -math.inf)
    difference = one - other
    return 0.0 if abs(difference) <= SAME * max(abs(one), abs(other)) else difference
