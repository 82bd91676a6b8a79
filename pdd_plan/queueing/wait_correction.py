"""The wait of M/G/c for those who wait, corrected by a queue that can be solved exactly.

The law of the wait is modelled as

    W = R + L + B (E1 + X)

R the least of c equilibrium residuals; L what short requests alone pile up, a geometric compound
of their residuals over the servers left to them; with probability `long_probability` (B) a long
request in front, E1 its residual over c, and X a geometric compound of residuals of all requests
over c. One server gives the Pollaczek-Khinchine law exactly, and equal shares give the classic
approximation with residuals [1]_. With many servers and uneven requests that one is far too slow:
other servers go on with short requests while a long one runs.

The two free numbers, and what is still missing after that, come from M/H2/c with the same three
moments, solved exactly: the family is written down for its two phases, `long_probability` follows
from its exact mean, and the quotient of its exact quantiles to those of the family is carried over
to the real service distribution. Above 32 servers the corrections are those of 32 servers at the
utilization where (1 - u) sqrt(c) is the same, the scaling of many-server queues [2]_.

References
----------
.. [1] H. C. Tijms, M. H. van Hoorn and A. Federgruen, "Approximations for the steady-state
   probabilities in the M/G/c queue", Advances in Applied Probability 13 (1981) 186-206.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pdd_plan.queueing.erlang import erlang_c
from pdd_plan.queueing.sharing_states import sharing_states
from pdd_plan.queueing.two_phase import TwoPhase, TwoPhaseWait, solve

Array = NDArray[np.float64]

# utilizations at which the exact queue is solved; between them the corrections are interpolated
_NODES = np.array([0.05, 0.2, 0.35, 0.5, 0.62, 0.72, 0.8, 0.86, 0.91, 0.95, 0.98, 0.995])
# levels x = -ln P(W > t | W > 0) at which waits are compared
LARGEST_EXACT = 32
LEVELS = np.concatenate((np.geomspace(0.004, 1.0, 29), np.linspace(1.2, 14.0, 33)))


@dataclass(frozen=True)
class Correction:
    """What M/H2/c says about one number of servers, by utilization.

    Attributes
    ----------
    long_load : float
        Share of the work that is in long requests [1].
    log_probability : ndarray, shape (m,)
        ln of P(W > 0) over that for exponential service.
    free_servers : ndarray, shape (m,)
        Mean servers left to short requests [1].
    local_ratio : ndarray, shape (m,)
        Utilization of those by short requests, the ratio of their geometric compound [1].
    long_probability : ndarray, shape (m,)
        Probability that a long request is in front [1].
    log_exact_wait : ndarray, shape (m, levels)
        ln of the exact quantiles of the wait given W > 0, in mean service times, at `LEVELS`.
    log_family_wait : ndarray, shape (m, levels)
        The same for the family.
    """

    long_load: float
    log_probability: Array
    free_servers: Array
    local_ratio: Array
    long_probability: Array
    log_exact_wait: Array
    log_family_wait: Array


def correction(
    servers: int,
    utilization: Array,
    second: float,
    third: float,
    connection_share: float | None = None,
) -> Correction:
    """Return the corrections at any utilizations, interpolated between the nodes.

    Parameters
    ----------
    servers : int
        Number of servers c, 2 or more.
    utilization : ndarray, shape (m,)
        Utilizations in [0, 1).
    second, third : float
        Moments of the service time over powers of its mean; `second` above 2.
    connection_share : float, optional
        If given, the servers are the connections of a shared line of which each can use this
        share [1]: they are faster while some are idle.
    """
    table = _node_table(servers, second, third, connection_share)
    position = np.interp(utilization, _NODES, np.arange(_NODES.size))
    left = np.minimum(position.astype(np.intp), _NODES.size - 2)
    part = position - left

    def between(values: Array) -> Array:
        weight = part if values.ndim == 1 else part[:, None]
        return np.asarray((1.0 - weight) * values[left] + weight * values[left + 1])

    # quantiles scale as 1 / (1 - utilization): interpolate what is left
    drain, scale = np.log1p(-_NODES)[:, None], np.log1p(-utilization)[:, None]
    return Correction(
        long_load=table.long_load,
        log_probability=between(table.log_probability),
        free_servers=between(table.free_servers),
        local_ratio=between(table.local_ratio),
        long_probability=between(table.long_probability),
        log_exact_wait=between(table.log_exact_wait + drain) - scale,
        log_family_wait=between(table.log_family_wait + drain) - scale,
    )


def exponential_wait(
    servers: int, utilization: Array, connection_share: float | None = None
) -> Array:
    """P(W > 0) for exponential service: Erlang C, or a shared line's pool of connections.

    Parameters
    ----------
    servers : int
        Servers or connections.
    utilization : ndarray, shape (m,)
        Offered work over what all of them together can do [1].
    connection_share : float, optional
        Largest share of the line that one connection can use [1].

    Returns
    -------
    ndarray, shape (m,)
        Probability [1].
    """
    if connection_share is None:
        return erlang_c(servers, servers * utilization)
    usable = min(servers * connection_share, 1.0)
    states = [sharing_states(float(u) * usable, connection_share, servers) for u in utilization]
    return np.array([state.wait_probability for state in states])


@lru_cache(maxsize=512)
def _node_table(
    servers: int, second: float, third: float, connection_share: float | None
) -> Correction:
    """Return the corrections at the nodes."""
    service = TwoPhase.from_moments(second, third)
    if servers > LARGEST_EXACT:
        return _scaled_up(servers, service, second, third, connection_share)
    speeds = None
    if connection_share is not None:
        speeds = np.minimum(connection_share, 1.0 / np.arange(1.0, servers + 1.0))
        speeds = speeds / speeds[-1]
    exact = solve(servers, _NODES, service, speeds)
    times, survival = exact.survival()
    free, local = _free_servers(servers, service, exact)
    long = _long_probability(servers, service, exact, free, local)
    family = _family_survival(servers, service, free, local, long, times)
    return Correction(
        long_load=service.long_share / service.long_rate,
        log_probability=np.log(
            exact.probability / exponential_wait(servers, _NODES, connection_share)
        ),
        free_servers=free,
        local_ratio=local,
        long_probability=long,
        log_exact_wait=_log_quantiles(times, survival),
        log_family_wait=_log_quantiles(times, family),
    )


def _scaled_up(
    servers: int, service: TwoPhase, second: float, third: float, connection_share: float | None
) -> Correction:
    """Return the corrections for more servers than are solved exactly, at the nodes."""
    growth = np.sqrt(servers / LARGEST_EXACT)
    alike = np.maximum(1.0 - (1.0 - _NODES) * growth, _NODES[0])
    if connection_share is not None:
        connection_share = min(connection_share * servers / LARGEST_EXACT, 1.0)
    base = correction(LARGEST_EXACT, alike, second, third, connection_share)
    local = 1.0 - (1.0 - base.local_ratio) / growth
    free = servers * _NODES * (1.0 - base.long_load) / local
    longest = 100.0 * second / (servers * (1.0 - _NODES))
    times = np.geomspace(1e-4 / servers, longest, 200).T
    family = _family_survival(servers, service, free, local, base.long_probability, times)
    log_family = _log_quantiles(times, family)
    return Correction(
        long_load=base.long_load,
        log_probability=base.log_probability,
        free_servers=free,
        local_ratio=local,
        long_probability=base.long_probability,
        log_exact_wait=log_family + base.log_exact_wait - base.log_family_wait,
        log_family_wait=log_family,
    )


def _free_servers(servers: int, service: TwoPhase, exact: TwoPhaseWait) -> tuple[Array, Array]:
    """Return the servers left to short requests and their utilization, shape (m,).

    With j long requests in service the short ones have c - j servers and the local utilization
    u = a / (c - j), a their load; c - j is averaged over the states where u < 1, weighted by
    (1 - u).
    """
    long = np.arange(servers + 1, dtype=np.float64)
    load = servers * _NODES * (1.0 - service.long_share / service.long_rate)
    left = servers - long
    weight = exact.start * np.maximum(left - load[:, None], 0.0) / np.maximum(left, 1.0)
    free = (weight @ left) / weight.sum(axis=1)
    return free, load / free


def _long_probability(
    servers: int, service: TwoPhase, exact: TwoPhaseWait, free: Array, local: Array
) -> Array:
    """Probability of a long request in front that gives the family the exact mean."""
    residual_long = service.long_share / service.long_rate
    slow, fast = servers * service.long_rate, servers * service.short_rate
    residual = residual_long / slow + (1.0 - residual_long) / fast
    weights, rates = _least_residual(servers, service)
    short_part = float(weights @ (1.0 / rates)) + local / (1.0 - local) / (
        free * service.short_rate
    )
    long_part = 1.0 / slow + _NODES / (1.0 - _NODES) * residual
    return np.clip((exact.mean() - short_part) / long_part, 0.0, 1.0)


def _least_residual(servers: int, service: TwoPhase) -> tuple[Array, Array]:
    """Weights and rates of the least of c residuals, a binomial mixture of exponentials."""
    from scipy.special import gammaln

    residual_long = service.long_share / service.long_rate
    count = np.arange(servers + 1, dtype=np.float64)
    log_choose = gammaln(servers + 1.0) - gammaln(count + 1.0) - gammaln(servers - count + 1.0)
    log_weight = count * np.log(residual_long) + (servers - count) * np.log1p(-residual_long)
    rates = count * service.long_rate + (servers - count) * service.short_rate
    return np.exp(log_choose + log_weight), rates


def _family_survival(
    servers: int, service: TwoPhase, free: Array, local: Array, long: Array, times: Array
) -> Array:
    """P(W > t | W > 0) of the family for two phases, by partial fractions, shape of `times`."""
    residual_long = service.long_share / service.long_rate
    slow, fast = servers * service.long_rate, servers * service.short_rate
    half = 0.5 * (slow + fast - _NODES * (residual_long * slow + (1.0 - residual_long) * fast))
    drained = slow * fast * (1.0 - _NODES)
    high = half + np.sqrt(half**2 - drained)
    # transform of L + B (E1 + X) at -s: poles of L, of E1, and the two of X
    hop = free * service.short_rate
    poles = np.stack((hop * (1.0 - local), np.full_like(local, slow), drained / high, high))
    poles = poles * (1.0 + 1e-5 * np.arange(1.0, 5.0)[:, None])  # keep them apart
    weights, rates = _least_residual(servers, service)
    decay = np.exp(-rates * times[:, :, None])
    survival = ((1.0 - local) * (1.0 - long))[:, None] * (decay @ weights)
    for index, pole in enumerate(poles):
        share = _residue(index, poles, slow, fast, hop, long)
        gap = np.abs(pole[:, None, None] - rates)
        least = np.minimum(pole[:, None, None], rates)
        span = gap * times[:, :, None]
        late = np.where(span > 1e-9, -np.expm1(-span) / np.maximum(gap, 1e-300), times[:, :, None])
        late = pole[:, None, None] * np.exp(-least * times[:, :, None]) * late
        survival = survival + share[:, None] * (np.exp(-pole[:, None] * times) + late @ weights)
    return np.clip(survival, 0.0, 1.0)


def _residue(index: int, poles: Array, slow: float, fast: float, hop: Array, long: Array) -> Array:
    """Mass of the exponential of one pole in the law of L + B (E1 + X)."""
    at = poles[index]
    short_pole, slow_pole, low, high = poles
    # L: (1 - local)(hop - s)/(short_pole - s); E1: slow/(slow - s); X: its value at s = 0 is 1
    short = (short_pole / hop) * (hop - at)
    compound = (low * high / (slow * fast)) * (slow - at) * (fast - at)
    one = 1.0 if index == 0 else short_pole - at
    two = 1.0 if index == 1 else slow_pole - at
    three = 1.0 if index == 2 else low - at
    four = 1.0 if index == 3 else high - at
    mass = long * short * slow_pole * compound / (one * two * three * four)
    if index == 0:
        mass = mass + (1.0 - long) * short
    return np.asarray(mass / at)


def _log_quantiles(times: Array, survival: Array) -> Array:
    """Return ln of the times at which the survival functions are exp(-LEVELS)."""
    result = np.empty((times.shape[0], LEVELS.size))
    for row, (time, values) in enumerate(zip(times, survival, strict=True)):
        level = np.maximum.accumulate(-np.log(np.maximum(values, 1e-300)))
        log_level = np.log(np.maximum(level, 1e-12))
        result[row] = np.interp(np.log(LEVELS), log_level, np.log(time))
    return result
