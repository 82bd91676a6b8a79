"""What users see of a fleet that routes by size: the full model along its two paths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pdd_plan.errors import UnstableQueueError
from pdd_plan.fleet.check import CheckResult
from pdd_plan.fleet.evaluate import Evaluation, PoolState, limit_result
from pdd_plan.fleet.laws import Law, Route, mixture
from pdd_plan.fleet.path_laws import PathLaws
from pdd_plan.fleet.problem import Candidate, FloatArray, Problem
from pdd_plan.fleet.size_routing import EngineChoice, SizeFleet
from pdd_plan.fleet.stations import LaneFlow, RelaySite, SlotState
from pdd_plan.fleet.transfer import LaneState, lane_state
from pdd_plan.queueing import continuous_batching
from pdd_plan.scenario.policy import Metric

IDLE_SHARE = 1e-6
"""Share of the planned load that stands for an idle fleet."""

FULL = 1e-9
"""Uses this close to 1 differ from it by rounding."""

NO_RELAY = RelaySite({}, {}, "one_shot")


def evaluate_by_size(
    fleet: SizeFleet, candidate: Candidate, choice: EngineChoice, *, idle: bool = False
) -> Evaluation:
    """Predict latencies and use of a fleet that routes by size.

    Parameters
    ----------
    fleet : SizeFleet
        What is planned.
    candidate : Candidate
        Fleet, with flows at the load that pools and line are judged by.
    choice : EngineChoice
        Its engine shapes.
    idle : bool
        Predict the latencies of a fleet without other requests; use stays that of the load.

    Returns
    -------
    Evaluation
        ``ttft_home`` and ``ttft_remote`` are the laws by prefill site; nothing is relayed.

    Raises
    ------
    UnstableQueueError
        If a stage is offered more than it can do, unless idle.
    """
    problem = fleet.problem
    load = sum(candidate.flows_per_s)
    parts: dict[Metric, list[tuple[float, Law]]] = {"ttft": [], "tpot": [], "e2e": []}
    by_site: dict[bool, list[tuple[float, Law]]] = {True: [], False: []}
    pairs = zip(problem.period_multipliers, problem.period_weights, strict=True)
    for multiplier, weight in pairs:
        rate = load * float(multiplier) * (IDLE_SHARE if idle else 1.0)
        for remote, share, laws in _period(fleet, candidate, choice, rate):
            for (metric, _), (_, law) in laws.items():
                parts[metric].append((float(weight) * share, law))
            by_site[remote].append((float(weight) * share, laws["ttft", "direct"][1]))
    merged = {key: mixture(laws) for key, laws in parts.items()}
    peak = load * problem.peak_multiplier
    return Evaluation(
        ttft=merged["ttft"],
        ttft_direct=None,
        ttft_relay=None,
        tpot=merged["tpot"],
        handoff_gap=None,
        e2e=merged["e2e"],
        pools=_pools(fleet, candidate, choice, peak),
        lane_utilization=_line_use(fleet, candidate, peak),
        relay_request_fraction=0.0,
        relay_token_fraction=0.0,
        relay_tokens=0.0,
        limits=tuple(limit_result(limit, merged[limit.metric]) for limit in problem.limits),
        check=CheckResult((), tuple(0.0 for _ in problem.pools)),
        handoff_mode="one_shot",
        flows=(),
        ttft_home=mixture(by_site[False]) if by_site[False] else None,
        ttft_remote=mixture(by_site[True]) if by_site[True] else None,
    )


def _period(
    fleet: SizeFleet, candidate: Candidate, choice: EngineChoice, rate: float
) -> list[tuple[bool, float, dict[tuple[Metric, Route | None], tuple[float, Law]]]]:
    """Laws of each path at a rate of all requests, with the path's share of them."""
    index = candidate.threshold_index
    level = max(candidate.levels[fleet.remote_lane], 0)
    shares = {True: fleet.remote_share(index)}
    shares[False] = 1.0 - shares[True]
    problems, states = {}, {}
    for remote, share in shares.items():
        part = fleet.part(index, choice, remote=remote)
        if part is None:
            continue
        state = lane_state(part, part.lanes[0], level if remote else 0, rate * share)
        if state is None:
            raise UnstableQueueError(f"line {part.lanes[0].label} cannot carry {rate * share:.4g}")
        problems[remote], states[remote] = part, state
    slot = _decode(fleet, candidate, choice, rate, index, states)
    out = []
    for remote, part in problems.items():
        flow = LaneFlow(0, level, rate * shares[remote], states[remote], _none(part))
        prefill = choice.remote if remote else choice.home
        counts = (candidate.engines[prefill], candidate.engines[choice.decode])
        laws = PathLaws(part).lane(
            replace(candidate, engines=counts, levels=(level,), flows_per_s=(flow.flow_per_s,)),
            flow,
            {0: flow.flow_per_s},
            {1: slot},
            {1: flow.flow_per_s},
            NO_RELAY,
        )
        out.append((remote, shares[remote], laws))
    return out


