"""Check one candidate against the planning rule, without tables of the optimizer or a solver."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from pdd_plan.fleet.lanes import StateKey
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.fleet.purchase import paid_chips

TOLERANCE = 1e-7
"""Relative slack of sums: loads are accepted up to this much above capacity."""


@dataclass(frozen=True)
class Violation:
    """One part of the rule that a candidate breaks.

    Attributes
    ----------
    kind : {"flow", "stock", "site", "line", "prefill", "relay", "decode", "power",
        "redundancy", "handoff"}
        What is short.
    where : str
        Site, lane or site and chip.
    needed, available : float
        In the unit of the kind: requests/s, Erlang or chips.
    """

    kind: str
    where: str
    needed: float
    available: float


@dataclass(frozen=True)
class CheckResult:
    """Outcome of a check.

    Attributes
    ----------
    violations : tuple of Violation
        Empty where the candidate keeps the rule.
    pool_loads : tuple of float
        Load of each pool option: prefill and decode [requests/s at multiplier 1], relay [Erlang
        at the peak]; shared out in proportion to capacity.
    """

    violations: tuple[Violation, ...]
    pool_loads: tuple[float, ...]

    @property
    def ok(self) -> bool:
        """Whether the rule is kept."""
        return not self.violations


def check(
    problem: Problem,
    candidate: Candidate,
    model: PathModel | None = None,
    *,
    any_flow: bool = False,
) -> CheckResult:
    """Check a candidate against the planning rule.

    Parameters
    ----------
    problem : Problem
        What to plan.
    candidate : Candidate
        The decision.
    model : PathModel, optional
        Path model of the same problem, to reuse its waiting-time tables.
    any_flow : bool
        Take the candidate's flows as the load, whatever the demand is.

    Returns
    -------
    CheckResult
        What is violated, and the load of each pool.
    """
    model = model or PathModel(problem)
    violations = [] if any_flow else _flow(problem, candidate)
    violations += _stock(problem, candidate)
    open_lanes = [
        (lane, candidate.levels[lane], flow)
        for lane, flow in enumerate(candidate.flows_per_s)
        if flow > 0.0
    ]
    loads = [0.0] * len(problem.pools)
    broken = [key for key in open_lanes if model.peak_state(*key) is None]
    for lane, level, flow in broken:
        usable = problem.lanes[lane].bytes_per_s[level] * problem.lanes[lane].efficiency
        needed = (
            flow * problem.peak_multiplier * float(problem.atoms.weight @ problem.transfer_bytes)
        )
        violations.append(Violation("line", problem.lanes[lane].label, needed, usable))
    if not broken:
        for site in problem.prefill_sites:
            keys = [key for key in open_lanes if problem.lanes[key[0]].source == site]
            violations += _check_prefill(model, candidate, site, keys, loads)
            violations += _check_relay(model, candidate, site, keys, loads)
        for site in problem.decode_sites:
            keys = [key for key in open_lanes if problem.lanes[key[0]].target == site]
            violations += _check_decode(model, candidate, site, keys, loads)
    return CheckResult(tuple(violations), tuple(loads))


def _flow(problem: Problem, candidate: Candidate) -> list[Violation]:
    total = sum(candidate.flows_per_s)
    if total < problem.arrival_rate_per_s * (1.0 - TOLERANCE):
        return [Violation("flow", "all lanes", problem.arrival_rate_per_s, total)]
    return []


def _stock(problem: Problem, candidate: Candidate) -> list[Violation]:
    out = []
    watts: dict[str, float] = defaultdict(float)
    for engines, pool in zip(candidate.engines, problem.pools, strict=True):
        watts[pool.site] += engines * pool.watts_per_engine
    paid = paid_chips(problem.terms, candidate.chips_used(problem))
    for (site, chip), chips in paid.items():
        stock = problem.stock[site, chip]
        if chips > stock:
            out.append(Violation("stock", f"{site} {chip}", chips, stock))
    for site, most in problem.site_chips.items():
        chips = sum(count for key, count in paid.items() if key[0] == site)
        if chips > most:
            out.append(Violation("site", site, chips, most))
    for engines, pool in zip(candidate.engines, problem.pools, strict=True):
        if 0 < engines < pool.min_engines:
            out.append(Violation("redundancy", pool.label, pool.min_engines, engines))
    for site, budget in problem.site_watts.items():
        if watts[site] > budget * (1.0 + TOLERANCE):
            out.append(Violation("power", site, watts[site], budget))
    return out


def _share(
    model: PathModel,
    candidate: Candidate,
    kind: str,
    site: str,
    needed: float,
    capacities: dict[int, float],
    loads: list[float],
) -> list[Violation]:
    """Share work out over pools in proportion to capacity; report it where it does not fit."""
    total = sum(capacities.values())
    for pool, share in _shares(model, candidate, capacities).items():
        loads[pool] = needed * share
    if needed > total * (1.0 + TOLERANCE):
        return [Violation(kind, site, needed, total)]
    return []


def _shares(
    model: PathModel, candidate: Candidate, capacities: dict[int, float]
) -> dict[int, float]:
    """Shares of work in proportion to capacity, or to chips where a limit leaves no capacity."""
    weights = capacities
    if sum(capacities.values()) <= 0.0:
        options = model.problem.pools
        weights = {i: candidate.engines[i] * options[i].chips_per_engine for i in capacities}
    total = sum(weights.values())
    return {pool: weight / total for pool, weight in weights.items()} if total else {}


def _check_prefill(
    model: PathModel, candidate: Candidate, site: str, keys: list[StateKey], loads: list[float]
) -> list[Violation]:
    if not keys:
        return []
    capacities = {}
    for pool in model.problem.pool_indices(site, "prefill"):
        engines = candidate.engines[pool]
        if engines:
            by_lane = model.prefill_capacities(
                pool, [engines], keys, candidate.threshold_index, candidate.slot_wait
            )
            capacities[pool] = float(by_lane.min())
    needed = sum(flow for _, _, flow in keys)
    return _share(model, candidate, "prefill", site, needed, capacities, loads)


def _check_relay(
    model: PathModel, candidate: Candidate, site: str, keys: list[StateKey], loads: list[float]
) -> list[Violation]:
    works = [model.relay_erlang(*key, candidate.threshold_index) for key in keys]
    if any(work is None for work in works):
        return [Violation("relay", site, float("inf"), 0.0)]
    for key in keys:
        if not model.handoff_ok(*key, candidate.threshold_index):
            return [Violation("handoff", model.problem.lanes[key[0]].label, 0.0, 0.0)]
    needed = sum(work for work in works if work)
    capacities = {
        pool: model.relay_capacity_erlang(pool, candidate.engines[pool], candidate.slot_wait)
        for pool in model.problem.pool_indices(site, "relay")
        if candidate.engines[pool]
    }
    return _share(model, candidate, "relay", site, needed, capacities, loads)


def _check_decode(
    model: PathModel, candidate: Candidate, site: str, keys: list[StateKey], loads: list[float]
) -> list[Violation]:
    works = [model.decode_work_per_s(*key, candidate.threshold_index) for key in keys]
    if any(work is None for work in works):
        return [Violation("relay", site, float("inf"), 0.0)]
    needed = sum(work for work in works if work)
    capacities = {
        pool: model.decode_capacity_per_s(pool, candidate.engines[pool], candidate.slot_wait)
        for pool in model.problem.pool_indices(site, "decode")
        if candidate.engines[pool]
    }
    out = _share(model, candidate, "decode", site, needed, capacities, loads)
    flow = sum(f for _, _, f in keys)
    for pool, share in _shares(model, candidate, capacities).items():
        loads[pool] = flow * share
    return out
