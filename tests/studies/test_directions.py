"""The plan moves the way theory says: never cheaper under a harder condition."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from pdd_plan.fleet.plan import Baseline, Plan
from pdd_plan.studies.planning import plan_scenario
from tests.studies.scenarios import agent_scenario


def planned(**changes: Any) -> Plan:
    return plan_scenario(agent_scenario(**changes))


def cost(plan: Plan) -> float:
    """Cost per hour; infinite where there is no plan."""
    return plan.cost.usd_per_hour if plan.cost is not None else float("inf")


def baseline(plan: Plan, name: str) -> Baseline:
    return next(one for one in plan.baselines if one.name == name)


@pytest.fixture(scope="module")
def base() -> Plan:
    return planned()


def test_the_base_case_uses_every_part(base: Plan) -> None:
    assert base.architecture == "pdd"
    assert {pool.role for pool in base.pools} == {"prefill", "relay", "decode"}
    assert base.links


def test_halving_the_line_never_makes_it_cheaper(base: Plan) -> None:
    costs, shares = [cost(base)], []
    for most in (40, 20, 10, 5):
        plan = planned(
            gbps={"min": "5 Gbps", "max": f"{most} Gbps", "step": "5 Gbps"}
            if most > 5
            else "5 Gbps"
        )
        costs.append(cost(plan))
        pdd = baseline(plan, "pdd")
        if pdd.routing is not None:
            shares.append(pdd.routing.relay_request_fraction)
    assert all(a <= b * (1 + 1e-9) for a, b in itertools.pairwise(costs))


def test_the_relay_takes_more_as_the_line_gets_slower() -> None:
    """A line of fixed size that costs nothing more: the relay's share of requests grows."""
    shares = []
    for gbps in (100, 60, 40, 30):
        plan = planned(gbps=f"{gbps} Gbps", home_decode=False)
        assert plan.routing is not None
        shares.append(plan.routing.relay_request_fraction)
    assert shares[0] < shares[-1]
    assert all(a <= b + 0.05 for a, b in itertools.pairwise(shares))


def test_longer_prompts_cost_more(base: Plan) -> None:
    doubled = planned(median_tokens=48000)
    assert cost(doubled) > cost(base)


def test_a_tighter_limit_costs_more_and_a_looser_one_less(base: Plan) -> None:
    costs = [cost(planned(ttft_p90=f"{limit} s")) for limit in (6.0, 3.0)]
    costs += [cost(base), cost(planned(ttft_p90="1.0 s"))]
    assert all(a <= b * (1 + 1e-9) for a, b in itertools.pairwise(costs))
    assert costs[0] < costs[-1]


def test_without_skew_the_direct_route_gets_slower() -> None:
    """The same mean hit rate without skew: all hits between 85 and 95 % (mean 90 %)."""
    skewed = planned(
        hit_rate={"distribution": "skew", "share": 0.75, "at_least": 0.95, "mean": 0.9},
        ttft_p90="3 s",
    )
    flat = planned(hit_rate={"distribution": "range", "min": 0.85, "max": 0.95}, ttft_p90="3 s")
    # Median payloads differ by a factor, so the direct route loses most.
    cross_skewed, cross_flat = baseline(skewed, "cross_site"), baseline(flat, "cross_site")
    assert cross_skewed.latency is not None
    assert cross_flat.latency is None or (
        (cross_flat.latency.ttft_s.p50 or 0.0) > (cross_skewed.latency.ttft_s.p50 or 0.0)
    )


def test_without_a_price_advantage_everything_stays_home() -> None:
    plan = planned(decode_price="4.88 USD/h")
    assert plan.architecture == "single_site"
    assert not plan.links


def test_more_stock_never_makes_it_dearer(base: Plan) -> None:
    scarce = planned(stock=96)
    assert cost(base) <= cost(scarce) * (1 + 1e-9)


def test_a_dearer_line_never_makes_it_cheaper(base: Plan) -> None:
    assert cost(planned(line_price="3000 USD/Gbps/month")) >= cost(base) * (1 - 1e-9)


def test_more_load_never_makes_it_cheaper(base: Plan) -> None:
    assert cost(planned(rate="9 req/s")) >= cost(base)
