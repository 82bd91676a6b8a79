"""Why no plan exists, and the smallest single changes that make one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pdd_plan.fleet.build import BuiltProblem
from pdd_plan.fleet.plan import Change, Failure, Infeasibility
from pdd_plan.fleet.problem import LaneOption, Limit, Problem
from pdd_plan.fleet.stability import shortfall, stable_rate_per_s
from pdd_plan.optimizer.search import SearchOptions
from pdd_plan.scenario.schema import Scenario
from pdd_plan.studies.possible import round_up, time_text
from pdd_plan.studies.trials import MOST_TIMES, Trials


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
    problem = built.problem
    trial = Trials(problem, replace(options, progress=None, time_limit_s=10.0))
    return Infeasibility(
        reason=shortfall(problem) or _reason(problem, trial),
        failures=_failures(problem),
        smallest_changes=_smallest_first(_changes(scenario, problem, trial)),
    )


def explain_over_budget(
    scenario: Scenario, built: BuiltProblem, options: SearchOptions, usd_per_hour: float
) -> Infeasibility:
    """Say what a fleet within the limits costs, and which changes bring it within the budget.

    Parameters
    ----------
    options : SearchOptions
        Solver and time limit of each trial, with the budget as ``below_usd_per_hour``.
    usd_per_hour : float
        Cost of the cheapest fleet found that keeps the limits [currency/h].
    """
    budget, unit = scenario.budget_usd_per_hour or 0.0, f"{scenario.currency}/h"
    trial = Trials(built.problem, replace(options, progress=None, time_limit_s=10.0))
    least = math.ceil(100.0 * usd_per_hour) / 100.0
    text = f"a budget of {least:.2f} {unit} instead of {budget:g}"
    more = Change(change=text, path="budget", value=f"{least:.2f} {unit}")
    grow = usd_per_hour / budget - 1.0 if budget > 0.0 else math.inf
    return Infeasibility(
        reason=f"a fleet that keeps every limit costs {usd_per_hour:.2f} {unit}; none costs as "
        f"little as the budget of {budget:g} {unit}",
        failures=(Failure(what="budget", best=usd_per_hour, limit=budget, unit=unit),),
        smallest_changes=_smallest_first([(grow, more), *_changes(scenario, built.problem, trial)]),
    )


def _changes(scenario: Scenario, problem: Problem, trial: Trials) -> list[tuple[float, Change]]:
    """Single changes that make a plan, with how large they are."""
    changes = _less_load(problem, trial)
    changes += _more_chips(problem, trial)
    changes += _more_room(problem, trial)
    changes += _more_bandwidth(scenario, problem, trial)
    changes += _looser_limits(problem, trial)
    return changes


def _smallest_first(changes: list[tuple[float, Change]]) -> tuple[Change, ...]:
    return tuple(change for _, change in sorted(changes, key=lambda pair: pair[0]))


def with_stock(problem: Problem, key: tuple[str, str], chips: int) -> Problem:
    """Return a problem with another stock of one chip at one site."""
    pools = tuple(
        replace(pool, max_engines=chips // pool.chips_per_engine)
        if (pool.site, pool.chip) == key
        else pool
        for pool in problem.pools
    )
    return replace(problem, pools=pools, stock={**problem.stock, key: chips})


def _more_chips(problem: Problem, trial: Trials) -> list[tuple[float, Change]]:
    out = []
    for (site, chip), stock in problem.stock.items():
        sizes = [p.chips_per_engine for p in problem.pools if (p.site, p.chip) == (site, chip)]
        if not sizes:
            continue
        terms = problem.terms.get((site, chip))
        unit = math.lcm(min(sizes), terms.node if terms else 1)
        start = max(stock, unit)

        def chips_at(factor: float, unit: int = unit, start: int = start) -> int:
            return math.ceil(start * factor / unit - 1e-9) * unit

        def feasible_at(
            factor: float,
            key: tuple[str, str] = (site, chip),
            chips_at: Callable[[float], int] = chips_at,
        ) -> bool:
            more = with_stock(problem, key, chips_at(factor))
            return trial.feasible(pools=more.pools, stock=more.stock)

        factor = trial.smallest(feasible_at)
        if factor is not None:
            need = chips_at(factor)
            path = f"sites.{site}.chips.{chip}.available"
            text = f"{need - stock} more {chip} at {site} ({need} instead of {stock})"
            out.append((need / start - 1.0, Change(change=text, path=path, value=need)))
    return out


def _more_room(problem: Problem, trial: Trials) -> list[tuple[float, Change]]:
    """More chips in all, or more power, at a site that limits them."""
    out = []
    for site, most in problem.site_chips.items():

        def room_at(factor: float, site: str = site, most: int = most) -> bool:
            return trial.feasible(site_chips={**problem.site_chips, site: math.ceil(most * factor)})

        factor = trial.smallest(room_at)
        if factor is not None:
            need = math.ceil(most * factor)
            text = f"room for {need} chips at {site} instead of {most}"
            change = Change(change=text, path=f"sites.{site}.max_chips", value=need)
            out.append((need / most - 1.0, change))
    for site, watts in problem.site_watts.items():

        def power_at(factor: float, site: str = site, watts: float = watts) -> bool:
            return trial.feasible(site_watts={**problem.site_watts, site: watts * factor})

        factor = trial.smallest(power_at)
        if factor is not None:
            kilowatts = round_up(watts * factor / 1e3)
            text = f"{kilowatts:g} kW at {site} instead of {watts / 1e3:g}"
            change = Change(change=text, path=f"sites.{site}.power", value=f"{kilowatts:g} kW")
            out.append((factor - 1.0, change))
    return out


def _wider(lane: LaneOption, factor: float) -> LaneOption:
    """Lane with one more line size, a factor above its largest, at the largest one's price."""
    return replace(
        lane,
        bytes_per_s=np.append(lane.bytes_per_s, lane.bytes_per_s[-1] * factor),
        usd_per_hour=np.append(lane.usd_per_hour, lane.usd_per_hour[-1] * factor),
    )


