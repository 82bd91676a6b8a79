"""What changes would do to a plan that routes by size, and why there is none."""

from __future__ import annotations

import math
from dataclasses import replace

from pdd_plan.errors import UnstableQueueError
from pdd_plan.fleet.plan import Infeasibility, Sensitivity
from pdd_plan.fleet.problem import Problem
from pdd_plan.fleet.size_evaluation import evaluate_by_size
from pdd_plan.fleet.size_routing import SizeFleet
from pdd_plan.optimizer.size_routing import SizePlan, candidate_at
from pdd_plan.studies.infeasible import with_stock
from pdd_plan.studies.objectives import PER_HOUR
from pdd_plan.studies.size_case import SizeCase

LOADS = (0.5, 0.8, 0.9)
"""Shares of the goodput at which the latency of a fleet without limits is told."""

STAGES = {
    "": "it has no engines",
    "remote": "remote prefill or the line gives first",
    "home": "prefill at home gives first",
    "decode": "decode gives first",
}
"""What gives first, in words."""


def changes_of(case: SizeCase, plan: SizePlan | None) -> tuple[Sensitivity, ...]:
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


def _at_load(case: SizeCase, plan: SizePlan, share: float) -> Sensitivity:
    fleet = SizeFleet(case.problem)
    rate = share * plan.rate_per_s
    level = max(plan.candidate.levels[fleet.remote_lane], 0)
    candidate = candidate_at(
        fleet, plan.candidate.threshold_index, 0.0, plan.candidate.engines, level, rate
    )
    shown = rate * case.problem.mean_multiplier
    change = f"at {100 * share:.0f} % of the goodput, {shown:.3g} req/s"
    try:
        p90 = evaluate_by_size(fleet, candidate, plan.choice).ttft.quantile(0.9)
    except UnstableQueueError as error:
        return Sensitivity(change=change, path="workload.rate", effect=str(error))
    value = p90 if math.isfinite(p90) else None
    return Sensitivity(change=change, path="workload.rate", value=shown, ttft_p90_s=value)


def _changed(
    case: SizeCase, plan: SizePlan, problem: Problem, change: str, path: str, value: int
) -> Sensitivity:
    new = case.solve(problem).plan
    if new is None:
        return Sensitivity(change=change, path=path, value=value, effect="no plan")
    mean = problem.mean_multiplier
    effect = f"goodput {new.rate_per_s * mean:.3g} req/s instead of {plan.rate_per_s * mean:.3g}"
    if case.goal.objective == "bcr":
        made, before = (one.rate_per_s * mean * PER_HOUR / one.usd_per_hour for one in (new, plan))
        effect = f"{made:.4g} requests per unit of cost instead of {before:.4g}"
    elif case.goal.objective == "cost_per_token":
        effect = f"cost {new.usd_per_hour:.2f} per hour instead of {plan.usd_per_hour:.2f}"
    return Sensitivity(
        change=change, path=path, value=value, usd_per_hour=new.usd_per_hour, effect=effect
    )


def why_not(case: SizeCase) -> Infeasibility:
    """Say what the stock could carry, or that nothing can be carried at all."""
    goal = replace(case.goal, objective="goodput", rate_per_s=0.0)
    most = replace(case, goal=goal).solve().plan
    within = "within the budget" if math.isfinite(goal.budget_usd_per_hour) else "of the stock"
    if most is None:
        return Infeasibility(reason=f"no fleet {within} keeps the limits at any load")
    return Infeasibility(
        reason=f"the best fleet {within} carries {most.rate_per_s:.4g} req/s, and "
        f"{case.goal.rate_per_s:.4g} are asked for: {STAGES[most.limited_by]}"
    )
