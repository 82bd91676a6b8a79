"""Cheapest mixes of engines that carry a given amount of work, and lower bounds made of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from pdd_plan.fleet.problem import FloatArray, Problem, Role
from pdd_plan.optimizer.tables import LaneStates, NodeTables, PoolCapacity

MIX_LIMIT = 200_000
"""Mixes of two pools compared at once; above that a weaker bound is used."""

SLACK = 1e-7
"""Relative slack of capacity sums, as in the check."""


class Cover:
    """Cheapest cost of a total capacity from several pools, each a staircase in its count.

    Parameters
    ----------
    pools : sequence of PoolCapacity
        Staircases; the cost of a count is the count times the engine's price.
    problem : Problem
        For the prices.
    """

    def __init__(self, pools: Sequence[PoolCapacity], problem: Problem) -> None:
        points = [
            (p.best, problem.pools[p.pool].usd_per_engine_hour * np.arange(p.best.size))
            for p in pools
        ]
        start = (np.zeros(1), np.zeros(1))
        self.capacity, self.cost = reduce(_add, points, start)

    def __call__(self, needed: FloatArray | float) -> FloatArray:
        """Least cost of each amount of work; infinite where it cannot be carried."""
        wanted = np.asarray(needed, dtype=np.float64) * (1.0 - SLACK)
        at = np.searchsorted(self.capacity, wanted, side="left")
        costs = np.append(self.cost, np.inf)
        return np.asarray(costs[np.minimum(at, self.cost.size)])

    @property
    def least_slope(self) -> float:
        """Least cost of a unit of capacity over all mixes; infinite without capacity."""
        useful = self.capacity > 0.0
        if not useful.any():
            return float("inf")
        return float((self.cost[useful] / self.capacity[useful]).min())


def _add(
    left: tuple[FloatArray, FloatArray], right: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Undominated sums of two lists of (capacity, cost), by rising capacity."""
    capacity = np.add.outer(left[0], right[0]).ravel()
    cost = np.add.outer(left[1], right[1]).ravel()
    order = np.lexsort((cost, -capacity))  # falling capacity, then rising cost
    capacity, cost = capacity[order], cost[order]
    cheapest_before = np.concatenate([[np.inf], np.minimum.accumulate(cost)[:-1]])
    keep = cost < cheapest_before
    return capacity[keep][::-1], cost[keep][::-1]


def prefill_cost_by_state(
    tables: NodeTables, pools: Sequence[PoolCapacity], states: LaneStates
) -> FloatArray:
    """Least prefill cost if the whole demand meets each state of a lane, shape (states,).

    Exact for one or two pools, a lower bound for more.
    """
    problem = tables.problem
    demand = problem.arrival_rate_per_s
    prices = [problem.pools[p.pool].usd_per_engine_hour for p in pools]
    needed = demand * (1.0 - SLACK)
    if not pools:
        return np.full(states.size, np.inf)
    if len(pools) == 1:
        return _cheapest_count(pools[0].by_state[states.lane], needed, prices[0])
    first, second = (pools[0].by_state[states.lane], pools[1].by_state[states.lane])
    if len(pools) > 2 or first.shape[0] * states.size > MIX_LIMIT:
        return Cover(pools, problem)(np.full(states.size, demand))
    best = np.full(states.size, np.inf)
    for count in range(first.shape[0]):
        rest = needed - first[count]
        missing = (second < rest).sum(axis=0)  # rising in the count, so this is the count needed
        cost = count * prices[0] + missing * prices[1]
        best = np.minimum(best, np.where(missing < second.shape[0], cost, np.inf))
    return best


def _cheapest_count(by_state: FloatArray, needed: float, price: float) -> FloatArray:
    count = (by_state < needed).sum(axis=0)
    return np.where(count < by_state.shape[0], count * price, np.inf)


