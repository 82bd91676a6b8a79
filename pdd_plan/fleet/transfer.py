"""The state of a lane: how long the KV cache of each atom travels, and what the relay then does.

Every request of a lane puts its missing KV cache on the line, relayed or not: the relay hides the
wait, it does not save the bytes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pdd_plan.fleet.problem import FloatArray, LaneOption, Problem
from pdd_plan.queueing import transfer_time_table

POINTS = 16
"""Quantile points that stand for the transfer time of one atom."""

MOST_KEPT_BYTES = 2e8
"""Memory for times on lines that are kept for later [bytes]."""

CATCH_UP_ROUNDS = 12
"""Most rounds of catching up; each is shorter than the one before or the last."""


@dataclass(frozen=True)
class LaneState:
    """Transfer times on a lane at one bandwidth level and flow.

    Attributes
    ----------
    travel_s : ndarray, shape (atoms, points)
        Equally informative points of the time on the line of each atom [s].
    delay_s : ndarray, shape (atoms,)
        What a transfer takes beside its time on the line [s].
    point_weights : ndarray, shape (points,)
        Probabilities of the points; sum to 1.
    utilization : float
        Offered bytes over usable bandwidth.
    """

    travel_s: FloatArray
    delay_s: FloatArray
    point_weights: FloatArray
    utilization: float

    @property
    def values_s(self) -> FloatArray:
        """Points of the transfer time of each atom [s], shape (atoms, points)."""
        return self.travel_s + self.delay_s[:, None]

    @property
    def mean_s(self) -> FloatArray:
        """Mean transfer time of each atom [s], shape (atoms,)."""
        return np.asarray(self.travel_s @ self.point_weights + self.delay_s, dtype=np.float64)


def rdma_s(problem: Problem, site: str, size_bytes: FloatArray) -> FloatArray:
    """Time to move KV cache between two engines of a site, alone on the network [s].

    Parameters
    ----------
    size_bytes : ndarray, shape (atoms,)
        Bytes to move.
    """
    network = problem.networks[site]
    return network.latency_s + size_bytes / network.bytes_per_s


class TravelTimes:
    """Times on a line by bandwidth and flow, kept for the lines that are alike.

    Parameters
    ----------
    problem : Problem
        What is planned; its arrival rate plays no part.
    """

    def __init__(self, problem: Problem) -> None:
        self._bytes = problem.transfer_bytes
        self._weight = problem.atoms.weight
        self._kept: OrderedDict[tuple[float, float, int | None, float], FloatArray | None]
        self._kept = OrderedDict()
        self.point_weights = np.zeros(0)
        self._most = max(256, int(MOST_KEPT_BYTES / (8 * POINTS * max(self._bytes.size, 1))))

    def points_s(
        self, usable: float, share: float, connections: int | None, flows_per_s: Sequence[float]
    ) -> list[tuple[FloatArray, float] | None]:
        """Points of the time on the line, and its utilization; None where it cannot carry a flow.

        Parameters
        ----------
        usable : float
            Usable bandwidth [bytes/s].
        share : float
            Largest share of it that one connection can use.
        connections : int or None
            Transfers that may share the line at once.
        flows_per_s : sequence of float
            Requests on the line [requests/s].
        """
        alone_s = self._bytes / usable
        mean_s = float(self._weight @ alone_s)
        keys = [(usable, share, connections, flow) for flow in flows_per_s]
        missing = [key for key in dict.fromkeys(keys) if key not in self._kept]
        capacity = 1.0 if connections is None else min(connections * share, 1.0)
        carried = [key for key in missing if key[3] * mean_s < capacity]
        if carried:
            values, self.point_weights = transfer_time_table(
                alone_s,
                self._weight,
                np.array([key[3] * mean_s for key in carried]),
                points=POINTS,
                connection_share=share,
                connections=connections,
            )
            self._kept.update(zip(carried, values, strict=True))
        for key in missing:
            self._kept.setdefault(key, None)
        found = [self._kept[key] for key in keys]
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return [
            None if values is None else (values, flow * mean_s)
            for values, flow in zip(found, flows_per_s, strict=True)
        ]


def lane_states(
    problem: Problem,
    lane: LaneOption,
    level: int,
    flows_per_s: Sequence[float],
    travel: TravelTimes | None = None,
) -> list[LaneState | None]:
    """Transfer times of all atoms on a lane by flow; None where the line cannot carry it.

    Parameters
    ----------
    level : int
        Index into the bandwidth levels of the lane; ignored for a local lane.
    flows_per_s : sequence of float
        Requests on the lane [requests/s].
    travel : TravelTimes, optional
        Times on the lines of the problem, to share them.

    Notes
    -----
    Processor sharing at the usable bandwidth; half a round trip, set-up and host copies are added
    to the time but use no bandwidth (design: M/G/1-PS, section 5 of the theory).
    """
    if lane.local:
        times = rdma_s(problem, lane.source, problem.transfer_bytes)
        state = LaneState(np.zeros((times.size, 1)), times, np.ones(1), 0.0)
        return [state] * len(flows_per_s)
    usable = float(lane.bytes_per_s[level]) * lane.efficiency
    share = min(1.0, lane.connection_cap_bytes_per_s / usable)
    travel = travel or TravelTimes(problem)
    copies_s = problem.transfer_bytes / lane.host_copy_bytes_per_s
    delay_s = lane.rtt_s / 2 + lane.overhead_s + copies_s
    return [
        None if found is None else LaneState(found[0], delay_s, travel.point_weights, found[1])
        for found in travel.points_s(usable, share, lane.connections, flows_per_s)
    ]


def lane_state(
    problem: Problem, lane: LaneOption, level: int, flow_per_s: float
) -> LaneState | None:
    """Transfer times of all atoms on a lane at one flow; see :func:`lane_states`."""
    return lane_states(problem, lane, level, [flow_per_s])[0]


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
    """
    values = hand_over(problem, lane, state.values_s, relay_step_s, extend, mode)
    weights = state.point_weights
    tokens, residency, extend_s, gap = values
    return RelayWork(tokens @ weights, residency @ weights, extend_s @ weights, gap, weights)


