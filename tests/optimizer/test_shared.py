"""Several services on one fleet: enumeration, special cases, bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pdd_plan.fleet.check import check
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.shared import SharedProblem
from pdd_plan.optimizer.search import SearchOptions, search
from pdd_plan.optimizer.shared import search_shared
from pdd_plan.optimizer.shared_results import SharedResult
from tests.optimizer.shared_fleets import KINDS, least_cost, shared_fleet

CASES: dict[str, dict[str, Any]] = {
    "stock": {},
    "fixed-price": {"fixed": 15.0},
    "least-size": {"fixed": 5.0, "least_steps": 3},
    "power": {"engines": 4, "watts": 40_000.0},
}


def solve(shared: SharedProblem, **options: Any) -> SharedResult:
    """Search with enough time, and check the answer apart from the search."""
    models = [PathModel(problem) for problem in shared.problems]
    result = search_shared(shared, models, SearchOptions(**{"time_limit_s": 120.0, **options}))
    if result.candidates is None:
        return result
    total = np.zeros(len(shared.rows))
    for service, (problem, candidate) in enumerate(
        zip(shared.problems, result.candidates, strict=True)
    ):
        assert check(problem, candidate).ok
        total += shared.use(service, candidate)
    assert (total <= shared.capacities * (1 + 1e-9)).all()
    assert result.usd_per_hour == pytest.approx(shared.usd_per_hour(result.candidates))
    assert result.lower_bound_usd_per_hour <= result.usd_per_hour * (1 + 1e-9)
    return result


def compare(shared: SharedProblem) -> SharedResult:
    """Assert that the search finds what looking at every pair of plans finds."""
    result, best = solve(shared), least_cost(shared)
    if np.isinf(best):
        assert result.status == "infeasible"
        return result
    assert result.lower_bound_usd_per_hour <= best * (1 + 1e-9)
    assert result.usd_per_hour == pytest.approx(best, rel=1e-6)
    assert result.status == "optimal"
    return result


CONTESTED = [
    ("one-lane", 2, 5),
    ("one-lane", 7, 4),
    ("two-decode-sites", 3, 4),
    ("two-decode-sites", 4, 5),
    ("local-or-remote", 0, 3),
    ("local-or-remote", 6, 5),
    ("two-chips", 0, 3),
    ("two-chips", 3, 3),
]
"""Kind, seed and stock in engines of services that do not fit at once, or not at all."""


@pytest.mark.parametrize(("kind", "seed", "engines"), CONTESTED)
def test_equals_every_pair_of_plans(kind: str, seed: int, engines: int) -> None:
    compare(shared_fleet(kind, seed, engines=engines))


@pytest.mark.parametrize("case", ["fixed-price", "least-size", "power"])
def test_equals_every_pair_of_plans_with(case: str) -> None:
    for kind, seed in (("local-or-remote", 1), ("two-decode-sites", 3)):
        compare(shared_fleet(kind, seed, **CASES[case]))


def test_equals_every_three_plans() -> None:
    compare(shared_fleet("one-lane", 3, services=3, engines=6))


def test_two_copies_with_plenty_cost_twice_one() -> None:
    for kind in ("two-decode-sites", "local-or-remote"):
        shared = shared_fleet(kind, 1, services=1, engines=40)
        one = shared.problems[0]
        copies = replace(shared, names=("a", "b"), problems=(one, one))
        lines = tuple(replace(line, max_steps=2 * line.max_steps) for line in shared.lines)
        alone, both = solve(shared), solve(replace(copies, lines=lines))
        assert both.status == "optimal"
        assert both.usd_per_hour == pytest.approx(2.0 * alone.usd_per_hour, rel=1e-9)
        assert both.nodes == 0
        assert not both.prices.any()


def test_one_service_is_the_search_for_it() -> None:
    shared = shared_fleet("two-chips", 3, services=1)
    line = shared.lines[0]
    prices = line.usd_per_step_hour * np.arange(1, line.max_steps + 1)
    lanes = (replace(shared.problems[0].lanes[0], usd_per_hour=prices),)
    alone = search(replace(shared.problems[0], lanes=lanes), SearchOptions())
    assert solve(shared).usd_per_hour == pytest.approx(alone.usd_per_hour, rel=1e-9)


@pytest.mark.parametrize(("kind", "seed"), [("local-or-remote", 6), ("two-decode-sites", 3)])
def test_more_stock_never_costs_more(kind: str, seed: int) -> None:
    costs = [solve(shared_fleet(kind, seed, engines=n)).usd_per_hour for n in range(3, 7)]
    assert costs == sorted(costs, reverse=True)
    assert len(set(costs)) > 2


@pytest.mark.parametrize("seed", range(4))
def test_two_halves_never_cost_less_than_one_whole(seed: int) -> None:
    """Engines and lines that serve all requests wait less than two that serve half each."""
    shared = shared_fleet("local-or-remote", seed, services=1, engines=20)
    whole = shared.problems[0]
    half = replace(whole, arrival_rate_per_s=whole.arrival_rate_per_s / 2)
    halves = replace(shared, names=("a", "b"), problems=(half, half))
    assert solve(halves).usd_per_hour >= solve(shared).usd_per_hour * (1 - 1e-9)


def test_a_line_is_paid_for_once() -> None:
    """Two services on one line share its price, so a fixed price counts once, not twice."""
    for seed in (1, 3):
        free, priced = (
            solve(shared_fleet("one-lane", seed, fixed=price)).usd_per_hour for price in (0.0, 50.0)
        )
        assert priced == pytest.approx(free + 50.0)


def test_a_time_limit_gives_a_true_bound() -> None:
    shared = shared_fleet("two-decode-sites", 3, engines=5, fixed=15.0, least_steps=3)
    best = least_cost(shared)
    for limit_s in (1e-6, 0.1, 0.3):
        result = solve(shared, time_limit_s=limit_s)
        assert result.lower_bound_usd_per_hour <= best * (1 + 1e-9)
        assert result.usd_per_hour >= best * (1 - 1e-9)
        assert result.status in ("unknown", "feasible", "optimal")


def test_cbc_finds_the_same_optimum() -> None:
    shared = shared_fleet("two-decode-sites", 4)
    costs = [solve(shared, solver=solver).usd_per_hour for solver in ("highs", "cbc")]
    assert costs[0] == pytest.approx(costs[1], rel=1e-6)


def test_the_instances_are_not_all_of_one_kind() -> None:
    """Services that fit at once, services that compete, and services that do not fit."""
    seen = {"fits": 0, "competes": 0, "infeasible": 0}
    for kind in KINDS:
        for seed in range(3):
            result = solve(shared_fleet(kind, seed))
            fate = "fits" if not result.nodes else "competes"
            seen["infeasible" if result.candidates is None else fate] += 1
    assert min(seen.values()) >= 2, seen


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", KINDS)
def test_equals_every_pair_of_plans_of_many(case: str, kind: str) -> None:
    for seed in range(10, 20):
        compare(shared_fleet(kind, seed, **CASES[case]))
