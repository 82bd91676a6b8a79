"""Put a plan together from a candidate, its evaluation and its certificate."""

from __future__ import annotations

import pdd_plan
from pdd_plan.fleet.build import BuiltProblem
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.plan import (
    Architecture,
    Baseline,
    Certificate,
    Cost,
    Infeasibility,
    Plan,
    RejectedShape,
    ScenarioId,
    Sensitivity,
    TieBreak,
)
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.scenario.schema import Scenario
from pdd_plan.studies.aggregated_baseline import aggregated_baseline
from pdd_plan.studies.explain import assumptions_of, binding_of, one_fewer, warnings_of
from pdd_plan.studies.figures import cost_of, demand_of, finite, goodput_of
from pdd_plan.studies.fleet_parts import (
    handoff_of,
    lanes_of,
    links_of,
    paid_chips_of,
    pools_of,
    routing_of,
)
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.scored import Scored
from pdd_plan.studies.traffic_parts import curves_of, groups_of, latency_of, slo_of, workload_of

PROOF = (
    "Optimal for the planning rule over the listed thresholds, flow steps, line sizes, engine "
    "shapes and slot waits: limits hold on every path in use, main decode is charged all output "
    "tokens, and steps take as long as at the working batch. Predictions are of the full model."
)

PROOF_OF_NONE = (
    "No fleet keeps the planning rule over the listed thresholds, flow steps, line sizes, engine "
    "shapes and slot waits: limits on every path in use, with all output tokens charged to main "
    "decode and steps that take as long as at the working batch."
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
        slo=slo_of(evaluation),
        latency=latency_of(evaluation),
        routing=routing_of(problem, main),
        pools=pools_of(problem, main),
        links=links_of(problem, main),
        lanes=lanes_of(problem, candidate),
        goodput=goodput_of(problem, main.goodput),
        baselines=(
            *(_baseline(problem, one, reference) for one in baselines),
            *(_aggregated(problem, reference[1]) if options.whole else ()),
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
        workload=workload_of(built),
        handoff=handoff_of(model, candidate, evaluation),
        ttft_distribution=curves_of(evaluation),
        paid_chips=paid_chips_of(problem, candidate),
        classes=groups_of(evaluation.by_class) if evaluation else (),
        regions=groups_of(evaluation.by_region) if evaluation else (),
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


def _baseline(
    problem: Problem, scored: Scored, reference: tuple[str | None, float | None]
) -> Baseline:
    certificate = scored.certificate
    problem = scored.problem or problem
    return Baseline(
        name=scored.name,
        status="infeasible" if scored.candidate is None else scored.status,  # type: ignore[arg-type]
        cost=_cost(problem, scored),
        latency=latency_of(scored.evaluation),
        goodput=goodput_of(problem, scored.goodput),
        bcr=_bcr(problem, scored, reference[1]),
        pools=pools_of(problem, scored),
        links=links_of(problem, scored),
        lanes=lanes_of(problem, scored.candidate),
        routing=routing_of(problem, scored),
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
        model=scored.proof.text if scored.proof else (PROOF if scored.candidate else PROOF_OF_NONE),
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
        tie_break=_tie_break(scored),
    )


def _tie_break(scored: Scored) -> TieBreak | None:
    tie = scored.tie
    if tie is None:
        return None
    return TieBreak(
        by=tie.key,
        predicted_s=finite(tie.value_s),
        excluded_s=tie.excluded_s,
        promised_s=tie.promised_s,
        plans=tie.plans,
    )


def _precision(scenario: Scenario) -> str:
    given = scenario.precision
    experts = f", experts {given.experts}" if given.experts else ""
    return f"weights {given.weights}{experts}, KV cache {given.kv_cache}"
