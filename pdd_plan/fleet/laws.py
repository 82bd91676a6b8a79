"""Laws of durations on a time grid: sums, mixtures, percentiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pdd_plan.fleet.problem import FloatArray, Limit
from pdd_plan.queueing import TimeGrid, point_masses

Route = Literal["direct", "relay"]

GRID_SIZE = 4096
"""Points of a time grid."""


@dataclass(frozen=True)
class Law:
    """Law of a duration on a uniform grid; each mass lies around its point.

    Attributes
    ----------
    step_s : float
        Step of the grid [s].
    masses : ndarray
        Probabilities at 0, step, 2 step, ...; what is missing to 1 lies beyond the grid.
    """

    step_s: float
    masses: FloatArray

    @property
    def mean(self) -> float:
        """Mean [s]; mass beyond the grid counts at its end."""
        points = self.step_s * np.arange(self.masses.size)
        return float(self.masses @ points + (1.0 - self.masses.sum()) * points[-1])

    def later(self, delay_s: float) -> Law:
        """Law of the duration and a known delay [s], linearly between points of the grid."""
        steps = delay_s / self.step_s
        whole, size = int(np.floor(steps)), self.masses.size
        part = steps - whole
        masses = np.zeros(size + whole + 1)
        masses[whole : whole + size] = (1.0 - part) * self.masses
        masses[whole + 1 :] += part * self.masses
        return Law(self.step_s, masses)

    def cdf(self, time_s: float) -> float:
        """P(duration <= time)."""
        ends = self.step_s * (np.arange(self.masses.size) + 0.5)
        return float(np.interp(time_s, ends, np.cumsum(self.masses), left=0.0))

    def curve(self, times_s: FloatArray) -> FloatArray:
        """P(duration <= time) at several times, shape as ``times_s``."""
        ends = self.step_s * (np.arange(self.masses.size) + 0.5)
        return np.asarray(np.interp(times_s, ends, np.cumsum(self.masses), left=0.0))

    def quantile(self, probability: float) -> float:
        """Time not exceeded with a probability [s]; infinite beyond the grid."""
        below = np.cumsum(self.masses)
        if probability > below[-1]:
            return float("inf")
        index = int(np.searchsorted(below, probability))
        before = float(below[index - 1]) if index else 0.0
        inside = (probability - before) / max(float(below[index]) - before, 1e-300)
        return max(0.0, self.step_s * (index - 0.5 + inside))

    def at_limit(self, limit: Limit) -> float:
        """What a limit is about [s]: the mean, or the percentile."""
        return self.mean if limit.percentile == 0 else self.quantile(limit.probability)


def mixture(parts: Sequence[tuple[float, Law]]) -> Law:
    """Mix laws by weight; grids of different steps are brought to the coarsest."""
    total = sum(weight for weight, _ in parts)
    step_s = max(law.step_s for _, law in parts)
    masses = np.zeros(max(law.masses.size for _, law in parts))
    for weight, law in parts:
        if law.step_s == step_s:
            masses[: law.masses.size] += weight / total * law.masses
        else:
            points = law.step_s * np.arange(law.masses.size)
            grid = TimeGrid(step_s, masses.size)
            masses += weight / total * point_masses(points, law.masses, grid)
    return Law(step_s, masses)


def law_of_points(times_s: FloatArray, masses: FloatArray) -> Law:
    """Law of weighted points, on a grid that just holds them all.

    Parameters
    ----------
    times_s, masses : ndarray, shape (n,)
        Durations [s] and their probabilities.
    """
    grid = TimeGrid(1.01 * max(float(times_s.max()), 1e-6) / (GRID_SIZE - 1), GRID_SIZE)
    return Law(grid.step_s, point_masses(times_s, masses, grid))


def law_of_sum(
    times_s: FloatArray,
    masses: FloatArray,
    waits_on: Callable[[TimeGrid], list[FloatArray]],
) -> Law:
    """Law of a known time and independent waits.

    The horizon starts at a few times the largest known time and grows until less than half a
    percent lies beyond it.

    Parameters
    ----------
    times_s, masses : ndarray, shape (n,)
        Known times [s] and their probabilities.
    waits_on : callable
        Masses of each wait on a grid.
    """
    horizon = 1.5 * float(times_s.max()) + 4.0 * float(masses @ times_s)
    law = Law(1.0, np.zeros(1))
    for _ in range(5):
        grid = TimeGrid(horizon / (GRID_SIZE - 1), GRID_SIZE)
        law = Law(grid.step_s, convolved([*waits_on(grid), point_masses(times_s, masses, grid)]))
        if law.masses.sum() > 0.995:
            break
        horizon *= 3.0
    return law


def convolved(factors: Sequence[FloatArray]) -> FloatArray:
    """Law of a sum of independent durations, from masses on one grid, cut at its end."""
    size = factors[0].size
    length = 1 << (len(factors) * size - 1).bit_length()
    product = np.fft.rfft(factors[0], length)
    for factor in factors[1:]:
        product = product * np.fft.rfft(factor, length)
    return np.asarray(np.maximum(np.fft.irfft(product, length)[:size], 0.0))