def _none(problem: Problem) -> FloatArray:
    return np.zeros(problem.atoms.weight.size)


def _decode(
    fleet: SizeFleet,
    candidate: Candidate,
    choice: EngineChoice,
    rate: float,
    index: int,
    states: dict[bool, LaneState],
) -> SlotState:
    """Decode pool at the rate of all requests; a slot is reserved while its KV cache travels."""
    problem = fleet.problem
    weight, outputs = problem.atoms.weight, problem.atoms.output_tokens
    sent = fleet.sent(index)
    reserved_s = sum(
        float(weight[sent if remote else ~sent] @ state.mean_s) for remote, state in states.items()
    )
    pool, engines = problem.pools[choice.decode], candidate.engines[choice.decode]
    mean = float(weight @ outputs)
    result = continuous_batching(
        rate,
        mean,
        pool.step_s,
        engines,
        pool.slots,
        reserved_s=reserved_s,
        output_scv=float(weight @ (outputs - mean) ** 2) / mean**2,
    )
    return SlotState(
        utilization=result.utilization,
        step_s=result.mean_step_s,
        first_token_s=result.mean_step_s * pool.first_token_steps,
        probability_wait=result.probability_wait,
        wait_rate_per_s=result.wait_tail_rate_per_s,
        memory_utilization=(result.mean_active + result.mean_reserved) / (engines * pool.slots),
        batching=result,
    )


def _pools(
    fleet: SizeFleet, candidate: Candidate, choice: EngineChoice, peak: float
) -> dict[int, PoolState]:
    """Use of each pool at the peak of the planned load."""
    problem = fleet.problem
    stage = fleet.stable_rates(candidate.threshold_index, choice)
    weight = problem.atoms.weight
    sent = fleet.sent(candidate.threshold_index)
    out = {}
    for pool, mask in ((choice.remote, sent), (choice.home, ~sent)):
        engines, share = candidate.engines[pool], float(weight[mask].sum())
        option = problem.pools[pool]
        if engines:
            busy = peak * float(weight[mask] @ option.service_s[mask])
            kept = peak * float(weight[mask] @ (option.service_s[mask] * problem.kv_bytes[mask]))
            room = engines * option.kv_capacity_bytes
            held = min(kept / room, 1.0) if np.isfinite(room) else 0.0
            use = _whole(busy / (engines * option.servers_per_engine))
            out[pool] = PoolState(peak * share / problem.peak_multiplier, use, held, 0.0)
    engines = candidate.engines[choice.decode]
    if engines:
        use = _whole(peak / problem.peak_multiplier / float(stage.decode[0, engines]))
        load = peak / problem.peak_multiplier
        out[choice.decode] = PoolState(load, use, min(use, 1.0), 0.0)
    return out


def _whole(use: float) -> float:
    """A use within rounding of 1 as 1, which is what a stage that is just full has."""
    return 1.0 if abs(use - 1.0) < FULL else use


def _line_use(fleet: SizeFleet, candidate: Candidate, peak: float) -> tuple[float, ...]:
    problem, lane = fleet.problem, fleet.line
    use = [0.0] * len(problem.lanes)
    level = candidate.levels[fleet.remote_lane]
    if level >= 0:
        sent = fleet.sent(candidate.threshold_index)
        size = float(problem.atoms.weight[sent] @ problem.transfer_bytes[sent])
        use[fleet.remote_lane] = peak * size / (float(lane.bytes_per_s[level]) * lane.efficiency)
    return tuple(use)
