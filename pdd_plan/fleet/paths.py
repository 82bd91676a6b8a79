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

import copy
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from pdd_plan.fleet.lanes import LaneModel, StateKey
from pdd_plan.fleet.path_rules import PathRule, PathRules, slot_waits_within
from pdd_plan.fleet.prefill import UTILIZATIONS, PrefillPath, largest_root, limit_grid
from pdd_plan.fleet.problem import BoolArray, FloatArray, Limit, Problem
from pdd_plan.fleet.slots import SlotPool, token_demand
from pdd_plan.fleet.transfer import LaneState

WAIT_TABLE_BYTES = 3e8
"""Memory for tables of waiting times [bytes]."""


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
        options = [i for i, pool in enumerate(problem.pools) if pool.role == "prefill"]
        table_bytes = 8 * UTILIZATIONS.size * self.grid.size * max(len(options), 1)
        most_tables = max(8, int(WAIT_TABLE_BYTES / table_bytes))
        self.prefill = {
            i: PrefillPath(problem, problem.pools[i], self.grid, most_tables) for i in options
        }
        self.slot_pools = {
            i: SlotPool(pool, demand)
            for i, pool in enumerate(problem.pools)
            if pool.role != "prefill"
        }
        self.lanes = LaneModel(problem, self.slot_pools)
        self.rules = PathRules(problem, self.grid, self.prefill, self.lanes)
        self._ideal = lru_cache(maxsize=8192)(self._ideal_reached)

    def revised(self, problem: Problem) -> PathModel:
        """The rule of a problem that differs in rate, stock, power, prices and engine counts only.

        Parameters
        ----------
        problem : Problem
            What engines and lanes can do is as before, so all tables are shared.
        """
        other = copy.copy(self)
        other.problem = problem
        return other

    # --- lanes ---------------------------------------------------------------------------------

    def peak_state(self, lane: int, level: int, flow_per_s: float) -> LaneState | None:
        """State of a lane at the peak of the day; None where the line cannot carry the flow."""
        return self.lanes.peak_states(lane, [(level, flow_per_s)])[0]

    def relay_erlang(
        self, lane: int, level: int, flow_per_s: float, threshold_index: int
    ) -> float | None:
        """Relay slots that a lane keeps busy at the peak [Erlang]; None where it has no relay."""
        load = self.lanes.load(lane, level, flow_per_s)
        erlang = np.inf if load is None else float(load.relay_erlang[threshold_index])
        return None if np.isinf(erlang) else erlang

    def decode_work_per_s(
        self, lane: int, level: int, flow_per_s: float, threshold_index: int
    ) -> float | None:
        """Work a lane brings to its decode site, as an equivalent request rate [requests/s]."""
        load = self.lanes.load(lane, level, flow_per_s)
        if load is None or np.isinf(load.relay_erlang[threshold_index]):
            return None
        return float(load.decode_work_per_s[threshold_index])

    def handoff_ok(self, lane: int, level: int, flow_per_s: float, threshold_index: int) -> bool:
        """Whether the gap at the hand-off keeps its limits on a lane, at the peak."""
        load = self.lanes.load(lane, level, flow_per_s)
        return load is not None and bool(load.handoff_ok[threshold_index])

    # --- pools ---------------------------------------------------------------------------------

    def decode_capacity_per_s(self, pool: int, engines: int, slot_wait: float) -> float:
        """Request rate that decode engines take under the rule [requests/s]."""
        return self.slot_pools[pool].decode_capacity_per_s(engines, slot_wait)

    def relay_capacity_erlang(self, pool: int, engines: int, slot_wait: float) -> float:
        """Relay work that relay engines take under the rule [Erlang]."""
        return self.slot_pools[pool].relay_capacity_erlang(engines, slot_wait)

    # --- paths ---------------------------------------------------------------------------------

    @property
    def latency_limits(self) -> tuple[Limit, ...]:
        """Limits on TTFT and end-to-end time, in the order of the rules."""
        return self.rules.limits

    def required(self, limit: Limit, slot_wait: float) -> float:
        """Share of requests that must be in time if none waited for a slot.

        For a mean: share of the limit that must be left for waits for a slot.
        """
        return limit.probability + slot_waits_within(limit) * slot_wait

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
        rules = self.rules.of(pool, states, threshold_index)
        return np.asarray(self.prefill_loads_per_s(pool, engines, rules, (slot_wait,))[0])

    def prefill_loads_per_s(
        self,
        pool: int,
        engines: Sequence[int],
        rules: Sequence[PathRule],
        slot_waits: Sequence[float],
    ) -> FloatArray:
        """Largest load of a prefill pool by slot wait, count and path [requests/s].

        Parameters
        ----------
        engines : sequence of int
            Counts, 1 or more.
        rules : sequence of PathRule
            Paths from :attr:`rules`.

        Returns
        -------
        ndarray, shape (slot waits, engines, rules)
            Loads at multiplier 1; 0 where the path fails at any load.
        """
        path = self.prefill[pool]
        most = np.array([rule.most_utilization for rule in rules])
        use = np.tile(most, (len(slot_waits), len(engines), 1))
        for number, limit in enumerate(self.latency_limits):
            required = np.array([self.required(limit, wait) for wait in slot_waits])
            reached = self.rules.reached(pool, engines, rules, number)
            spare = reached[:, None] - required[:, None, None]
            root = largest_root(spare.reshape(UTILIZATIONS.size, -1))
            use = np.minimum(use, root.reshape(use.shape))
        counts = np.asarray(engines, dtype=np.float64)[:, None]
        memory = path.memory_loads_per_s(engines, np.array([rule.held for rule in rules]))
        loads = np.minimum(use * counts * path.engine_rate_per_s, memory)
        return np.asarray(loads / self.problem.peak_multiplier)

    def hopeless(self, rules: Sequence[PathRule], slot_waits: Sequence[float]) -> BoolArray:
        """Whether no number of engines keeps the limits of a path, shape (slot waits, rules)."""
        out = np.zeros((len(slot_waits), len(rules)), bool)
        for number, limit in enumerate(self.latency_limits):
            idle = self.rules.idle(rules, number) * (1.0 + 1e-12)
            for row, wait in enumerate(slot_waits):
                out[row] |= idle < self.required(limit, wait)
        return out

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
            known = limit.limit_s - float(self.problem.weight_for(limit) @ path.slack_s(limit))
            return np.asarray(1.0 - (path.mean_waits_s(engines) + known) / limit.limit_s)
        firsts = [0.0]
        if self.problem.serving.first_token_from == "decode":
            firsts = [
                self.rules.shortest_first_s(lane)
                for lane, option in enumerate(self.problem.lanes)
                if option.source == path.pool.site
            ]
        kernel = path.idle_kernel(limit, min(firsts, default=0.0))
        return np.asarray(path.wait_table(engines) @ kernel)

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
        rules = self.rules.of(pool, [key], threshold_index)
        number = self.latency_limits.index(limit)
        reached = self.rules.reached(pool, [engines], rules, number)[:, 0, 0]
        return float(np.interp(rho, UTILIZATIONS, reached))
