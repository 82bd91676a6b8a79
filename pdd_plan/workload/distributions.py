"""Distributions of lengths and hit rates, each as a quantile function."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Distribution(Protocol):
    """A distribution on a bounded interval, known by its quantile function."""

    def quantile(self, probability: FloatArray) -> FloatArray:
        """Return the value below which each probability lies, shape of `probability`."""

    def breaks(self) -> tuple[float, ...]:
        """Return the probabilities inside (0, 1) at which the quantile function is not smooth."""


@dataclass(frozen=True)
class Constant:
    """One value with certainty.

    Attributes
    ----------
    value : float
        In the unit of the quantity.
    """

    value: float

    def quantile(self, probability: FloatArray) -> FloatArray:
        """Return the value, shape of `probability`."""
        return np.full(np.shape(probability), self.value)

    def breaks(self) -> tuple[float, ...]:
        """Return no breaks."""
        return ()


@dataclass(frozen=True)
class Uniform:
    """Evenly spread between two values.

    Attributes
    ----------
    low, high : float
        Bounds, low <= high.
    """

    low: float
    high: float

    def quantile(self, probability: FloatArray) -> FloatArray:
        """Return low + (high - low) u, shape of `probability`."""
        return self.low + (self.high - self.low) * probability

    def breaks(self) -> tuple[float, ...]:
        """Return no breaks."""
        return ()


@dataclass(frozen=True)
class TruncatedExponential:
    """The distribution on an interval with a given mean and nothing else assumed.

    It has the largest entropy of all distributions on [low, high] with that mean: a density
    proportional to exp(k x), which is uniform at the middle [1]_.

    Attributes
    ----------
    low, high : float
        Bounds, low < high.
    mean : float
        Strictly between the bounds.

    References
    ----------
    .. [1] T. M. Cover and J. A. Thomas, Elements of Information Theory, 2nd ed., 2006, ch. 12.
    """

    low: float
    high: float
    mean: float

    def __post_init__(self) -> None:
        if not self.low < self.mean < self.high:
            raise ValueError(f"mean {self.mean} must lie between {self.low} and {self.high}")

    def quantile(self, probability: FloatArray) -> FloatArray:
        """Return the inverse distribution function, shape of `probability`."""
        rate = _exponential_rate((self.mean - self.low) / (self.high - self.low))
        with np.errstate(divide="ignore"):  # log 0 at the far end of a steep one; cut off below
            if abs(rate) < 1e-9:
                unit = np.asarray(probability, dtype=np.float64)
            elif rate > 0:  # mirrored, so that exp never overflows
                unit = 1 + np.log1p((1 - probability) * math.expm1(-rate)) / rate
            else:
                unit = np.log1p(probability * math.expm1(rate)) / rate
        return np.clip(self.low + (self.high - self.low) * unit, self.low, self.high)

    def breaks(self) -> tuple[float, ...]:
        """Return no breaks."""
        return ()


@dataclass(frozen=True)
class LogNormal:
    """Log-normal, truncated to an interval (conditioned on it, not clipped).

    Attributes
    ----------
    mu, sigma : float
        Mean and standard deviation of the natural logarithm, sigma > 0.
    low, high : float
        Bounds of the truncation, 0 <= low < high, high may be infinite.
    """

    mu: float
    sigma: float
    low: float = 0.0
    high: float = math.inf

    def quantile(self, probability: FloatArray) -> FloatArray:
        """Return the inverse distribution function, shape of `probability`."""
        from scipy.special import ndtr, ndtri

        start = -math.inf if self.low <= 0 else (math.log(self.low) - self.mu) / self.sigma
        stop = math.inf if math.isinf(self.high) else (math.log(self.high) - self.mu) / self.sigma
        if start > 0:  # the lower tail keeps digits that the upper one loses
            below, above = ndtr(-start), ndtr(-stop)
            z = -ndtri(below - (below - above) * probability)
        else:
            below, above = ndtr(start), ndtr(stop)
            z = ndtri(below + (above - below) * probability)
        return np.clip(np.exp(self.mu + self.sigma * z), self.low, self.high)

    def breaks(self) -> tuple[float, ...]:
        """Return no breaks."""
        return ()


@dataclass(frozen=True)
class Mixture:
    """Several distributions side by side in ascending order, each with its share.

    The quantile function joins those of the parts end to end, which is the mixture's own when
    the parts do not overlap, and a fixed pairing of u with a part when they do; integrals over
    u are those of the mixture either way.

    Attributes
    ----------
    shares : tuple of float
        Positive, sum to 1.
    parts : tuple of Distribution
        As many as shares.
    """

    shares: tuple[float, ...]
    parts: tuple[Distribution, ...]

    def quantile(self, probability: FloatArray) -> FloatArray:
        """Return the value at each probability, shape of `probability`."""
        u = np.asarray(probability, dtype=np.float64)
        edges = np.concatenate(([0.0], np.cumsum(self.shares)))
        index = np.clip(np.searchsorted(edges, u, side="right") - 1, 0, len(self.parts) - 1)
        result = np.empty(u.shape)
        for k, part in enumerate(self.parts):
            inside = index == k
            local = np.clip((u[inside] - edges[k]) / self.shares[k], 0.0, 1.0)
            result[inside] = part.quantile(local)
        return result

    def breaks(self) -> tuple[float, ...]:
        """Return the joints between the parts and the breaks within them."""
        found: list[float] = []
        start = 0.0
        for share, part in zip(self.shares, self.parts, strict=True):
            found.extend(start + share * inner for inner in part.breaks())
            start += share
            found.append(start)
        return tuple(found[:-1])


@dataclass(frozen=True)
class Complement:
    """One minus a quantity, such as the missed share for the hit rate.

    Attributes
    ----------
    of : Distribution
        The quantity.
    """

    of: Distribution

    def quantile(self, probability: FloatArray) -> FloatArray:
        """Return one minus the quantile at the complementary probability."""
        return 1 - self.of.quantile(1 - probability)

    def breaks(self) -> tuple[float, ...]:
        """Return the complements of the breaks."""
        return tuple(1 - place for place in reversed(self.of.breaks()))


def complement(of: Distribution) -> Distribution:
    """Return one minus a quantity; one value stays one value.

    Parameters
    ----------
    of : Distribution
        The quantity.

    Returns
    -------
    Distribution
    """
    return Constant(1 - of.value) if isinstance(of, Constant) else Complement(of)


def empirical(edges: tuple[tuple[float, float], ...], shares: tuple[float, ...]) -> Mixture:
    """Return the distribution of a histogram, even within each bin.

    Parameters
    ----------
    edges : tuple of (low, high)
        One pair a bin, in ascending order; low = high is one value.
    shares : tuple of float
        Weight of each bin, of any scale; bins of weight 0 are left out.

    Returns
    -------
    Mixture
    """
    total = math.fsum(shares)
    kept = [(e, s / total) for e, s in zip(edges, shares, strict=True) if s > 0]
    parts = tuple(Constant(lo) if lo == hi else Uniform(lo, hi) for (lo, hi), _ in kept)
    return Mixture(tuple(share for _, share in kept), parts)


def _exponential_rate(mean: float) -> float:
    """Return k such that the density exp(k x) on [0, 1] has the mean, by bisection."""
    if abs(mean - 0.5) < 1e-12:
        return 0.0
    low, high = -1e9, 1e9
    for _ in range(200):
        middle = (low + high) / 2
        if _exponential_mean(middle) < mean:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _exponential_mean(rate: float) -> float:
    """Return the mean of the density exp(rate x) on [0, 1]: 1/(1 - exp(-rate)) - 1/rate."""
    if abs(rate) < 1e-4:
        return 0.5 + rate / 12
    if rate < 0:
        return 1 - _exponential_mean(-rate)
    return 1 / -math.expm1(-rate) - 1 / rate
