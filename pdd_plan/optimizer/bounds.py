"""Bounds by dynamic programming over steps of flow, without a solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pdd_plan.fleet.problem import FloatArray
from pdd_plan.optimizer.costs import SiteCosts
from pdd_plan.optimizer.mixes import Front
from pdd_plan.optimizer.states import States


class StepSums:
    """Least sums of functions of steps whose arguments add up to 0, 1, ..., size - 1."""

    def __init__(self, size: int) -> None:
        offset = np.arange(size)[:, None] - np.arange(size)[None, :]
        self._index = np.where(offset >= 0, offset, size)
        self.nothing = np.append(0.0, np.full(size - 1, np.inf))

    def shifted(self, part: FloatArray) -> FloatArray:
        """Values of a function at the difference of row and column; infinite below 0."""
        return np.append(part, np.inf)[self._index]

    def pair(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Least sums of two functions."""
        return np.asarray((left + self.shifted(right)).min(axis=1))

    def running(self, parts: Sequence[FloatArray]) -> list[FloatArray]:
        """Least sums over the first 0, 1, ... of several functions."""
        out = [self.nothing]
        for part in parts:
            out.append(self.pair(out[-1], part))
        return out

    def all_but_one(self, parts: Sequence[FloatArray]) -> list[FloatArray]:
        """Least sums over all functions but each one."""
        before = self.running(parts)
        after = self.running(parts[::-1])[::-1]
        return [self.pair(before[i], after[i + 1]) for i in range(len(parts))]

    def by_lane(self, states: States, values: FloatArray) -> dict[int, FloatArray]:
        """Least value of the states of each lane by steps, 0 for a closed lane."""
        out = {}
        for lane, at in states.by_lane.items():
            out[lane] = self.nothing.copy()
            np.minimum.at(out[lane], states.steps[at], values[at])
        return out


class Shares:
    """Least cost of sharing steps of flow out over groups of lanes, each lane in one state.

    Parameters
    ----------
    states : States
        Lane states.
    usd_per_hour : ndarray, shape (states,)
        Cost of each state beside that of its group.
    group : sequence of int
        Group of each lane.
    group_usd : ndarray, shape (groups, steps + 1)
        Cost of a group by the steps that its lanes carry together.
    base_usd : float
        Cost in any case.
    """

    def __init__(
        self,
        states: States,
        usd_per_hour: FloatArray,
        group: Sequence[int],
        group_usd: FloatArray,
        base_usd: float,
    ) -> None:
        self.states = states
        self.base_usd = base_usd
        self.usd = usd_per_hour
        self.group_usd = group_usd
        self.size = group_usd.shape[1]
        self._sums = StepSums(self.size)
        self._by_lane = self._sums.by_lane(states, usd_per_hour)
        self._lanes: list[list[int]] = [[] for _ in group_usd]
        for lane in states.by_lane:
            self._lanes[group[lane]].append(lane)
        self._in_group = [
            self._sums.running([self._by_lane[lane] for lane in lanes]) for lanes in self._lanes
        ]
        self._groups = [run[-1] + usd for run, usd in zip(self._in_group, group_usd, strict=True)]
        self._over_groups = self._sums.running(self._groups)

    @property
    def value(self) -> float:
        """Least cost of carrying the whole demand."""
        return float(self._over_groups[-1][-1]) + self.base_usd

    def choice(self) -> list[int]:
        """Positions of the lane states of least cost; empty where there are none."""
        chosen: list[int] = []
        left = self.size - 1
        if not np.isfinite(self.value):
            return chosen
        for number in range(len(self._groups) - 1, -1, -1):
            run, parts = self._over_groups[number], self._groups[number]
            here = _split(run, parts, left)
            left -= here
            for position in range(len(self._lanes[number]) - 1, -1, -1):
                lane = self._lanes[number][position]
                steps = _split(self._in_group[number][position], self._by_lane[lane], here)
                here -= steps
                if steps:
                    at = self.states.by_lane[lane]
                    at = at[self.states.steps[at] == steps]
                    chosen.append(int(at[np.argmin(self.usd[at])]))
        return chosen

    def with_each(self) -> FloatArray:
        """Least cost of carrying the demand with each state in use, shape (states,)."""
        out = np.full(self.states.size, np.inf)
        rests = self._sums.all_but_one(self._groups)
        for lanes, usd, rest in zip(self._lanes, self.group_usd, rests, strict=True):
            around = usd + rest[::-1]  # the group and all others, by the steps of the group
            others = self._sums.all_but_one([self._by_lane[lane] for lane in lanes])
            for lane, other in zip(lanes, others, strict=True):
                by_steps = (around[:, None] + self._sums.shifted(other)).min(axis=0)
                at = self.states.by_lane[lane]
                out[at] = self.usd[at] + by_steps[self.states.steps[at]]
        return out + self.base_usd

    def with_group_steps(self) -> FloatArray:
        """Least cost with each group carrying 0, 1, ... steps, shape (groups, steps + 1)."""
        rests = self._sums.all_but_one(self._groups)
        each = [g + rest[::-1] for g, rest in zip(self._groups, rests, strict=True)]
        return np.stack(each) + self.base_usd


