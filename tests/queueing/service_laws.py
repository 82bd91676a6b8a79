"""Service times of mean 1 as weighted samples, for tests of queues."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtri

Array = NDArray[np.float64]


def mid_shares(count: int) -> Array:
    return (np.arange(count) + 0.5) / count


def scaled(values: Array, weights: Array) -> tuple[Array, Array]:
    weights = weights / weights.sum()
    return values / (weights @ values), weights


def exponential(points: int = 20000) -> tuple[Array, Array]:
    """Conditional means of equal slices of the exponential law: mean 1 exactly."""
    edges = np.arange(points + 1) / points
    upper = np.where(
        edges < 1.0, (1.0 - edges) * (1.0 - np.log1p(-np.minimum(edges, 1 - 1e-16))), 0
    )
    return -np.diff(upper) * points, np.full(points, 1.0 / points)


def erlang(stages: int, points: int = 4000) -> tuple[Array, Array]:
    return scaled(gammaincinv(float(stages), mid_shares(points)), np.ones(points))


def log_normal(scv: float, points: int = 4000) -> tuple[Array, Array]:
    return scaled(np.exp(np.sqrt(np.log1p(scv)) * ndtri(mid_shares(points))), np.ones(points))


def agent(long_share: float, long_mean: float, floor: float) -> tuple[Array, Array]:
    """Prefill times of agent traffic: most prompts are cached, some are not.

    A fixed part for all, a small spread part for hits, log-normal lengths for misses.
    """
    hit = floor + 0.15 * np.exp(0.6 * ndtri(mid_shares(500)))
    miss = floor + long_mean * np.exp(0.7 * ndtri(mid_shares(500)))
    weights = np.repeat([1.0 - long_share, long_share], 500)
    return scaled(np.concatenate((hit, miss)), weights)


def scv(values: Array, weights: Array) -> float:
    return float(weights @ values**2 / (weights @ values) ** 2 - 1.0)
