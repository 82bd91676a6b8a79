"""Best-first search over thresholds and slot waits, one MILP each, with a certificate.

Lower bound: the least bound of all nodes. Upper bound: the cheapest candidate that passed the
check. Both are valid at any moment, so an interrupted search still tells how good its plan is.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np

from pdd_plan.fleet.check import check
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import BoolArray, Candidate, FloatArray, Problem
from pdd_plan.optimizer.bounds import NodeBounds
from pdd_plan.optimizer.capacity import Engines, Paths
from pdd_plan.optimizer.costs import SiteCosts
from pdd_plan.optimizer.local_search import Neighborhood
from pdd_plan.optimizer.model import NodeModel
from pdd_plan.optimizer.node import Choice, Node
from pdd_plan.optimizer.pricing import Pricing
from pdd_plan.optimizer.repair import Repair
from pdd_plan.optimizer.results import (
    OPTIMAL_GAP,
    Certificate,
    Scope,
    SearchOptions,
    SearchResult,
    relative_gap,
)
from pdd_plan.optimizer.states import StateTables

__all__ = ["OPTIMAL_GAP", "Certificate", "Scope", "SearchOptions", "SearchResult", "search"]

FIRST_NODES = 6
"""Nodes tried for a first plan, and nodes whose relaxation is solved to its end at once."""

NEAR = 1.1
"""Plans up to this multiple of the best one are worth a look at what is near them."""

FEW_PLANS = 24
"""Plans of a node up to which each is costed and no model is made."""

FEW_STATES = 60
"""Lane states of a node up to which each is costed with its waits before any model is made."""

FIRST_SLICE_S = 4.0
"""Time a node gets at its first turn [s]; doubled at every further turn."""


@dataclass(order=True)
class _Open:
    """A node that may still hold a cheaper plan."""

    bound: float
    order: int
    node: Node = field(compare=False)
    bounds: NodeBounds | None = field(default=None, compare=False)
    model: NodeModel | None = field(default=None, compare=False)
    turns: int = field(default=0, compare=False)


class _Search:
    """State of one search."""

    def __init__(
        self, problem: Problem, model: PathModel, options: SearchOptions, scope: Scope
    ) -> None:
        self.problem = problem
        self.scope = scope
        self.paths = model
        self.options = options
        self.started = self.options.clock()
        self.best: Candidate | None = None
        self.cost = options.below_usd_per_hour
        self.evaluations = 0
        self.cuts = 0
        self.relaxed = 0
        self.solved: set[int] = set()
        self.queue: list[_Open] = []

    def left_s(self) -> float:
        return self.options.time_limit_s - (self.options.clock() - self.started)

    def run(self) -> SearchResult:
        lanes = self.scope.lanes_of(self.problem)
        if not lanes:
            return self._result(0, float("inf"))
        tables, engines = StateTables(self.paths, lanes), Engines(self.paths)
        paths = [Paths(engines, index) for index in self.scope.thresholds_of(self.problem)]
        engines.pricing = Pricing.of(self.problem, lanes)
        self._enqueue(tables, engines, paths)
        self._first_plan()
        if self.best is not None and engines.pricing.free:
            used = self.best.chips_used(self.problem)
            engines.pricing = Pricing.of(self.problem, lanes, used)
            self._enqueue(tables, engines, paths)
        self._sharpen()
        self._bound_all()
        count = len(self.queue)
        while self.queue and self._open(self.queue[0].bound) and self.left_s() > 0.0:
            self._work_on(heapq.heappop(self.queue))
        return self._result(count, min([one.bound for one in self.queue] + [self.cost]))

    def _enqueue(self, tables: StateTables, engines: Engines, paths: list[Paths]) -> None:
        """Put all nodes in the queue, bounded at the prices that the engines go by."""
        waits = range(len(self.problem.slot_waits))
        costs = [SiteCosts(engines, tables, index) for index in waits]
        nodes = [Node(cost, path) for cost in costs for path in paths]
        self.queue = [_Open(0.0, order, node) for order, node in enumerate(nodes)]
        self._bound_all()

    # --- bounds --------------------------------------------------------------------------------

    def _bound_all(self) -> None:
        """Bound every node by what work costs at the sites as known by now."""
        for one in self.queue:
            # Without time for a bound, a node stays open at the bound that it has.
            if self.left_s() > 0.0 and self._open(one.bound):
                one.bounds = one.node.bounds()
                one.bound = max(one.bound, one.bounds.value)
        heapq.heapify(self.queue)

    def _sharpen(self) -> None:
        """Cost prefill with its waits, before any node learns what comes on top.

        Only numbers of steps count that a site may carry in a plan cheaper than the known one.
        """
        for one in self.queue:
            if not one.bounds or not self._open(one.bound):
                continue
            costs = one.node.costs
            possible = one.bounds.sent() < self.cost
            for site, steps in zip(self.problem.prefill_sites, possible, strict=True):
                for count in np.flatnonzero(steps[1:]) + 1:
                    if self.left_s() <= 0.0:
                        return
                    costs.sharpen(site, int(count))

    # --- plans ---------------------------------------------------------------------------------

    def _first_plan(self) -> None:
        """Look for plans at the nodes of the lowest bounds."""
        for one in heapq.nsmallest(FIRST_NODES, self.queue):
            while self._open(one.bound) and one.bounds and self.left_s() > 0.0:
                states = one.bounds.by_source.choice()
                if not one.node.drop_hopeless(dict.fromkeys(one.node.states.lane[states].tolist())):
                    self._near(one, states)
                    self._near(one, one.bounds.by_target.choice())
                    break
                one.bounds = one.node.bounds()
                one.bound = max(one.bound, one.bounds.value)

    def _near(self, one: _Open, states: list[int]) -> None:
        """Offer the best plan near some lane states."""
        choice = Repair(one.node).plan(states, self.left_s) if states else None
        if choice is None:
            return
        if choice.usd_per_hour < self.cost * NEAR:
            choice = Neighborhood(one.node).improve(choice, self.left_s)
        self._offer(one.node, choice)

    def _offer(self, node: Node, choice: Choice) -> bool:
        """Keep a plan if it is the cheapest so far; False where it fails the check."""
        if choice.usd_per_hour >= self.cost:
            return True
        candidate = node.candidate(choice)
        self.evaluations += 1
        if not check(self.problem, candidate, self.paths).ok:
            return False
        self.best, self.cost = candidate, candidate.usd_per_hour(self.problem)
        if self.options.progress:
            self.options.progress(f"plan at {self.cost:.2f} per hour")
        return True

    # --- nodes ---------------------------------------------------------------------------------

    def _work_on(self, one: _Open) -> None:
        """Give a node its next bound or a slice of time; put it back if it is still open."""
        if one.model is None:
            self._start(one)
        elif not one.model.relaxed:
            self._relax(one, one.model)
        else:
            self._turn(one, one.model)
        if self._open(one.bound):
            heapq.heappush(self.queue, one)

    def _start(self, one: _Open) -> None:
        """Drop lane states by their bounds; cost every plan that is left if they are few."""
        bounds = one.node.bounds()
        floor, least = bounds.value, bounds.with_each()
        one.node.keep(least < self.cost)
        if one.node.states.size <= FEW_STATES:
            least = least[least < self.cost]
            possible = bounds.sent() < self.cost
            one.node.gains = self._path_gains(one.node, possible, self.cost - least)
            one.node.keep(least + one.node.gains < self.cost)
            bounds = one.node.bounds()
            one.bound = max(one.bound, bounds.value)
        if not self._open(one.bound):
            return
        combinations = one.node.combinations(FEW_PLANS)
        if combinations is not None:
            self._try_all(one, combinations)
            return
        one.model = NodeModel(one.node, bounds, self.cost, floor)

    def _relax(self, one: _Open, model: NodeModel) -> None:
        """Bound a node by its linear relaxation: a round at a time, all at once for the first few.

        The first few give plans; of the others, many get far enough above the rest by one round.
        """
        states: list[int] = []
        known = model.learned.size
        while not model.relaxed and self._open(one.bound) and self.left_s() > 0.0:
            one.bound, states = model.relax(self.options.solver, self.left_s(), one.bound)
            if self.relaxed >= FIRST_NODES:
                break
        self.cuts += model.learned.size - known
        if model.relaxed and self._open(one.bound):
            self.relaxed += 1
            self._near(one, states)

    def _try_all(self, one: _Open, combinations: list[list[int]]) -> None:
        """Close a node by costing every plan that it has left."""
        for states in combinations:
            if self.left_s() <= 0.0:
                return
            choice = one.node.choose(states, self.cost)
            if choice is not None and not self._offer(one.node, choice):
                return
        one.bound = max(one.bound, self.cost)

    def _path_gains(self, node: Node, possible: BoolArray, enough: FloatArray) -> FloatArray:
        """What prefill costs more with the transfers of each lane state, at any steps it may do."""
        rows = dict(zip(self.problem.prefill_sites, possible, strict=True))
        gains = np.zeros(node.states.size)
        for state in range(gains.size):
            if self.left_s() > 0.0:
                row = rows[str(node.source[state])]
                gains[state] = node.path_excess(
                    state, row, float(enough[state]), with_relay=False
                ).min()
        return gains

    def _turn(self, one: _Open, model: NodeModel) -> None:
        """Give the MILP of a node one slice of time."""
        self.solved.add(one.order)
        model.close(self.cost)
        deadline = self.options.clock() + FIRST_SLICE_S * 2**one.turns
        one.turns += 1
        while True:
            limit_s = min(self.left_s(), deadline - self.options.clock())
            if limit_s <= 0.0 or not self._open(one.bound):
                return
            outcome = model.solve(self.options.solver, limit_s, one.bound)
            one.bound = outcome.bound
            if not outcome.feasible:
                return
            choice = one.node.choose(model.chosen())
            kept = choice is not None and self._offer(one.node, choice)
            known = model.learned.size
            learned = model.learn()
            self.cuts += model.learned.size - known
            if not learned:
                if outcome.solved and choice is not None and kept:
                    one.bound = max(one.bound, min(choice.usd_per_hour, self.cost))
                return

    def _open(self, bound: float) -> bool:
        """Whether a node of this bound may still hold a cheaper candidate."""
        if self.best is None:
            return bound < self.cost
        if self.options.first_feasible:
            return False
        return bound < self.cost * (1.0 - 0.1 * OPTIMAL_GAP)

    def _result(self, nodes: int, lower: float) -> SearchResult:
        if self.best is None and lower >= self.cost:
            lower = float("inf")
        usd = self.cost if self.best else float("inf")
        certificate = Certificate(
            lower_bound_usd_per_hour=lower,
            gap=relative_gap(usd, lower),
            cuts=self.cuts,
            evaluations=self.evaluations,
            nodes=nodes,
            nodes_solved=len(self.solved),
            solver=self.options.solver,
            solve_time_s=self.options.clock() - self.started,
        )
        return SearchResult(self.best, usd, certificate)


def search(
    problem: Problem,
    options: SearchOptions | None = None,
    model: PathModel | None = None,
    scope: Scope | None = None,
) -> SearchResult:
    """Find the cheapest candidate that keeps the planning rule, with a proof.

    Parameters
    ----------
    problem : Problem
        What to plan.
    options : SearchOptions, optional
        Time limit, solver and progress.
    model : PathModel, optional
        Path model of the problem, to share its tables.
    scope : Scope, optional
        Lanes and thresholds to search; all that a plan may use by default.

    Returns
    -------
    SearchResult
        Cheapest candidate and certificate.

    Raises
    ------
    SolverError
        If the solver fails.
    """
    paths = model or PathModel(problem)
    return _Search(problem, paths, options or SearchOptions(), scope or Scope()).run()
