"""Tables of one node of the search: everything the MILP needs at a fixed threshold and slot wait.

A *node* fixes the routing threshold and the allowed probability of waiting for a slot. A lane may
then be closed or in one of its *states*: bandwidth level and flow in steps. For every state the
relay and decode work, and for every prefill pool and count the largest load the state allows, are
plain numbers, computed once by the planning rule of :mod:`pdd_plan.fleet.paths`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import FloatArray, PoolOption, Problem


@dataclass(frozen=True)
class LaneStates:
    """States that a lane can be in, as parallel arrays of shape (states,).

    Attributes
    ----------
    level, steps : ndarray of int
        Bandwidth level, and flow in steps (1 or more).
    usd_per_hour : ndarray
        Price of the line.
    decode_work_per_s : ndarray
        Work at the decode site, as an equivalent request rate.
    relay_erlang : ndarray
        Relay slots kept busy.
    """

    lane: int
    level: NDArray[np.int64]
    steps: NDArray[np.int64]
    usd_per_hour: FloatArray
    decode_work_per_s: FloatArray
    relay_erlang: FloatArray

    @property
    def size(self) -> int:
        """Number of states."""
        return int(self.level.size)

    def where(self, mask: NDArray[np.bool_]) -> LaneStates:
        """The states for which a mask holds."""
        return LaneStates(
            self.lane,
            self.level[mask],
            self.steps[mask],
            self.usd_per_hour[mask],
            self.decode_work_per_s[mask],
            self.relay_erlang[mask],
        )


@dataclass(frozen=True)
class PoolCapacity:
    """Capacity of a pool option by number of engines.

    Attributes
    ----------
    pool : int
        Index of the pool option.
    best : ndarray, shape (counts + 1,)
        Capacity with 0, 1, ... engines, if all else were ideal; not decreasing.
    by_state : dict of lane to ndarray, shape (counts + 1, states)
        Prefill only: capacity on each state of a lane; not decreasing in the count.
    """

    pool: int
    best: FloatArray
    by_state: dict[int, FloatArray]

    @property
    def most(self) -> int:
        """Largest count that is worth looking at."""
        return int(self.best.size - 1)


@dataclass(frozen=True)
class Reach:
    """Counts of engines that are worth looking at.

    Attributes
    ----------
    usd_per_hour : float
        Only counts that cost no more: the cost of a known plan. Nothing cheaper is lost.
    spread : float
        Only counts up to this multiple of what the best lane state needs, and a few more. A
        finite spread may lose plans, so it serves to find a first one only.
    whole_flows : bool
        Only lanes that carry the whole demand; for a first plan, too.
    """

    usd_per_hour: float = float("inf")
    spread: float = float("inf")
    whole_flows: bool = False

    def most(self, pool: PoolOption, needed: int) -> int:
        """Largest count of a pool to look at, if the best lane state needs a given count."""
        most = pool.max_engines
        if self.usd_per_hour < float("inf") and pool.usd_per_engine_hour > 0.0:
            most = min(most, int(self.usd_per_hour / pool.usd_per_engine_hour * (1.0 + 1e-9)))
        if self.spread < float("inf"):
            most = min(most, int(np.ceil(self.spread * needed)) + 3)
        return most


class NodeTables:
    """All tables of one node.

    Parameters
    ----------
    model : PathModel
        Rule of the problem; its caches are shared by all nodes.
    threshold_index : int
        Index of the routing threshold.
    slot_wait : float
        Allowed probability of waiting for a slot.
    lanes : frozenset of int, optional
        Lanes that may be opened; all by default.
    reach : Reach, optional
        How far counts are looked at.
    """

    def __init__(
        self,
        model: PathModel,
        threshold_index: int,
        slot_wait: float,
        lanes: frozenset[int] | None = None,
        reach: Reach | None = None,
    ) -> None:
        self.model = model
        self.problem: Problem = model.problem
        self.threshold_index = threshold_index
        self.slot_wait = slot_wait
        self.reach = reach or Reach()
        self.open_lanes = lanes if lanes is not None else frozenset(range(len(self.problem.lanes)))
        self.step_per_s = self.problem.arrival_rate_per_s / self.problem.load_steps

    @cached_property
    def lanes(self) -> tuple[LaneStates, ...]:
        """States of every lane that the line itself, the relay and decode can serve at all."""
        return tuple(self._lane(lane) for lane in sorted(self.open_lanes))

    def keep(self, masks: Sequence[NDArray[np.bool_]]) -> None:
        """Keep only some states of each lane; to be called before capacities are asked for."""
        assert "capacities" not in self.__dict__
        kept = [states.where(mask) for states, mask in zip(self.lanes, masks, strict=True)]
        self.__dict__["lanes"] = tuple(kept)

    def _steps_of(self) -> range:
        """Flows to look at: all steps, or only the whole demand where there is one lane."""
        total = self.problem.load_steps
        whole = len(self.open_lanes) == 1 or self.reach.whole_flows
        return range(total, total + 1) if whole else range(1, total + 1)

    def _lane(self, lane: int) -> LaneStates:
        option, at = self.problem.lanes[lane], self.threshold_index
        states = [(g, s) for g in range(option.bytes_per_s.size) for s in self._steps_of()]
        load_of = self.model.lanes.load
        loads = [load_of(lane, g, s * self.step_per_s) for g, s in states]
        rows = [
            (g, s, option.usd_per_hour[g], load.decode_work_per_s[at], load.relay_erlang[at])
            for (g, s), load in zip(states, loads, strict=True)
            if load and np.isfinite(load.relay_erlang[at]) and load.handoff_ok[at]
        ]
        table = np.array(rows, dtype=np.float64).reshape(-1, 5)
        return LaneStates(
            lane,
            table[:, 0].astype(np.int64),
            table[:, 1].astype(np.int64),
            table[:, 2],
            table[:, 3],
            table[:, 4],
        )

    @cached_property
    def capacities(self) -> dict[int, PoolCapacity]:
        """Capacity of every pool option that can do any work."""
        return {**self.slot_capacities, **self._by_pool("prefill")}

    @cached_property
    def slot_capacities(self) -> dict[int, PoolCapacity]:
        """Capacity of every relay and decode option that can do any work."""
        return {**self._by_pool("relay"), **self._by_pool("decode")}

    def _by_pool(self, role: str) -> dict[int, PoolCapacity]:
        out = {}
        for index, pool in enumerate(self.problem.pools):
            if pool.role == role:
                capacity = self._prefill(index) if role == "prefill" else self._slots(index)
                if capacity is not None and capacity.most > 0:
                    out[index] = capacity
        return out

    def ideal_prefill(self, index: int) -> PoolCapacity:
        """Capacity of a prefill option if transfers took no time: above any real one."""
        pool = self.problem.pools[index]
        demand = self.problem.arrival_rate_per_s
        rate = self.model.prefill[index].engine_rate_per_s / self.problem.peak_multiplier
        first, loads = 1, [np.zeros(1)]
        least = int(np.ceil(demand / rate))
        most = self.reach.most(pool, least)
        while first <= most and loads[-1][-1] < demand:
            ahead = least if first == 1 else 4
            span = range(first, min(most, first + ahead) + 1)
            loads.append(self.model.ideal_capacities(index, list(span), self.slot_wait))
            first = span[-1] + 1
        best = np.minimum(np.maximum.accumulate(np.concatenate(loads)), demand)
        enough = int(np.searchsorted(best, demand * (1.0 - 1e-12)))
        return PoolCapacity(index, best[: enough + 1], {})

    def _slots(self, index: int) -> PoolCapacity | None:
        pool = self.problem.pools[index]
        if pool.role == "relay":
            sent = [s.relay_erlang for s in self.lanes if self._source(s.lane) == pool.site]
            capacity_of = self.model.relay_capacity_erlang
        else:
            sent = [s.decode_work_per_s for s in self.lanes if self._target(s.lane) == pool.site]
            capacity_of = self.model.decode_capacity_per_s
        most_needed = sum(float(work.max(initial=0.0)) for work in sent)
        if most_needed == 0.0:
            return None
        capacity = [0.0]
        for count in range(1, self.reach.most(pool, pool.max_engines) + 1):
            capacity.append(max(capacity[-1], capacity_of(index, count, self.slot_wait)))
            if capacity[-1] >= most_needed and count >= pool.min_engines:
                break
        return PoolCapacity(index, np.array(capacity), {}) if capacity[-1] > 0.0 else None

    def _source(self, lane: int) -> str:
        return self.problem.lanes[lane].source

    def _target(self, lane: int) -> str:
        return self.problem.lanes[lane].target

    def _prefill(self, index: int) -> PoolCapacity | None:
        """Capacities of a prefill option for growing counts until any state is fully served."""
        pool = self.problem.pools[index]
        states = [s for s in self.lanes if self._source(s.lane) == pool.site and s.size]
        keys = [
            (s.lane, int(level), float(steps) * self.step_per_s)
            for s in states
            for level, steps in zip(s.level, s.steps, strict=True)
        ]
        most = self.reach.most(pool, self.ideal_prefill(index).most)
        if not keys or most == 0:
            return None
        blocks = [np.zeros((1, len(keys)))]
        first = 1
        demand = self.problem.arrival_rate_per_s
        while first <= most:
            span = self._span(index, first, most, demand, blocks[-1][-1])
            block = self.model.prefill_capacities(
                index, span, keys, self.threshold_index, self.slot_wait
            )
            blocks.append(block)
            first = span[-1] + 1
            # A state that no count of this size serves at all is not served by one more either.
            alive = block[-1] > 0.0
            if (block[-1][alive] >= demand).all() and span[-1] >= pool.min_engines:
                break
        table = np.minimum(np.maximum.accumulate(np.concatenate(blocks), axis=0), demand)
        if not table.any():
            return None
        cuts = np.cumsum([s.size for s in states])[:-1]
        by_lane = dict(zip([s.lane for s in states], np.split(table, cuts, axis=1), strict=True))
        return PoolCapacity(index, table.max(axis=1), by_lane)

    def _span(
        self, index: int, first: int, most: int, demand: float, reached: FloatArray
    ) -> list[int]:
        """Next few counts to tabulate: up to what the slowest state seems to need."""
        if first == 1:
            path = self.model.prefill[index]
            guess = int(np.ceil(demand / path.engine_rate_per_s)) + 2
            return list(range(1, min(most, guess) + 1))
        alive = reached[reached > 0.0]
        slowest = float(alive.min()) if alive.size else 0.0
        ahead = 4 if slowest == 0.0 else int(np.ceil((demand / slowest - 1.0) * (first - 1)))
        return list(range(first, min(most, first + min(max(ahead, 1), 16) - 1) + 1))
