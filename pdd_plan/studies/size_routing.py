"""Plans that route by size between a remote prefill site and prefill beside decode."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pdd_plan.errors import InputError, UnstableQueueError
from pdd_plan.fleet.build import SLOT_WAITS, BuiltProblem, build_problem
from pdd_plan.fleet.goodput import GoodputResult
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.plan import Infeasibility, Plan, Sensitivity
from pdd_plan.fleet.problem import Problem
from pdd_plan.fleet.size_evaluation import evaluate_by_size
from pdd_plan.fleet.size_routing import SizeFleet
from pdd_plan.optimizer.search import Certificate
from pdd_plan.optimizer.size_routing import (
    SizeGoal,
    SizePlan,
    SizeResult,
    best_by_size,
    candidate_at,
    choice_of,
    goodput_by_size,
)
from pdd_plan.scenario.schema import Scenario
from pdd_plan.studies.assemble import assemble_plan
from pdd_plan.studies.given import candidate_of_plan
from pdd_plan.studies.infeasible import require_possible
from pdd_plan.studies.objectives import PER_HOUR, ObjectiveProof

if TYPE_CHECKING:
    from pdd_plan.studies.planning import PlanOptions, Scored

LOADS = (0.5, 0.8, 0.9)
"""Shares of the goodput at which the latency of a fleet without limits is told."""

WAYS = (
    "Exact: of every threshold listed, line size, engine shape and count of engines in each stage, "
    "none is better. "
)
STABLE = (
    "Nothing limits latency, so a stage carries what it can do at utilization 1: the rate of the "
    "fleet is the load at which queues grow without bound."
)
LIMITED = (
    "Limits hold on either path, among the requests that take it; rates on the line are found to "
    "0.03 % of what it could carry. Predictions are of the full model."
)


@dataclass(frozen=True)
class _Case:
    """A scenario's problem with what is wanted of it."""

    scenario: Scenario
    problem: Problem
    goal: SizeGoal
    slot_waits: tuple[float, ...]

    def solve(
        self, problem: Problem | None = None, thresholds: tuple[int, ...] | None = None
    ) -> SizeResult:
        """Find the best fleet, of a changed problem or of some thresholds."""
        fleet = SizeFleet(problem or self.problem)
        return best_by_size(fleet, self.goal, self.slot_waits, thresholds)


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
    built, case = _case(scenario)
    _tell(options, "looking at every threshold and split")
    result = case.solve()
    main = _scored(case, case.problem, result, "plan", time.monotonic() - started)
    problem = replace(case.problem, arrival_rate_per_s=_planned_rate(case, result.plan))
    _tell(options, "baselines")
    baselines = _baselines(case, started)
    infeasibility = None if result.plan else _why_not(case)
    planned = replace(built, problem=problem)
    changes = _changes(case, result.plan)
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
    built, case = _case(scenario)
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
                f"the fleet of the plan cannot carry {rate:g} req/s: {limited_by} gives first",
                f"lower the rate: it carries about {reach:.3g} req/s within its limits",
            )
        )
    found = SizePlan(candidate, rate or reach, candidate.usd_per_hour(problem), choice, limited_by)
    case = replace(case, problem=problem)
    main = _scored(case, problem, SizeResult(found, 0, 0), "plan", 0.0)
    main = replace(main, status="feasible", certificate=None, proof=None)
    planned = replace(built, problem=replace(problem, arrival_rate_per_s=found.rate_per_s))
    given = assemble_plan(
        scenario, planned, PathModel(problem), main, _baselines(case, started), options, None, ()
    )
    return _tidied(given, case, found)


