"""Points and weights that stand for a distribution.

The distribution is cut into bins of its own probability, finer in the upper tail, with a two-point
Gauss rule in each. This keeps the mean, the second and the third moment of every bin, so of the
whole, and percentiles to the width of a bin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pdd_plan.workload.distributions import Constant, Distribution

FloatArray = NDArray[np.float64]

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(24)
_T = (_NODES + 1) / 2
# Quantile functions may be steep at the ends of a bin: u = 35 t^4 - 84 t^5 + 70 t^6 - 20 t^7 crowds
# the nodes there.
_PLACE = _T**4 * (35 - 84 * _T + 70 * _T**2 - 20 * _T**3)
_SHARE = _NODE_WEIGHTS / 2 * 140 * (_T * (1 - _T)) ** 3
_TAIL_LEVELS = 7


def quadrature(distribution: Distribution, bins: int) -> tuple[FloatArray, FloatArray]:
    """Return points and weights that stand for a distribution.

    Parameters
    ----------
    distribution : Distribution
        What to represent.
    bins : int
        Number of bins before breaks are added, at least 1; about two points a bin.

    Returns
    -------
    points, weights : ndarray, shape (m,)
        Ascending within each bin; weights are positive and sum to 1. Mean, second and third
        moment are those of the distribution, up to the error of a Gauss-Legendre rule of
        24 points per bin.
    """
    if isinstance(distribution, Constant):
        return np.array([distribution.value]), np.array([1.0])
    edges = probability_edges(bins, distribution.breaks())
    low, width = edges[:-1, None], np.diff(edges)[:, None]
    return _gauss_two_points(distribution.quantile(low + width * _PLACE), _SHARE, width[:, 0])


def probability_edges(bins: int, breaks: tuple[float, ...] = ()) -> FloatArray:
    """Return bin edges in probability: even up to 0.9, then ever finer, with breaks added.

    Above 0.9 the tail is halved six times; at 24 bins and more each of these levels is a bin or
    several even ones.

    Parameters
    ----------
    bins : int
        At least 1.
    breaks : tuple of float
        Further edges inside (0, 1).

    Returns
    -------
    ndarray
        Ascending from 0 to 1.
    """
    per_level = bins // 24
    tail = _TAIL_LEVELS * per_level if per_level else min(bins // 3, _TAIL_LEVELS)
    body = np.linspace(0, 0.9 if tail else 1.0, bins - tail + 1)
    levels = 1 - 0.1 * 0.5 ** np.arange(tail // max(per_level, 1) + 1)
    levels[-1] = 1.0
    steps = np.arange(max(per_level, 1)) / max(per_level, 1)
    inner = (levels[:-1, None] + np.diff(levels)[:, None] * steps).ravel() if tail else levels[:0]
    edges = np.concatenate((body, inner, [1.0]))
    merged = np.unique(np.concatenate((edges, [b for b in breaks if 0 < b < 1])))
    wide = np.concatenate(([True], np.diff(merged) > 1e-9))
    merged = merged[wide]
    merged[-1] = 1.0
    return np.asarray(merged, dtype=np.float64)


def _gauss_two_points(
    values: FloatArray, shares: FloatArray, masses: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the two-point Gauss rule of each row's distribution, rows weighted by `masses`."""
    mean = values @ shares
    offset = values - mean[:, None]
    variance = offset**2 @ shares
    third = offset**3 @ shares
    flat = variance <= (1e-9 * np.maximum(np.abs(mean), 1e-12)) ** 2
    safe = np.where(flat, 1.0, variance)
    half_skew = np.where(flat, 0.0, third / safe) / 2
    root = np.sqrt(half_skew**2 + safe)
    upper, lower = half_skew + root, half_skew - root
    upper_share = np.where(flat, 1.0, -lower / (upper - lower))
    points = np.stack((mean + np.where(flat, 0, lower), mean + np.where(flat, 0, upper)), axis=1)
    weights = np.stack((masses * (1 - upper_share), masses * upper_share), axis=1)
    used = weights.ravel() > 0
    return points.ravel()[used], weights.ravel()[used]
