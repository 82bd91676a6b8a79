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
from collections.abc import Sequence
from dataclasses import dataclass, field

from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.shared import SharedProblem
from pdd_plan.optimizer.search import OPTIMAL_GAP, Scope, SearchOptions
from pdd_plan.optimizer.shared_best import BestTogether
from pdd_plan.optimizer.shared_branch import Allocation, branch
from pdd_plan.optimizer.shared_master import Choice, Prices, choose
from pdd_plan.optimizer.shared_results import SharedResult
from pdd_plan.optimizer.shared_single import SingleSearches

PENALTY = 10.0
"""Cost of a service without a plan, as a multiple of the price of everything there is."""

DEAREST_PENALTY = 1e4
"""Likewise, up to which it is raised while some service goes without."""

SMOOTHING = 0.5
"""Way from the best prices known to those of the last program at which services are asked
(Wentges, "Weighted Dantzig-Wolfe decomposition", Int. Trans. Operational Research 4, 1997)."""

CONVERGED = 1e-7
"""Relative distance of program and bound at which a node is done."""


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
    """Bounds by prices, raised node by node until they meet the best plan."""

    def __init__(self, single: SingleSearches) -> None:
        self.single = single
        self.problem = single.problem
        self.services = single.services
        self.best = BestTogether(single)
        self.prices = single.own_prices()
        self.top = -float("inf")
        self.lower = float("inf")

    def run(self) -> SharedResult:
        root = Allocation.whole(self.problem)
        self.top = self.bound(self.prices, root)
        alone = [self.single.ask(s, self.prices, root.ceilings(s)) for s in self.services]
        found = [answer.column for answer in alone]
        columns = [column for column in found if column is not None]
        if len(columns) == len(found):
            self.best.offer(columns)
            if self.best.columns is None:
                self.best.in_turn(self.prices)
        nodes = self._branch_and_bound(root) if self.top < float("inf") else 0
        lower = min(self.lower, self.best.cost)
        if self.best.columns is None and lower >= self.best.most:
            lower = float("inf")
        return SharedResult(
            candidates=tuple(c.candidate for c in self.best.columns) if self.best.columns else None,
            usd_per_hour=self.best.cost if self.best.columns else float("inf"),
            lower_bound_usd_per_hour=max(lower, 0.0),
            prices=self.prices.rows - self.single.own_prices().rows,
            columns=len(self.single.columns),
            searches=self.single.searches,
            nodes=nodes,
            alone=tuple(answer.bound < float("inf") for answer in alone),
            solve_time_s=self.single.elapsed_s(),
        )

    def open(self, bound: float) -> bool:
        """Whether allocations of this bound may hold something better, if that is asked for."""
        if self.best.columns is not None and self.single.options.first_feasible:
            return False
        return bound < self.best.cost * (1.0 - 0.5 * OPTIMAL_GAP)

    def _branch_and_bound(self, root: Allocation) -> int:
        """Best first over allocations; leaves the bound in `lower`, and returns their number."""
        orders = itertools.count()
        queue = [_Node(self.top, next(orders), root)]
        done = 0
        left = float("inf")
        while queue and self.single.left_s() > 0.0 and self.open(queue[0].bound):
            node = heapq.heappop(queue)
            done += 1
            bound, last = self.converge(node)
            if not self.open(bound):
                left = min(left, max(bound, node.bound))
                continue
            if done == 1:
                self.best.in_turn(self.prices)
            self._choose_whole()
            self.best.repair()
            parts = branch(self.problem, node.allocation, self.single.within(node.allocation), last)
            if not parts or self.single.left_s() <= 0.0:
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
        penalty = PENALTY * self.best.most
        last = None
        while self.open(bound) and self.single.left_s() > 0.0:
            last = self.choice(allocation, penalty, whole=False)
            if last is None or last.prices is None:
                break
            if last.value - bound <= CONVERGED * max(last.value, 1e-9):
                if last.missing > 1e-6 and penalty < DEAREST_PENALTY * self.best.most:
                    penalty *= 10.0
                    continue
                break
            known = len(self.single.columns)
            for trial in (center.towards(last.prices, SMOOTHING), last.prices):
                value = self.bound(trial, allocation)
                if value > bound:
                    center, bound = trial, value
                    if value > self.top and node.root:
                        self.top, self.prices = value, trial
                if len(self.single.columns) > known or not self.open(bound):
                    break
            else:
                if last.missing > 1e-6 and penalty < DEAREST_PENALTY * self.best.most:
                    penalty *= 10.0
                    continue
                break
            if node.root:
                plans = len(self.single.columns)
                self.single.tell(f"bound {bound:.2f} per hour, {plans} plans of services")
        return bound, last

    def bound(self, prices: Prices, allocation: Allocation) -> float:
        """Lower bound on every plan within an allocation, from prices."""
        total = 0.0
        for service in self.services:
            if self.single.left_s() <= 0.0:
                return -float("inf")
            answer = self.single.ask(service, prices, allocation.ceilings(service))
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

    def choice(self, allocation: Allocation, penalty: float, *, whole: bool) -> Choice | None:
        """The best choice among known columns within an allocation."""
        return choose(
            self.problem,
            self.single.within(allocation),
            penalty=penalty,
            forced_open=allocation.forced_open,
            solver=self.single.options.solver,
            time_limit_s=max(self.single.left_s(), 0.1),
            whole=whole,
        )

    def _choose_whole(self) -> None:
        """Choose one known column a service."""
        if self.single.left_s() <= 0.0:
            return
        root = Allocation.whole(self.problem)
        chosen = self.choice(root, PENALTY * self.best.most, whole=True)
        if chosen is None or chosen.missing > 0.5:
            return
        columns = [c for c, x in zip(self.single.columns, chosen.weights, strict=True) if x > 0.5]
        self.best.offer(sorted(columns, key=lambda column: column.service))


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
    return _SharedSearch(SingleSearches(problem, models, options or SearchOptions(), scopes)).run()
