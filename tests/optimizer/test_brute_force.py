"""The optimum against enumeration of every candidate by direct evaluation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pdd_plan.fleet.check import check
from pdd_plan.fleet.problem import Problem
from pdd_plan.optimizer.search import OPTIMAL_GAP, SearchOptions, SearchResult, search
from tests.optimizer.enumeration import Enumeration
from tests.problems import ProblemOptions, random_problem

SHAPES = {
    "one-lane": {"link_price": "dear", "max_engines": 7, "rate_per_s": (1.0, 8.0)},
    "two-chips": {"link_price": "dear", "chips": 2, "max_engines": 4},
    "two-decode-sites": {"decode_sites": 2},
    "two-decode-sites-dear": {"decode_sites": 2, "link_price": "dear"},
    "local-or-remote": {"link_price": "dear", "local": True},
    "two-chips-local": {"chips": 2, "local": True, "max_engines": 4},
    "two-chips-scarce": {"chips": 2, "max_engines": 3, "rate_per_s": (3.0, 7.0)},
}
"""Kinds of problems; all with one prefill site."""


def small_problem(shape: str, seed: int) -> Problem:
    """A problem small enough to enumerate, with scarce stock and lines that cost."""
    base = {
        "atoms": (30, 50),
        "rate_per_s": (1.0, 4.0),
        "max_engines": 5,
        "levels": 6,
        "thresholds": 5,
        "gbps_per_level": 1.5,
    }
    problem, _ = random_problem(seed, ProblemOptions(**{**base, **SHAPES[shape]}))
    lanes = tuple(replace(one, usd_per_hour=3.0 * one.usd_per_hour) for one in problem.lanes)
    least = 2 if shape == "two-chips-scarce" else 4
    stock = dict.fromkeys(problem.stock, 8 * (least + seed % (least + 1)))
    return replace(problem, load_steps=5, stock=stock, lanes=lanes)


def tiny_problem(shape: str, seed: int) -> Problem:
    """A small problem of still fewer engines, line sizes and steps."""
    problem = small_problem(shape, seed)
    pools = tuple(replace(pool, max_engines=min(pool.max_engines, 3)) for pool in problem.pools)
    lanes = tuple(
        replace(one, bytes_per_s=one.bytes_per_s[::2], usd_per_hour=one.usd_per_hour[::2])
        for one in problem.lanes
    )
    waits = problem.slot_waits[-1:]
    return replace(problem, pools=pools, lanes=lanes, slot_waits=waits, load_steps=2)


def same_as_enumeration(problem: Problem) -> tuple[SearchResult, float]:
    """Assert that search and enumeration agree; return what was found, and the least cost."""
    result = search(problem, SearchOptions(time_limit_s=120.0))
    best = Enumeration(problem).best()
    if np.isinf(best):
        assert result.status == "infeasible"
        return result, best
    assert result.status == "optimal"
    assert result.certificate.gap <= OPTIMAL_GAP
    assert result.usd_per_hour == pytest.approx(best, rel=1e-6)
    assert result.certificate.lower_bound_usd_per_hour <= best * (1 + 1e-9)
    assert result.candidate is not None
    assert check(problem, result.candidate).ok
    return result, best


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(4))
def test_optimum_equals_enumeration(shape: str, seed: int) -> None:
    same_as_enumeration(small_problem(shape, seed))


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("block", range(5))
def test_optimum_equals_enumeration_of_many(shape: str, block: int) -> None:
    for seed in range(100 + 11 * block, 111 + 11 * block):
        same_as_enumeration(small_problem(shape, seed))


def test_the_instances_are_not_all_of_one_kind() -> None:
    """Relays, several chips in one role, idle lines and infeasible cases all occur."""
    relays = mixes = local = infeasible = 0
    for shape in SHAPES:
        for seed in range(10):
            problem = small_problem(shape, seed)
            candidate = search(problem, SearchOptions(time_limit_s=60.0)).candidate
            if candidate is None:
                infeasible += 1
                continue
            used = [p for n, p in zip(candidate.engines, problem.pools, strict=True) if n]
            relays += any(pool.role == "relay" for pool in used)
            roles = [(pool.site, pool.role) for pool in used]
            mixes += len(roles) > len(set(roles))
            flows = zip(candidate.flows_per_s, problem.lanes, strict=True)
            local += any(f > 0.0 and lane.local for f, lane in flows)
    assert relays >= 5
    assert mixes >= 1
    assert local >= 5


def test_a_time_limit_gives_the_true_gap() -> None:
    problem, _ = random_problem(2, ProblemOptions(decode_sites=2, chips=2, local=True))
    whole = search(problem, SearchOptions(time_limit_s=120.0))
    assert whole.status == "optimal"
    for limit_s in (0.001, 0.3, 0.6):
        cut = search(problem, SearchOptions(time_limit_s=limit_s))
        bound = cut.certificate.lower_bound_usd_per_hour
        assert bound <= whole.usd_per_hour * (1 + 1e-9)
        if cut.candidate is not None:
            assert cut.usd_per_hour >= whole.usd_per_hour * (1 - 1e-9)
            assert cut.certificate.gap == pytest.approx(1 - bound / cut.usd_per_hour, abs=1e-12)
            if cut.certificate.gap > OPTIMAL_GAP:
                assert cut.status == "feasible"
        else:
            assert cut.status == "unknown"


@pytest.mark.parametrize("seed", range(3))
def test_cbc_finds_the_same_optimum(seed: int) -> None:
    problem = small_problem("two-chips", seed)
    highs = search(problem, SearchOptions(time_limit_s=60.0))
    cbc = search(problem, SearchOptions(time_limit_s=60.0, solver="cbc"))
    assert cbc.status == highs.status == "optimal"
    assert cbc.usd_per_hour == pytest.approx(highs.usd_per_hour, rel=1e-6)
