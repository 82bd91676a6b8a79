"""Plan several services on one fleet; the answer is a `SharedPlan`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pdd_plan.errors import InputError, Issue, SolverError
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate
from pdd_plan.fleet.shared import BuiltServices, SharedProblem, build_shared
from pdd_plan.fleet.shared_plan import AnyPlan, SharedPlan
from pdd_plan.optimizer.search import Scope
from pdd_plan.optimizer.shared import search_shared
from pdd_plan.optimizer.shared_results import SharedResult
from pdd_plan.scenario import Question
from pdd_plan.scenario.services import SharedScenario, naming
from pdd_plan.studies.baselines import NOT_IN_TIME, baseline_scopes, best_of_part, why_no_baseline
from pdd_plan.studies.given import candidate_of_plan
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.planning import plan_scenario, require_carried, require_rate
from pdd_plan.studies.possible import require_possible
from pdd_plan.studies.searching import NO_PLAN
from pdd_plan.studies.services_assemble import assemble_shared, infeasible_shared
from pdd_plan.studies.services_infeasible import explain_shared
from pdd_plan.studies.services_scored import SharedScored
from pdd_plan.units import nearest


def plan_question(question: Question, options: PlanOptions | None = None) -> AnyPlan:
    """Plan a scenario of one service or of several; raises as either does.

    Parameters
    ----------
    question : Scenario or SharedScenario
        As loaded.
    options : PlanOptions, optional
        As for planning.

    Returns
    -------
    Plan or SharedPlan
    """
    if isinstance(question, SharedScenario):
        return plan_services(question, options)
    return plan_scenario(question, options)


def plan_services(scenario: SharedScenario, options: PlanOptions | None = None) -> SharedPlan:
    """Plan the cheapest fleet on which every service keeps its limits.

    Parameters
    ----------
    scenario : SharedScenario
        As loaded.
    options : PlanOptions, optional
        Time limit, solver and progress; the time limit is that of all services together.

    Returns
    -------
    SharedPlan
        With status ``optimal``, ``feasible`` or ``infeasible``.

    Raises
    ------
    InputError
        If a service cannot be built, or a limit cannot be met by any number of engines.
    SolverError
        If the solver fails, or finds nothing in time.
    """
    options = options or PlanOptions()
    services = build_shared(scenario)
    _check(scenario, services)
    result = search_shared(services.problem, services.models, options.search_options())
    if result.status == "unknown":
        raise SolverError(
            f"no plan was found in {options.time_limit_s:g} s, and none was ruled out; "
            "allow more time with --time-limit"
        )
    if result.candidates is None:
        why = explain_shared(scenario, services, result, options) if options.whole else NO_PLAN
        return infeasible_shared(scenario, services, options, result, why)
    main = SharedScored("plan", result.status, services, result.candidates, result.gap)
    baselines = _baselines(services, main, options)
    return assemble_shared(scenario, main, baselines, options, result)


def evaluate_services(
    scenario: SharedScenario, plan: SharedPlan, options: PlanOptions | None = None
) -> SharedPlan:
    """Score the fleets of a plan under a scenario, without optimizing but the baselines.

    Parameters
    ----------
    scenario : SharedScenario
        As loaded.
    plan : SharedPlan
        Fleet of every service.
    options : PlanOptions, optional
        As for planning.

    Returns
    -------
    SharedPlan
        With the certificate left out; its warnings say of what it takes more than there is.

    Raises
    ------
    InputError
        If the services are not those of the scenario, have pools or links that it does not offer,
        or cannot carry their load.
    """
    options = options or PlanOptions()
    require_same_services(scenario, plan)
    services = build_shared(scenario)
    given, candidates = _given(scenario, services, plan)
    main = SharedScored("plan", "feasible", given, candidates)
    baselines = _baselines(services, main, options)
    return assemble_shared(scenario, main, baselines, options, None)


def require_same_services(scenario: SharedScenario, plan: SharedPlan) -> None:
    """Refuse a plan of other services than a scenario's.

    Raises
    ------
    InputError
        Naming every service that only one of them has.
    """
    if plan.status == "infeasible":
        raise InputError(
            Issue("the plan holds no fleet: it is infeasible", help="give a plan with pools")
        )
    issues = [
        scenario.source.issue(
            f"services.{name}",
            f"the plan has no service {name}",
            f"it has {', '.join(plan.services)}",
        )
        for name in scenario.services
        if name not in plan.services
    ]
    for name in plan.services:
        if name not in scenario.services:
            near = nearest(name, list(scenario.services))
            known = f"did you mean {near}?" if near else f"it has {', '.join(scenario.services)}"
            issues.append(
                scenario.source.issue(
                    "services", f"the plan has a service {name}, which the scenario lacks", known
                )
            )
    if issues:
        raise InputError(issues)


def _given(
    scenario: SharedScenario, services: BuiltServices, plan: SharedPlan
) -> tuple[BuiltServices, tuple[Candidate, ...]]:
    """The services with the plan's thresholds and line sizes, and its fleets as candidates."""
    models: list[PathModel] = []
    candidates: list[Candidate] = []
    issues: list[Issue] = []
    for name, built in services.built.items():
        try:
            with naming(name):
                alone = scenario.scenarios[name]
                problem, candidate = candidate_of_plan(alone, built, plan.services[name])
                model = PathModel(problem)
                require_carried(alone, candidate, model)
        except InputError as error:
            issues += error.issues
            continue
        models.append(model)
        candidates.append(candidate)
    if issues:
        raise InputError(issues)
    shared = replace(services.problem, problems=tuple(model.problem for model in models))
    return replace(services, problem=shared, models=tuple(models)), tuple(candidates)