def node_bound(tables: NodeTables, *, quick: bool = False) -> float:
    """Lower bound on the cost of a node from covers, without a solver [currency/h].

    Parameters
    ----------
    tables : NodeTables
        The node.
    quick : bool
        Ask of prefill only that it be stable, so that no waiting times are needed.

    Notes
    -----
    Every part of the cost is bounded on its own: stock shared by roles is left out. With one
    prefill site and one or two lanes all pairs of states are looked at; otherwise costs of pools
    enter by their least cost a unit, which is additive over lanes, and the flow is shared out by
    dynamic programming over steps.
    """
    problem = tables.problem
    sources = {problem.lanes[states.lane].source for states in tables.lanes}
    if len(sources) == 1 and len(tables.lanes) <= 2:
        return _bound_of_pairs(tables, quick)
    total = problem.load_steps
    prefill = {s: _prefill_cover(tables, s, quick).least_slope for s in problem.prefill_sites}
    relay = {s: _cover(tables, s, "relay").least_slope for s in problem.prefill_sites}
    decode = {s: _cover(tables, s, "decode").least_slope for s in problem.decode_sites}
    best = np.full(total + 1, np.inf)
    best[0] = 0.0
    for states in tables.lanes:
        lane = problem.lanes[states.lane]
        with np.errstate(invalid="ignore"):
            relayed = np.where(
                states.relay_erlang > 0.0, states.relay_erlang * relay[lane.source], 0.0
            )
            cost = (
                states.usd_per_hour
                + states.decode_work_per_s * decode[lane.target]
                + states.steps * tables.step_per_s * prefill[lane.source]
                + relayed
            )
        by_steps = np.full(total + 1, np.inf)
        np.minimum.at(by_steps, states.steps, np.nan_to_num(cost, nan=np.inf, posinf=np.inf))
        by_steps[0] = 0.0
        best = np.array([(best[: s + 1] + by_steps[s::-1]).min() for s in range(total + 1)])
    return float(best[total])


def _cover(tables: NodeTables, site: str, role: Role) -> Cover:
    pools = tables.slot_capacities
    here = [pools[i] for i in tables.problem.pool_indices(site, role) if i in pools]
    return Cover(here, tables.problem)


def _prefill_pools(tables: NodeTables, site: str, quick: bool) -> list[PoolCapacity]:
    indices = tables.problem.pool_indices(site, "prefill")
    if quick:
        return [tables.stable_prefill(i) for i in indices]
    return [tables.capacities[i] for i in indices if i in tables.capacities]


def _prefill_cover(tables: NodeTables, site: str, quick: bool) -> Cover:
    return Cover(_prefill_pools(tables, site, quick), tables.problem)


def _bound_of_pairs(tables: NodeTables, quick: bool) -> float:
    """Bound for one prefill site and one or two lanes: the least over states or pairs of them."""
    problem = tables.problem
    site = problem.lanes[tables.lanes[0].lane].source
    pools = _prefill_pools(tables, site, quick)
    demand = problem.arrival_rate_per_s
    relay = _cover(tables, site, "relay")
    parts = []
    for states in tables.lanes:
        decode = _cover(tables, problem.lanes[states.lane].target, "decode")
        cost = states.usd_per_hour + decode(states.decode_work_per_s)
        if quick:
            prefill = Cover(pools, problem)(np.full(states.size, demand))
        else:
            prefill = prefill_cost_by_state(tables, pools, states)
        parts.append((states, cost, prefill))
    best = np.inf
    for states, cost, prefill in parts:
        whole = states.steps == problem.load_steps
        if whole.any():
            total = cost + prefill + relay(states.relay_erlang)
            best = min(best, float(total[whole].min()))
    if len(parts) == 2:
        (a, cost_a, prefill_a), (b, cost_b, prefill_b) = parts
        rows, columns = np.nonzero(np.add.outer(a.steps, b.steps) == problem.load_steps)
        if rows.size:
            total = (
                cost_a[rows]
                + cost_b[columns]
                + np.maximum(prefill_a[rows], prefill_b[columns])
                + relay(a.relay_erlang[rows] + b.relay_erlang[columns])
            )
            best = min(best, float(total.min()))
    return best
