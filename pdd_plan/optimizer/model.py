"""The MILP of one node in PuLP: a binary for every state of a lane, costs of sites by steps.

A plan is a state of every open lane; each site then takes its cheapest engines. The model holds
costs of sites that are never too high, and is made anew when more has been learned about them.
Variables are named by index and never read back by name.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pulp

from pdd_plan.fleet.problem import BoolArray, FloatArray
from pdd_plan.optimizer.bounds import NodeBounds
from pdd_plan.optimizer.learned import Learned
from pdd_plan.optimizer.mixes import Front
from pdd_plan.optimizer.node import Node
from pdd_plan.optimizer.solver import Outcome, SolverName, solve
from pdd_plan.optimizer.states import IntArray

ROUNDS = 12
"""Most rounds of linear relaxation and costing its paths."""

OPEN = 1e-3
"""Share of a lane state in a linear relaxation from which its path is costed."""

Terms = list[tuple[pulp.LpVariable, float]]


class NodeModel:
    """The PuLP model of a node, and what it has learned.

    Parameters
    ----------
    node : Node
        The node; its states must not change any more.
    bounds : NodeBounds
        Bounds of the node.
    usd_per_hour : float
        Cost of a known plan: only cheaper ones count.
    """

    def __init__(self, node: Node, bounds: NodeBounds, usd_per_hour: float) -> None:
        self.node = node
        self.problem = node.problem
        self.states = node.states
        sent = bounds.by_source.with_group_steps() < usd_per_hour
        taken = bounds.by_target.with_group_steps() < usd_per_hour
        self.possible = dict(zip(self.problem.prefill_sites, sent, strict=True))
        self.taken = dict(zip(self.problem.decode_sites, taken, strict=True))
        self.decode_usd = dict(
            zip(self.problem.decode_sites, bounds.by_target.group_usd, strict=True)
        )
        self.learned = Learned(node, self.possible)
        self.closed = np.zeros(self.states.size, bool)
        self.reduced = np.zeros(self.states.size)

    # --- building ------------------------------------------------------------------------------

    def _build(self, *, whole: bool) -> None:
        self.model = pulp.LpProblem("node", pulp.LpMinimize)
        self.closed |= np.array(
            [np.isinf(self.learned.path_gain(s, with_relay=False)) for s in range(self.states.size)]
        )
        self.open = [
            self._variable(f"x_{k}", 0.0 if self.closed[k] else 1.0, binary=whole)
            for k in range(self.states.size)
        ]
        sites = dict.fromkeys((*self.problem.prefill_sites, *self.problem.decode_sites))
        self.usd: dict[str, Terms] = {site: [] for site in sites}
        self.excess = {}
        for number, site in enumerate(sites):
            self.excess[site] = self._variable(f"e_{number}", None)
            self.usd[site].append((self.excess[site], 1.0))
        self._flow()
        self.relay: dict[str, pulp.LpVariable] = {}
        self.steps: dict[str, list[pulp.LpVariable]] = {}
        for number, site in enumerate(self.problem.prefill_sites):
            self._prefill_site(number, site, whole=whole)
        for number, site in enumerate(self.problem.decode_sites):
            self._decode_site(number, site, whole=whole)
        for row in self.learned.rows:
            site = str(self.node.source[row.state])
            terms = [(self.excess[site], 1.0), (self.open[row.state], -row.gain)]
            if row.with_relay:
                terms.append((self.relay[site], 1.0))
            terms += [(z, -by) for z, by in zip(self.steps[site], np.diff(row.shift), strict=True)]
            self._row(terms, float(row.shift[0]))
        for one in self.learned.site_rows:
            if np.isinf(one.usd_per_hour):
                self.model += pulp.lpSum(self.open[k] for k in one.states) <= len(one.states) - 1
                continue
            terms = list(self.usd[one.site])
            terms += [(self.open[state], -one.usd_per_hour) for state in one.states]
            self._row(terms, one.usd_per_hour * (1.0 - len(one.states)))
        lines = list(zip(self.open, self.states.usd_per_hour.tolist(), strict=True))
        self.model += pulp.LpAffineExpression(
            lines + [term for terms in self.usd.values() for term in terms]
        )

    def _variable(self, name: str, most: float | None, *, binary: bool = False) -> pulp.LpVariable:
        kind = "Integer" if binary else "Continuous"
        return self.model.add_variable(name, lowBound=0, upBound=most, cat=kind)

    def _row(self, terms: Terms, least: float) -> None:
        """Add a row: the sum of the terms is at least a number."""
        self.model += pulp.LpAffineExpression([t for t in terms if t[1] != 0.0]) >= least

    def _flow(self) -> None:
        for at in self.states.by_lane.values():
            self.model += pulp.lpSum(self.open[k] for k in at) <= 1
        steps = zip(self.open, self.states.steps.tolist(), strict=True)
        self.model += pulp.LpAffineExpression(list(steps)) == self.problem.load_steps

    def _steps_of(self, name: str, at: IntArray, possible: BoolArray) -> list[pulp.LpVariable]:
        """Variables that are 1 where a site carries 1, 2, ... steps or more."""
        count = self.problem.load_steps
        steps = [self._variable(f"{name}_{t}", 1.0) for t in range(1, count + 1)]
        carried = [(self.open[k], -float(self.states.steps[k])) for k in at]
        self.model += pulp.LpAffineExpression([(z, 1.0) for z in steps] + carried) == 0
        for number in range(count + 1):
            upper = steps[number - 1] if number else None
            lower = steps[number] if number < count else None
            self._order(upper, lower, equal=not possible[number])
        for lane in np.unique(self.states.lane[at]):
            here = self.states.by_lane[int(lane)]
            for least in np.unique(self.states.steps[here]):
                more = here[self.states.steps[here] >= least]
                self._row([(steps[least - 1], 1.0), *((self.open[k], -1.0) for k in more)], 0.0)
        return steps

    def _order(
        self, upper: pulp.LpVariable | None, lower: pulp.LpVariable | None, *, equal: bool
    ) -> None:
        """Steps come in order; those of an impossible number come and go together."""
        if upper is None and lower is not None and equal:
            lower.lowBound = 1.0
        elif lower is None and upper is not None and equal:
            upper.upBound = 0.0
        elif upper is not None and lower is not None:
            row = upper - lower
            self.model += row == 0 if equal else row >= 0

    # --- sites ---------------------------------------------------------------------------------

    def _prefill_site(self, number: int, site: str, *, whole: bool) -> None:
        at = np.flatnonzero(self.node.source == site)
        self.steps[site] = steps = self._steps_of(f"p{number}", at, self.possible[site])
        prefill = self.node.costs.prefill[site]
        finite = np.where(np.isfinite(prefill), prefill, 0.0)
        gains = zip(steps, np.diff(finite).tolist(), np.isfinite(prefill[1:]), strict=True)
        for z, gain, possible in gains:
            if possible:
                self.usd[site].append((z, gain))
            else:
                z.upBound = 0.0
        self.relay[site] = self._variable(f"r_{number}", None)
        self.usd[site].append((self.relay[site], 1.0))
        front, work = self.node.costs.relay[site], self.states.relay_erlang
        self._slots("relay", site, self.relay[site], at, front, work, whole=whole)
        for with_relay in (False, True):
            excess = [self.learned.path_gain(int(k), with_relay=with_relay) for k in at]
            cost = [(self.excess[site], 1.0)]
            if with_relay:
                cost.append((self.relay[site], 1.0))
            self._by_lane(cost, at, np.where(np.isinf(excess), 0.0, excess))

    def _decode_site(self, number: int, site: str, *, whole: bool) -> None:
        at = np.flatnonzero(self.node.target == site)
        steps = self._steps_of(f"d{number}", at, self.taken[site])
        cost = self._variable(f"c_{number}", None)
        self.usd[site].append((cost, 1.0))
        front, work = self.node.costs.decode[site], self.states.decode_work_per_s
        self._slots("decode", site, cost, at, front, work, whole=whole)
        least = self.decode_usd[site]
        finite = np.where(np.isfinite(least), least, least[np.isfinite(least)].max())
        gains = zip(steps, np.diff(finite).tolist(), strict=True)
        self._row([(cost, 1.0), *((z, -gain) for z, gain in gains)], 0.0)

    def _slots(
        self,
        role: str,
        site: str,
        cost: pulp.LpVariable,
        at: IntArray,
        front: Front,
        work: FloatArray,
        *,
        whole: bool,
    ) -> None:
        """Cost of relay or decode: hull of all mixes, each lane by itself, and what is learned."""
        within = front.within(work[at], self.states.steps[at], self.problem.load_steps)
        amount = [(self.open[k], float(w)) for k, w in zip(at, within, strict=True) if w > 0.0]
        if not amount:
            return
        usd = front.cost(within)
        for state in at[np.isinf(usd)]:
            self.open[state].upBound = 0.0
        self._by_lane([(cost, 1.0)], at, np.where(np.isinf(usd), 0.0, usd))
        for slope, height in front.hull:
            self._row([(cost, 1.0), *((x, -slope * w) for x, w in amount)], height)
        if front.whole:
            self._row([(x, -w) for x, w in amount], -front.most * (1.0 + 1e-7))
        if not whole:
            return
        known = sorted(self.learned.thresholds.get((role, site), ()))
        for number, below in enumerate(known):
            beyond = self._variable(f"{cost.name}_{number}", 1.0, binary=True)
            usd_beyond = front.after(below)
            if np.isinf(usd_beyond):
                beyond.upBound, usd_beyond = 0.0, 0.0
            room = max(front.most - below, 0.0)
            self._row([(beyond, room), *((x, -w) for x, w in amount)], -below * (1.0 + 1e-7))
            self._row([(cost, 1.0), (beyond, -usd_beyond)], 0.0)

    def _by_lane(self, cost: Terms, at: IntArray, usd: FloatArray) -> None:
        """The cost of a site is at least that of the state of each of its lanes."""
        for lane in np.unique(self.states.lane[at]):
            here = self.states.lane[at] == lane
            terms = [
                (self.open[k], -float(u))
                for k, u in zip(at[here], usd[here], strict=True)
                if u > 0.0
            ]
            if terms:
                self._row([*cost, *terms], 0.0)

    # --- solving -------------------------------------------------------------------------------

    def relax(
        self, solver: SolverName, left_s: Callable[[], float], known_bound: float
    ) -> tuple[float, list[int]]:
        """Solve the linear relaxation until its paths are costed with their waits.

        Returns
        -------
        bound : float
            Lower bound on the cost of the node.
        states : list of int
            Open states of the solution, the largest of each lane; empty where there is none.
        """
        bound, chosen = known_bound, []
        for _ in range(ROUNDS):
            if left_s() <= 0.0:
                break
            self._build(whole=False)
            outcome = solve(self.model, solver, left_s(), bound, relaxed=True)
            bound = max(bound, outcome.bound)
            if not (outcome.solved and outcome.feasible):
                break
            values = np.array([x.varValue or 0.0 for x in self.open])
            reduced = [max(float(x.dj or 0.0), 0.0) for x in self.open]
            self.reduced = np.maximum(self.reduced, outcome.bound + np.array(reduced))
            open_states = np.flatnonzero(values > OPEN)
            chosen = [int(at[np.argmax(values[at])]) for at in self.states.by_lane.values()]
            chosen = [k for k in chosen if values[k] > OPEN]
            if not self.learned.learn_paths(open_states.tolist()):
                break
        return bound, chosen

    def close(self, usd_per_hour: float) -> None:
        """Close lane states that cost more than a known plan in the linear relaxation.

        A state with reduced cost d is not open in any solution below bound + d.
        """
        self.closed |= self.reduced > usd_per_hour * (1.0 + 1e-9)

    def solve(self, solver: SolverName, time_limit_s: float, known_bound: float) -> Outcome:
        """Solve the model as learned so far; see :func:`pdd_plan.optimizer.solver.solve`."""
        self._build(whole=True)
        return solve(self.model, solver, time_limit_s, known_bound)

    def chosen(self) -> list[int]:
        """Open states of the solution that the variables hold."""
        return [k for k, x in enumerate(self.open) if (x.varValue or 0.0) > 0.5]

    def learn(self) -> bool:
        """Learn where the solution costs more than the model says; False where it does not."""
        usd = {
            site: sum(weight * float(variable.varValue or 0.0) for variable, weight in terms)
            for site, terms in self.usd.items()
        }
        return self.learned.learn(self.chosen(), usd)