def _check(scenario: SharedScenario, services: BuiltServices) -> None:
    """Refuse limits that no fleet can keep, of all services at once."""
    issues: list[Issue] = []
    for (name, built), model in zip(services.built.items(), services.models, strict=True):
        alone = scenario.scenarios[name]
        try:
            with naming(name):
                require_rate(alone, built.problem)
                require_possible(alone, built, model)
        except InputError as error:
            issues += error.issues
    if issues:
        raise InputError(issues)


def _baselines(
    services: BuiltServices, main: SharedScored, options: PlanOptions
) -> tuple[SharedScored, ...]:
    """All services single site, cross site and PDD, each kind at least cost together."""
    problem = services.problem
    if not options.whole:
        return ()
    kinds = [baseline_scopes(one) for one in problem.problems]
    out = []
    for parts in zip(*kinds, strict=True):
        name, scopes = parts[0][0], [scope for _, scope in parts]
        options.tell(f"baseline {name}")
        if main.status == "optimal" and _best_of_parts(problem, main, scopes):
            out.append(replace(main, name=name))
            continue
        quiet = replace(options.search_options(), progress=None)
        result = search_shared(problem, services.models, quiet, scopes)
        status = "infeasible" if result.candidates is None else result.status
        reason = _why_not(problem, result, scopes)
        gap = result.gap if result.candidates else None
        out.append(SharedScored(name, status, services, result.candidates, gap, reason))
    return tuple(out)


def _best_of_parts(problem: SharedProblem, main: SharedScored, scopes: Sequence[Scope]) -> bool:
    assert main.candidates is not None
    return all(map(best_of_part, problem.problems, main.candidates, scopes))


def _why_not(problem: SharedProblem, result: SharedResult, scopes: Sequence[Scope]) -> str:
    if result.candidates is not None:
        return ""
    if result.status == "unknown":
        return NOT_IN_TIME
    parts = zip(problem.names, problem.problems, scopes, result.alone, strict=True)
    alone = [f"{name}: {why_no_baseline(one, scope)}" for name, one, scope, ok in parts if not ok]
    return "; ".join(alone) or (
        "each service has such a fleet, but together they take more chips or bandwidth than "
        "there is"
    )
