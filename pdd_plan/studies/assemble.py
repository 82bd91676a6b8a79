"""Put a plan together from a candidate, its evaluation and its certificate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

import pdd_plan
from pdd_plan.fleet.build import BuiltProblem
from pdd_plan.fleet.evaluate import Evaluation
from pdd_plan.fleet.handoff import handoff_choices
from pdd_plan.fleet.laws import Law
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.plan import (
    Architecture,
    Baseline,
    Certificate,
    Cost,
    Handoff,
    Histogram,
    Infeasibility,
    Lane,
    Latency,
    Plan,
    PlanLink,
    Pool,
    RejectedShape,
    Routing,
    ScenarioId,
    Sensitivity,
    SloResult,
    TtftDistribution,
    WorkloadFacts,
)
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.scenario.schema import Scenario
from pdd_plan.studies.aggregated_baseline import aggregated_baseline
from pdd_plan.studies.explain import assumptions_of, binding_of, one_fewer, warnings_of
from pdd_plan.studies.figures import cost_of, demand_of, finite, goodput_of, percentiles

if TYPE_CHECKING:
    from pdd_plan.studies.planning import PlanOptions, Scored

CURVE_POINTS = 120
"""Points of the TTFT curves in a plan."""

PROOF = (
    "Optimal for the planning rule over the listed thresholds, flow steps, line sizes, engine "
    "shapes and slot waits: limits hold on every path in use, main decode is charged all output "
    "tokens, and steps take as long as at the working batch. Predictions are of the full model."
)


def assemble_plan(
    scenario: Scenario,
    built: BuiltProblem,
    model: PathModel,
    main: Scored,
    baselines: tuple[Scored, ...],
    options: PlanOptions,
    infeasibility: Infeasibility | None,
    sensitivity: tuple[Sensitivity, ...] | None = None,
) -> Plan:
    """Put the plan together.

    Parameters
    ----------
    main : Scored
        The answer.
    baselines : tuple of Scored
        The best of simpler kinds.
    infeasibility : Infeasibility or None
        Why there is no answer.
    sensitivity : tuple of Sensitivity, optional
        What changes would do; one engine fewer in each pool by default.

    Returns
    -------
    Plan
        Everything that reports show.
    """
    problem = built.problem
    reference = _reference(problem, baselines)
    demand = demand_of(problem)
    evaluation, candidate = main.evaluation, main.candidate
    found = candidate is not None and evaluation is not None
    return Plan(
        schema_version=1,
        tool_version=pdd_plan.__version__,
        scenario=ScenarioId(name=scenario.name, sha256=scenario.source.sha256),
        status=main.status,  # type: ignore[arg-type]
        cost=_cost(problem, main),
        slo=_slo(evaluation),
        latency=_latency(evaluation),
        routing=_routing(problem, main),
        pools=_pools(problem, main),
        links=_links(problem, main),
        lanes=_lanes(problem, main),
        goodput=goodput_of(problem, main.goodput),
        baselines=(
            *(_baseline(problem, one, reference) for one in baselines),
            *_aggregated(problem, reference[1]),
        ),
        bcr=_bcr(problem, main, reference[1]),
        certificate=_certificate(problem, main, options),
        sensitivity=_sensitivity(problem, model, candidate, sensitivity),
        binding=binding_of(problem, candidate, evaluation) if candidate and evaluation else (),
        warnings=warnings_of(built, main),
        assumptions=assumptions_of(scenario, built),
        bcr_reference=reference[0],
        architecture=architecture_of(problem, candidate) if found and candidate else None,
        currency=scenario.currency,
        command=options.command,
        model=built.model.title,
        precision=_precision(scenario),
        demand=demand,
        infeasibility=infeasibility,
        rejected_shapes=tuple(
            RejectedShape(site=r.site, chip=r.chip, shape=r.shape, reason=r.reason)
            for r in built.rejected
        ),
        workload=_workload(built),
        handoff=_handoff(model, candidate, evaluation),
        ttft_distribution=_curves(evaluation),
    )


def _aggregated(problem: Problem, reference: float | None) -> tuple[Baseline, ...]:
    """Aggregated engines, but where two prefill sites are the question."""
    if problem.routing_between == "prefill":
        return ()
    return (aggregated_baseline(problem, reference),)


def _sensitivity(
    problem: Problem,
    model: PathModel,
    candidate: Candidate | None,
    given: tuple[Sensitivity, ...] | None,
) -> tuple[Sensitivity, ...]:
    if given is not None or candidate is None:
        return given or ()
    return one_fewer(problem, model, candidate)


def architecture_of(problem: Problem, candidate: Candidate) -> Architecture:
    """Kind of a fleet: all inside one site, between sites, or with a relay."""
    open_lanes = [lane for lane, f in zip(problem.lanes, candidate.flows_per_s, strict=True) if f]
    if all(lane.local for lane in open_lanes):
        return "single_site"
    if problem.routing_between == "prefill":
        return "by_size" if any(lane.local for lane in open_lanes) else "cross_site"
    relayed = problem.relayed(candidate.threshold_index).any()
    return "pdd" if relayed else "cross_site"


def _reference(problem: Problem, baselines: tuple[Scored, ...]) -> tuple[str | None, float | None]:
    """Name of the first baseline with a goodput per cost, and that figure."""
    for one in baselines:
        value = _per_cost(problem, one)
        if value:
            return one.name, value
    return None, None


def _per_cost(problem: Problem, scored: Scored) -> float | None:
    if scored.candidate is None or scored.goodput is None:
        return None
    cost = scored.candidate.usd_per_hour(problem)
    return scored.goodput.requests_per_s / cost if cost > 0.0 else None


def _bcr(problem: Problem, scored: Scored, reference: float | None) -> float | None:
    value = _per_cost(problem, scored)
    return value / reference if value is not None and reference else None


def _cost(problem: Problem, scored: Scored) -> Cost | None:
    if scored.candidate is None:
        return None
    chips = scored.candidate.chips_usd_per_hour(problem)
    lines = scored.candidate.lines_usd_per_hour(problem)
    reached = scored.goodput.requests_per_s if scored.goodput else 0.0
    return cost_of(problem, chips, lines, reached)


def _slo(evaluation: Evaluation | None) -> tuple[SloResult, ...]:
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
        )
        for one in evaluation.limits
    )


def _latency(evaluation: Evaluation | None) -> Latency | None:
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


def _routing(problem: Problem, scored: Scored) -> Routing | None:
    candidate, evaluation = scored.candidate, scored.evaluation
    if candidate is None or evaluation is None:
        return None
    chips = [n * p.chips_per_engine for n, p in zip(candidate.engines, problem.pools, strict=True)]
    relay = sum(c for c, p in zip(chips, problem.pools, strict=True) if p.role == "relay")
    return Routing(
        by=problem.routing_by,  # type: ignore[arg-type]
        threshold=finite(float(problem.thresholds[candidate.threshold_index])),
        relay_request_fraction=evaluation.relay_request_fraction,
        relay_token_fraction=evaluation.relay_token_fraction,
        main_decode_token_fraction=1.0 - evaluation.relay_token_fraction,
        rld_chip_fraction=relay / sum(chips),
        slot_wait=candidate.slot_wait or None,
        between=problem.routing_between,  # type: ignore[arg-type]
        remote_request_fraction=_remote_share(problem, candidate),
    )


def _remote_share(problem: Problem, candidate: Candidate) -> float | None:
    if problem.routing_between != "prefill":
        return None
    pairs = zip(problem.lanes, candidate.flows_per_s, strict=True)
    return sum(flow for lane, flow in pairs if not lane.local) / sum(candidate.flows_per_s)


def _pools(problem: Problem, scored: Scored) -> tuple[Pool, ...]:
    candidate, evaluation = scored.candidate, scored.evaluation
    if candidate is None or evaluation is None:
        return ()
    total = sum(candidate.flows_per_s) * problem.peak_multiplier
    out = []
    for index, (engines, pool) in enumerate(zip(candidate.engines, problem.pools, strict=True)):
        if engines == 0:
            continue
        state = evaluation.pools[index]
        share = None if pool.role == "relay" else min(state.load_per_s / total, 1.0)
        out.append(
            Pool(
                site=pool.site,
                role=pool.role,
                chip=pool.chip,
                shape=pool.shape,
                engines=engines,
                chips=engines * pool.chips_per_engine,
                utilization=state.utilization,
                bound_by=pool.bound_by,
                usd_per_hour=engines * pool.usd_per_engine_hour,
                usd_per_chip_hour=pool.usd_per_engine_hour / pool.chips_per_engine,
                chips_available=problem.stock[pool.site, pool.chip],
                request_fraction=share,
                slots_per_engine=pool.slots or None,
                kv_memory_utilization=state.memory_utilization,
            )
        )
    return tuple(out)


def _links(problem: Problem, scored: Scored) -> tuple[PlanLink, ...]:
    if scored.candidate is None or scored.evaluation is None:
        return ()
    return tuple(
        PlanLink(
            from_site=lane.source,
            to_site=lane.target,
            gbps=float(lane.bytes_per_s[level]) * 8e-9,
            utilization=use,
            usd_per_hour=float(lane.usd_per_hour[level]),
            max_gbps=float(lane.bytes_per_s[-1]) * 8e-9,
            traffic_gbps=use * float(lane.bytes_per_s[level]) * lane.efficiency * 8e-9,
        )
        for lane, level, use in zip(
            problem.lanes,
            scored.candidate.levels,
            scored.evaluation.lane_utilization,
            strict=True,
        )
        if level >= 0 and not lane.local
    )


def _lanes(problem: Problem, scored: Scored) -> tuple[Lane, ...]:
    if scored.candidate is None:
        return ()
    total = sum(scored.candidate.flows_per_s)
    return tuple(
        Lane(from_site=lane.source, to_site=lane.target, share=flow / total)
        for lane, flow in zip(problem.lanes, scored.candidate.flows_per_s, strict=True)
        if flow > 0.0
    )


def _baseline(
    problem: Problem, scored: Scored, reference: tuple[str | None, float | None]
) -> Baseline:
    certificate = scored.certificate
    problem = scored.problem or problem
    return Baseline(
        name=scored.name,
        status="infeasible" if scored.candidate is None else scored.status,  # type: ignore[arg-type]
        cost=_cost(problem, scored),
        latency=_latency(scored.evaluation),
        goodput=goodput_of(problem, scored.goodput),
        bcr=_bcr(problem, scored, reference[1]),
        pools=_pools(problem, scored),
        links=_links(problem, scored),
        lanes=_lanes(problem, scored),
        routing=_routing(problem, scored),
        gap=finite(certificate.gap) if certificate else None,
        reason=scored.reason or None,
    )


def _certificate(problem: Problem, scored: Scored, options: PlanOptions) -> Certificate | None:
    found = scored.certificate
    if found is None:
        return None
    cost = scored.candidate.usd_per_hour(problem) if scored.candidate else None
    evaluation = scored.evaluation
    return Certificate(
        lower_bound_usd_per_hour=finite(found.lower_bound_usd_per_hour),
        gap=finite(found.gap),
        cuts=found.cuts,
        evaluations=found.evaluations,
        solver=found.solver,
        solve_time_s=found.solve_time_s,
        model=scored.proof.text if scored.proof else PROOF,
        objective=scored.proof.objective if scored.proof else "cost_per_token",
        objective_value=scored.proof.value if scored.proof else cost,
        objective_bound=finite(
            scored.proof.bound if scored.proof else found.lower_bound_usd_per_hour
        ),
        thresholds=int(problem.thresholds.size),
        flow_steps=problem.load_steps,
        time_limit_s=options.time_limit_s,
        recomputed_usd_per_hour=cost,
        recomputed_slo_met=all(one.met for one in evaluation.limits) if evaluation else None,
    )


def _precision(scenario: Scenario) -> str:
    given = scenario.precision
    experts = f", experts {given.experts}" if given.experts else ""
    return f"weights {given.weights}{experts}, KV cache {given.kv_cache}"


def _workload(built: BuiltProblem) -> WorkloadFacts:
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


def _extend_share(
    problem: Problem, candidate: Candidate, evaluation: Evaluation, extend_s: float
) -> float:
    """Share of main decode's engine time that recomputing relayed tokens takes, at the peak."""
    engines = sum(
        n for n, pool in zip(candidate.engines, problem.pools, strict=True) if pool.role == "decode"
    )
    rate = sum(candidate.flows_per_s) * problem.peak_multiplier
    return rate * evaluation.relay_request_fraction * extend_s / engines


def _handoff(
    model: PathModel, candidate: Candidate | None, evaluation: Evaluation | None
) -> Handoff | None:
    problem = model.problem
    if candidate is None or evaluation is None or evaluation.relay_request_fraction <= 0.0:
        return None
    choices = handoff_choices(model, candidate, evaluation.flows)
    tokens = problem.atoms.mean(problem.atoms.output_tokens)
    return Handoff(
        mode=evaluation.handoff_mode,  # type: ignore[arg-type]
        mean_tokens=evaluation.relay_tokens,
        extra_relay_token_fraction=(
            max(choices.extra_relay_tokens, 0.0) * evaluation.relay_request_fraction / tokens
            if choices
            else None
        ),
        extra_main_decode_work_fraction=(
            _extend_share(problem, candidate, evaluation, choices.extend_s) if choices else None
        ),
        one_shot_gap_s=percentiles(choices.one_shot_gap) if choices else None,
        catch_up_gap_s=percentiles(choices.catch_up_gap) if choices else None,
        kv_push_gap_s=percentiles(choices.kv_push_gap) if choices else None,
    )


def _curves(evaluation: Evaluation | None) -> TtftDistribution | None:
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
