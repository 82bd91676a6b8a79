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
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.resilience import cheapest_survivor
from pdd_plan.studies.resilience_cases import Cases, Tolerance
from pdd_plan.studies.shared_prices import shared_prices
from pdd_plan.studies.spares import plan_spares
from pdd_plan.studies.survivors import Cheaper
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


def losses(kind: str, *names: str) -> tuple[Outage, ...]:
    return tuple(Outage(kind, name) for name in names)  # type: ignore[arg-type]


SEEDS = [pytest.param(n, marks=[pytest.mark.long] if n > 2 else []) for n in range(12)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("chips", [1, 2])
def test_spare_engines_cost_what_enumeration_says(seed, chips):
    problem = small_problem(seed, chips=chips, max_engines=5 if chips == 1 else 3)
    best = Enumeration(problem, Tolerance(problem.limits, spares=1)).best()
    found = plan_spares(PathModel(problem), 1, SearchOptions(time_limit_s=60.0))
    assert found.usd_per_hour == pytest.approx(best)
    assert found.certificate.lower_bound_usd_per_hour == pytest.approx(best)
    assert found.status == ("optimal" if best < float("inf") else "infeasible")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["site", "line"])
def test_a_fleet_that_survives_a_decode_site_or_line_is_the_cheapest_there_is(seed, kind):
    problem = small_problem(seed, decode_sites=2, max_engines=3)
    names = ["decode-0", "decode-1"] if kind == "site" else [x.label for x in problem.lanes]
    tolerance = Tolerance(problem.limits, 0, losses(kind, *names))
    best = Enumeration(problem, tolerance).best()
    cost, lower = found_and_bound(problem, tolerance)
    assert lower <= best * (1 + 1e-9)
    assert cost == pytest.approx(best)


@pytest.mark.parametrize("seed", SEEDS[1:5])
def test_any_of_three_decode_sites(seed):
    problem = small_problem(seed, decode_sites=3, max_engines=3, levels=1)
    problem = replace(problem, pools=tuple(p for p in problem.pools if p.role != "relay"))
    sites = ("decode-0", "decode-1", "decode-2")
    tolerance = Tolerance(problem.limits, 0, losses("site", *sites))
    best = Enumeration(problem, tolerance).best()
    cost, lower = found_and_bound(problem, tolerance)
    assert lower <= best * (1 + 1e-9)
    assert cost == pytest.approx(best)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_spares_and_looser_limits_together_with_sites(seed):
    problem = small_problem(seed, decode_sites=2, max_engines=3)
    looser = tuple(replace(limit, limit_s=2.0 * limit.limit_s) for limit in problem.limits)
    tolerance = Tolerance(looser, 1, losses("site", "decode-0", "decode-1"))
    best = Enumeration(problem, tolerance).best()
    cost, lower = found_and_bound(problem, tolerance)
    assert lower <= best * (1 + 1e-9)
    assert cost == pytest.approx(best)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 4, 5])
def test_any_of_two_prefill_and_two_decode_sites(seed):
    """Here the search may end beside the optimum, but its bound tells by how much at most."""
    problem = small_problem(seed, prefill_sites=2, decode_sites=2, max_engines=2)
    problem = replace(problem, pools=tuple(p for p in problem.pools if p.role != "relay"))
    sites = ("prefill-0", "prefill-1", "decode-0", "decode-1")
    tolerance = Tolerance(problem.limits, 0, losses("site", *sites))
    best = Enumeration(problem, tolerance).best()
    cost, lower = found_and_bound(problem, tolerance)
    assert lower <= best * (1 + 1e-9)
    assert best * (1 - 1e-9) <= cost <= 1.01 * best


def test_shares_of_prices_add_up():
    problem = small_problem(1, prefill_sites=2, decode_sites=3)
    outages = losses("site", "prefill-0", "decode-1", "decode-2") + losses(
        "line", "prefill-1-decode-0"
    )
    parts = shared_prices(problem, outages)
    for index, pool in enumerate(problem.pools):
        shares = [part.pools[index].usd_per_engine_hour for part in parts]
        assert sum(shares) == pytest.approx(pool.usd_per_engine_hour)
        assert min(shares) >= 0.0
    for index, lane in enumerate(problem.lanes):
        together = sum(part.lanes[index].usd_per_hour for part in parts)
        assert together == pytest.approx(lane.usd_per_hour)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_out_would_be_missed(seed):
    """Every engine and size of a line less fails at what the removal says it fails at."""
    problem = small_problem(seed, decode_sites=2, max_engines=3)
    tolerance = Tolerance(problem.limits, 0, losses("site", "decode-0", "decode-1"))
    cases = Cases(PathModel(problem), tolerance, TIME)
    chosen = cheapest_survivor(cases, cases.solve())
    assert chosen is not None
    for removal in Cheaper(cases.survival, float("inf")).removals(chosen):
        assert removal.fails
        assert removal.saved_usd_per_hour > 0.0


def test_a_loss_that_nothing_survives_is_proven():
    problem = small_problem(0, decode_sites=2, max_engines=3)
    cases = Cases(
        PathModel(problem), Tolerance(problem.limits, 0, losses("site", "prefill-0")), TIME
    )
    found = cases.solve()
    assert cases.lower_bound(found) == float("inf")
    assert found[-1].label == "site:prefill-0"
