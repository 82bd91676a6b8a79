"""The best plans of simpler kinds, by the same search over a part of the problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.optimizer.search import Scope
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.scored import Scored, scored_plan
from pdd_plan.studies.searching import search_plan

NOT_IN_TIME = "none was found in the time limit"
"""Why a baseline that was not ruled out is missing."""


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
        options.tell(f"baseline {name}")
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
