"""Search for a plan within a budget, and say why there is none."""

from __future__ import annotations

import math
from dataclasses import replace

from pdd_plan.fleet.build import BuiltProblem
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.plan import Infeasibility
from pdd_plan.fleet.problem import Problem
from pdd_plan.fleet.stability import shortfall
from pdd_plan.optimizer.search import Certificate, Scope, SearchOptions, SearchResult, search
from pdd_plan.scenario.schema import Scenario
from pdd_plan.studies.infeasible import explain_infeasible, explain_over_budget
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.rates import BUDGET_SLACK

NO_PLAN = Infeasibility(reason="no fleet of the stock keeps every limit")
"""What is said where nobody asked what would mend it."""


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


def why_infeasible(
    scenario: Scenario, built: BuiltProblem, model: PathModel, options: PlanOptions
) -> Infeasibility:
    """What stands in the way: the budget where a dearer fleet would do, else stock or limits."""
    options.tell("looking for the smallest change that makes it feasible")
    budget = scenario.budget_usd_per_hour
    if budget is not None:
        dearer = search_plan(built.problem, options, model)
        if dearer.candidate is not None:
            within = _within(options, budget)
            return explain_over_budget(scenario, built, within, dearer.usd_per_hour)
    return explain_infeasible(scenario, built, options.search_options())
