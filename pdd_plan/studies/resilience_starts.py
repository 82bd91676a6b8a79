"""Fleets to begin with in the search for one that survives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.optimizer.search import Scope, search
from pdd_plan.studies.resilience_cases import Case, Cases
from pdd_plan.studies.spares import plan_spares, with_spares
from pdd_plan.studies.survivors import union

ROOMY = 0.7
"""Use of a line that a fleet to begin with is sized for."""


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
        yield union([with_spares(first, cases.tolerance.spares), *apart])
    if cases.tolerance.spares:
        yield from _untouched(cases, apart)
    if cases.paid:
        yield union(cases.paid)
        yield union([*reversed(usual), *cases.paid])
    yield from _aligned(cases, found)
    yield from _spread(cases, usual)


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
        trial = cases.left.revised(_only_pools_of(problem, union(fleets)))
        scope = cases.scope_without(case.outage)
        result = search(trial.problem, cases.brief_options(), trial, scope)
        if result.candidate is None:
            return
        cases.survival.suggest(case.outage, result.candidate)
        fleets.append(result.candidate)
    if fleets:
        yield union([with_spares(fleets[0], cases.tolerance.spares), *fleets])


def _spread(cases: Cases, usual: list[Candidate]) -> Iterator[Candidate]:
    """Fleets in which each site is sized for its part of the demand once one of them is lost.

    Where any of m sites may be lost, each gets engines for the demand over m - 1, and every lane a
    line for its part of that; what is too much is left out later.
    """
    problem = cases.left.problem
    lanes = Scope().lanes_of(problem)
    sources = list(dict.fromkeys(problem.lanes[i].source for i in sorted(lanes)))
    targets = list(dict.fromkeys(problem.lanes[i].target for i in sorted(lanes)))
    if not usual or max(len(sources), len(targets)) < 3:
        return
    lost = {outage.name for outage in cases.tolerance.outages if outage.kind == "site"}
    parts = [len(s) - 1 if len(s) > 1 and lost & set(s) else 1 for s in (sources, targets)]
    fleets = list(usual)
    for sites, count, prefill in zip((sources, targets), parts, (True, False), strict=True):
        if count > 1:
            fleets += _parts_of_demand(cases, sites, count, prefill)
    flow = problem.arrival_rate_per_s / (parts[0] * parts[1])
    levels = tuple(
        _roomy(cases.left, i, flow) if i in lanes else -1 for i in range(len(problem.lanes))
    )
    whole = replace(union(fleets), levels=levels, flows_per_s=(0.0,) * len(levels))
    for more in (0, 1, 2):
        larger = with_spares(whole, more)
        for threshold, wait in dict.fromkeys((f.threshold_index, f.slot_wait) for f in fleets):
            yield replace(larger, threshold_index=threshold, slot_wait=wait)


def _parts_of_demand(
    cases: Cases, sites: list[str], count: int, prefill: bool
) -> Iterator[Candidate]:
    """Engines of each site for an even part of the demand: prefill and relay, or decode."""
    problem = cases.left.problem
    rate = problem.arrival_rate_per_s / count
    model = cases.left.revised(replace(problem, arrival_rate_per_s=rate))
    for site in sites:
        lanes = Scope().lanes_of(problem)
        here = [
            i for i in lanes if site == getattr(problem.lanes[i], "source" if prefill else "target")
        ]
        found = search(model.problem, cases.brief_options(), model, Scope(frozenset(here)))
        if found.candidate is not None:
            pairs = zip(found.candidate.engines, problem.pools, strict=True)
            own = tuple(
                n if pool.site == site and (pool.role != "decode") == prefill else 0
                for n, pool in pairs
            )
            yield replace(found.candidate, engines=own)


def _roomy(model: PathModel, lane: int, flow_per_s: float) -> int:
    """Smallest size of a line that a flow leaves room on, or its largest."""
    sizes = range(model.problem.lanes[lane].bytes_per_s.size)
    for level in sizes:
        state = model.peak_state(lane, level, flow_per_s)
        if state is not None and state.utilization <= ROOMY:
            return level
    return sizes[-1]


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
