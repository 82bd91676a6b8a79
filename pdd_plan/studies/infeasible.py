"""Why no plan exists: limits that no fleet can meet, and the smallest change that makes one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.build import BuiltProblem
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.plan import Change, Failure, Infeasibility
from pdd_plan.fleet.problem import LaneOption, Limit, Problem
from pdd_plan.fleet.stability import shortfall, stable_rate_per_s
from pdd_plan.optimizer.search import Scope, SearchOptions, search
from pdd_plan.scenario.schema import Scenario

MOST_TIMES = 64.0
"""Changes beyond this many times the present value are not looked for."""

EXPLAIN_S = 20.0
"""Time for all trials together [s]; what is not found by then is left out."""

ROUNDS = 6
"""Bisection rounds for a change: about 2 % of the span."""


@dataclass(frozen=True)
class _Idle:
    """Best case of a latency limit: an idle fleet of the fastest engines on the best lane."""

    best_s: float
    where: str
    prefill_s: float
    late: float


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
    works = _round_up(1.5 * fastest)
    return scenario.source.issue(
        f"slo.{limit.key}",
        f"slo.{limit.key} = {_time(limit.limit_s)} cannot be met: one step takes "
        f"{_time(fastest)} with a single request on the engine ({pool.chip} {pool.shape})",
        f"raise it to {_time(works)} or more, or allow chips with faster decode",
    )


def _impossible_latency(
    scenario: Scenario, problem: Problem, model: PathModel, limit: Limit
) -> Issue | None:
    share = limit.probability
    if _idle_reaches(problem, model, limit) >= share - 1e-9:
        return None
    slowest, pool_label, late = _fastest_prefill(problem, limit)
    works = _limit_that_works(problem, limit)
    if limit.metric == "e2e":
        cause = (
            f"prefill, transfer and the output tokens take longer even on idle engines "
            f"({pool_label})"
        )
    elif late > 1.0 - share:
        cause = (
            f"prefill alone takes longer for {late:.0%} of requests, "
            f"{_time(slowest)} at P{limit.percentile:g} ({pool_label})"
        )
    else:
        cause = (
            f"prefill, transfer and the first step take longer even on idle engines, "
            f"at the largest bandwidth ({pool_label})"
        )
    mend = "allow chips with faster prefill or lines with more bandwidth"
    if works is not None:
        mend = f"raise it to {_time(works)} or more, or {mend}"
    return scenario.source.issue(
        f"slo.{limit.key}",
        f"slo.{limit.key} = {_time(limit.limit_s)} cannot be met: {cause}",
        mend,
    )


def _fastest_prefill(problem: Problem, limit: Limit) -> tuple[float, str, float]:
    """Quantile of the pass time on the fastest prefill option, its label, share beyond limit."""
    options = []
    weight = problem.atoms.weight
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
    return _round_up(1.2 * high)


def _reaches_at(problem: Problem, limit: Limit, limit_s: float) -> bool:
    changed = replace(limit, limit_s=limit_s)
    others = tuple(changed if one == limit else one for one in problem.limits)
    trial = replace(problem, limits=others)
    return _idle_reaches(trial, PathModel(trial), changed) >= limit.probability


def explain_infeasible(
    scenario: Scenario, built: BuiltProblem, options: SearchOptions
) -> Infeasibility:
    """Say what stands in the way, and which single changes of the scenario would help.

    Parameters
    ----------
    scenario : Scenario
        As loaded.
    built : BuiltProblem
        Its problem, proven infeasible.
    options : SearchOptions
        Solver and time limit of each trial.

    Returns
    -------
    Infeasibility
        Reason, limits that fail, and the changes found, smallest first.
    """
    trial = _Trials(built.problem, replace(options, progress=None, time_limit_s=10.0))
    reason = shortfall(built.problem) or _reason(built.problem, trial)
    changes: list[tuple[float, Change]] = []
    for attempt in (_less_load, _more_chips, _more_bandwidth, _looser_limits):
        changes += attempt(scenario, built.problem, trial)
    changes.sort(key=lambda pair: pair[0])
    return Infeasibility(
        reason=reason,
        failures=_failures(built.problem),
        smallest_changes=tuple(change for _, change in changes),
    )


class _Trials:
    """Feasibility of changed problems, by the same search as the plan's."""

    def __init__(self, problem: Problem, options: SearchOptions) -> None:
        self.problem = problem
        self.options = replace(options, first_feasible=True)
        self.deadline = time.monotonic() + EXPLAIN_S

    def feasible(self, **changes: object) -> bool:
        """Whether a plan exists with some fields of the problem replaced, if found in time."""
        trial = replace(self.problem, **changes)  # type: ignore[arg-type]
        left_s = self.deadline - time.monotonic()
        if left_s <= 0.0 or shortfall(trial):
            return False
        options = replace(self.options, time_limit_s=min(self.options.time_limit_s, left_s))
        return search(trial, options).candidate is not None

    def smallest(self, feasible_at: Callable[[float], bool], start: float = 1.0) -> float | None:
        """Smallest factor above a start at which a change suffices, to a few percent."""
        low, high = start, 2.0 * start
        while not feasible_at(high):
            low, high = high, 4.0 * high
            if high > MOST_TIMES * start:
                return None
        for _ in range(ROUNDS):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if feasible_at(middle) else (middle, high)
        return high


