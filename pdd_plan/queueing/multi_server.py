"""Waiting time of a FCFS queue with several servers and any service time, M/G/c.

The service time is a weighted sample, so its whole shape enters, not two moments.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdd_plan.errors import UnstableQueueError
from pdd_plan.queueing.erlang import erlang_c
from pdd_plan.queueing.grid import (
    TimeGrid,
    excess_integrals,
    masses_of_survival,
    residual_masses,
)
from pdd_plan.queueing.wait_correction import LEVELS, Correction, correction

Array = NDArray[np.float64]
Dispatch = Literal["shared", "random", "prefix_affinity"]
_CARRIED = 0.7  # how much of the quotient exact / family is carried over, see `docs`


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
    return masses_of_survival(wait[0] * conditional[0])


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
    return _Pool(service / float(share @ service), share, servers).probability(loads)


def _check_load(servers: int, utilization: Array) -> None:
    """Refuse a pool that is no pool or cannot keep up."""
    if servers < 1 or servers != int(servers):
        raise ValueError(f"a pool needs a whole number of servers, 1 or more, not {servers}")
    if np.any(~(utilization >= 0.0)):
        raise ValueError("a utilization must be 0 or more")
    if np.any(utilization >= 1.0):
        raise UnstableQueueError(
            f"utilization {utilization.max():.4g} of {servers} servers: the queue grows for ever"
        )


def _waits(
    service: Array,
    share: Array,
    servers: int,
    utilization: Array,
    grid: TimeGrid,
    arrival_scv: float,
    dispatch: Dispatch,
) -> tuple[Array, Array]:
    """Return P(W > 0), shape (m,), and P(W > (k + 1/2) h | W > 0), shape (m, size)."""
    _check_load(servers, utilization)
    if not arrival_scv >= 0.0:
        raise ValueError(f"arrival_scv must be 0 or more, not {arrival_scv}")
    if dispatch not in ("shared", "random", "prefix_affinity"):
        raise ValueError(f"dispatch must be shared, random or prefix_affinity, not {dispatch!r}")
    if dispatch != "shared":  # a random split of a renewal stream: 1 + (c_a² - 1)/c (QNA)
        arrival_scv = 1.0 + (arrival_scv - 1.0) / servers
        servers = 1
    mean = float(share @ service)
    service_scv = max(float(share @ service**2) / mean**2 - 1.0, 0.0)
    stretch = (arrival_scv + service_scv) / (1.0 + service_scv)
    if stretch == 0.0:
        return np.zeros(utilization.size), np.zeros((utilization.size, grid.size))
    pool = _Pool(service / mean, share, servers)
    scaled = TimeGrid(grid.step_s / (mean * stretch), grid.size)
    return pool.probability(utilization), pool.survival(utilization, scaled)


class _Pool:
    """M/G/c with a mean service time of 1."""

    def __init__(self, service: Array, share: Array, servers: int) -> None:
        self.service, self.share, self.servers = service, share, servers
        self.second, self.third = float(share @ service**2), float(share @ service**3)
        # towards the exponential the correction fades out: there it is 0, and its moments
        # would no longer fix the two phases
        self.fade = min(max((self.second - 2.0) / 0.1, 0.0), 1.0) if servers > 1 else 0.0
        if self.fade > 0.0:
            square = 0.5 * max(self.second, 2.1)
            ratio = self.third / 6.0 / (0.5 * self.second) ** 2
            self.moments = (2.0 * square, 6.0 * ratio * square**2)

    def probability(self, utilization: Array) -> Array:
        """P(W > 0), shape of `utilization`."""
        wait = erlang_c(self.servers, utilization * self.servers)
        if self.fade > 0.0:
            exact = correction(self.servers, utilization, *self.moments)
            wait = wait * np.exp(self.fade * exact.log_probability)
        return np.minimum(wait, 1.0)

    def survival(self, utilization: Array, grid: TimeGrid) -> Array:
        """P(W > (k + 1/2) h | W > 0), shape (m, size)."""
        utilization = np.maximum(utilization, 1e-9)
        if self.fade == 0.0:
            first = _first_departure_masses(self.service, self.share, self.servers, grid)
            residual = residual_masses(self.service / self.servers, self.share, grid)
            rho = utilization[:, None]
            wait = _Transforms(grid.size)
            law = wait.masses(wait.of(first) * (1.0 - rho) / (1.0 - rho * wait.of(residual)))
            return np.maximum(1.0 - np.cumsum(law, axis=1), 0.0)
        exact = correction(self.servers, utilization, *self.moments)
        wide = TimeGrid(grid.step_s, 2 * grid.size)
        law = self._family(utilization, exact, wide)
        level = -np.log(np.maximum(1.0 - np.cumsum(law, axis=1), 1e-12))
        level = np.maximum.accumulate(level, axis=1)
        result = np.empty((utilization.size, grid.size))
        for row in range(utilization.size):
            result[row] = _warped(level[row], exact, row, wide, grid.size, self.fade)
        return result

    def _family(self, utilization: Array, exact: Correction, grid: TimeGrid) -> Array:
        """Law of R + L + B (E1 + X), see `wait_correction`, shape (m, size)."""
        service, share, servers = self.service, self.share, self.servers
        long_load = exact.long_load
        short, long = _split(service, share, long_load)
        wait = _Transforms(grid.size)
        first = wait.of(_first_departure_masses(service, share, servers, grid))
        short_hop = wait.of(residual_masses(service / servers, short, grid))
        long_hop = wait.of(residual_masses(service / servers, long, grid))
        hop = (1.0 - long_load) * short_hop + long_load * long_hop
        rho = utilization[:, None]
        plain_local = rho * (1.0 - long_load)
        plain_long = rho * long_load / (1.0 - plain_local)
        local = plain_local + self.fade * (exact.local_ratio[:, None] - plain_local)
        ahead = plain_long + self.fade * (exact.long_probability[:, None] - plain_long)
        behind = (1.0 - ahead) + ahead * long_hop * (1.0 - rho) / (1.0 - rho * hop)
        return wait.masses(first * (1.0 - local) / (1.0 - local * short_hop) * behind)


def _warped(
    level: Array, exact: Correction, row: int, grid: TimeGrid, size: int, fade: float
) -> Array:
    """Survival function of the family with its quantiles corrected, shape (size,)."""
    times = grid.step_s * np.arange(0.5, grid.size)
    known = LEVELS[level[-1] > LEVELS]
    family = np.interp(known, np.concatenate(([0.0], level)), np.concatenate(([0.0], times)))
    log_family = np.log(np.maximum(family, 1e-300))
    own = log_family - exact.log_family_wait[row, : known.size]
    change = exact.log_exact_wait[row, : known.size] + _CARRIED * own - log_family
    corrected = np.maximum.accumulate(family * np.exp(fade * change))
    far = 1e3 * max(grid.end_s, 1.0)
    tail = corrected[-1] if known.size else 0.0
    at = np.interp(
        grid.step_s * np.arange(0.5, size),
        np.concatenate(([0.0], corrected, [tail + far])),
        np.concatenate(([0.0], family, [(family[-1] if known.size else 0.0) + far])),
    )
    return np.exp(-np.interp(at, np.concatenate(([0.0], times)), np.concatenate(([0.0], level))))


def _split(service: Array, share: Array, long_load: float) -> tuple[Array, Array]:
    """Split the shares into short and long requests, the long ones with the given load."""
    order = np.argsort(-service, kind="stable")
    work = (service * share)[order]
    before = np.concatenate(([0.0], np.cumsum(work)[:-1]))
    part = np.clip((long_load * work.sum() - before) / np.maximum(work, 1e-300), 0.0, 1.0)
    long = np.empty_like(share)
    long[order] = share[order] * part
    return share - long, long


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


class _Transforms:
    """Discrete transforms for compounds, whose laws have no end.

    The FFT wraps round what lies beyond its end. Damping the masses by r^k beforehand
    (exponential tilting) [1]_ with r^size = 1e-8 leaves less than 1e-8 of that, and as much
    rounding; so no padding is needed.

    References
    ----------
    .. [1] R. Grübel and R. Hermesmeier, "Computation of compound distributions I: aliasing
       errors and exponential tilting", ASTIN Bulletin 29 (1999) 197-214.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.length = 1 << (size - 1).bit_length()
        self.damping = np.exp(np.log(1e-8) / self.length * np.arange(size))

    def of(self, masses: Array) -> NDArray[np.complex128]:
        """Return the transform of masses on the grid, shape (length / 2 + 1,)."""
        return np.fft.rfft(masses * self.damping, self.length)

    def masses(self, transform: NDArray[np.complex128]) -> Array:
        """Return the masses of transforms, shape (..., size)."""
        law = np.fft.irfft(transform, self.length, axis=-1)[..., : self.size]
        return np.asarray(np.maximum(law / self.damping, 0.0))


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
