"""A search that simulates every fleet it looks at, as planners around a simulator do."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from benchmarks.alternatives import questions
from benchmarks.alternatives.enumeration import (
    answer,
    candidate_of,
    fleet_text,
    given_shapes,
    splits,
)
from pdd_plan.fleet.build import build_problem
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.simulation import SimulationOptions, simulate

BUDGET_S = 180.0
"""Time after which a search is broken off."""
STEPS = 7
"""Simulations of the bisection for the largest rate of one fleet."""
THRESHOLDS = 4
"""Thresholds that are tried, evenly among those of the problem."""


def one_site() -> dict[str, Any]:
    """Find the fleet of the 32 chips that carries most: bisect the rate of every fleet."""
    started = time.perf_counter()
    problem = build_problem(questions.one_site()).problem
    problem = replace(problem, arrival_rate_per_s=1.0)
    best, looked_at = (0.0, ""), 0
    for candidate in splits(problem, questions.CHIPS):
        low, high = best[0], 64.0
        if low and not _keeps(problem, candidate, low):
            looked_at += 1
            continue
        for _ in range(STEPS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if _keeps(problem, candidate, middle) else (low, middle)
        looked_at += STEPS + 1
        best = max(best, (low, fleet_text(problem, candidate)))
        if time.perf_counter() - started > BUDGET_S:
            break
    return answer(best, "req/s", looked_at, started)


def two_sites() -> dict[str, Any]:
    """Find a cheap fleet of the quickstart: from a large one, take away what is not missed.

    The shapes are given; counts, line and threshold are looked for.
    """
    started = time.perf_counter()
    problem = build_problem(questions.two_sites()).problem
    lane, (prefill, relay, decode) = given_shapes(problem)
    best, looked_at = (float("inf"), ""), 0
    count = problem.thresholds.size
    for number in range(THRESHOLDS):
        threshold = 1 + number * (count - 2) // (THRESHOLDS - 1)
        level = problem.lanes[lane].bytes_per_s.size - 1
        engines = {prefill: 6, relay: 2, decode: 14}
        fleet = candidate_of(problem, engines, lane, level, threshold)
        while time.perf_counter() - started < BUDGET_S:
            for smaller in _smaller(problem, fleet, lane):
                looked_at += 1
                if _keeps(problem, smaller, problem.arrival_rate_per_s):
                    fleet = smaller
                    break
            else:
                break
        if _keeps(problem, fleet, problem.arrival_rate_per_s):
            best = min(best, (fleet.usd_per_hour(problem), fleet_text(problem, fleet)))
    return answer(best, "USD/h", looked_at, started)


def _smaller(problem: Problem, fleet: Candidate, lane: int) -> list[Candidate]:
    """Return the fleets with one engine or one step of bandwidth less, the cheapest first."""
    found = []
    for index, count in enumerate(fleet.engines):
        if count > 1:
            engines = (*fleet.engines[:index], count - 1, *fleet.engines[index + 1 :])
            found.append(replace(fleet, engines=engines))
    if fleet.levels[lane] > 0:
        levels = tuple(max(one - 1, -1) for one in fleet.levels)
        found.append(replace(fleet, levels=levels))
    return sorted(found, key=lambda one: one.usd_per_hour(problem))


def _keeps(problem: Problem, fleet: Candidate, rate_per_s: float) -> bool:
    """Return whether every limit holds in a simulation of 20,000 requests."""
    total = sum(fleet.flows_per_s)
    flows = tuple(flow / total * rate_per_s for flow in fleet.flows_per_s)
    options = SimulationOptions(requests=20_000, replications=1, jobs=1)
    loaded = replace(problem, arrival_rate_per_s=rate_per_s)
    seen = simulate(loaded, replace(fleet, flows_per_s=flows), options)
    laws = {"ttft": seen.ttft_s, "tpot": seen.tpot_s}
    return all(
        laws[limit.metric].percentile(limit.percentile).mean <= limit.limit_s
        for limit in problem.limits
    )
