"""Better plans near a known one: other levels, steps moved between lanes, lanes opened and closed.

Moves are ranked by what they would cost if transfers took no time for prefill, which is a look-up
and never too high; only those that might be better are costed with the engines they need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pdd_plan.fleet.problem import FloatArray
from pdd_plan.optimizer.node import Choice, Node
from pdd_plan.optimizer.states import IntArray

TRIALS = 40
"""Moves costed with engines before a plan counts as the best around."""


class Neighborhood:
    """Moves of a node, and estimates of what they cost.

    Parameters
    ----------
    node : Node
        Threshold and slot wait.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.states = node.states
        self.lanes = np.array(list(self.states.by_lane), dtype=np.int64)
        usd = node.bounds().by_source.usd
        steps = node.problem.load_steps
        self._best = np.full((len(node.problem.lanes), 2 * steps + 1), -1)
        order = np.argsort(-usd, kind="stable")
        self._best[self.states.lane[order], self.states.steps[order]] = order

    def improve(self, choice: Choice, left_s: Callable[[], float]) -> Choice:
        """Move to better choices until none is near, or time is up."""
        while left_s() > 0.0:
            better = self._step(choice, left_s)
            if better is None:
                return choice
            choice = better
        return choice

    def _step(self, choice: Choice, left_s: Callable[[], float]) -> Choice | None:
        removed, added = self._moves(choice.states)
        estimates = self._estimates(choice.states, removed, added)
        promising = np.flatnonzero(estimates < choice.usd_per_hour * (1.0 - 1e-9))
        promising = promising[np.argsort(estimates[promising], kind="stable")]
        for move in promising[:TRIALS]:
            if left_s() <= 0.0:
                return None
            gone = {int(s) for s in removed[move]}
            states = [s for s in choice.states if s not in gone]
            states += [int(s) for s in added[move] if s >= 0]
            trial = self.node.choose(states, choice.usd_per_hour)
            if trial is not None and trial.usd_per_hour < choice.usd_per_hour * (1.0 - 1e-9):
                return trial
        return None

    def _moves(self, chosen: Sequence[int]) -> tuple[IntArray, IntArray]:
        """States to leave and to enter, -1 for none, each of shape (moves, 2)."""
        states = self.states
        current = np.full(self._best.shape[0], -1)
        current[states.lane[list(chosen)]] = chosen
        now = np.where(current >= 0, states.steps[current], 0)
        removed, added = [], []
        for state in chosen:
            lane = int(states.lane[state])
            same = states.by_lane[lane]
            options = np.append(same[same != state], -1)
            spare = states.steps[state] - np.where(options >= 0, states.steps[options], 0)
            level = np.flatnonzero(spare == 0)
            removed.append(np.column_stack([np.full(level.size, state), np.full(level.size, -1)]))
            added.append(np.column_stack([options[level], np.full(level.size, -1)]))
            others = self.lanes[self.lanes != lane]
            option, other = np.meshgrid(np.flatnonzero(spare), others, indexing="ij")
            option, other = option.ravel(), other.ravel()
            steps = now[other] + spare[option]
            fits = steps >= 0
            option, other, steps = option[fits], other[fits], steps[fits]
            entered = np.where(steps > 0, self._best[other, steps], -1)
            fits = (entered >= 0) | (steps == 0)
            option, other, entered = option[fits], other[fits], entered[fits]
            removed.append(np.column_stack([np.full(option.size, state), current[other]]))
            added.append(np.column_stack([options[option], entered]))
        return np.concatenate(removed), np.concatenate(added)

    def _estimates(self, chosen: Sequence[int], removed: IntArray, added: IntArray) -> FloatArray:
        """Lower bounds on the cost after each move, shape (moves,)."""
        node, states, costs = self.node, self.states, self.node.costs
        chosen = list(chosen)
        total = self._change(states.usd_per_hour, removed, added)
        total += states.usd_per_hour[chosen].sum()
        for site in node.problem.prefill_sites:
            here = node.source == site
            steps = self._after(states.steps * here, chosen, removed, added)
            total += costs.prefill[site][np.minimum(steps, node.problem.load_steps)]
            erlang = self._after(states.relay_erlang * here, chosen, removed, added)
            total += costs.relay[site].cost(erlang)
        for site in node.problem.decode_sites:
            here = node.target == site
            work = self._after(states.decode_work_per_s * here, chosen, removed, added)
            total += costs.decode[site].cost(work)
        return total

    def _after(
        self, values: FloatArray, chosen: list[int], removed: IntArray, added: IntArray
    ) -> FloatArray:
        return np.asarray(values[chosen].sum() + self._change(values, removed, added))

    @staticmethod
    def _change(values: FloatArray, removed: IntArray, added: IntArray) -> FloatArray:
        padded = np.append(values, 0)  # the last entry stands for none
        return np.asarray(padded[added].sum(axis=1) - padded[removed].sum(axis=1))
