"""Waiting time of a FCFS queue with several servers and any service time, M/G/c.

The service time is a weighted sample, so its whole shape enters, not two moments. Exact for M/G/1
and M/M/c; `pool_wait` and `wait_correction` have the model and its sources.

Bursty arrivals (`arrival_scv` above 1, at the time scale of the queue) raise P(W > 0) as in
Hayward's approximation [1]_ [2]_ and stretch the wait of those who wait by
1 + rho (c_a² - 1)/(1 + c_s²), which is the diffusion limit (c_a² + c_s²)/(1 + c_s²) of [3]_ in
heavy traffic; the factor rho was checked for renewal arrivals with c_a² of 0.5, 2 and 4. Where
the requests of a trace are at hand, `recorded` takes the place of this number.

References
----------
.. [1] A. A. Fredericks, "Congestion in blocking systems: a simple approximation technique",
   Bell System Technical Journal 59 (1980) 805-827.
.. [2] W. Whitt, "Heavy-traffic approximations for service systems with blocking", AT&T Bell
   Laboratories Technical Journal 63 (1984) 689-708.
.. [3] A. O. Allen, Probability, Statistics, and Queueing Theory, 2nd ed., 1990, section 5.4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdd_plan.errors import UnstableQueueError
from pdd_plan.queueing.erlang import erlang_c
from pdd_plan.queueing.grid import TimeGrid, masses_of_survival
from pdd_plan.queueing.peakedness import peakedness
from pdd_plan.queueing.pool_wait import PoolWait, stretched
from pdd_plan.queueing.recorded import WaitShift, shifted

Array = NDArray[np.float64]


def waiting_time_pmf(
    service_s: ArrayLike,
    weights: ArrayLike,
    servers: int,
    arrival_rate_per_s: float,
    grid: TimeGrid,
    arrival_scv: float = 1.0,
    split: int = 1,
    recorded: WaitShift | None = None,
) -> Array:
    """Law of the waiting time on a grid, the mass P(W = 0) included in the first entry.

    Parameters
    ----------
    service_s : array_like, shape (n,)
        Service times [s].
    weights : array_like, shape (n,)
        Shares of the requests [1]; scaled to sum to 1.
    servers : int
        Number of servers c, 1 or more.
    arrival_rate_per_s : float
        Arrivals to all servers together [1/s].
    grid : TimeGrid
        Grid of the result.
    arrival_scv : float
        Squared coefficient of variation of the arrivals at the time scale of the queue [1].
    split : int
        Pools like this one that the stream is split to at random, each with its own queue; the
        rate is that of one of them, the burstiness that of the whole stream.
    recorded : WaitShift, optional
        What the order and the times of a trace do to the wait, in the place of `arrival_scv`.

    Returns
    -------
    ndarray, shape (grid.size,)
        Masses; 1 - sum is P(W > end of the grid). Use `cdf_of` and `quantile_of` on it.

    Raises
    ------
    UnstableQueueError
        If the utilization is 1 or more.
    ValueError
        If an argument is out of its range.
    """
    service, share = _checked_service(service_s, weights)
    if not (arrival_rate_per_s >= 0.0 and np.isfinite(arrival_rate_per_s)):
        raise ValueError("the arrival rate must be finite and 0 or more requests/s")
    _check_servers(servers)
    utilization = np.array([arrival_rate_per_s * float(share @ service) / servers])
    arrivals = _Arrivals(arrival_scv, split, recorded)
    wait, conditional = _waits(service, share, servers, utilization, grid, arrivals)
    return masses_of_survival(wait[0] * conditional[0])


def waiting_time_cdf_table(
    service_s: ArrayLike,
    weights: ArrayLike,
    servers: int,
    utilizations: ArrayLike,
    grid: TimeGrid,
    arrival_scv: float = 1.0,
    split: int = 1,
    recorded: WaitShift | None = None,
) -> Array:
    """Distribution function of the waiting time for many utilizations at once.

    Parameters
    ----------
    service_s, weights, servers, grid, arrival_scv, split, recorded
        As for `waiting_time_pmf`.
    utilizations : array_like, shape (m,)
        Offered work over capacity, λ E[S] / c [1], each in [0, 1).

    Returns
    -------
    ndarray, shape (m, grid.size)
        P(W <= k h), falling in utilization and rising in k.

    Raises
    ------
    UnstableQueueError
        If a utilization is 1 or more.
    ValueError
        If an argument is out of its range.
    """
    service, share = _checked_service(service_s, weights)
    loads = np.atleast_1d(np.asarray(utilizations, dtype=np.float64))
    arrivals = _Arrivals(arrival_scv, split, recorded)
    wait, conditional = _waits(service, share, servers, loads, grid, arrivals)
    survival = np.empty_like(conditional)
    survival[:, 0] = 1.0
    survival[:, 1:] = 0.5 * (conditional[:, :-1] + conditional[:, 1:])
    return np.asarray(1.0 - wait[:, None] * survival)


def wait_probability(
    service_s: ArrayLike,
    weights: ArrayLike,
    servers: int,
    utilizations: ArrayLike,
) -> Array:
    """P(W > 0) of M/G/c with a shared queue.

    Parameters
    ----------
    service_s, weights, servers
        As for `waiting_time_pmf`.
    utilizations : array_like
        Offered work over capacity [1], each in [0, 1).

    Returns
    -------
    ndarray
        Probability [1], of the shape of `utilizations`.
    """
    service, share = _checked_service(service_s, weights)
    loads = np.asarray(utilizations, dtype=np.float64)
    _check_load(servers, loads)
    return PoolWait(service / float(share @ service), share, servers).probability(loads)


def _check_servers(servers: int) -> None:
    """Refuse a pool that is no pool."""
    if servers < 1 or servers != int(servers):
        raise ValueError(f"a pool needs a whole number of servers, 1 or more, not {servers}")


def _check_load(servers: int, utilization: Array) -> None:
    """Refuse a pool that cannot keep up."""
    _check_servers(servers)
    if np.any(~(utilization >= 0.0)):
        raise ValueError("a utilization must be 0 or more")
    if np.any(utilization >= 1.0):
        raise UnstableQueueError(
            f"utilization {utilization.max():.4g} of {servers} servers: the queue grows for ever"
        )


@dataclass(frozen=True)
class _Arrivals:
    """How requests arrive at a pool."""

    scv: float
    split: int
    recorded: WaitShift | None


def _waits(
    service: Array,
    share: Array,
    servers: int,
    utilization: Array,
    grid: TimeGrid,
    arrivals: _Arrivals,
) -> tuple[Array, Array]:
    """Return P(W > 0), shape (m,), and P(W > (k + 1/2) h | W > 0), shape (m, size)."""
    _check_load(servers, utilization)
    if not arrivals.scv >= 0.0:
        raise ValueError(f"arrival_scv must be 0 or more, not {arrivals.scv}")
    mean = float(share @ service)
    pool = PoolWait(service / mean, share, servers)
    probability = pool.probability(utilization)
    unit = TimeGrid(grid.step_s / mean, grid.size)
    if arrivals.recorded is not None:
        return _recorded(pool, probability, utilization, unit, arrivals.recorded, arrivals.split)
    # a random split of a renewal stream, W. Whitt, QNA, 1983, section 4
    arrival_scv = 1.0 + (arrivals.scv - 1.0) / arrivals.split
    if arrival_scv == 1.0:
        return probability, pool.survival(utilization, unit)
    survival = pool.survival(utilization, TimeGrid(unit.step_s, 2 * grid.size))
    service_scv = max(pool.second - 1.0, 0.0)
    diffusion = (arrival_scv - 1.0) / (1.0 + service_scv)
    rows = [
        stretched(row, max(1.0 + rho * diffusion, 1e-6), grid.size)
        for row, rho in zip(survival, utilization, strict=True)
    ]
    return probability * _burst_ratio(pool, utilization, arrival_scv), np.stack(rows)


def _recorded(
    pool: PoolWait,
    probability: Array,
    utilization: Array,
    grid: TimeGrid,
    shift: WaitShift,
    split: int,
) -> tuple[Array, Array]:
    """Return P(W > 0), and P(W > (k + 1/2) h | W > 0), under a trace."""
    survival = pool.survival(utilization, TimeGrid(grid.step_s, 2 * grid.size))
    # thinning a stream weakens its excess of dispersion in proportion, as in `_waits`
    share = 1.0 / (split * pool.servers * grid.step_s)
    rows = []
    for row, wait, rho in zip(survival, probability, utilization, strict=True):
        law = np.concatenate(([wait], wait * row))
        rows.append(shifted(law, share * shift.at(float(rho)), grid.size))
    changed = np.stack(rows)
    order = np.argsort(utilization)  # differences are interpolated: keep the law rising in load
    changed[order] = np.maximum.accumulate(changed[order], axis=0)
    wait = changed[:, 0]
    return wait, changed[:, 1:] / np.maximum(wait, 1e-300)[:, None]


def _burst_ratio(pool: PoolWait, utilization: Array, arrival_scv: float) -> Array:
    """P(W > 0) over that of Poisson arrivals, shape (m,).

    Hayward's approximation: arrivals of peakedness z on c servers wait as often as Poisson
    arrivals on c/z.
    """
    peaks = peakedness(arrival_scv, pool.service, pool.share)
    load = pool.servers * utilization
    poisson = erlang_c(pool.servers, load)
    bursty = erlang_c(pool.servers / peaks, load / peaks)
    ratio = np.where(poisson > 1e-300, bursty / np.maximum(poisson, 1e-300), 1.0)
    return np.asarray(np.minimum(ratio, 1.0 / np.maximum(pool.probability(utilization), 1e-300)))


def _checked_service(service_s: ArrayLike, weights: ArrayLike) -> tuple[Array, Array]:
    """Return service times and their shares, scaled to sum to 1."""
    service = np.asarray(service_s, dtype=np.float64).ravel()
    masses = np.asarray(weights, dtype=np.float64).ravel()
    if service.size == 0 or service.shape != masses.shape:
        raise ValueError("service times and weights must be of one length, 1 or more")
    if np.any(~(service >= 0.0)) or not np.all(np.isfinite(service)):
        raise ValueError("service times must be finite and 0 s or more")
    if np.any(~(masses >= 0.0)) or not (masses.sum() > 0.0 and np.isfinite(masses.sum())):
        raise ValueError("weights must be finite and 0 or more, not all 0")
    masses = masses / masses.sum()
    if not float(masses @ service) > 0.0:
        raise ValueError("the mean service time must be above 0 s")
    return service, masses
