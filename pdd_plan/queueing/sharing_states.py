"""How many transfers share a line, with a cap on each and a pool of connections."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdd_plan.errors import UnstableQueueError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SharingStates:
    """Steady state of the number of transfers N on a line of capacity 1.

    Attributes
    ----------
    connection_share : float
        Largest share r of the line that one transfer can use [1].
    mean_sharing : float
        Mean number of transfers that share the line, E[min(N, K)].
    wait_probability : float
        P(N >= K), the share of transfers that wait for a connection [1].
    largest_delay : float
        Longest possible delay per second of size [1].
    mean_delay : float
        Mean delay of a transfer per second of size [1].
    delay_variance : float
        Variance of the delay of a tiny transfer per size squared, from its start [1].
    free_probability : float
        Share of transfers that meet nobody who slows them down on arrival [1].
    crossing_rate : float
        Rate at which such a transfer comes to be slowed down, over the arrival rate [1].
    """

    connection_share: float
    mean_sharing: float
    wait_probability: float
    largest_delay: float
    mean_delay: float
    delay_variance: float
    free_probability: float
    crossing_rate: float


def sharing_states(
    utilization: float, connection_share: float = 1.0, connections: int | None = None
) -> SharingStates:
    """Solve the birth-death chain of a shared line.

    Work arrives at rate rho and n transfers get min(n r, 1) of the line together, K at most at
    once. The chain is exact for any sizes without a pool (insensitivity of processor sharing,
    [1]_), and for exponential sizes with one.

    Parameters
    ----------
    utilization : float
        Offered work over the capacity of the line rho [1].
    connection_share : float
        Largest share r of the line that one transfer can use [1], in (0, 1].
    connections : int, optional
        Pool size K, 1 or more; no limit if absent.

    Returns
    -------
    SharingStates
        Steady state.

    Raises
    ------
    UnstableQueueError
        If rho >= min(K r, 1).
    ValueError
        If an argument is out of its range.

    References
    ----------
    .. [1] J. W. Cohen, "The multiple phase service network with generalized processor sharing",
       Acta Informatica 12 (1979) 245-284.
    """
    if not 0.0 < connection_share <= 1.0:
        raise ValueError(
            f"a connection's share of the line must be in (0, 1], not {connection_share}"
        )
    if connections is not None and connections < 1:
        raise ValueError(f"a pool needs 1 connection or more, not {connections}")
    if not utilization >= 0.0:
        raise ValueError("a utilization must be 0 or more")
    capacity = 1.0 if connections is None else min(connections * connection_share, 1.0)
    if utilization >= capacity:
        raise UnstableQueueError(
            f"line utilization {utilization:.4g} of {capacity:.4g} usable: transfers pile up"
        )
    uncapped = int(np.floor(1.0 / connection_share * (1.0 + 1e-12)))  # n up to here get r each
    last = uncapped if connections is None else connections
    states = np.arange(1.0, last + 1.0)
    rate = np.minimum(states * connection_share, 1.0)
    mass = np.concatenate(([1.0], np.cumprod(utilization / rate)))
    ratio = utilization / (1.0 if connections is None else float(rate[-1]))
    beyond = mass[-1] * ratio / (1.0 - ratio)
    total = mass.sum() + beyond
    mass, beyond = mass / total, beyond / total
    count = np.arange(last + 1.0)
    slowest = 1.0 / connection_share
    # seconds per second of size that a tiny transfer takes when it is n-th
    pace = np.concatenate((states / rate, [0.0]))
    if connections is not None:
        mean_sharing = float(mass @ count + beyond * connections)
        pace[-1] = pace[-2]
        first = float(mass @ pace + beyond * pace[-1])
        second = float(mass @ pace**2 + beyond * pace[-1] ** 2)
        wait = float(mass[-1] + beyond)
    else:
        # beyond `last` the masses are geometric and the pace of the n-th is n
        spread = ratio / (1.0 - ratio)
        mean_sharing = float(mass @ count + beyond * (last + 1.0 + spread))
        pace[-1] = max(last + 1.0, slowest)
        more = last + 2.0 + spread
        first = float(mass @ pace + beyond * more)
        second = float(mass @ pace**2 + beyond * (more**2 + spread * (1.0 + spread)))
        wait = 0.0
    arrival = np.minimum(uncapped, last + (connections is None))
    free = float(mass[: int(arrival)].sum())
    edge = float(mass[int(arrival) - 1])
    can_slow = connections is None or connections > uncapped
    return SharingStates(
        connection_share=connection_share,
        mean_sharing=mean_sharing,
        wait_probability=wait,
        largest_delay=np.inf if connections is None else float(pace[-1]) - slowest,
        mean_delay=max(mean_sharing / utilization - slowest, 0.0) if utilization > 0.0 else 0.0,
        delay_variance=max(second - first**2, 0.0),
        free_probability=free if can_slow else 1.0,
        crossing_rate=edge / free if can_slow and free > 0.0 else 0.0,
    )


def checked_sizes(alone_s: ArrayLike, weights: ArrayLike) -> tuple[Array, Array]:
    """Return sizes and their shares, scaled to sum to 1.

    Raises
    ------
    ValueError
        If a size is negative or not finite, all are 0, or the weights are no masses.
    """
    size = np.asarray(alone_s, dtype=np.float64).ravel()
    share = np.asarray(weights, dtype=np.float64).ravel()
    if size.size == 0 or size.shape != share.shape:
        raise ValueError("sizes and weights must be of one length, 1 or more")
    if np.any(~(size >= 0.0)) or not np.all(np.isfinite(size)):
        raise ValueError("transfer sizes must be finite and 0 s or more")
    if np.any(~(share >= 0.0)) or not (share.sum() > 0.0 and np.isfinite(share.sum())):
        raise ValueError("weights must be finite and 0 or more, not all 0")
    share = share / share.sum()
    if not float(share @ size) > 0.0:
        raise ValueError("the mean transfer size must be above 0 s")
    return size, share
