"""Whole plans of random scenarios: counts add up, limits hold, goodput and cost agree."""

from __future__ import annotations

from functools import lru_cache

import pytest

from pdd_plan.errors import InputError
from pdd_plan.fleet.plan import Plan, parse_plan
from pdd_plan.scenario import scenario_from_data
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.planning import plan_scenario
from tests.studies.scenarios import agent_fleet, agent_scenario, random_scenario

SEEDS = range(10)


@lru_cache(maxsize=256)
def plan_of(seed: int) -> Plan | None:
    """The plan of a random scenario; None where a limit cannot be met at all."""
    try:
        return plan_scenario(random_scenario(seed), PlanOptions(time_limit_s=30.0))
    except InputError:
        return None


def planned(seeds: range) -> list[Plan]:
    plans = [plan_of(seed) for seed in seeds]
    return [plan for plan in plans if plan is not None and plan.status != "infeasible"]


def check_sums(plan: Plan) -> None:
    cost = plan.cost
    assert cost is not None
    chips = sum(pool.usd_per_hour for pool in plan.pools)
    lines = sum(link.usd_per_hour for link in plan.links)
    assert cost.chips_usd_per_hour == pytest.approx(chips, rel=1e-9)
    assert cost.links_usd_per_hour == pytest.approx(lines, rel=1e-9, abs=1e-9)
    assert cost.usd_per_hour == pytest.approx(chips + lines, rel=1e-9)
    for pool in plan.pools:
        assert pool.usd_per_chip_hour is not None
        assert pool.usd_per_hour == pytest.approx(pool.chips * pool.usd_per_chip_hour, rel=1e-9)
        assert pool.chips % pool.engines == 0
    used: dict[tuple[str, str], int] = {}
    for pool in plan.pools:
        used[pool.site, pool.chip] = used.get((pool.site, pool.chip), 0) + pool.chips
    for pool in plan.pools:
        assert pool.chips_available is not None
        assert used[pool.site, pool.chip] <= pool.chips_available
    demand = plan.demand
    assert demand is not None
    tokens_per_hour = 3600.0 * demand.output_tokens_per_s
    assert cost.usd_per_million_output_tokens == pytest.approx(
        cost.usd_per_hour / tokens_per_hour * 1e6, rel=1e-9
    )


def check_loads(plan: Plan) -> None:
    assert plan.routing is not None
    assert plan.goodput is not None
    assert plan.demand is not None
    assert sum(lane.share for lane in plan.lanes) == pytest.approx(1.0, rel=1e-9)
    assert plan.goodput.requests_per_s >= plan.demand.requests_per_s * (1 - 1e-4)
    routing = plan.routing
    total = routing.relay_token_fraction + routing.main_decode_token_fraction
    assert total == pytest.approx(1.0, abs=1e-9)
    for role in ("prefill", "decode"):
        shares = [p.request_fraction for p in plan.pools if p.role == role]
        assert sum(s for s in shares if s is not None) == pytest.approx(1.0, rel=1e-6)
    for pool in plan.pools:
        assert pool.utilization < 1.0
    for link in plan.links:
        assert link.utilization < 1.0
    assert all(row.met for row in plan.slo)


def test_counts_and_prices_add_up() -> None:
    plans = planned(SEEDS)
    assert len(plans) >= 5
    for plan in plans:
        check_sums(plan)
        check_loads(plan)


def test_no_baseline_is_cheaper_than_the_plan() -> None:
    for plan in planned(SEEDS):
        assert plan.cost is not None
        for baseline in plan.baselines:
            # Aggregated engines, and decode at home, may be ways that the scenario does not allow.
            allowed = baseline.name not in ("single_site", "aggregated")
            allowed |= baseline.name == "single_site" and plan.architecture == "single_site"
            if allowed and baseline.cost is not None and plan.status == "optimal":
                assert plan.cost.usd_per_hour <= baseline.cost.usd_per_hour * (1 + 1e-6)


def test_bcr_is_the_ratio_of_goodput_per_cost() -> None:
    for plan in planned(SEEDS):
        reference = next((b for b in plan.baselines if b.name == plan.bcr_reference), None)
        if reference is None:
            continue
        assert reference.goodput is not None
        assert reference.cost is not None
        assert plan.goodput is not None
        assert plan.cost is not None
        mine = plan.goodput.requests_per_s / plan.cost.usd_per_hour
        other = reference.goodput.requests_per_s / reference.cost.usd_per_hour
        assert plan.bcr == pytest.approx(mine / other, rel=1e-9)
        # Two ends of one number: cost per token at goodput changes by 1 / BCR - 1.
        ratio = (
            plan.cost.usd_per_million_output_tokens_at_goodput
            / reference.cost.usd_per_million_output_tokens_at_goodput
        )
        assert ratio == pytest.approx(1 / plan.bcr, rel=1e-9)


def test_plans_survive_writing_and_reading() -> None:
    for plan in planned(SEEDS):
        assert parse_plan(plan.to_json()) == plan


def test_planning_twice_gives_the_same_plan() -> None:
    scenario = agent_scenario()
    first, second = (plan_scenario(scenario) for _ in range(2))
    assert first.certificate is not None
    assert second.certificate is not None
    timeless = {"solve_time_s": 0.0}
    one = first.model_copy(update={"certificate": first.certificate.model_copy(update=timeless)})
    two = second.model_copy(update={"certificate": second.certificate.model_copy(update=timeless)})
    assert one == two


@pytest.mark.parametrize("rate", [2.0, 6.0])
def test_fewest_chips_at_a_rate_and_largest_rate_of_the_chips_agree(rate: float) -> None:
    """The fleet planned for a rate carries it; at its goodput no cheaper fleet would do."""
    plan = plan_scenario(agent_scenario(rate=f"{rate} req/s"))
    assert plan.goodput is not None
    assert plan.cost is not None
    reached = plan.goodput.requests_per_s
    assert reached >= rate
    again = plan_scenario(agent_scenario(rate=f"{reached * 0.999:.6f} req/s"))
    assert again.cost is not None
    assert rate <= reached
    # The planned fleet carries the higher rate too, so planning for it cannot cost more; and it
    # carries the lower one, so it cannot cost less than the plan for that.
    assert again.cost.usd_per_hour == pytest.approx(plan.cost.usd_per_hour, rel=1e-6)


def test_units_do_not_matter() -> None:
    """The same scenario in other units gives the same plan."""
    plain = plan_scenario(agent_scenario())
    data = agent_fleet()
    data["workload"]["rate"] = "360 req/min"
    data["slo"] = {"ttft_p90": "1300 ms", "tpot_mean": "0.05 s"}
    data["links"][0]["bandwidth"] = {"min": "0.625 GB/s", "max": "12.5 GB/s", "step": "0.625 GB/s"}
    other = plan_scenario(scenario_from_data(data))
    assert plain.cost is not None
    assert other.cost is not None
    assert other.cost.usd_per_hour == pytest.approx(plain.cost.usd_per_hour, rel=1e-9)
    assert other.pools == plain.pools


@pytest.mark.long
def test_counts_and_prices_add_up_in_many_scenarios() -> None:
    plans = planned(range(100, 200))
    assert len(plans) >= 40
    for plan in plans:
        check_sums(plan)
        check_loads(plan)
