"""What the order and the times of recorded requests do to the wait for prefill.

Poisson arrivals of requests drawn one by one miss what a trace has: bursts, drifts of the rate over
minutes, long passes that come together or keep apart. All of it shows in one quantity, the work
that an arrival finds in front of a single fast server which is fed by the trace itself. That is
Lindley's recursion [1]_ over the recorded gaps and service times, at each utilization; the time
scale is the queue's own, with no window to choose [2]_. Beside it stands the same server under
Poisson arrivals and independent service times (Pollaczek-Khinchine). The difference of their
quantiles at equal probability, over the number of servers, is added to the wait of the pool. For
one server the law is then that of the trace; for a pool the approximation is that what is piled up
by bursts and drifts is worked off by all servers together.

The trace is taken as it runs once, from an empty queue. A queue forgets after some
(1 + c_s²) / (1 - rho)² requests; where the trace has fewer than ten times as many, it cannot tell,
and the wait is stretched by the factor of the largest utilization at which it can.

References
----------
.. [1] D. V. Lindley, "The theory of queues with a single server", Mathematical Proceedings of the
   Cambridge Philosophical Society 48 (1952) 277-289.
.. [2] K. W. Fendick and W. Whitt, "Measurements and approximations to describe the offered traffic
   and predict the average workload in a single-server queue", Proc. IEEE 77 (1989) 171-194.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdd_plan.queueing.grid import TimeGrid
from pdd_plan.queueing.pool_wait import PoolWait

Array = NDArray[np.float64]

_NODES = np.array(
    [0.05, 0.2, 0.35, 0.5, 0.58, 0.65, 0.71, 0.76, 0.8, 0.83, 0.86, 0.88, 0.9, 0.92, 0.94, 0.96]
)
LEVELS = np.concatenate((np.geomspace(1e-6, 0.05, 60)[:-1], np.linspace(0.05, 0.995, 90)))
"""Levels P(W > t) at which quantiles are compared, ascending."""

_FEWEST_BEYOND = 30
"""Requests that a quantile of the trace must have beyond it."""

_FORGETTING = 10.0
"""Times that a trace must be longer than the memory of the queue."""

_BIN = 5e-3
_GRID_POINTS = 16_384
_MEANS_OF_GRID = 16.0


@dataclass(frozen=True, eq=False)
class RecordedWork:
    """Requests of a trace as a queue feels them: arrivals and service times in their real order.

    Attributes
    ----------
    arrival_s, service_s : ndarray, shape (n,)
        Arrivals [s], ascending, and service times [s].
    """

    arrival_s: Array
    service_s: Array

    @cached_property
    def shift(self) -> WaitShift | None:
        """Change of waits; None where the trace is too short for any utilization."""
        return wait_shift(self.arrival_s, self.service_s)


@dataclass(frozen=True, eq=False)
class WaitShift:
    """Quantiles of the work found behind a trace less those behind Poisson arrivals.

    Attributes
    ----------
    utilization : ndarray, shape (m,)
        Ascending.
    difference : ndarray, shape (m, k)
        At `LEVELS`, in mean service times.
    """

    utilization: Array
    difference: Array

    def at(self, utilization: float) -> Array:
        """Differences at a utilization, shape (k,), in mean service times.

        Between and beyond the known ones they are taken to grow as waits do, like
        rho / (1 - rho).
        """
        if utilization <= 0.0:
            return np.zeros(LEVELS.size)
        inside = np.clip(utilization, self.utilization[0], self.utilization[-1])
        position = float(np.interp(inside, self.utilization, np.arange(self.utilization.size)))
        left = min(int(position), self.utilization.size - 2)
        part = position - left
        scaled = self.difference * ((1.0 - self.utilization) / self.utilization)[:, None]
        row: Array = (1.0 - part) * scaled[left] + part * scaled[left + 1]
        return row * (utilization / (1.0 - utilization))


def wait_shift(arrival_s: ArrayLike, service_s: ArrayLike) -> WaitShift | None:
    """Compare the work in front of a single server under a trace and under Poisson arrivals.

    Parameters
    ----------
    arrival_s, service_s : array_like, shape (n,)
        As of `RecordedWork`; only proportions matter.

    Returns
    -------
    WaitShift or None
        None where the trace is too short to say anything.
    """
    arrivals = np.asarray(arrival_s, dtype=np.float64)
    service = np.asarray(service_s, dtype=np.float64)
    if arrivals.size < 2 or not arrivals[-1] > arrivals[0] or not service.mean() > 0.0:
        return None
    gaps, work = np.diff(arrivals), service / service.mean()
    gaps = gaps / gaps.mean()
    reliable = 1.0 - np.sqrt(_FORGETTING * float(np.mean(work**2)) / work.size)
    if reliable <= _NODES[1]:
        return None
    utilization = np.append(_NODES[reliable > _NODES], reliable)
    levels = np.maximum(LEVELS, _FEWEST_BEYOND / work.size)
    poisson = PoolWait(*_binned(work), 1)
    rows = []
    for rho in utilization:
        found = np.sort(found_work(gaps, work, float(rho)))
        traced = np.interp((1.0 - levels) * (found.size - 1), np.arange(found.size), found)
        waits, survival = _poisson(poisson, float(rho))
        rows.append(traced - np.interp(-levels, -survival, waits))
    return WaitShift(utilization, np.stack(rows))


def found_work(gaps: Array, work: Array, utilization: float) -> Array:
    """Work that each request finds in front of a single server that was idle at first.

    Parameters
    ----------
    gaps : ndarray, shape (n - 1,)
        Time from each request to the next over the mean.
    work : ndarray, shape (n,)
        Service times over their mean.
    utilization : float
        Offered work over capacity [1], in (0, 1).

    Returns
    -------
    ndarray, shape (n,)
        In mean service times.

    Notes
    -----
    Lindley's recursion V' = max(V + s - gap / rho, 0), as the distance of the running sum from
    its running minimum.
    """
    total = np.concatenate(([0.0], np.cumsum(work[:-1] - gaps / utilization)))
    return np.asarray(total - np.minimum.accumulate(total))


def _binned(work: Array) -> tuple[Array, Array]:
    """Service times of mean 1 and their shares, those within half a percent put together."""
    bins = np.round(np.log(np.maximum(work, 1e-6)) / _BIN).astype(np.int64)
    _, index = np.unique(bins, return_inverse=True)
    count = np.bincount(index)
    times: Array = np.bincount(index, work) / count
    share: Array = count / work.size
    return times, share


def _poisson(pool: PoolWait, rho: float) -> tuple[Array, Array]:
    """Times and P(W > t) of M/G/1 for mean service time 1, from t = 0."""
    mean_wait = 0.5 * pool.second * rho / (1.0 - rho)
    reach = _MEANS_OF_GRID * max(mean_wait / rho, float(pool.service.max()) / 4.0)
    grid = TimeGrid(reach / _GRID_POINTS, _GRID_POINTS)
    survival = rho * pool.survival(np.array([rho]), grid)[0]
    times = np.concatenate(([0.0], grid.times_s + 0.5 * grid.step_s))
    return times, np.concatenate(([rho], survival))


def shifted(survival: Array, difference: Array, size: int) -> Array:
    """Add differences of quantiles to a law of the wait.

    Parameters
    ----------
    survival : ndarray, shape (n + 1,)
        P(W > 0) and P(W > (k + 1/2) h), falling.
    difference : ndarray, shape (k,)
        At `LEVELS`, in steps h.
    size : int
        Points of the result.

    Returns
    -------
    ndarray, shape (size + 1,)
        The same of the changed law; beyond its last level it is continued exponentially.
    """
    points = np.concatenate(([0.0], np.arange(0.5, survival.size - 1)))
    levels = LEVELS[survival[-1] < LEVELS]
    known = difference[-levels.size :]
    waits = np.interp(-levels, -survival, points) + known
    # Quantiles rise as levels fall; differences of a noisy trace must not break that.
    waits = np.maximum(np.minimum.accumulate(waits), 0.0)[::-1]
    if waits.size == 0 or waits[-1] <= 0.0:
        return np.zeros(size + 1)
    depth = -np.log(levels)[::-1]
    at = np.concatenate(([0.0], np.arange(0.5, size)))
    busy = int(np.count_nonzero(waits <= 0.0))  # levels at which nobody waits
    start = max(busy - 1, 0)
    waits, depth = waits[start:], depth[start:]
    half = waits.size // 2
    slope = (depth[-1] - depth[half]) / max(waits[-1] - waits[half], 1e-12)
    beyond = np.maximum(at - waits[-1], 0.0) * slope
    return np.asarray(np.exp(-(np.interp(at, waits, depth) + beyond)))
