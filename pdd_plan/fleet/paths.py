"""The planning rule: what each lane asks of its ends, and what the ends can take.

The rule is what the optimizer proves optimality for and what :mod:`pdd_plan.fleet.check` applies
to one candidate. It is sufficient for the full model of :mod:`pdd_plan.fleet.evaluate`:

- a latency limit must hold on every path in use, not only in the mixture over paths;
- waiting for a slot at relay or decode is limited to a small probability, which is added to the
  share of requests that must be in time (union bound), so pools decouple;
- main decode is charged all output tokens, slots reserved while KV cache travels, and the
  recomputing of relayed tokens, each at its largest rate;
- steps at relay and decode take as long as at their working batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np

from pdd_plan.fleet.prefill import (
    UTILIZATIONS,
    PrefillPath,
    largest_root,
    limit_grid,
    visible_transfer_s,
)
from pdd_plan.fleet.problem import FloatArray, Limit, Problem
from pdd_plan.fleet.slots import SlotPool, token_demand
from pdd_plan.fleet.transfer import LaneState, RelayWork, lane_state, relay_work

StateKey = tuple[int, int, float]
"""A lane, its bandwidth level and its flow at multiplier 1 [requests/s]."""


class PathModel:
    """Capacities and work of every pool and lane of a problem under the planning rule.

    Parameters
    ----------
    problem : Problem
        What to plan.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.grid = limit_grid(problem)
        demand = token_demand(problem)
        self.prefill = {
            i: PrefillPath(problem, pool, self.grid)
            for i, pool in enumerate(problem.pools)
            if pool.role == "prefill"
        }
        self.slot_pools = {
            i: SlotPool(pool, demand)
            for i, pool in enumerate(problem.pools)
            if pool.role != "prefill"
        }
        self.lane_states = lru_cache(maxsize=20_000)(self._lane_states)
        self._works = lru_cache(maxsize=20_000)(self._relay_works)
        self._held = lru_cache(maxsize=20_000)(self._held_moments)
        self._first_steps = lru_cache(maxsize=None)(self._first_step_times)
        self._direct = lru_cache(maxsize=600)(self._direct_kernels)
        self._ideal = lru_cache(maxsize=8192)(self._ideal_reached)
        self._relayed = lru_cache(maxsize=4096)(self._relay_kernel)
        self._kernels = lru_cache(maxsize=64)(self._kernel_table)
        self._reached = lru_cache(maxsize=8192)(self._reached_table)

    # --- lanes ---------------------------------------------------------------------------------

    def _lane_states(self, lane: int, level: int, flow_per_s: float) -> list[LaneState] | None:
        """State of a lane in each period of the day, or None where some period overloads it."""
        option = self.problem.lanes[lane]
        states = [
            lane_state(self.problem, option, level, flow_per_s * float(multiplier))
            for multiplier in self.problem.period_multipliers
        ]
        return None if any(state is None for state in states) else [s for s in states if s]

    def peak_state(self, lane: int, level: int, flow_per_s: float) -> LaneState | None:
        """State of a lane at the peak of the day."""
        states = self.lane_states(lane, level, flow_per_s)
        if states is None:
            return None
        return states[int(np.argmax(self.problem.period_multipliers))]

    def _relay_works(
        self, lane: int, level: int, flow_per_s: float, fastest: bool = False
    ) -> RelayWork | None:
        """Relay work of a lane at the slowest step of its relay, or gaps at the fastest."""
        option = self.problem.lanes[lane]
        state = self.peak_state(lane, level, flow_per_s)
        pools = self.problem.pool_indices(option.source, "relay")
        if state is None or option.local or not pools:
            return None
        if fastest:
            step_s = min(float(self.slot_pools[i].pool.step_s[0]) for i in pools)
        else:
            step_s = max(self.slot_pools[i].working_step_s for i in pools)
        decode = [self.problem.pools[i] for i in self.problem.pool_indices(option.target, "decode")]
        extend = (
            max((pool.extend_fixed_s for pool in decode), default=0.0),
            max((pool.extend_per_token_s for pool in decode), default=0.0),
        )
        mode = self.problem.serving.handoff
        mode = "catch_up" if mode == "auto" else mode
        return relay_work(self.problem, option, state, step_s, extend, mode)

    def relay_erlang(
        self, lane: int, level: int, flow_per_s: float, threshold_index: int
    ) -> float | None:
        """Relay slots that a lane keeps busy at the peak [Erlang]; None where it has no relay."""
        weight = self._relay_weight(lane, threshold_index)
        if not weight.any():
            return 0.0
        work = self._works(lane, level, flow_per_s)
        if work is None:
            return None
        peak = flow_per_s * self.problem.peak_multiplier
        return peak * float(weight @ work.residency_s)

    def _relay_weight(self, lane: int, threshold_index: int) -> FloatArray:
        if self.problem.lanes[lane].local:
            return np.zeros(self.problem.atoms.weight.size)
        return np.where(self.problem.relayed(threshold_index), self.problem.atoms.weight, 0.0)

    def decode_work_per_s(
        self, lane: int, level: int, flow_per_s: float, threshold_index: int
    ) -> float | None:
        """Work a lane brings to its decode site, as an equivalent request rate [requests/s]."""
        state = self.peak_state(lane, level, flow_per_s)
        if state is None:
            return None
        option = self.problem.lanes[lane]
        per_slot, per_engine = self._decode_rates(option.target)
        weight = self.problem.atoms.weight
        extra = per_slot * float(weight @ state.mean_s)
        relayed = self._relay_weight(lane, threshold_index)
        if relayed.any():
            work = self._works(lane, level, flow_per_s)
            if work is None:
                return None
            extra += per_engine * float(relayed @ work.extend_s)
        return flow_per_s * self.problem.peak_multiplier * (1.0 + extra)

    @lru_cache(maxsize=1024)  # noqa: B019 - a path model lives as long as its problem
    def _decode_rates(self, site: str) -> tuple[float, float]:
        """Largest request rate of a slot and of an engine over the decode options of a site."""
        slot_pools = [self.slot_pools[i] for i in self.problem.pool_indices(site, "decode")]
        per_engine = [pool.most_per_engine_s for pool in slot_pools]
        per_slot = [
            rate / pool.pool.slots if pool.pool.slots else 0.0
            for rate, pool in zip(per_engine, slot_pools, strict=True)
        ]
        return max(per_slot, default=0.0), max(per_engine, default=0.0)

    # --- pools ---------------------------------------------------------------------------------

    def decode_capacity_per_s(self, pool: int, engines: int, slot_wait: float) -> float:
        """Request rate that decode engines take under the rule [requests/s]."""
        return self.slot_pools[pool].decode_capacity_per_s(engines, slot_wait)

    def relay_capacity_erlang(self, pool: int, engines: int, slot_wait: float) -> float:
        """Relay work that relay engines take under the rule [Erlang]."""
        return self.slot_pools[pool].relay_capacity_erlang(engines, slot_wait)

    # --- paths ---------------------------------------------------------------------------------

    @cached_property
    def latency_limits(self) -> tuple[Limit, ...]:
        """Limits on TTFT and end-to-end time."""
        return self.problem.limits_of("ttft") + self.problem.limits_of("e2e")

    def required(self, limit: Limit, slot_wait: float) -> float:
        """Share of requests that must be in time if none waited for a slot.

        For a mean: share of the limit that must be left for waits for a slot.
        """
        stations = 1.0 if limit.metric == "ttft" else 2.0
        return limit.probability + stations * slot_wait

    def _first_step_times(self, lane: int) -> tuple[float, float]:
        option = self.problem.lanes[lane]
        decode = self.problem.pool_indices(option.target, "decode")
        relay = self.problem.pool_indices(option.source, "relay")
        return (
            max((self.slot_pools[i].first_token_s for i in decode), default=0.0),
            max((self.slot_pools[i].first_token_s for i in relay), default=0.0),
        )

    def _token_s(self, lane: int) -> float:
        """Longest step of any relay or decode engine at the ends of a lane [s]."""
        option = self.problem.lanes[lane]
        pools = self.problem.pool_indices(option.target, "decode")
        pools += self.problem.pool_indices(option.source, "relay")
        return max((self.slot_pools[i].working_step_s for i in pools), default=0.0)

    def prefill_capacities(
        self,
        pool: int,
        engines: Sequence[int],
        states: Sequence[StateKey],
        threshold_index: int,
        slot_wait: float,
    ) -> FloatArray:
        """Largest load of a prefill pool by engines and lane state [requests/s].

        Parameters
        ----------
        pool : int
            Prefill pool option.
        engines : sequence of int
            Counts to look at, 1 or more.
        states : sequence of (lane, level, flow)
            Lanes with their bandwidth level and flow at multiplier 1.

        Returns
        -------
        ndarray, shape (engines, states)
            Loads at multiplier 1; 0 where the path fails at any load.
        """
        path = self.prefill[pool]
        keys = tuple(states)
        lane_caps = {s[0]: self._network_cap(pool, s[0], threshold_index) for s in keys}
        caps = np.array([lane_caps[s[0]] for s in keys])
        memory = path.memory_loads_per_s(engines, np.array([self._held(pool, s) for s in keys]))
        loads = np.zeros((len(engines), len(keys)))
        for row, count in enumerate(engines):
            use = caps.copy()
            for limit in self.latency_limits:
                reached = self._reached(pool, count, keys, threshold_index, limit)
                root = largest_root(reached - self.required(limit, slot_wait))
                use = np.minimum(use, root)
            loads[row] = np.minimum(use * count * path.engine_rate_per_s, memory[row])
        return loads / self.problem.peak_multiplier

    def _network_cap(self, pool: int, lane: int, threshold_index: int) -> float:
        """Utilization of prefill up to which RDMA out of its engines keeps up."""
        relayed = self.problem.relayed(threshold_index)
        if self.problem.lanes[lane].local or not relayed.any():
            return float(UTILIZATIONS[-1])
        return min(float(UTILIZATIONS[-1]), self.prefill[pool].rdma_inflation(threshold_index)[1])

    def _held_moments(self, pool: int, key: StateKey) -> tuple[float, float]:
        """Byte-seconds and byte-squared-seconds that a request holds prefill memory."""
        path = self.prefill[pool]
        state = self.peak_state(*key)
        if state is None:
            return np.inf, np.inf
        travel = visible_transfer_s(self.problem, state.values_s, path.pool.service_s)
        held_s = path.pool.service_s + travel @ state.point_weights
        weight, size = self.problem.atoms.weight, self.problem.kv_bytes
        return float(weight @ (held_s * size)), float(weight @ (held_s * size**2))

    def _kernel_table(
        self, pool: int, states: tuple[StateKey, ...], threshold_index: int, limit: Limit
    ) -> list[FloatArray]:
        """Kernels of a limit by period of the day, each of shape (states, grid.size)."""
        return [
            np.stack([self._kernel(pool, key, period, threshold_index, limit) for key in states])
            for period in range(self.problem.period_weights.size)
        ]

    def _kernel(
        self, pool: int, key: StateKey, period: int, threshold_index: int, limit: Limit
    ) -> FloatArray:
        if self.lane_states(*key) is None:
            return np.zeros(self.grid.size)
        kernel = self._direct(pool, key, period, limit)[threshold_index]
        if self.problem.lanes[key[0]].local:
            return kernel
        return kernel + self._relayed(pool, key[0], threshold_index, limit)

    def _direct_kernels(self, pool: int, key: StateKey, period: int, limit: Limit) -> FloatArray:
        states = self.lane_states(*key)
        assert states is not None
        first_s, _ = self._first_steps(key[0])
        local = self.problem.lanes[key[0]].local
        return self.prefill[pool].direct_kernels(
            states[period], local, limit, first_s, self._token_s(key[0])
        )

    def _relay_kernel(self, pool: int, lane: int, threshold_index: int, limit: Limit) -> FloatArray:
        _, first_s = self._first_steps(lane)
        return self.prefill[pool].relay_kernel(threshold_index, limit, first_s, self._token_s(lane))

    def ideal_capacities(self, pool: int, engines: Sequence[int], slot_wait: float) -> FloatArray:
        """Loads above those of any lane state and threshold [requests/s], shape (engines,).

        Transfers take no time, first steps as long as the shortest of any lane, and the period
        of the day with the least load counts: what is left is prefill and its waiting.
        """
        path = self.prefill[pool]
        use = np.full(len(engines), UTILIZATIONS[-1])
        if self.problem.period_weights.size == 1 and self.latency_limits:
            for limit in self.latency_limits:
                reached = np.stack([self._ideal(pool, n, limit) for n in engines], axis=1)
                use = np.minimum(use, largest_root(reached - self.required(limit, slot_wait)))
        rate = path.engine_rate_per_s / self.problem.peak_multiplier
        return np.asarray(use * np.asarray(engines, dtype=np.float64) * rate)

    def _ideal_reached(self, pool: int, engines: int, limit: Limit) -> FloatArray:
        """Attainment by utilization if transfers took no time, shape (utilizations,)."""
        path = self.prefill[pool]
        if limit.percentile == 0:
            known = limit.limit_s - float(self.problem.atoms.weight @ path.slack_s(limit))
            return np.asarray(1.0 - (path.mean_waits_s(engines) + known) / limit.limit_s)
        firsts = [0.0]
        if self.problem.serving.first_token_from == "decode":
            firsts = [
                min(self._first_steps(lane)) if self._relays(lane) else self._first_steps(lane)[0]
                for lane, option in enumerate(self.problem.lanes)
                if option.source == path.pool.site
            ]
        kernel = path.idle_kernel(limit, min(firsts, default=0.0))
        return np.asarray(path.wait_table(engines) @ kernel)

    def _relays(self, lane: int) -> bool:
        option = self.problem.lanes[lane]
        return not option.local and bool(self.problem.pool_indices(option.source, "relay"))

    def _reached_table(
        self,
        pool: int,
        engines: int,
        states: tuple[StateKey, ...],
        threshold_index: int,
        limit: Limit,
    ) -> FloatArray:
        """Attainment by utilization at the peak and lane state, shape (utilizations, states)."""
        if limit.percentile == 0:
            return self._mean_margin(pool, engines, states, threshold_index, limit)
        waits = self.prefill[pool].wait_table(engines)
        kernels = self._kernels(pool, states, threshold_index, limit)
        multipliers = self.problem.period_multipliers / self.problem.peak_multiplier
        total = np.zeros((UTILIZATIONS.size, len(states)))
        for multiplier, weight, kernel in zip(
            multipliers, self.problem.period_weights, kernels, strict=True
        ):
            here = waits @ kernel.T
            if multiplier < 1.0:
                at = UTILIZATIONS * multiplier
                here = np.stack([np.interp(at, UTILIZATIONS, c) for c in here.T], axis=1)
            total += weight * here
        return total

    def _mean_margin(
        self,
        pool: int,
        engines: int,
        states: tuple[StateKey, ...],
        threshold_index: int,
        limit: Limit,
    ) -> FloatArray:
        """Share of a limit on a mean that is left over, shape (utilizations, states)."""
        path = self.prefill[pool]
        known = np.array([self._mean_known_s(pool, key, threshold_index, limit) for key in states])
        waits = np.zeros(UTILIZATIONS.size)
        multipliers = self.problem.period_multipliers / self.problem.peak_multiplier
        table = path.mean_waits_s(engines)
        for multiplier, weight in zip(multipliers, self.problem.period_weights, strict=True):
            waits += weight * np.interp(UTILIZATIONS * multiplier, UTILIZATIONS, table)
        return np.asarray(1.0 - (waits[:, None] + known) / limit.limit_s)

    def _mean_known_s(self, pool: int, key: StateKey, threshold_index: int, limit: Limit) -> float:
        states = self.lane_states(*key)
        if states is None:
            return float("inf")
        lane = key[0]
        local = self.problem.lanes[lane].local
        by_period = [
            self.prefill[pool].mean_known_s(
                state, local, limit, threshold_index, self._first_steps(lane), self._token_s(lane)
            )
            for state in states
        ]
        return float(self.problem.period_weights @ np.array(by_period))

    def handoff_ok(self, lane: int, level: int, flow_per_s: float, threshold_index: int) -> bool:
        """Whether the gap at the hand-off keeps its limits on a lane, at the peak.

        The faster the relay speaks, the more there is to recompute: its fastest step counts.
        """
        limits = self.problem.limits_of("handoff_gap")
        weight = self._relay_weight(lane, threshold_index)
        if not limits or not weight.any():
            return True
        work = self._works(lane, level, flow_per_s, fastest=True)
        if work is None:
            return False
        mass = (weight[:, None] * work.point_weights).ravel() / weight.sum()
        gaps = work.gap_s.ravel()
        for limit in limits:
            if limit.percentile == 0 and float(mass @ gaps) > limit.limit_s:
                return False
            within = float(mass[gaps <= limit.limit_s].sum())
            if limit.percentile > 0 and within < limit.probability - 1e-12:
                return False
        return True

    def attainment(
        self,
        pool: int,
        engines: int,
        load_per_s: float,
        key: StateKey,
        threshold_index: int,
        limit: Limit,
    ) -> float:
        """Share of requests of a path within a limit if none waits for a slot.

        Parameters
        ----------
        load_per_s : float
            Load of the prefill pool at multiplier 1 [requests/s].
        """
        peak = load_per_s * self.problem.peak_multiplier
        rho = peak / (engines * self.prefill[pool].engine_rate_per_s)
        if rho > UTILIZATIONS[-1]:
            return 0.0
        reached = self._reached_table(pool, engines, (key,), threshold_index, limit)[:, 0]
        return float(np.interp(rho, UTILIZATIONS, reached))
