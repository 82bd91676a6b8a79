"""Every candidate of a small problem, by direct evaluation: no tables, no bounds, no solver.

For each threshold, slot wait, flow split and line size, every vector of engine counts of every
site is put to the planning rule. Sites share nothing but the flows, so the optimum is the cheapest
split with the cheapest vectors of each site; stock and power bind within a site.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from pdd_plan.fleet.check import TOLERANCE
from pdd_plan.fleet.lanes import StateKey
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import FloatArray, Problem, Role

Keys = tuple[StateKey, ...]
Counts = tuple[int, ...]
Group = tuple[tuple[int, ...], list[Counts]]
"""Pools, and vectors of their counts."""


class Enumeration:
    """Cheapest cost of a problem by looking at every candidate."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.model = PathModel(problem)
        self.site_usd = lru_cache(maxsize=None)(self._site_usd)
        self.prefill_load = lru_cache(maxsize=None)(self._prefill_load)

    def best(self) -> float:
        """Least cost over all candidates; infinite where none keeps the rule."""
        problem = self.problem
        thresholds = range(problem.thresholds.size)
        rules = list(itertools.product(thresholds, problem.slot_waits))
        return min(
            (self.cost(keys, *rule) for keys in self.lane_states() for rule in rules),
            default=np.inf,
        )

    def cost(self, keys: Keys, threshold: int, wait: float) -> float:
        """Least cost with lanes in given states; infinite where no engines keep the rule."""
        lanes = self.problem.lanes
        if not self.possible(keys, threshold):
            return np.inf
        busy = set()
        total = sum(float(lanes[lane].usd_per_hour[level]) for lane, level, _ in keys)
        for site, sent, taken in self.sites(keys):
            total += self.site_usd(site, sent, taken, threshold, wait)
            busy.add(site)
        for (site, _), terms in self.problem.terms.items():
            total += 0.0 if site in busy else terms.kept * terms.usd_per_chip_hour
        return total

    def lane_states(self) -> Iterator[Keys]:
        """Every way to share the flow out in steps and to size the open lines."""
        problem = self.problem
        steps, count = problem.load_steps, len(problem.lanes)
        for chosen in itertools.combinations_with_replacement(range(count), steps):
            lanes = sorted(set(chosen))
            levels = [range(problem.lanes[lane].bytes_per_s.size) for lane in lanes]
            for sizes in itertools.product(*levels):
                yield tuple(
                    (lane, level, chosen.count(lane) * problem.arrival_rate_per_s / steps)
                    for lane, level in zip(lanes, sizes, strict=True)
                )

    def possible(self, keys: Keys, threshold: int) -> bool:
        """Whether the lines carry their flows and hand requests over in time."""
        return all(self.model.peak_state(*key) is not None for key in keys) and all(
            self.model.handoff_ok(*key, threshold) for key in keys
        )

    def sites(self, keys: Keys) -> Iterator[tuple[str, Keys, Keys]]:
        """Every site at work, with the lanes that lead from it and those that lead to it."""
        lanes = self.problem.lanes
        for site in dict.fromkeys((*self.problem.prefill_sites, *self.problem.decode_sites)):
            sent = tuple(key for key in keys if lanes[key[0]].source == site)
            taken = tuple(key for key in keys if lanes[key[0]].target == site)
            if sent or taken:
                yield site, sent, taken

    def groups(
        self, site: str, sent: Keys, taken: Keys, threshold: int, wait: float
    ) -> list[Group]:
        """Pools of each role at a site, with every vector of counts that does its work."""
        groups: list[Group] = []
        if sent:
            groups.append(self._prefill(site, sent, threshold, wait))
            groups.append(self._slots(site, "relay", sent, threshold, wait))
        if taken:
            groups.append(self._slots(site, "decode", taken, threshold, wait))
        return groups

    def _site_usd(self, site: str, sent: Keys, taken: Keys, threshold: int, wait: float) -> float:
        """Least cost of a site within its stock, power and room, unused chips included."""
        problem = self.problem
        groups = self.groups(site, sent, taken, threshold, wait)
        pools = [pool for options, _ in groups for pool in options]
        chips = [key for key in problem.stock if key[0] == site]
        takes = np.zeros((len(pools), len(chips) + 2))
        for row, pool in zip(takes, (problem.pools[i] for i in pools), strict=True):
            row[chips.index((site, pool.chip))] = pool.chips_per_engine
            row[-2:] = pool.watts_per_engine, pool.usd_per_engine_hour
        counts = np.zeros((1, 0), dtype=np.int64)
        for _, vectors in groups:
            if not vectors:
                return np.inf
            here = np.array(vectors, dtype=np.int64).reshape(len(vectors), -1)
            counts = np.hstack(
                [np.repeat(counts, len(here), axis=0), np.tile(here, (len(counts), 1))]
            )
        used = counts @ takes
        stock = np.array([problem.stock[key] for key in chips])
        watts = problem.site_watts.get(site, np.inf)
        fits = (used[:, :-2] <= stock).all(axis=1) & (used[:, -2] <= watts * (1 + TOLERANCE))
        usd = used[:, -1] + [self._idle_usd(site, chips, row) for row in used[:, :-2]]
        return float(usd[fits].min(initial=np.inf))

    def _idle_usd(self, site: str, chips: list[tuple[str, str]], used: FloatArray) -> float:
        """Price of chips paid but not used; infinite where the site has no room for all paid."""
        idle_usd, standing = 0.0, 0
        for key, count in zip(chips, used.astype(int).tolist(), strict=True):
            paid = count
            if key in self.problem.terms:
                terms = self.problem.terms[key]
                paid = terms.kept
                while paid < count:
                    paid += terms.node
                idle_usd += (paid - count) * terms.usd_per_chip_hour
            standing += paid
        return idle_usd if standing <= self.problem.site_chips.get(site, np.inf) else np.inf

    def _vectors(
        self, pools: tuple[int, ...], capacity: dict[tuple[int, int], float], needed: float
    ) -> list[Counts]:
        """Every vector of counts of some pools that does the work."""
        options = [self.problem.pools[i] for i in pools]
        ranges = [
            [n for n in range(one.max_engines + 1) if n == 0 or n >= one.min_engines]
            for one in options
        ]
        return [
            vector
            for vector in itertools.product(*ranges)
            if needed
            <= sum(capacity[i, n] for i, n in zip(pools, vector, strict=True) if n)
            * (1 + TOLERANCE)
        ]

    def _prefill(self, site: str, keys: Keys, threshold: int, wait: float) -> Group:
        pools = self.problem.pool_indices(site, "prefill")
        loads = {
            i: np.min([self.prefill_load(i, key, threshold, wait) for key in keys], axis=0)
            for i in pools
        }
        capacity = {(i, n + 1): float(load) for i in pools for n, load in enumerate(loads[i])}
        return pools, self._vectors(pools, capacity, sum(flow for _, _, flow in keys))

    def _prefill_load(self, pool: int, key: StateKey, threshold: int, wait: float) -> FloatArray:
        counts = range(1, self.problem.pools[pool].max_engines + 1)
        loads = [self.model.prefill_capacities(pool, [n], [key], threshold, wait) for n in counts]
        return np.array(loads).ravel()

    def _slots(self, site: str, role: Role, keys: Keys, threshold: int, wait: float) -> Group:
        pools = self.problem.pool_indices(site, role)
        work_of, capacity_of = self.model.relay_erlang, self.model.relay_capacity_erlang
        if role == "decode":
            work_of, capacity_of = self.model.decode_work_per_s, self.model.decode_capacity_per_s
        works = [work_of(*key, threshold) for key in keys]
        if any(work is None for work in works):
            return pools, []
        capacity = {
            (i, n): capacity_of(i, n, wait)
            for i in pools
            for n in range(1, self.problem.pools[i].max_engines + 1)
        }
        return pools, self._vectors(pools, capacity, sum(work for work in works if work))
