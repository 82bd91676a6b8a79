"""What is left of a fleet after a loss, and how requests are sent over it."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from pdd_plan.fleet.check import check
from pdd_plan.fleet.evaluate import evaluate
from pdd_plan.fleet.outages import Outage, after_outage, usable_lanes, why_no_lane
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.fleet.rerouting import AT_EASE, reroute, share_out, strain
from tests.problems import ProblemOptions, random_problem

TWO = ProblemOptions(prefill_sites=2, decode_sites=2, atoms=(30, 40), load=(0.3, 0.5))


def two_by_two(seed: int, times: float = 1.0) -> tuple[Problem, Candidate]:
    """Two prefill and two decode sites, every lane open at its largest, flows in tenths."""
    problem, candidate = random_problem(seed, TWO)
    rate = problem.arrival_rate_per_s
    return problem, replace(
        candidate,
        engines=tuple(math.ceil(times * count) for count in candidate.engines),
        levels=tuple(lane.bytes_per_s.size - 1 for lane in problem.lanes),
        flows_per_s=tuple(share * rate for share in (0.4, 0.1, 0.2, 0.3)),
    )


def shares(problem: Problem, candidate: Candidate) -> list[float]:
    return [round(flow / problem.arrival_rate_per_s, 9) for flow in candidate.flows_per_s]


def test_a_lost_site_takes_its_engines_and_lanes():
    problem, whole = two_by_two(1)
    left = after_outage(problem, whole, Outage("site", "decode-1"))
    for count, was, pool in zip(left.engines, whole.engines, problem.pools, strict=True):
        assert count == (0 if pool.site == "decode-1" else was)
    assert shares(problem, left) == [0.4, 0.0, 0.2, 0.0]
    assert usable_lanes(problem, left, Outage("site", "decode-1")) == (0, 2)


def test_a_lost_line_takes_nothing_else():
    problem, whole = two_by_two(1)
    left = after_outage(problem, whole, Outage("line", "prefill-1-decode-0"))
    assert left.engines == whole.engines
    assert left.levels == (*whole.levels[:2], -1, whole.levels[3])
    assert usable_lanes(problem, left) == (0, 1, 3)


def test_lost_engines_are_those_of_one_pool_and_no_more_than_it_has():
    problem, whole = two_by_two(1)
    pool = problem.pool_indices("decode-0", "decode")[0]
    left = after_outage(problem, whole, Outage("engines", "decode-0/decode", pool, 10_000))
    assert left.engines[pool] == 0
    assert sum(left.engines) == sum(whole.engines) - whole.engines[pool]
    assert usable_lanes(problem, left) == (1, 3)


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        ("site:decode-1", [0.7, 0.0, 0.3, 0.0]),  # 4 : 2 of ten steps, by largest remainder
        ("site:prefill-0", [0.0, 0.0, 0.4, 0.6]),
        ("line:prefill-0-decode-0", [0.0, 0.2, 0.3, 0.5]),  # 1 : 2 : 3
    ],
)
def test_requests_of_lost_lanes_go_over_the_others_in_proportion(lost, expected):
    problem, whole = two_by_two(1)
    outage = Outage(*lost.split(":"))
    left = after_outage(problem, whole, outage)
    again = share_out(problem, left, usable_lanes(problem, left, outage))
    assert shares(problem, again) == pytest.approx(expected)


def test_nothing_moves_where_no_lane_is_lost():
    problem, whole = two_by_two(1)
    odd = replace(
        whole, flows_per_s=tuple(problem.arrival_rate_per_s * s for s in (0.33, 0.27, 0.21, 0.19))
    )
    assert share_out(problem, odd, (0, 1, 2, 3)) == odd


def test_standby_lanes_share_evenly():
    problem, whole = two_by_two(1)
    rate = problem.arrival_rate_per_s
    left = after_outage(
        problem, replace(whole, flows_per_s=(rate, 0, 0, 0)), Outage("line", "prefill-0-decode-0")
    )
    assert shares(problem, share_out(problem, left, (1, 3))) == [0.0, 0.5, 0.0, 0.5]


def test_inside_a_lost_site_no_lane_is_left():
    problem, whole = random_problem(3, ProblemOptions(local=True))
    outage = Outage("site", "prefill-0")
    left = after_outage(problem, whole, outage)
    assert usable_lanes(problem, left, outage) == ()
    assert why_no_lane(problem, left) == "no prefill engine is left"


@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_does_what_a_fleet_without_the_site_does(seed):
    """A problem that never had the site, built apart, predicts the same to the last digit."""
    problem, whole = two_by_two(seed, 3)
    outage = Outage("site", "decode-1")
    left = after_outage(problem, whole, outage)
    after = share_out(problem, left, usable_lanes(problem, left, outage))
    kept = [i for i, pool in enumerate(problem.pools) if pool.site != "decode-1"]
    lanes = [i for i, lane in enumerate(problem.lanes) if lane.target != "decode-1"]
    smaller = replace(
        problem,
        pools=tuple(problem.pools[i] for i in kept),
        lanes=tuple(problem.lanes[i] for i in lanes),
    )
    same = Candidate(
        after.threshold_index,
        after.slot_wait,
        tuple(after.engines[i] for i in kept),
        tuple(after.levels[i] for i in lanes),
        tuple(after.flows_per_s[i] for i in lanes),
    )
    there, here = evaluate(problem, after), evaluate(smaller, same)
    for law in ("ttft", "tpot"):
        assert getattr(there, law).quantile(0.9) == getattr(here, law).quantile(0.9)


@pytest.mark.parametrize("seed", range(12))
def test_rerouting_finds_a_setting_wherever_one_exists(seed):
    """Against every split of ten steps, threshold and slot wait; engines as they are."""
    problem, whole = two_by_two(seed, 0.4 + 0.2 * (seed % 4))
    model = PathModel(problem)
    outage = Outage("site", "prefill-0")
    left = after_outage(problem, whole, outage)
    lanes = usable_lanes(problem, left, outage)
    assert lanes == (2, 3)
    found = reroute(model, left, lanes)
    assert sum(found.flows_per_s) == pytest.approx(problem.arrival_rate_per_s)
    assert (found.engines, found.levels) == (left.engines, left.levels)
    step = problem.arrival_rate_per_s / problem.load_steps
    settings = itertools.product(
        range(problem.load_steps + 1), range(problem.thresholds.size), problem.slot_waits
    )
    exists = any(
        check(
            problem,
            Candidate(t, wait, left.engines, left.levels, (0.0, 0.0, k * step, (10 - k) * step)),
            model,
        ).ok
        for k, t, wait in settings
    )
    assert check(problem, found, model).ok == exists
    assert (strain(model, found) == AT_EASE) == exists


def test_both_outcomes_of_rerouting_are_looked_at():
    """The seeds above hold fleets that survive and fleets that do not."""
    outcomes = set()
    for seed in range(12):
        problem, whole = two_by_two(seed, 0.4 + 0.2 * (seed % 4))
        left = after_outage(problem, whole, Outage("site", "prefill-0"))
        model = PathModel(problem)
        outcomes.add(strain(model, reroute(model, left, (2, 3))) == AT_EASE)
    assert outcomes == {True, False}


def test_without_relay_engines_nothing_is_relayed():
    for seed in range(20):
        problem, whole = random_problem(seed, ProblemOptions(load=(0.2, 0.3)))
        if problem.relayed(whole.threshold_index).any():
            break
    pool = problem.pool_indices("prefill-0", "relay")[0]
    left = after_outage(problem, whole, Outage("engines", "prefill-0/relay", pool, 99))
    found = reroute(PathModel(problem), left, usable_lanes(problem, left))
    assert not problem.relayed(found.threshold_index).any()
    assert np.isfinite(evaluate(problem, found).ttft.quantile(0.9))
