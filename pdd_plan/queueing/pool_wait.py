"""The wait of M/G/c with Poisson arrivals, in units of the mean service time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pdd_plan.queueing.compounds import (
    ComplexArray,
    Transforms,
    least_residual_masses,
    split_by_load,
)
from pdd_plan.queueing.deterministic import deterministic_wait
from pdd_plan.queueing.grid import TimeGrid, residual_masses
from pdd_plan.queueing.wait_correction import (
    LEVELS,
    Correction,
    correction,
    exponential_wait,
)

Array = NDArray[np.float64]

# How much of the difference between the real service distribution and the two phases, as the
# family of laws sees it, is carried over to the exact quantiles of the two phases. Fitted in
# steps of 0.1 to the median error of P50, P90 and P99 of wait + service against simulation:
# six service distributions (three of agent traffic, one of conversations, a log-normal and a
# two-class mix; SCV 3-9), 2-16 servers, utilizations 0.5-0.93. The tests use other ones.
_CARRIED = 0.75


class PoolWait:
    """Wait of M/G/c for a service time of mean 1.

    Parameters
    ----------
    service, share : ndarray, shape (n,)
        Service times with mean 1 and their masses, sum 1.
    servers : int
        Number of servers c, 1 or more.
    connection_share : float, optional
        If given, the servers are the connections of a shared line, see `connection_pool`.
    """

    def __init__(
        self,
        service: Array,
        share: Array,
        servers: int,
        connection_share: float | None = None,
    ) -> None:
        self.service, self.share, self.servers = service, share, servers
        self.connection_share = connection_share
        self.second, self.third = float(share @ service**2), float(share @ service**3)
        # near the exponential two phases are ill-determined and the correction is small: it is
        # taken at an SCV of 1.1 and faded out
        self.fade = min(max((self.second - 2.0) / 0.1, 0.0), 1.0) if servers > 1 else 0.0
        square = 0.5 * max(self.second, 2.1)
        ratio = self.third / 6.0 / (0.5 * self.second) ** 2
        self.moments = (2.0 * square, 6.0 * ratio * square**2)

    def probability(self, utilization: Array) -> Array:
        """P(W > 0), shape of `utilization`.

        Erlang C times a correction: exact M/H2/c for service more variable than exponential;
        for less, (P(M/D/c)/Erlang C)^((1 - SCV)²), which meets both ends and was checked for
        Erlang service in between.
        """
        wait = exponential_wait(self.servers, utilization, self.connection_share)
        if self.fade > 0.0:
            exact = self._correction(utilization)
            wait = wait * np.exp(self.fade * exact.log_probability)
        elif self._regularity > 0.0:
            exact_wait = np.array([deterministic_wait(self.servers, u)[0] for u in utilization])
            ratio = np.where(wait > 0.0, exact_wait / np.where(wait > 0.0, wait, 1.0), 1.0)
            wait = wait * ratio**self._regularity**2
        return np.minimum(wait, 1.0)

    def survival(self, utilization: Array, grid: TimeGrid) -> Array:
        """P(W > (k + 1/2) h | W > 0), shape (m, size)."""
        utilization = np.maximum(utilization, 1e-9)
        if self.fade > 0.0:
            return self._two_scale_survival(utilization, grid)
        wait = Transforms(grid.size)
        first = least_residual_masses(self.service, self.share, self.servers, grid)
        hop = wait.of(residual_masses(self.service / self.servers, self.share, grid))
        rho = utilization[:, None]
        law = wait.masses(wait.of(first) * (1.0 - rho) / (1.0 - rho * hop))
        survival = np.maximum(1.0 - np.cumsum(law, axis=1), 0.0)
        if self._regularity > 0.0:
            scale = self._deterministic_scale(utilization)
            rows = zip(survival, scale, strict=True)
            survival = np.stack([stretched(row, factor, grid.size) for row, factor in rows])
        return survival

    def _correction(self, utilization: Array) -> Correction:
        """Return what M/H2/c with the same moments says."""
        return correction(self.servers, utilization, *self.moments, self.connection_share)

    @property
    def _regularity(self) -> float:
        """1 - SCV where that is positive and there are several real servers, else 0."""
        if self.servers == 1 or self.connection_share is not None:
            return 0.0
        return max(2.0 - self.second, 0.0)

    def _deterministic_scale(self, utilization: Array) -> Array:
        """Factor on the wait of those who wait, shape (m,).

        The mean by residuals is off by a known factor for M/D/c; its power (1 - SCV)^1.5 is
        taken in between (checked for Erlang service).
        """
        c = self.servers
        scale = np.empty(utilization.size)
        for row, rho in enumerate(utilization):
            probability, mean = deterministic_wait(c, float(rho))
            compound = 1.0 / (c + 1.0) + rho / (1.0 - rho) * 0.5 / c
            scale[row] = mean / probability / compound if probability > 1e-12 else 1.0
        return np.asarray(scale**self._regularity**1.5)

    def _two_scale_survival(self, utilization: Array, grid: TimeGrid) -> Array:
        """Law of the family of `wait_correction`, its quantiles corrected."""
        exact = self._correction(utilization)
        # quantiles of the family that exceed the corrected ones are needed beyond the grid
        excess = float((exact.log_family_wait - exact.log_exact_wait).max())
        reach = 1.2 * np.exp(min(max(excess, 0.0), 1.0))
        wide = TimeGrid(grid.step_s, int(reach * grid.size) + 1)
        law = self._family(utilization, exact, wide)
        level = -np.log(np.maximum(1.0 - np.cumsum(law, axis=1), 1e-12))
        level = np.maximum.accumulate(level, axis=1)
        result = np.empty((utilization.size, grid.size))
        for row in range(utilization.size):
            result[row] = self._corrected(level[row], exact, row, wide)[: grid.size]
        return result

    def _family(self, utilization: Array, exact: Correction, grid: TimeGrid) -> Array:
        """Law of R + L + B (E1 + X), see `wait_correction`, shape (m, size)."""
        service, share, servers, fade = self.service, self.share, self.servers, self.fade
        short, long = split_by_load(service, share, exact.long_load)
        wait = Transforms(grid.size)
        first = wait.of(least_residual_masses(service, share, servers, grid))
        free = 1.0 / ((1.0 - fade) / servers + fade / exact.free_servers)
        short_hop = self._short_hops(short, free, wait, grid)
        long_hop = wait.of(residual_masses(service / servers, long, grid))
        hop = wait.of(residual_masses(service / servers, share, grid))
        rho = utilization[:, None]
        plain_local = rho * (1.0 - exact.long_load)
        plain_long = rho * exact.long_load / (1.0 - plain_local)
        local = plain_local + fade * (exact.local_ratio[:, None] - plain_local)
        ahead = plain_long + fade * (exact.long_probability[:, None] - plain_long)
        behind = 1.0 - rho * hop
        np.divide(ahead * (1.0 - rho) * long_hop, behind, out=behind)
        behind += 1.0 - ahead
        behind *= first * (1.0 - local)
        short_hop *= -local
        short_hop += 1.0
        behind /= short_hop
        return wait.masses(behind)

    def _short_hops(
        self, short: Array, free: Array, wait: Transforms, grid: TimeGrid
    ) -> ComplexArray:
        """Transform short residuals over the free servers, shape (m, length / 2 + 1).

        Between a few numbers of servers the laws are mixed so that the mean is right.
        """
        count = 1 if np.ptp(free) < 1e-9 else min(free.size, 5)
        paces = np.linspace(1.0 / free.max(), 1.0 / free.min(), count)
        laws = [wait.of(residual_masses(self.service * pace, short, grid)) for pace in paces]
        position = np.interp(1.0 / free, paces, np.arange(count))
        left = np.minimum(position.astype(np.intp), max(count - 2, 0))
        part = (position - left)[:, None]
        right = np.minimum(left + 1, count - 1)
        stacked = np.stack(laws)
        hops = stacked[left]
        hops *= 1.0 - part
        hops += part * stacked[right]
        return hops

    def _corrected(self, level: Array, exact: Correction, row: int, grid: TimeGrid) -> Array:
        """Survival function with quantiles corrected, half a step after each point."""
        known = LEVELS[level[-1] > LEVELS]
        if known.size == 0:
            return np.exp(-level)
        times = np.concatenate(([0.0], grid.step_s * np.arange(0.5, grid.size)))
        level = np.concatenate(([0.0], level))
        family = np.interp(known, level, times)
        log_family = np.log(np.maximum(family, 1e-300))
        own = log_family - exact.log_family_wait[row, : known.size]
        change = exact.log_exact_wait[row, : known.size] + _CARRIED * own - log_family
        changed = np.maximum.accumulate(family * np.exp(self.fade * change))
        far = 10.0 * grid.end_s  # beyond the last level the tails run in parallel
        ends = np.concatenate(([0.0], changed, [changed[-1] + far]))
        starts = np.concatenate(([0.0], family, [family[-1] + far]))
        return np.exp(-np.interp(np.interp(times[1:], ends, starts), times, level))


def stretched(survival: Array, factor: float, size: int) -> Array:
    """Survival function of a time multiplied by a factor, half a step after each point.

    Parameters
    ----------
    survival : ndarray, shape (n,)
        P(time > (k + 1/2) h); beyond its end it is continued exponentially.
    factor : float
        Factor, above 0.
    size : int
        Points of the result.

    Returns
    -------
    ndarray, shape (size,)
        P(factor · time > (k + 1/2) h).
    """
    at = np.arange(0.5, size) / factor
    points = np.concatenate(([0.0], np.arange(0.5, survival.size)))
    level = np.concatenate(([0.0], -np.log(np.maximum(survival, 1e-300))))
    reach = max(int(np.searchsorted(level, 18.0)), 2)  # beyond, rounding
    points, level = points[:reach], level[:reach]
    slope = (level[-1] - level[reach // 2 - 1]) / (points[-1] - points[reach // 2 - 1])
    beyond = np.maximum(at - points[-1], 0.0) * slope
    return np.asarray(np.exp(-(np.interp(at, points, level) + beyond)))
