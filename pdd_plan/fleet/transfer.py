"""The state of a lane: how long the KV cache of each atom travels, and what that makes the relay do.

Every request of a lane puts its missing KV cache on the line, relayed or not: the relay hides the
wait, it does not save the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pdd_plan.errors import UnstableQueueError
from pdd_plan.fleet.problem import FloatArray, LaneOption, Problem
from pdd_plan.queueing import transfer_time_points

POINTS = 16
"""Quantile points that stand for the transfer time of one atom."""

CATCH_UP_ROUNDS = 12
"""Most rounds of catching up; each is shorter than the one before or the last."""


@dataclass(frozen=True)
class LaneState:
    """Transfer times on a lane at one bandwidth level and flow.

    Attributes
    ----------
    values_s : ndarray, shape (atoms, points)
        Equally informative points of the transfer time of each atom [s], delays included.
    point_weights : ndarray, shape (points,)
        Probabilities of the points; sum to 1.
    utilization : float
        Offered bytes over usable bandwidth.
    """

    values_s: FloatArray
    point_weights: FloatArray
    utilization: float

    @property
    def mean_s(self) -> FloatArray:
        """Mean transfer time of each atom [s], shape (atoms,)."""
        return np.asarray(self.values_s @ self.point_weights, dtype=np.float64)


def rdma_s(problem: Problem, site: str, size_bytes: FloatArray) -> FloatArray:
    """Time to move KV cache between two engines of a site, alone on the network [s].

    Parameters
    ----------
    size_bytes : ndarray, shape (atoms,)
        Bytes to move.
    """
    network = problem.networks[site]
    return network.latency_s + size_bytes / network.bytes_per_s


def lane_state(
    problem: Problem, lane: LaneOption, level: int, flow_per_s: float
) -> LaneState | None:
    """Transfer times of all atoms on a lane, or None where the line cannot carry the flow.

    Parameters
    ----------
    level : int
        Index into the bandwidth levels of the lane; ignored for a local lane.
    flow_per_s : float
        Requests on the lane [requests/s].

    Notes
    -----
    Processor sharing at the usable bandwidth; half a round trip, set-up and host copies are added
    to the time but use no bandwidth (design: M/G/1-PS, section 5 of the theory).
    """
    if lane.local:
        values = rdma_s(problem, lane.source, problem.transfer_bytes)[:, None]
        return LaneState(values, np.ones(1), 0.0)
    usable = float(lane.bytes_per_s[level]) * lane.efficiency
    alone_s = problem.transfer_bytes / usable
    utilization = flow_per_s * float(problem.atoms.weight @ alone_s)
    if utilization >= 1.0:
        return None
    share = min(1.0, lane.connection_cap_bytes_per_s / usable)
    try:
        values, weights = transfer_time_points(
            alone_s,
            problem.atoms.weight,
            utilization,
            points=POINTS,
            connection_share=share,
            connections=lane.connections,
        )
    except UnstableQueueError:
        return None
    copies_s = problem.transfer_bytes / lane.host_copy_bytes_per_s
    delay_s = lane.rtt_s / 2 + lane.overhead_s + copies_s
    return LaneState(values + delay_s[:, None], weights, utilization)


@dataclass(frozen=True)
class RelayWork:
    """What relayed requests of a lane ask of relay and main decode, per atom.

    Attributes
    ----------
    tokens : ndarray, shape (atoms,)
        Mean number of tokens that the relay makes of a request.
    residency_s : ndarray, shape (atoms,)
        Mean time that a request holds a relay slot [s].
    extend_s : ndarray, shape (atoms,)
        Mean time that main decode spends on recomputing KV for a request [s].
    gap_s : ndarray, shape (atoms, points)
        Gap that the user sees at the seam [s], at the points of the transfer time; 0 where
        the request ended on the relay.
    """

    tokens: FloatArray
    residency_s: FloatArray
    extend_s: FloatArray
    gap_s: FloatArray
    point_weights: FloatArray


def relay_work(
    problem: Problem,
    lane: LaneOption,
    state: LaneState,
    relay_step_s: float,
    extend: tuple[float, float],
    mode: str,
) -> RelayWork:
    """Work of the relay and of the hand-off if every atom were relayed.

    Parameters
    ----------
    relay_step_s : float
        Time of one token on the relay [s].
    extend : (float, float)
        Seconds fixed and per token of recomputing KV cache at main decode.
    mode : {"one_shot", "catch_up"}
        Hand-off: stop the relay at once, or let it go on while main decode catches up.

    Notes
    -----
    Per atom and point of the transfer time: the relay speaks from the moment it has the KV cache
    until main decode has it too, so it makes ``min(O, (X - X_rdma) / t_relay)`` tokens. One-shot:
    the user sees half a round trip and ``E(k)``. Catch-up: rounds ``k' = E(k) / t_relay`` until
    one token or no further shrinking is left; the last round is the gap.
    """
    fixed_s, per_token_s = extend
    outputs = problem.atoms.output_tokens[:, None]
    rdma = rdma_s(problem, lane.source, problem.kv_bytes)[:, None]
    head_start_s = np.maximum(state.values_s - rdma, 0.0)
    tokens = np.minimum(outputs, head_start_s / relay_step_s)
    ended = tokens >= outputs
    extend_s = np.where(ended, 0.0, fixed_s + per_token_s * tokens)
    gap = np.where(ended, 0.0, lane.rtt_s / 2 + extend_s)
    residency = tokens * relay_step_s
    if mode == "catch_up":
        backlog = np.where(ended, 0.0, tokens)
        made = tokens
        work = extend_s.copy()
        round_s = extend_s + np.where(ended, 0.0, lane.rtt_s / 2)
        for _ in range(CATCH_UP_ROUNDS):
            following = np.minimum(round_s / relay_step_s, outputs - made)
            going = (backlog > 1.0) & (following < 0.95 * backlog)
            if not going.any():
                break
            made = np.where(going, made + following, made)
            residency = np.where(going, residency + round_s, residency)
            backlog = np.where(going, following, backlog)
            round_s = np.where(going, lane.rtt_s / 2 + fixed_s + per_token_s * backlog, round_s)
            done = made >= outputs
            work = np.where(going & ~done, work + fixed_s + per_token_s * backlog, work)
            backlog = np.where(done, 0.0, backlog)
        gap = np.where(backlog > 1.0, round_s, 0.0)
        tokens, extend_s = made, work
    weights = state.point_weights
    return RelayWork(tokens @ weights, residency @ weights, extend_s @ weights, gap, weights)
