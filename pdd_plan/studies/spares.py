"""The cheapest fleet that keeps its limits with some engines less in every pool, with a proof.

With N spare engines a pool of n engines does the work of n - N. So the optimizer is asked for the
counts n - N, and N engines of every pool in use are added to the cost: a fixed charge. A pool that
is in use is not known before, so a bound charges only what every plan pays: the cheapest prefill
and decode engine. Branching on "this site prefills or not", and "this pool is used or not", makes
the charge exact.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, Problem, Role
from pdd_plan.optimizer.search import (
    OPTIMAL_GAP,
    Certificate,
    Scope,
    SearchOptions,
    SearchResult,
    search,
)

Group = tuple[str, Role]
"""Site and role: pools that do the same work at the same place."""


@dataclass(frozen=True)
class _Branch:
    """Decisions: pools that may not be used, pools and groups that are charged as used."""

    barred: frozenset[int] = frozenset()
    charged: frozenset[int] = frozenset()
    groups: frozenset[Group] = frozenset()


@dataclass(order=True)
class _Node:
    bound: float
    order: int
    branch: _Branch = field(compare=False)


def plan_spares(
    model: PathModel, spares: int, options: SearchOptions, scope: Scope | None = None
) -> SearchResult:
    """Find the cheapest fleet that keeps the planning rule with engines less in every pool.

    Parameters
    ----------
    model : PathModel
        Rule of what is planned, with the limits that hold while engines are missing.
    spares : int
        Engines less in every pool, 1 or more.
    options : SearchOptions
        Time limit of the whole, and solver.
    scope : Scope, optional
        Lanes that may be used; all that a plan may use by default.

    Returns
    -------
    SearchResult
        With counts that include the spare engines.
    """
    return _Spares(model, spares, options, scope or Scope()).run()


def with_spares(fleet: Candidate, spares: int) -> Candidate:
    """The fleet with so many engines more in every pool in use."""
    return replace(fleet, engines=tuple(n + spares if n else 0 for n in fleet.engines))


class _Spares:
    def __init__(self, model: PathModel, spares: int, options: SearchOptions, scope: Scope) -> None:
        self.model = model
        self.scope = scope
        self.problem = model.problem
        self.spares = spares
        self.options = options
        self.deadline = time.monotonic() + options.time_limit_s
        self.best: Candidate | None = None
        self.cost = math.inf
        self.nodes = self.searches = self.cuts = self.evaluations = 0

    def run(self) -> SearchResult:
        started = time.monotonic()
        queue = [_Node(0.0, 0, _Branch(groups=self._surely()))]
        closed = math.inf
        while queue and queue[0].bound < self._goal() and time.monotonic() < self.deadline:
            node = heapq.heappop(queue)
            bound, chosen = self._solve(node)
            children = list(self._children(node.branch, chosen)) if bound < self._goal() else []
            if not children:
                closed = min(closed, bound)
            for child in children:
                self.nodes += 1
                heapq.heappush(queue, _Node(bound, self.nodes, child))
        lower = min([closed, self.cost, *(node.bound for node in queue)])
        certificate = Certificate(
            lower_bound_usd_per_hour=lower,
            gap=max(0.0, 1.0 - lower / self.cost) if 0.0 < self.cost < math.inf else math.inf,
            cuts=self.cuts,
            evaluations=self.evaluations,
            nodes=self.nodes + 1,
            nodes_solved=self.searches,
            solver=self.options.solver,
            solve_time_s=time.monotonic() - started,
        )
        return SearchResult(self.best, self.cost, certificate)

    def _surely(self) -> frozenset[Group]:
        """Groups that every plan uses: those of a site that alone prefills or decodes."""
        usable = [g for g in self._groups() if self._least(_Branch(), [g]) < math.inf]
        prefill = [group for group in usable if group[1] == "prefill"]
        decode = [group for group in usable if group[1] == "decode"]
        return frozenset(g for groups in (prefill, decode) if len(groups) == 1 for g in groups)

    def _goal(self) -> float:
        return self.cost * (1.0 - 0.1 * OPTIMAL_GAP)

    def _solve(self, node: _Node) -> tuple[float, Candidate | None]:
        """Bound of a node with its charges, and the plan found there without its spares."""
        charge = self._charge(node.branch)
        trial = self._reduced(node.branch)
        if charge >= self.cost:
            return math.inf, None
        options = replace(
            self.options,
            time_limit_s=max(self.deadline - time.monotonic(), 0.1),
            below_usd_per_hour=self.cost - charge,
        )
        result = search(trial, options, self.model.revised(trial), self.scope)
        self.searches += 1
        self.cuts += result.certificate.cuts
        self.evaluations += result.certificate.evaluations
        if result.candidate is not None:
            self._offer(result.candidate)
        lower = result.certificate.lower_bound_usd_per_hour + charge
        return max(node.bound, lower), result.candidate

    def _charge(self, branch: _Branch) -> float:
        """Least price of the spare engines of any plan within a branch [currency/h]."""
        total = self.spares * sum(self._price(i) for i in branch.charged)
        paid = {self._group(i) for i in branch.charged}
        for group in branch.groups - paid:
            total += self.spares * self._least(branch, [group])
        needed: tuple[Role, ...] = ("prefill", "decode")
        for role in needed:
            if not any(group[1] == role for group in branch.groups | paid):
                groups = [g for g in self._groups() if g[1] == role]
                total += self.spares * self._least(branch, groups)
        return total

    def _least(self, branch: _Branch, groups: list[Group]) -> float:
        prices = [
            self._price(i)
            for group in groups
            for i in self.problem.pool_indices(*group)
            if i not in branch.barred and self._most(i) > 0
        ]
        return min(prices, default=math.inf)

    def _price(self, pool: int) -> float:
        return self.problem.pools[pool].usd_per_engine_hour

    def _most(self, pool: int) -> int:
        """Most engines of a pool beside its spares."""
        option = self.problem.pools[pool]
        stock = self.problem.stock[option.site, option.chip] // option.chips_per_engine
        return max(min(option.max_engines, stock) - self.spares, 0)

    def _group(self, pool: int) -> Group:
        return self.problem.pools[pool].site, self.problem.pools[pool].role

    def _groups(self) -> tuple[Group, ...]:
        """Sites that a plan may prefill or decode at, by role."""
        lanes = [self.problem.lanes[i] for i in self.scope.lanes_of(self.problem)]
        prefill: list[Group] = [(lane.source, "prefill") for lane in lanes]
        decode: list[Group] = [(lane.target, "decode") for lane in lanes]
        return tuple(dict.fromkeys([*prefill, *decode]))

    def _reduced(self, branch: _Branch) -> Problem:
        """The problem in counts without spares; chips and power of charged spares are gone."""
        stock, watts = dict(self.problem.stock), dict(self.problem.site_watts)
        for index in branch.charged:
            pool = self.problem.pools[index]
            stock[pool.site, pool.chip] -= self.spares * pool.chips_per_engine
            if pool.site in watts:
                watts[pool.site] -= self.spares * pool.watts_per_engine
        pools = tuple(
            replace(
                pool,
                max_engines=0 if i in branch.barred else self._most(i),
                min_engines=max(pool.min_engines - self.spares, 1),
            )
            for i, pool in enumerate(self.problem.pools)
        )
        return replace(
            self.problem,
            pools=pools,
            stock={key: max(chips, 0) for key, chips in stock.items()},
            site_watts={site: max(limit, 0.0) for site, limit in watts.items()},
        )

    def _offer(self, chosen: Candidate) -> None:
        """Keep a plan with its spares added, where stock and power have room for them."""
        whole = with_spares(chosen, self.spares)
        cost = whole.usd_per_hour(self.problem)
        if cost < self.cost and _fits(self.problem, whole):
            self.best, self.cost = whole, cost

    def _children(self, branch: _Branch, chosen: Candidate | None) -> Iterator[_Branch]:
        """Split where a plan used what it was not charged for, dearest first."""
        if chosen is None:
            return
        used = [
            i
            for i, count in enumerate(chosen.engines)
            if count and self._price(i) > 0.0 and i not in branch.charged
        ]
        for index in sorted(used, key=self._price, reverse=True):
            group = self._group(index)
            if group not in branch.groups:
                rest = frozenset(self.problem.pool_indices(*group))
                yield replace(branch, barred=branch.barred | rest)
                yield replace(branch, groups=branch.groups | {group})
                return
        for index in sorted(used, key=self._price, reverse=True):
            if not self._is_charged(branch, chosen, index):
                yield replace(branch, barred=branch.barred | {index})
                yield replace(branch, charged=branch.charged | {index})
                return

    def _is_charged(self, branch: _Branch, chosen: Candidate, index: int) -> bool:
        """Whether the charge of its group is that of a pool, and its spares have room."""
        group = self._group(index)
        others = [
            i
            for i in self.problem.pool_indices(*group)
            if i != index and (chosen.engines[i] or i in branch.charged)
        ]
        cheapest = self._price(index) <= self._least(branch, [group])
        return cheapest and not others and _fits(self.problem, with_spares(chosen, self.spares))


def _fits(problem: Problem, candidate: Candidate) -> bool:
    """Whether stock and power have room for a fleet."""
    watts: dict[str, float] = {}
    for count, pool in zip(candidate.engines, problem.pools, strict=True):
        watts[pool.site] = watts.get(pool.site, 0.0) + count * pool.watts_per_engine
    used = candidate.chips_used(problem)
    return all(chips <= problem.stock[key] for key, chips in used.items()) and all(
        watts.get(site, 0.0) <= limit * (1.0 + 1e-9) for site, limit in problem.site_watts.items()
    )
