"""Several lines between the same sites, lines both ways, and sites with every role."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pdd_plan.fleet.build import build_problem
from pdd_plan.fleet.evaluate import evaluate
from pdd_plan.fleet.plan import Plan, parse_plan
from pdd_plan.fleet.problem import Problem
from pdd_plan.report.render import render
from pdd_plan.report.tidy import plan_tables
from pdd_plan.scenario import Scenario, scenario_from_data
from pdd_plan.simulation import SimulationOptions
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.planning import evaluate_plan, plan_scenario
from pdd_plan.studies.simulating import simulate_plan
from tests.optimizer.test_brute_force import same_as_enumeration, small_problem
from tests.studies.test_objectives import tiny


def least_cost(problem: Problem) -> float:
    """Assert that the search finds the least cost of all candidates, and return it."""
    result, best = same_as_enumeration(problem)
    if result.candidate is not None:
        assert all(one.met for one in evaluate(problem, result.candidate).limits)
    return best


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("price", "rtt_s"), [(0.7, 0.4), (1.3, 0.0), (1.0, 0.02)])
def test_two_lines_between_the_same_sites(seed: int, price: float, rtt_s: float) -> None:
    """A second line, cheaper and farther or dearer and nearer, never makes a plan dearer."""
    problem = small_problem("one-lane", seed)
    lane = replace(
        problem.lanes[0],
        bytes_per_s=problem.lanes[0].bytes_per_s[::2],
        usd_per_hour=problem.lanes[0].usd_per_hour[::2],
    )
    other = replace(lane, name="other", usd_per_hour=price * lane.usd_per_hour, rtt_s=rtt_s)
    waits = problem.slot_waits[-1:]
    problem = replace(problem, lanes=(lane,), slot_waits=waits, load_steps=3)
    alone = least_cost(problem)
    both = least_cost(replace(problem, lanes=(lane, other)))
    assert both <= alone * (1 + 1e-9)


def every_role(rate: str, stock: int) -> Scenario:
    """Two sites that may do everything, with lines both ways at different prices and distances."""
    data = tiny()
    data["workload"] |= {"rate": rate, "max_atoms": 20}
    roles = ["prefill", "relay", "decode"]
    for name in ("home", "away"):
        data["sites"][name]["roles"] = roles
    for site, chip in (("home", "h200"), ("away", "h20")):
        data["sites"][site]["chips"][chip]["available"] = stock
    there = data["links"][0]
    back = {**there, "from": "away", "to": "home", "price": "200 USD/Gbps/month", "rtt": "90 ms"}
    data["links"] = [there, back]
    return scenario_from_data(data)


@pytest.mark.parametrize(("rate", "stock"), [("0.5 req/s", 8), ("0.8 req/s", 8), ("1.5 req/s", 12)])
def test_sites_with_every_role(rate: str, stock: int) -> None:
    problem = build_problem(every_role(rate, stock)).problem
    assert len(problem.lanes) == 4
    assert np.isfinite(least_cost(problem))


def named(**backup: Any) -> Scenario:
    """The tiny fleet without decode at home, and a second line from home to away."""
    data = tiny()
    data["workload"]["rate"] = "1.5 req/s"
    data["sites"]["home"]["roles"] = ["prefill", "relay"]
    data["sites"]["away"]["chips"]["h20"]["available"] = 32
    line = data["links"][0] | {"price": "900 USD/Gbps/month"}
    data["links"] = [line, {**line, "name": "backup", "rtt": "60 ms"} | backup]
    return scenario_from_data(data)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_scenario(named(price="300 USD/Gbps/month"), PlanOptions(20.0))


def test_the_better_line_is_taken_and_named(plan: Plan) -> None:
    assert plan.status == "optimal"
    assert [(link.name, link.gbps) for link in plan.links] == [("backup", 20.0)]
    assert [lane.name for lane in plan.lanes] == ["backup"]
    for name in ("console", "md", "html"):
        text = render(plan, name)
        assert "backup" in text
    assert parse_plan(plan.to_json()) == plan
    rows = {table.name: table for table in plan_tables(plan)}["links"]
    assert rows.rows[0][rows.keys.index("name")] == "backup"
    dear = plan_scenario(named(price="1500 USD/Gbps/month"), PlanOptions(20.0))
    assert [link.name for link in dear.links] == [None]


def test_a_plan_over_a_named_line_is_evaluated_and_simulated(plan: Plan) -> None:
    scenario = named(price="300 USD/Gbps/month")
    seen = evaluate_plan(scenario, plan, PlanOptions(20.0))
    assert seen.links == plan.links
    assert seen.latency == plan.latency
    report = simulate_plan(scenario, plan, SimulationOptions(requests=5_000, replications=2))
    assert any(row.what == "use of line backup" for row in report.rows)
