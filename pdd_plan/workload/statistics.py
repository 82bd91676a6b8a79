"""Weighted percentiles, shares and histograms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

EQUAL = 1e-9
"""Relative slack below a level at which a value still counts as reaching it."""


@dataclass(frozen=True)
class Spread:
    """Mean and percentiles of one quantity.

    Attributes
    ----------
    mean, p50, p90, p99, largest : float
        In the unit of the quantity.
    """

    mean: float
    p50: float
    p90: float
    p99: float
    largest: float


def weighted_quantile(values: ArrayLike, weight: ArrayLike, probability: ArrayLike) -> FloatArray:
    """Return the smallest value whose cumulated weight reaches each probability.

    Parameters
    ----------
    values : array_like, shape (n,)
        Any quantity.
    weight : array_like, shape (n,)
        Non-negative weights of any scale.
    probability : array_like, shape (m,)
        Between 0 and 1.

    Returns
    -------
    ndarray, shape (m,)
        The generalized inverse of the weighted distribution function, in the unit of `values`.
    """
    value = np.asarray(values, dtype=np.float64)
    order = np.argsort(value, kind="stable")
    cumulated = np.cumsum(np.asarray(weight, dtype=np.float64)[order])
    # The slack keeps rounding in the sum from pushing a quantile past an exact hit.
    target = np.asarray(probability, dtype=np.float64) * cumulated[-1] * (1 - 1e-12)
    position = np.searchsorted(cumulated, target, side="left")
    result: FloatArray = value[order][np.minimum(position, value.size - 1)]
    return result


def spread(values: ArrayLike, weight: ArrayLike) -> Spread:
    """Return mean, P50, P90, P99 and maximum of a weighted sample.

    Parameters
    ----------
    values : array_like, shape (n,)
        Any quantity.
    weight : array_like, shape (n,)
        Non-negative weights of any scale.

    Returns
    -------
    Spread
        In the unit of `values`.
    """
    value = np.asarray(values, dtype=np.float64)
    share = np.asarray(weight, dtype=np.float64)
    p50, p90, p99 = weighted_quantile(value, share, (0.5, 0.9, 0.99)).tolist()
    mean = float(np.sum(value * share) / share.sum())
    return Spread(mean=mean, p50=p50, p90=p90, p99=p99, largest=float(value.max()))


def share_at_least(values: ArrayLike, weight: ArrayLike, level: float) -> float:
    """Return the share of weight whose value is at least `level`, up to rounding.

    Parameters
    ----------
    values, weight : array_like, shape (n,)
        A weighted sample.
    level : float
        In the unit of `values`.

    Returns
    -------
    float
        Between 0 and 1.
    """
    share = np.asarray(weight, dtype=np.float64)
    chosen = np.asarray(values, dtype=np.float64) >= level * (1 - EQUAL)
    return float(share[chosen].sum() / share.sum())


def weighted_histogram(
    values: ArrayLike, weight: ArrayLike, edges: Sequence[float]
) -> tuple[float, ...]:
    """Return the share of weight in each bin [low, high), up to rounding, the last one closed.

    Parameters
    ----------
    values, weight : array_like, shape (n,)
        A weighted sample; every value lies within the edges.
    edges : sequence of float
        Ascending.

    Returns
    -------
    tuple of float
        One share a bin; sums to 1.
    """
    share = np.asarray(weight, dtype=np.float64)
    edge = np.asarray(edges, dtype=np.float64)
    reached = np.searchsorted(edge * (1 - EQUAL), np.asarray(values, np.float64), side="right")
    bins = np.clip(reached - 1, 0, edge.size - 2)
    counts = np.bincount(bins, weights=share, minlength=edge.size - 1)
    return tuple((counts / share.sum()).tolist())
