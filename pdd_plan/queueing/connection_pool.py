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
from pdd_plan.queueing.sharing_states import checked_sizes, sharing_states

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
    size, share = checked_sizes(alone_s, weights)
    queue = ConnectionQueue(size, share, utilization, connections, connection_share)
    return masses_of_survival(queue.probability * queue.survival(grid))


def connection_pool(
    alone_s: ArrayLike,
    weights: ArrayLike,
    utilization: float,
    connections: int,
    connection_share: float = 1.0,
) -> ConnectionPool:
    """Steady state of a pool of connections; parameters as for `connection_wait_pmf`."""
    size, share = checked_sizes(alone_s, weights)
    queue = ConnectionQueue(size, share, utilization, connections, connection_share)
    state = sharing_states(utilization, connection_share, connections)
    in_transfer = state.mean_sharing / utilization if utilization > 0.0 else 1.0 / connection_share
    return ConnectionPool(
        wait_probability=queue.probability,
        mean_wait_s=queue.probability * queue.mean_s,
        mean_transfer_s=float(share @ size) * in_transfer,
        mean_in_use=state.mean_sharing,
    )


class ConnectionQueue:
    """Transfers that wait for one of K connections; parameters as for `connection_wait_pmf`."""

    def __init__(
        self,
        size: Array,
        share: Array,
        utilization: float,
        connections: int,
        connection_share: float,
    ) -> None:
        sharing_states(utilization, connection_share, connections)  # refuses what cannot work
        speed = min(connection_share, 1.0 / connections)
        mean = float(share @ size)
        self._pool = PoolWait(size / mean, share, connections, connection_share)
        self._unit_s = mean / speed
        self._load = np.array([utilization / (connections * speed)])
        self.probability = float(self._pool.probability(self._load)[0])

    def survival(self, grid: TimeGrid) -> Array:
        """P(wait > (k + 1/2) h | wait > 0), shape (grid.size,)."""
        scaled = TimeGrid(grid.step_s / self._unit_s, grid.size)
        return np.asarray(self._pool.survival(self._load, scaled)[0])

    def _own_grid(self) -> TimeGrid:
        """Grid that holds the wait up to about 1e-9."""
        pool, left = self._pool, 1.0 - float(self._load[0])
        reach = pool.second / (2.0 * pool.servers * left) + pool.third / (3.0 * pool.second)
        return TimeGrid(25.0 * reach * self._unit_s / 4095, 4096)

    @property
    def mean_s(self) -> float:
        """Mean wait of those who wait [s]."""
        grid = self._own_grid()
        return float(self.survival(grid).sum()) * grid.step_s

    def points(self, edges: Array) -> Array:
        """Means of the wait of those who wait between quantiles [s], shape (edges - 1,)."""
        grid = self._own_grid()
        masses = masses_of_survival(self.survival(grid))
        share = np.concatenate(([0.0], np.cumsum(masses)))
        lorenz = np.concatenate(([0.0], np.cumsum(masses * grid.times_s)))
        return np.asarray(np.diff(np.interp(edges, share / share[-1], lorenz)) / np.diff(edges))