def hand_over(
    problem: Problem,
    lane: LaneOption,
    values_s: FloatArray,
    relay_step_s: float,
    extend: tuple[float, float],
    mode: str,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Relay and hand-off of each atom at each transfer time, if it were relayed.

    Parameters
    ----------
    values_s : ndarray, shape (..., atoms, points)
        Transfer times [s].
    relay_step_s, extend, mode
        As for :func:`relay_work`.

    Returns
    -------
    tokens, residency_s, extend_s, gap_s : ndarray, shape as ``values_s``
        As in :class:`RelayWork`, before taking means.

    Notes
    -----
    The relay speaks from the moment it has the KV cache until main decode has it too, so it makes
    ``min(O, (X - X_rdma) / t_relay)`` tokens, in whole tokens: before the first of them is out,
    main decode just starts. One-shot: the user sees half a round trip and ``E(k)``. Catch-up:
    rounds ``k' = (rtt / 2 + E(k)) / t_relay`` until one token is left or the next round would not
    leave a whole token less; the last round is the gap.
    """
    fixed_s, per_token_s = extend
    outputs = np.broadcast_to(problem.atoms.output_tokens[:, None], values_s.shape)
    rdma = rdma_s(problem, lane.source, problem.kv_bytes)[:, None]
    head_start_s = np.maximum(values_s - rdma, 0.0)
    spoken_s = np.minimum(head_start_s, outputs * relay_step_s)
    tokens = np.floor(spoken_s / relay_step_s + 1e-9)
    going = (tokens >= 1.0) & (tokens < outputs)  # main decode takes over in mid-answer
    made, residency = tokens.copy(), spoken_s.copy()
    work, gap = np.zeros(values_s.shape), np.zeros(values_s.shape)
    backlog = tokens[going]
    extend_s = fixed_s + per_token_s * backlog
    if mode == "one_shot":
        work[going], gap[going] = extend_s, lane.rtt_s / 2 + extend_s
        return made, residency, work, gap
    rounds = _Rounds(backlog, backlog.copy(), spoken_s[going], np.zeros(backlog.size))
    rounds.catch_up(outputs[going], relay_step_s, lane.rtt_s / 2, extend)
    made[going], residency[going] = rounds.made, rounds.residency_s
    work[going] = rounds.work_s
    seam_s = lane.rtt_s / 2 + fixed_s + per_token_s * rounds.backlog
    gap[going] = np.where(rounds.backlog > 1.0, seam_s, 0.0)
    return made, residency, work, gap


@dataclass
class _Rounds:
    """Requests that main decode is catching up with: tokens left, made, and times so far."""

    backlog: FloatArray
    made: FloatArray
    residency_s: FloatArray
    work_s: FloatArray

    def catch_up(
        self,
        outputs: FloatArray,
        relay_step_s: float,
        half_rtt_s: float,
        extend: tuple[float, float],
    ) -> None:
        """Go on in rounds while each leaves a whole token less than the one before."""
        fixed_s, per_token_s = extend
        extend_s = np.where(self.backlog > 1.0, fixed_s + per_token_s * self.backlog, 0.0)
        self.work_s += extend_s
        live = np.arange(self.backlog.size)
        round_s = half_rtt_s + fixed_s + per_token_s * self.backlog
        for _ in range(CATCH_UP_ROUNDS):
            following = np.minimum(round_s / relay_step_s, outputs[live] - self.made[live])
            backlog = self.backlog[live]
            on = (backlog > 1.0) & (following <= backlog - 1.0)
            if not on.any():
                return
            live, following, round_s = live[on], following[on], round_s[on]
            self.made[live] += following
            self.residency_s[live] += round_s
            backlog = np.where(self.made[live] < outputs[live], following, 0.0)
            self.backlog[live] = backlog
            extend_s = np.where(backlog > 1.0, fixed_s + per_token_s * backlog, 0.0)
            self.work_s[live] += extend_s
            round_s = half_rtt_s + extend_s
