"""The wait for a connection of a bounded pool on a shared line (limited processor sharing).

While all K connections are in use, the line works like K servers of 1/K (or of the cap per
connection, if that is less) of its speed with one queue. So the wait of those who wait is that of
M/G/K with stretched sizes, and the probability of a wait comes from the same exactly solved
two-phase queue with faster servers below K, see `wait_correction`. One connection is M/G/1 FCFS;
exponential sizes are exact for every K.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdd_plan.queueing.grid import TimeGrid, masses_of_survival
from pdd_plan.queueing.pool_wait import PoolWait
from pdd_plan.queueing.processor_sharing import checked_sizes
from pdd_plan.queueing.sharing_states import sharing_states

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ConnectionPool:
    """Steady state of a pool of connections.

    Attributes
    ----------
    wait_probability : float
        Share of transfers that wait for a connection [1].
    mean_wait_s : float
        Mean wait over all transfers [s].
    mean_transfer_s : float
        Mean time from connection to delivery [s].
    mean_in_use : float
        Mean number of connections in use.
    """

    wait_probability: float
    mean_wait_s: float
    mean_transfer_s: float
    mean_in_use: float


def connection_wait_pmf(
    alone_s: ArrayLike,
    weights: ArrayLike,
    utilization: float,
    connections: int,
    grid: TimeGrid,
    connection_share: float = 1.0,
) -> Array:
    """Law of the wait for a connection, the mass at 0 included in the first entry.

    Parameters
    ----------
    alone_s, weights
        Sizes as seconds alone on the whole line [s], and their shares [1].
    utilization : float
        Offered work over the capacity of the line [1].
    connections : int
        Connections in the pool K, 1 or more.
    grid : TimeGrid
        Grid of the result.
    connection_share : float
        Largest share of the line that one transfer can use [1], in (0, 1].

    Returns
    -------
    ndarray, shape (grid.size,)
        Masses; 1 - sum is P(wait > end of the grid).

    Raises
    ------
    UnstableQueueError
        If the line or the connections together cannot carry the load.
    ValueError
        If an argument is out of its range.
    """
    pool, unit, load = _pool(alone_s, weights, utilization, connections, connection_share)
    scaled = TimeGrid(grid.step_s / unit, grid.size)
    survival = pool.probability(load)[0] * pool.survival(load, scaled)[0]
    return masses_of_survival(survival)


def connection_pool(
    alone_s: ArrayLike,
    weights: ArrayLike,
    utilization: float,
    connections: int,
    connection_share: float = 1.0,
) -> ConnectionPool:
    """Steady state of a pool of connections; parameters as for `connection_wait_pmf`."""
    pool, unit, load = _pool(alone_s, weights, utilization, connections, connection_share)
    size, share = checked_sizes(alone_s, weights)
    state = sharing_states(utilization, connection_share, connections)
    probability = float(pool.probability(load)[0])
    scale = pool.second / (2.0 * connections * (1.0 - float(load[0])))
    grid = TimeGrid((scale + pool.second / connections) * 40.0 / 8191, 8192)
    mean = float(pool.survival(load, grid)[0].sum() + 0.5) * grid.step_s
    in_transfer = state.mean_sharing / utilization if utilization > 0.0 else 1.0 / connection_share
    return ConnectionPool(
        wait_probability=probability,
        mean_wait_s=probability * mean * unit,
        mean_transfer_s=float(share @ size) * in_transfer,
        mean_in_use=state.mean_sharing,
    )


def _pool(
    alone_s: ArrayLike,
    weights: ArrayLike,
    utilization: float,
    connections: int,
    connection_share: float,
) -> tuple[PoolWait, float, Array]:
    """Return the queue of K servers, its mean service time [s] and its utilization."""
    size, share = checked_sizes(alone_s, weights)
    sharing_states(utilization, connection_share, connections)  # refuses what cannot work
    speed = min(connection_share, 1.0 / connections)
    mean = float(share @ size)
    pool = PoolWait(size / mean, share, connections, connection_share)
    return pool, mean / speed, np.array([utilization / (connections * speed)])
