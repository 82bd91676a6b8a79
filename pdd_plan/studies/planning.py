"""Plan a scenario: search, baselines, evaluation, explanation; the answer is a `Plan`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pdd_plan.errors import InputError, SolverError, UnstableQueueError
from pdd_plan.fleet.build import build_problem
from pdd_plan.fleet.evaluate import Evaluation, evaluate
from pdd_plan.fleet.goodput import goodput
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.plan import Plan, Resilience
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.scenario.schema import Scenario
from pdd_plan.studies.assemble import assemble_plan
from pdd_plan.studies.baselines import cheapest_baselines
from pdd_plan.studies.given import candidate_of_plan
from pdd_plan.studies.objectives import plan_objective
from pdd_plan.studies.outage_specs import OutageSpec, outages_of
from pdd_plan.studies.outages import outage_model, outage_result
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.possible import require_possible
from pdd_plan.studies.resilience import plan_resilient
from pdd_plan.studies.resilience_cases import Tolerance
from pdd_plan.studies.scored import Scored, scored_plan
from pdd_plan.studies.searching import NO_PLAN, search_plan, why_infeasible
from pdd_plan.studies.size_routing import evaluate_plan_by_size, plan_by_size
from pdd_plan.studies.tie_break import break_tie


def plan_scenario(scenario: Scenario, options: PlanOptions | None = None) -> Plan:
    """Plan the best fleet that serves a scenario within its limits, by the scenario's objective.

    Parameters
    ----------
    scenario : Scenario
        As loaded.
    options : PlanOptions, optional
        Time limit, solver and progress.

    Returns
    -------
    Plan
        With status ``optimal``, ``feasible`` or ``infeasible``.

    Raises
    ------
    InputError
        If the scenario cannot be built, or a limit cannot be met by any number of engines.
    SolverError
        If the solver fails, or finds nothing in time.
    """
    options = options or PlanOptions()
    if scenario.routing.between == "prefill":
        return plan_by_size(scenario, options)
    if scenario.objective != "cost_per_token":
        return plan_objective(scenario, options)
    built = build_problem(scenario)
    require_rate(scenario, built.problem)
    problem, model = built.problem, PathModel(built.problem)
    require_possible(scenario, built, model)
    if not scenario.tolerate.nothing:
        return plan_resilient(scenario, built, model, options)
    options.tell("searching for the plan")
    result = search_plan(problem, options, model, budget=scenario.budget_usd_per_hour)
    if result.status == "unknown":
        within = "" if scenario.budget_usd_per_hour is None else " within the budget"
        raise SolverError(
            f"no plan{within} was found in {options.time_limit_s:g} s, and none was ruled out; "
            "allow more time with --time-limit"
        )
    main = scored_plan("plan", problem, model, result)
    if scenario.tie_break is not None:
        main = _tie_broken(scenario.tie_break, main, problem, model, options)
    baselines = cheapest_baselines(problem, model, options, main)
    infeasibility = None
    if result.candidate is None:
        infeasibility = (
            why_infeasible(scenario, built, model, options) if options.whole else NO_PLAN
        )
    return assemble_plan(scenario, built, model, main, baselines, options, infeasibility)


def evaluate_plan(
    scenario: Scenario,
    plan: Plan,
    options: PlanOptions | None = None,
    outages: Sequence[OutageSpec] = (),
) -> Plan:
    """Score the fleet of a plan under a scenario, without optimizing anything but the baselines.

    Parameters
    ----------
    scenario : Scenario
        As loaded.
    plan : Plan
        Fleet: its pools, links, lanes and threshold.
    options : PlanOptions, optional
        As for planning.
    outages : sequence of OutageSpec
        What to lose beside what the scenario tolerates, one at a time; ``resilience`` of the
        answer says what users then see.

    Returns
    -------
    Plan
        With the certificate left out.

    Raises
    ------
    InputError
        If the plan has pools or links that the scenario does not offer, or cannot carry the load.
    """
    options = options or PlanOptions()
    if scenario.routing.between == "prefill":
        if outages:
            raise InputError(
                scenario.source.issue(
                    "routing.between",
                    "routing.between = prefill can be evaluated, but not with a part lost",
                    "leave --fail out",
                )
            )
        return evaluate_plan_by_size(scenario, plan, options)
    built = build_problem(scenario)
    require_rate(scenario, built.problem)
    problem, candidate = candidate_of_plan(scenario, built, plan)
    tolerance = Tolerance.of(scenario)
    lost = outages_of(problem, candidate, (*tolerance.specs, *outages))
    built = replace(built, problem=problem)
    model = PathModel(problem)
    evaluation = require_carried(scenario, candidate, model)
    main = Scored(
        "plan", "feasible", candidate, evaluation, goodput(problem, candidate, model), None
    )
    baselines = cheapest_baselines(problem, model, options, main)
    scored = assemble_plan(scenario, built, model, main, baselines, options, None)
    if not lost:
        return scored
    options.tell("losing parts of the fleet")
    left = outage_model(model, tolerance.limits)
    results = tuple(outage_result(left, candidate, outage) for outage in lost)
    return scored.model_copy(update={"resilience": Resilience(outages=results)})


def require_carried(scenario: Scenario, candidate: Candidate, model: PathModel) -> Evaluation:
    """Evaluate a fleet that was given, or refuse one that cannot carry its load.

    Raises
    ------
    InputError
        If the queues have no steady state.
    """
    problem = model.problem
    try:
        return evaluate(problem, candidate, model)
    except UnstableQueueError as error:
        raise InputError(
            scenario.source.issue(
                "workload.rate",
                f"the fleet of the plan cannot carry {problem.arrival_rate_per_s:g} req/s: {error}",
                f"lower the rate: it carries about "
                f"{goodput(problem, candidate, model).requests_per_s:.3g} req/s within its limits",
            )
        ) from error


def require_rate(scenario: Scenario, problem: Problem) -> None:
    """Refuse a workload without a rate.

    Raises
    ------
    InputError
        If there is none.
    """
    if problem.arrival_rate_per_s <= 0.0:
        raise InputError(
            scenario.source.issue(
                "workload", "no arrival rate is given", "add rate: 12 req/s to the workload"
            )
        )


def _tie_broken(
    key: str, main: Scored, problem: Problem, model: PathModel, options: PlanOptions
) -> Scored:
    """Of all plans of the least cost, the one of the least percentile of TTFT."""
    if main.candidate is None:
        return main
    options.tell(f"comparing plans of this cost by {key}")
    tie = break_tie(problem, main.candidate, key, options.search_options())
    if tie is None or tie.candidate == main.candidate:
        return replace(main, tie=tie)
    return replace(
        main,
        candidate=tie.candidate,
        evaluation=evaluate(problem, tie.candidate, model),
        goodput=goodput(problem, tie.candidate, model),
        tie=tie,
    )
