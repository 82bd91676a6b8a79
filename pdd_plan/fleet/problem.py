"""The planning problem as labels and arrays: what the evaluation and the optimizer work on.

A :class:`Problem` knows no file, no unit other than SI and no solver. A :class:`Candidate` is one
decision about it. Terms follow ``docs/nomenclature.md``: an *engine* is one model replica over its
chips, a *pool* the engines of one shape at one site in one role, a *lane* the way from a prefill
site to a decode site, an *atom* a weighted request type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pdd_plan.fleet.purchase import ChipKey, ChipTerms, idle_usd_per_hour
from pdd_plan.queueing import RecordedWork, WaitShift
from pdd_plan.scenario.policy import Metric as Metric
from pdd_plan.scenario.policy import SloLimit
from pdd_plan.workload import Atoms

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Role = Literal["prefill", "relay", "decode"]
Limit = SloLimit
"""A service-level limit is the same in a scenario and in its problem."""


@dataclass(frozen=True)
class PoolOption:
    """A kind of engine that may be placed at a site in a role, with its times.

    Attributes
    ----------
    chips_per_engine : int
        Chips of one engine.
    usd_per_engine_hour : float
        Price of one engine [currency/h].
    min_engines, max_engines : int
        Bounds on the number of engines where the pool is used; 0 is always allowed.
    servers_per_engine : int
        Requests that one prefill engine works on side by side.
    service_s : ndarray, shape (atoms,)
        Prefill: seconds of service of each atom, alone on one server.
    kv_capacity_bytes : float
        KV cache that one engine holds beside weights and activations [bytes].
    step_s : ndarray, shape (slots,)
        Relay and decode: seconds of one step with 1..slots requests on the engine.
    extend_fixed_s, extend_per_token_s : float
        Decode: seconds to recompute the KV cache of k tokens, ``fixed + per_token * k``.
    recorded : RecordedWork or None
        Prefill: the requests of a trace in their order, where burstiness is taken from it.
    host_s : float
        Prefill: time of a request outside the chips [s]; part of TTFT, occupies nothing.
    first_token_steps : float
        Relay and decode: steps from joining the batch to the first token at the client.
    bound_by : str
        What binds the stage at its working point: compute, memory, network or overhead.
    """

    site: str
    role: Role
    chip: str
    shape: str
    chips_per_engine: int
    usd_per_engine_hour: float
    max_engines: int
    min_engines: int = 1
    watts_per_engine: float = 0.0
    servers_per_engine: int = 1
    service_s: FloatArray = field(default_factory=lambda: np.empty(0))
    recorded: RecordedWork | None = None
    kv_capacity_bytes: float = float("inf")
    step_s: FloatArray = field(default_factory=lambda: np.empty(0))
    extend_fixed_s: float = 0.0
    extend_per_token_s: float = 0.0
    host_s: float = 0.0
    first_token_steps: float = 1.0
    bound_by: str = "compute"

    @property
    def wait_shift(self) -> WaitShift | None:
        """Prefill: what the recorded requests do to waits; None without them."""
        return None if self.recorded is None else self.recorded.shift

    @property
    def slots(self) -> int:
        """Requests that one relay or decode engine holds at once."""
        return int(self.step_s.size)

    @property
    def label(self) -> str:
        """Short name for people, unique within a problem."""
        return f"{self.site} {self.role} {self.chip} {self.shape}"


@dataclass(frozen=True)
class LaneOption:
    """The way from a prefill site to a decode site, with the bandwidths that can be had.

    Attributes
    ----------
    bytes_per_s : ndarray, shape (levels,)
        Nominal bandwidth of each level [bytes/s], ascending.
    usd_per_hour : ndarray, shape (levels,)
        Price of each level [currency/h].
    efficiency : float
        Usable share of the nominal bandwidth.
    rtt_s : float
        Round-trip time [s].
    overhead_s : float
        Set-up of one transfer [s]; uses no bandwidth.
    host_copy_bytes_per_s : float
        Rate of staging a transfer through host memory [bytes/s]; uses no bandwidth.
    connection_cap_bytes_per_s : float
        Most that one connection can carry [bytes/s].
    connections : int or None
        Transfers that may share the line at once; the others wait. None for no limit.
    local : bool
        Both ends at one site: RDMA, nothing to buy and no relay.
    name : str
        Name of the line; ``from-to`` where empty.
    baseline_only : bool
        Not allowed in the plan, only in the single-site baseline it is compared with.
    """

    source: str
    target: str
    bytes_per_s: FloatArray
    usd_per_hour: FloatArray
    efficiency: float = 0.9
    rtt_s: float = 0.0
    overhead_s: float = 0.0
    host_copy_bytes_per_s: float = float("inf")
    connection_cap_bytes_per_s: float = float("inf")
    connections: int | None = None
    local: bool = False
    baseline_only: bool = False
    name: str = ""

    @property
    def label(self) -> str:
        """Name for people, unique within a problem: as given, or ``from-to``."""
        return self.name or f"{self.source}-{self.target}"


@dataclass(frozen=True)
class ServingOptions:
    """How the fleet serves: dispatch, transfer, hand-off and first token."""

    dispatch: Literal["shared", "random", "prefix_affinity"] = "shared"
    streaming: Literal["after_prefill", "layerwise"] = "after_prefill"
    handoff: Literal["one_shot", "catch_up", "auto"] = "auto"
    catch_up_utilization: float = 0.8
    first_token_from: Literal["decode", "prefill"] = "decode"
    relay_end: Literal["deliver", "drop"] = "deliver"
    layers: int = 1

    def queues(self, engines: int) -> int:
        """Queues before the engines of a prefill pool: one that all share, or one each."""
        return 1 if self.dispatch == "shared" else engines


@dataclass(frozen=True)
class SiteNetwork:
    """RDMA inside a site, from a prefill engine to a relay or decode engine beside it."""

    bytes_per_s: float
    latency_s: float = 0.0


@dataclass(frozen=True)
class UserRegion:
    """Users of one region: their share of requests, and round-trip times to the sites [s]."""

    name: str
    share: float
    rtt_s: Mapping[str, float]


@dataclass(frozen=True)
class Problem:
    """Everything that decides a fleet, in SI units.

    Attributes
    ----------
    atoms : Atoms
        Weighted request types.
    arrival_rate_per_s : float
        Mean arrivals at multiplier 1 [requests/s].
    thresholds : ndarray, shape (thresholds,)
        Candidate values of the routing threshold, from "never relay" to "always relay".
    relay_from : ndarray, shape (atoms,)
        Index of the first threshold at which an atom goes through the relay; equal to the
        number of thresholds where it never does. Nested sets, so one number an atom suffices.
    slot_waits : tuple of float
        Candidate limits on the probability that a request waits for a slot at relay or decode.
    kv_bytes, transfer_bytes : ndarray, shape (atoms,)
        KV cache of the whole prompt and the part of it that main decode misses [bytes].
    kv_bytes_per_token : float
        KV cache of one token, to compare ways of handing over [bytes].
    stock : mapping of (site, chip) to int
        Chips available.
    terms : mapping of (site, chip) to ChipTerms
        Where chips stay under contract or come in whole nodes.
    site_chips : mapping of str to int
        Most chips that are paid at a site, of all kinds, where that is limited.
    period_multipliers, period_weights : ndarray
        Load profile over the day: multiples of the rate, and shares of the traffic.
    mean_multiplier : float
        Mean load over the hours of the day as a multiple of the rate.
    load_steps : int
        Flows of lanes are multiples of ``arrival_rate_per_s / load_steps``.
    arrival_scv : float
        Squared coefficient of variation of the arrivals; prefill pools with `recorded` requests
        follow those instead.
    classes : tuple of str
        Names of the traffic classes that ``atoms.kind`` counts; empty where there are none.
    regions : tuple of UserRegion
        Users, whose requests go over the lanes alike; empty where they are beside every site.
    allowed_thresholds : tuple of int or None
        Indices of thresholds that a plan may use; None for all. Baselines may use the first one,
        "never relay", in any case.
    """

    name: str
    atoms: Atoms
    arrival_rate_per_s: float
    thresholds: FloatArray
    relay_from: NDArray[np.int64]
    slot_waits: tuple[float, ...]
    kv_bytes: FloatArray
    transfer_bytes: FloatArray
    pools: tuple[PoolOption, ...]
    lanes: tuple[LaneOption, ...]
    networks: Mapping[str, SiteNetwork]
    stock: Mapping[tuple[str, str], int]
    limits: tuple[Limit, ...]
    serving: ServingOptions = field(default_factory=ServingOptions)
    arrival_scv: float = 1.0
    kv_bytes_per_token: float = 0.0
    period_multipliers: FloatArray = field(default_factory=lambda: np.ones(1))
    period_weights: FloatArray = field(default_factory=lambda: np.ones(1))
    mean_multiplier: float = 1.0
    site_watts: Mapping[str, float] = field(default_factory=dict)
    terms: Mapping[ChipKey, ChipTerms] = field(default_factory=dict)
    site_chips: Mapping[str, int] = field(default_factory=dict)
    load_steps: int = 10
    routing_by: str = "hit_rate"
    routing_between: str = "decode"
    allowed_thresholds: tuple[int, ...] | None = None
    classes: tuple[str, ...] = ()
    regions: tuple[UserRegion, ...] = ()

    @cached_property
    def prefill_sites(self) -> tuple[str, ...]:
        """Sites at which some lane starts, in order of appearance."""
        return tuple(dict.fromkeys(lane.source for lane in self.lanes))

    @cached_property
    def decode_sites(self) -> tuple[str, ...]:
        """Sites at which some lane ends, in order of appearance."""
        return tuple(dict.fromkeys(lane.target for lane in self.lanes))

    def pool_indices(self, site: str, role: Role) -> tuple[int, ...]:
        """Indices into ``pools`` of the options of a site in a role."""
        return tuple(
            i for i, pool in enumerate(self.pools) if pool.site == site and pool.role == role
        )

    @property
    def plan_thresholds(self) -> tuple[int, ...]:
        """Indices of the thresholds that a plan may use."""
        return self.allowed_thresholds or tuple(range(self.thresholds.size))

    def relayed(self, threshold_index: int) -> BoolArray:
        """Which atoms go through the relay at a threshold, shape (atoms,)."""
        return self.relay_from <= threshold_index

    @property
    def peak_multiplier(self) -> float:
        """Largest load multiplier of the day."""
        return float(self.period_multipliers.max())

    def without_record(self) -> Problem:
        """The same with arrivals known by their rate and burstiness alone, not by a trace."""
        return replace(self, pools=tuple(replace(pool, recorded=None) for pool in self.pools))

    def limits_of(self, metric: Metric) -> tuple[Limit, ...]:
        """The limits on one metric."""
        return tuple(limit for limit in self.limits if limit.metric == metric)

    def weight_for(self, limit: Limit) -> FloatArray:
        """Shares of the atoms among the requests that a limit is about, shape (atoms,)."""
        if not limit.traffic:
            return self.atoms.weight
        return self.class_weights[self.classes.index(limit.traffic)]

    def region_shares(self, region: str = "") -> FloatArray:
        """Shares of the regions in the requests of one of them or of all, shape (regions,).

        One entry where there are no regions.
        """
        if not self.regions:
            return np.ones(1)
        return np.array([r.share if not region else float(r.name == region) for r in self.regions])

    def user_delays_s(self, lane: int, *, relayed: bool, last: bool = False) -> FloatArray:
        """Way of a request to prefill and of its first or last token back, shape (regions,) [s].

        Half a round trip to the prefill site, and half a one from the site that speaks: main
        decode, but the prefill site where prefill or the relay makes the first token. The last
        token of a relayed request may come from either; the farther one counts.
        """
        if not self.regions:
            return np.zeros(1)
        option = self.lanes[lane]
        there = np.array([region.rtt_s[option.source] for region in self.regions])
        back = np.array([region.rtt_s[option.target] for region in self.regions])
        if relayed and last:
            back = np.maximum(there, back)
        elif not last and (relayed or self.serving.first_token_from == "prefill"):
            back = there
        return np.asarray(0.5 * (there + back))

    @cached_property
    def class_weights(self) -> tuple[FloatArray, ...]:
        """Shares of the atoms among the requests of each traffic class, each of shape (atoms,)."""
        kinds = range(len(self.classes))
        each = [np.where(self.atoms.kind == kind, self.atoms.weight, 0.0) for kind in kinds]
        return tuple(np.asarray(weight / weight.sum()) for weight in each)


@dataclass(frozen=True)
class Candidate:
    """One decision: threshold, engines per pool option, bandwidth level and flow per lane.

    Attributes
    ----------
    threshold_index : int
        Index into ``Problem.thresholds``.
    slot_wait : float
        Limit on the probability of waiting for a slot that the decision was sized for.
    engines : tuple of int
        Per pool option.
    levels : tuple of int
        Per lane, index into its bandwidth levels; -1 for a lane that is not opened.
    flows_per_s : tuple of float
        Per lane [requests/s], at multiplier 1; sums to the arrival rate.
    """

    threshold_index: int
    slot_wait: float
    engines: tuple[int, ...]
    levels: tuple[int, ...]
    flows_per_s: tuple[float, ...]

    def usd_per_hour(self, problem: Problem) -> float:
        """Price of all chips and lines [currency/h]."""
        return self.chips_usd_per_hour(problem) + self.lines_usd_per_hour(problem)

    def chips_used(self, problem: Problem) -> dict[ChipKey, int]:
        """Chips of all engines by site and kind."""
        used: dict[ChipKey, int] = {}
        for count, pool in zip(self.engines, problem.pools, strict=True):
            key = (pool.site, pool.chip)
            used[key] = used.get(key, 0) + count * pool.chips_per_engine
        return used

    def chips_usd_per_hour(self, problem: Problem) -> float:
        """Price of all engines, and of chips that are paid but not used [currency/h]."""
        pairs = zip(self.engines, problem.pools, strict=True)
        engines = float(sum(n * pool.usd_per_engine_hour for n, pool in pairs))
        return engines + idle_usd_per_hour(problem.terms, self.chips_used(problem))

    def lines_usd_per_hour(self, problem: Problem) -> float:
        """Price of all opened lines [currency/h]."""
        pairs = zip(self.levels, problem.lanes, strict=True)
        return float(sum(lane.usd_per_hour[level] for level, lane in pairs if level >= 0))
