"""What several services cost together, and what simpler fleets for them would."""

from __future__ import annotations

from collections.abc import Mapping

from pdd_plan.fleet.plan import Cost, Demand, Plan
from pdd_plan.fleet.problem import Candidate
from pdd_plan.fleet.shared import SharedProblem
from pdd_plan.fleet.shared_plan import SharedBaseline
from pdd_plan.studies.figures import demand_of
from pdd_plan.studies.services_scored import SharedScored


def sum_of_demands(problem: SharedProblem) -> Demand:
    """The load of all services."""
    loads = [demand_of(one) for one in problem.problems]
    return Demand(
        requests_per_s=sum(load.requests_per_s for load in loads),
        output_tokens_per_s=sum(load.output_tokens_per_s for load in loads),
        input_tokens_per_s=sum(load.input_tokens_per_s for load in loads),
    )


def shared_cost(problem: SharedProblem, candidates: tuple[Candidate, ...], demand: Demand) -> Cost:
    """What chips and lines cost together, per hour and per million tokens of all services."""
    chips = sum(
        candidate.chips_usd_per_hour(one)
        for candidate, one in zip(candidates, problem.problems, strict=True)
    )
    return _cost_at(chips, problem.usd_per_hour(candidates) - chips, demand)


def _cost_at(chips: float, lines: float, demand: Demand) -> Cost:
    output = demand.output_tokens_per_s * 3600.0 / 1e6
    total = output + demand.input_tokens_per_s * 3600.0 / 1e6
    return Cost(
        usd_per_hour=chips + lines,
        chips_usd_per_hour=chips,
        links_usd_per_hour=max(lines, 0.0),
        usd_per_million_output_tokens=(chips + lines) / output,
        usd_per_million_total_tokens=(chips + lines) / total,
    )


def shared_baseline(problem: SharedProblem, one: SharedScored, demand: Demand) -> SharedBaseline:
    """A simpler fleet for all services, as the plan shows it."""
    return SharedBaseline(
        name=one.name,
        status=one.status,  # type: ignore[arg-type]
        cost=shared_cost(problem, one.candidates, demand) if one.candidates else None,
        gap=one.gap,
        reason=one.reason or None,
    )


def shared_aggregated(
    problem: SharedProblem, plans: Mapping[str, Plan], demand: Demand
) -> SharedBaseline:
    """The cheapest aggregated fleet of each service, where they fit together."""
    name = "aggregated"
    parts = {
        service: next(base for base in plan.baselines if base.name == name)
        for service, plan in plans.items()
    }
    reasons = [f"{service}: {base.reason}" for service, base in parts.items() if not base.cost]
    used: dict[tuple[str, str], int] = {}
    for base in parts.values():
        for pool in base.pools:
            used[pool.site, pool.chip] = used.get((pool.site, pool.chip), 0) + pool.chips
    stock = problem.problems[0].stock
    reasons += [
        f"the cheapest of each service need {chips} {chip} at {site} together, and there are "
        f"{stock[site, chip]}"
        for (site, chip), chips in used.items()
        if chips > stock[site, chip]
    ]
    if reasons:
        return SharedBaseline(name=name, status="infeasible", cost=None, reason="; ".join(reasons))
    total = sum(base.cost.usd_per_hour for base in parts.values() if base.cost)
    return SharedBaseline(name=name, status="optimal", cost=_cost_at(total, 0.0, demand), gap=0.0)