def _case(scenario: Scenario) -> tuple[BuiltProblem, _Case]:
    """Build the problem; limits on latency, or on the wait for a slot, ask for the full rule."""
    built = build_problem(scenario)
    problem = built.problem
    if problem.limits:
        require_possible(scenario, built, PathModel(problem))
    given = scenario.slo.slot_wait
    waits: tuple[float, ...] = ()
    if given is not None:
        waits = (given,)
    elif problem.limits:
        waits = SLOT_WAITS
    budget = scenario.budget_usd_per_hour
    goal = SizeGoal(
        scenario.objective,
        0.0 if scenario.objective == "goodput" else problem.arrival_rate_per_s,
        math.inf if budget is None else budget,
    )
    if goal.objective == "cost_per_token" and goal.rate_per_s <= 0.0:
        raise InputError(
            scenario.source.issue(
                "workload", "no arrival rate is given", "add rate: 12 req/s to the workload"
            )
        )
    return built, _Case(scenario, problem, goal, waits)


def _tell(options: PlanOptions, text: str) -> None:
    if options.progress is not None:
        options.progress(text)


def _planned_rate(case: _Case, plan: SizePlan | None) -> float:
    """Rate that the plan is for: the demand where there is one, else what it carries."""
    demand = case.problem.arrival_rate_per_s
    if plan is None:
        return demand or 1.0
    return demand if 0.0 < demand <= plan.rate_per_s and not case.slot_waits else plan.rate_per_s


def _scored(
    case: _Case, problem: Problem, result: SizeResult, name: str, elapsed_s: float
) -> Scored:
    """Score a plan at its load; idle where nothing limits latency and no demand is given."""
    from pdd_plan.studies.planning import Scored

    plan = result.plan
    cost = plan.usd_per_hour if plan else math.inf
    certificate = Certificate(
        cost, 0.0, 0, result.fleets, result.thresholds, 0, "enumeration", elapsed_s
    )
    if plan is None:
        certificate = replace(certificate, gap=math.inf)
        return Scored(name, "infeasible", None, None, None, certificate)
    rate = _planned_rate(case, plan)
    fleet = SizeFleet(problem)
    level = max(plan.candidate.levels[fleet.remote_lane], 0)
    candidate = candidate_at(
        fleet,
        plan.candidate.threshold_index,
        plan.candidate.slot_wait,
        plan.candidate.engines,
        level,
        rate,
    )
    idle = not case.slot_waits and rate >= plan.rate_per_s * (1.0 - 1e-9)
    reach, limited_by = goodput_by_size(fleet, candidate, case.slot_waits)
    return Scored(
        name,
        "optimal",
        candidate,
        evaluate_by_size(fleet, candidate, plan.choice, idle=idle),
        GoodputResult(max(reach, plan.rate_per_s), limited_by),
        certificate,
        problem=replace(problem, arrival_rate_per_s=rate),
        proof=_proof(case, plan),
    )


def _proof(case: _Case, plan: SizePlan) -> ObjectiveProof:
    mean = case.problem.mean_multiplier
    value = plan.usd_per_hour
    if case.goal.objective == "goodput":
        value = plan.rate_per_s * mean
    elif case.goal.objective == "bcr":
        value = plan.rate_per_s * mean / plan.usd_per_hour
    text = WAYS + (LIMITED if case.slot_waits else STABLE)
    if case.goal.objective == "bcr":
        text = f"This fleet makes {value * PER_HOUR:.5g} requests per unit of cost. {text}"
    return ObjectiveProof(case.goal.objective, value, value, text)


def _baselines(case: _Case, started: float) -> tuple[Scored, ...]:
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
        found = _scored(case, changed or problem, result, name, time.monotonic() - started)
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


