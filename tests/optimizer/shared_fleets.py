"""Small services on one fleet, and their cheapest plans together by looking at all of them.

Every candidate of each service comes from direct evaluation; candidates of the services are then
paired, and their chips, watts and line steps added up. No prices, no bounds, no solver.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from pdd_plan.fleet.problem import Problem
from pdd_plan.fleet.shared import SharedLine, SharedProblem
from tests.optimizer.enumeration import Enumeration, Keys
from tests.problems import ProblemOptions, random_problem

KINDS = {
    "one-lane": {"link_price": "dear"},
    "two-decode-sites": {"decode_sites": 2},
    "local-or-remote": {"link_price": "dear", "local": True},
    "two-chips": {"chips": 2, "max_engines": 3},
}
"""Kinds of problems that the services are of."""

SMALL = {
    "atoms": (30, 40),
    "rate_per_s": (1.0, 3.0),
    "max_engines": 4,
    "levels": 4,
    "thresholds": 4,
    "gbps_per_level": 2.0,
}

Point = tuple[tuple[float, ...], float]
"""What a plan takes of every row, and the price of its chips."""


def shared_fleet(
    kind: str,
    seed: int,
    services: int = 2,
    *,
    engines: int | None = None,
    fixed: float = 0.0,
    least_steps: int = 1,
    watts: float | None = None,
) -> SharedProblem:
    """Random services on one small fleet.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    seed : int
        Same arguments, same services.
    services : int
        Number of services.
    engines : int, optional
        Stock of every chip, in engines of 8 chips; 3 to 6 by the seed by default.
    fixed : float
        Price of a line that is used at all [currency/h].
    least_steps : int
        Smallest size of a line.
    watts : float, optional
        Power of the first prefill site, where every engine takes 8 kW.
    """
    options = ProblemOptions(**{**SMALL, **KINDS[kind]})
    drawn = [random_problem(1000 * seed + i, options)[0] for i in range(services)]
    first = drawn[0]
    count = 3 + seed % 4 if engines is None else engines
    stock = dict.fromkeys(first.stock, 8 * count)
    limited = {} if watts is None else {"prefill-0": watts}
    lines = tuple(
        SharedLine(
            lane=i,
            label=lane.label,
            step_bytes_per_s=float(lane.bytes_per_s[0]),
            min_steps=least_steps,
            max_steps=lane.bytes_per_s.size,
            usd_per_step_hour=2.0 * float(lane.usd_per_hour[0]),
            usd_per_hour=fixed,
        )
        for i, lane in enumerate(first.lanes)
        if not lane.local
    )
    problems = tuple(
        replace(
            one,
            stock=stock,
            load_steps=2,
            slot_waits=(0.01,),
            site_watts=limited,
            lanes=first.lanes,
            pools=tuple(replace(pool, watts_per_engine=8000.0) for pool in one.pools),
        )
        for one in drawn
    )
    return SharedProblem(tuple(f"s{i}" for i in range(services)), problems, lines)


class Front(Enumeration):
    """All plans of one service that none beats in everything it takes and in price."""

    def __init__(self, problem: Problem, shared: SharedProblem) -> None:
        super().__init__(problem)
        self.shared = shared
        self.points: dict[tuple[float, ...], float] = {}

    def front(self) -> list[Point]:
        """Every plan worth having."""
        thresholds = range(self.problem.thresholds.size)
        rules = list(itertools.product(thresholds, self.problem.slot_waits))
        for keys in self.lane_states():
            for threshold, wait in rules:
                if self.possible(keys, threshold):
                    self._keep(keys, threshold, wait)
        ranked = sorted(self.points.items(), key=lambda point: point[1])
        kept: list[Point] = []
        for use, cost in ranked:
            if not any(all(a <= b for a, b in zip(old, use, strict=True)) for old, _ in kept):
                kept.append((use, cost))
        return kept

    def _keep(self, keys: Keys, threshold: int, wait: float) -> None:
        """Keep every combination of engines of all sites that is within the whole stock."""
        groups = [
            group for site in self.sites(keys) for group in self.groups(*site, threshold, wait)
        ]
        opened = {lane: level + 1.0 for lane, level, _ in keys}
        steps = tuple(opened.get(line.lane, 0.0) for line in self.shared.lines)
        pools = [pool for options, _ in groups for pool in options]
        for vectors in itertools.product(*(found for _, found in groups)):
            counts = dict(zip(pools, itertools.chain(*vectors), strict=True))
            use = self._use(counts)
            if use is not None:
                cost = sum(n * self.problem.pools[i].usd_per_engine_hour for i, n in counts.items())
                point = (*use, *steps)
                self.points[point] = min(cost, self.points.get(point, np.inf))

    def _use(self, counts: dict[int, int]) -> tuple[float, ...] | None:
        """Chips and watts of engines; None where there are not so many."""
        taken = []
        for row in self.shared.rows:
            if row.kind == "line":
                continue
            here = [(n, self.problem.pools[i]) for i, n in counts.items()]
            if row.kind == "chips":
                key = (row.site, row.chip)
                used = sum(n * p.chips_per_engine for n, p in here if (p.site, p.chip) == key)
            else:
                used = sum(n * p.watts_per_engine for n, p in here if p.site == row.site)
            if used > row.capacity:
                return None
            taken.append(float(used))
        return tuple(taken)


def least_cost(shared: SharedProblem) -> float:
    """Least cost of all services together, over every pair of plans; infinite where none fit."""
    fronts = [Front(problem, shared).front() for problem in shared.problems]
    others = sum(row.kind != "line" for row in shared.rows)
    capacities = np.array([row.capacity for row in shared.rows])
    best = float("inf")
    for plans in itertools.product(*fronts):
        total = np.sum([use for use, _ in plans], axis=0)
        if (total > capacities).any():
            continue
        cost = sum(price for _, price in plans)
        for line, steps in zip(shared.lines, total[others:], strict=True):
            if steps:
                size = max(steps, line.min_steps)
                cost += line.usd_per_hour + line.usd_per_step_hour * size
        best = min(best, cost)
    return best
