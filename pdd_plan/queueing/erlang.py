"""Erlang's loss and delay formulas.

Both are computed without factorials, so they hold for thousands of servers. Loads are in
erlangs (arrival rate times mean holding time), a pure number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdd_plan.errors import UnstableQueueError

Array = NDArray[np.float64]


def erlang_b(servers: ArrayLike, offered_load: ArrayLike) -> Array:
    """Probability that an arrival finds all servers busy and is lost, M/G/c/c.

    Uses the recursion B(0) = 1, B(n) = a B(n-1) / (n + a B(n-1)) [1]_, stable for every load.
    Insensitive to the distribution of the holding time beyond its mean.

    Parameters
    ----------
    servers : array_like of int
        Number of servers, 0 or more; broadcast against `offered_load`.
    offered_load : array_like
        Offered load in erlangs, 0 or more; may exceed `servers`.

    Returns
    -------
    ndarray
        Loss probability [1], of the broadcast shape.

    Raises
    ------
    ValueError
        If a server count is negative or no integer, or a load is negative or not finite.

    References
    ----------
    .. [1] R. B. Cooper, Introduction to Queueing Theory, 2nd ed., 1981, section 3.4.
    """
    counts, loads = _checked(servers, offered_load)
    if np.any(counts != np.round(counts)):
        raise ValueError("erlang_b needs whole numbers of servers; see erlang_b_continuous")
    blocking = np.ones(counts.shape)
    result = np.ones(counts.shape)
    smallest, largest = (int(counts.min()), int(counts.max())) if counts.size else (0, 0)
    for n in range(1, largest + 1):
        work = loads * blocking
        blocking = work / (n + work)
        if n >= smallest:
            result = np.where(counts == n, blocking, result)
    return result


def erlang_b_continuous(servers: ArrayLike, offered_load: ArrayLike) -> Array:
    """Erlang's loss formula continued to fractional server counts.

    The continuation 1/B(x, a) = a ∫ exp(-a t) (1 + t)^x dt [1]_ equals
    a^x exp(-a) / Γ(x + 1, a); at whole numbers it is `erlang_b`.

    Parameters
    ----------
    servers : array_like
        Number of servers, 0 or more, fractions allowed.
    offered_load : array_like
        Offered load in erlangs, 0 or more.

    Returns
    -------
    ndarray
        Loss probability [1], of the broadcast shape.

    Raises
    ------
    ValueError
        If an argument is negative or not finite.

    References
    ----------
    .. [1] A. A. Jagers and E. A. van Doorn, "On the continued Erlang loss function",
       Operations Research Letters 5 (1986) 43-46.
    """
    from scipy.special import gammaincc, gammaln

    counts, loads = _checked(servers, offered_load)
    fraction = counts - np.floor(counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_term = counts * np.log(loads) - loads - gammaln(counts + 1.0)
        tail = gammaincc(counts + 1.0, loads)
        direct = np.exp(log_term) / tail
    direct = np.where(loads == 0.0, np.where(counts == 0.0, 1.0, 0.0), direct)
    hopeless = tail < 1e-280  # load far above the servers: the quotient would be 0 / 0
    if np.any(hopeless):
        # 1/B satisfies 1/B(x + 1) = 1 + (x + 1) / (a B(x)); B -> 1 as a >> x, so start there
        start = loads / (loads + fraction)
        for n in range(1, int(np.floor(counts[hopeless]).max()) + 1):
            work = loads * start
            start = np.where(n <= counts, work / (fraction + n + work), start)
        direct = np.where(hopeless, start, direct)
    return direct


def erlang_c(servers: ArrayLike, offered_load: ArrayLike) -> Array:
    """Probability that an arrival has to wait, M/M/c.

    C = B / (1 - rho (1 - B)) with rho = a / c and Erlang's loss probability B [1]_. Exact for
    exponential service and Poisson arrivals; for other service it is an approximation, low for
    service more variable than exponential.

    Parameters
    ----------
    servers : array_like
        Number of servers, above 0. Fractions are allowed (continued formula).
    offered_load : array_like
        Offered load in erlangs, below `servers`.

    Returns
    -------
    ndarray
        P(wait > 0) [1], of the broadcast shape.

    Raises
    ------
    UnstableQueueError
        If a load reaches the number of servers.
    ValueError
        If an argument is negative or not finite.

    References
    ----------
    .. [1] R. B. Cooper, Introduction to Queueing Theory, 2nd ed., 1981, section 3.5.
    """
    counts, loads = _checked(servers, offered_load)
    if np.any(loads >= counts):
        worst = int(np.argmax(loads - counts))
        raise UnstableQueueError(
            f"offered load {loads.flat[worst]:.6g} erlangs on {counts.flat[worst]:.6g} servers: "
            "the queue grows without limit"
        )
    loss = erlang_b_continuous(counts, loads)
    utilization = loads / counts
    return np.asarray(loss / (1.0 - utilization * (1.0 - loss)))


def _checked(servers: ArrayLike, offered_load: ArrayLike) -> tuple[Array, Array]:
    """Return both arguments as float arrays of one shape."""
    counts, loads = np.broadcast_arrays(
        np.asarray(servers, dtype=np.float64), np.asarray(offered_load, dtype=np.float64)
    )
    if np.any(~(counts >= 0.0)) or np.any(np.isinf(counts)):
        raise ValueError("the number of servers must be finite and 0 or more")
    if np.any(~(loads >= 0.0)) or np.any(np.isinf(loads)):
        raise ValueError("the offered load must be finite and 0 or more erlangs")
    return counts, loads
