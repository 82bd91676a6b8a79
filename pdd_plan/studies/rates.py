"""What a problem can carry: searches at one rate after another, and the largest rate.

The cost C(rate) of the cheapest fleet that carries a rate is a staircase that never falls: a fleet
that keeps the planning rule at some rate keeps it at any lower one, with the same lane shares. So
one fleet found, or one rate proven impossible, says something of every lower or higher rate.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

from pdd_plan.fleet.goodput import goodput
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.prefill import UTILIZATIONS
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.optimizer.search import Scope, SearchOptions, search

PRECISION = 1e-3
"""Relative gap of a goodput, or of a goodput per cost, at which the search for it ends."""

LOWEST = 1e-6
"""Rates below this share of the upper bound are not looked at."""

FLEET_SHARE = 0.3
"""Share of the time limit that is kept for the cheapest fleet at the goodput."""

SEARCH_SHARE = 0.3
"""Most of the time limit that one search at a rate may take, where several are to come."""

BUDGET_SLACK = 1.0 + 1e-9
"""Budgets are kept to this factor, for sums in floating point."""


@dataclass(frozen=True)
class RateResult:
    """Outcome of a search over rates.

    Attributes
    ----------
    candidate : Candidate or None
        Fleet, with flows at `rate_per_s`; None where no rate can be carried.
    rate_per_s : float
        Rate that the fleet is shown to carry [requests/s] at multiplier 1.
    value, bound : float
        What is maximized, as reached and as proven: no fleet exceeds the bound.
    usd_per_hour, lower_usd_per_hour : float
        Cost of the fleet, and a proven bound on the cost of any fleet that carries its rate.
    searches, evaluations, cuts : int
        Work done.
    solve_time_s : float
        Time taken [s].
    """

    candidate: Candidate | None
    rate_per_s: float
    value: float
    bound: float
    usd_per_hour: float
    lower_usd_per_hour: float
    searches: int
    evaluations: int
    cuts: int
    solve_time_s: float

    @property
    def gap(self) -> float:
        """(bound - value) / bound; infinite without a fleet."""
        if self.candidate is None:
            return math.inf
        return max(0.0, (self.bound - self.value) / self.bound) if self.bound > 0.0 else 0.0

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that no rate looked at can be carried."""
        return self.candidate is None and self.bound <= 0.0


@dataclass(frozen=True)
class _Answer:
    """One search at one rate: a fleet if one was found, and a proven bound on the cost of any."""

    candidate: Candidate | None
    lower_usd_per_hour: float

    @property
    def impossible(self) -> bool:
        return self.candidate is None and self.lower_usd_per_hour == math.inf


