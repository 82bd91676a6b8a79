"""The best fleet that routes by size, by looking at every one.

For a threshold, a line size and engine shapes, each stage needs a least number of engines at a
rate, and that is all that couples them: so the cheapest fleet at a rate is read off three tables,
and its cost steps up only where a stage needs one more. The largest rate, and the largest rate per
cost, therefore lie at one of those steps. Thresholds whose value would be no better even if no
limit on latency held are left out, which loses nothing.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pdd_plan.fleet.problem import Candidate, FloatArray
from pdd_plan.fleet.size_limits import SizeLimits
from pdd_plan.fleet.size_routing import EngineChoice, SizeFleet, StageRates

TOLERANCE = 1e-9
"""Relative tolerance of rates, stock and budget."""


@dataclass(frozen=True)
class SizeGoal:
    """What is wanted of the fleet.

    Attributes
    ----------
    objective : {"cost_per_token", "goodput", "bcr"}
        Least cost at the rate, largest rate, or largest rate per cost.
    rate_per_s : float
        Rate to carry, or the least one to carry [requests/s].
    budget_usd_per_hour : float
        Most that a fleet may cost.
    """

    objective: str
    rate_per_s: float = 0.0
    budget_usd_per_hour: float = math.inf

    def value(self, rate_per_s: float, usd_per_hour: float) -> float:
        """Value of a fleet, the larger the better."""
        if self.objective == "goodput":
            return rate_per_s
        if self.objective == "bcr":
            return rate_per_s / usd_per_hour if usd_per_hour > 0.0 else math.inf
        return -usd_per_hour


@dataclass(frozen=True)
class SizePlan:
    """The best fleet and the rate it carries.

    Attributes
    ----------
    candidate : Candidate
        With flows at ``rate_per_s``.
    rate_per_s : float
        Rate of the goal, or the largest one that the fleet carries [requests/s].
    choice : EngineChoice
        Engine shapes.
    limited_by : {"remote", "home", "decode"}
        Stage that gives first: remote prefill or the line, home prefill, or decode.
    """

    candidate: Candidate
    rate_per_s: float
    usd_per_hour: float
    choice: EngineChoice
    limited_by: str


@dataclass(frozen=True)
class SizeResult:
    """Outcome: a plan or none, and how many fleets were looked at."""

    plan: SizePlan | None
    fleets: int
    thresholds: int


def best_by_size(
    fleet: SizeFleet,
    goal: SizeGoal,
    slot_waits: tuple[float, ...] = (),
    thresholds: Iterable[int] | None = None,
) -> SizeResult:
    """Find the best fleet over thresholds, line sizes, engine shapes and counts.

    Parameters
    ----------
    fleet : SizeFleet
        What is planned.
    goal : SizeGoal
        What is wanted.
    slot_waits : tuple of float
        Allowed shares of requests that wait for a decode slot; empty: stages run at utilization 1
        and no limit on latency counts.
    thresholds : iterable of int, optional
        Indices of thresholds to look at; all that a plan may use by default.

    Returns
    -------
    SizeResult
        The best fleet; of equals the cheaper one, then the one of the earlier threshold.
    """
    allowed = fleet.problem.plan_thresholds if thresholds is None else tuple(thresholds)
    best: SizePlan | None = None
    fleets = 0
    for choice in fleet.choices():
        ranked = []
        for index in allowed:
            options = _Options(fleet, choice, fleet.stable_rates(index, choice), 0.0)
            ranked.append((options.best(goal), index))
            fleets += options.size
        if not slot_waits:
            best = _better(best, (plan for plan, _ in ranked), goal)
            continue
        order = sorted(
            ((goal.value(p.rate_per_s, p.usd_per_hour), i) for p, i in ranked if p is not None),
            key=lambda pair: (-pair[0], pair[1]),
        )
        limits = [SizeLimits(fleet, choice, wait) for wait in slot_waits]
        for ideal, index in order:
            if best is not None and ideal <= _value(best, goal):
                break
            models = limits[0].models
            models.clear()
            for one in limits:
                one.models = models
                beaten = goal.objective == "goodput" and best is not None
                if beaten and best and not one.could(index, best.rate_per_s):
                    continue
                options = _Options(fleet, choice, one.rates(index), one.slot_wait)
                best = _better(best, [options.best(goal)], goal)
                fleets += options.size
    return SizeResult(best, fleets, len(allowed))


def goodput_by_size(
    fleet: SizeFleet, candidate: Candidate, slot_waits: tuple[float, ...] = ()
) -> tuple[float, str]:
    """Largest rate of a given fleet [requests/s], and the stage that gives first."""
    choice, counts = choice_of(fleet, candidate)
    found = (0.0, "")
    index = candidate.threshold_index
    tables = [fleet.stable_rates(index, choice)]
    if slot_waits:
        tables = [SizeLimits(fleet, choice, wait).rates(index) for wait in slot_waits]
    for rates in tables:
        found = max(found, _reach(rates, max(candidate.levels[fleet.remote_lane], 0), counts))
    return found


def choice_of(fleet: SizeFleet, candidate: Candidate) -> tuple[EngineChoice, tuple[int, int, int]]:
    """Engine shapes and counts (remote, home, decode) of a candidate with one shape a stage."""
    line = fleet.line
    picked, counts = [], []
    for site, role in ((line.source, "prefill"), (line.target, "prefill"), (line.target, "decode")):
        pools = fleet.problem.pool_indices(site, role)  # type: ignore[arg-type]
        used = [i for i in pools if candidate.engines[i]] or [pools[0]]
        picked.append(used[0])
        counts.append(candidate.engines[used[0]])
    return EngineChoice(*picked), (counts[0], counts[1], counts[2])


def _value(plan: SizePlan, goal: SizeGoal) -> float:
    return goal.value(plan.rate_per_s, plan.usd_per_hour)


def _better(
    best: SizePlan | None, plans: Iterable[SizePlan | None], goal: SizeGoal
) -> SizePlan | None:
    for plan in plans:
        if plan is None:
            continue
        if best is None:
            best = plan
            continue
        new, old = _value(plan, goal), _value(best, goal)
        slack = TOLERANCE * abs(old)
        cheaper = plan.usd_per_hour < best.usd_per_hour * (1.0 - TOLERANCE)
        if new > old + slack or (new >= old - slack and cheaper):
            best = plan
    return best


def _reach(rates: StageRates, level: int, counts: tuple[int, int, int]) -> tuple[float, str]:
    stages = {
        "remote": float(rates.remote[level, counts[0]]),
        "home": float(rates.home[counts[1]]),
        "decode": float(rates.decode[level, counts[2]]),
    }
    name = min(stages, key=lambda key: stages[key])
    return stages[name], name


class _Options:
    """Every fleet of one threshold and choice of shapes."""

    def __init__(
        self, fleet: SizeFleet, choice: EngineChoice, rates: StageRates, slot_wait: float
    ) -> None:
        self.fleet = fleet
        self.problem = fleet.problem
        self.choice = choice
        self.rates = rates
        self.slot_wait = slot_wait

    @property
    def size(self) -> int:
        """Fleets: counts of each stage times line sizes."""
        return int(self.rates.remote.size * self.rates.home.size * self.rates.decode.shape[1])

    def best(self, goal: SizeGoal) -> SizePlan | None:
        """The best fleet of all."""
        rates = self._steps(goal)
        if not rates.size:
            return None
        found: SizePlan | None = None
        for level in self.fleet.levels:
            counts = self._least(level, rates)
            usd = self._usd(level, counts)
            ok = self._fits(counts) & (usd <= goal.budget_usd_per_hour * (1.0 + TOLERANCE))
            if not ok.any():
                continue
            values = [goal.value(r, u) for r, u in zip(rates[ok], usd[ok], strict=True)]
            at = np.flatnonzero(ok)[int(np.argmax(values))]
            found = _better(found, [self._plan(level, counts[:, at], goal, rates[at])], goal)
        return found

    def _steps(self, goal: SizeGoal) -> FloatArray:
        """Rates at which some stage is just full: the only ones worth looking at."""
        if goal.objective == "cost_per_token":
            return np.array([goal.rate_per_s])
        stages = (self.rates.remote, self.rates.home, self.rates.decode)
        steps = np.unique(np.concatenate([stage.ravel() for stage in stages]))
        wanted = np.isfinite(steps) & (steps > 0.0) & (steps >= goal.rate_per_s)
        return np.asarray(steps[wanted], dtype=np.float64)

    def _least(self, level: int, rates: FloatArray) -> NDArray[np.int64]:
        """Fewest engines of each stage by rate, shape (3, rates); beyond the table for none."""
        rows = (self.rates.remote[level], self.rates.home, self.rates.decode[level])
        pools = self.choice.of(self.problem)
        out = []
        for row, pool in zip(rows, pools, strict=True):
            count = np.searchsorted(row, rates * (1.0 - TOLERANCE), side="left")
            out.append(np.where(count > 0, np.maximum(count, pool.min_engines), 0))
        return np.array(out, dtype=np.int64)

    def _usd(self, level: int, counts: NDArray[np.int64]) -> FloatArray:
        pools = self.choice.of(self.problem)
        prices = np.array([pool.usd_per_engine_hour for pool in pools])
        line = np.where(counts[0] > 0, self.fleet.line.usd_per_hour[level], 0.0)
        return np.asarray(prices @ counts + line)

    def _fits(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether counts are within stock and power."""
        pools = self.choice.of(self.problem)
        fits = np.ones(counts.shape[1], dtype=bool)
        chips: dict[tuple[str, str], NDArray[np.int64]] = defaultdict(lambda: np.zeros(1, np.int64))
        watts: dict[str, FloatArray] = defaultdict(lambda: np.zeros(1))
        for pool, count in zip(pools, counts, strict=True):
            fits &= count <= pool.max_engines
            key = (pool.site, pool.chip)
            chips[key] = chips[key] + count * pool.chips_per_engine
            watts[pool.site] = watts[pool.site] + count * pool.watts_per_engine
        for key, used in chips.items():
            fits &= used <= self.problem.stock[key]
        for site, most in self.problem.site_watts.items():
            fits &= watts[site] <= most * (1.0 + TOLERANCE)
        return fits

    def _plan(self, level: int, counts: NDArray[np.int64], goal: SizeGoal, step: float) -> SizePlan:
        remote, home, decode = (int(n) for n in counts)
        reach, limited_by = _reach(self.rates, level, (remote, home, decode))
        rate = goal.rate_per_s if goal.objective == "cost_per_token" else max(reach, float(step))
        engines = [0] * len(self.problem.pools)
        picked = (self.choice.remote, self.choice.home, self.choice.decode)
        for index, count in zip(picked, (remote, home, decode), strict=True):
            engines[index] = count
        candidate = candidate_at(
            self.fleet, self.rates.threshold, self.slot_wait, engines, level, rate
        )
        return SizePlan(
            candidate, rate, candidate.usd_per_hour(self.problem), self.choice, limited_by
        )


def candidate_at(
    fleet: SizeFleet,
    threshold_index: int,
    slot_wait: float,
    engines: Iterable[int],
    level: int,
    rate_per_s: float,
) -> Candidate:
    """Return the candidate of a fleet: its lanes take what the threshold gives them."""
    share = fleet.remote_share(threshold_index)
    levels = [-1] * len(fleet.problem.lanes)
    flows = [0.0] * len(fleet.problem.lanes)
    if share > 0.0:
        levels[fleet.remote_lane], flows[fleet.remote_lane] = level, share * rate_per_s
    if share < 1.0:
        levels[fleet.home_lane], flows[fleet.home_lane] = 0, (1.0 - share) * rate_per_s
    return Candidate(threshold_index, slot_wait, tuple(engines), tuple(levels), tuple(flows))
