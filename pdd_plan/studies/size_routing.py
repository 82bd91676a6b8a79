"""Plans that route by size between a remote prefill site and prefill beside decode."""

from __future__ import annotations

import time
from dataclasses import replace

from pdd_plan.errors import InputError
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.plan import Plan
from pdd_plan.fleet.problem import Problem
from pdd_plan.fleet.size_routing import SizeFleet
from pdd_plan.optimizer.size_routing import (
    SizePlan,
    SizeResult,
    candidate_at,
    choice_of,
    goodput_by_size,
)
from pdd_plan.scenario.schema import Scenario
from pdd_plan.studies.assemble import assemble_plan
from pdd_plan.studies.given import candidate_of_plan
from pdd_plan.studies.infeasible import with_stock
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.scored import Scored
from pdd_plan.studies.size_case import SizeCase, planned_rate, scored_by_size, size_case
from pdd_plan.studies.size_changes import STAGES, changes_of, why_not


def plan_by_size(scenario: Scenario, options: PlanOptions) -> Plan:
    """Plan a fleet with `routing.between: prefill`.

    Parameters
    ----------
    scenario : Scenario
        As loaded.
    options : PlanOptions
        Progress and command; the search is exact and takes no time limit.

    Returns
    -------
    Plan
        For the demand, or for the goodput where that is the objective.

    Raises
    ------
    InputError
        If the scenario cannot be built, or a limit cannot be met at any load.
    """
    started = time.monotonic()
    built, case = size_case(scenario)
    options.tell("looking at every threshold and split")
    result = case.solve()
    main = scored_by_size(case, case.problem, result, "plan", time.monotonic() - started)
    problem = replace(case.problem, arrival_rate_per_s=planned_rate(case, result.plan))
    options.tell("baselines")
    baselines = _baselines(case, started) if options.whole else ()
    infeasibility = None if result.plan else why_not(case)
    planned = replace(built, problem=problem)
    changes = changes_of(case, result.plan)
    plan = assemble_plan(
        scenario, planned, PathModel(problem), main, baselines, options, infeasibility, changes
    )
    return _tidied(plan, case, result.plan)


def evaluate_plan_by_size(scenario: Scenario, plan: Plan, options: PlanOptions) -> Plan:
    """Score the fleet of a plan under a scenario with `routing.between: prefill`.

    Parameters
    ----------
    scenario : Scenario
        As loaded; without a rate the plan's own load is taken.
    plan : Plan
        Fleet: its pools, link and threshold.
    options : PlanOptions
        Command, for the report.

    Returns
    -------
    Plan
        With the certificate left out.

    Raises
    ------
    InputError
        If the plan does not fit the scenario, or cannot carry the load.
    """
    started = time.monotonic()
    built, case = size_case(scenario)
    rate = scenario.workload.rate_per_s or (plan.demand.requests_per_s if plan.demand else 0.0)
    problem = replace(case.problem, arrival_rate_per_s=rate or 1.0)
    problem, candidate = candidate_of_plan(
        scenario, replace(built, problem=problem), plan, by_size=True
    )
    fleet = SizeFleet(problem)
    choice, _ = choice_of(fleet, candidate)
    level = max(candidate.levels[fleet.remote_lane], 0)
    candidate = candidate_at(
        fleet, candidate.threshold_index, 0.0, candidate.engines, level, rate or 1.0
    )
    reach, limited_by = goodput_by_size(fleet, candidate, case.slot_waits)
    if reach < (rate or reach) * (1.0 - 1e-6) or reach <= 0.0:
        raise InputError(
            scenario.source.issue(
                "workload.rate",
                f"the fleet of the plan cannot carry {rate:g} req/s: {STAGES[limited_by]}",
                f"lower the rate: it carries about {reach:.3g} req/s within its limits",
            )
        )
    found = SizePlan(candidate, reach, candidate.usd_per_hour(problem), choice, limited_by)
    goal = replace(case.goal, objective="goodput", rate_per_s=0.0)
    case = replace(case, problem=problem, demand_per_s=rate)
    load = min(rate or reach, reach)
    main = scored_by_size(case, problem, SizeResult(found, 0, 0), "plan", 0.0, load)
    main = replace(main, status="feasible", certificate=None, proof=None)
    planned = replace(built, problem=replace(problem, arrival_rate_per_s=load))
    case = replace(case, goal=goal)
    given = assemble_plan(
        scenario, planned, PathModel(problem), main, _baselines(case, started), options, None, ()
    )
    return _tidied(given, case, found)


def _baselines(case: SizeCase, started: float) -> tuple[Scored, ...]:
    """As many engines all at home, the home site alone, and all prefill at the remote site."""
    problem = case.problem
    last = problem.thresholds.size - 1
    parts = (
        ("homogeneous", _homogeneous(problem), (0,), "no home engine takes the remote one's place"),
        ("single_site", problem, (0,), "the home site alone cannot do it"),
        ("all_remote", problem, (last,), "the remote site cannot prefill everything"),
    )
    out = []
    for name, changed, thresholds, reason in parts:
        result = SizeResult(None, 0, 0)
        if changed is not None:
            result = case.solve(changed, thresholds)
        found = scored_by_size(case, changed or problem, result, name, time.monotonic() - started)
        out.append(found if found.candidate is not None else replace(found, reason=reason))
    return tuple(out)


def _homogeneous(problem: Problem) -> Problem | None:
    """The problem with a home engine for each remote engine of the stock."""
    fleet = SizeFleet(problem)
    remote = problem.pool_indices(fleet.line.source, "prefill")
    home = problem.pool_indices(fleet.line.target, "decode")
    if not remote or not home:
        return None
    more = max(problem.pools[i].max_engines for i in remote)
    key = (problem.pools[home[0]].site, problem.pools[home[0]].chip)
    stock = problem.stock[key] + more * problem.pools[home[0]].chips_per_engine
    return with_stock(problem, key, stock)


def _tidied(plan: Plan, case: SizeCase, found: SizePlan | None) -> Plan:
    """Leave out what plays no part, and say at which load latency is predicted."""
    changes: dict[str, object] = {}
    if plan.certificate is not None:
        looked = case.problem.thresholds.size
        if case.slot_waits:
            looked = len(case.few_thresholds())
        update = {"flow_steps": None, "time_limit_s": None, "thresholds": looked}
        changes["certificate"] = plan.certificate.model_copy(update=update)
    if not case.slot_waits:
        changes["assumptions"] = tuple(a for a in plan.assumptions if a.path != "slo.slot_wait")
    if found is not None and not case.slot_waits:
        changes["warnings"] = (*plan.warnings, *_unlimited(case, plan, found))
    return plan.model_copy(update=changes)


def _unlimited(case: SizeCase, plan: Plan, found: SizePlan) -> tuple[str, ...]:
    wanted = case.scenario.workload.rate_per_s
    if wanted is not None and wanted > found.rate_per_s:
        return (
            f"the fleet carries {found.rate_per_s:.4g} req/s, less than workload.rate = "
            f"{wanted:g}; latencies are those of an idle fleet",
        )
    if plan.demand is None or plan.goodput is None:
        return ()
    if plan.demand.requests_per_s < plan.goodput.requests_per_s * (1.0 - 1e-9):
        return ()
    text = (
        "nothing limits latency: goodput is the load at which queues grow without bound, and "
        "latencies are those of an idle fleet"
    )
    return (text + ("; see the effect of load below" if plan.sensitivity else ""),)
