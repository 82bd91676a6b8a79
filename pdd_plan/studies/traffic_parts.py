"""What a plan says of its traffic: limits, latencies, classes and regions, and the load itself."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from pdd_plan.fleet.build import BuiltProblem
from pdd_plan.fleet.evaluate import Evaluation
from pdd_plan.fleet.groups import GroupLaws
from pdd_plan.fleet.laws import Law
from pdd_plan.fleet.plan import (
    Histogram,
    Latency,
    SloResult,
    TrafficGroup,
    TtftDistribution,
    WorkloadFacts,
)
from pdd_plan.studies.figures import finite, percentiles

CURVE_POINTS = 120
"""Points of the TTFT curves in a plan."""


def slo_of(evaluation: Evaluation | None) -> tuple[SloResult, ...]:
    """Every limit, what is predicted of it and whether that is met."""
    if evaluation is None:
        return ()
    return tuple(
        SloResult(
            metric=one.limit.metric,
            percentile=one.limit.percentile / 100.0 or None,
            limit=one.limit.limit_s,
            predicted=finite(one.predicted_s),
            met=one.met,
            fraction_within=min(max(one.within, 0.0), 1.0),
            traffic=one.limit.traffic or None,
            region=one.limit.region or None,
        )
        for one in evaluation.limits
    )


def latency_of(evaluation: Evaluation | None) -> Latency | None:
    """Percentiles of every latency, over all requests and by route."""
    if evaluation is None:
        return None
    overall, tpot = percentiles(evaluation.ttft), percentiles(evaluation.tpot)
    assert overall is not None
    assert tpot is not None
    return Latency(
        ttft_s=overall,
        ttft_direct_s=percentiles(evaluation.ttft_direct),
        ttft_relay_s=percentiles(evaluation.ttft_relay),
        tpot_s=tpot,
        handoff_gap_s=percentiles(evaluation.handoff_gap),
        e2e_s=percentiles(evaluation.e2e),
        ttft_home_s=percentiles(evaluation.ttft_home),
        ttft_remote_s=percentiles(evaluation.ttft_remote),
    )


def groups_of(laws: Mapping[str, GroupLaws]) -> tuple[TrafficGroup, ...]:
    """Latencies of groups of requests."""
    out = []
    for name, group in laws.items():
        ttft, tpot, e2e = (percentiles(law) for law in (group.ttft, group.tpot, group.e2e))
        assert ttft is not None
        assert tpot is not None
        assert e2e is not None
        out.append(
            TrafficGroup(
                name=name,
                request_fraction=group.share,
                ttft_s=ttft,
                tpot_s=tpot,
                e2e_s=e2e,
                handoff_gap_s=percentiles(group.handoff_gap),
            )
        )
    return tuple(out)


def workload_of(built: BuiltProblem) -> WorkloadFacts:
    """What the traffic is like: counts, means and the distribution of hit rates."""
    summary, atoms = built.workload.summary, built.problem.atoms
    return WorkloadFacts(
        source=built.workload.source,
        requests=summary.requests or None,
        atoms=len(atoms),
        mean_input_tokens=atoms.mean(atoms.input_tokens),
        mean_uncached_tokens=atoms.mean(atoms.uncached_tokens),
        mean_output_tokens=atoms.mean(atoms.output_tokens),
        mean_hit_rate=min(summary.mean_hit_rate, 1.0),
        share_hit_95=min(summary.share_hit_95, 1.0),
        blocks_reused_fraction=summary.blocks_reused_share,
        arrival_scv=built.problem.arrival_scv,
        hit_rate=Histogram(
            edges=tuple(summary.hit_bin_edges), weights=tuple(summary.hit_bin_shares)
        ),
    )


def curves_of(evaluation: Evaluation | None) -> TtftDistribution | None:
    """P(TTFT <= time) over a grid of times, of all requests and by route."""
    if evaluation is None:
        return None
    end = evaluation.ttft.quantile(0.995)
    if not math.isfinite(end):
        end = evaluation.ttft.step_s * evaluation.ttft.masses.size
    limits = [one.limit.limit_s for one in evaluation.limits if one.limit.metric == "ttft"]
    times = np.linspace(0.0, max([end, *(1.1 * limit for limit in limits)]), CURVE_POINTS)

    def curve(law: Law | None) -> tuple[float, ...] | None:
        if law is None:
            return None
        return tuple(np.clip(law.curve(times), 0.0, 1.0).round(6).tolist())

    overall = curve(evaluation.ttft)
    assert overall is not None
    return TtftDistribution(
        time_s=tuple(times.round(6).tolist()),
        overall=overall,
        direct=curve(evaluation.ttft_direct),
        relay=curve(evaluation.ttft_relay),
    )
