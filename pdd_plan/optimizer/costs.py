"""Least cost of work at each site, role by role, whatever the threshold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pdd_plan.fleet.problem import FloatArray, Role
from pdd_plan.optimizer.capacity import Engines
from pdd_plan.optimizer.mixes import Front, Mix, Stairs, cheapest_mix
from pdd_plan.optimizer.states import StateTables

ROOM = 1.5
"""Work looked at, as a multiple of what the demand brings in the lane states that bring least."""


class SiteCosts:
    """Costs of the sites at one slot wait, as lower bounds for any threshold and lane states.

    Parameters
    ----------
    engines : Engines
        Pool options of the search.
    tables : StateTables
        Lane states of the search.
    wait_index : int
        Index of the slot wait.

    Attributes
    ----------
    prefill : dict of site to ndarray, shape (load steps + 1,)
        Least cost of prefill for 0, 1, ... steps of flow if transfers took no time.
    relay, decode : dict of site to Front
        Least cost of relay and decode work.
    """

    def __init__(self, engines: Engines, tables: StateTables, wait_index: int) -> None:
        self.engines = engines
        self.tables = tables
        self.problem = engines.problem
        self.wait_index = wait_index
        self.slot_wait = self.problem.slot_waits[wait_index]
        self.prefill = {site: self.steps_cost(site) for site in self.problem.prefill_sites}
        self._sharp: set[tuple[str, int]] = set()
        self.relay = self._fronts("relay", self.problem.prefill_sites, tables.least_erlang)
        self.decode = self._fronts("decode", self.problem.decode_sites, tables.least_work_per_s)

    def slots(self, site: str, role: Role, needed: float) -> list[Stairs]:
        """Stairs of the relay or decode options of a site, as far as some work needs them."""
        pools = self.engines.options(site, role) if needed > 0.0 else ()
        return [self.engines.slots(pool, self.slot_wait, needed) for pool in pools]

    def ideal(self, site: str) -> list[Stairs]:
        """Stairs of the prefill options of a site if transfers took no time."""
        pools = self.engines.options(site, "prefill")
        return [self.engines.stairs(p, self.engines.ideal(p)[self.wait_index]) for p in pools]

    def _fronts(
        self, role: Role, sites: tuple[str, ...], least: Callable[[str], float]
    ) -> dict[str, Front]:
        fronts = {}
        for site in sites:
            most = ROOM * self.problem.load_steps * least(site)
            fronts[site] = Front.of(self.slots(site, role, most), most)
        return fronts

    def stairs(self, site: str, role: Role) -> list[Stairs]:
        """Bounds on what each pool option of a site can do, up to all that is looked at."""
        if role == "relay":
            return self.slots(site, role, self.relay[site].most)
        if role == "decode":
            return self.slots(site, role, self.decode[site].most)
        demand = self.problem.arrival_rate_per_s
        out = []
        for pool in self.engines.options(site, role):
            loads = self.engines.ideal(pool)[self.wait_index]
            enough = np.flatnonzero(loads >= demand)
            most = int(enough[0]) + 1 if enough.size else loads.size
            out.append(self.engines.stairs(pool, loads[:most]))
        return out

    def steps_cost(self, site: str) -> FloatArray:
        """Cost of prefill by steps of flow, from the bounds that are known so far."""
        steps = range(1, self.problem.load_steps + 1)
        mixes = [self._ideal_mix(site, count) for count in steps]
        costs = [np.inf if mix is None else mix.usd_per_hour for mix in mixes]
        return np.array([0.0, *costs])

    def _ideal_mix(self, site: str, steps: int) -> Mix | None:
        return cheapest_mix(self.ideal(site), steps * self.tables.step_per_s)

    def sharpen(self, site: str, steps: int) -> None:
        """Make the cost of prefill for a number of steps exact, if transfers took no time."""
        if (site, steps) in self._sharp:
            return
        self._sharp.add((site, steps))
        while True:
            mix = self._ideal_mix(site, steps)
            counts = {} if mix is None else mix.engines
            options = [
                (pool, int(np.searchsorted(self.engines.counts[pool], count)))
                for pool, count in counts.items()
            ]
            sharpened = [self.engines.sharpen(*option) for option in options]
            if not any(sharpened):
                break
        cost = self.prefill[site]
        cost[steps] = np.inf if mix is None else mix.usd_per_hour
        # Fewer steps cost no more: keep bounds of a higher count from falling below.
        np.maximum.accumulate(cost, out=cost)