def _with_stock(problem: Problem, key: tuple[str, str], chips: int) -> dict[str, object]:
    pools = tuple(
        replace(pool, max_engines=chips // pool.chips_per_engine)
        if (pool.site, pool.chip) == key
        else pool
        for pool in problem.pools
    )
    return {"pools": pools, "stock": {**problem.stock, key: chips}}


def _more_chips(scenario: Scenario, problem: Problem, trial: _Trials) -> list[tuple[float, Change]]:
    out = []
    for (site, chip), stock in problem.stock.items():
        sizes = [p.chips_per_engine for p in problem.pools if (p.site, p.chip) == (site, chip)]
        if not sizes:
            continue
        unit, start = min(sizes), max(stock, min(sizes))

        def chips_at(factor: float, unit: int = unit, start: int = start) -> int:
            return math.ceil(start * factor / unit - 1e-9) * unit

        def feasible_at(
            factor: float,
            key: tuple[str, str] = (site, chip),
            chips_at: Callable[[float], int] = chips_at,
        ) -> bool:
            return trial.feasible(**_with_stock(problem, key, chips_at(factor)))

        factor = trial.smallest(feasible_at)
        if factor is not None:
            need = chips_at(factor)
            path = f"sites.{site}.chips.{chip}.available"
            text = f"{need - stock} more {chip} at {site} ({need} instead of {stock})"
            out.append((need / start - 1.0, Change(change=text, path=path, value=need)))
    del scenario
    return out


def _more_bandwidth(
    scenario: Scenario, problem: Problem, trial: _Trials
) -> list[tuple[float, Change]]:
    out = []
    for position, lane in enumerate(problem.lanes):
        if lane.local:
            continue
        most = float(lane.bytes_per_s[-1])

        def feasible_at(
            factor: float, position: int = position, lane: LaneOption = lane, most: float = most
        ) -> bool:
            wider = replace(
                lane,
                bytes_per_s=np.append(lane.bytes_per_s, most * factor),
                usd_per_hour=np.append(lane.usd_per_hour, lane.usd_per_hour[-1] * factor),
            )
            lanes = tuple(wider if i == position else one for i, one in enumerate(problem.lanes))
            return trial.feasible(lanes=lanes)

        factor = trial.smallest(feasible_at)
        if factor is not None:
            gbps = _round_up(most * factor * 8e-9)
            number = [link.name for link in scenario.links].index(lane.label)
            path = f"links.{number}.bandwidth.max"
            text = f"{gbps:g} Gbps from {lane.source} to {lane.target} instead of {most * 8e-9:g}"
            out.append((factor - 1.0, Change(change=text, path=path, value=f"{gbps:g} Gbps")))
    return out


def _looser_limits(
    scenario: Scenario, problem: Problem, trial: _Trials
) -> list[tuple[float, Change]]:
    out = []
    for limit in problem.limits:

        def feasible_at(factor: float, limit: Limit = limit) -> bool:
            looser = replace(limit, limit_s=limit.limit_s * factor)
            limits = tuple(looser if one == limit else one for one in problem.limits)
            return trial.feasible(limits=limits)

        factor = trial.smallest(feasible_at)
        if factor is not None:
            value = _time(_round_up(limit.limit_s * factor))
            text = f"slo.{limit.key} of {value} instead of {_time(limit.limit_s)}"
            change = Change(change=text, path=f"slo.{limit.key}", value=value)
            out.append((factor - 1.0, change))
    del scenario
    return out


def _less_load(scenario: Scenario, problem: Problem, trial: _Trials) -> list[tuple[float, Change]]:
    del scenario
    rate = problem.arrival_rate_per_s
    start = max(1.0, rate / max(stable_rate_per_s(problem), 1e-12))
    factor = trial.smallest(lambda f: trial.feasible(arrival_rate_per_s=rate / f), start)
    if factor is None:
        return []
    value = float(f"{rate / factor:.2g}")
    value = value if value <= rate / factor else float(f"{0.95 * rate / factor:.2g}")
    text = f"{value:g} req/s instead of {rate:.4g}"
    change = Change(change=text, path="workload.rate", value=f"{value:g} req/s")
    return [(1.0 - value / rate, change)]


def _reason(problem: Problem, trial: _Trials) -> str:
    """First kind of resource without whose limit a plan exists."""
    many = {key: max(stock, 8) * 64 for key, stock in problem.stock.items()}
    plenty = dict(problem.stock)
    pools = problem.pools
    for key, chips in many.items():
        changed = _with_stock(replace(problem, pools=pools), key, chips)
        pools = changed["pools"]  # type: ignore[assignment]
        plenty[key] = chips
    stock = ", ".join(f"{n} {chip} at {site}" for (site, chip), n in problem.stock.items())
    if trial.feasible(pools=pools, stock=plenty):
        return (
            f"the stock ({stock}) cannot carry {problem.arrival_rate_per_s:.4g} req/s within the "
            "limits"
        )
    lanes = tuple(
        lane
        if lane.local
        else replace(
            lane,
            bytes_per_s=np.append(lane.bytes_per_s, lane.bytes_per_s[-1] * 64.0),
            usd_per_hour=np.append(lane.usd_per_hour, lane.usd_per_hour[-1] * 64.0),
        )
        for lane in problem.lanes
    )
    if trial.feasible(lanes=lanes):
        return "the lines at their largest bandwidth are too slow, whatever the stock"
    return (
        f"neither more chips nor more bandwidth alone is enough to serve "
        f"{problem.arrival_rate_per_s:.4g} req/s within the limits"
    )


def _failures(problem: Problem) -> tuple[Failure, ...]:
    """Chips that stability alone needs, against the stock, by role of the busiest resource."""
    out = []
    sites = {lane.source for lane in problem.lanes if not lane.baseline_only}
    needed: dict[tuple[str, str], int] = {}
    for pool in problem.pools:
        if pool.role == "prefill" and pool.site in sites:
            work = float(problem.atoms.weight @ pool.service_s) / pool.servers_per_engine
            load = problem.arrival_rate_per_s * problem.peak_multiplier
            chips = math.ceil(load * work) * pool.chips_per_engine
            key = (pool.site, pool.chip)
            needed[key] = min(needed.get(key, chips), chips)
    for (site, chip), chips in needed.items():
        stock = problem.stock[site, chip]
        if chips > stock:
            out.append(
                Failure(
                    what=f"sites.{site}.chips.{chip}.available for prefill alone",
                    best=float(chips),
                    limit=float(stock),
                    unit="chips",
                )
            )
    return tuple(out)


def _round_up(value: float) -> float:
    """Round up to two digits."""
    if value <= 0.0:
        return value
    scale = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / scale - 1e-9) * scale:.6g}")


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 0.1 else f"{seconds:.3g} s"
