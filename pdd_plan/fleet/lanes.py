"""What each lane asks of relay and main decode, by bandwidth level, flow and threshold.

Part of the planning rule of :mod:`pdd_plan.fleet.paths`: main decode is charged all output tokens,
slots reserved while KV cache travels and the recomputing of relayed tokens, each at its largest
rate; the relay works at its slowest step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from pdd_plan.fleet.problem import BoolArray, FloatArray, LaneOption, Problem
from pdd_plan.fleet.slots import SlotPool
from pdd_plan.fleet.transfer import LaneState, TravelTimes, hand_over, lane_states

StateKey = tuple[int, int, float]
"""A lane, its bandwidth level and its flow at multiplier 1 [requests/s]."""

CHUNK = 32_768
"""Transfer times worked on at once: few enough to stay in the cache of a core."""


@dataclass(frozen=True)
class LaneLoad:
    """Work of a lane in one state, at the peak, by threshold.

    Attributes
    ----------
    relay_erlang : ndarray, shape (thresholds,)
        Relay slots kept busy; infinite where a relay is needed and there is none.
    decode_work_per_s : ndarray, shape (thresholds,)
        Work at the decode site, as an equivalent request rate [requests/s].
    handoff_ok : ndarray of bool, shape (thresholds,)
        Whether the gap at the hand-off keeps its limits.
    """

    relay_erlang: FloatArray
    decode_work_per_s: FloatArray
    handoff_ok: BoolArray


class LaneModel:
    """Transfer times and loads of all lanes of a problem; its arrival rate plays no part.

    Parameters
    ----------
    problem : Problem
        What is planned.
    slot_pools : mapping of pool index to SlotPool
        Relay and decode options.
    """

    def __init__(self, problem: Problem, slot_pools: Mapping[int, SlotPool]) -> None:
        self.problem = problem
        self.slot_pools = slot_pools
        self._travel = TravelTimes(problem)
        self.load = lru_cache(maxsize=20_000)(self._load)
        self.decode_rates = lru_cache(maxsize=None)(self._decode_rates)

    @cached_property
    def relayed_weight(self) -> FloatArray:
        """Weights of the relayed atoms by threshold, shape (atoms, thresholds)."""
        count = self.problem.thresholds.size
        relayed = self.problem.relay_from[:, None] <= np.arange(count)
        return np.where(relayed, self.problem.atoms.weight[:, None], 0.0)

    def states(self, lane: int, keys: Sequence[tuple[int, float]]) -> list[list[LaneState] | None]:
        """States of a lane in each period of the day; None where a period overloads it.

        Parameters
        ----------
        keys : sequence of (level, flow)
            Bandwidth level and flow at multiplier 1 [requests/s].
        """
        days = self._states(lane, keys, self.problem.period_multipliers.tolist())
        return [None if None in day else [s for s in day if s is not None] for day in days]

    def peak_states(self, lane: int, keys: Sequence[tuple[int, float]]) -> list[LaneState | None]:
        """States of a lane at the peak of the day; None where it is overloaded.

        Parameters
        ----------
        keys : sequence of (level, flow)
            As for :meth:`states`.
        """
        return [state for (state,) in self._states(lane, keys, [self.problem.peak_multiplier])]

    def _states(
        self, lane: int, keys: Sequence[tuple[int, float]], multipliers: Sequence[float]
    ) -> list[list[LaneState | None]]:
        """States of a lane by level and flow, and by multiplier of the flow, a level at a time."""
        option, count = self.problem.lanes[lane], len(multipliers)
        out: list[list[LaneState | None]] = [[]] * len(keys)
        for level in dict.fromkeys(level for level, _ in keys):
            here = [i for i, key in enumerate(keys) if key[0] == level]
            flows = [keys[i][1] * multiplier for i in here for multiplier in multipliers]
            found = lane_states(self.problem, option, level, flows, self._travel)
            for place, i in enumerate(here):
                out[i] = found[place * count : (place + 1) * count]
        return out

    def _load(self, lane: int, level: int, flow_per_s: float) -> LaneLoad | None:
        return self.loads(lane, [(level, flow_per_s)])[0]

    def loads(self, lane: int, keys: Sequence[tuple[int, float]]) -> list[LaneLoad | None]:
        """Loads of a lane in many states.

        Parameters
        ----------
        keys : sequence of (level, flow)
            Bandwidth level and flow at multiplier 1 [requests/s].

        Returns
        -------
        list of LaneLoad or None
            None where the line cannot carry the flow.
        """
        states = self.peak_states(lane, keys)
        out: list[LaneLoad | None] = [None] * len(keys)
        carried = [i for i, state in enumerate(states) if state is not None]
        size = max(1, CHUNK // (self.problem.atoms.weight.size * 16))
        for start in range(0, len(carried), size):
            part = carried[start : start + size]
            chosen = [state for i in part if (state := states[i]) is not None]
            loads = self._loads_of(lane, chosen, np.array([keys[i][1] for i in part]))
            for i, load in zip(part, loads, strict=True):
                out[i] = load
        return out

    def _loads_of(
        self, lane: int, states: Sequence[LaneState], flows_per_s: FloatArray
    ) -> list[LaneLoad]:
        option, weight = self.problem.lanes[lane], self.problem.atoms.weight
        per_slot, per_engine = self.decode_rates(option.target)
        peak = (flows_per_s * self.problem.peak_multiplier)[:, None]
        mean_s = np.stack([state.mean_s for state in states])
        extra = per_slot * (mean_s @ weight)[:, None]
        erlang = np.zeros((len(states), self.problem.thresholds.size))
        ok = np.ones(erlang.shape, bool)
        relaying = self.relayed_weight.any(axis=0)
        pools = self.problem.pool_indices(option.source, "relay")
        if not option.local and relaying.any():
            if pools:
                slowest = max(self.slot_pools[i].working_step_s for i in pools)
                residency_s, extend_s = self._relay_means(option, states, slowest)
                erlang = peak * (residency_s @ self.relayed_weight)
                extra = extra + per_engine * (extend_s @ self.relayed_weight)
                ok = self._handoff_ok(option, states, pools)
            else:
                erlang = np.where(relaying, np.inf, erlang)
        work = np.broadcast_to(peak * (1.0 + extra), erlang.shape)
        return [LaneLoad(*row) for row in zip(erlang, work, ok, strict=True)]

    def _relay_means(
        self, option: LaneOption, states: Sequence[LaneState], step_s: float
    ) -> tuple[FloatArray, FloatArray]:
        """Mean relay residency, and mean time of recomputing, shape (states, atoms) [s]."""
        _, residency_s, extend_s, _ = self._hand_over(option, states, step_s)
        weights = states[0].point_weights
        return residency_s @ weights, extend_s @ weights

    def _hand_over(
        self, option: LaneOption, states: Sequence[LaneState], step_s: float
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        decode = [self.problem.pools[i] for i in self.problem.pool_indices(option.target, "decode")]
        extend = (
            max((pool.extend_fixed_s for pool in decode), default=0.0),
            max((pool.extend_per_token_s for pool in decode), default=0.0),
        )
        mode = self.problem.serving.handoff
        values = np.stack([state.values_s for state in states])
        return hand_over(
            self.problem, option, values, step_s, extend, "catch_up" if mode == "auto" else mode
        )

    def _handoff_ok(
        self, option: LaneOption, states: Sequence[LaneState], pools: Sequence[int]
    ) -> BoolArray:
        """Whether gaps keep their limits at the peak, shape (states, thresholds).

        The faster the relay speaks, the more there is to recompute: its fastest step counts.
        """
        ok = np.ones((len(states), self.problem.thresholds.size), bool)
        limits = self.problem.limits_of("handoff_gap")
        if not limits:
            return ok
        fastest = min(float(self.slot_pools[i].pool.step_s[0]) for i in pools)
        gap_s = self._hand_over(option, states, fastest)[3]
        weights = states[0].point_weights
        relayed = self.relayed_weight > 0.0
        for limit in limits:
            inside = np.where(relayed, self.problem.weight_for(limit)[:, None], 0.0)
            total = inside.sum(axis=0)
            share = inside / np.where(total > 0.0, total, 1.0)
            if limit.percentile == 0:
                kept = (gap_s @ weights) @ share <= limit.limit_s
            else:
                within = ((gap_s <= limit.limit_s) @ weights) @ share
                kept = within >= limit.probability - 1e-12
            ok &= kept | (total <= 0.0)
        return ok

    def _decode_rates(self, site: str) -> tuple[float, float]:
        """Largest request rate of a slot and of an engine over the decode options of a site."""
        slot_pools = [self.slot_pools[i] for i in self.problem.pool_indices(site, "decode")]
        per_engine = [pool.most_per_engine_s for pool in slot_pools]
        per_slot = [
            rate / pool.pool.slots if pool.pool.slots else 0.0
            for rate, pool in zip(per_engine, slot_pools, strict=True)
        ]
        return max(per_slot, default=0.0), max(per_engine, default=0.0)
