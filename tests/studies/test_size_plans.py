"""Plans that route by size: the JSON contract, evaluation, reports, refusals."""

from __future__ import annotations

import json

import pytest

from pdd_plan.errors import InputError
from pdd_plan.fleet.plan import Plan, parse_plan
from pdd_plan.report.render import FORMATS, render
from pdd_plan.scenario import load_scenario, scenario_from_data
from pdd_plan.simulation import SimulationOptions
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.planning import evaluate_plan, plan_scenario
from pdd_plan.studies.simulating import simulate_plan
from tests.optimizer.size_scenarios import small_data

NAME = "prefill-as-a-service"


def plan_of(*changes: str) -> Plan:
    return plan_scenario(load_scenario(NAME, changes), PlanOptions())


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of()


def test_the_plan_says_who_goes_where(plan):
    assert plan.status == "optimal"
    assert plan.architecture == "by_size"
    routing = plan.routing
    assert routing is not None
    assert (routing.by, routing.between) == ("uncached_tokens", "prefill")
    assert routing.remote_request_fraction is not None
    shares = {(lane.from_site, lane.to_site): lane.share for lane in plan.lanes}
    assert shares["remote", "home"] == pytest.approx(routing.remote_request_fraction)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert routing.relay_request_fraction == 0.0
    assert plan.workload is not None


def test_the_line_carries_what_the_threshold_sends(plan):
    (line,) = plan.links
    assert line.traffic_gbps == pytest.approx(line.gbps * line.utilization)
    assert 10 < line.traffic_gbps < 13.5


def test_pools_are_used_up_to_the_stage_that_gives_first(plan):
    use = {(pool.site, pool.role): pool.utilization for pool in plan.pools}
    assert max(use.values()) == use["remote", "prefill"] == 1.0
    assert plan.goodput is not None
    assert plan.goodput.limited_by == "prefill remote"
    assert plan.demand is not None
    assert plan.goodput.requests_per_s == pytest.approx(plan.demand.requests_per_s)
    decode = 5 * 800 / 1024
    assert use["home", "decode"] == pytest.approx(plan.goodput.requests_per_s / decode)


def test_baselines_are_those_of_the_case_study(plan):
    """Published 2.11 and 2.45 req/s; less here, where the mean of the times counts."""
    rates = {b.name: b.goodput.requests_per_s for b in plan.baselines if b.goodput}
    assert list(rates) == ["homogeneous", "single_site", "all_remote"]
    assert rates["homogeneous"] == pytest.approx(2.11, rel=0.045)
    assert rates["all_remote"] == pytest.approx(2.45, rel=0.035)
    assert rates["single_site"] == pytest.approx(rates["homogeneous"] * 6 / 9, rel=1e-6)
    assert plan.bcr_reference == "homogeneous"
    engines = {b.name: {p.role: p.engines for p in b.pools} for b in plan.baselines}
    assert engines["homogeneous"] == {"prefill": 9, "decode": 3}


def test_latency_is_idle_and_load_is_told(plan):
    assert any("idle fleet" in text for text in plan.warnings)
    at = {s.value: s.ttft_p90_s for s in plan.sensitivity if s.path == "workload.rate"}
    values = [at[key] for key in sorted(at)]
    assert len(values) == 3
    assert plan.latency is not None
    assert plan.latency.ttft_s.p90 < values[0] < values[1] < values[2]


def test_the_certificate_is_of_an_enumeration(plan):
    proof = plan.certificate
    assert proof is not None
    assert proof.objective == "goodput"
    assert proof.gap == 0.0
    assert proof.objective_value == proof.objective_bound == plan.goodput.requests_per_s
    assert proof.recomputed_usd_per_hour == pytest.approx(plan.cost.usd_per_hour)
    assert proof.thresholds == 830
    assert proof.flow_steps is None


def test_the_plan_survives_its_file(plan):
    assert parse_plan(plan.to_json()) == plan
    data = json.loads(plan.to_json())
    assert data["routing"]["between"] == "prefill"
    assert data["latency"]["ttft_remote_s"]["p90"] > data["latency"]["ttft_home_s"]["p90"]


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("form", FORMATS)
def test_every_report_shows_it(plan, form, lang):
    text = render(plan, form, 100, lang)
    assert "19,700" in text or "19700" in text


def test_the_report_says_the_route(plan):
    text = " ".join(render(plan, "console", 400).split())
    assert "prompts of up to 19,700 uncached tokens are prefilled at home (51 %)" in text
    assert "the rest at remote (49 %), whose KV cache puts 12.1 Gbps on the line" in text
    assert "prefill by size" in text