def _split(run: FloatArray, part: FloatArray, total: int) -> int:
    """Steps that the last of several functions takes of a total."""
    return int(np.argmin(run[total::-1] + part[: total + 1]))


@dataclass(frozen=True)
class NodeBounds:
    """Ways to share flow out: with whole engines at the prefill or at the decode sites.

    Attributes
    ----------
    by_source, by_lane : Shares
        Whole prefill engines by site; relay at its least price a unit, or by lane: a site that
        sends N steps at most pays for relay what each lane would need alone, at least s / N of it.
    by_target : Shares
        Whole decode engines by site.
    """

    by_source: Shares
    by_lane: Shares
    by_target: Shares

    @property
    def value(self) -> float:
        """Lower bound on the cost of a node."""
        return max(self.by_source.value, self.by_lane.value, self.by_target.value)

    def with_each(self) -> FloatArray:
        """Lower bound on the cost of a node with each state in use, shape (states,)."""
        ways = (self.by_source, self.by_lane, self.by_target)
        return np.asarray(np.max([way.with_each() for way in dict.fromkeys(ways)], axis=0))

    def sent(self) -> FloatArray:
        """Lower bound with each prefill site sending 0, 1, ... steps, shape (sites, steps + 1)."""
        ways = dict.fromkeys((self.by_source, self.by_lane))
        return np.asarray(np.max([way.with_group_steps() for way in ways], axis=0))


def node_bounds(states: States, costs: SiteCosts, gains: FloatArray) -> NodeBounds:
    """Bounds of a node from what work costs at each site.

    Parameters
    ----------
    gains : ndarray, shape (states,)
        What prefill of a site costs more than with instant transfers while a lane is in a state.

    Notes
    -----
    At one end sites pay for whole engines by steps of flow; at the other end, and for relay, a
    unit of work pays its least price, which is additive over lanes. A site that sends N steps at
    most pays the largest gain of its lanes, so at least s / N of each.
    """
    problem, count = costs.problem, costs.problem.load_steps
    sources, targets = list(problem.prefill_sites), list(problem.decode_sites)
    ends = [(sources.index(lane.source), targets.index(lane.target)) for lane in problem.lanes]
    source, target = [a for a, _ in ends], [b for _, b in ends]
    prefill = np.stack([costs.prefill[site] for site in sources])
    per_step = (prefill[:, 1:] / np.arange(1, count + 1)).min(axis=1)
    usd = states.usd_per_hour + gains * (states.steps / count)
    decoded, relayed, alone, work = np.zeros((4, states.size))
    for lane, at in states.by_lane.items():
        relay, decode = costs.relay[sources[source[lane]]], costs.decode[targets[target[lane]]]
        erlang = relay.within(states.relay_erlang[at], states.steps[at], count)
        if erlang.any():
            relayed[at] = erlang * relay.usd_per_work
            alone[at] = relay.cost(erlang) * (states.steps[at] / count)
        work[at] = decode.within(states.decode_work_per_s[at], states.steps[at], count)
        decoded[at] = work[at] * decode.usd_per_work
    flow = states.steps * per_step[np.array(source, dtype=np.int64)[states.lane]]
    sums = StepSums(count + 1)
    least = sums.by_lane(states, work)
    decode_usd = []
    for number, site in enumerate(targets):
        lanes = [part for lane, part in least.items() if target[lane] == number]
        decode_usd.append(_cost_of(costs.decode[site], sums.running(lanes)[-1]))
    base = costs.engines.pricing.usd_per_hour
    by_source = by_lane = Shares(states, usd + relayed + decoded, source, prefill, base)
    if alone.any():
        by_lane = Shares(states, usd + alone + decoded, source, prefill, base)
    by_target = Shares(states, usd + relayed + flow, target, np.stack(decode_usd), base)
    return NodeBounds(by_source, by_lane, by_target)


def _cost_of(front: Front, work: FloatArray) -> FloatArray:
    """Least cost of work by steps; infinite where no lane states carry so many."""
    return np.where(np.isfinite(work), front.cost(np.where(np.isfinite(work), work, 0.0)), np.inf)
