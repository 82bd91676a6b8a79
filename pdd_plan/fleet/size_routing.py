"""Prefill at two sites by size: what the stages of such a fleet carry.

Requests above a threshold of uncached tokens are prefilled at a remote site and their KV cache
comes over a line; the others are prefilled at the home site, where all requests are decoded. Three
stages, two of them side by side, converge on the third, so a fleet carries the least of

    remote / (share of requests above), home / (share below), decode

where a stage's rate is what its engines (and, for the remote one, the line) do with the
requests that come its way [1]_. Without a limit on latency a stage is full at utilization 1; with
one, at the largest load at which the planning rule (:mod:`pdd_plan.fleet.paths`) holds on its path.

References
----------
.. [1] R. Qin et al., "Prefill-as-a-Service: KVCache of Next-Generation Models Could Go
   Cross-Datacenter", arXiv:2604.15039 (2026), equations 3 to 6. There stages take the mean prompt's
   time; here the mean of the prompts' times, which is what a queue must keep up with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pdd_plan.fleet.problem import FloatArray, LaneOption, PoolOption, Problem
from pdd_plan.workload import Atoms


@dataclass(frozen=True)
class EngineChoice:
    """One pool option of each stage, by index into ``Problem.pools``."""

    remote: int
    home: int
    decode: int

    def of(self, problem: Problem) -> tuple[PoolOption, PoolOption, PoolOption]:
        """Return the pool options."""
        return problem.pools[self.remote], problem.pools[self.home], problem.pools[self.decode]


@dataclass(frozen=True)
class StageRates:
    """Largest arrival rates of the whole fleet by stage, at one threshold [requests/s].

    Attributes
    ----------
    threshold : int
        Index into ``Problem.thresholds``.
    remote : ndarray, shape (levels, counts)
        By bandwidth level and remote prefill engines 0, 1, ...; infinite where nothing goes there.
    home : ndarray, shape (counts,)
        By prefill engines at home; infinite where nothing is prefilled there.
    decode : ndarray, shape (levels, counts)
        By bandwidth level and decode engines.
    """

    threshold: int
    remote: FloatArray
    home: FloatArray
    decode: FloatArray


@dataclass(frozen=True)
class SizeFleet:
    """A problem seen as one home site, one remote prefill site and the line between them.

    Parameters
    ----------
    problem : Problem
        With ``routing_between`` "prefill".
    """

    problem: Problem

    @cached_property
    def remote_lane(self) -> int:
        """Index of the line from the remote site."""
        return next(i for i, lane in enumerate(self.problem.lanes) if not lane.local)

    @cached_property
    def home_lane(self) -> int:
        """Index of the lane inside the home site."""
        home = self.line.target
        return next(
            i for i, lane in enumerate(self.problem.lanes) if lane.local and lane.source == home
        )

    @property
    def line(self) -> LaneOption:
        """The line from the remote site."""
        return self.problem.lanes[self.remote_lane]

    def choices(self) -> tuple[EngineChoice, ...]:
        """Return every choice of one engine shape for each stage."""
        remote = self.problem.pool_indices(self.line.source, "prefill")
        home = self.problem.pool_indices(self.line.target, "prefill")
        decode = self.problem.pool_indices(self.line.target, "decode")
        return tuple(EngineChoice(r, h, d) for r in remote for h in home for d in decode)

    def sent(self, threshold_index: int) -> np.ndarray:
        """Which atoms are prefilled at the remote site, shape (atoms,)."""
        return self.problem.relayed(threshold_index)

    def remote_share(self, threshold_index: int) -> float:
        """Share of requests prefilled at the remote site."""
        return float(self.problem.atoms.weight[self.sent(threshold_index)].sum())

    def part(self, threshold_index: int, choice: EngineChoice, *, remote: bool) -> Problem | None:
        """Return the problem of one path alone: its atoms, prefill, lane and decode.

        Parameters
        ----------
        remote : bool
            The path over the line, or the one at home.

        Returns
        -------
        Problem or None
            With two pools (prefill, decode), one lane and one threshold; None where no request
            goes this way.
        """
        sent = self.sent(threshold_index)
        mask = sent if remote else ~sent
        weight = self.problem.atoms.weight[mask]
        if weight.sum() <= 0.0:
            return None
        old = self.problem.atoms
        atoms = Atoms(
            old.input_tokens[mask],
            old.cached_prefill_tokens[mask],
            old.cached_decode_tokens[mask],
            old.output_tokens[mask],
            weight / weight.sum(),
            old.kind[mask],
        )
        prefill = self.problem.pools[choice.remote if remote else choice.home]
        lane = self.problem.lanes[self.remote_lane if remote else self.home_lane]
        return replace(
            self.problem,
            atoms=atoms,
            thresholds=np.array([np.inf]),
            relay_from=np.ones(int(mask.sum()), dtype=np.int64),
            kv_bytes=self.problem.kv_bytes[mask],
            transfer_bytes=self.problem.transfer_bytes[mask],
            pools=(
                replace(prefill, service_s=prefill.service_s[mask], recorded=None),
                self.problem.pools[choice.decode],
            ),
            lanes=(lane,),
            allowed_thresholds=None,
        )

    # --- without a limit on latency ------------------------------------------------------------

    def stable_rates(self, threshold_index: int, choice: EngineChoice) -> StageRates:
        """Return the rates at which each stage is just stable."""
        problem, peak = self.problem, self.problem.peak_multiplier
        remote, home, decode = choice.of(problem)
        weight = problem.atoms.weight
        above = np.where(self.sent(threshold_index), weight, 0.0)
        below = weight - above
        by_engines = _per_work(remote, float(above @ remote.service_s))
        bytes_each = float(above @ problem.transfer_bytes)
        usable = np.array([usable_bytes_per_s(self.line, v) for v in self.levels])
        by_line = usable / bytes_each if bytes_each > 0.0 else np.full(usable.size, np.inf)
        tokens = float(weight @ problem.atoms.output_tokens)
        batch = np.arange(1, decode.slots + 1)
        fastest = float((batch / decode.step_s).max()) if decode.slots else 0.0
        most = np.arange(decode.max_engines + 1) * fastest / tokens
        return StageRates(
            threshold_index,
            np.minimum(by_engines, by_line[:, None]) / peak,
            _per_work(home, float(below @ home.service_s)) / peak,
            np.tile(most, (usable.size, 1)) / peak,
        )

    @property
    def levels(self) -> range:
        """Bandwidth levels of the line."""
        return range(int(self.line.bytes_per_s.size))


def _per_work(pool: PoolOption, work_s: float) -> FloatArray:
    """Requests per second by engines, at a mean work per request of all; infinite for none."""
    if work_s <= 0.0:
        return np.full(pool.max_engines + 1, np.inf)
    return np.asarray(np.arange(pool.max_engines + 1) * pool.servers_per_engine / work_s)


def usable_bytes_per_s(lane: LaneOption, level: int) -> float:
    """Bytes that a line carries at most, by its size or by its pool of connections [bytes/s]."""
    usable = float(lane.bytes_per_s[level]) * lane.efficiency
    if lane.connections is not None:
        usable = min(usable, lane.connections * lane.connection_cap_bytes_per_s)
    return usable


def service_at_mean_s(
    uncached_tokens: FloatArray, weight: FloatArray, service_s: FloatArray
) -> float:
    """Prefill time of a prompt of mean length [s], as the published throughput model takes it.

    Parameters
    ----------
    uncached_tokens, service_s : ndarray, shape (atoms,)
        Tokens to prefill and the time each takes.
    weight : ndarray, shape (atoms,)
        Weights of the requests on one path, up to a factor.

    Notes
    -----
    Prefill times are convex in the length, so by Jensen's inequality this is below the mean of the
    times, and a rate computed with it is above what the engines sustain: by 4 % in the published
    case study.
    """
    order = np.argsort(uncached_tokens)
    mean = float(weight @ uncached_tokens / weight.sum())
    return float(np.interp(mean, uncached_tokens[order], service_s[order]))


def converging_rate_per_s(
    shares: Sequence[float], rates_per_s: Sequence[float], decode_per_s: float
) -> float:
    """Return the rate of stages side by side that converge on decode [requests/s].

    Parameters
    ----------
    shares : sequence of float
        Share of the requests that each prefill stage takes; sum to 1.
    rates_per_s : sequence of float
        Requests per second that each prefill stage does.
    decode_per_s : float
        Requests per second that decode does.

    References
    ----------
    .. [1] arXiv:2604.15039, equation 6.
    """
    sides = [rate / share for share, rate in zip(shares, rates_per_s, strict=True) if share > 0.0]
    return min(*sides, decode_per_s) if sides else decode_per_s
