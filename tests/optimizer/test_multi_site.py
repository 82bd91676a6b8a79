"""Plans over several sites against enumeration of every candidate, and against single lanes."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import pdd_plan.optimizer.search as search_module
from pdd_plan.fleet.check import check
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.optimizer.search import Scope, SearchOptions, SearchResult, search
from tests.optimizer.enumeration import Enumeration
from tests.optimizer.multi_site import multi_site_problem
from tests.optimizer.test_brute_force import same_as_enumeration
from tests.problems import ProblemOptions, random_problem

SEEDS = range(300)
"""Problems whose every candidate is looked at; the first few of them in the default tests."""

SHORT = range(0, 72, 6)


def recomputed(problem: Problem, result: SearchResult) -> None:
    """Assert what a certificate says of a plan, without the solver or any table of the search."""
    candidate, proof = result.candidate, result.certificate
    assert candidate is not None
    fresh = PathModel(problem)
    assert check(problem, candidate, fresh).ok
    engines = zip(candidate.engines, problem.pools, strict=True)
    usd = sum(count * pool.usd_per_engine_hour for count, pool in engines)
    lanes = zip(candidate.levels, problem.lanes, strict=True)
    usd += sum(float(lane.usd_per_hour[level]) for level, lane in lanes if level >= 0)
    assert result.usd_per_hour == pytest.approx(usd, rel=1e-12)
    assert proof.lower_bound_usd_per_hour <= usd * (1 + 1e-9)
    assert proof.gap == pytest.approx(1.0 - proof.lower_bound_usd_per_hour / usd, abs=1e-12)


def compare(seed: int) -> SearchResult:
    """Assert that search and enumeration agree, and that no single lane is cheaper."""
    problem = multi_site_problem(seed)
    result, best = same_as_enumeration(problem)
    if np.isinf(best):
        return result
    recomputed(problem, result)
    for lane in range(len(problem.lanes)):
        alone = search(problem, SearchOptions(time_limit_s=60.0), scope=Scope(frozenset({lane})))
        assert alone.status in ("optimal", "infeasible")
        assert result.usd_per_hour <= alone.usd_per_hour * (1 + 1e-9)
    return result


@pytest.mark.parametrize("seed", SHORT)
def test_optimum_equals_enumeration(seed: int) -> None:
    compare(seed)


@pytest.mark.long
@pytest.mark.parametrize("block", range(20))
def test_optimum_equals_enumeration_of_all(block: int) -> None:
    for seed in SEEDS[block::20]:
        compare(seed)


@pytest.mark.parametrize("seed", [22, 41, 51, 80, 102])
def test_programs_alone_find_the_optimum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without plans from elsewhere and costing the few one by one, the programs do all the work."""
    monkeypatch.setattr(search_module, "FEW_PLANS", 0)
    monkeypatch.setattr(search_module, "FEW_STATES", 0)
    monkeypatch.setattr(search_module.Repair, "plan", lambda *_: None)
    assert compare(seed).certificate.nodes_solved > 0


@pytest.mark.long
def test_the_problems_are_not_all_of_one_kind() -> None:
    """Several lanes, relays, mixes of chips, local decode and infeasible cases all occur."""
    lanes = [0] * 4
    relays = mixes = local = 0
    for seed in SEEDS:
        problem = multi_site_problem(seed)
        candidate = search(problem, SearchOptions(time_limit_s=120.0)).candidate
        if candidate is None:
            lanes[0] += 1
            continue
        flows = list(zip(candidate.flows_per_s, problem.lanes, strict=True))
        lanes[sum(flow > 0.0 for flow, _ in flows)] += 1
        local += any(flow > 0.0 and lane.local for flow, lane in flows)
        used = [p for n, p in zip(candidate.engines, problem.pools, strict=True) if n]
        roles = [(pool.site, pool.role) for pool in used]
        relays += any(pool.role == "relay" for pool in used)
        mixes += len(roles) > len(set(roles))
    assert lanes[0] <= 50
    assert min(lanes[1:]) >= 50
    assert relays >= 40
    assert mixes >= 20
    assert local >= 10


@pytest.mark.parametrize("seed", [5, 11, 18, 24, 31, 51])
def test_enumeration_agrees_with_the_check(seed: int) -> None:
    """Every vector of counts at both ends of a lane, one by one through the check."""
    problem = multi_site_problem(seed)
    pools = tuple(replace(pool, max_engines=2, min_engines=1) for pool in problem.pools)
    problem = replace(problem, pools=pools, arrival_rate_per_s=0.2 * problem.arrival_rate_per_s)
    every, rate = Enumeration(problem), problem.arrival_rate_per_s
    finite = 0
    for lane, threshold in ((0, 0), (1, 1)):
        ends = {problem.lanes[lane].source, problem.lanes[lane].target}
        ranges = [range(3) if pool.site in ends else range(1) for pool in pools]
        levels = tuple(0 if i == lane else -1 for i in range(len(problem.lanes)))
        flows = tuple(rate if i == lane else 0.0 for i in range(len(problem.lanes)))
        wait = problem.slot_waits[0]
        least = np.inf
        for engines in itertools.product(*ranges):
            candidate = Candidate(threshold, wait, engines, levels, flows)
            usd = candidate.usd_per_hour(problem)
            if usd < least and check(problem, candidate, every.model).ok:
                least = usd
        assert every.cost(((lane, 0, rate),), threshold, wait) == pytest.approx(least, rel=1e-12)
        finite += np.isfinite(least)
    assert finite


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_larger_plans_are_no_dearer_than_single_lanes(seed: int) -> None:
    """Too many candidates to enumerate: the certificate holds, and every single lane costs more."""
    options = ProblemOptions(
        prefill_sites=2 + seed % 2,
        decode_sites=2 + seed % 3,
        chips=2 + seed % 2,
        link_price="dear",
        local=seed % 4 == 0,
    )
    problem, _ = random_problem(seed, options)
    result = search(problem, SearchOptions(time_limit_s=60.0))
    recomputed(problem, result)
    for lane in range(len(problem.lanes)):
        alone = search(problem, SearchOptions(time_limit_s=60.0), scope=Scope(frozenset({lane})))
        assert result.certificate.lower_bound_usd_per_hour <= alone.usd_per_hour * (1 + 1e-9)
        if result.status == "optimal":
            assert result.usd_per_hour <= alone.usd_per_hour * (1 + 1e-6)


def test_a_fleet_that_costs_nothing_is_optimal() -> None:
    problem = multi_site_problem(0)
    free = replace(
        problem,
        pools=tuple(replace(pool, usd_per_engine_hour=0.0) for pool in problem.pools),
        lanes=tuple(replace(lane, usd_per_hour=0.0 * lane.usd_per_hour) for lane in problem.lanes),
    )
    result = search(free)
    assert result.status == "optimal"
    assert result.usd_per_hour == 0.0
