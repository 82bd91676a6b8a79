"""Laws of the latencies of a lane: known times and waits along its paths, mixed over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pdd_plan.fleet.laws import Law, Route, law_of_points, law_of_sum, mixture
from pdd_plan.fleet.prefill import visible_transfer_s
from pdd_plan.fleet.problem import Candidate, FloatArray, Problem
from pdd_plan.fleet.stations import LaneFlow, RelaySite, SlotState, slot_wait_masses
from pdd_plan.fleet.transfer import rdma_s
from pdd_plan.queueing import TimeGrid, waiting_time_pmf
from pdd_plan.scenario.policy import Metric

TOKEN_POINTS = 8
"""Points for the time per token in end-to-end times."""


class PathLaws:
    """Latency laws of the lanes of a candidate.

    Parameters
    ----------
    problem : Problem
        What is planned.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def lane(
        self,
        candidate: Candidate,
        flow: LaneFlow,
        prefill: Mapping[int, float],
        decode: Mapping[int, SlotState],
        decode_loads: Mapping[int, float],
        relay: RelaySite,
        kind: int | None = None,
    ) -> dict[tuple[Metric, Route | None], tuple[float, Law]]:
        """Laws of one lane with weights, between its sites and without the way to users.

        By latency and route: TTFT and end to end for each route with requests; those without a
        route, TPOT and the gap at the hand-off, are the same for users everywhere.

        Parameters
        ----------
        prefill : mapping of pool to float
            Loads of the prefill pools of the source [requests/s].
        decode, decode_loads : mapping of pool
            States and loads of the decode pools of the target.
        relay : RelaySite
            Relay of the source.
        kind : int, optional
            Only the requests of this traffic class.
        """
        weight = self.problem.atoms.weight
        if kind is not None:
            inside = self.problem.atoms.kind == kind
            weight = np.where(inside, weight, 0.0)
            flow = replace(flow, relayed=np.where(inside, flow.relayed, 0.0))
        direct = weight - flow.relayed
        out: dict[tuple[Metric, Route | None], list[tuple[float, Law]]] = {}
        decoders = _shares(decode_loads)
        relays = {i: 1.0 / len(relay.pools) for i in relay.pools}
        tokens = self._token_points(decode, decoders)
        made = relay.work[flow.lane].tokens if flow.lane in relay.work else None
        routes: tuple[Route, Route] = ("direct", "relay")
        sides = (direct, flow.relayed), (decoders, relays), (decode, relay.pools), (None, made)
        ways = list(zip(routes, *sides, strict=True))
        for pool, share in _shares(prefill).items():
            for route, sent, share_out, states, by_relay in ways:
                if sent.sum() <= 1e-15:
                    continue
                for slot_pool, slot_share in share_out.items():
                    part = share * slot_share * float(sent.sum())
                    ttft, e2e = self._path(
                        candidate,
                        flow,
                        pool,
                        prefill[pool],
                        states[slot_pool],
                        sent,
                        route,
                        tokens,
                        by_relay,
                    )
                    out.setdefault(("ttft", route), []).append((part, ttft))
                    out.setdefault(("e2e", route), []).append((part, e2e))
        result = {key: (sum(w for w, _ in parts), mixture(parts)) for key, parts in out.items()}
        total = float(weight.sum())
        result["tpot", None] = (total, self._tpot(flow, total, decode, decoders, relay))
        gap = self._gap(flow, relay)
        if gap is not None:
            result["handoff_gap", None] = gap
        return result

    def _tpot(
        self,
        flow: LaneFlow,
        requests: float,
        decode: Mapping[int, SlotState],
        shares: Mapping[int, float],
        relay: RelaySite,
    ) -> Law:
        """Time per output token of a request: steps of main decode, of the relay, and the seam."""
        straight = mixture([(share, _step_law(decode[i])) for i, share in shares.items()])
        work = relay.work.get(flow.lane)
        relayed = flow.relayed > 0.0
        share = float(flow.relayed.sum())
        if work is None or not relay.pools or share <= 0.0:
            return straight
        relay_s = float(np.mean([state.step_s for state in relay.pools.values()]))
        token_s, token_weights = self._token_points(decode, shares)
        outputs = self.problem.atoms.output_tokens[relayed]
        made = np.minimum(work.tokens[relayed], outputs)
        seam_s = made * relay_s + (work.gap_s @ work.point_weights)[relayed]
        times = (seam_s[:, None] + (outputs - made)[:, None] * token_s) / outputs[:, None]
        mass = flow.relayed[relayed, None] / share * token_weights
        by_relay = law_of_points(times.ravel(), mass.ravel())
        return mixture([(requests - share, straight), (share, by_relay)])

    @staticmethod
    def _token_points(
        decode: Mapping[int, SlotState], shares: Mapping[int, float]
    ) -> tuple[FloatArray, FloatArray]:
        """Time per token of a request, as points with weights over pools and their batches.

        A request is as long in a batch as the batch takes to change, so it sees one level of it.
        """
        values, weights = [], []
        for index, share in shares.items():
            batching = decode[index].batching
            assert batching is not None
            below = np.cumsum(batching.step_weights)
            edges = np.searchsorted(below, np.linspace(0.0, 1.0, TOKEN_POINTS + 1)[1:-1])
            for part in np.split(np.arange(below.size), edges):
                mass = float(batching.step_weights[part].sum())
                if mass > 0.0:
                    mean = batching.step_weights[part] @ batching.step_values_s[part] / mass
                    values.append(float(mean))
                    weights.append(share * mass)
        return np.array(values), np.array(weights) / sum(weights)

    def _path(
        self,
        candidate: Candidate,
        flow: LaneFlow,
        pool_index: int,
        load_per_s: float,
        slot: SlotState,
        weights: FloatArray,
        route: Route,
        token_points: tuple[FloatArray, FloatArray],
        made: FloatArray | None,
    ) -> tuple[Law, Law]:
        """TTFT and end-to-end law of one prefill pool, lane and first decoder."""
        problem = self.problem
        pool = problem.pools[pool_index]
        inside = weights > 0.0
        service = pool.service_s[inside]
        if problem.serving.first_token_from == "prefill":
            points, point_weights = np.zeros((service.size, 1)), np.ones(1)
            first = 0.0
        elif route == "direct":
            travel = flow.state.values_s[inside]
            points = visible_transfer_s(problem, travel, service)
            point_weights = flow.state.point_weights
            first = slot.first_token_s
        else:
            points = rdma_s(problem, pool.site, problem.kv_bytes[inside])[:, None]
            point_weights, first = np.ones(1), slot.first_token_s
        times = service[:, None] + points + (pool.host_s + first)
        share = weights[inside] / weights[inside].sum()
        mass = share[:, None] * point_weights
        engines = candidate.engines[pool_index]
        token_s, token_weights = token_points
        outputs = problem.atoms.output_tokens[inside] - 1.0
        made = np.zeros_like(outputs) if made is None else np.minimum(made[inside], outputs)
        relay_s = slot.step_s if route == "relay" else 0.0
        rest = (made * relay_s)[:, None, None] + (outputs - made)[:, None, None] * token_s
        waits = (engines, load_per_s, slot)
        ttft = self._law(pool_index, waits, times.ravel(), mass.ravel())
        # Against all the tokens, the mean of the transfer is enough.
        whole = (times @ point_weights)[:, None] + rest[:, 0, :]
        e2e = self._law(pool_index, waits, whole.ravel(), (share[:, None] * token_weights).ravel())
        return ttft, e2e

    def _law(
        self,
        pool_index: int,
        waits: tuple[int, float, SlotState],
        times_s: FloatArray,
        masses: FloatArray,
    ) -> Law:
        """Convolve the wait for prefill, known times and the wait for a slot."""
        engines, load_per_s, slot = waits

        def waits_on(grid: TimeGrid) -> list[FloatArray]:
            found = [self._wait(pool_index, engines, load_per_s, grid)]
            if slot.probability_wait > 1e-6 and np.isfinite(slot.wait_rate_per_s):
                found.append(slot_wait_masses(slot, grid))
            return found

        return law_of_sum(times_s, masses, waits_on)

    def _wait(self, pool_index: int, engines: int, load_per_s: float, grid: TimeGrid) -> FloatArray:
        problem, pool = self.problem, self.problem.pools[pool_index]
        queues = problem.serving.queues(engines)
        return waiting_time_pmf(
            pool.service_s,
            problem.atoms.weight,
            pool.servers_per_engine * engines // queues,
            load_per_s / queues,
            grid,
            arrival_scv=problem.arrival_scv,
            split=queues,
            recorded=pool.wait_shift,
        )

    def _gap(self, flow: LaneFlow, relay: RelaySite) -> tuple[float, Law] | None:
        work = relay.work.get(flow.lane)
        if work is None or not flow.relayed.any():
            return None
        mass = (flow.relayed[:, None] * work.point_weights).ravel()
        gaps = work.gap_s.ravel()
        total = float(mass.sum())
        return total, law_of_points(gaps, mass / total)


def _shares(loads: Mapping[int, float]) -> dict[int, float]:
    total = sum(loads.values())
    return {i: load / total for i, load in loads.items()}


def _step_law(state: SlotState) -> Law:
    """Law of the step time as tokens see it."""
    assert state.batching is not None
    weights = state.batching.step_weights
    return law_of_points(state.batching.step_values_s, weights / weights.sum())
