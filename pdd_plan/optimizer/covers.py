"""Cheapest mixes of engines that carry a given amount of work, and lower bounds made of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from pdd_plan.fleet.problem import FloatArray, Problem, Role
from pdd_plan.optimizer.tables import NodeTables, PoolCapacity

Front = tuple[FloatArray, FloatArray]
"""Undominated capacities and their costs, both rising."""

SLACK = 1e-7
"""Relative slack of capacity sums, as in the check."""


class Cover:
    """Cheapest cost of a total capacity from several pools, each a staircase in its count.

    Parameters
    ----------
    staircases : sequence of (price, capacity)
        Price of an engine, and capacity with 0, 1, ... engines.
    """

    def __init__(self, staircases: Sequence[tuple[float, FloatArray]]) -> None:
        points: list[Front] = [
            (stairs, price * np.arange(stairs.size, dtype=np.float64))
            for price, stairs in staircases
        ]
        start: Front = (np.zeros(1), np.zeros(1))
        self.capacity, self.cost = reduce(_add, points, start)

    @classmethod
    def of_pools(cls, pools: Sequence[PoolCapacity], problem: Problem) -> Cover:
        """Cover by whole pools at their best capacity."""
        return cls([(problem.pools[p.pool].usd_per_engine_hour, p.best) for p in pools])

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


def _add(left: Front, right: Front) -> Front:
    """Undominated sums of two lists of (capacity, cost), by rising capacity."""
    capacity = np.add.outer(left[0], right[0]).ravel()
    cost = np.add.outer(left[1], right[1]).ravel()
    order = np.lexsort((cost, -capacity))  # falling capacity, then rising cost
    capacity, cost = capacity[order], cost[order]
    cheapest_before = np.concatenate([[np.inf], np.minimum.accumulate(cost)[:-1]])
    keep = cost < cheapest_before
    return capacity[keep][::-1], cost[keep][::-1]


def node_bound(tables: NodeTables, *, quick: bool = False) -> float:
    """Lower bound on the cost of a node from covers, without a solver [currency/h].

    Parameters
    ----------
    tables : NodeTables
        The node.
    quick : bool
        Let transfers take no time for prefill, so that no lane state needs a table.

    Notes
    -----
    Every part of the cost is bounded on its own: stock shared by roles is left out. With one
    prefill site and one or two lanes all pairs of states are looked at; otherwise costs of pools
    enter by their least cost a unit, which is additive over lanes, and the flow is shared out by
    dynamic programming over steps.
    """
    problem = tables.problem
    if bounds_are_tight(tables):
        return _bound_of_pairs(tables, quick)
    return float(_least_by_steps(tables, _state_costs(tables, quick))[problem.load_steps])


def bounds_are_tight(tables: NodeTables) -> bool:
    """Whether `node_bound` looks at every combination of lane states."""
    sources = {tables.problem.lanes[states.lane].source for states in tables.lanes}
    return len(sources) <= 1 and len(tables.lanes) <= 2


def drop_hopeless_states(tables: NodeTables, usd_per_hour: float) -> None:
    """Drop lane states that no plan cheaper than a known one can use.

    Parameters
    ----------
    tables : NodeTables
        Node; its states are dropped in place, before waiting times are tabulated for them.
    usd_per_hour : float
        Cost of the known plan; infinite drops nothing.
    """
    problem = tables.problem
    if usd_per_hour == float("inf") or not tables.lanes:
        return
    if bounds_are_tight(tables):
        tables.keep(_cheap_in_pairs(tables, usd_per_hour))
        return
    costs = _state_costs(tables, quick=True)
    least = _least_by_steps(tables, costs)
    masks = [
        cost + least[problem.load_steps - states.steps] < usd_per_hour
        for states, cost in zip(tables.lanes, costs, strict=True)
    ]
    tables.keep(masks)


def _cheap_in_pairs(tables: NodeTables, usd_per_hour: float) -> list[np.ndarray]:
    """Which states belong to a combination that may be cheaper than a known plan."""
    site = tables.problem.lanes[tables.lanes[0].lane].source
    pools = _prefill_pools(tables, site, quick=True)
    cheapest = float(Cover.of_pools(pools, tables.problem)(tables.problem.arrival_rate_per_s))
    costs, combinations = _combinations(tables, site)
    masks = {states.lane: np.zeros(states.size, bool) for states in tables.lanes}
    for position in np.flatnonzero(costs + cheapest < usd_per_hour):
        for lane, state in combinations[position]:
            masks[lane][state] = True
    return [masks[states.lane] for states in tables.lanes]


def _state_costs(tables: NodeTables, quick: bool) -> list[FloatArray]:
    """Lower bound on what each state of each lane adds to the cost, additive over lanes."""
    problem = tables.problem
    prefill = {s: _prefill_cover(tables, s, quick).least_slope for s in problem.prefill_sites}
    relay = {s: _cover(tables, s, "relay").least_slope for s in problem.prefill_sites}
    decode = {s: _cover(tables, s, "decode").least_slope for s in problem.decode_sites}
    out = []
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
        out.append(np.nan_to_num(cost, nan=np.inf, posinf=np.inf))
    return out


def _least_by_steps(tables: NodeTables, costs: list[FloatArray]) -> FloatArray:
    """Least sum of state costs for every number of steps of flow, by dynamic programming."""
    total = tables.problem.load_steps
    best = np.full(total + 1, np.inf)
    best[0] = 0.0
    for states, cost in zip(tables.lanes, costs, strict=True):
        by_steps = np.full(total + 1, np.inf)
        np.minimum.at(by_steps, states.steps, cost)
        by_steps[0] = 0.0
        best = np.array([(best[: s + 1] + by_steps[s::-1]).min() for s in range(total + 1)])
    return best


def _cover(tables: NodeTables, site: str, role: Role) -> Cover:
    pools = tables.slot_capacities
    here = [pools[i] for i in tables.problem.pool_indices(site, role) if i in pools]
    return Cover.of_pools(here, tables.problem)


def _prefill_pools(tables: NodeTables, site: str, quick: bool) -> list[PoolCapacity]:
    indices = tables.problem.pool_indices(site, "prefill")
    if quick:
        return [tables.ideal_prefill(i) for i in indices]
    return [tables.capacities[i] for i in indices if i in tables.capacities]


def _prefill_cover(tables: NodeTables, site: str, quick: bool) -> Cover:
    return Cover.of_pools(_prefill_pools(tables, site, quick), tables.problem)


def _bound_of_pairs(tables: NodeTables, quick: bool) -> float:
    """Bound for one prefill site and one or two lanes: the least over states or pairs of them.

    Exact but for stock shared by roles. Prefill is first costed at its best capacity, and
    exactly only for combinations that may still be the cheapest.
    """
    site = tables.problem.lanes[tables.lanes[0].lane].source
    pools = _prefill_pools(tables, site, quick)
    demand = tables.problem.arrival_rate_per_s
    cheapest = float(Cover.of_pools(pools, tables.problem)(demand))
    costs, combinations = _combinations(tables, site)
    order = np.argsort(costs, kind="stable")
    if quick:
        return float(costs[order[0]]) + cheapest if order.size else float("inf")
    best = float("inf")
    for position in order:
        cost = float(costs[position])
        if cost + cheapest >= best:
            break
        best = min(best, cost + _prefill_cost(tables, pools, combinations[position]))
    return best


def _combinations(
    tables: NodeTables, site: str
) -> tuple[FloatArray, list[tuple[tuple[int, int], ...]]]:
    """Cost of all but prefill, and the (lane, state) pairs, of every way to carry the demand."""
    problem = tables.problem
    relay = _cover(tables, site, "relay")
    costs: list[FloatArray] = []
    combinations: list[tuple[tuple[int, int], ...]] = []
    parts = []
    for states in tables.lanes:
        decode = _cover(tables, problem.lanes[states.lane].target, "decode")
        cost = states.usd_per_hour + decode(states.decode_work_per_s)
        parts.append((states, cost))
        whole = np.flatnonzero(states.steps == problem.load_steps)
        costs.append(cost[whole] + relay(states.relay_erlang[whole]))
        combinations += [((states.lane, int(k)),) for k in whole]
    if len(parts) == 2:
        (a, cost_a), (b, cost_b) = parts
        rows, columns = np.nonzero(np.add.outer(a.steps, b.steps) == problem.load_steps)
        relayed = relay(a.relay_erlang[rows] + b.relay_erlang[columns])
        costs.append(cost_a[rows] + cost_b[columns] + relayed)
        combinations += [
            ((a.lane, int(k)), (b.lane, int(m))) for k, m in zip(rows, columns, strict=True)
        ]
    return np.concatenate(costs), combinations


def _prefill_cost(
    tables: NodeTables, pools: Sequence[PoolCapacity], states: tuple[tuple[int, int], ...]
) -> float:
    """Least prefill cost of the whole demand while lanes are in given states."""
    staircases = [
        (
            tables.problem.pools[p.pool].usd_per_engine_hour,
            np.min([p.by_state[lane][:, k] for lane, k in states], axis=0),
        )
        for p in pools
    ]
    return float(Cover(staircases)(tables.problem.arrival_rate_per_s))
