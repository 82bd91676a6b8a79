"""Plans under uncertain inputs: exact special cases, textbook moments, coverage, verification."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from pdd_plan.errors import InputError, UnstableQueueError
from pdd_plan.fleet.build import build_problem
from pdd_plan.fleet.evaluate import evaluate
from pdd_plan.fleet.plan import Plan
from pdd_plan.report import render
from pdd_plan.scenario import Scenario, scenario_from_data
from pdd_plan.studies.given import candidate_of_plan
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.planning import plan_scenario
from pdd_plan.studies.uncertain import evaluate_with_risk, plan_with_risk
from pdd_plan.studies.uncertain_draws import Variants, hypercube_draws, independent_draws, inputs_of
from pdd_plan.studies.uncertain_drivers import rank_correlation
from pdd_plan.studies.uncertain_risk import Judge, probability
from pdd_plan.studies.uncertain_search import most_misses
from tests.studies.scenarios import agent_fleet

H200 = "sites.home.chips.h200.price"
QUICK = PlanOptions(whole=False)


def fleet(*inputs: dict[str, Any], **section: Any) -> Scenario:
    """An agent fleet of a few request classes, with uncertain inputs."""
    data = agent_fleet(ttft_p90="2 s")
    data["workload"] = {
        "rate": "6 req/s",
        "classes": [
            {"share": 0.8, "input_tokens": 24000, "cached_tokens": 23000, "output_tokens": 800},
            {"share": 0.2, "input_tokens": 9000, "cached_tokens": 2000, "output_tokens": 500},
        ],
    }
    data["uncertainty"] = {"inputs": list(inputs), "samples": 100, **section}
    return scenario_from_data(data)


def rate(low: float, high: float) -> dict[str, Any]:
    return {"path": "workload.rate", "low": low, "high": high}


@pytest.fixture(scope="module")
def planned() -> Plan:
    """The plan of the fleet for its values as written."""
    return plan_scenario(fleet(rate(6, 6)), QUICK)


def test_no_spread_gives_the_plan_as_it_is(planned):
    scenario = fleet(
        rate(6, 6),
        {"path": H200, "distribution": "normal", "mean": 4.88, "std": 0},
        {"path": "links.home-away.rtt", "low": "28.6 ms", "high": "28.6 ms"},
        {"path": "slo.ttft_p90", "low": 1, "high": 1, "relative": True},
        samples=50,
        confidence=0.9,
    )
    plan = plan_with_risk(scenario, QUICK)
    told = plan.uncertainty
    assert told is not None
    assert told.headroom is not None
    assert plan.pools == planned.pools
    assert plan.cost == planned.cost
    assert told.headroom.extra_fraction == 0.0
    assert told.risk.holds.estimate == 1.0
    # To the last digit: the drawn values are the written ones.
    times = {told.risk.ttft_p90_s.p5, told.risk.ttft_p90_s.p50, told.risk.ttft_p90_s.p95}
    assert times == {planned.latency.ttft_s.p90}
    assert told.risk.usd_per_hour.p95 == planned.cost.usd_per_hour
    assert told.risk.usd_per_hour.mean == pytest.approx(planned.cost.usd_per_hour, rel=1e-14)
    assert [one.predicted.p50 for one in told.risk.limits] == [s.predicted for s in planned.slo]
    assert all(one.rank_correlation == 0.0 for one in told.drivers)


def test_a_normal_price_makes_a_normal_cost(planned):
    scenario = fleet({"path": H200, "distribution": "normal", "mean": 5, "std": 0.5}, samples=1000)
    (value,) = inputs_of(scenario)
    draws = hypercube_draws((value,), 1000, seed=3)
    judge = Judge(Variants(scenario))
    few = judge.outcomes(draws.part(0, 60), planned)
    chips = sum(pool.chips for pool in planned.pools if pool.chip == "h200")
    rest = planned.cost.usd_per_hour - 4.88 * chips
    # The cost is rest + chips x price, so it is normal with these moments.
    drawn = rest + chips * draws.values[:, 0]
    assert [one.usd_per_hour for one in few] == pytest.approx(drawn[:60], rel=1e-12)
    assert drawn.mean() == pytest.approx(rest + 5 * chips, rel=1e-4)
    assert drawn.std() == pytest.approx(0.5 * chips, rel=5e-3)
    assert stats.kstest(drawn, stats.norm(rest + 5 * chips, 0.5 * chips).cdf).statistic < 1.1e-3
    # No latency depends on a price.
    assert len({one.ttft_p90_s for one in few}) == 1


def largest_rate(scenario: Scenario, plan: Plan, low: float, high: float) -> float:
    """Bisect for the rate up to which every limit holds."""
    while high - low > 1e-5 * low:
        middle = 0.5 * (low + high)
        data = {**scenario.source.data, "uncertainty": None}
        variant = scenario_from_data(data, [f"workload.rate={middle}"])
        problem, candidate = candidate_of_plan(variant, build_problem(variant), plan)
        try:
            holds = all(one.met for one in evaluate(problem, candidate).limits)
        except UnstableQueueError:
            holds = False
        low, high = (middle, high) if holds else (low, middle)
    return low


def test_the_probability_is_the_share_of_rates_that_the_fleet_carries(planned):
    scenario = fleet(rate(4, 12), samples=200)
    most = largest_rate(scenario, planned, 4.0, 12.0)
    exact = (most - 4.0) / 8.0
    told = evaluate_with_risk(scenario, planned, QUICK).uncertainty
    assert told is not None
    # A Latin hypercube of one input has one draw in each of 200 strata.
    assert told.risk.holds.estimate == pytest.approx(exact, abs=1 / 200 + 1e-6)
    assert told.risk.holds.low < exact < told.risk.holds.high
    assert told.risk.unstable_fraction > 0.0
    # Unstable draws are misses of every limit, and no draw is dropped.
    assert told.risk.draws == 200
    worst = max(1.0 - one.holds.estimate for one in told.risk.limits)
    assert worst >= told.risk.unstable_fraction
    assert told.risk.ttft_p90_s.p95 is None
    assert told.risk.ttft_p90_s.mean is None
    weights = sum(told.ttft_p90_histogram.weights)
    assert weights + told.ttft_p90_beyond == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("successes", "trials"), [(0, 50), (1, 50), (47, 50), (50, 50), (271, 300)]
)
def test_intervals_are_those_of_clopper_and_pearson(successes, trials):
    interval = stats.binomtest(successes, trials).proportion_ci(0.95, "exact")
    found = probability(successes, trials)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=1e-9)


@pytest.mark.parametrize(("draws", "confidence"), [(50, 0.9), (300, 0.9), (400, 0.95), (20, 0.9)])
def test_as_many_misses_are_allowed_as_the_interval_bears(draws, confidence):
    most = most_misses(draws, confidence)
    bounds = [
        stats.binomtest(draws - missed, draws).proportion_ci(0.95, "exact").low
        for missed in range(draws + 1)
    ]
    assert most == sum(bound >= confidence for bound in bounds) - 1


def test_rank_correlation_is_spearmans():
    rng = np.random.default_rng(1)
    x = rng.normal(size=300).round(1)
    y = x**3 + rng.normal(size=300).round(1)
    assert rank_correlation(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert rank_correlation(x, np.where(y > 1.0, math.inf, y)) > 0.5
    assert rank_correlation(x, np.ones(300)) == 0.0


def test_a_hypercube_fills_every_stratum_once_and_repeats_with_its_seed():
    inputs = inputs_of(fleet(rate(4, 12), {"path": H200, "low": 4, "high": 5}))
    draws = hypercube_draws(inputs, 80, seed=5)
    for column, (low, high) in enumerate([(4, 12), (4, 5)]):
        strata = np.floor((draws.values[:, column] - low) / (high - low) * 80)
        assert sorted(strata.tolist()) == list(range(80))
    assert np.array_equal(draws.values, hypercube_draws(inputs, 80, seed=5).values)
    assert not np.array_equal(draws.values, hypercube_draws(inputs, 80, seed=6).values)
    first, second = (independent_draws(inputs, 80, 5, stream).values for stream in (1, 2))
    assert not np.isin(first, second).any()


def test_fitted_efficiencies_are_those_the_scenario_leaves_to_the_fit():
    scenario = fleet(efficiencies="fitted")
    paths = {one.path for one in inputs_of(scenario)}
    assert {"efficiencies.memory", "efficiencies.compute", "efficiencies.host.vllm"} <= paths
    data = dict(scenario.source.data)
    data["efficiencies"] = {"memory": 0.8}
    data["serving"] = {"framework": "vllm"}
    own = {one.path: one for one in inputs_of(scenario_from_data(data))}
    assert "efficiencies.memory" not in own
    assert "efficiencies.host.sglang" not in own
    kernel = own["efficiencies.kernel"]
    assert kernel.unit == "us"
    assert kernel.spread.low < kernel.written < kernel.spread.high


def test_values_that_do_not_go_together_are_told_with_the_draw(planned):
    scenario = fleet({"path": "slo.ttft_p50", "low": "1 s", "high": "4 s"})
    with pytest.raises(InputError) as caught:
        evaluate_with_risk(scenario, planned, QUICK)
    issue = caught.value.issues[0]
    assert issue.path == "uncertainty.inputs"
    assert "slo.ttft_p90" in issue.message
    assert "slo.ttft_p50=" in issue.help


def test_two_processes_find_what_one_does(planned):
    scenario = fleet(rate(5, 8), efficiencies="fitted")
    judge, both = (Judge(Variants(scenario), jobs) for jobs in (1, 2))
    draws = hypercube_draws(inputs_of(scenario), 45, seed=0)
    assert judge.outcomes(draws, planned) == both.outcomes(draws, planned)


def test_a_fleet_that_holds_costs_more_the_surer_it_must_be():
    costs = []
    for confidence in (0.3, 0.9):
        plan = plan_with_risk(fleet(rate(5, 9), confidence=confidence, samples=60), QUICK)
        told = plan.uncertainty
        assert told is not None
        assert told.headroom is not None
        assert told.headroom.reached
        assert told.headroom.verification.holds.low >= confidence
        assert told.headroom.usd_per_hour == pytest.approx(plan.cost.usd_per_hour)
        assert told.confident
        costs.append(plan.cost.usd_per_hour)
    assert told.nominal_risk is not None
    assert told.nominal_risk.holds.estimate < 0.9
    assert costs[0] < costs[1]
    assert "more samples may" not in render(plan, "md")
    # Had the plan as written held in 93 %, too few draws would have been what spoke against it.
    holds = told.nominal_risk.holds.model_copy(update={"estimate": 0.93})
    lucky = told.nominal_risk.model_copy(update={"holds": holds})
    other = told.model_copy(update={"nominal_risk": lucky})
    text = render(plan.model_copy(update={"uncertainty": other}), "md")
    assert "So few draws do not show 90 % of that one; more samples may." in text


def test_no_fleet_of_the_stock_may_hold():
    data = dict(fleet(rate(5, 9), confidence=0.9).source.data)
    nominal = plan_scenario(scenario_from_data(data), QUICK)
    for site, chip in (("home", "h200"), ("away", "h20")):
        used = sum(p.chips for p in nominal.pools if (p.site, p.chip) == (site, chip))
        data["sites"][site]["chips"][chip]["available"] = used
    data["uncertainty"]["samples"] = 60
    plan = plan_with_risk(scenario_from_data(data), QUICK)
    assert [p.engines for p in plan.pools] == [p.engines for p in nominal.pools]
    assert plan.uncertainty is not None
    assert plan.uncertainty.headroom is not None
    assert not plan.uncertainty.headroom.reached
    assert plan.uncertainty.headroom.usd_per_hour is None
    assert not plan.uncertainty.confident


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_the_stated_confidence_is_kept_in_a_large_sample(seed):
    inputs = (
        {"path": "workload.rate", "distribution": "lognormal", "median": 6, "sigma": 0.12},
        {"path": "workload.classes.0.output_tokens", "low": 700, "high": 1000},
    )
    scenario = fleet(*inputs, efficiencies="fitted", confidence=0.9, samples=200)
    plan = plan_with_risk(scenario, PlanOptions(seed=seed, whole=False))
    assert plan.uncertainty is not None
    assert plan.uncertainty.confident
    draws = independent_draws(inputs_of(scenario), 2000, 77, seed + 10)
    outcomes = Judge(Variants(scenario), jobs=2).outcomes(draws, plan)
    assert sum(one.holds for one in outcomes) >= 0.9 * 2000
