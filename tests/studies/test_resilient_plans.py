"""Plans of scenarios that tolerate a loss: what they promise holds when it is simulated."""

from __future__ import annotations

import pytest

from pdd_plan.fleet.plan import OutageResult, Plan
from pdd_plan.scenario import Scenario, scenario_from_data
from pdd_plan.simulation import SimulationOptions
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.planning import evaluate_plan, plan_scenario
from pdd_plan.studies.simulating import simulate_plan
from tests.studies.scenarios import hub_and_spokes, twin_cities

EVERYTHING = {"engines": "1 per pool", "site": "any", "line": "any"}
SIMULATION = SimulationOptions(requests=10_000, replications=4)
PARTS_ONLY = PlanOptions(whole=False)


def planned(data: dict, rate: str = "8 req/s") -> tuple[Scenario, Plan]:
    data["workload"]["rate"] = rate
    scenario = scenario_from_data(data)
    return scenario, plan_scenario(scenario, PARTS_ONLY)


def what_is_left(plan: Plan, outage: OutageResult) -> Plan:
    """The plan as an operator runs it after a loss, from the plan document alone."""
    kind, _, name = outage.outage.partition(":")
    pools = tuple(pool for pool in plan.pools if kind != "site" or pool.site != name)
    if kind == "engines":
        site, role, *shape = name.split("/")
        pools = tuple(
            pool.model_copy(update={"engines": pool.engines - (outage.engines_lost or 0)})
            if (pool.site, pool.role) == (site, role)
            and shape in ([], [f"{pool.chip} {pool.shape}"])
            else pool
            for pool in pools
        )
    links = tuple(
        link
        for link in plan.links
        if (kind != "line" or f"{link.from_site}-{link.to_site}" != name)
        and (kind != "site" or name not in (link.from_site, link.to_site))
    )
    assert plan.routing is not None
    routing = plan.routing.model_copy(update={"threshold": outage.threshold})
    return plan.model_copy(
        update={"pools": pools, "links": links, "lanes": outage.lanes, "routing": routing}
    )


def simulated_limits(scenario: Scenario, plan: Plan, outage: OutageResult) -> None:
    """Assert that every limit promised for a loss holds in a simulation, up to its interval."""
    report = simulate_plan(scenario, what_is_left(plan, outage), SIMULATION)
    times = {"ttft": report.result.ttft_s, "tpot": report.result.tpot_s}
    assert outage.slo
    for item in outage.slo:
        measured = times[item.metric].percentile(100.0 * (item.percentile or 0.0))
        assert measured.mean - measured.half_width <= item.limit, (outage.outage, item, measured)


@pytest.fixture(scope="module")
def hub() -> tuple[Scenario, Plan]:
    return planned(hub_and_spokes(tolerate={"engines": 1, "site": "east", "line": "any"}))


@pytest.mark.long
def test_every_loss_of_a_plan_for_two_cities_is_survived_when_simulated():
    scenario, plan = planned(twin_cities(tolerate=EVERYTHING), "25 req/s")
    assert plan.resilience is not None
    outages = {one.outage for one in plan.resilience.outages}
    assert {"site:north", "site:south", "line:north-south", "line:south-north"} < outages
    for outage in plan.resilience.outages:
        assert outage.status == "kept"
        simulated_limits(scenario, plan, outage)


def test_every_loss_of_a_plan_with_a_relay_is_survived_when_simulated(hub):
    scenario, plan = hub
    assert {pool.role for pool in plan.pools} == {"prefill", "relay", "decode"}
    assert plan.resilience is not None
    assert len(plan.resilience.outages) == 7
    for outage in plan.resilience.outages:
        assert outage.status == "kept"
        simulated_limits(scenario, plan, outage)


@pytest.mark.long
@pytest.mark.parametrize("rate", ["3 req/s", "14 req/s", "30 req/s"])
@pytest.mark.parametrize("data", [twin_cities, hub_and_spokes])
def test_looser_limits_hold_when_simulated(rate, data):
    tolerate = {"engines": 2, "line": "any", "slo": {"ttft_p90": "5 s"}}
    scenario, plan = planned(data(tolerate=tolerate), rate)
    assert plan.resilience is not None
    for outage in plan.resilience.outages:
        limits = {item.metric: item.limit for item in outage.slo}
        assert limits == {"ttft": 5.0, "tpot": 0.05}
        simulated_limits(scenario, plan, outage)


def test_cost_with_and_without_and_what_decides():
    _, plan = planned(twin_cities(tolerate={"site": "any"}), "25 req/s")
    usual = planned(twin_cities(), "25 req/s")[1]
    found = plan.resilience
    assert found is not None
    assert plan.cost is not None
    assert usual.cost is not None
    assert found.usd_per_hour == pytest.approx(plan.cost.usd_per_hour)
    assert found.usd_per_hour_without == pytest.approx(usual.cost.usd_per_hour)
    assert set(found.binding) == {"site:north", "site:south"}
    assert plan.certificate is not None
    bound = plan.certificate.lower_bound_usd_per_hour
    assert bound is not None
    assert max(one.lower_bound_usd_per_hour or 0.0 for one in found.bounds) <= bound
    assert bound <= plan.cost.usd_per_hour * (1 + 1e-9)


def test_a_resilient_plan_evaluates_to_what_it_says(hub):
    scenario, plan = hub
    again = evaluate_plan(scenario, plan, PARTS_ONLY)
    assert plan.resilience is not None
    assert again.resilience is not None
    assert [one.outage for one in again.resilience.outages] == [
        one.outage for one in plan.resilience.outages
    ]
    assert all(one.status == "kept" for one in again.resilience.outages)
    assert again.cost == plan.cost


@pytest.mark.long
def test_looser_limits_for_a_loss_cost_no_more():
    strict = planned(twin_cities(tolerate={"site": "any"}), "25 req/s")[1]
    tolerate = {"site": "any", "slo": {"ttft_p90": "30 s", "tpot_mean": "200 ms"}}
    loose = planned(twin_cities(tolerate=tolerate), "25 req/s")[1]
    assert strict.cost is not None
    assert loose.cost is not None
    assert loose.cost.usd_per_hour <= strict.cost.usd_per_hour


@pytest.mark.parametrize(
    ("tolerate", "reason", "path"),
    [
        ({"site": "any"}, "site hub: it is the only site that prefills", "tolerate.site"),
        ({"engines": 16}, "16 engines less in every pool", "tolerate.engines"),
    ],
)
def test_what_nothing_survives_is_an_answer_with_its_reason(tolerate, reason, path):
    plan = planned(hub_and_spokes(tolerate=tolerate))[1]
    assert plan.status == "infeasible"
    scenario = scenario_from_data(hub_and_spokes(tolerate=tolerate))
    whole = plan_scenario(scenario)
    assert whole.infeasibility is not None
    assert reason in whole.infeasibility.reason
    assert [change.path for change in whole.infeasibility.smallest_changes] == [path]


def test_too_small_a_budget_is_an_answer():
    data = twin_cities(tolerate={"site": "any"}, budget="20 USD/h")
    data["workload"]["rate"] = "25 req/s"
    plan = plan_scenario(scenario_from_data(data))
    assert plan.status == "infeasible"
    assert plan.infeasibility is not None
    assert "the budget is 20 USD/h" in plan.infeasibility.reason
