"""The M/D/c queue: exact probability and mean of the wait."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pdd_plan.errors import UnstableQueueError

Array = NDArray[np.float64]
_EXACT_TERMS = 256


def deterministic_wait(servers: int, utilization: float) -> tuple[float, float]:
    """Exact P(W > 0) and E[W] of M/D/c with service time 1.

    Over one service time the requests in the system change to max(N - c, 0) + A, A Poisson of
    mean c u. So N - c is a reflected random walk with steps A - c, and by Spitzer's identity
    [1]_, with S_k Poisson of mean k c u less k c,

        P(W = 0) = exp(-Σ P(S_k >= 0) / k),    E[queue] = Σ E[max(S_k, 0)] / k,

    the sums over k = 1, 2, ... The first 256 terms are summed, the rest, smooth in k, is
    integrated.

    Parameters
    ----------
    servers : int
        Number of servers c, 1 or more.
    utilization : float
        Utilization u, in [0, 1).

    Returns
    -------
    probability : float
        P(W > 0) [1].
    mean : float
        E[W] in service times.

    Raises
    ------
    UnstableQueueError
        If the utilization is 1 or more.

    References
    ----------
    .. [1] F. Spitzer, "A combinatorial lemma and its application to probability theory",
       Transactions of the AMS 82 (1956) 323-339; for M/D/c J. W. Cohen, The Single Server
       Queue, 2nd ed., 1982, and H. C. Tijms, A First Course in Stochastic Models, 2003,
       section 9.6.
    """
    if utilization >= 1.0:
        raise UnstableQueueError(f"utilization {utilization:.4g}: the queue grows for ever")
    if utilization == 0.0:
        return 0.0, 0.0
    positive, queue = _spitzer_sums(servers, utilization)
    return float(-np.expm1(-positive)), float(queue / (servers * utilization))


@lru_cache(maxsize=4096)
def _spitzer_sums(servers: int, utilization: float) -> tuple[float, float]:
    """Return Σ P(S_k >= 0)/k and Σ E[max(S_k, 0)]/k."""
    from scipy.special import gammainc

    def terms(k: Array) -> tuple[Array, Array]:
        full, mean = k * servers, k * servers * utilization
        reached = gammainc(full, mean)  # P(Poisson >= full)
        density = np.exp(full * np.log(mean) - mean - _log_factorial(full))
        excess = mean * reached - full * (reached - density)
        return reached / k, np.maximum(excess, 0.0) / k

    head = terms(np.arange(1.0, _EXACT_TERMS + 1.0))
    # the terms fall as exp(-k c I), I = u - 1 - ln u; 45 decades of e are enough
    last = _EXACT_TERMS + 0.5 + 45.0 / (servers * (utilization - 1.0 - np.log(utilization)))
    edges = np.linspace(np.log(_EXACT_TERMS + 0.5), np.log(last), 41)
    nodes, node_weights = np.polynomial.legendre.leggauss(8)
    half = 0.5 * np.diff(edges)[:, None]
    k = np.exp(edges[:-1, None] + half * (1.0 + nodes))
    tail = terms(k)
    measure = half * node_weights * k
    return (
        float(head[0].sum() + (tail[0] * measure).sum()),
        float(head[1].sum() + (tail[1] * measure).sum()),
    )


def _log_factorial(n: Array) -> Array:
    """Ln n! by the gamma function."""
    from scipy.special import gammaln

    return np.asarray(gammaln(n + 1.0))
