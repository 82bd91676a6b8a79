"""Plans of the least cost, then of the least percentile of TTFT; and budgets as limits on cost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pdd_plan.errors import InputError
from pdd_plan.fleet.check import check
from pdd_plan.fleet.evaluate import evaluate
from pdd_plan.fleet.problem import Limit, Problem
from pdd_plan.optimizer.search import SearchOptions, search
from pdd_plan.report.render import render
from pdd_plan.scenario import scenario_from_data
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.planning import plan_scenario
from pdd_plan.studies.tie_break import PRECISION, break_tie
from tests.optimizer.enumeration import Enumeration
from tests.studies.test_objectives import problem_of, tiny

OPTIONS = SearchOptions(time_limit_s=60.0)


def with_limit(problem: Problem, limit_s: float) -> Problem:
    """The problem with another limit on P90 TTFT."""
    limits = tuple(one for one in problem.limits if one.key != "ttft_p90")
    return replace(problem, limits=(*limits, Limit("ttft", 90.0, limit_s, "ttft_p90")))


@pytest.mark.parametrize(("shape", "seed"), [("one-lane", 0), ("local-or-remote", 1)])
def test_the_least_promise_at_the_least_cost_is_that_of_enumeration(shape: str, seed: int) -> None:
    problem = replace(problem_of(shape, seed), arrival_rate_per_s=1.0)
    plan = search(problem, OPTIONS)
    assert plan.candidate is not None
    tie = break_tie(problem, plan.candidate, "ttft_p90", OPTIONS)
    assert tie is not None
    # The cost stays, and no plan found predicts more than the first one.
    assert tie.candidate.usd_per_hour(problem) == pytest.approx(plan.usd_per_hour, rel=2e-6)
    assert check(problem, tie.candidate).ok
    first = evaluate(problem, plan.candidate).ttft.quantile(0.9)
    assert tie.value_s <= first
    assert tie.value_s == pytest.approx(evaluate(problem, tie.candidate).ttft.quantile(0.9))
    # By looking at every candidate: this cost keeps the promise, and no less than what is excluded.
    assert tie.promised_s - tie.excluded_s <= PRECISION * tie.promised_s
    kept = Enumeration(with_limit(problem, tie.promised_s)).best()
    assert kept == pytest.approx(plan.usd_per_hour, rel=2e-6)
    assert Enumeration(with_limit(problem, tie.excluded_s)).best() > plan.usd_per_hour * (1 + 1e-6)


def test_equal_plans_are_told_apart() -> None:
    """Two line sizes at one price: the larger one is taken."""
    problem = replace(problem_of("one-lane", 0), arrival_rate_per_s=1.0)
    lane = problem.lanes[0]
    flat = replace(lane, usd_per_hour=0.0 * lane.usd_per_hour + 1.0)
    problem = replace(problem, lanes=(flat, *problem.lanes[1:]))
    plan = search(problem, OPTIONS)
    assert plan.candidate is not None
    narrow = None
    for level in range(lane.bytes_per_s.size):
        trial = replace(plan.candidate, levels=(level, *plan.candidate.levels[1:]))
        if check(problem, trial).ok:
            narrow = trial
            break
    assert narrow is not None
    assert narrow.levels[0] < lane.bytes_per_s.size - 1
    tie = break_tie(problem, narrow, "ttft_p90", OPTIONS)
    assert tie is not None
    assert tie.candidate.levels[0] > narrow.levels[0]
    assert tie.value_s < evaluate(problem, narrow).ttft.quantile(0.9)


def test_without_time_the_plan_stays() -> None:
    problem = replace(problem_of("one-lane", 0), arrival_rate_per_s=1.0)
    plan = search(problem, OPTIONS)
    assert plan.candidate is not None
    tie = break_tie(problem, plan.candidate, "ttft_p90", SearchOptions(time_limit_s=0.0))
    assert tie is not None
    assert tie.candidate == plan.candidate
    assert tie.excluded_s == 0.0


def scenario_at(**changes: object):
    """The tiny fleet at a rate of its own, by cost."""
    data = tiny(**changes)
    data["workload"]["rate"] = "2 req/s"
    return scenario_from_data(data)


def test_the_plan_says_how_a_tie_was_broken() -> None:
    free = plan_scenario(scenario_at(), PlanOptions(20.0))
    plan = plan_scenario(scenario_at(tie_break="ttft_p90"), PlanOptions(20.0))
    assert free.cost is not None
    assert plan.cost is not None
    assert plan.cost.usd_per_hour == pytest.approx(free.cost.usd_per_hour, rel=2e-6)
    assert plan.certificate is not None
    assert free.certificate is not None
    assert free.certificate.tie_break is None
    tie = plan.certificate.tie_break
    assert tie is not None
    assert plan.latency is not None
    assert free.latency is not None
    assert tie.predicted_s == plan.latency.ttft_s.p90
    assert plan.latency.ttft_s.p90 <= free.latency.ttft_s.p90
    assert tie.excluded_s <= tie.promised_s <= 1.5
    for language in ("en", "zh"):
        assert "ttft_p90" in render(plan, "md", lang=language)


def test_a_budget_is_a_limit_on_the_cheapest_plan() -> None:
    free = plan_scenario(scenario_at(), PlanOptions(20.0))
    assert free.cost is not None
    cost = free.cost.usd_per_hour
    enough = plan_scenario(scenario_at(budget=f"{cost + 0.01:.2f} USD/h"), PlanOptions(20.0))
    assert enough.status == "optimal"
    assert enough.cost == free.cost
    short = plan_scenario(scenario_at(budget=f"{0.9 * cost:.2f} USD/h"), PlanOptions(20.0))
    assert short.status == "infeasible"
    why = short.infeasibility
    assert why is not None
    assert f"costs {cost:.2f} USD/h" in why.reason
    assert f"budget of {0.9 * cost:.2f} USD/h" in why.reason
    assert why.failures[0].what == "budget"
    assert why.failures[0].best == pytest.approx(cost)
    # What would mend it does mend it.
    changes = {one.path: one.value for one in why.smallest_changes}
    mended = plan_scenario(scenario_at(budget=changes["budget"]), PlanOptions(20.0))
    assert mended.status == "optimal"
    assert "workload.rate" in changes


def test_a_tie_break_needs_a_least_cost() -> None:
    with pytest.raises(InputError, match="tie_break"):
        scenario_at(objective="goodput", tie_break="ttft_p90")