def _more_bandwidth(
    scenario: Scenario, problem: Problem, trial: Trials
) -> list[tuple[float, Change]]:
    out = []
    for position, lane in enumerate(problem.lanes):
        if lane.local:
            continue
        most = float(lane.bytes_per_s[-1])

        def feasible_at(factor: float, position: int = position, lane: LaneOption = lane) -> bool:
            wider = _wider(lane, factor)
            lanes = tuple(wider if i == position else one for i, one in enumerate(problem.lanes))
            return trial.feasible(lanes=lanes)

        factor = trial.smallest(feasible_at)
        if factor is not None:
            gbps = round_up(most * factor * 8e-9)
            number = [link.name for link in scenario.links].index(lane.label)
            path = f"links.{number}.bandwidth.max"
            text = f"{gbps:g} Gbps from {lane.source} to {lane.target} instead of {most * 8e-9:g}"
            out.append((factor - 1.0, Change(change=text, path=path, value=f"{gbps:g} Gbps")))
    return out


def _looser_limits(problem: Problem, trial: Trials) -> list[tuple[float, Change]]:
    out = []
    for limit in problem.limits:

        def feasible_at(factor: float, limit: Limit = limit) -> bool:
            looser = replace(limit, limit_s=limit.limit_s * factor)
            limits = tuple(looser if one == limit else one for one in problem.limits)
            return trial.feasible(limits=limits)

        factor = trial.smallest(feasible_at)
        if factor is not None:
            value = time_text(round_up(limit.limit_s * factor))
            text = f"slo.{limit.key} of {value} instead of {time_text(limit.limit_s)}"
            change = Change(change=text, path=f"slo.{limit.key}", value=value)
            out.append((factor - 1.0, change))
    return out


def _less_load(problem: Problem, trial: Trials) -> list[tuple[float, Change]]:
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


def _reason(problem: Problem, trial: Trials) -> str:
    """First kind of resource without whose limit a plan exists."""
    plenty = problem
    for key, chips in problem.stock.items():
        plenty = with_stock(plenty, key, max(chips, 8) * 64)
    stock = ", ".join(f"{n} {chip} at {site}" for (site, chip), n in problem.stock.items())
    if trial.feasible(pools=plenty.pools, stock=plenty.stock):
        return (
            f"the stock ({stock}) cannot carry {problem.arrival_rate_per_s:.4g} req/s within the "
            "limits"
        )
    limited = problem.site_chips or problem.site_watts
    if limited and trial.feasible(site_chips={}, site_watts={}):
        limits = [f"{n} chips at {site}" for site, n in problem.site_chips.items()]
        limits += [f"{w / 1e3:g} kW at {site}" for site, w in problem.site_watts.items()]
        return (
            f"the room and power of the sites ({', '.join(limits)}) are too little for "
            f"{problem.arrival_rate_per_s:.4g} req/s within the limits"
        )
    lanes = tuple(lane if lane.local else _wider(lane, MOST_TIMES) for lane in problem.lanes)
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
