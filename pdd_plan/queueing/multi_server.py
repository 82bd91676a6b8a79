"""Waiting time of a FCFS queue with several servers and any service time, M/G/c.

The service time is a weighted sample, so its whole shape enters, not two moments.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdd_plan.errors import UnstableQueueError
from pdd_plan.queueing.erlang import erlang_c
from pdd_plan.queueing.grid import TimeGrid, excess_integrals, residual_masses

Array = NDArray[np.float64]
Dispatch = Literal["shared", "random", "prefix_affinity"]
_TILT = 1e-11  # r^(2 size): how far the FFT's wrap-around is damped


def waiting_time_pmf(
    service_s: ArrayLike,
    weights: ArrayLike,
    servers: int,
    arrival_rate_per_s: float,
    grid: TimeGrid,
    arrival_scv: float = 1.0,
    dispatch: Dispatch = "shared",
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
    dispatch : {"shared", "random", "prefix_affinity"}
        One shared queue, or a split at random (or by prefix) to c queues of their own.

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
    utilization = np.array([arrival_rate_per_s * float(share @ service) / servers])
    wait, conditional = _waits(service, share, servers, utilization, grid, arrival_scv, dispatch)
    pmf = np.asarray(wait[0] * conditional[0])
    pmf[0] += 1.0 - wait[0]
    return pmf


def waiting_time_cdf_table(
    service_s: ArrayLike,
    weights: ArrayLike,
    servers: int,
    utilizations: ArrayLike,
    grid: TimeGrid,
    arrival_scv: float = 1.0,
    dispatch: Dispatch = "shared",
) -> Array:
    """Distribution function of the waiting time for many utilizations at once.

    Parameters
    ----------
    service_s, weights, servers, grid, arrival_scv, dispatch
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
    wait, conditional = _waits(service, share, servers, loads, grid, arrival_scv, dispatch)
    cdf = np.cumsum(conditional, axis=1)
    cdf -= 0.5 * conditional
    cdf[:, 0] = 0.0
    return np.asarray(1.0 - wait[:, None] * (1.0 - np.minimum(cdf, 1.0)))


def wait_probability(
    service_s: ArrayLike, weights: ArrayLike, servers: int, utilizations: ArrayLike
) -> Array:
    """P(W > 0) of M/G/c [1], shape of `utilizations`."""
    _checked_service(service_s, weights)
    loads = np.asarray(utilizations, dtype=np.float64)
    return erlang_c(servers, loads * servers)


def _waits(
    service: Array,
    share: Array,
    servers: int,
    utilization: Array,
    grid: TimeGrid,
    arrival_scv: float,
    dispatch: Dispatch,
) -> tuple[Array, Array]:
    """Return P(W > 0), shape (m,), and the law of W given W > 0, shape (m, size)."""
    if servers < 1 or servers != int(servers):
        raise ValueError(f"a pool needs a whole number of servers, 1 or more, not {servers}")
    if not arrival_scv >= 0.0:
        raise ValueError(f"arrival_scv must be 0 or more, not {arrival_scv}")
    if np.any(~(utilization >= 0.0)):
        raise ValueError("a utilization must be 0 or more")
    if np.any(utilization >= 1.0):
        raise UnstableQueueError(
            f"utilization {utilization.max():.4g} of {servers} servers: the queue grows for ever"
        )
    if dispatch not in ("shared", "random", "prefix_affinity"):
        raise ValueError(f"dispatch must be shared, random or prefix_affinity, not {dispatch!r}")
    if dispatch != "shared":  # a random split of a renewal stream: 1 + (c_a² - 1)/c (QNA)
        arrival_scv = 1.0 + (arrival_scv - 1.0) / servers
        servers = 1
    mean = float(share @ service)
    service_scv = float(share @ service**2) / mean**2 - 1.0
    stretch = (arrival_scv + service_scv) / (1.0 + service_scv)
    if stretch == 0.0:
        zeros = np.zeros((utilization.size, grid.size))
        zeros[:, 0] = 1.0
        return np.zeros(utilization.size), zeros
    wait = erlang_c(servers, utilization * servers)
    first = _first_departure_masses(service * stretch, share, servers, grid)
    residual = residual_masses(service * (stretch / servers), share, grid)
    return wait, _compound(first, residual, utilization)


def _first_departure_masses(service: Array, share: Array, servers: int, grid: TimeGrid) -> Array:
    """Law of the least of c equilibrium residuals of the service time, mean kept."""
    half = 0.5 * grid.step_s * np.arange(2 * grid.size + 1, dtype=np.float64)
    excess, _ = excess_integrals(service, share, half)
    survival = (excess / float(share @ service)) ** servers
    left, middle, right = survival[0:-2:2], survival[1::2], survival[2::2]
    cells = (left + 4.0 * middle + right) / 6.0  # Simpson: ∫ survival over a cell / h
    pmf = np.empty(grid.size)
    pmf[0] = 1.0 - cells[0]
    pmf[1:] = cells[:-1] - cells[1:]
    return np.maximum(pmf, 0.0)


def _compound(first: Array, step: Array, ratio: Array) -> Array:
    """Law of first + a geometric(ratio) number of steps, for each ratio.

    The FFT wraps round what lies beyond its end; damping the masses by r^k beforehand
    (exponential tilting) leaves of that less than 1e-11.

    References
    ----------
    R. Grübel and R. Hermesmeier, "Computation of compound distributions I: aliasing errors and
    exponential tilting", ASTIN Bulletin 29 (1999) 197-214.
    """
    size = first.size
    length = 1 << (2 * size - 1).bit_length()
    damping = np.exp(np.log(_TILT) / length * np.arange(size))
    start = np.fft.rfft(first * damping, length)
    hop = np.fft.rfft(step * damping, length)
    rho = ratio[:, None]
    law = np.fft.irfft(start * ((1.0 - rho) / (1.0 - rho * hop)), length, axis=1)[:, :size]
    return np.asarray(np.maximum(law / damping, 0.0))


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
