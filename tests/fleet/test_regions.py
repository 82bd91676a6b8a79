"""Users of several regions: their way to the sites in the rule, the full model and simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pdd_plan.fleet.evaluate import evaluate
from pdd_plan.fleet.laws import Law
from pdd_plan.fleet.path_rules import earlier
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Limit, Problem, ServingOptions, UserRegion
from pdd_plan.optimizer.search import SearchOptions, search
from tests.fleet.parts import both, idle_margins, one_shot, percentiles_off
from tests.optimizer.test_brute_force import same_as_enumeration, small_problem
from tests.problems import ProblemOptions, random_problem


def with_users(problem: Problem, *limits: Limit, far_s: float = 0.4) -> Problem:
    """The problem with users near prefill and users near decode, and limits added."""
    sites = (*problem.prefill_sites, *problem.decode_sites)
    near = {site: 0.01 if site in problem.prefill_sites else far_s for site in sites}
    far = {site: far_s if site in problem.prefill_sites else 0.02 for site in sites}
    regions = (UserRegion("north", 0.7, near), UserRegion("south", 0.3, far))
    return replace(problem, regions=regions, limits=(*problem.limits, *limits))


def ttft(limit_s: float, region: str = "", percentile: float = 90.0) -> Limit:
    return Limit("ttft", percentile, limit_s, f"regions.{region}.ttft", region=region)


def test_which_way_counts() -> None:
    """Known by hand, for a lane from prefill-0 to decode-0."""
    problem = with_users(random_problem(1)[0])
    both = (0.01 + 0.4) / 2
    assert problem.user_delays_s(0, relayed=False) == pytest.approx([both, (0.4 + 0.02) / 2])
    assert problem.user_delays_s(0, relayed=True) == pytest.approx([0.01, 0.4])
    assert problem.user_delays_s(0, relayed=True, last=True) == pytest.approx([both, 0.4])
    early = replace(problem, serving=ServingOptions(first_token_from="prefill"))  # noqa: S106  # no password
    assert early.user_delays_s(0, relayed=False) == pytest.approx([0.01, 0.4])
    assert early.user_delays_s(0, relayed=False, last=True) == pytest.approx([both, 0.21])
    assert problem.region_shares("south").tolist() == [0.0, 1.0]
    assert random_problem(1)[0].user_delays_s(0, relayed=True).tolist() == [0.0]


def test_moves_on_a_grid() -> None:
    """Masses move by whole and broken steps; what falls below 0 is lost, none comes about."""
    masses = np.array([0.1, 0.2, 0.3, 0.4])
    assert earlier(masses, 0.0) == pytest.approx(masses)
    assert earlier(masses, 2.0) == pytest.approx([0.3, 0.4, 0.0, 0.0])
    assert earlier(masses, 1.25) == pytest.approx([0.075, 0.325, 0.3, 0.0])
    assert earlier(masses, 9.0).sum() == 0.0
    law = Law(0.5, masses)
    later = law.later(1.25)
    assert later.mean == pytest.approx(law.mean + 1.25)
    assert later.masses.sum() == pytest.approx(1.0)
    assert law.later(1.0).quantile(0.6) == pytest.approx(law.quantile(0.6) + 1.0)


@pytest.mark.parametrize("metric", ["ttft", "e2e"])
@pytest.mark.parametrize("threshold", [0, 2, 5])
def test_a_way_takes_its_time_from_the_limit(metric: str, threshold: int) -> None:
    """With one distance everywhere the rule is that of a limit shorter by a round trip."""
    limit_s, rtt_s = (6.0, 0.5) if metric == "ttft" else (60.0, 0.5)
    limit = Limit(metric, 90.0, limit_s, "all")
    short = Limit(metric, 90.0, limit_s - rtt_s, "all")
    base, _ = random_problem(5, ProblemOptions(decode_sites=2))
    sites = dict.fromkeys((*base.prefill_sites, *base.decode_sites), rtt_s)
    one = replace(base, regions=(UserRegion("all", 1.0, sites),), limits=(limit,))
    other = replace(base, limits=(short,))
    key = (0, 4, 0.5 * base.arrival_rate_per_s)
    for engines, load in ((3, 1.0), (8, 3.0)):
        reached = PathModel(one).attainment(0, engines, load, key, threshold, limit)
        expected = PathModel(other).attainment(0, engines, load, key, threshold, short)
        assert reached == pytest.approx(expected, abs=1e-3)


def test_attainment_of_all_is_the_mean_over_regions() -> None:
    every, parts = ttft(3.0), [ttft(3.0, "north"), ttft(3.0, "south")]
    problem = with_users(random_problem(5, ProblemOptions(decode_sites=2))[0], every, *parts)
    model = PathModel(problem)
    key = (0, 4, 0.5 * problem.arrival_rate_per_s)
    for threshold in (0, 3):
        whole = model.attainment(0, 5, 2.0, key, threshold, every)
        each = [model.attainment(0, 5, 2.0, key, threshold, part) for part in parts]
        assert whole == pytest.approx(np.dot([0.7, 0.3], each), abs=1e-9)
        assert each[1] < each[0]


def test_idle_pools_are_judged_with_the_way() -> None:
    parts = [ttft(3.0, "north"), ttft(1.0, "south")]
    problem = with_users(random_problem(5, ProblemOptions(decode_sites=2))[0], *parts)
    at_once, by_path = idle_margins(problem)
    assert at_once == pytest.approx(by_path, abs=3e-3)


def test_the_full_model_adds_the_way_exactly() -> None:
    """One region at one distance moves every percentile by a round trip; two are their mixture."""
    base, candidate = random_problem(6, ProblemOptions(decode_sites=2))
    plain = evaluate(base, candidate)
    sites = dict.fromkeys((*base.prefill_sites, *base.decode_sites), 0.25)
    moved = evaluate(replace(base, regions=(UserRegion("all", 1.0, sites),)), candidate)
    for probability in (0.3, 0.5, 0.9, 0.99):
        for metric in ("ttft", "e2e"):
            before = getattr(plain, metric).quantile(probability)
            step = getattr(plain, metric).step_s
            assert getattr(moved, metric).quantile(probability) == pytest.approx(
                before + 0.25, abs=step
            )
    assert moved.tpot.mean == plain.tpot.mean
    seen = evaluate(with_users(base), candidate)
    shares = {name: group.share for name, group in seen.by_region.items()}
    assert shares == {"north": 0.7, "south": 0.3}
    for time_s in (1.0, 2.0, 5.0):
        each = sum(group.share * group.ttft.cdf(time_s) for group in seen.by_region.values())
        assert seen.ttft.cdf(time_s) == pytest.approx(each, abs=1e-9)


@pytest.mark.parametrize("shape", ["one-lane", "two-decode-sites", "two-chips-local"])
@pytest.mark.parametrize("seed", range(2))
def test_optimum_with_users_equals_enumeration(shape: str, seed: int) -> None:
    base = small_problem(shape, seed)
    whole = base.limits_of("ttft")[0]
    problem = with_users(base, ttft(0.9 * whole.limit_s, "south", 80.0))
    result, best = same_as_enumeration(problem)
    if result.candidate is None:
        return
    assert all(one.met for one in evaluate(problem, result.candidate).limits)
    # Nearer users are never dearer to serve.
    assert search(base, SearchOptions(120.0)).usd_per_hour <= best * (1 + 1e-9)


@pytest.mark.parametrize("seed", [6, pytest.param(1, marks=pytest.mark.long)])
def test_simulation_agrees_by_region(seed: int) -> None:
    problem, candidate = one_shot(seed)
    problem = with_users(problem, ttft(3.0, "south"), far_s=1.5)
    predicted, measured = both(problem, candidate, seed)
    assert not percentiles_off(predicted.ttft, measured.ttft_s)
    for name, group in predicted.by_region.items():
        seen = measured.by_region_s[name]
        assert not percentiles_off(group.ttft, seen["ttft"]), name
        assert group.e2e.mean == pytest.approx(seen["e2e"].mean.mean, rel=0.05)
    limit = predicted.limits[-1]
    within = measured.within[limit.limit.key]
    assert limit.within == pytest.approx(within.mean, abs=within.half_width + 0.01)
