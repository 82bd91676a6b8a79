"""Plans of most goodput, for the stock or a budget, and of most goodput per cost."""

from __future__ import annotations

import math
from dataclasses import replace

from pdd_plan.errors import SolverError
from pdd_plan.fleet.build import BuiltProblem, build_problem
from pdd_plan.fleet.evaluate import evaluate
from pdd_plan.fleet.goodput import goodput
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.plan import Infeasibility, Plan
from pdd_plan.fleet.problem import Problem
from pdd_plan.optimizer.search import OPTIMAL_GAP, Certificate, Scope
from pdd_plan.scenario.schema import Scenario
from pdd_plan.studies.assemble import PROOF, assemble_plan
from pdd_plan.studies.baselines import NOT_IN_TIME, baselines_by
from pdd_plan.studies.infeasible import explain_infeasible
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.possible import require_possible
from pdd_plan.studies.rates import PRECISION, RateResult, Rates, largest_rate
from pdd_plan.studies.ratios import best_ratio
from pdd_plan.studies.scored import ObjectiveProof, Scored
from pdd_plan.studies.searching import NO_PLAN

PER_HOUR = 3600.0


def plan_objective(scenario: Scenario, options: PlanOptions) -> Plan:
    """Plan the fleet of most goodput, or of most goodput per cost.

    Parameters
    ----------
    scenario : Scenario
        As loaded, with objective ``goodput`` or ``bcr``.
    options : PlanOptions
        Time limit (of the plan, and of each baseline), solver and progress.

    Returns
    -------
    Plan
        For the load that it carries: demand, latency and cost per token are at the goodput.

    Raises
    ------
    InputError
        If the scenario cannot be built, or a limit cannot be met at any load.
    SolverError
        If the solver fails, or finds nothing in time.
    """
    built = build_problem(scenario)
    model = PathModel(built.problem)
    require_possible(scenario, built, model)
    options.tell(f"searching for the most {scenario.objective}")
    main, result = _solve(scenario, built, model, options, "plan", Scope())
    if main.candidate is None and not result.infeasible:
        raise SolverError(
            f"no plan was found in {options.time_limit_s:g} s, and none was ruled out; "
            "allow more time with --time-limit"
        )
    rate = result.rate_per_s or Rates(model, options.search_options()).upper_bound() * 1e-3
    problem, model = Rates(model, options.search_options()).at(rate or 1e-6)
    planned = replace(built, problem=problem)

    def solve(name: str, scope: Scope) -> Scored:
        found, outcome = _solve(scenario, built, model, options, name, scope)
        missed = found.candidate is None and not outcome.infeasible
        return replace(found, reason=NOT_IN_TIME) if missed else found

    baselines = baselines_by(problem, options, main, solve)
    infeasibility = None
    if main.candidate is None:
        infeasibility = _why_not(scenario, planned, model, options) if options.whole else NO_PLAN
    plan = assemble_plan(scenario, planned, model, main, baselines, options, infeasibility)
    return _with_warnings(plan, scenario, result)


def _solve(
    scenario: Scenario,
    built: BuiltProblem,
    model: PathModel,
    options: PlanOptions,
    name: str,
    scope: Scope,
) -> tuple[Scored, RateResult]:
    """Search over rates within a part of the problem, and score what is found."""
    budget = scenario.budget_usd_per_hour
    rates = Rates(model, options.search_options(), scope, math.inf if budget is None else budget)
    if scenario.objective == "goodput":
        result = largest_rate(rates)
    else:
        result = best_ratio(rates, scenario.workload.rate_per_s or 0.0)
    certificate = Certificate(
        lower_bound_usd_per_hour=result.lower_usd_per_hour,
        gap=result.gap,
        cuts=result.cuts,
        evaluations=result.evaluations,
        nodes=result.searches,
        nodes_solved=result.searches,
        solver=options.solver,
        solve_time_s=result.solve_time_s,
    )
    if result.candidate is None:
        return Scored(name, "infeasible", None, None, None, certificate), result
    problem, at_rate = rates.at(result.rate_per_s)
    scored = Scored(
        name,
        "optimal" if _proven(scenario, result) else "feasible",
        result.candidate,
        evaluate(problem, result.candidate, at_rate),
        goodput(problem, result.candidate, at_rate),
        certificate,
        problem=problem,
        proof=_proof(scenario, built.problem, result),
    )
    return scored, result


def _proven(scenario: Scenario, result: RateResult) -> bool:
    """Whether the answer is the best to the stated precision, and for goodput the cheapest."""
    cheapest = result.lower_usd_per_hour >= result.usd_per_hour * (1.0 - OPTIMAL_GAP)
    return result.gap <= 1.001 * PRECISION and (cheapest or scenario.objective == "bcr")


def _proof(scenario: Scenario, problem: Problem, result: RateResult) -> ObjectiveProof:
    budget = scenario.budget_usd_per_hour
    within = "the stock" if budget is None else f"the stock and {budget:g} {scenario.currency}/h"
    searches = f"{result.searches} searches"
    # As everywhere in a plan, rates are means over the day.
    mean = problem.mean_multiplier
    if scenario.objective == "goodput":
        value, bound = result.value * mean, result.bound * mean
        cost = (
            "it is the cheapest that does"
            if result.lower_usd_per_hour >= result.usd_per_hour * (1.0 - OPTIMAL_GAP)
            else f"none that does costs less than {result.lower_usd_per_hour:.2f} "
            f"{scenario.currency}/h"
        )
        said = (
            f"By {searches}: this fleet carries {value:.5g} req/s within {within}, and {cost}; no "
            f"fleet carries {bound:.5g} req/s; rates between the two were not decided. "
        )
    else:
        value, bound = result.value * mean, result.bound * mean
        least = scenario.workload.rate_per_s
        rates = "any rate" if least is None else f"any rate from {least:g} req/s"
        made, most = value * PER_HOUR, bound * PER_HOUR
        said = (
            f"By {searches}: this fleet makes {made:.5g} requests per {scenario.currency}; no "
            f"fleet within {within} makes more than {most:.5g}, at {rates}. "
        )
    return ObjectiveProof(scenario.objective, value, bound, said + PROOF)


def _why_not(
    scenario: Scenario, built: BuiltProblem, model: PathModel, options: PlanOptions
) -> Infeasibility:
    """Say why no rate can be carried."""
    if scenario.budget_usd_per_hour is not None:
        free = replace(options.search_options(), time_limit_s=10.0, progress=None)
        rates = Rates(model, free)
        answer = rates.ask(built.problem.arrival_rate_per_s, first=False)
        if answer.candidate is not None:
            least = answer.candidate.usd_per_hour(built.problem)
            return Infeasibility(
                reason=f"no fleet that keeps the limits costs as little as the budget of "
                f"{scenario.budget_usd_per_hour:g} {scenario.currency}/h; one for "
                f"{built.problem.arrival_rate_per_s:.2g} req/s costs {least:.2f}"
            )
    return explain_infeasible(scenario, built, options.search_options())


def _with_warnings(plan: Plan, scenario: Scenario, result: RateResult) -> Plan:
    """Say where the goodput is below the rate that the scenario names."""
    wanted = scenario.workload.rate_per_s
    if wanted is None or result.candidate is None or result.rate_per_s >= wanted:
        return plan
    text = f"the fleet carries {result.rate_per_s:.4g} req/s, less than workload.rate = {wanted:g}"
    return plan.model_copy(update={"warnings": (*plan.warnings, text)})