def with_stock(problem: Problem, key: tuple[str, str], chips: int) -> Problem:
    """Return a problem with another stock of one chip at one site."""
    pools = tuple(
        replace(pool, max_engines=chips // pool.chips_per_engine)
        if (pool.site, pool.chip) == key
        else pool
        for pool in problem.pools
    )
    return replace(problem, pools=pools, stock={**problem.stock, key: chips})


def _changes(case: _Case, plan: SizePlan | None) -> tuple[Sensitivity, ...]:
    """Latency at parts of the goodput, and what one more engine or a wider line would bring."""
    if plan is None:
        return ()
    out = [] if case.slot_waits else [_at_load(case, plan, share) for share in LOADS]
    problem = case.problem
    for (site, chip), stock in problem.stock.items():
        sizes = [p.chips_per_engine for p in problem.pools if (p.site, p.chip) == (site, chip)]
        if sizes:
            changed = with_stock(problem, (site, chip), stock + min(sizes))
            path = f"sites.{site}.chips.{chip}.available"
            name = f"{min(sizes)} more {chip} at {site}"
            out.append(_changed(case, plan, changed, name, path, stock + min(sizes)))
    return tuple(out)


def _at_load(case: _Case, plan: SizePlan, share: float) -> Sensitivity:
    fleet = SizeFleet(case.problem)
    rate = share * plan.rate_per_s
    level = max(plan.candidate.levels[fleet.remote_lane], 0)
    candidate = candidate_at(
        fleet, plan.candidate.threshold_index, 0.0, plan.candidate.engines, level, rate
    )
    shown = rate * case.problem.mean_multiplier
    change = f"at {share:.0%} of the goodput, {shown:.3g} req/s"
    try:
        p90 = evaluate_by_size(fleet, candidate, plan.choice).ttft.quantile(0.9)
    except UnstableQueueError as error:
        return Sensitivity(change=change, path="workload.rate", effect=str(error))
    value = p90 if math.isfinite(p90) else None
    return Sensitivity(change=change, path="workload.rate", value=shown, ttft_p90_s=value)


def _changed(
    case: _Case, plan: SizePlan, problem: Problem, change: str, path: str, value: int
) -> Sensitivity:
    new = case.solve(problem).plan
    if new is None:
        return Sensitivity(change=change, path=path, value=value, effect="no plan")
    mean = problem.mean_multiplier
    effect = f"goodput {new.rate_per_s * mean:.3g} req/s instead of {plan.rate_per_s * mean:.3g}"
    if case.goal.objective != "goodput":
        effect = f"cost {new.usd_per_hour:.2f} per hour instead of {plan.usd_per_hour:.2f}"
    return Sensitivity(
        change=change, path=path, value=value, usd_per_hour=new.usd_per_hour, effect=effect
    )


def _why_not(case: _Case) -> Infeasibility:
    """Say what the stock could carry, or that nothing can be carried at all."""
    goal = replace(case.goal, objective="goodput", rate_per_s=0.0)
    most = replace(case, goal=goal).solve().plan
    within = "within the budget" if math.isfinite(goal.budget_usd_per_hour) else "of the stock"
    if most is None:
        return Infeasibility(reason=f"no fleet {within} keeps the limits at any load")
    return Infeasibility(
        reason=f"the best fleet {within} carries {most.rate_per_s:.4g} req/s, and "
        f"{case.goal.rate_per_s:.4g} are asked for: {most.limited_by} gives first"
    )


def _tidied(plan: Plan, case: _Case, found: SizePlan | None) -> Plan:
    """Leave out what plays no part, and say at which load latency is predicted."""
    changes: dict[str, object] = {}
    if plan.certificate is not None:
        proof = plan.certificate.model_copy(update={"flow_steps": None, "time_limit_s": None})
        changes["certificate"] = proof
    if not case.slot_waits:
        changes["assumptions"] = tuple(a for a in plan.assumptions if a.path != "slo.slot_wait")
    if found is not None and not case.slot_waits:
        changes["warnings"] = (*plan.warnings, *_unlimited(case, found))
    return plan.model_copy(update=changes)


def _unlimited(case: _Case, found: SizePlan) -> tuple[str, ...]:
    demand = case.problem.arrival_rate_per_s
    if demand <= 0.0:
        return (
            "nothing limits latency: goodput is the load at which queues grow without bound, and "
            "latencies are those of an idle fleet; see the effect of load below",
        )
    if demand > found.rate_per_s:
        return (
            f"the fleet carries {found.rate_per_s:.4g} req/s, less than workload.rate = "
            f"{demand:g}; latencies are those of an idle fleet",
        )
    return ()
