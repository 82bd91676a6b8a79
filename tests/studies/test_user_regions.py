"""Whole plans with regions of users: what each sees is planned, reported and simulated."""

from __future__ import annotations

from typing import Any

import pytest

from pdd_plan.fleet.plan import Plan, parse_plan
from pdd_plan.report.render import render
from pdd_plan.report.tidy import plan_tables
from pdd_plan.scenario import Scenario, scenario_from_data
from pdd_plan.simulation import SimulationOptions
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.planning import plan_scenario
from pdd_plan.studies.simulating import simulate_plan
from tests.studies.test_objectives import tiny


def two_regions(limits: dict[str, Any] | None = None, rtt: str = "200 ms") -> Scenario:
    """Users near home and users far from it, over one small fleet."""
    data = tiny()
    data["workload"]["rate"] = "2 req/s"
    data["users"] = {
        "near": {"share": "80 %", "rtt": {"home": "10 ms", "away": "40 ms"}},
        "far": {"share": "20 %", "rtt": {"home": rtt, "away": rtt}},
    }
    data["slo"] |= {"ttft_p90": "2 s", "regions": limits or {}}
    return scenario_from_data(data)


LIMITS = {"far": {"ttft_p90": "2.5 s", "e2e_p90": "90 s"}}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_scenario(two_regions(LIMITS), PlanOptions(20.0))


def test_every_region_is_reported(plan: Plan) -> None:
    near, far = plan.regions
    assert (near.name, far.name) == ("near", "far")
    assert (near.request_fraction, far.request_fraction) == pytest.approx((0.8, 0.2))
    # All requests go the same ways, so only the distance tells the regions apart.
    lanes = {(lane.from_site, lane.to_site) for lane in plan.lanes}
    if lanes == {("home", "home")}:
        assert far.ttft_s.p90 - near.ttft_s.p90 == pytest.approx(0.19, abs=2e-3)
    assert far.ttft_s.p50 > near.ttft_s.p50
    limits = {(item.region, item.metric): item for item in plan.slo}
    assert limits["far", "ttft"].predicted == far.ttft_s.p90
    assert limits["far", "e2e"].predicted == far.e2e_s.p90
    assert all(item.met for item in plan.slo)


def test_regions_are_in_every_format(plan: Plan) -> None:
    for language, word in (("en", "User regions"), ("zh", "用户地区")):
        for name in ("console", "md", "html"):
            text = render(plan, name, lang=language)
            assert word in text
            assert "near" in text
    assert parse_plan(plan.to_json()) == plan
    tables = {table.name: table for table in plan_tables(plan)}
    assert {row[0] for row in tables["regions"].rows} == {"near", "far"}
    at = tables["slo"].keys.index("region")
    assert [row[at] for row in tables["slo"].rows].count("far") == 2


def test_a_way_that_is_too_long_costs_or_forbids() -> None:
    """Users must be served in time: the farther they are, the dearer, until it cannot be."""
    tight = {"far": {"ttft_p90": "1.2 s"}}
    costs = []
    for rtt in ("0 ms", "200 ms", "400 ms"):
        found = plan_scenario(two_regions(tight, rtt), PlanOptions(20.0))
        costs.append(float("inf") if found.cost is None else found.cost.usd_per_hour)
    assert costs == sorted(costs)


def test_simulation_shows_each_region(plan: Plan) -> None:
    options = SimulationOptions(requests=30_000, replications=3)
    rows = {row.what: row for row in simulate_plan(two_regions(LIMITS), plan, options).rows}
    for name in ("near: TTFT P50", "far: TTFT P50", "near: TTFT P90", "far: TTFT P90"):
        row = rows[name]
        assert abs(row.difference) <= 0.08 + row.half_width / row.simulated
    assert rows["far: TTFT P90"].limit == 2.5
    assert rows["near: TTFT P90"].limit is None
    assert rows["TTFT P90"].limit == 2.0
    gap = rows["far: TTFT P50"].simulated - rows["near: TTFT P50"].simulated
    assert 0.1 < gap < 0.25
