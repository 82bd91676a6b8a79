"""The baseline of aggregated engines, as it stands in a plan."""

from __future__ import annotations

from pdd_plan.fleet.aggregated import cheapest_aggregated
from pdd_plan.fleet.goodput import GoodputResult
from pdd_plan.fleet.plan import Baseline, Latency, Pool
from pdd_plan.fleet.problem import Problem
from pdd_plan.studies.figures import cost_of, goodput_of, percentiles


def aggregated_baseline(problem: Problem, reference: float | None) -> Baseline:
    """The best fleet of engines that prefill and decode on the same chips, at one site."""
    fleet = cheapest_aggregated(problem)
    if fleet is None:
        return Baseline(
            name="aggregated",
            status="infeasible",
            cost=None,
            latency=None,
            goodput=None,
            bcr=None,
            pools=(),
            reason="no fleet of one kind of engine within stock keeps every limit this way",
        )
    cost = fleet.usd_per_hour
    per_cost = fleet.goodput_per_s / cost if cost > 0.0 else None
    ttft, tpot = percentiles(fleet.ttft), percentiles(fleet.tpot)
    assert ttft is not None
    assert tpot is not None
    return Baseline(
        name="aggregated",
        status="optimal",
        cost=cost_of(problem, cost, 0.0, fleet.goodput_per_s),
        latency=Latency(
            ttft_s=ttft,
            ttft_direct_s=ttft,
            ttft_relay_s=None,
            tpot_s=tpot,
            handoff_gap_s=None,
        ),
        goodput=goodput_of(problem, GoodputResult(fleet.goodput_per_s, "")),
        bcr=per_cost / reference if per_cost and reference else None,
        pools=(
            Pool(
                site=fleet.prefill.site,
                role="aggregated",
                chip=fleet.prefill.chip,
                shape=fleet.prefill.shape,
                engines=fleet.engines,
                chips=fleet.engines * fleet.prefill.chips_per_engine,
                utilization=fleet.utilization,
                bound_by=fleet.prefill.bound_by,
                usd_per_hour=fleet.engines * fleet.prefill.usd_per_engine_hour,
                usd_per_chip_hour=fleet.prefill.usd_per_engine_hour
                / fleet.prefill.chips_per_engine,
                chips_available=problem.stock[fleet.prefill.site, fleet.prefill.chip],
                slots_per_engine=fleet.decode.slots,
            ),
        ),
    )
