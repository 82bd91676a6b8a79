"""Prefill pools: waiting times by engines and load, and the largest load a path allows.

A *path* is a prefill pool and a lane: the first token waits for a prefill server, the pass itself,
the transfer (over the lane, or by RDMA to the relay) and the first decode step. For a fixed state
of the lane the attainment of a time limit is linear in the distribution function of the wait, and
that function is tabulated on a grid of utilizations with linear interpolation between them. So a
check is a product of two vectors, and the largest load is the exact inverse of a piecewise linear
function.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from pdd_plan.fleet.kv_cache import caches_in_memory
from pdd_plan.fleet.problem import FloatArray, Limit, PoolOption, Problem
from pdd_plan.fleet.transfer import LaneState, rdma_s
from pdd_plan.queueing import TimeGrid, waiting_time_cdf_table

UTILIZATIONS = 1.0 - np.logspace(0.0, -2.3, 32)
"""Grid of utilizations, 0 to 0.995, dense near 1: waits grow like 1 / (1 - utilization)."""

MEAN_REACH = 8.0
"""Length of the time grid over the largest limit where a mean is limited."""

RDMA_UTILIZATION_LIMIT = 0.9
"""Prefill is held below the load at which RDMA out of an engine would be used more than this."""


def limit_grid(problem: Problem) -> TimeGrid:
    """Time grid that resolves every latency limit: 1,000 steps or more over the largest.

    A limit on a mean needs the tail of the wait too, so the grid then reaches further.
    """
    latency = [limit for limit in problem.limits if limit.metric in ("ttft", "e2e")]
    limits = [limit.limit_s for limit in latency]
    largest = max(limits, default=60.0)
    step_s = min(largest / 1000.0, min(limits, default=60.0) / 200.0)
    reach = MEAN_REACH if any(limit.percentile == 0 for limit in latency) else 1.0
    return TimeGrid(step_s, int(np.ceil(reach * largest / step_s)) + 2)


@dataclass(eq=False)
class PrefillPath:
    """Waiting-time tables of one prefill pool option, and path attainment on them.

    The tables are filled as counts are asked for, so an unused count costs nothing.
    """

    problem: Problem
    pool: PoolOption
    grid: TimeGrid
    most_tables: int = 64
    _tables: OrderedDict[tuple[int, int], FloatArray] = field(
        default_factory=OrderedDict, repr=False
    )

    @cached_property
    def mean_service_s(self) -> float:
        """Mean service time over the atoms [s]."""
        return float(self.problem.atoms.weight @ self.pool.service_s)

    @cached_property
    def engine_rate_per_s(self) -> float:
        """Requests that one engine can do at utilization 1 [requests/s]."""
        return self.pool.servers_per_engine / self.mean_service_s

    def wait_table(self, engines: int) -> FloatArray:
        """P(wait <= t), shape (utilizations, grid.size)."""
        servers, split = key = self._key(engines)
        if key not in self._tables:
            if len(self._tables) >= self.most_tables:
                self._tables.popitem(last=False)
            self._tables[key] = waiting_time_cdf_table(
                self.pool.service_s,
                self.problem.atoms.weight,
                servers,
                UTILIZATIONS,
                self.grid,
                arrival_scv=self.problem.arrival_scv,
                split=split,
                recorded=self.pool.wait_shift,
            )
        return self._tables[key]

    def _key(self, engines: int) -> tuple[int, int]:
        """Servers that share a queue, and queues that bursts are spread over (1 without any)."""
        queues = self.problem.serving.queues(engines)
        bursty = self.problem.arrival_scv != 1.0 or self.pool.recorded is not None
        return self.pool.servers_per_engine * engines // queues, queues if bursty else 1

    def has_table(self, engines: int) -> bool:
        """Whether the waiting times of a count are at hand."""
        return self._key(engines) in self._tables

    @lru_cache(maxsize=1024)  # noqa: B019 - a path lives as long as its problem
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

    def direct_kernels(
        self,
        states: Sequence[LaneState],
        local: bool,
        limit: Limit,
        threshold_index: int,
        first_step_s: float,
        token_s: float = 0.0,
    ) -> FloatArray:
        """Part of the kernels that comes from requests going straight to main decode.

        The *kernel* of a limit is the vector k with attainment = P(wait <= t) . k.

        Parameters
        ----------
        states : sequence of LaneState
            Transfer times of one lane in its states.
        local : bool
            The lane has no relay, so every request goes straight.
        limit : Limit
            Time limit on TTFT or end to end.
        first_step_s : float
            From joining the batch of main decode to the first token [s].
        token_s : float
            Seconds a token after the first; counts only for an end-to-end limit.

        Returns
        -------
        ndarray, shape (states, grid.size)
        """
        problem = self.problem
        direct = np.ones(problem.relay_from.size, bool)
        if not local:
            direct = ~problem.relayed(threshold_index)
        mass = problem.weight_for(limit)[direct]
        slack = self.slack_s(limit, token_s)[direct]
        if problem.serving.first_token_from == "prefill":
            return np.repeat(self._spread(slack[None], mass), len(states), axis=0)
        service = self.pool.service_s[direct]
        travel = np.stack([state.travel_s[direct] for state in states])
        travel += np.stack([state.delay_s[direct] for state in states])[..., None]
        visible = visible_transfer_s(problem, travel, service)
        slack = (slack - first_step_s)[:, None] - visible
        return self._spread(slack, mass[:, None] * states[0].point_weights)

    def relay_kernel(
        self, threshold_index: int, limit: Limit, first_step_s: float, token_s: float = 0.0
    ) -> FloatArray:
        """Part of the kernel that comes from relayed requests, shape (grid.size,).

        Parameters
        ----------
        first_step_s : float
            From joining the batch of the relay to the first token [s].
        """
        problem = self.problem
        relayed = problem.relayed(threshold_index)
        slack = self.slack_s(limit, token_s)[relayed]
        if problem.serving.first_token_from == "decode":
            inflation, _ = self.rdma_inflation(threshold_index)
            moved = rdma_s(problem, self.pool.site, problem.kv_bytes[relayed]) * inflation
            slack = slack - moved - first_step_s
        return np.asarray(self._spread(slack[None], problem.weight_for(limit)[relayed])[0])

    def mean_known_s(
        self,
        state: LaneState,
        local: bool,
        limit: Limit,
        threshold_index: int,
        first_step_s: tuple[float, float],
        token_s: float,
    ) -> float:
        """Mean of a latency but for the waits [s]: pass, transfer, first step, rest end to end.

        Parameters
        ----------
        first_step_s : (float, float)
            From joining the batch of main decode, and of the relay, to the first token [s].
        """
        problem = self.problem
        known = limit.limit_s - self.slack_s(limit, token_s)
        if problem.serving.first_token_from == "decode":
            relayed = problem.relayed(threshold_index) & (not local)
            travel = visible_transfer_s(problem, state.values_s, self.pool.service_s)
            straight = travel @ state.point_weights + first_step_s[0]
            inflation, _ = self.rdma_inflation(threshold_index)
            moved = rdma_s(problem, self.pool.site, problem.kv_bytes) * inflation
            known = known + np.where(relayed, moved + first_step_s[1], straight)
        return float(problem.weight_for(limit) @ known)

    def mean_waits_s(self, engines: int) -> FloatArray:
        """Mean wait by utilization [s], shape (utilizations,), up to the end of the grid."""
        return np.asarray((1.0 - self.wait_table(engines)).sum(axis=1) * self.grid.step_s)

    def idle_kernel(self, limit: Limit, first_step_s: float, token_s: float = 0.0) -> FloatArray:
        """Kernel if no transfer took any time: attainment is nowhere above it."""
        slack = self.slack_s(limit, token_s) - first_step_s
        return np.asarray(self._spread(slack[None], self.problem.weight_for(limit))[0])

    def slack_s(self, limit: Limit, token_s: float = 0.0) -> FloatArray:
        """Time left for waiting and transfer, shape (atoms,)."""
        slack = limit.limit_s - self.pool.host_s - self.pool.service_s
        if limit.metric == "e2e":
            slack = slack - (self.problem.atoms.output_tokens - 1.0) * token_s
        return np.asarray(slack)

    def _spread(self, slack_s: FloatArray, mass: FloatArray) -> FloatArray:
        """Put masses at their slack on the grid, linearly, one row for each of the first axis."""
        size, rows = self.grid.size, len(slack_s)
        at = np.minimum(slack_s / self.grid.step_s, size - 1.000001)
        start = size * np.arange(rows).reshape(-1, *[1] * (at.ndim - 1))
        low = np.maximum(at, 0.0).astype(np.int64)
        upper = np.where(at >= 0.0, mass, 0.0)
        lower = upper * (1.0 - (at - low))
        upper = upper - lower
        index = (low + start).ravel()
        total = np.bincount(index, lower.ravel(), rows * size)
        total[1:] += np.bincount(index, upper.ravel(), rows * size)[:-1]
        return np.asarray(total.reshape(rows, size))

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
        Poisson number in flight with mean load * held, spread evenly over the engines: mean and
        variance of the bytes on one, and the 99 % quantile of the normal law of that mean and
        variance, must be within its memory. Engines do not lend memory to each other: a cache has
        to fit one of them, and all requests behind it wait until it does.
        """
        mean, square = held[:, 0], held[:, 1]
        dead = ~np.isfinite(mean)
        mean, deviation = np.where(dead, 1.0, mean), np.sqrt(np.where(dead, 1.0, square))
        room = np.asarray(self.pool.kv_capacity_bytes)
        one = np.where(dead, 0.0, caches_in_memory(mean, deviation, room))
        return np.asarray(np.multiply.outer(np.asarray(engines, dtype=np.float64), one))


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
