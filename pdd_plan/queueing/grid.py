"""A uniform time grid and the laws of waiting times on it.

A law on a grid is an array `pmf` of the masses at the points 0, h, 2h, ... It stands for a law
that is continuous (but for a mass at 0 perhaps): each mass is what lies around its point, so the
running sum of the masses is the distribution function half a step *after* the point. The
functions `cdf_of` and `quantile_of` know this, and are of second order in the step.
Mass beyond the last point is left out of the array: 1 - pmf.sum() is P(time > end of the grid).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TimeGrid:
    """Points 0, h, 2h, ..., (size - 1) h.

    Attributes
    ----------
    step_s : float
        Distance of the points h [s].
    size : int
        Number of points, 2 or more.

    Raises
    ------
    ValueError
        If the step is not positive and finite, or the size is below 2.
    """

    step_s: float
    size: int

    def __post_init__(self) -> None:
        if not (self.step_s > 0.0 and np.isfinite(self.step_s)):
            raise ValueError(f"grid step must be positive and finite, not {self.step_s} s")
        if self.size < 2:
            raise ValueError(f"a grid needs 2 points or more, not {self.size}")

    @property
    def times_s(self) -> Array:
        """Points of the grid [s], shape (size,)."""
        return self.step_s * np.arange(self.size, dtype=np.float64)

    @property
    def end_s(self) -> float:
        """Last point of the grid [s]."""
        return self.step_s * (self.size - 1)


def point_masses(times_s: ArrayLike, weights: ArrayLike, grid: TimeGrid) -> Array:
    """Put weighted points on the grid, each split linearly between its two neighbors.

    Keeps the total mass and the mean of all points up to the end of the grid; points beyond
    the end are left out.

    Parameters
    ----------
    times_s : array_like, shape (n,)
        Times [s], 0 or more.
    weights : array_like, shape (n,)
        Masses [1].
    grid : TimeGrid
        Where to put them.

    Returns
    -------
    ndarray, shape (grid.size,)
        Masses.

    Raises
    ------
    ValueError
        If a time is negative or not a number.
    """
    times = np.asarray(times_s, dtype=np.float64)
    masses = np.asarray(weights, dtype=np.float64)
    if np.any(~(times >= 0.0)):
        raise ValueError("times must be 0 s or more")
    position = times / grid.step_s
    inside = position <= grid.size - 1
    position, masses = position[inside], masses[inside]
    left = np.minimum(position.astype(np.intp), grid.size - 2)
    right_mass = masses * (position - left)
    pmf = np.bincount(left, masses - right_mass, minlength=grid.size)
    pmf += np.bincount(left + 1, right_mass, minlength=grid.size)
    return np.asarray(pmf[: grid.size], dtype=np.float64)


def excess_integrals(times_s: Array, weights: Array, at_s: Array) -> tuple[Array, Array]:
    """Return E[(T - t)+] and E[(T - t)+²]/2 of a weighted sample, exactly.

    Parameters
    ----------
    times_s : ndarray, shape (n,)
        Times [s].
    weights : ndarray, shape (n,)
        Masses [1].
    at_s : ndarray, shape (m,)
        Points t [s], in any order.

    Returns
    -------
    first, second : ndarray, shape (m,)
        First [s] and half the second excess moment [s²].
    """
    order = np.argsort(times_s)
    times, masses = times_s[order], weights[order]
    index = np.searchsorted(times, at_s, side="right")

    def above(values: Array) -> Array:
        total = np.concatenate((np.cumsum(values[::-1])[::-1], [0.0]))
        return np.asarray(total[index])

    mass, first, second = above(masses), above(masses * times), above(masses * times**2)
    excess = np.maximum(first - at_s * mass, 0.0)
    half_square = np.maximum(0.5 * (second - 2.0 * at_s * first + at_s**2 * mass), 0.0)
    return excess, half_square


def residual_masses(times_s: ArrayLike, weights: ArrayLike, grid: TimeGrid) -> Array:
    """Equilibrium residual (stationary excess) law of a weighted sample on the grid.

    The residual has density P(T > t)/E[T]; each grid point gets the exact integral of that
    density against its triangle, so mass and mean E[T²]/(2 E[T]) are kept [1]_.

    Parameters
    ----------
    times_s : array_like, shape (n,)
        Times [s], 0 or more, not all 0.
    weights : array_like, shape (n,)
        Masses [1]; their sum need not be 1.
    grid : TimeGrid
        Where to put the law.

    Returns
    -------
    ndarray, shape (grid.size,)
        Masses; what lies beyond the end is left out.

    References
    ----------
    .. [1] D. R. Cox, Renewal Theory, 1962, section 5.2 (the residual's law).
    """
    times = np.asarray(times_s, dtype=np.float64)
    masses = np.asarray(weights, dtype=np.float64)
    at = grid.step_s * np.arange(-1, grid.size + 1, dtype=np.float64)
    _, integral = excess_integrals(times, masses, np.maximum(at, 0.0))
    mean = float(masses @ times)
    scaled = integral / (mean * grid.step_s)  # ∫_t^∞ P(residual > u) du / h
    pmf = scaled[:-2] - 2.0 * scaled[1:-1] + scaled[2:]
    pmf[0] = 1.0 - (scaled[1] - scaled[2])
    return np.asarray(np.maximum(pmf, 0.0))


def masses_of_survival(survival_at_half_steps: ArrayLike) -> Array:
    """Masses of a law given by its survival function half a step after each point.

    Parameters
    ----------
    survival_at_half_steps : array_like, shape (..., size)
        P(time > (k + 1/2) h), falling along the last axis.

    Returns
    -------
    ndarray, shape (..., size)
        Masses; the first one holds all that lies below h/2.
    """
    survival = np.asarray(survival_at_half_steps, dtype=np.float64)
    pmf = np.empty_like(survival)
    pmf[..., 0] = 1.0 - survival[..., 0]
    pmf[..., 1:] = survival[..., :-1] - survival[..., 1:]
    return pmf


def cdf_of(pmf: ArrayLike) -> Array:
    """Distribution function at the grid points.

    Parameters
    ----------
    pmf : array_like, shape (..., size)
        Masses on a grid.

    Returns
    -------
    ndarray, shape (..., size)
        P(time <= k h).
    """
    masses = np.asarray(pmf, dtype=np.float64)
    cdf = np.cumsum(masses, axis=-1) - 0.5 * masses
    cdf[..., 0] = np.maximum(masses[..., 0] - 0.5 * masses[..., 1], 0.0)
    return cdf


def quantile_of(pmf: ArrayLike, probability: ArrayLike, grid: TimeGrid) -> Array:
    """Time below which the given share of a law lies, by linear interpolation.

    Parameters
    ----------
    pmf : array_like, shape (size,)
        Masses on the grid.
    probability : array_like
        Shares, between 0 and 1.
    grid : TimeGrid
        Grid of `pmf`.

    Returns
    -------
    ndarray
        Quantiles [s], of the shape of `probability`; infinite where the grid ends too early.

    Raises
    ------
    ValueError
        If a share lies outside 0 to 1.
    """
    share = np.asarray(probability, dtype=np.float64)
    if np.any(~((share >= 0.0) & (share <= 1.0))):
        raise ValueError("a probability must lie between 0 and 1")
    masses = np.asarray(pmf, dtype=np.float64)
    cumulative = np.concatenate((cdf_of(masses)[:1], np.cumsum(masses)))
    times = np.concatenate(([0.0], grid.times_s + 0.5 * grid.step_s))
    result = np.interp(share, cumulative, times)
    return np.where(share > cumulative[-1], np.inf, result)


def mean_of(pmf: ArrayLike, grid: TimeGrid) -> Array:
    """Mean [s] of what lies on the grid: a lower bound where mass lies beyond its end."""
    return np.asarray(np.asarray(pmf, dtype=np.float64) @ grid.times_s)
