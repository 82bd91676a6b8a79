"""Refuse limits that not even an idle fleet can keep, with a value that works."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.build import BuiltProblem
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Limit, Problem
from pdd_plan.optimizer.search import Scope
from pdd_plan.scenario.schema import Scenario


def require_possible(scenario: Scenario, built: BuiltProblem, model: PathModel) -> None:
    """Refuse limits that even an idle fleet cannot keep.

    Raises
    ------
    InputError
        One issue a limit, each with a value that works.
    """
    issues = []
    for limit in built.problem.limits:
        if limit.metric in ("ttft", "e2e"):
            issue = _impossible_latency(scenario, built.problem, model, limit)
        elif limit.metric == "tpot":
            issue = _impossible_tpot(scenario, built.problem, limit)
        else:
            issue = None
        if issue is not None:
            issues.append(issue)
    if issues:
        raise InputError(issues)


def _impossible_tpot(scenario: Scenario, problem: Problem, limit: Limit) -> Issue | None:
    sites = {lane.target for lane in problem.lanes if not lane.baseline_only}
    steps = [
        (float(pool.step_s[0]), pool)
        for pool in problem.pools
        if pool.role == "decode" and pool.site in sites
    ]
    if not steps:
        return None
    fastest, pool = min(steps, key=lambda pair: pair[0])
    if fastest <= limit.limit_s:
        return None
    works = round_up(1.5 * fastest)
    return scenario.source.issue(
        f"slo.{limit.key}",
        f"slo.{limit.key} = {time_text(limit.limit_s)} cannot be met: one step takes "
        f"{time_text(fastest)} with a single request on the engine ({pool.chip} {pool.shape})",
        f"raise it to {time_text(works)} or more, or allow chips with faster decode",
    )


def _impossible_latency(
    scenario: Scenario, problem: Problem, model: PathModel, limit: Limit
) -> Issue | None:
    share = limit.probability
    if _idle_reaches(problem, model, limit) >= share - 1e-9:
        return None
    slowest, pool_label, late = _fastest_prefill(problem, limit)
    works = _limit_that_works(problem, limit)
    way = ", the way to users" if problem.regions else ""
    if limit.metric == "e2e":
        cause = (
            f"prefill, transfer and the output tokens take longer even on idle engines "
            f"({pool_label})"
        )
    elif late > 1.0 - share:
        cause = (
            f"prefill alone takes longer for {100 * late:.0f} % of requests, "
            f"{time_text(slowest)} at P{limit.percentile:g} ({pool_label})"
        )
    else:
        cause = (
            f"prefill, transfer{way} and the first step take longer even on idle engines, "
            f"at the largest bandwidth ({pool_label})"
        )
    mend = "allow chips with faster prefill or lines with more bandwidth"
    if works is not None:
        mend = f"raise it to {time_text(works)} or more, or {mend}"
    return scenario.source.issue(
        f"slo.{limit.key}",
        f"slo.{limit.key} = {time_text(limit.limit_s)} cannot be met: {cause}",
        mend,
    )


def _fastest_prefill(problem: Problem, limit: Limit) -> tuple[float, str, float]:
    """Quantile of the pass time on the fastest prefill option, its label, share beyond limit."""
    options = []
    weight = problem.weight_for(limit)
    for pool in problem.pools:
        if pool.role == "prefill":
            order = np.argsort(pool.service_s)
            below = np.cumsum(weight[order])
            at = min(int(np.searchsorted(below, limit.probability)), below.size - 1)
            late = float(weight[pool.service_s > limit.limit_s].sum())
            label = f"{pool.chip}, {pool.chips_per_engine} chips"
            options.append((float(pool.service_s[order][at]), label, late))
    return min(options)


def _idle_reaches(problem: Problem, model: PathModel, limit: Limit) -> float:
    """Largest share of requests within a limit on an idle fleet, over all allowed paths."""
    best = 0.0
    scope = Scope()
    for lane in scope.lanes_of(problem):
        option = problem.lanes[lane]
        key = (lane, int(option.bytes_per_s.size - 1), 1e-9)
        for pool in problem.pool_indices(option.source, "prefill"):
            for threshold in scope.thresholds_of(problem):
                relays = not option.local and problem.relayed(threshold).any()
                if relays and not problem.pool_indices(option.source, "relay"):
                    continue
                reached = model.attainment(pool, 1, 0.0, key, threshold, limit)
                best = max(best, reached)
    return best


def _limit_that_works(problem: Problem, limit: Limit) -> float | None:
    """A limit at which an idle fleet keeps it with a fifth to spare, on two digits."""
    low, high = limit.limit_s, limit.limit_s
    for _ in range(40):
        high *= 2.0
        if _reaches_at(problem, limit, high):
            break
    else:
        return None
    for _ in range(20):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _reaches_at(problem, limit, middle) else (middle, high)
    return round_up(1.2 * high)


def _reaches_at(problem: Problem, limit: Limit, limit_s: float) -> bool:
    changed = replace(limit, limit_s=limit_s)
    others = tuple(changed if one == limit else one for one in problem.limits)
    trial = replace(problem, limits=others)
    return _idle_reaches(trial, PathModel(trial), changed) >= limit.probability


def round_up(value: float) -> float:
    """Round up to two digits."""
    if value <= 0.0:
        return value
    scale = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / scale - 1e-9) * scale:.6g}")


def time_text(seconds: float) -> str:
    """Write a time of a limit in seconds or milliseconds."""
    return f"{seconds * 1e3:.3g} ms" if seconds < 0.1 else f"{seconds:.3g} s"
