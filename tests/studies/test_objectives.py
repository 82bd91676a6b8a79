"""Goodput and goodput per cost: against enumeration over rates, and as whole plans."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from pdd_plan.errors import InputError
from pdd_plan.fleet.check import check
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Problem
from pdd_plan.optimizer.search import Scope, SearchOptions
from pdd_plan.scenario import scenario_from_data
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.planning import plan_scenario
from pdd_plan.studies.rates import PRECISION, Rates, largest_rate
from pdd_plan.studies.ratios import best_ratio
from tests.optimizer.enumeration import Enumeration
from tests.optimizer.test_brute_force import tiny_problem
from tests.studies.scenarios import agent_fleet

CASES = [("one-lane", 0), ("one-lane", 3), ("local-or-remote", 1)]

RATIO_CASES = [
    ("one-lane", 3),
    *(pytest.param(*case, marks=pytest.mark.long) for case in (CASES[0], CASES[2])),
]


@cache
def problem_of(shape: str, seed: int) -> Problem:
    """A small problem with few engines, lines and thresholds, without a rate of its own."""
    return replace(tiny_problem(shape, seed), arrival_rate_per_s=0.0)


def cheapest(problem: Problem, rate: float) -> float:
    """Least cost at a rate, by looking at every candidate; infinite for none."""
    return Enumeration(replace(problem, arrival_rate_per_s=rate)).best()


def rates_of(problem: Problem, budget: float = math.inf, seconds: float = 60.0) -> Rates:
    return Rates(PathModel(problem), SearchOptions(seconds), Scope(), budget)


@pytest.mark.parametrize(("shape", "seed"), CASES)
def test_largest_rate_against_enumeration(shape, seed):
    problem = problem_of(shape, seed)
    result = largest_rate(rates_of(problem))
    assert result.candidate is not None
    assert result.gap <= 1.001 * PRECISION
    # A fleet exists at the value and none at the bound; the cheapest at the value is found.
    assert cheapest(problem, result.value) == pytest.approx(result.usd_per_hour, rel=1e-6)
    assert cheapest(problem, result.bound * (1 + 1e-6)) == math.inf
    at = replace(problem, arrival_rate_per_s=result.rate_per_s)
    assert check(at, result.candidate).ok
    assert rates_of(problem).upper_bound() >= result.value


@pytest.mark.parametrize(("shape", "seed"), CASES[:1])
def test_largest_rate_within_a_budget(shape, seed):
    problem = problem_of(shape, seed)
    free = largest_rate(rates_of(problem))
    budget = 0.6 * free.usd_per_hour
    result = largest_rate(rates_of(problem, budget))
    assert result.candidate is not None
    assert result.usd_per_hour <= budget
    assert result.value < free.value
    assert cheapest(problem, result.value) <= budget
    assert cheapest(problem, result.bound * (1 + 1e-6)) > budget


@pytest.mark.parametrize(("shape", "seed"), RATIO_CASES)
def test_best_ratio_against_enumeration(shape, seed):
    problem = problem_of(shape, seed)
    result = best_ratio(rates_of(problem))
    assert result.candidate is not None
    assert result.gap <= 2.0 * PRECISION
    assert result.value == pytest.approx(result.rate_per_s / result.usd_per_hour)
    assert cheapest(problem, result.rate_per_s) == pytest.approx(result.usd_per_hour, rel=1e-6)
    # No rate on a grid has a better ratio than is proven.
    most = largest_rate(rates_of(problem)).value
    grid = np.linspace(most / 12, most, 12)
    ratios = [rate / cheapest(problem, float(rate)) for rate in grid]
    assert max(ratios) <= result.bound * (1 + 1e-9)
    assert result.value >= max(ratios) * (1 - PRECISION)


@pytest.mark.long
def test_best_ratio_from_a_rate_and_in_a_budget():
    problem = problem_of("one-lane", 0)
    free = best_ratio(rates_of(problem))
    most = largest_rate(rates_of(problem))
    above = min(free.rate_per_s * 1.2, 0.5 * (free.rate_per_s + most.value))
    if above > free.rate_per_s:
        later = best_ratio(rates_of(problem), above)
        assert later.candidate is not None
        assert later.rate_per_s >= above * (1 - 1e-9)
        assert later.value <= free.value * (1 + 1e-9)
    poor = best_ratio(rates_of(problem, 0.5 * free.usd_per_hour))
    assert poor.candidate is None or poor.usd_per_hour <= 0.5 * free.usd_per_hour


def test_no_rate_where_no_limit_can_be_kept():
    problem = problem_of("one-lane", 0)
    limits = tuple(replace(limit, limit_s=1e-6) for limit in problem.limits)
    hopeless = replace(problem, limits=limits)
    assert largest_rate(rates_of(hopeless)).infeasible
    assert best_ratio(rates_of(hopeless)).candidate is None


def test_without_time_nothing_is_claimed():
    problem = problem_of("one-lane", 0)
    hurried = largest_rate(rates_of(problem, seconds=0.0))
    whole = largest_rate(rates_of(problem))
    assert hurried.bound >= whole.value
    assert not hurried.infeasible
    assert hurried.candidate is None or hurried.value <= whole.bound


def tiny(**changes):
    """A fleet of few chips at one line size and two thresholds, in which plans are quick."""
    data = agent_fleet(stock=16, gbps="20 Gbps")
    del data["workload"]["rate"]
    data["workload"]["max_atoms"] = 40
    data["routing"] = {"thresholds": [0.0, 0.9]}
    data["optimizer"] = {"load_steps": 2}
    data["slo"] |= {"slot_wait": "1 %"}
    data["engines"] = [{"chip": chip, "chips": 4} for chip in ("h200", "h20")]
    return data | changes


def test_a_plan_for_goodput_says_what_is_proven():
    plan = plan_scenario(scenario_from_data(tiny(objective="goodput")), PlanOptions(20.0))
    assert plan.status in ("optimal", "feasible")
    assert plan.certificate is not None
    assert plan.goodput is not None
    assert plan.demand is not None
    proof = plan.certificate
    assert proof.objective == "goodput"
    assert proof.objective_value == pytest.approx(plan.demand.requests_per_s)
    assert proof.objective_bound >= proof.objective_value
    assert f"{proof.objective_bound:.5g} req/s" in proof.model
    assert "were not decided" in proof.model
    assert plan.goodput.requests_per_s >= plan.demand.requests_per_s * (1 - 1e-9)
    assert all(limit.met for limit in plan.slo)
    names = [base.name for base in plan.baselines]
    assert {"single_site", "cross_site", "pdd"} <= set(names)
    for base in plan.baselines:
        if base.name != "aggregated" and base.goodput is not None and plan.status == "optimal":
            assert base.goodput.requests_per_s <= proof.objective_bound * (1 + 1e-3)


def test_a_plan_for_goodput_per_cost():
    plan = plan_scenario(scenario_from_data(tiny(objective="bcr")), PlanOptions(20.0))
    assert plan.certificate is not None
    assert plan.certificate.objective == "bcr"
    assert plan.cost is not None
    assert plan.demand is not None
    made = plan.demand.requests_per_s / plan.cost.usd_per_hour
    assert plan.certificate.objective_value == pytest.approx(made, rel=1e-6)
    assert "requests per USD" in plan.certificate.model
    rate = scenario_from_data(
        tiny(objective="bcr") | {"workload": tiny()["workload"] | {"rate": "2 req/s"}}
    )
    least = plan_scenario(rate, PlanOptions(20.0))
    assert least.demand is not None
    assert least.demand.requests_per_s >= 2.0 * (1 - 1e-9)
    assert "from 2 req/s" in least.certificate.model


def test_a_budget_that_buys_nothing_is_infeasible():
    data = tiny(objective="goodput", budget="5 USD/h")
    plan = plan_scenario(scenario_from_data(data), PlanOptions(20.0))
    assert plan.status == "infeasible"
    assert plan.infeasibility is not None
    assert "budget of 5 USD/h" in plan.infeasibility.reason


def test_a_rate_is_still_needed_for_cost():
    with pytest.raises(InputError, match="rate"):
        scenario_from_data(tiny())
