"""Lane states near given ones that the sites can serve: wider lines first, then moved steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pdd_plan.fleet.problem import FloatArray
from pdd_plan.optimizer.node import Choice, Node
from pdd_plan.optimizer.states import IntArray, States


class Repair:
    """Turns lane states that some sites cannot serve into a plan.

    A prefill site that fails gets its lanes at their widest, since short transfers leave the most
    time for waits; where it fails still, or a decode site does, one step moves to a lane of another
    site. What a site failed at bounds what it is given later, so the moves end.

    Parameters
    ----------
    node : Node
        Threshold and slot wait; its states must not change any more.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.lanes = node.problem.lanes
        states, count = node.states, node.problem.load_steps
        self._widest = np.full((len(self.lanes), count + 1), -1)
        order = np.argsort(states.level, kind="stable")
        self._widest[states.lane[order], states.steps[order]] = order
        self._most: dict[str, int] = {}

    def plan(self, states: Sequence[int], left_s: Callable[[], float]) -> Choice | None:
        """A plan near some lane states; None where none is found, or time is up."""
        chosen = {int(self.node.states.lane[state]): int(state) for state in states}
        while left_s() > 0.0:
            failing = self._failing(chosen)
            if failing is None:
                return self.node.choose(list(chosen.values()))
            site, lanes = failing
            wide = {lane: self._wide(lane, self._steps(chosen[lane])) for lane in lanes}
            if self.lanes[lanes[0]].source == site and any(
                wide[lane] not in (-1, chosen[lane]) for lane in lanes
            ):
                chosen |= {lane: state for lane, state in wide.items() if state >= 0}
                continue
            carried = sum(self._steps(chosen[lane]) for lane in lanes)
            self._most[site] = min(self._most.get(site, carried), carried - 1)
            if not self._move(chosen, lanes, site):
                return None
        return None

    def _failing(self, chosen: dict[int, int]) -> tuple[str, list[int]] | None:
        """A site that no engines serve, and its lanes; None where there is none."""
        lanes, node = self.lanes, self.node
        for end in ("source", "target"):
            for site in dict.fromkeys(getattr(lanes[lane], end) for lane in chosen):
                here = [lane for lane in chosen if getattr(lanes[lane], end) == site]
                sent = [state for lane, state in chosen.items() if lanes[lane].source == site]
                taken = [state for lane, state in chosen.items() if lanes[lane].target == site]
                if node.site_mix(site, sent, taken) is None:
                    return site, here
        return None

    def _steps(self, state: int) -> int:
        return int(self.node.states.steps[state])

    def _wide(self, lane: int, steps: int) -> int:
        return int(self._widest[lane, steps])

    def _move(self, chosen: dict[int, int], lanes: Sequence[int], failing: str) -> bool:
        """Move a step off the lanes of a site to where it costs least; False if it goes nowhere."""
        carried: dict[str, int] = {}
        for lane, state in chosen.items():
            for site in {self.lanes[lane].source, self.lanes[lane].target}:
                carried[site] = carried.get(site, 0) + self._steps(state)
        best, least = None, np.inf
        for source in lanes:
            fewer = self._steps(chosen[source]) - 1
            if fewer and self._wide(source, fewer) < 0:
                continue
            for target, option in enumerate(self.lanes):
                if failing in (option.source, option.target):
                    continue
                usd = self._usd_of_step(chosen, carried, source, target)
                if usd < least:
                    best, least = (source, target, fewer), usd
        if best is None:
            return False
        source, target, fewer = best
        more = self._steps(chosen[target]) + 1 if target in chosen else 1
        chosen[target] = self._wide(target, more)
        if fewer:
            chosen[source] = self._wide(source, fewer)
        else:
            del chosen[source]
        return True

    def _usd_of_step(
        self, chosen: dict[int, int], carried: dict[str, int], source: int, target: int
    ) -> float:
        """Estimated cost of one more step on a lane that comes from another; infinite if it fails.

        Prefill at its cost for instant transfers, decode and line in proportion.
        """
        old, new = self.lanes[source], self.lanes[target]
        steps = (self._steps(chosen[target]) if target in chosen else 0) + 1
        state = self._wide(target, steps) if steps < self._widest.shape[1] else -1
        if state < 0:
            return np.inf
        for end in ("source", "target"):
            site = getattr(new, end)
            now = carried.get(site, 0)
            if getattr(old, end) != site and now + 1 > self._most.get(site, now + 1):
                return np.inf
        costs, states = self.node.costs, self.node.states
        usd = float(states.usd_per_hour[state]) / steps
        work = float(states.decode_work_per_s[state])
        usd += costs.decode[new.target].usd_per_work * work / steps
        if old.source != new.source:
            now = carried.get(new.source, 0)
            prefill = costs.prefill[new.source]
            if now + 1 >= prefill.size or np.isinf(prefill[now + 1]):
                return np.inf
            usd += float(prefill[now + 1] - prefill[now])
        return usd


def whole_states(states: States, shares: FloatArray, load_steps: int) -> list[int]:
    """Lane states of a fractional solution with flows in whole steps that carry the demand.

    Parameters
    ----------
    shares : ndarray, shape (states,)
        Share of each state in the solution.

    Returns
    -------
    list of int
        Each lane at its mean flow, rounded so that all of them carry the demand, on the line of
        its largest share or a wider one; empty where there are no such states.
    """
    lanes = list(states.by_lane)
    flows = np.array([shares[at] @ states.steps[at] for at in states.by_lane.values()])
    steps = np.floor(flows + 1e-6).astype(np.int64)
    missing = load_steps - int(steps.sum())
    if not 0 <= missing <= len(lanes):
        return []
    steps[np.argsort(steps - flows, kind="stable")[:missing]] += 1
    chosen = []
    for lane, count in zip(lanes, steps.tolist(), strict=True):
        if count:
            state = _state_of(states, states.by_lane[lane], shares, count)
            if state < 0:
                return []
            chosen.append(state)
    return chosen


def _state_of(states: States, at: IntArray, shares: FloatArray, steps: int) -> int:
    """State of a lane with some steps, on a line as wide as its largest share; -1 for none."""
    level = states.level[at[np.argmax(shares[at])]]
    here = at[states.steps[at] == steps]
    if not here.size:
        return -1
    wide = here[states.level[here] >= level]
    return int(wide[np.argmin(states.level[wide])] if wide.size else here[-1])
