"""Random sums of residual times on a grid, by FFT."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pdd_plan.queueing.grid import TimeGrid, excess_integrals

Array = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]


class Transforms:
    """Discrete transforms for compounds, whose laws have no end.

    The FFT wraps round what lies beyond its end. Damping the masses by r^k beforehand
    (exponential tilting) [1]_ with r^size = 1e-8 leaves less than 1e-8 of that, and as much
    rounding; so no padding is needed.

    Parameters
    ----------
    size : int
        Points of the grid.

    References
    ----------
    .. [1] R. Grübel and R. Hermesmeier, "Computation of compound distributions I: aliasing
       errors and exponential tilting", ASTIN Bulletin 29 (1999) 197-214.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.length = fast_length(size)
        self.damping = np.exp(np.log(1e-8) / self.length * np.arange(size))

    def of(self, masses: Array) -> ComplexArray:
        """Return the transform of masses on the grid, shape (length / 2 + 1,)."""
        return np.fft.rfft(masses * self.damping, self.length)

    def masses(self, transform: ComplexArray) -> Array:
        """Return the masses of transforms, shape (..., size)."""
        law = np.fft.irfft(transform, self.length, axis=-1)[..., : self.size]
        return np.asarray(np.maximum(law / self.damping, 0.0))


def fast_length(size: int) -> int:
    """Return the smallest even 2^a 3^b 5^c that is `size` or more, a quick length for the FFT."""
    best = 1 << (size - 1).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            twos = max(((size - 1) // three).bit_length(), 1)
            best = min(best, three << twos)
            three *= 3
        five *= 5
    return best


def least_residual_masses(service: Array, share: Array, servers: int, grid: TimeGrid) -> Array:
    """Law of the least of c independent equilibrium residuals of a service time.

    P(least > t) = P(residual > t)^c, integrated over each cell by Simpson's rule.

    Parameters
    ----------
    service, share : ndarray, shape (n,)
        Service times [s] and their masses.
    servers : int
        Number of residuals c.
    grid : TimeGrid
        Where to put the law.

    Returns
    -------
    ndarray, shape (grid.size,)
        Masses.
    """
    half = 0.5 * grid.step_s * np.arange(2 * grid.size + 1, dtype=np.float64)
    excess, _ = excess_integrals(service, share, half)
    survival = (excess / float(share @ service)) ** servers
    left, middle, right = survival[0:-2:2], survival[1::2], survival[2::2]
    cells = (left + 4.0 * middle + right) / 6.0  # ∫ survival over a cell / h
    pmf = np.empty(grid.size)
    pmf[0] = 1.0 - cells[0]
    pmf[1:] = cells[:-1] - cells[1:]
    return np.maximum(pmf, 0.0)


def split_by_load(service: Array, share: Array, long_load: float) -> tuple[Array, Array]:
    """Split masses into short and long requests, the longest ones making up a share of the work.

    Parameters
    ----------
    service, share : ndarray, shape (n,)
        Service times [s] and their masses.
    long_load : float
        Share of the work in the long ones [1].

    Returns
    -------
    short, long : ndarray, shape (n,)
        Masses that sum to `share`; at most one point is in both.
    """
    order = np.argsort(-service, kind="stable")
    work = (service * share)[order]
    before = np.concatenate(([0.0], np.cumsum(work)[:-1]))
    part = np.clip((long_load * work.sum() - before) / np.maximum(work, 1e-300), 0.0, 1.0)
    long = np.empty_like(share)
    long[order] = share[order] * part
    return share - long, long
