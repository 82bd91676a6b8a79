"""Sums and mixtures of independent times, and weighted samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdd_plan.queueing.grid import TimeGrid, cdf_of, quantile_of

Array = NDArray[np.float64]


def convolve_masses(laws: Sequence[ArrayLike]) -> Array:
    """Law of the sum of independent times on one grid, by FFT.

    Parameters
    ----------
    laws : sequence of array_like, shape (..., size)
        Masses, all on the same grid; leading axes are broadcast.

    Returns
    -------
    ndarray, shape (..., size)
        Masses of the sum up to the end of the grid, correct to about 1e-16; nothing that lies
        beyond the end wraps around.
    """
    arrays = [np.asarray(law, dtype=np.float64) for law in laws]
    size = arrays[0].shape[-1]
    length = 1 << (len(arrays) * (size - 1)).bit_length() if len(arrays) > 1 else size
    if len(arrays) == 1:
        return arrays[0].copy()
    product = np.fft.rfft(arrays[0], length)
    for array in arrays[1:]:
        product = product * np.fft.rfft(array, length)
    return np.asarray(np.maximum(np.fft.irfft(product, length)[..., :size], 0.0))


def mixture_cdf(laws: ArrayLike, weights: ArrayLike) -> Array:
    """Distribution function of a mixture at the grid points.

    Parameters
    ----------
    laws : array_like, shape (n, size)
        Masses of each part.
    weights : array_like, shape (n,)
        Shares of the parts.

    Returns
    -------
    ndarray, shape (size,)
        P(time <= k h).
    """
    return cdf_of(np.asarray(weights, dtype=np.float64) @ np.asarray(laws, dtype=np.float64))


def mixture_quantile(
    laws: ArrayLike, weights: ArrayLike, probability: ArrayLike, grid: TimeGrid
) -> Array:
    """Quantiles [s] of a mixture of laws on one grid; see `quantile_of`."""
    mixed = np.asarray(weights, dtype=np.float64) @ np.asarray(laws, dtype=np.float64)
    return quantile_of(mixed, probability, grid)


def sample_quantile(values: ArrayLike, weights: ArrayLike, probability: ArrayLike) -> Array:
    """Quantiles of a weighted sample, interpolated between the points' mid-ranks.

    Parameters
    ----------
    values, weights : array_like, of one shape
        Sample and its masses; the masses need not sum to 1.
    probability : array_like
        Shares, between 0 and 1.

    Returns
    -------
    ndarray
        Quantiles in the unit of `values`, of the shape of `probability`.

    Raises
    ------
    ValueError
        If the sample is empty, a mass is negative or all are 0.
    """
    points = np.asarray(values, dtype=np.float64).ravel()
    masses = np.asarray(weights, dtype=np.float64).ravel()
    if points.size == 0 or np.any(~(masses >= 0.0)) or not masses.sum() > 0.0:
        raise ValueError("a sample needs points with masses of 0 or more, not all 0")
    order = np.argsort(points, kind="stable")
    points, masses = points[order], masses[order] / masses.sum()
    share = np.asarray(probability, dtype=np.float64)
    return np.asarray(np.interp(share, np.cumsum(masses) - 0.5 * masses, points))
