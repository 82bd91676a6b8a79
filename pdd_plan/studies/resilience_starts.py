"""Fleets to begin with in the search for one that survives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.optimizer.search import Scope, search
from pdd_plan.studies.resilience_cases import Case, Cases
from pdd_plan.studies.spares import plan_spares, with_counts
from pdd_plan.studies.survivors import union


def starts(cases: Cases, found: list[Case]) -> Iterator[Candidate]:
    """Yield fleets to begin with, from the cheapest fleets of each case; not all of them survive.

    Parameters
    ----------
    cases : Cases
        What is to be survived.
    found : list of Case
        Cheapest fleets of each case, as of `Cases.solve`.
    """
    usual = [case.candidate for case in found if case.candidate is not None and not case.outage]
    apart = [case.candidate for case in found if case.candidate is not None and case.outage]
    if usual:  # spares first: their setting holds with nothing lost, too
        yield union([*reversed(usual), *apart])
    for first in apart:
        spared = replace(
            first, engines=tuple(n + cases.tolerance.spares if n else 0 for n in first.engines)
        )
        yield union([spared, *apart])
    if cases.tolerance.spares:
        yield from _untouched(cases, apart)
    if cases.paid:
        yield union(cases.paid)
        yield union([*reversed(usual), *cases.paid])
    yield from _aligned(cases, found)
    yield from _spread(cases)


def _untouched(cases: Cases, apart: list[Candidate]) -> Iterator[Candidate]:
    """Fleets with spare engines that do without what may be lost: one thing, or every line."""
    outages = cases.tolerance.outages
    scopes = [cases.scope_without(outage) for outage in outages]
    lines = [cases.scope_without(one).lanes or frozenset() for one in outages if one.kind == "line"]
    if len(lines) > 1:
        scopes.append(Scope(frozenset.intersection(*lines)))
    for scope in scopes:
        found = plan_spares(cases.left, cases.tolerance.spares, cases.brief_options(), scope)
        if found.candidate is not None:
            cases.survival.suggest(None, found.candidate)
            yield found.candidate
            yield union([found.candidate, *apart])


def _aligned(cases: Cases, found: list[Case]) -> Iterator[Candidate]:
    """What all cases need if each may use only pools that an earlier one uses, where any does.

    Plans of several cases often differ in the shape of engines only; together they may then
    take more chips than there are.
    """
    problem = cases.left.problem
    fleets = [case.candidate for case in found[:1] if case.candidate is not None]
    for case in found[1:]:
        if case.outage is None or not fleets:
            continue
        trial = with_counts(cases.left, _only_pools_of(problem, union(fleets)))
        scope = cases.scope_without(case.outage)
        result = search(trial.problem, cases.brief_options(), trial, scope)
        if result.candidate is None:
            return
        cases.survival.suggest(case.outage, result.candidate)
        fleets.append(result.candidate)
    if fleets:
        spared = tuple(n + cases.tolerance.spares if n else 0 for n in fleets[0].engines)
        yield union([replace(fleets[0], engines=spared), *fleets])


def _spread(cases: Cases) -> Iterator[Candidate]:
    """Fleets in which each of three sites or more is sized for its part once one is lost."""
    problem = cases.model.problem
    lost = {outage.name for outage in cases.tolerance.outages if outage.kind == "site"}
    lanes = {i: problem.lanes[i] for i in Scope().lanes_of(problem)}
    for ends in (
        {i: lane.target for i, lane in lanes.items()},
        {i: lane.source for i, lane in lanes.items()},
    ):
        sites = list(dict.fromkeys(ends.values()))
        if len(sites) < 3 or not lost & set(sites):
            continue
        rate = problem.arrival_rate_per_s / (len(sites) - 1)
        model = PathModel(replace(cases.left.problem, arrival_rate_per_s=rate))
        fleets = []
        for site in sites:
            scope = Scope(frozenset(i for i, end in ends.items() if end == site))
            result = search(model.problem, cases.brief_options(), model, scope)
            if result.candidate is not None:
                fleets.append(result.candidate)
        if len(fleets) == len(sites):
            yield from _all_of(problem, fleets)


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


def _all_of(problem: Problem, fleets: list[Candidate]) -> Iterator[Candidate]:
    """All engines and lines of several fleets, and with a few more engines of each kind.

    Half of the demand is left to be shared out, which sets shares in whole steps.
    """
    flows = [sum(each) for each in zip(*(f.flows_per_s for f in fleets), strict=True)]
    engines = [sum(each) for each in zip(*(f.engines for f in fleets), strict=True)]
    whole = replace(
        union(fleets),
        flows_per_s=tuple(0.5 * flow * problem.arrival_rate_per_s / sum(flows) for flow in flows),
    )
    for more in (0, 1, 2, 4):
        yield replace(whole, engines=tuple(n + more if n else 0 for n in engines))
