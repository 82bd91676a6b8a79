"""A saved plan as a candidate of a scenario's problem."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.build import BuiltProblem
from pdd_plan.fleet.plan import Lane, Plan, PlanLink, Pool
from pdd_plan.fleet.problem import Candidate, LaneOption, Problem
from pdd_plan.scenario.schema import Scenario
from pdd_plan.workload import relay_from, routing_values

BYTES_PER_GBIT = 1e9 / 8


def candidate_of_plan(
    scenario: Scenario, built: BuiltProblem, plan: Plan, *, by_size: bool = False
) -> tuple[Problem, Candidate]:
    """Find the pools, links and threshold of a plan among what a scenario offers.

    Parameters
    ----------
    scenario : Scenario
        As loaded.
    built : BuiltProblem
        Its problem.
    plan : Plan
        Saved plan.
    by_size : bool
        The caller knows how to score `routing.between: prefill`.

    Returns
    -------
    problem : Problem
        The problem, with the plan's threshold and line sizes among its options.
    candidate : Candidate
        The plan's fleet at the scenario's load.

    Raises
    ------
    InputError
        Naming every pool, link and lane that the scenario does not have.
    """
    if plan.routing is None or not plan.pools:
        raise InputError(
            Issue("the plan holds no fleet: it is infeasible", help="give a plan with pools")
        )
    if scenario.routing.between == "prefill" and not by_size:
        raise InputError(
            scenario.source.issue(
                "routing.between",
                "routing.between = prefill can be planned and evaluated, but not simulated",
                "use optimize or evaluate",
            )
        )
    issues: list[Issue] = []
    problem, index = _with_threshold(scenario, built, plan)
    engines = [0] * len(problem.pools)
    for pool in plan.pools:
        found = _find_pool(problem, pool)
        if found is None:
            issues.append(_unknown_pool(problem, pool))
        else:
            engines[found] = pool.engines
    sites = {option.site for option in problem.pools}
    lanes = list(problem.lanes)
    levels = [-1] * len(lanes)
    flows = [0.0] * len(lanes)
    bought = {_line(link): link.gbps for link in plan.links}
    names = {(lane.source, lane.target, lane.name): i for i, lane in enumerate(lanes)}
    for lane in plan.lanes:
        key = _line(lane)
        if key in names:
            flows[names[key]] = lane.share * problem.arrival_rate_per_s
    # A line without a lane stands by: nothing is sent over it until another part is lost.
    for key in dict.fromkeys([*map(_line, plan.lanes), *bought]):
        if key not in names:
            start, end, _ = key
            if not issues or (start != end and {start, end} <= sites):
                issues.append(_unknown_lane(key))
            continue
        position = names[key]
        lanes[position], levels[position] = _with_level(scenario, lanes[position], bought.get(key))
    if issues:
        raise InputError(dict.fromkeys(issues))
    slot_wait = plan.routing.slot_wait or max(problem.slot_waits)
    problem = replace(problem, lanes=tuple(lanes))
    return problem, Candidate(index, slot_wait, tuple(engines), tuple(levels), tuple(flows))


def _with_threshold(scenario: Scenario, built: BuiltProblem, plan: Plan) -> tuple[Problem, int]:
    """The problem with the plan's threshold among its own, and that threshold's index."""
    problem = built.problem
    assert plan.routing is not None
    by = scenario.routing.by
    if plan.routing.by != by:
        raise InputError(
            Issue(
                f"the plan routes by {plan.routing.by}, the scenario by {by}",
                path="routing.by",
                help=f"set routing: {{by: {plan.routing.by}}} in the scenario",
            )
        )
    value = plan.routing.threshold
    if value is None:
        value = math.inf if by != "hit_rate" else 0.0
    known = np.flatnonzero(np.isclose(problem.thresholds, value, rtol=1e-12, atol=0.0))
    if known.size:
        return problem, int(known[0])
    rising = by == "hit_rate"
    thresholds = np.sort(np.append(problem.thresholds, value))
    thresholds = thresholds if rising else thresholds[::-1]
    cache = scenario.precision.kv_cache
    values = routing_values(
        problem.atoms,
        by,
        kv_bytes_per_token=built.model.kv_bytes_per_token(cache),
        kv_bytes_fixed=built.model.kv_bytes_fixed(cache),
    )
    problem = replace(problem, thresholds=thresholds, relay_from=relay_from(values, by, thresholds))
    return problem, int(np.flatnonzero(thresholds == value)[0])


def _find_pool(problem: Problem, pool: Pool) -> int | None:
    for index, option in enumerate(problem.pools):
        same = (option.site, option.role, option.chip, option.shape) == (
            pool.site,
            pool.role,
            pool.chip,
            pool.shape,
        )
        if same:
            return index
    return None


def _unknown_pool(problem: Problem, pool: Pool) -> Issue:
    sites = {option.site for option in problem.pools}
    if pool.site not in sites:
        return _unknown_site(pool.site, sites)
    here = [o for o in problem.pools if o.site == pool.site and o.role == pool.role]
    options = ", ".join(f"{o.chip} {o.shape}" for o in here) or "none"
    return Issue(
        f"the plan has a {pool.role} pool of {pool.chip} {pool.shape} at {pool.site}, which the "
        "scenario does not offer",
        path="pools",
        help=f"offered for {pool.role} at {pool.site}: {options}",
    )


def _unknown_site(name: str, sites: set[str]) -> Issue:
    return Issue(
        f"the plan has engines at {name}, and the scenario has no such site",
        path="pools",
        help=f"sites of the scenario: {', '.join(sorted(sites))}; give a plan of this scenario",
    )


def _line(part: Lane | PlanLink) -> tuple[str, str, str]:
    """Ends of a lane or line, and its name where it has one."""
    return part.from_site, part.to_site, part.name or ""


def _unknown_lane(key: tuple[str, str, str]) -> Issue:
    start, end, name = key
    called, named = (f" by the line {name}", f", name: {name}") if name else ("", "")
    return Issue(
        f"the plan uses a lane from {start} to {end}{called}, which the scenario lacks",
        path="lanes",
        help=f"add the link to the scenario: {{from: {start}, to: {end}{named}, bandwidth: …, "
        "price: …, rtt: …}",
    )


def _with_level(scenario: Scenario, lane: LaneOption, gbps: float | None) -> tuple[LaneOption, int]:
    """The lane with the plan's bandwidth among its levels, and that level."""
    if lane.local or gbps is None:
        return lane, 0
    size = gbps * BYTES_PER_GBIT
    near = np.flatnonzero(np.isclose(lane.bytes_per_s, size, rtol=1e-9))
    if near.size:
        return lane, int(near[0])
    link = next(one for one in scenario.links if one.name == lane.label)
    sizes = np.append(lane.bytes_per_s, size)
    prices = np.append(lane.usd_per_hour, link.price_per_hour(size))
    order = np.argsort(sizes)
    level = int(np.flatnonzero(order == sizes.size - 1)[0])
    return replace(lane, bytes_per_s=sizes[order], usd_per_hour=prices[order]), level
