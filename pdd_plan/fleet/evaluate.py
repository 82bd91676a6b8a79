"""What users see of a candidate: the full model, with waits at every station.

TTFT is computed per path and atom: wait for prefill, the pass, the transfer, wait for a slot and
the first step are independent given the atom, and are mixed over atoms, pools and lanes. Transfer
and prefill of one request are both driven by its uncached tokens; conditioning on the atom keeps
that correlation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from pdd_plan.errors import UnstableQueueError
from pdd_plan.fleet.check import CheckResult, check
from pdd_plan.fleet.groups import GroupLaws, PathParts
from pdd_plan.fleet.laws import Law
from pdd_plan.fleet.path_laws import PathLaws
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, FloatArray, Limit, Problem
from pdd_plan.fleet.stations import (
    LaneFlow,
    RelaySite,
    SlotState,
    decode_arrival_scv,
    decode_site,
    relay_site,
)
from pdd_plan.fleet.transfer import lane_state


@dataclass(frozen=True)
class PoolState:
    """One pool of a candidate: its load and how busy it is at the peak."""

    load_per_s: float
    utilization: float
    memory_utilization: float
    probability_wait: float


@dataclass(frozen=True)
class LimitResult:
    """One latency limit, and what is predicted of it."""

    limit: Limit
    predicted_s: float
    within: float

    @property
    def met(self) -> bool:
        """Whether the prediction keeps the limit."""
        return self.predicted_s <= self.limit.limit_s * (1.0 + 1e-9)


@dataclass(frozen=True)
class Evaluation:
    """Prediction of the full model for a candidate.

    Attributes
    ----------
    ttft, ttft_direct, ttft_relay, tpot, handoff_gap, e2e : Law or None
        Laws over requests, traffic-weighted over the periods of the day; None where a route has
        no requests.
    pools : mapping of pool index to PoolState
        Pools with engines, at the peak.
    lane_utilization : tuple of float
        Use of each line at the peak; 0 for closed and local lanes.
    relay_request_fraction, relay_token_fraction : float
        Shares of requests and of output tokens that the relay takes.
    limits : tuple of LimitResult
        Every limit of the problem.
    check : CheckResult
        Whether the planning rule is kept.
    handoff_mode : str
        ``one_shot`` or ``catch_up``.
    flows : tuple of LaneFlow
        Open lanes at the peak.
    ttft_home, ttft_remote : Law or None
        By prefill site, where requests are routed between prefill sites.
    by_class : mapping of str to GroupLaws
        Latencies of each traffic class by name; empty where there are none.
    by_region : mapping of str to GroupLaws
        Latencies of the users of each region by name; empty where there are none.
    """

    ttft: Law
    ttft_direct: Law | None
    ttft_relay: Law | None
    tpot: Law
    handoff_gap: Law | None
    e2e: Law
    pools: Mapping[int, PoolState]
    lane_utilization: tuple[float, ...]
    relay_request_fraction: float
    relay_token_fraction: float
    relay_tokens: float
    limits: tuple[LimitResult, ...]
    check: CheckResult
    handoff_mode: str
    flows: tuple[LaneFlow, ...]
    ttft_home: Law | None = None
    ttft_remote: Law | None = None
    by_class: Mapping[str, GroupLaws] = field(default_factory=dict)
    by_region: Mapping[str, GroupLaws] = field(default_factory=dict)


@dataclass
class _Relayed:
    """Requests and output tokens that the relay takes, as shares and counts a request."""

    requests: float = 0.0
    tokens: float = 0.0


def evaluate(problem: Problem, candidate: Candidate, model: PathModel | None = None) -> Evaluation:
    """Predict what users see of a candidate.

    Parameters
    ----------
    problem : Problem
        What is planned.
    candidate : Candidate
        The decision; it need not keep the planning rule, but must be stable.
    model : PathModel, optional
        Path model of the problem, to share its tables.

    Returns
    -------
    Evaluation
        Laws, loads and limits.

    Raises
    ------
    UnstableQueueError
        If a pool or line is offered more than it can do.
    """
    model = model or PathModel(problem)
    checked = check(problem, candidate, model)
    laws = PathLaws(problem)
    parts, relayed = PathParts(problem), _Relayed()
    peak_pools: dict[int, PoolState] = {}
    peak_lines: tuple[float, ...] = ()
    mode = "one_shot"
    flows: list[LaneFlow] = []
    order = np.argsort(problem.period_multipliers)
    for period in order:
        multiplier = float(problem.period_multipliers[period])
        weight = float(problem.period_weights[period])
        flows = _flows(problem, candidate, multiplier)
        peak_pools, mode = _period(
            model, candidate, checked, flows, multiplier, weight, laws, parts, relayed
        )
        by_lane = {flow.lane: flow.state.utilization for flow in flows}
        peak_lines = tuple(by_lane.get(i, 0.0) for i in range(len(problem.lanes)))
    total_tokens = float(problem.atoms.weight @ problem.atoms.output_tokens)
    return Evaluation(
        ttft=parts.whole("ttft"),
        ttft_direct=parts.law("ttft", route="direct"),
        ttft_relay=parts.law("ttft", route="relay"),
        tpot=parts.whole("tpot"),
        handoff_gap=parts.law("handoff_gap"),
        e2e=parts.whole("e2e"),
        pools=peak_pools,
        lane_utilization=peak_lines,
        relay_request_fraction=relayed.requests,
        relay_token_fraction=relayed.tokens / total_tokens,
        relay_tokens=relayed.tokens / relayed.requests if relayed.requests else 0.0,
        limits=tuple(limit_result(limit, parts.law_for(limit)) for limit in problem.limits),
        check=checked,
        handoff_mode=mode,
        flows=tuple(flows),
        by_class=parts.by_class(),
        by_region=parts.by_region(),
    )


def limit_result(limit: Limit, law: Law | None) -> LimitResult:
    """What is predicted of a limit by the law of its latency; None where no request has it."""
    if law is None:
        return LimitResult(limit, 0.0, 1.0)
    return LimitResult(limit, law.at_limit(limit), law.cdf(limit.limit_s))


def _flows(problem: Problem, candidate: Candidate, multiplier: float) -> list[LaneFlow]:
    """Open lanes at a multiplier of the load."""
    flows = []
    for index, lane in enumerate(problem.lanes):
        flow = candidate.flows_per_s[index] * multiplier
        if flow <= 0.0:
            continue
        state = lane_state(problem, lane, candidate.levels[index], flow)
        if state is None:
            raise UnstableQueueError(f"line {lane.label} cannot carry {flow:.4g} requests/s")
        relayed = np.zeros(problem.atoms.weight.size)
        if not lane.local:
            mask = problem.relayed(candidate.threshold_index)
            relayed = np.where(mask, problem.atoms.weight, 0.0)
        flows.append(LaneFlow(index, candidate.levels[index], flow, state, relayed))
    return flows


def _period(
    model: PathModel,
    candidate: Candidate,
    checked: CheckResult,
    flows: list[LaneFlow],
    multiplier: float,
    weight: float,
    laws: PathLaws,
    parts: PathParts,
    relayed: _Relayed,
) -> tuple[dict[int, PoolState], str]:
    """Evaluate one period of the day; return its pools and how the relay hands over."""
    problem = model.problem
    relays: dict[str, RelaySite] = {}
    for site in problem.prefill_sites:
        here = [flow for flow in flows if problem.lanes[flow.lane].source == site]
        relays[site] = relay_site(model, candidate, site, here)
    work = {lane: w for relay in relays.values() for lane, w in relay.work.items()}
    loads = {
        i: load * multiplier
        for i, load in enumerate(checked.pool_loads)
        if candidate.engines[i] > 0 and load > 0.0
    }
    decodes: dict[int, SlotState] = {}
    for site in problem.decode_sites:
        here = [flow for flow in flows if problem.lanes[flow.lane].target == site]
        pools = {i: loads[i] for i in problem.pool_indices(site, "decode") if i in loads}
        if here:
            if not pools:
                raise UnstableQueueError(f"no decode engine at {site}")
            sources = [problem.lanes[flow.lane].source for flow in here]
            scv = decode_arrival_scv(problem, candidate, sources, loads)
            decodes |= decode_site(problem, candidate, here, work, pools, scv)
    total = sum(flow.flow_per_s for flow in flows)
    for flow in flows:
        lane = problem.lanes[flow.lane]
        share = weight * flow.flow_per_s / total
        prefill = {i: loads[i] for i in problem.pool_indices(lane.source, "prefill") if i in loads}
        if not prefill:
            raise UnstableQueueError(f"no prefill engine at {lane.source}")
        relay = relays[lane.source]
        if flow.relayed.any() and not relay.pools:
            raise UnstableQueueError(f"no relay engine at {lane.source}")
        decode = {i: s for i, s in decodes.items() if problem.pools[i].site == lane.target}
        decode_loads = {i: loads[i] for i in decode}
        for kind in range(len(problem.classes)) if problem.classes else (None,):
            path = laws.lane(candidate, flow, prefill, decode, decode_loads, relay, kind)
            for (metric, route), (size, law) in path.items():
                parts.add(metric, route, flow.lane, kind or 0, share * size, law)
        relayed.requests += share * float(flow.relayed.sum())
        if flow.lane in work:
            relayed.tokens += share * float(flow.relayed @ work[flow.lane].tokens)
    states = _pool_states(model, candidate, loads, decodes, relays, flows)
    return states, next(iter(relays.values())).mode if relays else "one_shot"


def _pool_states(
    model: PathModel,
    candidate: Candidate,
    loads: Mapping[int, float],
    decodes: Mapping[int, SlotState],
    relays: Mapping[str, RelaySite],
    flows: list[LaneFlow],
) -> dict[int, PoolState]:
    problem = model.problem
    states: dict[int, PoolState] = {}
    slot_states = {**decodes, **{i: s for r in relays.values() for i, s in r.pools.items()}}
    for index, engines in enumerate(candidate.engines):
        pool = problem.pools[index]
        if engines == 0:
            continue
        if pool.role == "prefill":
            states[index] = _prefill_state(model, index, engines, loads.get(index, 0.0), flows)
        elif index in slot_states:
            slot = slot_states[index]
            states[index] = PoolState(
                loads.get(index, 0.0),
                slot.utilization,
                min(slot.memory_utilization, 1.0),
                slot.probability_wait,
            )
        else:
            states[index] = PoolState(0.0, 0.0, 0.0, 0.0)
    return states


def _prefill_state(
    model: PathModel, index: int, engines: int, load: float, flows: list[LaneFlow]
) -> PoolState:
    path = model.prefill[index]
    problem = model.problem
    here = [f for f in flows if problem.lanes[f.lane].source == path.pool.site]
    total = sum(f.flow_per_s for f in here)
    held: FloatArray = path.pool.service_s
    for flow in here:
        held = held + flow.flow_per_s / total * flow.state.mean_s
    capacity = engines * path.pool.kv_capacity_bytes
    kept = load * float(problem.atoms.weight @ (held * problem.kv_bytes))
    return PoolState(
        load,
        load / (engines * path.engine_rate_per_s),
        min(kept / capacity, 1.0) if np.isfinite(capacity) else 0.0,
        0.0,
    )