def test_a_plan_scores_as_it_was_planned(plan):
    again = evaluate_plan(load_scenario(NAME), plan)
    assert again.certificate is None
    assert again.goodput.requests_per_s == pytest.approx(plan.goodput.requests_per_s, rel=1e-6)
    assert again.latency.ttft_s == plan.latency.ttft_s


def test_a_plan_under_a_demand(plan):
    scenario = load_scenario(NAME, ["workload.rate=2.5 req/s"])
    again = evaluate_plan(scenario, plan)
    assert again.demand.requests_per_s == pytest.approx(2.5)
    assert again.goodput.requests_per_s == pytest.approx(plan.goodput.requests_per_s, rel=1e-6)
    assert again.latency.ttft_s.p90 > plan.latency.ttft_s.p90
    assert not any("idle" in text for text in again.warnings)
    with pytest.raises(InputError, match="cannot carry 5 req/s"):
        evaluate_plan(load_scenario(NAME, ["workload.rate=5 req/s"]), plan)


def test_it_is_not_simulated(plan):
    with pytest.raises(InputError, match="not simulated"):
        simulate_plan(load_scenario(NAME), plan, SimulationOptions(requests=100))


def test_the_cheapest_fleet_at_a_demand():
    cheap = plan_of("objective=cost_per_token", "workload.rate=2 req/s")
    assert cheap.status == "optimal"
    assert cheap.certificate.objective == "cost_per_token"
    assert cheap.demand.requests_per_s == pytest.approx(2.0)
    assert cheap.goodput.requests_per_s >= 2.0
    full = plan_of("workload.rate=2 req/s")
    assert cheap.cost.usd_per_hour < full.cost.usd_per_hour
    assert full.demand.requests_per_s == pytest.approx(2.0)


def test_too_much_demand_is_infeasible():
    none = plan_of("objective=cost_per_token", "workload.rate=20 req/s")
    assert none.status == "infeasible"
    assert "carries 3.177 req/s" in none.infeasibility.reason
    assert "prefill" in none.infeasibility.reason


def test_a_demand_above_the_goodput_is_warned_about():
    short = plan_of("workload.rate=9 req/s")
    assert short.status == "optimal"
    assert any("less than workload.rate = 9" in text for text in short.warnings)


def test_goodput_per_cost():
    best = plan_of("objective=bcr")
    made = best.goodput.requests_per_s / best.cost.usd_per_hour
    assert best.certificate.objective_value == pytest.approx(made)
    most = plan_of()
    assert made >= most.goodput.requests_per_s / most.cost.usd_per_hour * (1 - 1e-9)


def test_limits_are_kept():
    data = small_data(0, {"ttft_p90": "6 s", "tpot_mean": "70 ms"})
    plan = plan_scenario(scenario_from_data(data), PlanOptions())
    assert plan.status == "optimal"
    assert all(limit.met for limit in plan.slo)
    assert "either path" in plan.certificate.model
    free = plan_scenario(scenario_from_data(small_data(0)), PlanOptions())
    assert plan.goodput.requests_per_s < free.goodput.requests_per_s
    with pytest.raises(InputError, match="cannot be met"):
        plan_scenario(scenario_from_data(small_data(0, {"ttft_p90": "10 ms"})), PlanOptions())


def test_given_thresholds_are_kept_to():
    plan = plan_of("routing.max_thresholds=20", "routing.thresholds=[8000, 40000]")
    assert plan.routing.threshold in (8000, 40000)
    assert {b.name for b in plan.baselines if b.goodput} >= {"homogeneous", "all_remote"}


def test_a_measured_cache_is_interpolated():
    """Published sizes of table 5 are on the line as they stand."""
    from pdd_plan.fleet.build import build_problem

    data = small_data(1)
    data["workload"]["classes"] = [
        {"share": 0.5, "input_tokens": 1000, "output_tokens": 10},
        {"share": 0.5, "input_tokens": 60000, "cached_tokens": 30000, "output_tokens": 10},
    ]
    problem = build_problem(scenario_from_data(data)).problem
    order = problem.atoms.input_tokens.argsort()
    assert problem.kv_bytes[order] == pytest.approx([80 * 2**20, 900 * 2**20])
    half = 80 + (900 - 80) * (30000 - 1000) / 59000
    assert problem.transfer_bytes[order] == pytest.approx([80 * 2**20, half * 2**20])
