"""Paths from a prefill pool over a lane: what is left for waiting, by limit and time of day."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from pdd_plan.fleet.lanes import LaneModel, StateKey
from pdd_plan.fleet.prefill import UTILIZATIONS, PrefillPath, visible_transfer_s
from pdd_plan.fleet.problem import FloatArray, Limit, Problem
from pdd_plan.fleet.transfer import LaneState
from pdd_plan.queueing import TimeGrid

KERNEL_BYTES = 1.5e8
"""Memory for kernels that are kept for later [bytes]."""

CHUNK = 32
"""Paths worked on at once."""


@dataclass(frozen=True, eq=False)
class PathRule:
    """What a path in one state of its lane asks of the prefill pool.

    Attributes
    ----------
    kernels : ndarray, shape (limits, periods, grid.size)
        Attainment of a limit on a percentile is P(wait <= t) . kernel; not used for means.
    known_s : ndarray, shape (limits,)
        For limits on a mean: all of the latency but the wait [s].
    most_utilization : float
        Utilization of the pool up to which RDMA keeps up; 0 where the line is overloaded.
    held : (float, float)
        Means over requests of seconds held in prefill memory times KV bytes, and bytes squared.
    """

    kernels: FloatArray
    known_s: FloatArray
    most_utilization: float
    held: tuple[float, float]


class PathRules:
    """Rules of all paths of a problem; its arrival rate plays no part.

    Parameters
    ----------
    problem : Problem
        What is planned.
    grid : TimeGrid
        Grid of the waiting times.
    prefill : mapping of pool index to PrefillPath
        Prefill options.
    lanes : LaneModel
        Transfer times.
    """

    def __init__(
        self,
        problem: Problem,
        grid: TimeGrid,
        prefill: Mapping[int, PrefillPath],
        lanes: LaneModel,
    ) -> None:
        self.problem = problem
        self.grid = grid
        self.prefill = prefill
        self.lanes = lanes
        self.limits = problem.limits_of("ttft") + problem.limits_of("e2e")
        self._kept: OrderedDict[tuple[int, StateKey, int], PathRule] = OrderedDict()
        rows = max(len(self.limits), 1) * problem.period_weights.size
        self._most = max(CHUNK, int(KERNEL_BYTES / (8 * rows * grid.size)))
        self._first_steps = lru_cache(maxsize=None)(self._first_step_times)
        self._relayed = lru_cache(maxsize=1024)(self._relay_kernel)
        self._idle_relayed = lru_cache(maxsize=None)(self._idle_relayed_shares)

    def of(self, pool: int, states: Sequence[StateKey], threshold_index: int) -> list[PathRule]:
        """Rules of the paths from a prefill pool over lanes in given states."""
        keys = [(pool, state, threshold_index) for state in states]
        missing = [state for state, key in zip(states, keys, strict=True) if key not in self._kept]
        for lane in dict.fromkeys(state[0] for state in missing):
            here = list(dict.fromkeys(state for state in missing if state[0] == lane))
            for start in range(0, len(here), CHUNK):
                part = here[start : start + CHUNK]
                rules = self._build(pool, lane, part, threshold_index)
                for state, rule in zip(part, rules, strict=True):
                    self._kept[pool, state, threshold_index] = rule
        found = [self._kept[key] for key in keys]
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return found

    def reached(
        self, pool: int, engines: Sequence[int], rules: Sequence[PathRule], number: int
    ) -> FloatArray:
        """Attainment of a limit by utilization at the peak, count and path.

        Returns
        -------
        ndarray, shape (utilizations, engines, rules)
            For a limit on a mean: the share of it that is left over.
        """
        path, limit = self.prefill[pool], self.limits[number]
        periods = list(zip(self._shares, self.problem.period_weights, strict=True))
        if limit.percentile == 0:
            table = np.stack([path.mean_waits_s(count) for count in engines], axis=1)
            waits = sum(share * (weight @ table) for weight, share in periods)
            known = np.array([rule.known_s[number] for rule in rules])
            return np.asarray(1.0 - (waits[:, :, None] + known) / limit.limit_s)
        total = np.zeros((UTILIZATIONS.size, len(engines), len(rules)))
        tables = [path.wait_table(count) for count in engines]
        for period, (weight, share) in enumerate(periods):
            kernels = np.stack([rule.kernels[number, period] for rule in rules], axis=1)
            here = np.stack([table @ kernels for table in tables], axis=1)
            if self.problem.period_multipliers[period] < self.problem.peak_multiplier:
                here = np.tensordot(weight, here, axes=1)
            total += share * here
        return total

    def idle(self, rules: Sequence[PathRule], number: int) -> FloatArray:
        """What no number of engines can raise the attainment of a limit above, shape (rules,)."""
        limit = self.limits[number]
        if limit.percentile == 0:
            known = np.array([rule.known_s[number] for rule in rules])
            return np.asarray(1.0 - known / limit.limit_s)
        mass = np.array([rule.kernels[number].sum(axis=1) for rule in rules])
        return np.asarray(mass @ self.problem.period_weights)

    def idle_margins(self, pool: int, lane: int, keys: Sequence[tuple[int, float]]) -> FloatArray:
        """How far an idle prefill pool is above the limits on percentiles, by state and threshold.

        Parameters
        ----------
        keys : sequence of (level, flow)
            States that the lane can be in, at multiplier 1.

        Returns
        -------
        ndarray, shape (keys, thresholds)
            Largest probability of waiting for a slot at which an idle pool keeps every limit;
            below 0 no number of engines does. Infinite without a limit on a percentile.
        """
        margins = np.full((len(keys), self.problem.thresholds.size), np.inf)
        days = self.lanes.states(lane, keys)
        for limit in self.limits:
            if limit.percentile > 0:
                for row, day in enumerate(days):
                    share = self._idle_shares(pool, lane, day, limit) if day else -1.0
                    spare = (share - limit.probability) / slot_waits_within(limit)
                    margins[row] = np.minimum(margins[row], spare)
        return margins

    def _idle_shares(
        self, pool: int, lane: int, day: Sequence[LaneState], limit: Limit
    ) -> FloatArray:
        """Share of requests in time on an idle pool over the day, shape (thresholds,)."""
        path, option = self.prefill[pool], self.problem.lanes[lane]
        slack = path.slack_s(limit, self._token_s(lane)) + 1e-9
        in_time = np.zeros(slack.size)
        shares = self.problem.region_shares(limit.region)
        delays = self._delays(lane, limit, relayed=False)
        for region, delay_s in zip(shares, delays, strict=True):
            left = slack - delay_s
            if self.problem.serving.first_token_from == "prefill":
                in_time += region * (left >= 0.0)
                continue
            left = left - self._first_steps(lane)[0]
            for state, share in zip(day, self.problem.period_weights, strict=True):
                visible = visible_transfer_s(self.problem, state.values_s, path.pool.service_s)
                in_time += region * share * ((visible <= left[:, None]) @ state.point_weights)
        weight = self.problem.weight_for(limit) * in_time
        if option.local:
            return np.full(self.problem.thresholds.size, weight.sum())
        by_level = np.bincount(
            self.problem.relay_from, weight, minlength=self.problem.thresholds.size + 1
        )
        direct = weight.sum() - np.cumsum(by_level)[: self.problem.thresholds.size]
        return np.asarray(direct + self._idle_relayed(pool, lane, limit))

    def _idle_relayed_shares(self, pool: int, lane: int, limit: Limit) -> FloatArray:
        """Share of relayed requests in time on an idle pool, shape (thresholds,)."""
        thresholds = range(self.problem.thresholds.size)
        return np.array([self._relayed(pool, lane, t, limit).sum() for t in thresholds])

    @cached_property
    def _shares(self) -> list[FloatArray]:
        """Weights that interpolate a table over utilizations at those of a period of the day."""
        unit = np.eye(UTILIZATIONS.size)
        multipliers = self.problem.period_multipliers / self.problem.peak_multiplier
        return [
            np.stack([np.interp(UTILIZATIONS * m, UTILIZATIONS, row) for row in unit], axis=1)
            for m in multipliers
        ]

    def _build(
        self, pool: int, lane: int, states: Sequence[StateKey], threshold_index: int
    ) -> list[PathRule]:
        by_state = self.lanes.states(lane, [(level, flow) for _, level, flow in states])
        carried = [day for day in by_state if day is not None]
        rules = iter(self._build_carried(pool, lane, carried, threshold_index) if carried else [])
        shape = (len(self.limits), self.problem.period_weights.size, self.grid.size)
        dead = PathRule(np.zeros(shape), np.full(len(self.limits), np.inf), 0.0, (np.inf, np.inf))
        return [dead if day is None else next(rules) for day in by_state]

    def _build_carried(
        self, pool: int, lane: int, days: Sequence[list[LaneState]], threshold_index: int
    ) -> list[PathRule]:
        periods, count = range(self.problem.period_weights.size), len(days)
        kernels = np.zeros((count, len(self.limits), len(periods), self.grid.size))
        known = np.zeros((count, len(self.limits)))
        for number, limit in enumerate(self.limits):
            for period in periods:
                states = [day[period] for day in days]
                if limit.percentile > 0:
                    kernels[:, number, period] = self._kernels(
                        pool, lane, states, threshold_index, limit
                    )
                else:
                    known[:, number] += self.problem.period_weights[period] * np.array(
                        [self._known_s(pool, lane, s, threshold_index, limit) for s in states]
                    )
        peak = int(np.argmax(self.problem.period_multipliers))
        held = [self._held_moments(pool, day[peak]) for day in days]
        most = self._network_cap(pool, lane, threshold_index)
        return [PathRule(kernels[i], known[i], most, held[i]) for i in range(count)]

    def _kernels(
        self,
        pool: int,
        lane: int,
        states: Sequence[LaneState],
        threshold_index: int,
        limit: Limit,
    ) -> FloatArray:
        """Kernels of a limit in one period of the day, shape (states, grid.size)."""
        first_s, _ = self._first_steps(lane)
        local = self.problem.lanes[lane].local
        direct = self.prefill[pool].direct_kernels(
            states, local, limit, threshold_index, first_s, self._token_s(lane)
        )
        direct = self._delayed(direct, lane, limit, relayed=False)
        return direct if local else direct + self._relayed(pool, lane, threshold_index, limit)

    def _relay_kernel(self, pool: int, lane: int, threshold_index: int, limit: Limit) -> FloatArray:
        _, first_s = self._first_steps(lane)
        token_s = self._token_s(lane)
        kernel = self.prefill[pool].relay_kernel(threshold_index, limit, first_s, token_s)
        return self._delayed(kernel, lane, limit, relayed=True)

    def _delayed(
        self, kernels: FloatArray, lane: int, limit: Limit, *, relayed: bool
    ) -> FloatArray:
        """Kernels less the way of requests and tokens between users and sites.

        Notes
        -----
        A delay takes away from the time that is left for waiting, so a kernel moves down the grid;
        over regions it is a mixture. What has no time left is late.
        """
        total = np.zeros(kernels.shape)
        shares = self.problem.region_shares(limit.region)
        for share, delay_s in zip(shares, self._delays(lane, limit, relayed=relayed), strict=True):
            if share > 0.0:
                total += share * earlier(kernels, float(delay_s) / self.grid.step_s)
        return total

    def _delays(self, lane: int, limit: Limit, *, relayed: bool) -> FloatArray:
        """Way between users and sites that counts for a limit, shape (regions,) [s]."""
        return self.problem.user_delays_s(lane, relayed=relayed, last=limit.metric == "e2e")

    def _known_s(
        self, pool: int, lane: int, state: LaneState, threshold_index: int, limit: Limit
    ) -> float:
        local = self.problem.lanes[lane].local
        known_s = self.prefill[pool].mean_known_s(
            state, local, limit, threshold_index, self._first_steps(lane), self._token_s(lane)
        )
        sent = self.problem.relayed(threshold_index) & (not local)
        relayed = float(self.problem.weight_for(limit)[sent].sum())
        shares = self.problem.region_shares(limit.region)
        for part, by_relay in ((1.0 - relayed, False), (relayed, True)):
            known_s += part * float(shares @ self._delays(lane, limit, relayed=by_relay))
        return known_s

    def _first_step_times(self, lane: int) -> tuple[float, float]:
        """From joining the batch of main decode, and of the relay, to the first token [s]."""
        option, pools = self.problem.lanes[lane], self.lanes.slot_pools
        decode = self.problem.pool_indices(option.target, "decode")
        relay = self.problem.pool_indices(option.source, "relay")
        return (
            max((pools[i].first_token_s for i in decode), default=0.0),
            max((pools[i].first_token_s for i in relay), default=0.0),
        )

    def shortest_first_s(self, lane: int) -> float:
        """Shortest time from joining a batch to the first token on a lane, relayed or not [s]."""
        option = self.problem.lanes[lane]
        direct, relayed = self._first_steps(lane)
        relays = not option.local and self.problem.pool_indices(option.source, "relay")
        return min(direct, relayed) if relays else direct

    def _token_s(self, lane: int) -> float:
        """Longest step of any relay or decode engine at the ends of a lane [s]."""
        option = self.problem.lanes[lane]
        pools = self.problem.pool_indices(option.target, "decode")
        pools += self.problem.pool_indices(option.source, "relay")
        return max((self.lanes.slot_pools[i].working_step_s for i in pools), default=0.0)

    def _network_cap(self, pool: int, lane: int, threshold_index: int) -> float:
        """Utilization of prefill up to which RDMA out of its engines keeps up."""
        relayed = self.problem.relayed(threshold_index)
        if self.problem.lanes[lane].local or not relayed.any():
            return float(UTILIZATIONS[-1])
        return min(float(UTILIZATIONS[-1]), self.prefill[pool].rdma_inflation(threshold_index)[1])

    def _held_moments(self, pool: int, state: LaneState) -> tuple[float, float]:
        """Byte-seconds and byte-squared-seconds that a request holds prefill memory."""
        service_s = self.prefill[pool].pool.service_s
        travel = visible_transfer_s(self.problem, state.values_s, service_s)
        held_s = service_s + travel @ state.point_weights
        weight, size = self.problem.atoms.weight, self.problem.kv_bytes
        return float(weight @ (held_s * size)), float(weight @ (held_s * size**2))


def slot_waits_within(limit: Limit) -> float:
    """Waits for a slot in what is limited: one up to the first token, two up to the last."""
    return 1.0 if limit.metric == "ttft" else 2.0


def earlier(kernels: FloatArray, steps: float) -> FloatArray:
    """Kernels moved down the grid by a number of steps, linearly between its points.

    Parameters
    ----------
    kernels : ndarray, shape (..., grid.size)
    steps : float
        0 or more; what falls below 0 is lost.
    """
    whole = int(np.floor(steps))
    part = steps - whole
    size = kernels.shape[-1]
    out = np.zeros(kernels.shape)
    if whole >= size:
        return out
    out[..., : size - whole] = (1.0 - part) * kernels[..., whole:]
    if part > 0.0:
        out[..., 0] = 0.0
        out[..., : size - whole - 1] += part * kernels[..., whole + 1 :]
    return out
