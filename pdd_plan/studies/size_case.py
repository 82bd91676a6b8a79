"""A scenario with `routing.between: prefill` as a question, and how its answers are scored."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from pdd_plan.errors import InputError
from pdd_plan.fleet.build import SLOT_WAITS, BuiltProblem, build_problem
from pdd_plan.fleet.evaluate import Evaluation
from pdd_plan.fleet.goodput import GoodputResult
from pdd_plan.fleet.paths import PathModel
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
    goodput_by_size,
)
from pdd_plan.scenario.schema import Scenario
from pdd_plan.studies.objectives import PER_HOUR
from pdd_plan.studies.possible import require_possible
from pdd_plan.studies.scored import ObjectiveProof, Scored

LIMITED_THRESHOLDS = 40
"""Most thresholds that are looked at where latency is limited."""

WAYS = (
    "Exact: of every threshold listed, line size, engine shape and count of engines in each "
    "stage, none is better. "
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
class SizeCase:
    """A scenario's problem with what is wanted of it."""

    scenario: Scenario
    problem: Problem
    goal: SizeGoal
    slot_waits: tuple[float, ...]
    demand_per_s: float

    def solve(
        self, problem: Problem | None = None, thresholds: tuple[int, ...] | None = None
    ) -> SizeResult:
        """Find the best fleet, of a changed problem or of some thresholds."""
        fleet = SizeFleet(problem or self.problem)
        if thresholds is None and self.slot_waits:
            thresholds = self.few_thresholds()
        return best_by_size(fleet, self.goal, self.slot_waits, thresholds)

    def few_thresholds(self) -> tuple[int, ...]:
        """Thresholds to look at within limits, where one takes much longer: evenly some of them."""
        allowed = self.problem.plan_thresholds
        if len(allowed) <= LIMITED_THRESHOLDS:
            return allowed
        step = (len(allowed) - 1) / (LIMITED_THRESHOLDS - 1)
        return tuple(allowed[round(i * step)] for i in range(LIMITED_THRESHOLDS))


def size_case(scenario: Scenario) -> tuple[BuiltProblem, SizeCase]:
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
    return built, SizeCase(scenario, problem, goal, waits, problem.arrival_rate_per_s)


def planned_rate(case: SizeCase, plan: SizePlan | None) -> float:
    """Rate that the plan is for: the demand where there is one, else what it carries."""
    demand = case.demand_per_s
    if plan is None:
        return demand or 1.0
    if case.goal.objective == "cost_per_token":
        return demand
    return demand if 0.0 < demand <= plan.rate_per_s and not case.slot_waits else plan.rate_per_s


def scored_by_size(
    case: SizeCase,
    problem: Problem,
    result: SizeResult,
    name: str,
    elapsed_s: float,
    load_per_s: float | None = None,
) -> Scored:
    """Score a plan at its load; idle where no limit holds and the load is all it carries.

    Parameters
    ----------
    problem : Problem
        The case's, or a changed one that was solved.
    result : SizeResult
        Its best fleet, or none.
    name : str
        Of the plan or baseline.
    elapsed_s : float
        Time taken [s].
    load_per_s : float, optional
        Load to predict at [requests/s]; the demand, or what the fleet carries, by default.
    """
    plan = result.plan
    cost = plan.usd_per_hour if plan else math.inf
    certificate = Certificate(
        cost, 0.0, 0, result.fleets, result.thresholds, 0, "enumeration", elapsed_s
    )
    if plan is None:
        certificate = replace(certificate, gap=math.inf)
        return Scored(name, "infeasible", None, None, None, certificate)
    rate = planned_rate(case, plan) if load_per_s is None else load_per_s
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
    reach, stage = goodput_by_size(fleet, candidate, case.slot_waits)
    idle = not case.slot_waits and rate >= reach * (1.0 - 1e-9)
    seen = evaluate_by_size(fleet, candidate, plan.choice, idle=idle)
    return Scored(
        name,
        "optimal",
        candidate,
        seen,
        GoodputResult(max(reach, rate), _stage(fleet, plan, seen, stage)),
        certificate,
        problem=replace(problem, arrival_rate_per_s=rate),
        proof=_proof(case, plan),
    )


def _stage(fleet: SizeFleet, plan: SizePlan, seen: Evaluation, stage: str) -> str:
    """Name what gives first: for the remote stage, its engines or the line, whichever is busier."""
    home, remote = fleet.line.target, fleet.line.source
    if stage != "remote":
        return f"prefill {home}" if stage == "home" else f"decode {home}"
    line = seen.lane_utilization[fleet.remote_lane]
    pool = seen.pools.get(plan.choice.remote)
    busy = pool.utilization if pool is not None else 0.0
    return f"line {fleet.line.label}" if line > busy else f"prefill {remote}"


def _proof(case: SizeCase, plan: SizePlan) -> ObjectiveProof:
    mean = case.problem.mean_multiplier
    value = plan.usd_per_hour
    if case.goal.objective == "goodput":
        value = plan.rate_per_s * mean
    elif case.goal.objective == "bcr":
        value = plan.rate_per_s * mean / plan.usd_per_hour
    listed, looked = case.problem.thresholds.size, len(case.few_thresholds())
    some = f"Of {listed} thresholds listed, {looked} were looked at, evenly spread. "
    text = WAYS + (LIMITED if case.slot_waits else STABLE)
    if case.slot_waits and looked < listed:
        text = some + text.replace("every threshold listed,", "these thresholds and every")
    if case.goal.objective == "bcr":
        text = f"This fleet makes {value * PER_HOUR:.5g} requests per unit of cost. {text}"
    return ObjectiveProof(case.goal.objective, value, value, text)
