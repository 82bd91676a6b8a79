"""Fleets that survive a loss: against every fleet there is, and by simulation of what is left."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest

from pdd_plan.fleet.check import check
from pdd_plan.fleet.outages import Outage
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.optimizer.search import SearchOptions
from pdd_plan.studies.planning import PlanOptions
from pdd_plan.studies.resilience import cheapest_survivor
from pdd_plan.studies.resilience_cases import Cases, Tolerance
from pdd_plan.studies.spares import plan_spares
from tests.problems import ProblemOptions, random_problem

TIME = PlanOptions(time_limit_s=60.0)


def small_problem(seed: int, **shape: object) -> Problem:
    """A problem of few engines, line sizes, thresholds and flow steps."""
    options = {"atoms": (20, 30), "rate_per_s": (1.0, 3.0), "max_engines": 4, "levels": 2}
    options |= {"thresholds": 3, "gbps_per_level": 6.0, **shape}
    problem, _ = random_problem(seed, ProblemOptions(**options))  # type: ignore[arg-type]
    return replace(problem, load_steps=2, slot_waits=(0.01,))


class Enumeration:
    """The cheapest fleet that survives, by trying all of them in the order of cost.

    Written without any part of the search: losses are zeros in counts and closed lanes, and the
    router is free to take any threshold and any split of the demand in steps.
    """

    def __init__(self, problem: Problem, tolerance: Tolerance) -> None:
        self.problem = problem
        self.tolerance = tolerance
        self.usual = PathModel(problem)
        self.lost = PathModel(replace(problem, limits=tolerance.limits))
        steps, lanes = problem.load_steps, len(problem.lanes)
        step = problem.arrival_rate_per_s / steps
        self.splits = [
            tuple(n * step for n in split)
            for split in itertools.product(range(steps + 1), repeat=lanes)
            if sum(split) == steps
        ]

    def best(self) -> float:
        """Least cost; infinite where no fleet survives."""
        for cost, fleet in sorted(self._fleets(), key=lambda pair: pair[0]):
            if self._survives(fleet):
                return cost
        return float("inf")

    def _fleets(self) -> Iterator[tuple[float, Candidate]]:
        pools = [range(pool.max_engines + 1) for pool in self.problem.pools]
        sizes = [range(-1, lane.bytes_per_s.size) for lane in self.problem.lanes]
        for engines in itertools.product(*pools):
            for levels in itertools.product(*sizes):
                fleet = Candidate(0, 0.01, engines, levels, ())
                yield fleet.usd_per_hour(self.problem), fleet

    def _survives(self, fleet: Candidate) -> bool:
        usual = (
            setting
            for setting in self._settings(fleet)
            if check(self.problem, setting, self.usual).ok and self._without_spares(setting)
        )
        return next(usual, None) is not None and all(
            any(check(self.lost.problem, one, self.lost).ok for one in self._settings(left))
            for left in self._left(fleet)
        )

    def _without_spares(self, setting: Candidate) -> bool:
        fewer = tuple(max(n - self.tolerance.spares, 0) for n in setting.engines)
        return check(self.lost.problem, replace(setting, engines=fewer), self.lost).ok

    def _left(self, fleet: Candidate) -> Iterator[Candidate]:
        for outage in self.tolerance.outages:
            engines = tuple(
                0 if outage.kind == "site" and pool.site == outage.name else n
                for n, pool in zip(fleet.engines, self.problem.pools, strict=True)
            )
            gone = [
                outage.name in (lane.source, lane.target, lane.label) for lane in self.problem.lanes
            ]
            levels = tuple(-1 if g else n for g, n in zip(gone, fleet.levels, strict=True))
            yield replace(fleet, engines=engines, levels=levels)

    def _settings(self, fleet: Candidate) -> Iterator[Candidate]:
        for threshold in range(self.problem.thresholds.size):
            for flows in self.splits:
                if all(level >= 0 or not f for level, f in zip(fleet.levels, flows, strict=True)):
                    yield replace(fleet, threshold_index=threshold, flows_per_s=flows)


def found_and_bound(problem: Problem, tolerance: Tolerance) -> tuple[float, float]:
    """Cost of the fleet found, and bound on the cost of any."""
    cases = Cases(PathModel(problem), tolerance, TIME)
    found = cases.solve()
    lower = cases.lower_bound(found)
    if lower == float("inf"):
        return lower, lower
    chosen = cheapest_survivor(cases, found)
    assert chosen is not None
    return chosen.usd_per_hour(problem), lower


@pytest.mark.parametrize("seed", range(8))
def test_spare_engines_cost_what_enumeration_says(seed):
    problem = small_problem(seed, chips=2 if seed % 2 else 1, max_engines=3 if seed % 2 else 5)
    tolerance = Tolerance(problem.limits, spares=1)
    best = Enumeration(problem, tolerance).best()
    found = plan_spares(PathModel(problem), 1, SearchOptions(time_limit_s=60.0))
    assert found.usd_per_hour == pytest.approx(best)
    assert found.certificate.lower_bound_usd_per_hour == pytest.approx(best)


TWO_DECODE = {"decode_sites": 2, "max_engines": 3}
TWO_BY_TWO = {"prefill_sites": 2, "decode_sites": 2, "max_engines": 2, "relay": False}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("lost", ["site", "line"])
def test_the_fleet_that_survives_a_decode_site_or_line_is_the_cheapest_there_is(seed, lost):
    problem = small_problem(seed, **TWO_DECODE)
    names = ["decode-0", "decode-1"] if lost == "site" else [x.label for x in problem.lanes]
    outages = tuple(Outage(lost, name) for name in names)  # type: ignore[arg-type]
    tolerance = Tolerance(problem.limits, 0, outages)
    best = Enumeration(problem, tolerance).best()
    cost, lower = found_and_bound(problem, tolerance)
    assert lower <= best * (1 + 1e-9)
    assert cost == pytest.approx(best)
