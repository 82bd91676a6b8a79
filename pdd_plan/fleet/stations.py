"""Relay and decode pools at the load of a candidate: batches, waits for a slot, hand-off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pdd_plan.errors import UnstableQueueError
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, FloatArray, Problem
from pdd_plan.fleet.transfer import LaneState, RelayWork, relay_work
from pdd_plan.queueing import (
    BatchingResult,
    TimeGrid,
    continuous_batching,
    departure_scv,
    peakedness,
    slot_pool,
)

FIXED_POINT_ROUNDS = 6
"""Most rounds for the batch of a relay pool and the residency that depends on it."""

SETTLED = 2e-3
"""Change of the share of busy slots at which the rounds end."""


@dataclass(frozen=True)
class SlotState:
    """A relay or decode pool at its load.

    Attributes
    ----------
    utilization : float
        Decode: arrival rate over what full batches sustain; relay: busy slots over slots.
    step_s : float
        Time per token, mean over tokens [s].
    first_token_s : float
        Time from joining the batch to the first token at the client [s].
    probability_wait : float
        Share of requests that find all slots taken.
    wait_rate_per_s : float
        Rate of the exponential law of their wait [1/s].
    memory_utilization : float
        KV cache held on average over what fits.
    batching : BatchingResult or None
        Details of a decode pool.
    """

    utilization: float
    step_s: float
    first_token_s: float
    probability_wait: float
    wait_rate_per_s: float
    memory_utilization: float
    batching: BatchingResult | None = None


@dataclass(frozen=True)
class LaneFlow:
    """An open lane of a candidate at one multiplier of the load.

    Attributes
    ----------
    lane, level : int
        Lane and bandwidth level.
    flow_per_s : float
        Requests [1/s] at this multiplier.
    state : LaneState
        Transfer times.
    relayed : ndarray, shape (atoms,)
        Weights of the atoms that go through the relay, 0 for the others.
    """

    lane: int
    level: int
    flow_per_s: float
    state: LaneState
    relayed: FloatArray


def slot_wait_masses(state: SlotState, grid: TimeGrid) -> FloatArray:
    """Law of the wait for a slot on a grid, shape (grid.size,)."""
    ends = (np.arange(grid.size) + 0.5) * grid.step_s
    below = -np.expm1(-state.wait_rate_per_s * ends)
    masses = state.probability_wait * np.diff(below, prepend=0.0)
    masses[0] += 1.0 - state.probability_wait
    return np.asarray(masses)


@dataclass(frozen=True)
class RelaySite:
    """Relay of a prefill site: pools by index, work by lane, and how it hands over."""

    pools: Mapping[int, SlotState]
    work: Mapping[int, RelayWork]
    mode: str


def relay_site(
    model: PathModel, candidate: Candidate, site: str, flows: list[LaneFlow]
) -> RelaySite:
    """Compute the relay pools of a site at the load of a candidate.

    Notes
    -----
    The time of a token depends on the batch, the batch on how long requests stay, and that on
    the time of a token: a fixed point, iterated from the idle relay. ``auto`` catches up while
    the relay then stays below the configured utilization.

    Raises
    ------
    UnstableQueueError
        If the relayed work needs all slots or more.
    """
    problem = model.problem
    engines = {
        i: candidate.engines[i]
        for i in problem.pool_indices(site, "relay")
        if candidate.engines[i] > 0
    }
    relayed = [flow for flow in flows if flow.relayed.any()]
    mode = problem.serving.handoff
    if not engines or not relayed:
        return RelaySite({}, {}, "one_shot" if mode == "auto" else mode)
    attempts = ("catch_up", "one_shot") if mode == "auto" else (mode,)
    if mode == "auto" and problem.limits_of("handoff_gap"):
        attempts = ("catch_up",)
    result = None
    for attempt in attempts:
        try:
            result = _relay_fixed_point(model, candidate, engines, relayed, attempt)
        except UnstableQueueError:
            if attempt == attempts[-1]:
                raise
            continue
        busiest = max(state.utilization for state in result.pools.values())
        if busiest <= problem.serving.catch_up_utilization:
            break
    assert result is not None
    return result


def _relay_fixed_point(
    model: PathModel,
    candidate: Candidate,
    engines: Mapping[int, int],
    flows: list[LaneFlow],
    mode: str,
) -> RelaySite:
    problem = model.problem
    slots = {i: n * problem.pools[i].slots for i, n in engines.items()}
    total_slots = sum(slots.values())
    busy = 0.0
    for _ in range(FIXED_POINT_ROUNDS):
        share = min(busy / total_slots, 1.0)
        steps = {i: _step_at(problem.pools[i].step_s, share) for i in engines}
        mean_step = sum(steps[i] * slots[i] for i in engines) / total_slots
        work = {
            flow.lane: relay_work(
                problem,
                problem.lanes[flow.lane],
                flow.state,
                mean_step,
                extend_line(model, candidate, flow.lane),
                mode,
            )
            for flow in flows
        }
        before, busy = (
            busy,
            sum(
                flow.flow_per_s * float(flow.relayed @ work[flow.lane].residency_s)
                for flow in flows
            ),
        )
        if abs(busy - before) <= SETTLED * total_slots:
            break
    arrivals = sum(flow.flow_per_s * float(flow.relayed.sum()) for flow in flows)
    pool = slot_pool(arrivals, max(busy / arrivals, 1e-9), total_slots)
    states = {
        i: SlotState(
            utilization=pool.utilization,
            step_s=steps[i],
            first_token_s=steps[i] * problem.pools[i].first_token_steps,
            probability_wait=pool.probability_wait,
            wait_rate_per_s=pool.wait_tail_rate_per_s,
            memory_utilization=pool.utilization,
        )
        for i in engines
    }
    return RelaySite(states, work, mode)


def _step_at(step_s: FloatArray, share: float) -> float:
    """Step at a share of the slots, interpolated."""
    batch = max(share * step_s.size, 1.0)
    return float(np.interp(batch, np.arange(1, step_s.size + 1), step_s))


def extend_line(model: PathModel, candidate: Candidate, lane: int) -> tuple[float, float]:
    """Seconds fixed and per token of recomputing KV cache at the decode end of a lane.

    The mean over the pools with engines, weighted by the requests that they can take.
    """
    problem = model.problem
    weights, lines = [], []
    for index in problem.pool_indices(problem.lanes[lane].target, "decode"):
        pool = problem.pools[index]
        weight = candidate.engines[index] * model.slot_pools[index].most_per_engine_s
        if weight > 0.0:
            weights.append(weight)
            lines.append((pool.extend_fixed_s, pool.extend_per_token_s))
    if not weights:
        return 0.0, 0.0
    fixed_s, per_token_s = np.average(lines, axis=0, weights=weights)
    return float(fixed_s), float(per_token_s)


def decode_arrival_scv(
    problem: Problem, candidate: Candidate, sources: Sequence[str], loads: Mapping[int, float]
) -> float:
    """Variation of what leaves the prefill pools of some sites for the decode that they feed.

    Notes
    -----
    Streams put together keep the mean of their variation, weighted by rate, as decode feels it:
    it keeps requests for far longer than the gaps between them (W. Whitt, QNA, 1983, section 4).
    """
    weight = problem.atoms.weight
    total = scv = 0.0
    for index, load in loads.items():
        pool, engines = problem.pools[index], candidate.engines[index]
        if pool.role != "prefill" or pool.site not in sources:
            continue
        mean = float(weight @ pool.service_s)
        service_scv = float(weight @ pool.service_s**2) / mean**2 - 1.0
        queues = problem.serving.queues(engines)
        one = departure_scv(
            1.0 + (problem.arrival_scv - 1.0) / queues,
            service_scv,
            min(load * mean / (pool.servers_per_engine * engines), 1.0),
            pool.servers_per_engine * engines // queues,
        )
        total, scv = total + load, scv + load * one
    return scv / total if total > 0.0 else 1.0


def decode_site(
    problem: Problem,
    candidate: Candidate,
    flows: list[LaneFlow],
    work: Mapping[int, RelayWork],
    loads: Mapping[int, float],
    arrival_scv: float = 1.0,
) -> dict[int, SlotState]:
    """Compute the main decode pools of a site at the load of a candidate.

    Parameters
    ----------
    flows : list of LaneFlow
        Lanes that end at the site.
    work : mapping of lane to RelayWork
        What the relay did before main decode took over.
    loads : mapping of pool to float
        Requests of each pool [1/s].
    arrival_scv : float
        Variation of what prefill sends.

    Notes
    -----
    Requests bring the tokens that the relay did not make. Slots are reserved while KV cache
    travels; recomputing relayed tokens takes engine time from decode steps.

    Raises
    ------
    UnstableQueueError
        If a pool cannot keep up.
    """
    total = sum(flow.flow_per_s for flow in flows)
    weight, outputs = problem.atoms.weight, problem.atoms.output_tokens
    tokens = reserved = extend = 0.0
    for flow in flows:
        share = flow.flow_per_s / total
        tokens += share * float(weight @ outputs)
        reserved += flow.flow_per_s * float(weight @ flow.state.mean_s)
        if flow.lane in work:
            tokens -= share * float(flow.relayed @ work[flow.lane].tokens)
            extend += share * float(flow.relayed @ work[flow.lane].extend_s)
    mean = float(weight @ outputs)
    output_scv = float(weight @ (outputs - mean) ** 2) / mean**2
    peaks = peakedness(arrival_scv, outputs, weight)
    states = {}
    for index, load in loads.items():
        pool, engines = problem.pools[index], candidate.engines[index]
        busy = load * extend / engines
        if busy >= 1.0:
            raise UnstableQueueError(f"{pool.label}: recomputing KV cache takes all its time")
        result = continuous_batching(
            load,
            max(tokens, 1.0),
            pool.step_s / (1.0 - busy),
            engines,
            pool.slots,
            reserved_s=reserved / total,
            output_scv=output_scv,
            peakedness=peaks,
        )
        held = result.mean_active + result.mean_reserved
        states[index] = SlotState(
            utilization=result.utilization,
            step_s=result.mean_step_s,
            first_token_s=result.mean_step_s * pool.first_token_steps,
            probability_wait=result.probability_wait,
            wait_rate_per_s=result.wait_tail_rate_per_s,
            memory_utilization=held / (engines * pool.slots),
            batching=result,
        )
    return states
