"""The cheapest fleet for several services, by prices on what they share.

Each service is searched alone, with prices on chips, power and bandwidth on top of their own. What
these searches prove adds up to a lower bound for all services together (Lagrangian relaxation),
and what they find are columns, of which a small program chooses one a service (Dantzig and Wolfe,
"Decomposition principle for linear programs", Operations Research 8, 1960). Where the best of each
service fit together at no price, that is all. What a gap remains is closed by branching on how much
of a row may go to a service.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, FloatArray
from pdd_plan.fleet.shared import SharedProblem, revised
from pdd_plan.fleet.stability import shortfall
from pdd_plan.optimizer.search import OPTIMAL_GAP, Scope, SearchOptions, search
from pdd_plan.optimizer.shared_branch import Allocation, branch
from pdd_plan.optimizer.shared_master import Choice, Column, Prices, choose

PENALTY = 10.0
"""Cost of a service without a plan, as a multiple of the price of everything there is."""

DEAREST_PENALTY = 1e4
"""Likewise, up to which it is raised while some service goes without."""

SMOOTHING = 0.5
"""Way from the best prices known to those of the last program at which services are asked
(Wentges, "Weighted Dantzig-Wolfe decomposition", Int. Trans. Operational Research 4, 1997)."""

ORDERS = 6
"""Orders of services in which a first plan is looked for."""

CONVERGED = 1e-7
"""Relative distance of program and bound at which a node is done."""


@dataclass(frozen=True)
class SharedResult:
    """Outcome of a search for all services together.

    Attributes
    ----------
    candidates : tuple of Candidate or None
        One a service; None where none were found.
    usd_per_hour : float
        Cost of all; infinite without candidates [currency/h].
    lower_bound_usd_per_hour : float
        No plan costs less; infinite where there is none.
    prices : ndarray, shape (rows,)
        What a chip, a watt or a step of a line is worth beyond its price, at the best bound.
    columns, searches, nodes : int
        Plans of single services found, searches for them, and allocations looked at.
    alone : tuple of bool
        Whether each service has a plan with the whole fleet to itself, as far as was found.
    solve_time_s : float
        Time it took [s].
    """

    candidates: tuple[Candidate, ...] | None
    usd_per_hour: float
    lower_bound_usd_per_hour: float
    prices: FloatArray
    columns: int
    searches: int
    nodes: int
    alone: tuple[bool, ...]
    solve_time_s: float

    @property
    def gap(self) -> float:
        """(cost - bound) / cost; infinite without a plan."""
        if self.candidates is None:
            return float("inf")
        if self.usd_per_hour <= 0.0:
            return 0.0
        return max(0.0, 1.0 - self.lower_bound_usd_per_hour / self.usd_per_hour)

    @property
    def status(self) -> str:
        """``optimal``, ``feasible``, ``infeasible`` (proven) or ``unknown``."""
        if self.candidates is None:
            proven = self.lower_bound_usd_per_hour == float("inf")
            return "infeasible" if proven else "unknown"
        return "optimal" if self.gap <= OPTIMAL_GAP else "feasible"


@dataclass(frozen=True)
class _Answer:
    """What a search for one service said: its bound, and a plan unless there is none."""

    prices: bytes
    ceilings: FloatArray
    bound: float
    column: Column | None


@dataclass(order=True)
class _Node:
    bound: float
    order: int
    allocation: Allocation = field(compare=False)

    @property
    def root(self) -> bool:
        """Whether it is the whole fleet, whose prices hold for all."""
        return self.order == 0


class _SharedSearch:
    """State of one search."""

    def __init__(
        self,
        problem: SharedProblem,
        models: Sequence[PathModel],
        options: SearchOptions,
        scopes: Sequence[Scope],
    ) -> None:
        self.problem = problem
        self.models = models
        self.options = options
        self.lanes = [
            scope.lanes_of(one) for scope, one in zip(scopes, problem.problems, strict=True)
        ]
        self.scopes = scopes
        self.started = time.monotonic()
        self.services = range(len(problem.problems))
        self.columns: list[Column] = []
        self.answers: list[list[_Answer]] = [[] for _ in self.services]
        self.searches = 0
        self.most = problem.most_usd_per_hour * (1.0 + 1e-9)
        self.best: tuple[Column, ...] | None = None
        self.cost = self.most
        self.prices = self._own_prices()
        self.top = -float("inf")
        self.lower = float("inf")

    def left_s(self) -> float:
        return self.options.time_limit_s - (time.monotonic() - self.started)

    def tell(self, text: str) -> None:
        if self.options.progress is not None:
            self.options.progress(text)

    # --- one service -------------------------------------------------------------------------

    def ask(self, service: int, prices: Prices, ceilings: FloatArray) -> _Answer:
        """The best plan of a service at prices, within ceilings; remembered."""
        key = prices.rows.tobytes() + prices.openings[service].tobytes()
        for known in self.answers[service]:
            if known.prices != key or not (ceilings <= known.ceilings).all():
                continue
            if known.column is None or self.fits(known.column.use, ceilings):
                return known
        answer = self._search(service, prices, ceilings, key)
        self.answers[service].append(answer)
        return answer

    def _search(self, service: int, prices: Prices, ceilings: FloatArray, key: bytes) -> _Answer:
        problem = self.problem.priced(
            self.problem.within(service, ceilings), prices.rows, prices.openings[service]
        )
        rows = zip(self.problem.lines, self.problem.line_rows, strict=True)
        closed = {line.lane for line, row in rows if ceilings[row] < 1.0}
        if shortfall(problem):
            return _Answer(key, ceilings, float("inf"), None)
        self.searches += 1
        result = search(
            problem,
            replace(
                self.options,
                time_limit_s=max(self.left_s(), 0.1),
                progress=None,
                first_feasible=False,
            ),
            revised(self.models[service], problem),
            Scope(self.lanes[service] - closed, self.scopes[service].thresholds),
        )
        bound = result.certificate.lower_bound_usd_per_hour
        if result.candidate is None:
            return _Answer(key, ceilings, bound, None)
        column = self._column(service, result.candidate)
        return _Answer(key, ceilings, bound, column)

    def _column(self, service: int, candidate: Candidate) -> Column:
        for known in self.columns:
            if known.service == service and known.candidate == candidate:
                return known
        column = Column(
            service,
            candidate,
            candidate.chips_usd_per_hour(self.problem.problems[service]),
            self.problem.use(service, candidate),
        )
        self.columns.append(column)
        return column

    def fits(self, use: FloatArray, ceilings: FloatArray) -> bool:
        """Whether what is taken is within ceilings."""
        return bool((use <= ceilings + self.problem.slacks).all())

    def _own_prices(self) -> Prices:
        """Prices at which services pay for lines what these cost, shared among all."""
        rows = np.zeros(len(self.problem.rows))
        openings = np.zeros((len(self.services), len(self.problem.lines)))
        for i, (line, row) in enumerate(
            zip(self.problem.lines, self.problem.line_rows, strict=True)
        ):
            rows[row] = line.usd_per_step_hour
            openings[:, i] = line.usd_per_hour / len(self.services)
        return Prices(rows, openings)

    # --- all services ------------------------------------------------------------------------

    def bound(self, prices: Prices, allocation: Allocation) -> float:
        """Lower bound on every plan within an allocation, from prices."""
        total = 0.0
        for service in self.services:
            if self.left_s() <= 0.0:
                return -float("inf")
            answer = self.ask(service, prices, allocation.ceilings(service))
            total += answer.bound
            if total == float("inf"):
                return total
        rows = self.problem.rows
        total -= sum(
            float(prices.rows[i]) * row.capacity for i, row in enumerate(rows) if row.kind != "line"
        )
        opened = allocation.forced_open
        for i, (line, row) in enumerate(
            zip(self.problem.lines, self.problem.line_rows, strict=True)
        ):
            margin = line.usd_per_step_hour - float(prices.rows[row])
            cost = line.usd_per_hour - float(prices.openings[:, i].sum())
            cost += margin * (line.min_steps if margin > 0.0 else line.max_steps)
            total += cost if opened[i] else min(cost, 0.0)
        return total

    def offer(self, columns: Sequence[Column]) -> bool:
        """Keep one column a service if together they fit and cost less than the best."""
        total = np.asarray(sum(column.use for column in columns))
        if not self.fits(total, self.problem.capacities):
            return False
        cost = sum(c.usd_per_hour for c in columns) + self.problem.lines_usd_per_hour(total)
        if cost >= self.cost * (1.0 - 1e-12):
            return False
        self.best, self.cost = tuple(columns), cost
        self.tell(f"plan at {cost:.2f} per hour")
        return True

    def choice(self, allocation: Allocation, penalty: float, *, whole: bool) -> Choice | None:
        """The best choice among known columns within an allocation."""
        return choose(
            self.problem,
            self.within(allocation),
            penalty=penalty,
            forced_open=allocation.forced_open,
            solver=self.options.solver,
            time_limit_s=max(self.left_s(), 0.1),
            whole=whole,
        )

    def within(self, allocation: Allocation) -> list[Column]:
        """Known columns within an allocation."""
        ceilings = [allocation.ceilings(service) for service in self.services]
        return [c for c in self.columns if self.fits(c.use, ceilings[c.service])]

    def run(self) -> SharedResult:
        root = Allocation.whole(self.problem)
        self.top = self.bound(self.prices, root)
        alone = [self.ask(s, self.prices, root.ceilings(s)) for s in self.services]
        found = [answer.column for answer in alone]
        columns = [column for column in found if column is not None]
        if len(columns) == len(found):
            self.offer(columns)
            if self.best is None:
                self._in_turn(self.prices)
        nodes = self._branch_and_bound(root) if self.top < float("inf") else 0
        lower = min(self.lower, self.cost)
        if self.best is None and lower >= self.most:
            lower = float("inf")
        return SharedResult(
            candidates=tuple(c.candidate for c in self.best) if self.best else None,
            usd_per_hour=self.cost if self.best else float("inf"),
            lower_bound_usd_per_hour=max(lower, 0.0),
            prices=self.prices.rows - self._own_prices().rows,
            columns=len(self.columns),
            searches=self.searches,
            nodes=nodes,
            alone=tuple(answer.bound < float("inf") for answer in alone),
            solve_time_s=time.monotonic() - self.started,
        )

    def open(self, bound: float) -> bool:
        """Whether allocations of this bound may hold something better, if that is asked for."""
        if self.best is not None and self.options.first_feasible:
            return False
        return bound < self.cost * (1.0 - 0.5 * OPTIMAL_GAP)

    def _branch_and_bound(self, root: Allocation) -> int:
        """Best first over allocations; leaves the bound in `lower`, and returns their number."""
        orders = itertools.count()
        queue = [_Node(self.top, next(orders), root)]
        done = 0
        left = float("inf")
        while queue and self.left_s() > 0.0 and self.open(queue[0].bound):
            node = heapq.heappop(queue)
            done += 1
            bound, last = self.converge(node)
            if not self.open(bound):
                left = min(left, max(bound, node.bound))
                continue
            if done == 1:
                self._in_turn(self.prices)
            self._choose_whole()
            self._repair()
            parts = branch(self.problem, node.allocation, self.within(node.allocation), last)
            if not parts or self.left_s() <= 0.0:
                left = min(left, bound)
                continue
            for part in parts:
                heapq.heappush(queue, _Node(bound, next(orders), part))
        self.lower = min([left, *(node.bound for node in queue)])
        return done

    def converge(self, node: _Node) -> tuple[float, Choice | None]:
        """Raise the bound of an allocation by prices, until program and bound meet.

        Returns
        -------
        bound : float
            Of the allocation.
        last : Choice or None
            Last relaxation, where to branch.
        """
        allocation = node.allocation
        center, bound = self.prices, max(node.bound, self.bound(self.prices, node.allocation))
        penalty = PENALTY * self.most
        last = None
        while self.open(bound) and self.left_s() > 0.0:
            last = self.choice(allocation, penalty, whole=False)
            if last is None or last.prices is None:
                break
            if last.value - bound <= CONVERGED * max(last.value, 1e-9):
                if last.missing > 1e-6 and penalty < DEAREST_PENALTY * self.most:
                    penalty *= 10.0
                    continue
                break
            known = len(self.columns)
            for trial in (center.towards(last.prices, SMOOTHING), last.prices):
                value = self.bound(trial, allocation)
                if value > bound:
                    center, bound = trial, value
                    if value > self.top and node.root:
                        self.top, self.prices = value, trial
                if len(self.columns) > known or not self.open(bound):
                    break
            else:
                if last.missing > 1e-6 and penalty < DEAREST_PENALTY * self.most:
                    penalty *= 10.0
                    continue
                break
            if node.root:
                self.tell(f"bound {bound:.2f} per hour, {len(self.columns)} plans of services")
        return bound, last

    # --- plans -------------------------------------------------------------------------------

    def _in_turn(self, prices: Prices) -> None:
        """Plan services one after the other, each with what the ones before left."""
        for order in itertools.islice(itertools.permutations(self.services), ORDERS):
            left = self.problem.capacities.copy()
            columns: dict[int, Column] = {}
            for service in order:
                column = self.ask(service, prices, left).column if self.left_s() > 0.0 else None
                if column is None:
                    break
                columns[service] = column
                left = np.maximum(left - column.use, 0.0)
            if len(columns) == len(self.services):
                self.offer([columns[service] for service in self.services])

    def _choose_whole(self) -> None:
        """Choose one known column a service."""
        if self.left_s() <= 0.0:
            return
        root = Allocation.whole(self.problem)
        chosen = self.choice(root, PENALTY * self.most, whole=True)
        if chosen is None or chosen.missing > 0.5:
            return
        columns = [c for c, x in zip(self.columns, chosen.weights, strict=True) if x > 0.5]
        self.offer(sorted(columns, key=lambda column: column.service))

    def _repair(self) -> None:
        """Plan each service anew with what the others leave, while that makes it cheaper."""
        better = self.best is not None
        while better and self.left_s() > 0.0:
            better = False
            for service in self.services:
                assert self.best is not None
                others = [c for c in self.best if c.service != service]
                taken = np.asarray(sum((c.use for c in others), np.zeros(len(self.problem.rows))))
                left = np.maximum(self.problem.capacities - taken, 0.0)
                answer = self.ask(service, self._beside(taken), left)
                if answer.column is not None:
                    columns = sorted([*others, answer.column], key=lambda c: c.service)
                    better = self.offer(columns) or better

    def _beside(self, taken: FloatArray) -> Prices:
        """Prices of lines for one service beside others: what is paid already is free."""
        prices = self._own_prices()
        for i, (line, row) in enumerate(
            zip(self.problem.lines, self.problem.line_rows, strict=True)
        ):
            prices.openings[:, i] = 0.0 if taken[row] else line.usd_per_hour
        return prices


def search_shared(
    problem: SharedProblem,
    models: Sequence[PathModel],
    options: SearchOptions | None = None,
    scopes: Sequence[Scope] | None = None,
) -> SharedResult:
    """Find the cheapest candidates of all services that fit together, with a proof.

    Parameters
    ----------
    problem : SharedProblem
        Services and what they share.
    models : sequence of PathModel
        Path model of each service's problem.
    options : SearchOptions, optional
        Time limit of the whole, solver and progress.
    scopes : sequence of Scope, optional
        Lanes and thresholds of each service; all that a plan may use by default.

    Returns
    -------
    SharedResult
        Candidates, cost and bound.

    Raises
    ------
    SolverError
        If the solver fails.
    """
    scopes = scopes or [Scope()] * len(problem.problems)
    return _SharedSearch(problem, models, options or SearchOptions(), scopes).run()
