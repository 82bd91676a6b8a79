"""How far an uncertain number spreads: distributions by their quantile functions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

TAIL = 1e-6
"""Probability of either tail that is never drawn, so that every draw lies between known ends."""
RANGE_TAIL = 0.1
"""Probability beyond either end of a range as fitted values carry it."""

Kind = Literal["uniform", "triangular", "normal", "lognormal", "range"]


@dataclass(frozen=True)
class Spread:
    """Distribution of one number.

    Attributes
    ----------
    kind : str
        ``uniform``; ``triangular``; ``normal`` and ``lognormal``, conditioned on lying between
        `low` and `high`; or ``range``: the logarithm is triangular with its mode at `center`, and
        a tenth of the probability lies beyond either of `low` and `high`.
    low, high : float
        Ends; infinite where there is none.
    center : float
        Mode, mean or median.
    scale : float
        Standard deviation of the number, or for ``lognormal`` of its natural logarithm.
    """

    kind: Kind
    low: float = -math.inf
    high: float = math.inf
    center: float = math.nan
    scale: float = math.nan

    def quantile(self, probability: FloatArray) -> FloatArray:
        """Return the quantiles of probabilities.

        Parameters
        ----------
        probability : array
            In [0, 1]; any shape.

        Returns
        -------
        array
            Values of the same shape; a number without spread is that number.
        """
        share = TAIL + (1.0 - 2.0 * TAIL) * np.asarray(probability, dtype=np.float64)
        if self.kind == "uniform":
            return self.low + share * (self.high - self.low)
        if self.kind == "triangular":
            return _triangular(share, self.low, self.center, self.high)
        if self.kind == "range":
            low, high = _ends(*map(math.log, (self.low, self.center, self.high)))
            return np.exp(_triangular(share, low, math.log(self.center), high))
        if self.kind == "normal":
            return self._normal(share)
        ends = (math.log(end) if end > 0.0 else -math.inf for end in (self.low, self.high))
        low, high = ends
        logs = replace(self, low=low, high=high, center=math.log(self.center))
        return self.center * np.exp(logs._normal(share) - logs.center)

    def ends(self) -> tuple[float, float]:
        """Return the least and the greatest value that is drawn."""
        low, high = self.quantile(np.array([0.0, 1.0])).tolist()
        return low, high

    def scaled(self, factor: float) -> Spread:
        """Return the distribution of the number times a positive factor."""
        scale = self.scale if self.kind == "lognormal" else self.scale * factor
        return Spread(self.kind, self.low * factor, self.high * factor, self.center * factor, scale)

    def _normal(self, share: FloatArray) -> FloatArray:
        from scipy.special import ndtr, ndtri

        if self.scale == 0.0:
            return np.full_like(share, self.center)
        below, upto = ndtr([(end - self.center) / self.scale for end in (self.low, self.high)])
        values = self.center + self.scale * ndtri(below + share * (upto - below))
        kept: FloatArray = np.clip(values, self.low, self.high)  # against rounding
        return kept


def _triangular(share: FloatArray, low: float, mode: float, high: float) -> FloatArray:
    if low == high:
        return np.full_like(share, low)
    width = high - low
    rising = low + np.sqrt(share * width * (mode - low))
    falling = high - np.sqrt((1.0 - share) * width * (high - mode))
    return np.where(share * width <= mode - low, rising, falling)


def _ends(low: float, mode: float, high: float) -> tuple[float, float]:
    """Return the ends of the triangular law with a tenth of its probability beyond each number.

    With width w and the mode a share s of it from the lower end, a tenth lies below
    ``end + w sqrt(s / 10)``; the same at the upper end leaves one equation for s.
    """
    if low == high:
        return low, high
    root = math.sqrt(RANGE_TAIL)

    def excess(share: float) -> float:
        below = share - root * math.sqrt(share)
        above = (1.0 - share) - root * math.sqrt(1.0 - share)
        return below * (high - mode) - above * (mode - low)

    from scipy.optimize import brentq

    share = float(brentq(excess, RANGE_TAIL, 1.0 - RANGE_TAIL))
    inner = 1.0 - root * (math.sqrt(share) + math.sqrt(1.0 - share))
    width = (high - low) / inner
    return mode - share * width, mode + (1.0 - share) * width
