"""DeepSeek's production day, planned from its measured rates: sources in the module that plans."""

from __future__ import annotations

import pytest

from benchmarks.validation.production_day import busy_nodes, busy_usd, plan_of_the_day
from pdd_plan.fleet.plan import Plan

ROUNDING = 0.5 / 168 + 0.05 / 14.8  # of the published figures that decode rests on; 0.6 %


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of_the_day()


def test_nodes_busy_on_average(plan):
    """226.75 nodes: engines times their utilization is what the day keeps busy."""
    by_role = busy_nodes(plan)
    assert sum(by_role.values()) == pytest.approx(226.75, rel=ROUNDING)
    assert by_role["prefill"] == pytest.approx(608e9 / 86_400 / 73_700, rel=1e-6)
    assert by_role["decode"] == pytest.approx(168e9 / 86_400 / 14_800, rel=2e-3)


def test_cost_of_the_day(plan):
    """$87,072: the busy nodes at $2 per GPU-hour; whole engines cost more."""
    assert busy_usd(plan) == pytest.approx(87_072, rel=ROUNDING)
    assert plan.cost is not None
    assert plan.cost.usd_per_hour * 24 * 20 > busy_usd(plan)


def test_the_plan_holds_no_more_nodes_than_whole_ones(plan):
    """4.77 nodes of prefill and 6.57 of decode at work, so 5 and 7 in all."""
    assert plan.status == "optimal"
    assert {pool.role: pool.engines for pool in plan.pools} == {"prefill": 5, "decode": 7}
