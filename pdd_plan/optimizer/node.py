"""A threshold and a slot wait: what lane states cost once every site has its cheapest engines.

Lane states decide everything else: flows and work are plain numbers then, and each site takes the
cheapest engines that do them. So a search over lane states is a search over plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pdd_plan.fleet.lanes import StateKey
from pdd_plan.fleet.problem import BoolArray, Candidate, FloatArray, Role
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
        self.gains = np.zeros(self.states.size)
        self._paths: dict[tuple[StateKey, int, bool], tuple[float, bool]] = {}
        self._mixes: dict[tuple[str, tuple[int, ...], tuple[int, ...]], Mix | None] = {}

    @property
    def slot_wait(self) -> float:
        """Allowed probability of waiting for a slot."""
        return self.costs.slot_wait

    def bounds(self) -> NodeBounds:
        """Bounds of the node from the costs of the sites as known so far."""
        return node_bounds(self.states, self.costs, self.gains)

    def keep(self, mask: BoolArray) -> None:
        """Keep only some lane states."""
        if mask.all():
            return
        self.states = self.states.where(mask)
        self.source, self.target = self.source[mask], self.target[mask]
        self.gains = self.gains[mask]
        self._mixes.clear()

    def combinations(self, most: int) -> list[list[int]] | None:
        """Every set of lane states that carries the demand; None if there are more than some."""
        found: list[list[int]] = []
        lanes = list(self.states.by_lane.values())

        def add(number: int, chosen: list[int], left: int) -> bool:
            if left == 0:
                found.append(chosen)
                return len(found) <= most
            if number == len(lanes):
                return True
            options = [s for s in lanes[number].tolist() if self.states.steps[s] <= left]
            return all(
                add(number + 1, [*chosen, s], left - int(self.states.steps[s])) for s in options
            ) and add(number + 1, chosen, left)

        whole = self.states.size <= most and add(0, [], self.problem.load_steps)
        return found if whole else None

    def drop_hopeless(self, lanes: Iterable[int]) -> bool:
        """Drop states of some lanes over which no engines keep the limits; False if none."""
        tables, dead = self.costs.tables, np.zeros(self.states.size, bool)
        for lane in lanes:
            at = self.states.by_lane[lane]
            dead[at] = tables.hopeless(self.states, lane, self.threshold_index, self.slot_wait)
        self.keep(~dead)
        return bool(dead.any())

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
                self.problem.site_chips.get(site, np.inf),
                {key: terms for key, terms in self.problem.terms.items() if key[0] == site},
                site,
            )
            for site in sites
        }

    @cached_property
    def _plain(self) -> dict[str, Supply]:
        """Supplies whose chips cost what bounds count them as, so that roles add up."""
        return {site: replace(one, terms={}) for site, one in self._supplies.items()}

    @cached_property
    def _kept_usd(self) -> dict[str, float]:
        """Price of the chips that stay, by site [currency/h]."""
        usd: dict[str, float] = {}
        for (site, _), terms in self.problem.terms.items():
            usd[site] = usd.get(site, 0.0) + terms.kept_usd_per_hour
        return usd

    def _slot_demand(self, site: str, role: Role, needed: float) -> Demand:
        return Demand(self.costs.slots(site, role, needed), needed)

    def site_mix(
        self, site: str, sent: Sequence[int], taken: Sequence[int], below: float = np.inf
    ) -> Mix | None:
        """Cheapest engines of a site; None where none do, or only ones that cost too much.

        Parameters
        ----------
        sent, taken : sequence of int
            States of the lanes that start and that end at the site.
        below : float
            What the engines must cost less than.
        """
        memo = (site, tuple(sorted(sent)), tuple(sorted(taken)))
        if memo in self._mixes:
            return self._mixes[memo]
        states = self.states
        slots = []
        if sent:
            erlang = float(states.relay_erlang[list(sent)].sum())
            slots.append(self._slot_demand(site, "relay", erlang))
        if taken:
            work = float(states.decode_work_per_s[list(taken)].sum())
            slots.append(self._slot_demand(site, "decode", work))
        steps = int(states.steps[list(sent)].sum()) if sent else 0
        supply = self._supplies[site]
        mix, settled = self._settled(supply, [self.key(s) for s in sent], steps, slots, below)
        if settled:
            self._mixes[memo] = mix
        return mix if settled else None

    def path_usd(self, state: int, steps: int, below: float, *, with_relay: bool) -> float:
        """Least cost of prefill, and of relay if wanted, while a lane is in a state.

        Parameters
        ----------
        steps : int
            Steps of the site.
        below : float
            Cost from which on a lower bound is as good.
        """
        memo = (self.key(state), steps, with_relay)
        known = self._paths.get(memo)
        if known is None or (not known[1] and known[0] < below):
            site, slots = str(self.source[state]), []
            if with_relay:
                erlang = float(self.states.relay_erlang[state])
                slots.append(self._slot_demand(site, "relay", erlang))
            mix, settled = self._settled(self._plain[site], [memo[0]], steps, slots, below)
            known = (np.inf if mix is None else mix.usd_per_hour, settled)
            self._paths[memo] = known
        return known[0]

    def path_excess(
        self, state: int, possible: BoolArray, enough: float, *, with_relay: bool
    ) -> FloatArray:
        """Cost above that of instant transfers while a lane is in a state, or a lower bound.

        Parameters
        ----------
        possible : ndarray of bool, shape (steps + 1,)
            Numbers of steps that the site may carry.
        enough : float
            Excess from which on a lower bound is as good.

        Returns
        -------
        ndarray, shape (steps + 1,)
            By steps of the site; infinite where they are not possible.
        """
        least = self.costs.prefill[str(self.source[state])]
        out = np.full(least.size, np.inf)
        own = int(self.states.steps[state])
        for steps in np.flatnonzero(possible & np.isfinite(least)):
            if steps >= own:
                below = float(least[steps]) + enough
                usd = self.path_usd(state, int(steps), below, with_relay=with_relay)
                out[steps] = max(usd - least[steps], 0.0)
        return out

    def ideal_usd(self, site: str, steps: int, beyond: dict[Role, float]) -> float:
        """Least cost of a site if transfers took no time; infinite where it cannot be.

        Parameters
        ----------
        steps : int
            Steps of flow that it sends.
        beyond : dict of role to float
            Relay and decode work that it does more of.
        """
        stairs = self.costs.ideal(site) if steps else []
        demands = [Demand(stairs, steps * self.costs.tables.step_per_s)]
        for role, below in beyond.items():
            more = max(below * (1.0 + 1.2 * SLACK), 1e-9)
            demands.append(self._slot_demand(site, role, more))
        mix = cheapest_together(demands, self._supplies[site])
        return np.inf if mix is None else mix.usd_per_hour

    def may_compete(self, site: str, stairs: Sequence[Stairs]) -> bool:
        """Whether the roles of a site do not add up.

        It has chips under contract or in whole nodes, or runs short of chips, power or room if
        each option has its largest count.
        """
        if self._supplies[site].terms:
            return True
        most = {one.pool: int(one.counts[-1]) for one in stairs}
        return not self._supplies[site].holds(most, {one.pool: one for one in stairs})

    def _settled(
        self,
        supply: Supply,
        keys: Sequence[StateKey],
        steps: int,
        slots: Sequence[Demand],
        below: float,
    ) -> tuple[Mix | None, bool]:
        """Cheapest mix under capacities that are exact for the mix itself.

        Returns
        -------
        mix : Mix or None
            None where there is none at all.
        settled : bool
            False where the search ended early: the cheapest mix costs that or more.
        """
        engines, paths, wait = self.costs.engines, self.paths, self.costs.wait_index
        flow = steps * self.costs.tables.step_per_s
        pools = engines.options(supply.site, "prefill") if steps else ()
        while True:
            stairs = [engines.stairs(pool, paths.loads(pool, keys)[wait]) for pool in pools]
            demands = [Demand(stairs, flow), *slots] if steps else slots
            mix = cheapest_together(demands, supply) if demands else NOTHING
            if mix is None:
                return None, True
            settled = True
            for pool, count in mix.engines.items():
                if pool in pools:
                    option = int(np.searchsorted(engines.counts[pool], count))
                    unknown = paths.unknown(pool, option, keys, wait)
                    settled &= not unknown
                    if unknown and mix.usd_per_hour < below:
                        paths.learn(pool, option, unknown, wait)
            if settled or mix.usd_per_hour >= below:
                return mix, settled

    def choose(self, states: Sequence[int], below: float = np.inf) -> Choice | None:
        """Cheapest engines for states of the open lanes.

        Parameters
        ----------
        states : sequence of int
            One state of each open lane.
        below : float
            What the plan must cost less than.

        Returns
        -------
        Choice or None
            None where a site has no engines that do it, or only ones that cost too much.
        """
        chosen = list(states)
        sites = list(dict.fromkeys((*self.source[chosen], *self.target[chosen])))
        total = float(self.states.usd_per_hour[chosen].sum())
        total += sum(usd for site, usd in self._kept_usd.items() if site not in sites)
        engines: dict[int, int] = {}
        for site in sites:
            sent = [s for s in chosen if self.source[s] == site]
            taken = [s for s in chosen if self.target[s] == site]
            mix = self.site_mix(site, sent, taken, below - total)
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
