"""Contracts, whole nodes and limits of sites in whole plans: planned, paid and told."""

from __future__ import annotations

from typing import Any

import pytest

from pdd_plan.fleet.plan import Plan, parse_plan
from pdd_plan.report.charts import all_charts
from pdd_plan.report.labels import Labels
from pdd_plan.report.render import render
from pdd_plan.report.tidy import plan_tables
from pdd_plan.scenario import Scenario, scenario_from_data
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.planning import evaluate_plan, plan_scenario
from tests.studies.test_objectives import tiny


def fleet(home: dict[str, Any] | None = None, away: dict[str, Any] | None = None) -> Scenario:
    """The tiny fleet at 2 req/s with changes of its chips."""
    data = _data()
    data["sites"]["home"]["chips"]["h200"] |= home or {}
    data["sites"]["away"]["chips"]["h20"] |= away or {}
    return scenario_from_data(data)


def planned(home: dict[str, Any] | None = None, away: dict[str, Any] | None = None) -> Plan:
    return plan_scenario(fleet(home, away), PlanOptions(20.0))


def cost(plan: Plan) -> float:
    assert plan.cost is not None
    return plan.cost.usd_per_hour


def adds_up(plan: Plan) -> bool:
    """Whether pools, lines and unused chips make the cost."""
    parts = [*(p.usd_per_hour for p in plan.pools), *(x.usd_per_hour for x in plan.links)]
    parts += [item.idle_usd_per_hour for item in plan.paid_chips]
    return cost(plan) == pytest.approx(sum(parts))


@pytest.fixture(scope="module")
def free() -> Plan:
    return planned()


@pytest.fixture(scope="module")
def held() -> Plan:
    """Every chip at home stays under contract."""
    return planned(home={"min": 16})


def test_contracts_are_paid_and_used_first(free: Plan, held: Plan) -> None:
    assert cost(held) >= 16 * 4.88
    assert cost(held) <= cost(free) + 16 * 4.88
    assert adds_up(free)
    assert adds_up(held)
    (item,) = held.paid_chips
    assert (item.site, item.chip, item.paid, item.under_contract) == ("home", "h200", 16, 16)
    assert item.used == sum(pool.chips for pool in held.pools if pool.site == "home")
    assert item.idle_usd_per_hour == pytest.approx((16 - item.used) * 4.88)
    assert held.status == "optimal"
    # What is rented beside the contract is no more than before: home is free now.
    assert cost(held) - 16 * 4.88 <= cost(free)
    # Contracts stay in the simpler fleets as well.
    for base in held.baselines:
        if base.cost is not None:
            assert base.cost.usd_per_hour >= 16 * 4.88


def test_whole_nodes_are_paid_whole() -> None:
    plan = planned(away={"node": 16}, home={"node": 8})
    assert adds_up(plan)
    for item in plan.paid_chips:
        assert item.paid % item.node == 0
        assert 0 <= item.paid - item.used < item.node
        price = {"h200": 4.88, "h20": 1.06}[item.chip]
        assert item.idle_usd_per_hour == pytest.approx((item.paid - item.used) * price)
    assert cost(plan) >= cost(planned()) - 1e-9


def test_unused_chips_are_in_every_format() -> None:
    plan = planned(away={"min": 16}, home={"min": 16})
    idle = [item for item in plan.paid_chips if item.paid > item.used]
    assert idle
    for name in ("console", "md", "html"):
        text = render(plan, name)
        assert f"{idle[0].site} not used" in text
        assert "under contract" in text
        assert "合同保留" in render(plan, name, lang="zh")
    assert parse_plan(plan.to_json()) == plan
    rows = {table.name: table for table in plan_tables(plan)}["paid_chips"].rows
    assert {row[:2] for row in rows} == {("home", "h200"), ("away", "h20")}
    labels = Labels("en")
    chart = next(c for c in all_charts(plan, labels) if c.key == "cost")
    assert any(series.label == "paid, not used" for series in chart.series)


def test_an_evaluated_plan_pays_its_contracts(free: Plan) -> None:
    plan = evaluate_plan(fleet(home={"min": 16}), free, PlanOptions(20.0))
    used = sum(pool.chips for pool in free.pools if pool.site == "home")
    assert cost(plan) == pytest.approx(cost(free) + (16 - used) * 4.88)


def test_room_that_is_too_small_is_named(free: Plan) -> None:
    needed = sum(pool.chips for pool in free.pools if pool.site == "home")
    enough = plan_scenario(_with_room(needed), PlanOptions(20.0))
    assert enough.status == "optimal"
    assert any(item.what == "sites.home.max_chips" for item in enough.binding)
    short = plan_scenario(_with_room(4), PlanOptions(20.0))
    assert short.status == "infeasible"
    assert short.infeasibility is not None
    assert "4 chips at home" in short.infeasibility.reason
    changes = {change.path: change.value for change in short.infeasibility.smallest_changes}
    room = changes["sites.home.max_chips"]
    assert plan_scenario(_with_room(int(room)), PlanOptions(20.0)).status == "optimal"


def test_power_that_is_too_little_is_named() -> None:
    data = _data()
    data["sites"]["home"]["power"] = "3 kW"
    short = plan_scenario(scenario_from_data(data), PlanOptions(20.0))
    assert short.status == "infeasible"
    assert short.infeasibility is not None
    assert "3 kW at home" in short.infeasibility.reason
    changes = {change.path: change.value for change in short.infeasibility.smallest_changes}
    data["sites"]["home"]["power"] = changes["sites.home.power"]
    assert plan_scenario(scenario_from_data(data), PlanOptions(20.0)).status == "optimal"


def test_contracts_count_against_the_budget() -> None:
    data = _data() | {"budget": "70 USD/h"}
    data["sites"]["home"]["chips"]["h200"]["min"] = 16
    plan = plan_scenario(scenario_from_data(data), PlanOptions(20.0))
    assert plan.status == "infeasible"
    assert plan.infeasibility is not None
    assert "budget of 70 USD/h" in plan.infeasibility.reason


def test_goodput_of_a_fleet_under_contract() -> None:
    """With a budget just above the contract, only what is paid already is used at home."""
    data = tiny(objective="goodput", budget=f"{16 * 4.88 + 0.5:.2f} USD/h")
    data["sites"]["home"]["chips"]["h200"]["min"] = 16
    plan = plan_scenario(scenario_from_data(data), PlanOptions(20.0))
    assert plan.status in ("optimal", "feasible")
    assert cost(plan) == pytest.approx(16 * 4.88)
    assert {pool.site for pool in plan.pools} == {"home"}


def _data() -> dict[str, Any]:
    data = tiny()
    data["workload"]["rate"] = "2 req/s"
    return data


def _with_room(chips: int) -> Scenario:
    data = _data()
    data["sites"]["home"]["max_chips"] = chips
    return scenario_from_data(data)
