"""The cheapest fleet for each loss by itself: bounds for a fleet that survives, and starts."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pdd_plan.fleet.outages import Outage, OutageKind
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, Limit, Problem
from pdd_plan.fleet.survival import Survival, spare_outage
from pdd_plan.optimizer.search import Scope, SearchOptions, SearchResult, search
from pdd_plan.scenario.schema import Scenario
from pdd_plan.scenario.tolerate import ANY, NONE
from pdd_plan.studies.outage_specs import OutageSpec
from pdd_plan.studies.outages import outage_model
from pdd_plan.studies.spares import plan_spares, with_counts
from pdd_plan.studies.survivors import union

if TYPE_CHECKING:
    from pdd_plan.studies.planning import PlanOptions

SEARCH_SHARE = 0.6
"""Share of the time for the cheapest fleets of each case; the rest is for those that survive."""

BRIEF_SHARE = 0.05
"""Share of the time for one more start."""

NOTHING = "nothing"
"""Name of the case with nothing lost."""


@dataclass(frozen=True)
class Case:
    """The cheapest fleet for one requirement alone, and the bound that it gives.

    Attributes
    ----------
    label : str
        Such as ``nothing``, ``engines:1`` or ``site:south``.
    outage : Outage or None
        Site or line that is lost altogether.
    result : SearchResult
        Cheapest fleet, and bound on the cost of any.
    """

    label: str
    outage: Outage | None
    result: SearchResult

    @property
    def candidate(self) -> Candidate | None:
        """Cheapest fleet found."""
        return self.result.candidate

    @property
    def lower_usd_per_hour(self) -> float:
        """Bound on the cost of any fleet; infinite where there is none [currency/h]."""
        return self.result.certificate.lower_bound_usd_per_hour


@dataclass(frozen=True)
class Tolerance:
    """What a fleet is to survive.

    Attributes
    ----------
    limits : tuple of Limit
        Limits while something is lost.
    spares : int
        Engines that every pool in use can do without.
    outages : tuple of Outage
        Sites and lines, one of which at a time may be lost.
    every_site : bool
        Whether all sites of the problem are among them.
    """

    limits: tuple[Limit, ...]
    spares: int = 0
    outages: tuple[Outage, ...] = ()
    every_site: bool = False

    @classmethod
    def of(cls, scenario: Scenario) -> Tolerance:
        """Return what a scenario wants to be survived; limits not named again stay as they are."""
        tolerate = scenario.tolerate
        limits = {limit.key: limit for limit in scenario.slo.limits}
        limits |= {limit.key: limit for limit in tolerate.slo.limits}
        wanted: tuple[tuple[OutageKind, str, list[str]], ...] = (
            ("site", tolerate.site, list(scenario.sites)),
            ("line", tolerate.line, [link.name for link in scenario.links]),
        )
        outages = tuple(
            Outage(kind, one)
            for kind, name, known in wanted
            for one in (known if name == ANY else [] if name == NONE else [name])
        )
        return cls(tuple(limits.values()), tolerate.engines, outages, tolerate.site == ANY)

    @property
    def specs(self) -> tuple[OutageSpec, ...]:
        """All losses as they are asked for, engines first."""
        pools = (OutageSpec("engines", "", self.spares),) if self.spares else ()
        return (*pools, *(OutageSpec(one.kind, one.name) for one in self.outages))


class Cases:
    """Everything that a fleet must survive, and searches for each of it alone.

    Parameters
    ----------
    model : PathModel
        Rule of the problem.
    tolerance : Tolerance
        What is to be survived.
    options : PlanOptions
        Time limit from now on, solver and progress.
    """

    def __init__(self, model: PathModel, tolerance: Tolerance, options: PlanOptions) -> None:
        self.model = model
        self.tolerance = tolerance
        self.options = options
        self.started = time.monotonic()
        self.left = outage_model(model, tolerance.limits)
        self.survival = Survival(model, self.left, tolerance.spares, tolerance.outages)
        self._searches = 1 + bool(tolerance.spares) + 2 * len(tolerance.outages)
        self._done = 0
        self.paid: list[Candidate] = []
        """Parts that each loss pays for in the cheapest fleets at shared prices."""

    @property
    def deadline(self) -> float:
        """When the time is over, on the clock of `time.monotonic` [s]."""
        return self.started + self.options.time_limit_s

    def solve(self) -> list[Case]:
        """Cheapest fleets of each case, up to one that no fleet can keep.

        With the same limits, a loss that the usual fleet survives anyway needs no search: what is
        left cannot be cheaper than a fleet that loses nothing.
        """
        found = [self._alone(None)]
        if self.tolerance.spares and math.isfinite(found[0].lower_usd_per_hour):
            found.append(self._spare_case())
        usual = found[-1].candidate if self.model.problem.limits == self.tolerance.limits else None
        for outage in self.tolerance.outages:
            if math.isinf(found[-1].lower_usd_per_hour):
                break
            if usual is not None and self.survival.rerouted(usual, outage) is not None:
                self._done += 1  # its time goes to the next search
                result = replace(found[0].result, candidate=None, usd_per_hour=math.inf)
                found.append(Case(outage.label, outage, result))
            else:
                found.append(self._alone(outage))
        return found

    def lower_bound(self, found: list[Case]) -> float:
        """Bound on the cost of any fleet that survives everything; infinite where there is none.

        Parameters
        ----------
        found : list of Case
            As of `solve`.

        Notes
        -----
        A fleet that survives holds a fleet for each case, so it costs no less than the dearest.
        It costs no less either than those fleets together at prices that are shared out among
        the cases: for each part the shares add up to its price, so none is counted twice.
        """
        bound = max(case.lower_usd_per_hour for case in found)
        if len(self.tolerance.outages) > 1 and math.isfinite(bound):
            bound = max(bound, self._together())
        return bound

    def _together(self) -> float:
        """Sum over losses of the least cost without each, at its shares of the prices."""
        from pdd_plan.studies.planning import search_plan

        self._tell("bounding the cost of all losses together")
        total = 0.0
        for trial, outage in zip(
            shared_prices(self.left.problem, self.tolerance.outages),
            self.tolerance.outages,
            strict=True,
        ):
            model, scope = with_counts(self.left, trial), self._scope_without(outage)
            result = search_plan(trial, self._next_options(), model, scope)
            total += result.certificate.lower_bound_usd_per_hour
            if result.candidate is not None:
                self.survival.suggest(outage, result.candidate)
                self.paid.append(_paid_part(trial, result.candidate))
        return total

    def _next_options(self) -> PlanOptions:
        """Options of the next search; what earlier ones left of their time is added."""
        self._done += 1
        share = SEARCH_SHARE * min(self._done / self._searches, 1.0)
        left_s = self.started + share * self.options.time_limit_s - time.monotonic()
        return replace(self.options, time_limit_s=max(left_s, 0.1), progress=None)

    def _brief_options(self) -> SearchOptions:
        """Options of a search for one more start."""
        left_s = self.deadline - time.monotonic()
        limit_s = max(min(BRIEF_SHARE * self.options.time_limit_s, 0.25 * left_s), 0.1)
        return replace(self.options.search_options(), time_limit_s=limit_s, progress=None)

    def _alone(self, outage: Outage | None) -> Case:
        """The cheapest fleet with nothing lost, or without a site or line altogether."""
        from pdd_plan.studies.planning import search_plan

        model = self.model if outage is None else self.left
        label = NOTHING if outage is None else outage.label
        self._tell("searching for the plan" if outage is None else f"planning without {label}")
        scope = self._scope_without(outage)
        result = search_plan(model.problem, self._next_options(), model, scope)
        if result.candidate is not None:
            self.survival.suggest(outage, result.candidate)
        return Case(label, outage, result)

    def _scope_without(self, outage: Outage | None) -> Scope:
        """Lanes that a loss leaves."""
        problem = self.model.problem
        lanes = Scope().lanes_of(problem)
        if outage is not None:
            lanes = frozenset(i for i in lanes if not outage.takes_lane(problem.lanes[i]))
        return Scope(lanes)

    def _spare_case(self) -> Case:
        """The cheapest fleet with spare engines in every pool."""
        self._tell("planning with spare engines")
        options = self._next_options().search_options()
        result = plan_spares(self.left, self.tolerance.spares, options)
        if result.candidate is not None:
            self.survival.suggest(None, result.candidate)
        return Case(spare_outage(self.tolerance.spares).label, None, result)

    def aligned(self, found: list[Case]) -> Iterator[Candidate]:
        """What all cases need if each may use only pools that an earlier one uses, where any does.

        Plans of several cases often differ in the shape of engines only; together they may then
        take more chips than there are.
        """
        problem = self.left.problem
        fleets = [case.candidate for case in found[:1] if case.candidate is not None]
        for case in found[1:]:
            if case.outage is None or not fleets:
                continue
            trial = with_counts(self.left, _only_pools_of(problem, union(fleets)))
            scope = self._scope_without(case.outage)
            result = search(trial.problem, self._brief_options(), trial, scope)
            if result.candidate is None:
                return
            self.survival.suggest(case.outage, result.candidate)
            fleets.append(result.candidate)
        if fleets:
            spared = tuple(n + self.tolerance.spares if n else 0 for n in fleets[0].engines)
            yield union([replace(fleets[0], engines=spared), *fleets])

    def spread(self) -> Iterator[Candidate]:
        """Fleets in which each of three sites or more is sized for its part once one is lost."""
        problem = self.model.problem
        lost = {outage.name for outage in self.tolerance.outages if outage.kind == "site"}
        lanes = {i: problem.lanes[i] for i in Scope().lanes_of(problem)}
        for ends in (
            {i: lane.target for i, lane in lanes.items()},
            {i: lane.source for i, lane in lanes.items()},
        ):
            sites = list(dict.fromkeys(ends.values()))
            if len(sites) < 3 or not lost & set(sites):
                continue
            rate = problem.arrival_rate_per_s / (len(sites) - 1)
            model = PathModel(replace(self.left.problem, arrival_rate_per_s=rate))
            fleets = []
            for site in sites:
                scope = Scope(frozenset(i for i, end in ends.items() if end == site))
                result = search(model.problem, self._brief_options(), model, scope)
                if result.candidate is not None:
                    fleets.append(result.candidate)
            if len(fleets) == len(sites):
                yield from _together(problem, fleets)

    def _tell(self, text: str) -> None:
        if self.options.progress is not None:
            self.options.progress(text)


def _only_pools_of(problem: Problem, fleet: Candidate) -> Problem:
    """The problem without the pools that a fleet leaves out beside others that it uses."""
    used = {
        (pool.site, pool.role)
        for pool, count in zip(problem.pools, fleet.engines, strict=True)
        if count
    }
    pools = tuple(
        replace(pool, max_engines=0) if (pool.site, pool.role) in used and not count else pool
        for pool, count in zip(problem.pools, fleet.engines, strict=True)
    )
    return replace(problem, pools=pools)


def _together(problem: Problem, fleets: list[Candidate]) -> Iterator[Candidate]:
    """All engines and lines of several fleets, and with a few more engines of each kind."""
    flows = [sum(each) for each in zip(*(f.flows_per_s for f in fleets), strict=True)]
    engines = [sum(each) for each in zip(*(f.engines for f in fleets), strict=True)]
    whole = replace(
        union(fleets),
        flows_per_s=tuple(flow * problem.arrival_rate_per_s / sum(flows) for flow in flows),
    )
    for more in (0, 1, 2, 4):
        yield replace(whole, engines=tuple(n + more if n else 0 for n in engines))


def shared_prices(problem: Problem, outages: tuple[Outage, ...]) -> list[Problem]:
    """The problem once for each loss, with every price shared out among those that need the part.

    Parameters
    ----------
    problem : Problem
        With the whole prices.
    outages : tuple of Outage
        Sites and lines, one of which at a time may be lost.

    Returns
    -------
    list of Problem
        A pool of engines is paid for where it can be reached and another site of its role cannot;
        a line where it is left and another is not; what no loss displaces is paid for by all of
        them alike. For every part the shares add up to its price.
    """
    ends = [_reached(problem, outage) for outage in outages]
    every = _reached(problem, None)
    pools = [("line", lane.label) for lane in problem.lanes]
    parts = [(pool.role, pool.site) for pool in problem.pools]
    out = []
    for here in ends:
        priced = [_share(part, here, ends, every) for part in parts]
        lines = [_share(part, here, ends, every) for part in pools]
        out.append(
            replace(
                problem,
                pools=tuple(
                    replace(pool, usd_per_engine_hour=pool.usd_per_engine_hour * share)
                    for pool, share in zip(problem.pools, priced, strict=True)
                ),
                lanes=tuple(
                    replace(lane, usd_per_hour=lane.usd_per_hour * share)
                    for lane, share in zip(problem.lanes, lines, strict=True)
                ),
            )
        )
    return out


Ends = frozenset[tuple[str, str]]
"""Roles with sites, and lines, that requests can reach."""


def _paid_part(problem: Problem, fleet: Candidate) -> Candidate:
    """What of a fleet has a price; the rest is paid for by other losses."""
    engines = tuple(
        count if pool.usd_per_engine_hour > 0.0 else 0
        for count, pool in zip(fleet.engines, problem.pools, strict=True)
    )
    levels = tuple(
        level if level >= 0 and lane.usd_per_hour[level] > 0.0 else -1
        for level, lane in zip(fleet.levels, problem.lanes, strict=True)
    )
    return replace(fleet, engines=engines, levels=levels)


def _reached(problem: Problem, outage: Outage | None) -> Ends:
    """Sites by role, and lines, that some lane leads over once something is lost."""
    reached: set[tuple[str, str]] = set()
    for index in Scope().lanes_of(problem):
        lane = problem.lanes[index]
        if outage is None or not outage.takes_lane(lane):
            ends = (("prefill", lane.source), ("relay", lane.source), ("decode", lane.target))
            reached |= {*ends, ("line", lane.label)}
    return frozenset(reached)


def _share(part: tuple[str, str], here: Ends, ends: list[Ends], every: Ends) -> float:
    """Share of the price of a part that one loss pays."""
    like = {other for other in every if other[0] == part[0]}
    payers = [reached for reached in ends if part in reached and not like <= reached]
    payers = payers or ends
    return sum(one is here for one in payers) / len(payers)
