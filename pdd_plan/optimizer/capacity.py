"""What engines can take, looked up only where it matters.

Slot pools have capacities of their own. What a prefill pool can take depends on the lanes it feeds
and costs a table of waiting times for every count, so capacities start as upper bounds and are
made exact one count at a time: a mix of engines that is cheapest under upper bounds, and whose own
capacities are exact, is the cheapest mix.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pdd_plan.fleet.lanes import StateKey
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.prefill import UTILIZATIONS
from pdd_plan.fleet.problem import BoolArray, FloatArray, PoolOption, Role
from pdd_plan.optimizer.mixes import Stairs
from pdd_plan.optimizer.pricing import Pricing
from pdd_plan.optimizer.states import IntArray


class Engines:
    """Counts and prices of every pool option, and capacities that hold at any threshold.

    Parameters
    ----------
    model : PathModel
        Rule of the problem.
    """

    def __init__(self, model: PathModel) -> None:
        self.model = model
        self.problem = model.problem
        self.waits = self.problem.slot_waits
        self.pricing = Pricing(frozenset(), {})
        self.pools: dict[tuple[str, Role], tuple[int, ...]] = {}
        self.counts = [self._counts(pool) for pool in self.problem.pools]
        self._slots: dict[tuple[int, float], FloatArray] = {}
        self._ideal: dict[int, FloatArray] = {}
        self._sharp: set[tuple[int, int]] = set()

    def options(self, site: str, role: Role) -> tuple[int, ...]:
        """Pool options of a site in a role of which some engine may be placed."""
        if (site, role) not in self.pools:
            indices = self.problem.pool_indices(site, role)
            self.pools[site, role] = tuple(i for i in indices if self.counts[i].size > 1)
        return self.pools[site, role]

    def _counts(self, pool: PoolOption) -> IntArray:
        most = min(
            pool.max_engines, self.problem.stock[pool.site, pool.chip] // pool.chips_per_engine
        )
        if pool.site in self.problem.site_chips:
            most = min(most, self.problem.site_chips[pool.site] // pool.chips_per_engine)
        watts = self.problem.site_watts.get(pool.site, np.inf)
        if pool.watts_per_engine > 0.0 and np.isfinite(watts):
            most = min(most, int(watts * (1.0 + 1e-7) / pool.watts_per_engine))
        least = max(pool.min_engines, 1)
        return np.concatenate([[0], np.arange(least, most + 1)])

    def stairs(self, index: int, capacity: FloatArray) -> Stairs:
        """Stairs of a pool option from its capacity by count, for the first counts or all."""
        pool, counts = self.problem.pools[index], self.counts[index][: capacity.size]
        return Stairs(
            index,
            counts,
            capacity,
            np.asarray(counts * self.usd_per_engine(pool), dtype=np.float64),
            pool.chips_per_engine,
            pool.watts_per_engine,
            (pool.site, pool.chip),
        )

    def usd_per_engine(self, pool: PoolOption) -> float:
        """What bounds count an engine as [currency/h]."""
        free = (pool.site, pool.chip) in self.pricing.free
        return 0.0 if free else pool.usd_per_engine_hour

    def slots(self, index: int, slot_wait: float, needed: float) -> Stairs:
        """Stairs of a relay or decode option, up to the first count that does a given work."""
        known = self._slots.get((index, slot_wait), np.zeros(1))
        counts = self.counts[index]
        while known[-1] < needed and known.size < counts.size:
            least = self._least_engines(index, needed)
            ahead = int(np.searchsorted(counts, least)) + 1 - known.size
            more = counts[known.size : known.size + max(ahead, 2)]
            known = np.concatenate([known, self._slot_capacities(index, more, slot_wait)])
            self._slots[index, slot_wait] = known
        enough = int(np.argmax(known >= needed)) if known.max() >= needed else known.size - 1
        return self.stairs(index, known[: enough + 1])

    def _least_engines(self, index: int, needed: float) -> float:
        """Count below which a relay or decode option surely cannot do a given work."""
        pool = self.model.slot_pools[index]
        most = pool.working_batch if pool.pool.role == "relay" else pool.most_per_engine_s
        return needed / most if most > 0.0 else np.inf

    def _slot_capacities(self, index: int, counts: IntArray, slot_wait: float) -> FloatArray:
        pool = self.model.slot_pools[index]
        if pool.pool.role == "relay":
            return pool.relay_capacities_erlang(counts, slot_wait)
        return np.array([pool.decode_capacity_per_s(int(n), slot_wait) for n in counts])

    def ideal(self, index: int) -> FloatArray:
        """Upper bounds on the load of a prefill option, shape (slot waits, counts)."""
        if index not in self._ideal:
            rate = self.model.prefill[index].engine_rate_per_s / self.problem.peak_multiplier
            most = self.counts[index] * (rate * UTILIZATIONS[-1])
            self._ideal[index] = np.tile(most, (len(self.waits), 1))
        return self._ideal[index]

    def sharpen(self, index: int, option: int) -> bool:
        """Compute a bound of a prefill option by its waits; False where that is done already."""
        if (index, option) in self._sharp:
            return False
        self._sharp.add((index, option))
        bounds, count = self.ideal(index), int(self.counts[index][option])
        for row, wait in enumerate(self.waits):
            bounds[row, option] = self.model.ideal_capacities(index, [count], wait)[0]
        return True


class Paths:
    """Loads of prefill pools over lanes in given states, at one threshold.

    Parameters
    ----------
    engines : Engines
        Pool options of the search.
    threshold_index : int
        Index of the routing threshold.
    """

    def __init__(self, engines: Engines, threshold_index: int) -> None:
        self.engines = engines
        self.threshold_index = threshold_index
        self._known: dict[tuple[int, StateKey], FloatArray] = {}

    def loads(self, index: int, keys: Sequence[StateKey]) -> FloatArray:
        """Least load over lane states by slot wait and count: exact where known, else bounds."""
        loads = self.engines.ideal(index)
        for key in keys:
            known = self._known.get((index, key))
            if known is not None:
                loads = np.fmin(loads, known)
        return loads

    def unknown(
        self, index: int, option: int, keys: Sequence[StateKey], wait_index: int
    ) -> list[StateKey]:
        """Lane states on which the load of a count is not known at a slot wait."""
        found = ((key, self._known.get((index, key))) for key in keys)
        return [key for key, row in found if row is None or np.isnan(row[wait_index, option])]

    def learn(self, index: int, option: int, keys: Sequence[StateKey], wait_index: int) -> None:
        """Compute the load of a count on lane states, and of all counts that cost no new table.

        Where no number of engines keeps the limits, that is learned instead, without any table.
        """
        hopeless = self.hopeless(index, keys)[wait_index]
        rest = np.flatnonzero(~hopeless).tolist()
        if not rest:
            return
        model, counts, waits = self.engines.model, self.engines.counts[index], self.engines.waits
        rules = model.rules.of(index, keys, self.threshold_index)
        path = model.prefill[index]
        path.wait_table(int(counts[option]))
        options = [i for i in range(1, counts.size) if path.has_table(int(counts[i]))]
        engines = [int(counts[i]) for i in options]
        loads = model.prefill_loads_per_s(index, engines, [rules[i] for i in rest], waits)
        for column, i in enumerate(rest):
            self._known[index, keys[i]][:, options] = loads[:, :, column]

    def hopeless(self, index: int, keys: Sequence[StateKey]) -> BoolArray:
        """Whether no count of a prefill option keeps the limits, shape (slot waits, keys)."""
        new = [key for key in keys if (index, key) not in self._known]
        if new:
            model, shape = self.engines.model, self.engines.ideal(index).shape
            rules = model.rules.of(index, new, self.threshold_index)
            for key, dead in zip(new, model.hopeless(rules, self.engines.waits).T, strict=True):
                known = np.full(shape, np.nan)
                known[dead] = 0.0
                self._known[index, key] = known
        return np.stack([(self._known[index, key] == 0.0).all(axis=1) for key in keys], axis=1)
