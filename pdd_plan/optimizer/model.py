"""The MILP of one node in PuLP: unary counts of engines, a binary for every state of a lane.

Variables are named by index and never read back by name. The model holds the planning rule
exactly, but for the coupling of prefill pools to lane states, whose rows are added when a
solution breaks them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pulp

from pdd_plan.fleet.problem import Candidate, FloatArray
from pdd_plan.optimizer.solver import Outcome, SolverName, solve
from pdd_plan.optimizer.tables import LaneStates, NodeTables, PoolCapacity

FIRST_ROWS = 24
"""Coupling rows a lane starts with; the others are added when a solution breaks them."""

SLACK = 1e-7
"""Relative slack of capacity rows, as in the check."""


@dataclass(frozen=True)
class Solution:
    """Values of a solved node: engines per pool option, chosen state per lane (or -1)."""

    engines: tuple[int, ...]
    states: tuple[int, ...]


class NodeModel:
    """The PuLP model of a node.

    Parameters
    ----------
    tables : NodeTables
        Tables of the node.
    """

    def __init__(self, tables: NodeTables) -> None:
        self.tables = tables
        self.problem = tables.problem
        self.rows_added = 0
        sources = {self.problem.lanes[s.lane].source for s in tables.lanes}
        self.one_site = len(sources) == 1
        self._seen: set[tuple[str, int, int]] = set()
        self._reduced: dict[int, list[float]] = {}
        self.model = pulp.LpProblem("node", pulp.LpMinimize)
        self.open = {
            states.lane: [
                self.model.add_variable(f"w_{states.lane}_{k}", cat="Binary")
                for k in range(states.size)
            ]
            for states in tables.lanes
        }
        self.count = {
            index: [
                self.model.add_variable(f"y_{index}_{n}", cat="Binary")
                for n in range(1, capacity.most + 1)
            ]
            for index, capacity in tables.capacities.items()
        }
        self._objective()
        self._lanes()
        self._slot_sites()
        self._prefill_sites()
        self._stock()

    # --- rows ----------------------------------------------------------------------------------

    def _objective(self) -> None:
        terms = [
            (variable, self.problem.pools[index].usd_per_engine_hour)
            for index, variables in self.count.items()
            for variable in variables
        ]
        for states in self.tables.lanes:
            terms += zip(self.open[states.lane], states.usd_per_hour.tolist(), strict=True)
        self.model += pulp.LpAffineExpression(terms)

    def _lanes(self) -> None:
        flow: list[tuple[pulp.LpVariable, float]] = []
        for states in self.tables.lanes:
            variables = self.open[states.lane]
            if variables:
                self.model += pulp.lpSum(variables) <= 1
            flow += zip(variables, states.steps.tolist(), strict=True)
        self.model += pulp.LpAffineExpression(flow) == self.problem.load_steps
        for index, variables in self.count.items():
            for lower, upper in pairwise(variables):
                self.model += upper <= lower
            for further in variables[1 : self.problem.pools[index].min_engines]:
                self.model += further == variables[0]

    def _slot_sites(self) -> None:
        """Relay and decode: the work of the lanes' states must fit the pools' capacity."""
        for site in self.problem.decode_sites:
            lanes = [s for s in self.tables.lanes if self.problem.lanes[s.lane].target == site]
            self._work_fits(site, "decode", [(s, s.decode_work_per_s) for s in lanes])
        for site in self.problem.prefill_sites:
            lanes = [s for s in self.tables.lanes if self.problem.lanes[s.lane].source == site]
            self._work_fits(site, "relay", [(s, s.relay_erlang) for s in lanes])

    def _work_fits(
        self, site: str, role: str, works: Sequence[tuple[LaneStates, FloatArray]]
    ) -> None:
        work = [
            (variable, float(amount) * (1.0 - SLACK))
            for states, amounts in works
            for variable, amount in zip(self.open[states.lane], amounts, strict=True)
            if amount > 0.0
        ]
        if work:
            pools = self._pools(site, role)
            capacity = [term for p in pools for term in self._steps(p.pool, p.best)]
            self.model += pulp.LpAffineExpression(work + _negative(capacity)) <= 0
            first = [self.count[p.pool][0] for p in pools]
            for states, amounts in works:
                busy = [v for v, a in zip(self.open[states.lane], amounts, strict=True) if a > 0.0]
                if busy:
                    self.model += pulp.lpSum(busy) <= pulp.lpSum(first)

    def _pools(self, site: str, role: str) -> list[PoolCapacity]:
        return [
            self.tables.capacities[i]
            for i in self.problem.pool_indices(site, role)  # type: ignore[arg-type]
            if i in self.tables.capacities
        ]

    def _steps(self, pool: int, capacity: FloatArray) -> list[tuple[pulp.LpVariable, float]]:
        """Terms of a staircase: what each further engine adds."""
        return [
            (variable, gain)
            for variable, gain in zip(self.count[pool], np.diff(capacity).tolist(), strict=True)
            if gain != 0.0
        ]

    def _stock(self) -> None:
        by_stock: dict[tuple[str, str], list[tuple[pulp.LpVariable, float]]] = {}
        by_site: dict[str, list[tuple[pulp.LpVariable, float]]] = {}
        for index, variables in self.count.items():
            pool = self.problem.pools[index]
            chips = by_stock.setdefault((pool.site, pool.chip), [])
            chips += [(v, pool.chips_per_engine) for v in variables]
            watts = by_site.setdefault(pool.site, [])
            watts += [(v, pool.watts_per_engine) for v in variables]
        for key, terms in by_stock.items():
            self.model += pulp.LpAffineExpression(terms) <= self.problem.stock[key]
        for site, budget in self.problem.site_watts.items():
            self.model += pulp.LpAffineExpression(by_site.get(site, [])) <= budget

    # --- coupling of prefill pools to the lanes of their site -----------------------------------

    def _prefill_sites(self) -> None:
        self.load: dict[int, pulp.LpVariable] = {}
        for site in self.problem.prefill_sites:
            pools = self._pools(site, "prefill")
            lanes = [s for s in self.tables.lanes if self.problem.lanes[s.lane].source == site]
            for states in lanes:
                self._first_engine(states, pools)
            flow = self._flow(lanes)
            capacity = [term for p in pools for term in self._steps(p.pool, p.best)]
            if len(pools) > 1 and len(lanes) > 1:
                for p in pools:
                    self.load[p.pool] = self.model.add_variable(f"l_{p.pool}", lowBound=0)
                    steps = _negative(self._steps(p.pool, p.best))
                    self.model += pulp.LpAffineExpression([(self.load[p.pool], 1), *steps]) <= 0
                shared = [(self.load[p.pool], -1) for p in pools]
                self.model += pulp.LpAffineExpression(flow + shared) <= 0
            elif flow:
                self.model += pulp.LpAffineExpression(flow + _negative(capacity)) <= 0
            for states in lanes:
                for state in self._first_states(states, pools):
                    self.couple(states, state)

    def _first_engine(self, states: LaneStates, pools: Sequence[PoolCapacity]) -> None:
        """A lane is open only where some prefill engine can serve it in that state."""
        variables = self.open[states.lane]
        for state in range(states.size):
            if not any(p.by_state[states.lane][:, state].any() for p in pools):
                self.model += variables[state] == 0
        if variables:
            first = [self.count[p.pool][0] for p in pools]
            self.model += pulp.lpSum(variables) <= pulp.lpSum(first)

    def _flow(self, lanes: Sequence[LaneStates]) -> list[tuple[pulp.LpVariable, float]]:
        step = self.tables.step_per_s * (1.0 - SLACK)
        return [
            (variable, steps * step)
            for states in lanes
            for variable, steps in zip(self.open[states.lane], states.steps.tolist(), strict=True)
        ]

    def _first_states(self, states: LaneStates, pools: Sequence[PoolCapacity]) -> list[int]:
        """States whose coupling rows the model starts with: spread over how much they cost."""
        if not states.size or not pools:
            return []
        quality = sum(p.by_state[states.lane].sum(axis=0) for p in pools)
        order = np.argsort(np.asarray(quality), kind="stable")
        if order.size > FIRST_ROWS:
            picks = np.linspace(0, order.size - 1, FIRST_ROWS).round().astype(np.int64)
            order = order[picks]
        return [int(state) for state in order]

    def couple(self, states: LaneStates, state: int) -> bool:
        """Add the rows that hold while a lane is in a state, or in any state no better.

        Returns
        -------
        bool
            False where the rows are in the model already.

        Notes
        -----
        Let S be the states whose capacities are nowhere above those of the given state, L its
        staircase. If the lane is in S, the flow of the site is at most the sum of L over the
        pools. The row ``flow in S <= sum of L`` holds always since the right side is not
        negative; with one prefill site the flow is the whole demand.
        """
        key = ("site", states.lane, state)
        if key in self._seen:
            return False
        self._seen.add(key)
        site = self.problem.lanes[states.lane].source
        pools = self._pools(site, "prefill")
        lanes = [s for s in self.tables.lanes if self.problem.lanes[s.lane].source == site]
        inside = self._no_better(states, state, pools)
        members = [self.open[states.lane][k] for k in np.flatnonzero(inside)]
        staircases = [(p.pool, p.by_state[states.lane][:, state]) for p in pools]
        capacity = [term for pool, stairs in staircases for term in self._steps(pool, stairs)]
        demand = self.problem.arrival_rate_per_s * (1.0 - SLACK)
        if self.one_site:
            if len(pools) == 1:
                self._whole_count(members, staircases[0], demand)
            row = [(member, demand) for member in members]
            self.model += pulp.LpAffineExpression(row + _negative(capacity)) <= 0
        else:
            step = self.tables.step_per_s * (1.0 - SLACK)
            own = [
                (self.open[states.lane][k], float(states.steps[k]) * step)
                for k in np.flatnonzero(inside)
            ]
            self.model += pulp.LpAffineExpression(own + _negative(capacity)) <= 0
            spare = sum(float((p.best - p.by_state[states.lane][:, state]).max()) for p in pools)
            flow = self._flow(lanes) + [(member, spare) for member in members]
            self.model += pulp.LpAffineExpression(_merged(flow) + _negative(capacity)) <= spare
        self.rows_added += 1
        return True

    def _no_better(
        self, states: LaneStates, state: int, pools: Sequence[PoolCapacity]
    ) -> np.ndarray:
        inside = np.ones(states.size, bool)
        for p in pools:
            table = p.by_state[states.lane]
            inside &= (table <= table[:, [state]] * (1.0 + 1e-12)).all(axis=0)
        return inside

    def _whole_count(
        self, members: list[pulp.LpVariable], pool: tuple[int, FloatArray], demand: float
    ) -> None:
        """One pool: states that need n engines force the n-th engine, in whole numbers."""
        index, stairs = pool
        needed = int((stairs < demand).sum())
        if needed > len(self.count[index]):
            self.model += pulp.lpSum(members) == 0
        elif needed > 0:
            self.model += pulp.lpSum(members) <= self.count[index][needed - 1]

    def couple_pool(self, states: LaneStates, state: int, pool: int) -> bool:
        """Add the row that bounds the load of one pool while a lane is in a state or a worse one.

        Returns
        -------
        bool
            False where the row is in the model already.
        """
        key = (f"pool {pool}", states.lane, state)
        if key in self._seen or pool not in self.load:
            return False
        self._seen.add(key)
        capacity = self.tables.capacities[pool]
        stairs = capacity.by_state[states.lane][:, state]
        inside = self._no_better(states, state, [capacity])
        spare = float((capacity.best - stairs).max())
        row = [(self.load[pool], 1.0), *_negative(self._steps(pool, stairs))]
        row += [(self.open[states.lane][k], spare) for k in np.flatnonzero(inside)]
        self.model += pulp.LpAffineExpression(row) <= spare
        self.rows_added += 1
        return True

    # --- solving -------------------------------------------------------------------------------

    def solve(self, solver: SolverName, time_limit_s: float, known_bound: float) -> Outcome:
        """Solve the model as it stands; see :func:`pdd_plan.optimizer.solver.solve`."""
        return solve(self.model, solver, time_limit_s, known_bound)

    def relax(self, solver: SolverName, time_limit_s: float, known_bound: float) -> Outcome:
        """Solve the linear relaxation and remember what each lane state costs in it."""
        outcome = solve(self.model, solver, time_limit_s, known_bound, relaxed=True)
        self._reduced = {}
        if outcome.solved and outcome.feasible:
            for lane, variables in self.open.items():
                self._reduced[lane] = [
                    outcome.bound + max(float(variable.dj or 0.0), 0.0) for variable in variables
                ]
        return outcome

    def close_states(self, usd_per_hour: float) -> None:
        """Close lane states that cost more than a known plan in the linear relaxation.

        A state with reduced cost d cannot be open in any solution below bound + d.
        """
        for lane, bounds in self._reduced.items():
            for variable, bound in zip(self.open[lane], bounds, strict=True):
                if bound > usd_per_hour * (1.0 + 1e-9):
                    variable.upBound = 0

    def solution(self) -> Solution:
        """Engines and lane states of the solution that the variables hold."""
        engines = [0] * len(self.problem.pools)
        for index, variables in self.count.items():
            engines[index] = sum(round(v.varValue or 0.0) for v in variables)
        states = [-1] * len(self.problem.lanes)
        for lane, variables in self.open.items():
            for k, variable in enumerate(variables):
                if (variable.varValue or 0.0) > 0.5:
                    states[lane] = k
        return Solution(tuple(engines), tuple(states))

    def candidate(self, solution: Solution) -> Candidate:
        """The solution as a candidate of the problem."""
        levels = [-1] * len(self.problem.lanes)
        flows = [0.0] * len(self.problem.lanes)
        for states in self.tables.lanes:
            k = solution.states[states.lane]
            if k >= 0:
                levels[states.lane] = int(states.level[k])
                flows[states.lane] = float(states.steps[k]) * self.tables.step_per_s
        return Candidate(
            self.tables.threshold_index,
            self.tables.slot_wait,
            solution.engines,
            tuple(levels),
            tuple(flows),
        )

    def repair(self, solution: Solution) -> bool:
        """Add coupling rows that the solution breaks.

        Returns
        -------
        bool
            Whether any row was added; False means that the solution keeps the rule.
        """
        added = False
        for site in self.problem.prefill_sites:
            used = [
                (s, solution.states[s.lane])
                for s in self.tables.lanes
                if self.problem.lanes[s.lane].source == site and solution.states[s.lane] >= 0
            ]
            flow = sum(float(s.steps[k]) for s, k in used) * self.tables.step_per_s
            pools = self._pools(site, "prefill")
            at_lane = {
                (p.pool, s.lane): p.by_state[s.lane][solution.engines[p.pool], k]
                for p in pools
                for s, k in used
            }
            needed = flow * (1.0 - SLACK)
            for s, k in used:
                if sum(at_lane[p.pool, s.lane] for p in pools) < needed:
                    added |= self.couple(s, k)
            worst = sum(min(at_lane[p.pool, s.lane] for s, _ in used) for p in pools if used)
            if used and worst < needed and not added:
                for s, k in used:
                    for p in pools:
                        added |= self.couple_pool(s, k, p.pool)
        return added


def _negative(
    terms: Sequence[tuple[pulp.LpVariable, float]],
) -> list[tuple[pulp.LpVariable, float]]:
    return [(variable, -value) for variable, value in terms]


def _merged(
    terms: Sequence[tuple[pulp.LpVariable, float]],
) -> list[tuple[pulp.LpVariable, float]]:
    """Terms with repeated variables added up."""
    total: dict[pulp.LpVariable, float] = {}
    for variable, value in terms:
        total[variable] = total.get(variable, 0.0) + value
    return list(total.items())
