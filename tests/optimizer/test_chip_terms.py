"""Contracts, whole nodes, room and power of a site: the optimum against enumeration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pdd_plan.fleet.check import check
from pdd_plan.fleet.problem import Problem
from pdd_plan.fleet.purchase import ChipTerms
from pdd_plan.optimizer.search import SearchOptions, search
from tests.optimizer.test_brute_force import same_as_enumeration, small_problem, tiny_problem

SHAPES = ("one-lane", "two-chips-local", "two-decode-sites-dear")
TERMS = ("contract", "nodes", "both", "room", "power", "idle site")


def price(problem: Problem, key: tuple[str, str]) -> float:
    """Price of a chip."""
    pool = next(p for p in problem.pools if (p.site, p.chip) == key)
    return pool.usd_per_engine_hour / pool.chips_per_engine


def with_terms(problem: Problem, kind: str, seed: int) -> Problem:
    """The problem with contracts, nodes or limits of a site, drawn at random."""
    rng = np.random.default_rng([seed, TERMS.index(kind)])
    stock = dict(problem.stock)
    terms, rooms, watts = {}, {}, {}
    for key in problem.stock:
        if kind in ("contract", "both", "nodes"):
            node = 1 if kind == "contract" else int(rng.choice([12, 16, 24]))
            stock[key] = -(-stock[key] // node) * node
            most = stock[key] // node
            kept = 0 if kind == "nodes" else node * int(rng.integers(0, most + 1))
            if kind == "contract" and rng.random() < 0.3:
                kept = stock[key]
            terms[key] = ChipTerms(price(problem, key), kept, node)
    sites = dict.fromkeys(site for site, _ in problem.stock)
    if kind == "room":
        rooms = {site: int(rng.choice([12, 16, 24, 32])) for site in sites}
    if kind == "power":
        watts = {site: float(rng.uniform(4000, 30_000)) for site in sites}
    pools = tuple(
        replace(
            pool,
            watts_per_engine=5600.0,
            usd_per_engine_hour=pool.chips_per_engine * price(problem, (pool.site, pool.chip)),
        )
        for pool in problem.pools
    )
    if kind == "idle site":
        stock["elsewhere", "gpu"] = 64
        terms["elsewhere", "gpu"] = ChipTerms(2.5, 24)
    return replace(
        problem, stock=stock, terms=terms, site_chips=rooms, site_watts=watts, pools=pools
    )


def compare(problem: Problem) -> float:
    """Assert that search and enumeration agree to the last chip; return the least cost."""
    result, best = same_as_enumeration(problem)
    if result.candidate is not None:
        assert result.candidate.usd_per_hour(problem) == pytest.approx(best, rel=1e-9)
    return best


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", TERMS)
@pytest.mark.parametrize("seed", range(3))
def test_optimum_equals_enumeration(shape: str, kind: str, seed: int) -> None:
    compare(with_terms(tiny_problem(shape, seed), kind, seed))


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", TERMS)
def test_optimum_equals_enumeration_of_many(shape: str, kind: str) -> None:
    for seed in range(200, 206):
        compare(with_terms(small_problem(shape, seed), kind, seed))


def test_what_is_under_contract_is_used_first_and_paid_in_any_case() -> None:
    """Known by hand: chips that stay cost the same whether used or not."""
    problem = tiny_problem("one-lane", 0)
    free = compare(problem)
    key = next(key for key in problem.stock if key[0].startswith("decode"))
    used = search(problem, SearchOptions(60.0)).candidate.chips_used(problem)[key]
    for kept in (0, used, used + 8):
        terms = {key: ChipTerms(price(problem, key), kept)}
        held = replace(problem, terms=terms, stock={**problem.stock, key: used + 8})
        idle = max(kept - used, 0) * price(problem, key)
        assert compare(held) <= free + idle + 1e-9
        assert compare(held) >= kept * price(problem, key)


def test_limits_of_a_site_are_kept_or_nothing_is_planned() -> None:
    problem = tiny_problem("one-lane", 0)
    free = search(problem, SearchOptions(60.0)).candidate
    assert free is not None
    site = problem.prefill_sites[0]
    used = sum(n for (where, _), n in free.chips_used(problem).items() if where == site)
    assert search(replace(problem, site_chips={site: used}), SearchOptions(60.0)).candidate
    none = search(replace(problem, site_chips={site: 7}), SearchOptions(60.0))
    assert none.status == "infeasible"
    tight = check(replace(problem, site_chips={site: used - 1}), free)
    assert [one.kind for one in tight.violations] == ["site"]
    assert (tight.violations[0].needed, tight.violations[0].available) == (used, used - 1)


@pytest.mark.parametrize(
    ("used", "kept", "node", "paid"),
    [(0, 0, 8, 0), (1, 0, 8, 8), (8, 0, 8, 8), (9, 0, 8, 16), (9, 16, 8, 16), (17, 16, 8, 24),
     (5, 7, 1, 7), (9, 7, 1, 9)],
)  # fmt: skip
def test_paid_chips(used: int, kept: int, node: int, paid: int) -> None:
    terms = ChipTerms(2.0, kept, node)
    assert terms.paid(used) == paid
    assert terms.paid_beyond(np.array([float(used)])) == pytest.approx([paid - kept])
