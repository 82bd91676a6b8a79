"""Every candidate of a small problem, by direct evaluation: no tables, no bounds, no solver.

For each threshold, slot wait, flow split and line size, every vector of engine counts of every
site is put to the planning rule; the cheapest combination within stock is the optimum.
"""

from __future__ import annotations

import itertools

import numpy as np

from pdd_plan.fleet.check import TOLERANCE
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Problem

Counts = tuple[int, ...]


class Enumeration:
    """Cheapest cost of a problem by looking at every candidate."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.model = PathModel(problem)
        self.candidates = 0

    def best(self) -> float:
        """Least cost over all candidates; infinite where none keeps the rule."""
        best = np.inf
        thresholds = range(self.problem.thresholds.size)
        for threshold, wait in itertools.product(thresholds, self.problem.slot_waits):
            for keys in self._lane_states():
                lines = sum(self.problem.lanes[lane].usd_per_hour[level] for lane, level, _ in keys)
                if lines < best:
                    best = min(best, lines + self._engines(threshold, wait, keys, best - lines))
        return float(best)

    def _lane_states(self) -> list[list[tuple[int, int, float]]]:
        """Every way to share the flow out in steps and to size the open lines."""
        problem = self.problem
        steps, count = problem.load_steps, len(problem.lanes)
        out = []
        for split in itertools.product(range(steps + 1), repeat=count):
            if sum(split) != steps:
                continue
            lanes = [lane for lane in range(count) if split[lane]]
            levels = [range(problem.lanes[lane].bytes_per_s.size) for lane in lanes]
            out += [
                [
                    (lane, level, split[lane] * problem.arrival_rate_per_s / steps)
                    for lane, level in zip(lanes, chosen, strict=True)
                ]
                for chosen in itertools.product(*levels)
            ]
        return out

    def _engines(
        self, threshold: int, wait: float, keys: list[tuple[int, int, float]], below: float
    ) -> float:
        """Least cost of engines for given lane states; infinite where there is none below."""
        if any(self.model.peak_state(*key) is None for key in keys):
            return np.inf
        groups: list[list[tuple[tuple[int, ...], Counts]]] = []
        sources = dict.fromkeys(self.problem.lanes[key[0]].source for key in keys)
        targets = dict.fromkeys(self.problem.lanes[key[0]].target for key in keys)
        for site in sources:
            here = [key for key in keys if self.problem.lanes[key[0]].source == site]
            groups.append(self._prefill(site, here, threshold, wait))
            groups.append(self._relay(site, here, threshold, wait))
        for site in targets:
            here = [key for key in keys if self.problem.lanes[key[0]].target == site]
            groups.append(self._decode(site, here, threshold, wait))
        return self._cheapest(groups, below)

    def _vectors(self, pools: tuple[int, ...]) -> list[Counts]:
        ranges = [range(self.problem.pools[i].max_engines + 1) for i in pools]
        vectors = itertools.product(*ranges)
        return [
            v
            for v in vectors
            if all(
                n == 0 or n >= self.problem.pools[i].min_engines
                for n, i in zip(v, pools, strict=True)
            )
        ]

    def _prefill(
        self, site: str, keys: list[tuple[int, int, float]], threshold: int, wait: float
    ) -> list[tuple[tuple[int, ...], Counts]]:
        pools = self.problem.pool_indices(site, "prefill")
        needed = sum(flow for _, _, flow in keys)
        capacity = {}
        for i in pools:
            capacity[i, 0] = 0.0
            for n in range(1, self.problem.pools[i].max_engines + 1):
                loads = self.model.prefill_capacities(i, [n], keys, threshold, wait)
                capacity[i, n] = float(loads.min())
        return [
            (pools, v)
            for v in self._vectors(pools)
            if needed
            <= sum(capacity[i, n] for i, n in zip(pools, v, strict=True)) * (1 + TOLERANCE)
        ]

    def _relay(
        self, site: str, keys: list[tuple[int, int, float]], threshold: int, wait: float
    ) -> list[tuple[tuple[int, ...], Counts]]:
        pools = self.problem.pool_indices(site, "relay")
        works = [self.model.relay_erlang(*key, threshold) for key in keys]
        if any(work is None for work in works):
            return []
        needed = sum(work for work in works if work)
        return [
            (pools, v)
            for v in self._vectors(pools)
            if needed
            <= sum(
                self.model.relay_capacity_erlang(i, n, wait) if n else 0.0
                for i, n in zip(pools, v, strict=True)
            )
            * (1 + TOLERANCE)
        ]

    def _decode(
        self, site: str, keys: list[tuple[int, int, float]], threshold: int, wait: float
    ) -> list[tuple[tuple[int, ...], Counts]]:
        pools = self.problem.pool_indices(site, "decode")
        works = [self.model.decode_work_per_s(*key, threshold) for key in keys]
        if any(work is None for work in works):
            return []
        needed = sum(work for work in works if work)
        return [
            (pools, v)
            for v in self._vectors(pools)
            if needed
            <= sum(
                self.model.decode_capacity_per_s(i, n, wait) if n else 0.0
                for i, n in zip(pools, v, strict=True)
            )
            * (1 + TOLERANCE)
        ]

    def _cheapest(self, groups: list[list[tuple[tuple[int, ...], Counts]]], below: float) -> float:
        """Cheapest combination of one vector of each group within stock."""
        problem = self.problem
        chips = list(problem.stock)
        best = below
        found = False

        def cost(pools: tuple[int, ...], v: Counts) -> float:
            return sum(
                n * problem.pools[i].usd_per_engine_hour for i, n in zip(pools, v, strict=True)
            )

        def used(pools: tuple[int, ...], v: Counts) -> np.ndarray:
            out = np.zeros(len(chips))
            for i, n in zip(pools, v, strict=True):
                pool = problem.pools[i]
                out[chips.index((pool.site, pool.chip))] += n * pool.chips_per_engine
            return out

        stock = np.array([problem.stock[key] for key in chips])
        ranked = [sorted(((cost(*o), used(*o)) for o in g), key=lambda o: o[0]) for g in groups]
        if any(not group for group in ranked):
            return np.inf

        def descend(level: int, spent: float, chips_used: np.ndarray) -> None:
            nonlocal best, found
            if level == len(ranked):
                self.candidates += 1
                best, found = spent, True
                return
            for price, taken in ranked[level]:
                if spent + price >= best:
                    break
                total = chips_used + taken
                if (total <= stock).all():
                    descend(level + 1, spent + price, total)

        descend(0, 0.0, np.zeros(len(chips)))
        return best if found else np.inf
