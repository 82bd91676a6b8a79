"""Cheapest mixes of engines that do a given amount of work in each role of a site."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pdd_plan.fleet.problem import FloatArray
from pdd_plan.optimizer.states import IntArray

SLACK = 1e-7
"""Relative slack of capacity sums, as in the check."""


@dataclass(frozen=True, eq=False)
class Stairs:
    """What a pool option can do, and what it costs, by number of engines.

    Attributes
    ----------
    pool : int
        Index of the pool option.
    counts : ndarray of int, shape (options,)
        Allowed numbers of engines, ascending from 0.
    capacity, usd_per_hour : ndarray, shape (options,)
        Capacity and price of each; capacity need not rise with the count.
    chips, watts : float
        Of one engine.
    stock : tuple of str
        Site and chip that it takes from.
    """

    pool: int
    counts: IntArray
    capacity: FloatArray
    usd_per_hour: FloatArray
    chips: float
    watts: float
    stock: tuple[str, str]

    @cached_property
    def usd_per_work(self) -> float:
        """Least price of a unit of capacity over all counts; infinite without capacity."""
        useful = self.capacity > 0.0
        if not useful.any():
            return float("inf")
        return float((self.usd_per_hour[useful] / self.capacity[useful]).min())


@dataclass(frozen=True)
class Mix:
    """Engines by pool option, and what they cost together [currency/h]."""

    usd_per_hour: float
    engines: Mapping[int, int]


NOTHING = Mix(0.0, {})
"""The mix that does nothing."""


def cheapest_mix(stairs: Sequence[Stairs], needed: float) -> Mix | None:
    """Cheapest engines of one role that do a given work; None where all together cannot.

    Notes
    -----
    Pools are added one by one, the cheapest a unit first. A partial mix is dropped where the rest
    of the work, at the least price a unit of the pools to come, makes it dearer than a mix that
    is known, or where another one does more for less.
    """
    wanted = needed * (1.0 - SLACK)
    if wanted <= 0.0:
        return NOTHING
    pools = sorted(
        (one for one in stairs if np.isfinite(one.usd_per_work)), key=lambda one: one.usd_per_work
    )
    best = _greedy_cost(pools, wanted)
    capacity, cost = np.zeros(1), np.zeros(1)
    trail: list[tuple[Stairs, IntArray, IntArray]] = []
    for position, one in enumerate(pools):
        rest = pools[position + 1].usd_per_work if position + 1 < len(pools) else np.inf
        sums = np.add.outer(capacity, one.capacity)
        costs = np.add.outer(cost, one.usd_per_hour)
        enough = sums >= wanted
        if enough.any():
            best = min(best, float(costs[enough].min()))
        with np.errstate(invalid="ignore"):
            least = costs + np.where(enough, 0.0, rest * (wanted - sums))
        parent, option = np.nonzero(least <= best * (1.0 + 1e-12))
        flat_capacity, flat_cost = sums[parent, option], costs[parent, option]
        keep = _undominated(np.minimum(flat_capacity, wanted), flat_cost)
        capacity, cost = flat_capacity[keep], flat_cost[keep]
        trail.append((one, parent[keep], option[keep]))
    done = np.flatnonzero(capacity >= wanted)
    if not done.size:
        return None
    at = int(done[np.argmin(cost[done])])
    total, engines = float(cost[at]), {}
    for one, parents, options in reversed(trail):
        if options[at]:
            engines[one.pool] = int(one.counts[options[at]])
        at = int(parents[at])
    return Mix(total, engines)


def _greedy_cost(pools: Sequence[Stairs], wanted: float) -> float:
    """Cost of a mix that does the work: one pool alone, or as much as there is of the cheapest."""
    best = np.inf
    missing, spent = wanted, 0.0
    for one in pools:
        enough = one.capacity >= wanted
        if enough.any():
            best = min(best, float(one.usd_per_hour[enough].min()))
        enough = one.capacity >= missing
        if enough.any():
            best = min(best, spent + float(one.usd_per_hour[enough].min()))
        top = int(np.argmax(one.capacity))
        missing, spent = missing - one.capacity[top], spent + float(one.usd_per_hour[top])
    return best


def _undominated(capacity: FloatArray, cost: FloatArray) -> IntArray:
    """Positions of the entries that none of at least the same capacity undercuts."""
    order = np.lexsort((cost, -capacity))
    below = np.minimum.accumulate(cost[order])
    first = np.ones(order.size, bool)
    first[1:] = cost[order][1:] < below[:-1]
    return np.asarray(order[first])


@dataclass(frozen=True, eq=False)
class Front:
    """Least cost of every amount of work in one role, up to some amount.

    Attributes
    ----------
    capacity, usd_per_hour : ndarray, shape (mixes,)
        Undominated mixes by rising capacity, from nothing on.
    whole : bool
        The engines can do no more than the last capacity; else only mixes up to it were looked at.
    """

    capacity: FloatArray
    usd_per_hour: FloatArray
    whole: bool

    @classmethod
    def of(cls, stairs: Sequence[Stairs], most: float) -> Front:
        """Front of pools up to an amount of work."""
        capacity, cost = np.zeros(1), np.zeros(1)
        for one in stairs:
            sums = np.minimum(np.add.outer(capacity, one.capacity).ravel(), most)
            costs = np.add.outer(cost, one.usd_per_hour).ravel()
            keep = _undominated(sums, costs)[::-1]
            capacity, cost = sums[keep], costs[keep]
        return cls(capacity, cost, bool(capacity[-1] < most * (1.0 - SLACK)))

    @property
    def most(self) -> float:
        """Largest capacity looked at."""
        return float(self.capacity[-1])

    def cost(self, needed: FloatArray | float) -> FloatArray:
        """Least cost of amounts of work; a lower bound beyond the last capacity."""
        wanted = np.asarray(needed, dtype=np.float64) * (1.0 - SLACK)
        at = np.searchsorted(self.capacity, wanted, side="left")
        beyond = np.inf if self.whole else self.usd_per_hour[-1]
        costs = np.append(self.usd_per_hour, beyond)
        return np.asarray(costs[at])

    @cached_property
    def usd_per_work(self) -> float:
        """Least cost of a unit of work over all amounts up to the last capacity."""
        if self.capacity.size == 1:
            return float("inf") if self.whole else 0.0
        return float((self.usd_per_hour[1:] / self.capacity[1:]).min()) * (1.0 - SLACK)

    @cached_property
    def hull(self) -> list[tuple[float, float]]:
        """Slope and height at 0 of the lines of the convex hull from below."""
        works = self.capacity[1:] * (1.0 + 2.0 * SLACK)  # the most that each mix may be given
        corners = [(0.0, 0.0)]
        for corner in zip(works.tolist(), self.usd_per_hour[1:].tolist(), strict=True):
            while len(corners) > 1 and _slope(corners[-2], corner) <= _slope(*corners[-2:]):
                corners.pop()
            corners.append(corner)
        lines = [(_slope(a, b), a) for a, b in itertools.pairwise(corners)]
        return [(slope, usd - slope * work) for slope, (work, usd) in lines]

    def before(self, needed: float) -> float | None:
        """Largest capacity of a mix that does not do some work; None beyond the last capacity."""
        at = int(np.searchsorted(self.capacity, needed * (1.0 - SLACK), side="left"))
        return float(self.capacity[at - 1]) if 0 < at < self.capacity.size else None

    def after(self, below: float) -> float:
        """Cost of work beyond the capacity of a mix; infinite where the engines can do no more."""
        at = int(np.searchsorted(self.capacity, below, side="right"))
        if at < self.capacity.size:
            return float(self.usd_per_hour[at])
        return float("inf") if self.whole else float(self.usd_per_hour[-1])

    def within(self, needed: FloatArray, steps: IntArray, load_steps: int) -> FloatArray:
        """Work of lane states cut so that no sum over all steps goes beyond the last capacity."""
        if self.whole:
            return needed
        return np.asarray(np.minimum(needed, steps * (self.most / load_steps)))


def _slope(left: tuple[float, float], right: tuple[float, float]) -> float:
    return (right[1] - left[1]) / (right[0] - left[0])
