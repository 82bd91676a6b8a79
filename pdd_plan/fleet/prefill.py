"""Prefill pools: waiting times by engines and load, and the largest load a path allows.

A *path* is a prefill pool and a lane: the first token waits for a prefill server, the pass itself,
the transfer (over the lane, or by RDMA to the relay) and the first decode step. For a fixed state
of the lane the attainment of a time limit is linear in the distribution function of the wait, and
that function is tabulated on a grid of utilizations with linear interpolation between them. So a
check is a product of two vectors, and the largest load is the exact inverse of a piecewise linear
function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pdd_plan.fleet.problem import FloatArray, Limit, PoolOption, Problem
from pdd_plan.fleet.transfer import LaneState, rdma_s
from pdd_plan.queueing import TimeGrid, waiting_time_cdf_table

UTILIZATIONS = 1.0 - np.logspace(0.0, -2.3, 32)
"""Grid of utilizations, 0 to 0.995, dense near 1: waits grow like 1 / (1 - utilization)."""

RDMA_UTILIZATION_LIMIT = 0.9
"""Prefill is held below the load at which RDMA out of an engine would be used more than this."""

MEMORY_QUANTILE = 2.326
"""Standard normal 99 % quantile: KV cache in flight fits with this confidence."""


def limit_grid(problem: Problem) -> TimeGrid:
    """Time grid that resolves every latency limit: 1,000 steps or more over the largest."""
    limits = [limit.limit_s for limit in problem.limits if limit.metric in ("ttft", "e2e")]
    largest = max(limits, default=60.0)
    step_s = min(largest / 1000.0, min(limits, default=60.0) / 200.0)
    return TimeGrid(step_s, int(np.ceil(largest / step_s)) + 2)


@dataclass
class PrefillPath:
    """Waiting-time tables of one prefill pool option, and path attainment on them.

    The tables are filled as counts are asked for, so an unused count costs nothing.
    """

    problem: Problem
    pool: PoolOption
    grid: TimeGrid
    _tables: dict[int, FloatArray] = field(default_factory=dict, repr=False)

    @cached_property
    def mean_service_s(self) -> float:
        """Mean service time over the atoms [s]."""
        return float(self.problem.atoms.weight @ self.pool.service_s)

    @cached_property
    def engine_rate_per_s(self) -> float:
        """Requests that one engine can do at utilization 1 [requests/s]."""
        return self.pool.servers_per_engine / self.mean_service_s

    def servers(self, engines: int) -> int:
        """Servers that share one queue."""
        shared = self.problem.serving.dispatch == "shared"
        return self.pool.servers_per_engine * (engines if shared else 1)

    def wait_table(self, engines: int) -> FloatArray:
        """P(wait <= t), shape (utilizations, grid.size)."""
        servers = self.servers(engines)
        if servers not in self._tables:
            self._tables[servers] = waiting_time_cdf_table(
                self.pool.service_s,
                self.problem.atoms.weight,
                servers,
                UTILIZATIONS,
                self.grid,
                arrival_scv=self.problem.arrival_scv,
            )
        return self._tables[servers]

    def rdma_inflation(self, threshold_index: int) -> tuple[float, float]:
        """Factor on RDMA times and cap on the pool's utilization, from use of the engine's NIC.

        Notes
        -----
        The engine sends at most as fast as it computes, so the utilization of its network is
        bounded by that at full load; RDMA times are stretched by 1 / (1 - that bound). Where the
        bound is above 0.9 the pool's utilization is capped so that the network stays at 0.9.
        """
        network = self.problem.networks[self.pool.site]
        relayed = self.problem.relayed(threshold_index)
        sent = np.where(relayed, self.problem.kv_bytes, 0.0)
        bound = self.engine_rate_per_s * float(self.problem.atoms.weight @ sent)
        use = bound / network.bytes_per_s
        if use <= RDMA_UTILIZATION_LIMIT:
            return 1.0 / (1.0 - use), 1.0
        return 1.0 / (1.0 - RDMA_UTILIZATION_LIMIT), RDMA_UTILIZATION_LIMIT / use

    def kernel(
        self,
        state: LaneState,
        threshold_index: int,
        local: bool,
        limit: Limit,
        first_step_s: tuple[float, float],
        token_s: float = 0.0,
    ) -> FloatArray:
        """Weights k with attainment = P(wait <= t) . k, shape (grid.size,).

        Parameters
        ----------
        state : LaneState
            Transfer times.
        threshold_index : int
            Requests from this threshold on go through the relay, unless the lane is local.
        limit : Limit
            Time limit on TTFT or end to end.
        first_step_s : (float, float)
            First step at main decode and at the relay [s].
        token_s : float
            Seconds a token after the first; counts only for an end-to-end limit.
        """
        positions, weights = self._slack(
            state, threshold_index, local, limit, first_step_s, token_s
        )
        inside = positions >= 0.0
        at = np.minimum(positions[inside] / self.grid.step_s, self.grid.size - 1.000001)
        low = at.astype(np.int64)
        up = at - low
        mass = weights[inside]
        size = self.grid.size
        return np.asarray(
            np.bincount(low, mass * (1.0 - up), size) + np.bincount(low + 1, mass * up, size)
        )

    def _slack(
        self,
        state: LaneState,
        threshold_index: int,
        local: bool,
        limit: Limit,
        first_step_s: tuple[float, float],
        token_s: float,
    ) -> tuple[FloatArray, FloatArray]:
        problem = self.problem
        service = self.pool.service_s
        rest = (problem.atoms.output_tokens - 1.0) * token_s if limit.metric == "e2e" else 0.0
        slack = limit.limit_s - self.pool.host_s - service - rest
        if problem.serving.first_token_from == "prefill":
            return slack, problem.atoms.weight
        relayed = np.zeros(service.size, bool) if local else problem.relayed(threshold_index)
        direct = ~relayed
        travel = visible_transfer_s(problem, state.values_s[direct], service[direct])
        straight = slack[direct, None] - travel - first_step_s[0]
        mass = problem.atoms.weight[direct, None] * state.point_weights
        inflation, _ = self.rdma_inflation(threshold_index)
        moved = rdma_s(problem, self.pool.site, problem.kv_bytes[relayed]) * inflation
        relay = slack[relayed] - moved - first_step_s[1]
        return (
            np.concatenate([straight.ravel(), relay]),
            np.concatenate([mass.ravel(), problem.atoms.weight[relayed]]),
        )

    def memory_loads_per_s(self, engines: Sequence[int], held: FloatArray) -> FloatArray:
        """Largest loads whose KV cache in flight fits the engines' memory [requests/s].

        Parameters
        ----------
        engines : sequence of int
            Counts.
        held : ndarray, shape (states, 2)
            Means over requests of seconds held times KV bytes, and times KV bytes squared.

        Returns
        -------
        ndarray, shape (engines, states)

        Notes
        -----
        Poisson number in flight with mean load * held: mean and variance of the bytes, and the
        99 % quantile of the normal law of that mean and variance, must be within capacity.
        """
        capacity = np.asarray(engines, dtype=np.float64)[:, None] * self.pool.kv_capacity_bytes
        mean, square = held[:, 0], held[:, 1]
        dead = ~np.isfinite(mean)
        mean, spread = np.where(dead, 1.0, mean), MEMORY_QUANTILE * np.sqrt(
            np.where(dead, 1.0, square)
        )
        root = (-spread + np.sqrt(spread**2 + 4.0 * mean * capacity)) / (2.0 * mean)
        return np.where(dead, 0.0, root**2)


def visible_transfer_s(problem: Problem, travel_s: FloatArray, service_s: FloatArray) -> FloatArray:
    """What remains of the transfer after prefill has ended [s], shape as ``travel_s``.

    Notes
    -----
    Layer by layer, the transfer of a layer overlaps with the prefill of the next: what remains is
    the last layer's part, or what the line is behind, whichever is longer.
    """
    if problem.serving.streaming == "after_prefill":
        return travel_s
    last_layer = travel_s / problem.serving.layers
    return np.maximum(last_layer, travel_s - service_s[:, None])


def largest_root(reached: FloatArray) -> FloatArray:
    """Utilization at which each column of a falling, piecewise linear function becomes negative."""
    ok = reached >= 0.0
    count = np.where(ok.all(axis=0), len(ok), np.argmin(ok, axis=0))
    last = np.clip(count - 1, 0, len(ok) - 2)
    columns = np.arange(reached.shape[1])
    here, there = reached[last, columns], reached[last + 1, columns]
    drop = here - there
    share = np.where(drop > 0.0, here / np.where(drop > 0.0, drop, 1.0), 0.0)
    span = UTILIZATIONS[last + 1] - UTILIZATIONS[last]
    root = UTILIZATIONS[last] + np.clip(share, 0.0, 1.0) * span
    root = np.where(count == len(ok), UTILIZATIONS[-1], root)
    return np.where(count == 0, 0.0, root)
