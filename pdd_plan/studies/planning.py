"""Plan a scenario: search, baselines, evaluation, explanation; the answer is a `Plan`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pdd_plan.errors import InputError, SolverError, UnstableQueueError
from pdd_plan.fleet.build import BuiltProblem, build_problem
from pdd_plan.fleet.evaluate import Evaluation, evaluate
from pdd_plan.fleet.goodput import GoodputResult, goodput
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.plan import Infeasibility, Plan, Resilience
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.fleet.stability import shortfall
from pdd_plan.optimizer.search import Certificate, Scope, SearchOptions, SearchResult, search
from pdd_plan.scenario.schema import Scenario
from pdd_plan.studies.assemble import assemble_plan
from pdd_plan.studies.given import candidate_of_plan
from pdd_plan.studies.infeasible import explain_infeasible, explain_over_budget
from pdd_plan.studies.objectives import ObjectiveProof, plan_objective
from pdd_plan.studies.outage_specs import OutageSpec, outages_of
from pdd_plan.studies.outages import outage_model, outage_result
from pdd_plan.studies.possible import require_possible
from pdd_plan.studies.rates import BUDGET_SLACK
from pdd_plan.studies.resilience import plan_resilient
from pdd_plan.studies.resilience_cases import Tolerance
from pdd_plan.studies.size_routing import evaluate_plan_by_size, plan_by_size
from pdd_plan.studies.tie_break import TieBreak, break_tie

NOT_IN_TIME = "none was found in the time limit"
"""Why a baseline that was not ruled out is missing."""
NO_PLAN = Infeasibility(reason="no fleet of the stock keeps every limit")
"""What is said where nobody asked what would mend it."""


@dataclass(frozen=True)
class PlanOptions:
    """How to plan.

    Attributes
    ----------
    time_limit_s : float
        Time limit of the search for the plan [s]; each baseline gets as much again at most.
    solver : {"highs", "cbc"}
        MILP solver.
    seed : int
        Seed of random choices; planning makes none.
    jobs : int
        Processes; one plan uses one.
    progress : callable, optional
        Told in words what is being done.
    command : str
        Command line that makes the plan again.
    whole : bool
        Plan simpler fleets beside it and, where there is no plan, look for what would mend that.
    """

    time_limit_s: float = 60.0
    solver: Literal["highs", "cbc"] = "highs"
    seed: int = 0
    jobs: int = 1
    progress: Callable[..., None] | None = None
    command: str = ""
    whole: bool = True

    def search_options(self) -> SearchOptions:
        """The options of the optimizer."""
        return SearchOptions(self.time_limit_s, self.solver, self.progress)


@dataclass(frozen=True)
class Scored:
    """A candidate with its evaluation, goodput and certificate.

    Where the load itself was planned, ``problem`` is the problem at that load, and ``proof`` says
    what was maximized; ``tie`` says how the plan was chosen among those of its cost, and
    ``unproven`` why it may not be the best.
    """

    name: str
    status: str
    candidate: Candidate | None
    evaluation: Evaluation | None
    goodput: GoodputResult | None
    certificate: Certificate | None
    reason: str = ""
    problem: Problem | None = None
    proof: ObjectiveProof | None = None
    tie: TieBreak | None = None
    unproven: str = "the time limit ended the search"


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
    _tell(options, "searching for the plan")
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
    _tell(options, "losing parts of the fleet")
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


def _tell(options: PlanOptions, text: str) -> None:
    if options.progress is not None:
        options.progress(text)


def search_plan(
    problem: Problem,
    options: PlanOptions,
    model: PathModel,
    scope: Scope | None = None,
    budget: float | None = None,
) -> SearchResult:
    """Search, within a budget where one is given, unless the stock cannot even be stable."""
    if shortfall(problem):
        impossible = Certificate(math.inf, math.inf, 0, 0, 0, 0, options.solver, 0.0)
        return SearchResult(None, math.inf, impossible)
    return search(problem, _within(options, budget), model, scope)


def _within(options: PlanOptions, budget: float | None) -> SearchOptions:
    """The options of the optimizer, for plans that cost no more than a budget."""
    below = math.inf if budget is None else budget * BUDGET_SLACK
    return replace(options.search_options(), below_usd_per_hour=below)


def _tie_broken(
    key: str, main: Scored, problem: Problem, model: PathModel, options: PlanOptions
) -> Scored:
    """Of all plans of the least cost, the one of the least percentile of TTFT."""
    if main.candidate is None:
        return main
    _tell(options, f"comparing plans of this cost by {key}")
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


def why_infeasible(
    scenario: Scenario, built: BuiltProblem, model: PathModel, options: PlanOptions
) -> Infeasibility:
    """What stands in the way: the budget where a dearer fleet would do, else stock or limits."""
    _tell(options, "looking for the smallest change that makes it feasible")
    budget = scenario.budget_usd_per_hour
    if budget is not None:
        dearer = search_plan(built.problem, options, model)
        if dearer.candidate is not None:
            within = _within(options, budget)
            return explain_over_budget(scenario, built, within, dearer.usd_per_hour)
    return explain_infeasible(scenario, built, options.search_options())


def scored_plan(name: str, problem: Problem, model: PathModel, result: SearchResult) -> Scored:
    """What a search found, with its evaluation and goodput."""
    if result.candidate is None:
        return Scored(name, "infeasible", None, None, None, result.certificate)
    return Scored(
        name,
        result.status,
        result.candidate,
        evaluate(problem, result.candidate, model),
        goodput(problem, result.candidate, model),
        result.certificate,
    )


def cheapest_baselines(
    problem: Problem, model: PathModel, options: PlanOptions, main: Scored
) -> tuple[Scored, ...]:
    """Single site, cross site and PDD, by the same search over a part of the problem."""

    def solve(name: str, scope: Scope) -> Scored:
        result = search_plan(problem, options, model, scope)
        found = scored_plan(name, problem, model, result)
        if result.status == "unknown":
            found = replace(found, reason=NOT_IN_TIME)
        return found

    return baselines_by(problem, options, main, solve)


def baselines_by(
    problem: Problem,
    options: PlanOptions,
    main: Scored,
    solve: Callable[[str, Scope], Scored],
) -> tuple[Scored, ...]:
    """Single site, cross site and PDD, by any search over a part of the problem."""
    if not options.whole:
        return ()
    out = []
    for name, scope in baseline_scopes(problem):
        _tell(options, f"baseline {name}")
        found = _same(problem, main, scope) or solve(name, scope)
        if found.status == "infeasible" and not found.reason:
            found = replace(found, reason=why_no_baseline(problem, scope))
        out.append(replace(found, name=name))
    return tuple(out)


def baseline_scopes(problem: Problem) -> tuple[tuple[str, Scope], ...]:
    """Parts of a problem that are searched for the baselines, by the baseline's name."""
    local = frozenset(i for i, lane in enumerate(problem.lanes) if lane.local)
    lines = frozenset(i for i, lane in enumerate(problem.lanes) if not lane.local)
    return (
        ("single_site", Scope(local, (0,))),
        ("cross_site", Scope(lines, (0,))),
        ("pdd", Scope(lines)),
    )


def _same(problem: Problem, main: Scored, scope: Scope) -> Scored | None:
    """The plan itself, where the search over the part could not find anything else."""
    if main.candidate is None or main.certificate is None or main.status != "optimal":
        return None
    return main if best_of_part(problem, main.candidate, scope) else None


def best_of_part(problem: Problem, optimum: Candidate, scope: Scope) -> bool:
    """Whether the best of all candidates is also that of a part of the problem."""
    lanes = scope.lanes_of(problem)
    open_lanes = {i for i, flow in enumerate(optimum.flows_per_s) if flow > 0.0}
    planned = Scope().lanes_of(problem)
    inside = open_lanes <= lanes and lanes <= planned
    return inside and optimum.threshold_index in scope.thresholds_of(problem)


def why_no_baseline(problem: Problem, scope: Scope) -> str:
    """Say why no fleet of a simpler kind was found."""
    lanes = scope.lanes_of(problem)
    if not lanes:
        return "the scenario has no such lane"
    chips = ", ".join(f"{n} {chip} at {site}" for (site, chip), n in problem.stock.items())
    return f"no fleet of the stock ({chips}) keeps every limit this way"
