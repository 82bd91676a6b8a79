"""Largest rates of the stages of a fleet that routes by size, within limits on latency."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import FloatArray, Problem
from pdd_plan.fleet.size_routing import EngineChoice, SizeFleet, StageRates
from pdd_plan.fleet.slots import SlotPool, token_demand

FLOWS = 16
"""Flows on the line that are looked at in one round."""

ROUNDS = 3
"""Rounds of narrowing: the largest flow is found to 1 / 16^3 of what the line could carry."""


@dataclass
class SizeLimits:
    """Rates within limits, by the planning rule on each path.

    Parameters
    ----------
    fleet : SizeFleet
        What is planned; with limits on latency or on the wait for a slot.
    choice : EngineChoice
        Engine shapes.
    slot_wait : float
        Share of requests that may wait for a decode slot.
    models : dict
        Path models by threshold and path, made as they are needed; may be shared and emptied.
    """

    fleet: SizeFleet
    choice: EngineChoice
    slot_wait: float
    models: dict[tuple[int, bool], PathModel | None] = field(default_factory=dict, repr=False)

    def rates(self, threshold_index: int) -> StageRates:
        """Return the largest rates of each stage that keep every limit on its path.

        Notes
        -----
        Rates found are kept, so they err on the low side by the narrowing of flows alone.
        """
        fleet, choice = self.fleet, self.choice
        stable = fleet.stable_rates(threshold_index, choice)
        remote = self.model(threshold_index, remote=True)
        home = self.model(threshold_index, remote=False)
        share = fleet.remote_share(threshold_index)
        out = np.full_like(stable.remote, np.inf)
        if remote is not None:
            for level in fleet.levels:
                out[level] = self._remote(remote, level, stable.remote[level] * share) / share
        by_home = np.full_like(stable.home, np.inf)
        if home is not None:
            by_home[0] = 0.0
            counts = list(range(1, by_home.size))
            loads = home.prefill_capacities(0, counts, [(0, 0, 1e-9)], 0, self.slot_wait)[:, 0]
            by_home[1:] = np.maximum.accumulate(loads) / (1.0 - share)
        decode = np.stack(
            [
                self._decode(threshold_index, level, stable.decode[level], share)
                for level in fleet.levels
            ]
        )
        return StageRates(threshold_index, out, by_home, decode)

    def model(self, threshold_index: int, *, remote: bool) -> PathModel | None:
        """Return the path model of one path; None where no request goes this way."""
        key = (threshold_index, remote)
        if key not in self.models:
            part = self.fleet.part(threshold_index, self.choice, remote=remote)
            self.models[key] = None if part is None else PathModel(part)
        return self.models[key]

    def could(self, threshold_index: int, rate_per_s: float) -> bool:
        """Whether prefill of the whole stock keeps the limits at a rate; decode is not asked."""
        share = self.fleet.remote_share(threshold_index)
        for remote, part in ((True, share), (False, 1.0 - share)):
            model = self.model(threshold_index, remote=remote)
            if model is None:
                continue
            pool, flow = model.problem.pools[0], rate_per_s * part
            level = self.fleet.levels[-1] if remote else 0
            if pool.max_engines == 0 or model.peak_state(0, level, flow) is None:
                return False
            keys = [(0, level, flow)]
            loads = model.prefill_capacities(0, [pool.max_engines], keys, 0, self.slot_wait)
            if float(loads[0, 0]) < flow:
                return False
        return True

    def _remote(self, model: PathModel, level: int, stable: FloatArray) -> FloatArray:
        """Largest flows over the line by engines [requests/s], shape (counts,)."""
        most = np.zeros(stable.size)
        if stable.size == 1:
            return most
        low, high = 0.0, float(stable[-1]) * (1.0 - 1e-9)
        brackets = [(low, high)] * (stable.size - 1)
        for _ in range(ROUNDS):
            ends = dict.fromkeys(brackets)
            for bracket in ends:
                flows = np.linspace(*bracket, FLOWS + 1)[1:]
                counts = [n + 1 for n, own in enumerate(brackets) if own == bracket]
                kept = self._kept(model, level, counts, flows)
                for count, number in zip(counts, kept, strict=True):
                    edges = np.concatenate(([bracket[0]], flows))
                    upper = min(number + 1, FLOWS)
                    brackets[count - 1] = (float(edges[number]), float(edges[upper]))
        most[1:] = [bracket[0] for bracket in brackets]
        return np.maximum.accumulate(most)

    def _kept(
        self, model: PathModel, level: int, counts: list[int], flows: FloatArray
    ) -> list[int]:
        """Number of flows, from the smallest on, that each count of engines serves."""
        states = model.lanes.peak_states(0, [(level, flow) for flow in flows.tolist()])
        alive = [f for f, state in zip(flows.tolist(), states, strict=True) if state is not None]
        if not alive:
            return [0] * len(counts)
        keys = [(0, level, flow) for flow in alive]
        loads = model.prefill_capacities(0, counts, keys, 0, self.slot_wait)
        fits = loads >= np.array(alive)
        return [int(np.argmin(row)) if not row.all() else row.size for row in fits]

    def _decode(
        self, threshold_index: int, level: int, stable: FloatArray, share: float
    ) -> FloatArray:
        """Largest rates by decode engines [requests/s], shape (counts,).

        Notes
        -----
        Decode is charged the slots that are reserved while KV cache travels. That time is convex
        in the rate, so between the rates looked at a straight line is above it.
        """
        problem = self.fleet.problem
        pool = SlotPool(problem.pools[self.choice.decode], token_demand(problem))
        capacity = np.array(
            [pool.decode_capacity_per_s(n, self.slot_wait) for n in range(stable.size)]
        )
        most = float(stable[-1])
        if most <= 0.0 or not pool.pool.slots:
            return np.zeros(stable.size)
        per_slot = pool.most_per_engine_s / pool.pool.slots
        rates = np.linspace(0.0, most, FLOWS + 1)
        work = np.array(
            [self._work(problem, threshold_index, level, rate, share, per_slot) for rate in rates]
        )
        known = np.isfinite(work)
        found = np.interp(capacity, work[known], rates[known])
        return np.maximum.accumulate(found)

    def _work(
        self,
        problem: Problem,
        threshold_index: int,
        level: int,
        rate: float,
        share: float,
        per_slot: float,
    ) -> float:
        """Work at decode as an equivalent request rate at the peak; infinite beyond the line."""
        travel_s = 0.0
        for remote, part in ((True, share), (False, 1.0 - share)):
            model = self.model(threshold_index, remote=remote)
            if model is None:
                continue
            state = model.peak_state(0, level if remote else 0, rate * part)
            if state is None:
                return float("inf")
            travel_s += part * float(model.problem.atoms.weight @ state.mean_s)
        return rate * problem.peak_multiplier * (1.0 + per_slot * travel_s)
