"""A threshold and a slot wait: what lane states cost once every site has its cheapest engines.

Lane states decide everything else: flows and work are plain numbers then, and each site takes the
cheapest engines that do them. So a search over lane states is a search over plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pdd_plan.fleet.lanes import StateKey
from pdd_plan.fleet.problem import BoolArray, Candidate, Role
from pdd_plan.optimizer.bounds import NodeBounds, node_bounds
from pdd_plan.optimizer.capacity import Paths
from pdd_plan.optimizer.costs import SiteCosts
from pdd_plan.optimizer.mixes import NOTHING, SLACK, Mix, Stairs
from pdd_plan.optimizer.states import States
from pdd_plan.optimizer.together import Demand, Supply, cheapest_together


@dataclass(frozen=True)
class Choice:
    """States of the open lanes as positions, with the cost and engines of the sites."""

    states: tuple[int, ...]
    usd_per_hour: float
    engines: dict[int, int]


class Node:
    """One threshold and slot wait of a search.

    Parameters
    ----------
    costs : SiteCosts
        Costs of the sites at the slot wait.
    paths : Paths
        Prefill loads at the threshold.
    """

    def __init__(self, costs: SiteCosts, paths: Paths) -> None:
        self.costs = costs
        self.paths = paths
        self.problem = costs.problem
        self.threshold_index = paths.threshold_index
        self.states: States = costs.tables.at(self.threshold_index)
        lanes = self.problem.lanes
        self.source = np.array([lanes[lane].source for lane in self.states.lane], dtype=object)
        self.target = np.array([lanes[lane].target for lane in self.states.lane], dtype=object)
        self._mixes: dict[tuple[str, tuple[int, ...], tuple[int, ...]], Mix | None] = {}

    @property
    def slot_wait(self) -> float:
        """Allowed probability of waiting for a slot."""
        return self.costs.slot_wait

    def bounds(self) -> NodeBounds:
        """Bounds of the node from the costs of the sites as known so far."""
        return node_bounds(self.states, self.costs)

    def keep(self, mask: BoolArray) -> None:
        """Keep only some lane states."""
        if mask.all():
            return
        self.states = self.states.where(mask)
        self.source, self.target = self.source[mask], self.target[mask]
        self._mixes.clear()

    def key(self, state: int) -> StateKey:
        """Key of a state in the path model."""
        states = self.states
        return self.costs.tables.key(
            int(states.lane[state]), int(states.level[state]), int(states.steps[state])
        )

    @cached_property
    def _supplies(self) -> dict[str, Supply]:
        sites = dict.fromkeys((*self.problem.prefill_sites, *self.problem.decode_sites))
        return {
            site: Supply(
                {key: chips for key, chips in self.problem.stock.items() if key[0] == site},
                self.problem.site_watts.get(site, np.inf),
            )
            for site in sites
        }

    def _slot_demand(self, site: str, role: Role, needed: float) -> Demand:
        engines = self.costs.engines
        pools = engines.options(site, role) if needed > 0.0 else ()
        return Demand([engines.slots(pool, self.slot_wait, needed) for pool in pools], needed)

    def site_mix(self, site: str, sent: Sequence[int], taken: Sequence[int]) -> Mix | None:
        """Cheapest engines of a site; None where none do.

        Parameters
        ----------
        sent, taken : sequence of int
            States of the lanes that start and that end at the site.
        """
        memo = (site, tuple(sorted(sent)), tuple(sorted(taken)))
        if memo not in self._mixes:
            states = self.states
            slots = []
            if sent:
                erlang = float(states.relay_erlang[list(sent)].sum())
                slots.append(self._slot_demand(site, "relay", erlang))
            if taken:
                work = float(states.decode_work_per_s[list(taken)].sum())
                slots.append(self._slot_demand(site, "decode", work))
            steps = int(states.steps[list(sent)].sum()) if sent else 0
            self._mixes[memo] = self._settled(site, [self.key(s) for s in sent], steps, slots)
        return self._mixes[memo]

    def path_mix(self, state: int, steps: int, *, with_relay: bool) -> Mix | None:
        """Cheapest prefill for steps of a site while a lane is in a state, or also its relay."""
        site, slots = str(self.source[state]), []
        if with_relay:
            slots.append(self._slot_demand(site, "relay", float(self.states.relay_erlang[state])))
        return self._settled(site, [self.key(state)], steps, slots)

    def ideal_usd(self, site: str, steps: int, beyond: dict[Role, float]) -> float:
        """Least cost of a site if transfers took no time; infinite where it cannot be.

        Parameters
        ----------
        steps : int
            Steps of flow that it sends.
        beyond : dict of role to float
            Relay and decode work that it does more of.
        """
        engines, wait = self.costs.engines, self.costs.wait_index
        pools = engines.options(site, "prefill") if steps else ()
        stairs = [engines.stairs(pool, engines.ideal(pool)[wait]) for pool in pools]
        demands = [Demand(stairs, steps * self.costs.tables.step_per_s)]
        for role, below in beyond.items():
            more = max(below * (1.0 + 1.2 * SLACK), 1e-9)
            demands.append(self._slot_demand(site, role, more))
        mix = cheapest_together(demands, self._supplies[site])
        return np.inf if mix is None else mix.usd_per_hour

    def may_compete(self, site: str, stairs: Sequence[Stairs]) -> bool:
        """Whether a site runs short of chips or power if each option has its largest count."""
        most = {one.pool: int(one.counts[-1]) for one in stairs}
        return not self._supplies[site].holds(most, {one.pool: one for one in stairs})

    def _settled(
        self, site: str, keys: Sequence[StateKey], steps: int, slots: Sequence[Demand]
    ) -> Mix | None:
        """Cheapest mix under capacities that are exact for the mix itself."""
        engines, paths = self.costs.engines, self.paths
        flow = steps * self.costs.tables.step_per_s
        while True:
            pools = engines.options(site, "prefill") if steps else ()
            stairs = [
                engines.stairs(pool, paths.loads(pool, keys)[self.costs.wait_index])
                for pool in pools
            ]
            demands = [Demand(stairs, flow), *slots] if steps else slots
            mix = cheapest_together(demands, self._supplies[site]) if demands else NOTHING
            settled = True
            for pool, count in {} if mix is None else mix.engines.items():
                if pool in pools:
                    option = int(np.searchsorted(engines.counts[pool], count))
                    unknown = paths.unknown(pool, option, keys)
                    if unknown:
                        paths.learn(pool, option, unknown)
                        settled = False
            if settled:
                return mix

    def choose(self, states: Sequence[int]) -> Choice | None:
        """Cheapest engines for states of the open lanes; None where a site has none."""
        chosen = list(states)
        total = float(self.states.usd_per_hour[chosen].sum())
        engines: dict[int, int] = {}
        for site in dict.fromkeys((*self.source[chosen], *self.target[chosen])):
            sent = [s for s in chosen if self.source[s] == site]
            taken = [s for s in chosen if self.target[s] == site]
            mix = self.site_mix(site, sent, taken)
            if mix is None:
                return None
            total += mix.usd_per_hour
            engines |= mix.engines
        return Choice(tuple(sorted(chosen)), total, engines)

    def candidate(self, choice: Choice) -> Candidate:
        """The choice as a candidate of the problem."""
        levels = [-1] * len(self.problem.lanes)
        flows = [0.0] * len(self.problem.lanes)
        for state in choice.states:
            lane, level, flow = self.key(state)
            levels[lane], flows[lane] = level, flow
        engines = [choice.engines.get(pool, 0) for pool in range(len(self.problem.pools))]
        return Candidate(
            self.threshold_index, self.slot_wait, tuple(engines), tuple(levels), tuple(flows)
        )