class Rates:
    """Searches of one problem at one rate after another, sharing tables.

    Parameters
    ----------
    model : PathModel
        Path model of the problem, whatever its rate.
    options : SearchOptions
        Time limit of everything together, solver, progress.
    scope : Scope, optional
        Lanes and thresholds to use.
    budget_usd_per_hour : float
        Most that a fleet may cost.
    """

    def __init__(
        self,
        model: PathModel,
        options: SearchOptions,
        scope: Scope | None = None,
        budget_usd_per_hour: float = math.inf,
    ) -> None:
        self.model = model
        self.problem = model.problem
        self.options = options
        self.scope = scope or Scope()
        self.budget = budget_usd_per_hour
        self.started = time.monotonic()
        self.searches = self.evaluations = self.cuts = 0

    def left_s(self, keep: float = 0.0) -> float:
        """Time left [s], less a share of the limit that is kept for later."""
        used = time.monotonic() - self.started
        return self.options.time_limit_s * (1.0 - keep) - used

    def upper_bound(self) -> float:
        """Rate that no fleet within stock and budget exceeds [requests/s].

        Notes
        -----
        All chips of each kind in the role and shape of most requests a chip, without any wait,
        transfer or sharing; with a budget, at the least cost of a request per second in each role.
        """
        most, usd = math.inf, 0.0
        lanes = [self.problem.lanes[i] for i in self.scope.lanes_of(self.problem)]
        for role, sites in (
            ("prefill", {lane.source for lane in lanes}),
            ("decode", {lane.target for lane in lanes}),
        ):
            by_chip: dict[tuple[str, str], float] = {}
            cheapest = math.inf
            for i, pool in enumerate(self.problem.pools):
                if pool.role != role or pool.site not in sites:
                    continue
                rate = self._engine_rate_per_s(i)
                if rate <= 0.0:
                    continue
                key = (pool.site, pool.chip)
                per_chip = rate / pool.chips_per_engine
                by_chip[key] = max(by_chip.get(key, 0.0), per_chip)
                cheapest = min(cheapest, pool.usd_per_engine_hour / rate)
            total = sum(rate * self.problem.stock[key] for key, rate in by_chip.items())
            most = min(most, total)
            usd += cheapest if by_chip else 0.0
        if usd > 0.0:
            most = min(most, self.budget / usd)
        return most

    def _engine_rate_per_s(self, index: int) -> float:
        pool = self.problem.pools[index]
        if pool.role == "prefill":
            rate = float(UTILIZATIONS[-1]) * self.model.prefill[index].engine_rate_per_s
        else:
            rate = self.model.slot_pools[index].most_per_engine_s
        return rate / self.problem.peak_multiplier

    def least_usd_per_hour(self) -> float:
        """Cost that no fleet is below: one engine each of the cheapest prefill and decode."""
        lanes = [self.problem.lanes[i] for i in self.scope.lanes_of(self.problem)]
        usd = 0.0
        for role, sites in (
            ("prefill", {lane.source for lane in lanes}),
            ("decode", {lane.target for lane in lanes}),
        ):
            prices = [
                pool.usd_per_engine_hour * pool.min_engines
                for pool in self.problem.pools
                if pool.role == role and pool.site in sites
            ]
            usd += min(prices, default=0.0)
        return usd

    def at(self, rate_per_s: float) -> tuple[Problem, PathModel]:
        """Return problem and path model at a rate; the tables are those of the first."""
        problem = replace(self.problem, arrival_rate_per_s=rate_per_s)
        return problem, self.model.revised(problem)

    def ask(
        self,
        rate_per_s: float,
        *,
        first: bool,
        below: float = math.inf,
        limit_s: float = math.inf,
    ) -> _Answer:
        """Search at a rate, for any fleet within the budget or for the cheapest one."""
        problem, model = self.at(rate_per_s)
        limit = min(self.budget * BUDGET_SLACK, below)
        options = replace(
            self.options,
            time_limit_s=max(min(self.left_s(), limit_s), 0.05),
            progress=None,
            first_feasible=first,
            below_usd_per_hour=limit,
        )
        result = search(problem, options, model, self.scope)
        self.searches += 1
        self.evaluations += result.certificate.evaluations
        self.cuts += result.certificate.cuts
        return _Answer(result.candidate, result.certificate.lower_bound_usd_per_hour)

    def reach_of(self, candidate: Candidate) -> float:
        """Largest rate of a fleet at its threshold and lane shares [requests/s]."""
        return goodput(self.problem, candidate, self.model).requests_per_s

    def tell(self, text: str) -> None:
        """Say what was found."""
        if self.options.progress is not None:
            self.options.progress(text)

    def result(
        self,
        candidate: Candidate | None,
        rate_per_s: float,
        value: float,
        bound: float,
        lower_usd_per_hour: float,
    ) -> RateResult:
        """Put a result together."""
        usd = candidate.usd_per_hour(self.problem) if candidate else math.inf
        return RateResult(
            candidate,
            rate_per_s,
            value,
            max(bound, value),
            usd,
            min(lower_usd_per_hour, usd),
            self.searches,
            self.evaluations,
            self.cuts,
            time.monotonic() - self.started,
        )


def scaled(candidate: Candidate, rate_per_s: float) -> Candidate:
    """Return a fleet with its flows brought to a rate, at the same lane shares."""
    total = sum(candidate.flows_per_s)
    flows = tuple(flow * rate_per_s / total for flow in candidate.flows_per_s)
    return replace(candidate, flows_per_s=flows)


def largest_rate(rates: Rates) -> RateResult:
    """Find the largest rate for which a fleet exists, and the cheapest fleet at it.

    Parameters
    ----------
    rates : Rates
        Problem, budget and time limit.

    Returns
    -------
    RateResult
        With ``value`` and ``bound`` in requests/s. Between them no rate was decided.

    Notes
    -----
    Bisection, from the least rate that is looked at. A fleet that is found raises the lower end to
    the largest rate that it carries; a rate at which none exists lowers the upper end. A search
    that ends without either, for lack of time, is looked on as a "no", but proves nothing: the
    bound stays.
    """
    bound = rates.upper_bound()
    least = LOWEST * bound
    low, high, best = 0.0, bound, None
    rate = least
    while rates.left_s(FLEET_SHARE) > 0.0 and high >= least and high - low > PRECISION * high:
        limit_s = min(rates.left_s(FLEET_SHARE), SEARCH_SHARE * rates.options.time_limit_s)
        answer = rates.ask(rate, first=True, limit_s=limit_s)
        if answer.candidate is not None:
            best = answer.candidate
            low = max(rate, rates.reach_of(best))
            rates.tell(f"a fleet for {low:.4g} req/s")
        elif answer.impossible and rate <= least:
            return rates.result(None, 0.0, 0.0, 0.0, math.inf)
        else:
            high = rate
            bound = rate if answer.impossible else bound
        rate = 0.5 * (low + high)
    if best is None:
        return rates.result(None, 0.0, 0.0, bound, math.inf)
    best = scaled(best, low)
    known = best.usd_per_hour(rates.problem)
    rates.tell(f"the cheapest fleet for {low:.4g} req/s")
    cheaper = rates.ask(low, first=False, below=known * (1.0 - 1e-9))
    if cheaper.candidate is not None:
        best = cheaper.candidate
    return rates.result(best, low, low, bound, cheaper.lower_usd_per_hour)
