"""Plain enumeration: one engine shape per role, every count, each fleet evaluated directly."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.alternatives import questions
from pdd_plan.fleet.build import build_problem
from pdd_plan.fleet.check import check
from pdd_plan.fleet.goodput import goodput
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, Problem, Role

BUDGET_S = 60.0
"""Time after which a search is broken off."""


def one_site() -> dict[str, Any]:
    """Find the fleet of the 32 chips that carries most, by the goodput of every fleet."""
    scenario = questions.one_site()
    started = time.perf_counter()
    problem = replace(build_problem(scenario).problem, arrival_rate_per_s=1.0)
    model, best, count = PathModel(problem), (0.0, ""), 0
    for candidate in splits(problem, questions.CHIPS):
        count += 1
        reach = goodput(problem, candidate, model).requests_per_s
        best = max(best, (reach, fleet_text(problem, candidate)))
    return answer(best, "req/s", count, started)


def answer(
    best: tuple[float | None, str], unit: str, looked_at: int, started: float
) -> dict[str, Any]:
    """Return what a search tells: its best value and fleet, fleets looked at, time since start."""
    value, fleet = best
    return {
        "value": value,
        "unit": unit,
        "search_s": time.perf_counter() - started,
        "looked_at": looked_at,
        "fleet": fleet,
    }


def splits(problem: Problem, chips: int) -> Iterator[Candidate]:
    """Yield every way to share chips out to prefill and decode engines of one shape each."""
    lane = next(i for i, one in enumerate(problem.lanes) if one.local)
    site = problem.lanes[lane].source
    pairs = itertools.product(
        problem.pool_indices(site, "prefill"), problem.pool_indices(site, "decode")
    )
    for prefill, decode in pairs:
        first, second = problem.pools[prefill], problem.pools[decode]
        for count in range(1, chips // first.chips_per_engine + 1):
            left = (chips - count * first.chips_per_engine) // second.chips_per_engine
            if left:
                yield candidate_of(problem, {prefill: count, decode: left}, lane, 0)


def candidate_of(
    problem: Problem, engines: dict[int, int], lane: int, level: int, threshold: int = 0
) -> Candidate:
    """Return the fleet with all its load on one lane."""
    count = len(problem.lanes)
    return Candidate(
        threshold,
        max(problem.slot_waits),
        tuple(engines.get(i, 0) for i in range(len(problem.pools))),
        tuple(level if i == lane else -1 for i in range(count)),
        tuple(problem.arrival_rate_per_s if i == lane else 0.0 for i in range(count)),
    )


def fleet_text(problem: Problem, candidate: Candidate) -> str:
    """Write a fleet."""
    parts = [
        f"{count} x {problem.pools[i].chip} {problem.pools[i].shape} {problem.pools[i].role}"
        for i, count in enumerate(candidate.engines)
        if count
    ]
    for lane, level in zip(problem.lanes, candidate.levels, strict=True):
        if level >= 0 and not lane.local:
            parts.append(f"{lane.bytes_per_s[level] * 8e-9:.0f} Gbps")
    return ", ".join(parts)


def two_sites() -> dict[str, Any]:
    """Look at the fleets of the quickstart from the cheapest up, until one keeps the limits.

    The shape of each role is given; counts, line and threshold are looked for. All that cost less
    than the one found are ruled out by then, so it is the cheapest. The search is broken off after
    `BUDGET_S`.
    """
    started = time.perf_counter()
    problem = build_problem(questions.two_sites()).problem
    lane, pools = given_shapes(problem)
    sizes = [range(1, problem.pools[i].max_engines + 1) for i in pools]
    levels = range(problem.lanes[lane].bytes_per_s.size)
    grid = np.array(list(itertools.product(*sizes, levels)))
    prices = np.array([problem.pools[i].usd_per_engine_hour for i in pools])
    costs = grid[:, :-1] @ prices + problem.lanes[lane].usd_per_hour[grid[:, -1]]
    order = np.argsort(costs, kind="stable")
    model, count, found = PathModel(problem), 0, None
    for place, threshold in itertools.product(order, range(1, problem.thresholds.size)):
        if found is not None or time.perf_counter() - started > BUDGET_S:
            break
        count += 1
        *engines, level = grid[place].tolist()
        fleet = candidate_of(
            problem, dict(zip(pools, engines, strict=True)), lane, level, threshold
        )
        if holds(problem, fleet, model):
            found = fleet
    best: tuple[float | None, str] = (None, "")
    if found is not None:
        best = (found.usd_per_hour(problem), fleet_text(problem, found))
    return answer(best, "USD/h", count, started)


def given_shapes(problem: Problem) -> tuple[int, tuple[int, int, int]]:
    """Return the bought lane of the quickstart, and its prefill, relay and decode pools."""
    lane = next(i for i, one in enumerate(problem.lanes) if not one.local)
    source, target = problem.lanes[lane].source, problem.lanes[lane].target

    def pool(site: str, role: Role, shape: str) -> int:
        return next(i for i in problem.pool_indices(site, role) if problem.pools[i].shape == shape)

    pools = (pool(source, "prefill", "tp4"), pool(source, "relay", "tp4"))
    return lane, (*pools, pool(target, "decode", "tp8"))


def holds(problem: Problem, candidate: Candidate, model: PathModel) -> bool:
    """Return whether a fleet keeps the planning rule with any of the allowed waits for a slot."""
    waits = (replace(candidate, slot_wait=wait) for wait in problem.slot_waits)
    return any(check(problem, one, model).ok for one in waits)
