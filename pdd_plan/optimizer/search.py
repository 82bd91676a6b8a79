"""Best-first search over thresholds and slot waits, one MILP each, with a certificate.

Lower bound: the least bound of all nodes. Upper bound: the cheapest candidate that passed the
check. Both are valid at any moment, so an interrupted search still tells how good its plan is.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pdd_plan.fleet.check import check
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.optimizer.covers import bounds_are_tight, drop_hopeless_states, node_bound
from pdd_plan.optimizer.model import NodeModel
from pdd_plan.optimizer.solver import SolverName
from pdd_plan.optimizer.tables import NodeTables, Reach

OPTIMAL_GAP = 1e-6
"""Relative gap up to which a plan is called optimal."""

FIRST_SPREAD = 1.5
"""Counts looked at for a first plan, as a multiple of what an ideal lane state needs."""

FIRST_NODES = 3
"""Nodes tried for a first plan."""

FIRST_SLICE_S = 4.0
"""Time a node gets at its first turn [s]; doubled at every further turn."""


@dataclass(frozen=True)
class SearchOptions:
    """How long and with what to search.

    Attributes
    ----------
    time_limit_s : float
        Time limit [s].
    solver : {"highs", "cbc"}
        MILP solver.
    progress : callable, optional
        Told in words what was found.
    first_feasible : bool
        Stop at the first candidate that keeps the rule: asks only whether there is one.
    below_usd_per_hour : float
        Only candidates cheaper than this count: a budget, or the cost of a known plan.
    """

    time_limit_s: float = 60.0
    solver: SolverName = "highs"
    progress: Callable[[str], None] | None = None
    first_feasible: bool = False
    below_usd_per_hour: float = float("inf")


@dataclass(frozen=True)
class Scope:
    """Which part of a problem to search.

    Attributes
    ----------
    lanes : frozenset of int or None
        Lanes that may be opened; None for all that a plan may use.
    thresholds : tuple of int or None
        Indices of thresholds to try; None for all that a plan may use.
    """

    lanes: frozenset[int] | None = None
    thresholds: tuple[int, ...] | None = None

    def lanes_of(self, problem: Problem) -> frozenset[int]:
        """Lanes that may be opened."""
        if self.lanes is not None:
            return self.lanes
        return frozenset(i for i, lane in enumerate(problem.lanes) if not lane.baseline_only)

    def thresholds_of(self, problem: Problem) -> tuple[int, ...]:
        """Thresholds to try: one where no open lane can relay, since all are then alike."""
        if self.thresholds is not None:
            return self.thresholds
        allowed = problem.allowed_thresholds or tuple(range(problem.thresholds.size))
        relays = any(not problem.lanes[i].local for i in self.lanes_of(problem))
        return allowed if relays else allowed[:1]


@dataclass(frozen=True)
class Certificate:
    """How good the answer is proven to be.

    Attributes
    ----------
    lower_bound_usd_per_hour : float
        Bound on the cost of any candidate; infinite where none exists that counts.
    gap : float
        (cost - bound) / cost; infinite without a plan.
    cuts : int
        Coupling rows over all nodes.
    evaluations : int
        Candidates checked.
    nodes, nodes_solved : int
        Pairs of threshold and slot wait, and how many of them needed the MILP.
    """

    lower_bound_usd_per_hour: float
    gap: float
    cuts: int
    evaluations: int
    nodes: int
    nodes_solved: int
    solver: str
    solve_time_s: float


@dataclass(frozen=True)
class SearchResult:
    """Outcome of a search; ``candidate`` is None where none was found."""

    candidate: Candidate | None
    usd_per_hour: float
    certificate: Certificate

    @property
    def status(self) -> str:
        """``optimal``, ``feasible``, ``infeasible`` (proven) or ``unknown``."""
        if self.candidate is None:
            proven = self.certificate.lower_bound_usd_per_hour == float("inf")
            return "infeasible" if proven else "unknown"
        return "optimal" if self.certificate.gap <= OPTIMAL_GAP else "feasible"


@dataclass(order=True)
class _Node:
    bound: float
    order: int
    tables: NodeTables = field(compare=False)
    model: NodeModel | None = field(default=None, compare=False)
    stage: int = field(default=0, compare=False)
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
        self.started = time.monotonic()
        self.best: Candidate | None = None
        self.cost = options.below_usd_per_hour
        self.evaluations = 0
        self.cuts = 0
        self.solved: set[int] = set()
        self.queue: list[_Node] = []

    def left_s(self) -> float:
        return self.options.time_limit_s - (time.monotonic() - self.started)

    def run(self) -> SearchResult:
        pairs = [
            (index, wait)
            for wait in self.problem.slot_waits
            for index in self.scope.thresholds_of(self.problem)
        ]
        lanes = self.scope.lanes_of(self.problem)
        if not lanes:
            return self._result(0, float("inf"))
        first = [
            NodeTables(self.paths, index, wait, lanes, Reach(spread=FIRST_SPREAD, whole_flows=True))
            for index, wait in pairs
            if wait == self.problem.slot_waits[0]
        ]
        self._first_plan(first)
        for order, (index, wait) in enumerate(pairs):
            tables = NodeTables(self.paths, index, wait, lanes, Reach(self.cost))
            # Without time for a bound, a node stays open at the bound that always holds.
            bound = node_bound(tables, quick=True) if self.left_s() > 0.0 else 0.0
            heapq.heappush(self.queue, _Node(bound, order, tables))
        while self.queue and self._open(self.queue[0].bound) and self.left_s() > 0.0:
            node = heapq.heappop(self.queue)
            if node.stage == len(STAGES):
                self._turn(node)
            else:
                STAGES[node.stage](self, node)
                node.stage += 1
                heapq.heappush(self.queue, node)
        return self._result(len(pairs), min([node.bound for node in self.queue] + [self.cost]))

    def _first_plan(self, nodes: list[NodeTables]) -> None:
        """Look for a first candidate among few engines, to know how many are worth a table."""
        ranked = []
        for order, tables in enumerate(nodes):
            if self.left_s() <= 0.0:
                return
            ranked.append((node_bound(tables, quick=True), order))
        for bound, order in sorted(ranked)[:FIRST_NODES]:
            if bound == float("inf") or self.best is not None or self.left_s() <= 0.0:
                return
            tables = nodes[order]
            if node_bound(tables) < float("inf"):
                self._turn(_Node(bound, order, tables), keep=False)

    def tabulate(self, node: _Node) -> None:
        """Bound a node with waiting times, for the lane states that a better plan may use."""
        drop_hopeless_states(node.tables, self.cost)
        node.bound = max(node.bound, node_bound(node.tables))

    def relax(self, node: _Node) -> None:
        """Bound a node by its linear relaxation, where covers are not almost exact already."""
        if node.bound == float("inf") or bounds_are_tight(node.tables):
            return
        outcome = self._model(node).relax(self.options.solver, max(self.left_s(), 0.1), node.bound)
        node.bound = max(node.bound, outcome.bound)

    def _model(self, node: _Node) -> NodeModel:
        if node.model is None:
            node.model = NodeModel(node.tables)
            self.cuts += node.model.rows_added
        return node.model

    def _result(self, nodes: int, lower: float) -> SearchResult:
        if self.best is None and lower >= self.cost:
            lower = float("inf")
        gap = max(0.0, (self.cost - lower) / self.cost) if self.best else float("inf")
        certificate = Certificate(
            lower_bound_usd_per_hour=lower,
            gap=gap,
            cuts=self.cuts,
            evaluations=self.evaluations,
            nodes=nodes,
            nodes_solved=len(self.solved),
            solver=self.options.solver,
            solve_time_s=time.monotonic() - self.started,
        )
        return SearchResult(self.best, self.cost if self.best else float("inf"), certificate)

    def _open(self, bound: float) -> bool:
        """Whether a node of this bound may still hold a cheaper candidate."""
        if self.best is None:
            return bound < self.cost
        if self.options.first_feasible:
            return False
        return bound < self.cost * (1.0 - 0.1 * OPTIMAL_GAP)

    def _turn(self, node: _Node, *, keep: bool = True) -> None:
        """Give a node one slice of time; put it back unless it is closed or not to be kept."""
        self.solved.add(node.order)
        model = self._model(node)
        model.close_states(self.cost)
        slice_s = FIRST_SLICE_S * 2**node.turns
        node.turns += 1
        deadline = time.monotonic() + slice_s
        while True:
            rows = model.rows_added
            limit_s = min(self.left_s(), deadline - time.monotonic())
            if limit_s <= 0.0:
                break
            outcome = model.solve(self.options.solver, limit_s, node.bound)
            node.bound = outcome.bound
            if not outcome.feasible:
                if outcome.solved:
                    return
                break
            solution = model.solution()
            added = model.repair(solution)
            self.cuts += model.rows_added - rows
            if not added:
                kept = self._offer(model.candidate(solution))
                if outcome.solved and kept:
                    return
                break
            if not self._open(node.bound):
                break
        if keep and self._open(node.bound):
            heapq.heappush(self.queue, node)

    def _offer(self, candidate: Candidate) -> bool:
        """Check a candidate, keep it if it is the cheapest so far; False where it fails."""
        self.evaluations += 1
        if not check(self.problem, candidate, self.paths).ok:
            return False
        cost = candidate.usd_per_hour(self.problem)
        if cost < self.cost:
            self.best, self.cost = candidate, cost
            if self.options.progress:
                self.options.progress(f"plan at {cost:.2f} per hour")
        return True


STAGES = (_Search.tabulate, _Search.relax)
"""Bounds of a node, each dearer and tighter than the one before; then comes the MILP."""


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
