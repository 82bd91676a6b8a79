"""The ways of handing over from relay to main decode, side by side, at the load of a candidate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pdd_plan.fleet.laws import Law, law_of_points
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, FloatArray
from pdd_plan.fleet.stations import LaneFlow, extend_line, relay_site
from pdd_plan.fleet.transfer import RelayWork, relay_work


@dataclass(frozen=True)
class HandoffChoices:
    """What each way of handing over would do.

    Attributes
    ----------
    one_shot_gap, catch_up_gap, kv_push_gap : Law
        Gap that the user sees at the seam, over relayed requests; 0 where one ended on the relay.
    extra_relay_tokens : float
        Further tokens that the relay makes of a relayed request while main decode catches up.
    extend_s : float
        Time of main decode for recomputing, a relayed request, of the way in use [s].
    """

    one_shot_gap: Law
    catch_up_gap: Law
    kv_push_gap: Law
    extra_relay_tokens: float
    extend_s: float


def handoff_choices(
    model: PathModel, candidate: Candidate, flows: Sequence[LaneFlow]
) -> HandoffChoices | None:
    """Compare one-shot, catch-up and sending the KV cache of the relay's tokens instead.

    Parameters
    ----------
    model : PathModel
        Path model of the problem.
    candidate : Candidate
        Fleet that was evaluated.
    flows : sequence of LaneFlow
        Its open lanes at the load to look at.

    Returns
    -------
    HandoffChoices or None
        None where nothing is relayed.

    Notes
    -----
    Pushing k tokens' KV cache takes half a round trip and k times the bytes of a token at what the
    shared line leaves over, 1 - utilization of its bandwidth, plus staging through host memory.
    """
    problem = model.problem
    relayed = [flow for flow in flows if flow.relayed.any()]
    if not relayed:
        return None
    gaps: dict[str, list[tuple[FloatArray, FloatArray]]] = {"one_shot": [], "catch_up": []}
    pushes: list[tuple[FloatArray, FloatArray]] = []
    total = sum(flow.flow_per_s * float(flow.relayed.sum()) for flow in relayed)
    extra = extend = 0.0
    for flow in relayed:
        lane = problem.lanes[flow.lane]
        here = [one for one in flows if problem.lanes[one.lane].source == lane.source]
        relay = relay_site(model, candidate, lane.source, here)
        step_s = float(np.mean([state.step_s for state in relay.pools.values()]))
        line = extend_line(model, candidate, flow.lane)
        works = {mode: relay_work(problem, lane, flow.state, step_s, line, mode) for mode in gaps}
        mass = flow.flow_per_s * flow.relayed[:, None] * flow.state.point_weights
        for mode, work in works.items():
            gaps[mode].append((work.gap_s.ravel(), mass.ravel()))
        pushes.append(
            (_push_s(model, flow, works["one_shot"]).ravel(), flow.relayed * flow.flow_per_s)
        )
        more = works["catch_up"].tokens - works["one_shot"].tokens
        extra += flow.flow_per_s * float(flow.relayed @ more)
        extend += flow.flow_per_s * float(flow.relayed @ works[relay.mode].extend_s)
    return HandoffChoices(
        _law(gaps["one_shot"]), _law(gaps["catch_up"]), _law(pushes), extra / total, extend / total
    )


def _push_s(model: PathModel, flow: LaneFlow, work: RelayWork) -> FloatArray:
    """Time to send the KV cache of the tokens made so far instead of recomputing it [s]."""
    problem = model.problem
    lane = problem.lanes[flow.lane]
    size = work.tokens * problem.kv_bytes_per_token
    rate = float(lane.bytes_per_s[flow.level]) * lane.efficiency * (1.0 - flow.state.utilization)
    ended = work.tokens >= problem.atoms.output_tokens * (1.0 - 1e-9)
    seconds = lane.rtt_s / 2 + size / rate + size / lane.host_copy_bytes_per_s
    return np.where(ended, 0.0, seconds)


def _law(parts: list[tuple[FloatArray, FloatArray]]) -> Law:
    values = np.concatenate([values for values, _ in parts])
    mass = np.concatenate([mass for _, mass in parts])
    return law_of_points(values, mass / mass.sum())
