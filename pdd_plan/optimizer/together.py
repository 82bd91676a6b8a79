"""Cheapest engines for several roles of a site that share its chips, its power and its room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

import numpy as np

from pdd_plan.fleet.problem import BoolArray, FloatArray
from pdd_plan.fleet.purchase import ChipKey, ChipTerms, paid_chips
from pdd_plan.optimizer.mixes import SLACK, Mix, Stairs, cheapest_mix
from pdd_plan.optimizer.states import IntArray

BLOCK = 64
"""Partial choices that are held against all others at a time."""


@dataclass(frozen=True, eq=False)
class Demand:
    """Work in one role and the pool options that can do it."""

    stairs: Sequence[Stairs]
    needed: float


@dataclass(frozen=True)
class Supply:
    """What a site has for its engines, and on what terms.

    Attributes
    ----------
    stock : mapping of (site, chip) to int
        Chips in stock.
    watts : float
        Power of the site [W].
    most_chips : float
        Chips of all kinds that may be paid.
    terms : mapping of (site, chip) to ChipTerms
        Kinds that are paid under contract or in whole nodes. Engines on them cost what is paid,
        not what their stairs say.
    site : str
        Its name.
    """

    stock: Mapping[ChipKey, int]
    watts: float = float("inf")
    most_chips: float = float("inf")
    terms: Mapping[ChipKey, ChipTerms] = field(default_factory=dict)
    site: str = ""

    @property
    def kept_chips(self) -> int:
        """Chips that stay."""
        return sum(terms.kept for terms in self.terms.values())

    @property
    def kept_usd_per_hour(self) -> float:
        """Price of the chips that stay [currency/h]."""
        return sum(terms.kept_usd_per_hour for terms in self.terms.values())

    def usd_per_hour(self, engines: Mapping[int, int], stairs: Mapping[int, Stairs]) -> float:
        """Price of what is paid for engines [currency/h]."""
        total = 0.0
        for pool, count in engines.items():
            one = stairs[pool]
            if one.stock not in self.terms:
                total += float(one.usd_per_hour[np.searchsorted(one.counts, count)])
        used = self._used(engines, stairs)
        for key, terms in self.terms.items():
            total += terms.paid(used.get(key, 0)) * terms.usd_per_chip_hour
        return total

    def holds(self, engines: Mapping[int, int], stairs: Mapping[int, Stairs]) -> bool:
        """Whether engines fit stock, power and room."""
        used = self._used(engines, stairs)
        watts = sum(count * stairs[pool].watts for pool, count in engines.items())
        paid = paid_chips(self.terms, used)
        enough = all(chips <= self.stock[key] for key, chips in paid.items())
        fits = watts <= self.watts * (1.0 + SLACK)
        return enough and fits and sum(paid.values()) <= self.most_chips

    def _used(self, engines: Mapping[int, int], stairs: Mapping[int, Stairs]) -> dict[ChipKey, int]:
        used: dict[ChipKey, int] = {}
        for pool, count in engines.items():
            one = stairs[pool]
            used[one.stock] = used.get(one.stock, 0) + int(count * one.chips)
        return used

    def without(self, engines: Mapping[int, int], stairs: Mapping[int, Stairs]) -> Supply:
        """What is left beside some engines."""
        left, watts, room = dict(self.stock), self.watts, self.most_chips
        for pool, count in engines.items():
            one = stairs[pool]
            left[one.stock] -= int(count * one.chips)
            room -= count * one.chips
            watts -= count * one.watts
        return replace(self, stock=left, watts=watts, most_chips=room)

    def limit(self, one: Stairs) -> Stairs:
        """The counts of a pool that fit by themselves."""
        fits = (one.counts * one.chips <= self.stock[one.stock]) & (
            one.counts * one.watts <= self.watts * (1.0 + SLACK)
        )
        fits &= one.counts * one.chips <= self.most_chips
        return replace(
            one,
            counts=one.counts[fits],
            capacity=one.capacity[fits],
            usd_per_hour=one.usd_per_hour[fits],
        )


def cheapest_together(demands: Sequence[Demand], supply: Supply) -> Mix | None:
    """Cheapest engines for several roles that share a supply; None where there are none.

    Returns
    -------
    Mix or None
        Its cost is that of all that is paid at the site, under contract as well.
    """
    stairs = {one.pool: one for demand in demands for one in demand.stairs}
    mixes = [cheapest_mix(demand.stairs, demand.needed) for demand in demands]
    if None in mixes:
        return None
    cost = sum(mix.usd_per_hour for mix in mixes if mix)
    engines = {pool: n for mix in mixes if mix for pool, n in mix.engines.items()}
    if not supply.terms and supply.holds(engines, stairs):
        return Mix(cost, engines)
    needed = [demand for demand in demands if demand.needed > 0.0]
    known = [_one_by_one(order, supply, stairs) for order in permutations(needed)]
    best = min((mix for mix in known if mix), key=lambda mix: mix.usd_per_hour, default=None)
    return _Together(needed, supply).cheapest(best)


def _one_by_one(
    demands: Sequence[Demand], supply: Supply, stairs: Mapping[int, Stairs]
) -> Mix | None:
    """A mix for several roles, found for one after the other from what the ones before leave."""
    engines: dict[int, int] = {}
    for demand in demands:
        left = supply.without(engines, stairs)
        mix = cheapest_mix([left.limit(one) for one in demand.stairs], demand.needed)
        if mix is None:
            return None
        engines |= mix.engines
    if not supply.holds(engines, stairs):
        return None
    return Mix(supply.usd_per_hour(engines, stairs), engines)


class _Together:
    """Dynamic programming over pools, chip by chip, on what is done in each role.

    A row is a partial choice: cost beyond what is paid in any case, minus the work done in each
    role (never more than needed), power, chips taken of the kind at hand, and chips of the kinds
    before it that are paid beyond those that stay; fewer is better in every column. Power and chips
    paid are 0 where the site has no limit of them, lest they tell rows apart.
    """

    def __init__(self, demands: Sequence[Demand], supply: Supply) -> None:
        self.supply = supply
        self.wanted = np.array([demand.needed * (1.0 - SLACK) for demand in demands])
        pools = [(one, role) for role, demand in enumerate(demands) for one in demand.stairs]
        pools = [pair for pair in pools if np.isfinite(pair[0].usd_per_work)]
        first: dict[tuple[str, str], float] = {}
        for one, _ in pools:
            first[one.stock] = min(first.get(one.stock, np.inf), one.usd_per_work)
        self.pools = sorted(
            pools, key=lambda pair: (first[pair[0].stock], pair[0].stock, pair[0].usd_per_work)
        )

    def cheapest(self, known: Mix | None) -> Mix | None:
        """Cheapest choice, or a known one where nothing is cheaper."""
        kept = self.supply.kept_usd_per_hour
        best = known.usd_per_hour - kept if known else np.inf
        roles = self.wanted.size
        rows = np.zeros((1, roles + 4))
        trail: list[tuple[Stairs, IntArray, IntArray]] = []
        for position, (one, role) in enumerate(self.pools):
            last = position + 1 == len(self.pools)
            terms = self.supply.terms.get(one.stock)
            added = np.zeros((one.counts.size, roles + 4))
            added[:, 0] = 0.0 if terms else one.usd_per_hour
            added[:, 1 + role] = -one.capacity
            if np.isfinite(self.supply.watts):
                added[:, roles + 1] = one.counts * one.watts
            added[:, roles + 2] = one.counts * one.chips
            sums = (rows[:, None, :] + added[None, :, :]).reshape(-1, roles + 4)
            done = np.minimum(-sums[:, 1 : roles + 1], self.wanted)
            sums[:, 1 : roles + 1] = -done
            missing = self.wanted - done
            rest = self._rest(position + 1)
            chips = sums[:, roles + 2]
            paid = terms.paid_beyond(chips) if terms else chips
            spent = sums[:, 0] + (paid * terms.usd_per_chip_hour if terms else 0.0)
            with np.errstate(invalid="ignore"):
                least = spent + np.where(missing > 0.0, rest * missing, 0.0).sum(axis=1)
            fits = chips <= self.supply.stock[one.stock]
            fits &= sums[:, roles + 1] <= self.supply.watts * (1.0 + SLACK)
            fits &= sums[:, roles + 3] + paid <= self.supply.most_chips - self.supply.kept_chips
            at = np.flatnonzero(fits & (least <= best * (1.0 - 1e-12)))
            complete = at[(missing[at] <= 0.0).all(axis=1)]
            if complete.size:
                best = float(spent[complete].min()) * (1.0 + 1e-9)
            if last or self.pools[position + 1][0].stock != one.stock:
                if np.isfinite(self.supply.most_chips):
                    sums[:, roles + 3] += paid
                sums[:, roles + 2] = 0.0
                sums[:, 0] = spent
            at = at[_efficient(sums[at])]
            rows = sums[at]
            trail.append((one, at // one.counts.size, at % one.counts.size))
        complete = np.flatnonzero((-rows[:, 1 : roles + 1] >= self.wanted).all(axis=1))
        if not complete.size:
            return known
        row = int(complete[np.argmin(rows[complete, 0])])
        total, engines = float(rows[row, 0]), {}
        for one, parents, options in reversed(trail):
            if options[row]:
                engines[one.pool] = int(one.counts[options[row]])
            row = int(parents[row])
        return Mix(kept + total, engines)

    def _rest(self, position: int) -> FloatArray:
        """Least price a unit of work in each role over the pools from a position on.

        Chips that stay are paid in any case, so work on them may cost nothing more.
        """
        rest = np.full(self.wanted.size, np.inf)
        for one, role in self.pools[position:]:
            terms = self.supply.terms.get(one.stock)
            free = terms is not None and terms.kept > 0
            rest[role] = min(rest[role], 0.0 if free else one.usd_per_work)
        return rest


def _efficient(rows: FloatArray) -> IntArray:
    """Positions of the rows that no other row is below or equal to in every column."""
    order = np.lexsort(rows.T[::-1])
    # In this order the first column never speaks for a row against the ones before it.
    columns = np.ascontiguousarray(rows[order, 1:].T)
    left, kept = np.arange(order.size), [np.zeros(0, np.int64)]
    while left.size:
        block, left = left[:BLOCK], left[BLOCK:]
        block = block[~np.tril(_no_better(columns, block, block), -1).any(axis=1)]
        left = left[~_no_better(columns, left, block).any(axis=1)]
        kept.append(block)
    return np.asarray(order[np.concatenate(kept)])


def _no_better(columns: FloatArray, these: IntArray, than: IntArray) -> BoolArray:
    """Whether each of these rows is above or equal to each of others in every column."""
    out = np.ones((these.size, than.size), bool)
    for column in columns:
        out &= column[these][:, None] >= column[than]
    return out
