"""Pool options of a problem: every engine shape at every site in every role it may take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pdd_plan.catalog import ChipProfile, ModelProfile
from pdd_plan.errors import InputError
from pdd_plan.fleet.efficiencies import scenario_efficiencies
from pdd_plan.fleet.kv_cache import caches_in_memory
from pdd_plan.fleet.measured_tables import with_tables
from pdd_plan.fleet.problem import FloatArray, PoolOption, Role
from pdd_plan.queueing import RecordedWork
from pdd_plan.roofline import (
    Efficiencies,
    EngineShape,
    EngineTimes,
    candidate_shapes,
    make_engine_times,
)
from pdd_plan.scenario.machines import EngineSpec
from pdd_plan.scenario.schema import Scenario
from pdd_plan.workload import Atoms
from pdd_plan.workload.requests import RawTrace

MAX_SLOTS = 4096
"""Most requests that one engine is considered to decode at once."""

ROLES: tuple[Role, ...] = ("prefill", "relay", "decode")


@dataclass(frozen=True)
class RejectedOption:
    """An engine shape that was no candidate at a site, and why."""

    site: str
    chip: str
    shape: str
    reason: str


@dataclass
class EngineCatalog:
    """Builds the pool options of a scenario and keeps what was rejected.

    Attributes
    ----------
    recorded : RawTrace or None
        Trace whose order and times prefill follows.
    rejected : list of RejectedOption
        Shapes that cannot run the model, each with its reason.
    """

    scenario: Scenario
    model: ModelProfile
    chips: dict[tuple[str, str], ChipProfile]
    atoms: Atoms
    kv_bytes_per_token: float
    kv_bytes_fixed: float
    relay_from: np.ndarray
    thresholds: int
    recorded: RawTrace | None = None
    rejected: list[RejectedOption] = field(default_factory=list)

    def pool_options(self) -> tuple[PoolOption, ...]:
        """Every pool option, by site, role, chip and shape."""
        options = []
        for site_name, site in self.scenario.sites.items():
            for name in site.chips:
                for shape, spec in self._shapes(site_name, name):
                    times = self._times(site_name, name, shape, spec)
                    for role in ROLES:
                        if self._allowed(site.roles, spec, role):
                            pool = self._pool(site_name, name, role, shape, spec, times)
                            if pool is not None:
                                options.append(pool)
        return tuple(sorted(options, key=lambda p: (p.site, ROLES.index(p.role))))

    @staticmethod
    def _allowed(site_roles: frozenset[Role], spec: EngineSpec | None, role: Role) -> bool:
        """Prefill sites get decode options in any case, for the single-site baseline."""
        at_site = role in site_roles or (role == "decode" and "prefill" in site_roles)
        return at_site and (spec is None or spec.roles is None or role in spec.roles)

    # --- shapes --------------------------------------------------------------------------------

    def _longest_tokens(self) -> float:
        return float((self.atoms.input_tokens + self.atoms.output_tokens).max())

    def _shapes(self, site: str, name: str) -> list[tuple[EngineShape, EngineSpec | None]]:
        if self.scenario.engines != "auto":
            return [
                (self._given_shape(spec), spec)
                for spec in self.scenario.engines
                if spec.chip == name and (spec.sites is None or site in spec.sites)
            ]
        offer = self.scenario.sites[site].chips[name]
        if offer.available == 0:
            return []
        fitting, rejected = candidate_shapes(
            self.chips[site, name],
            self.model,
            self.scenario.precision,
            self._longest_tokens(),
            self.scenario.serving.memory_fraction,
        )
        self.rejected += [
            RejectedOption(site, name, one.shape.label, one.reason) for one in rejected
        ]
        usable: list[tuple[EngineShape, EngineSpec | None]] = []
        for shape in fitting:
            if shape.chips <= offer.available:
                usable.append((shape, None))
            else:
                reason = f"takes {shape.chips} chips, {offer.available} are available"
                self.rejected.append(RejectedOption(site, name, shape.label, reason))
        return usable

    def _given_shape(self, spec: EngineSpec) -> EngineShape:
        tensor = spec.tensor_parallel or spec.chips // spec.data_parallel
        expert = spec.expert_parallel or (spec.chips if self.model.experts else 1)
        return EngineShape(spec.chips, tensor, spec.data_parallel, expert)

    # --- times ---------------------------------------------------------------------------------

    def _efficiencies(self, site: str, name: str, spec: EngineSpec | None) -> Efficiencies:
        of_chip = self.scenario.sites[site].chips[name].efficiencies
        of_shape = spec.efficiencies if spec is not None else None
        return scenario_efficiencies(self.scenario, of_chip, of_shape)

    def _times(
        self, site: str, name: str, shape: EngineShape, spec: EngineSpec | None
    ) -> EngineTimes:
        serving = self.scenario.serving
        times = make_engine_times(
            self.chips[site, name],
            self.model,
            self.scenario.precision,
            shape,
            self._efficiencies(site, name, spec),
            serving.framework,
            serving.memory_fraction,
        )
        if spec is None:
            return times
        return with_tables(times, spec, shape, self.scenario.source.folder)

    # --- pools ---------------------------------------------------------------------------------

    def _pool(
        self,
        site: str,
        name: str,
        role: Role,
        shape: EngineShape,
        spec: EngineSpec | None,
        times: EngineTimes,
    ) -> PoolOption | None:
        offer = self.scenario.sites[site].chips[name]
        label = (spec.name if spec is not None and spec.name else "") or shape.label
        room = times.kv_capacity_bytes
        if spec is not None and spec.kv_capacity_bytes is not None:
            room = spec.kv_capacity_bytes
        watts = self.chips[site, name].tdp_w or 0.0
        common = {
            "site": site,
            "role": role,
            "chip": name,
            "shape": label,
            "chips_per_engine": shape.chips,
            "usd_per_engine_hour": offer.usd_per_chip_hour * shape.chips,
            "max_engines": offer.available // shape.chips,
            "min_engines": getattr(self.scenario.serving.min_engines, role),
            "watts_per_engine": watts * shape.chips,
            "kv_capacity_bytes": room,
        }
        if role == "prefill":
            return self._prefill(common, times)
        return self._batching(common, role, spec, times)

    def _prefill(self, common: dict[str, object], times: EngineTimes) -> PoolOption:
        uncached = np.maximum(self.atoms.uncached_tokens, 1.0)
        mean_uncached = float(self.atoms.weight @ uncached)
        mean_input = float(self.atoms.weight @ self.atoms.input_tokens)
        return PoolOption(
            **common,  # type: ignore[arg-type]
            servers_per_engine=times.prefill_servers,
            service_s=times.prefill_s(uncached, self.atoms.input_tokens),
            recorded=self._recorded(times),
            host_s=times.host_s,
            bound_by=times.prefill_bound_by(mean_uncached, mean_input),
        )

    def _recorded(self, times: EngineTimes) -> RecordedWork | None:
        """Return the requests of the trace with their times on an engine, in their order."""
        trace = self.recorded
        if trace is None or trace.cached_tokens is None:
            return None
        uncached = np.maximum(trace.input_tokens - trace.cached_tokens, 1.0)
        return RecordedWork(trace.arrival_s, times.prefill_s(uncached, trace.input_tokens))

    def _batching(
        self, common: dict[str, object], role: Role, spec: EngineSpec | None, times: EngineTimes
    ) -> PoolOption | None:
        slots = self._slots(role, float(common["kv_capacity_bytes"]))  # type: ignore[arg-type]
        for most in (self.scenario.serving.max_batch, spec.max_batch if spec else None):
            slots = min(slots, most) if most is not None else slots
        if slots < 1:
            reason = (
                f"{float(common['kv_capacity_bytes']) / 2**30:.1f} GiB for KV cache hold no "  # type: ignore[arg-type]
                f"request with 99 % confidence"
            )
            self.rejected.append(
                RejectedOption(
                    str(common["site"]), str(common["chip"]), str(common["shape"]), reason
                )
            )
            return None
        context = self.mean_context_tokens
        steps = times.decode_step_s(np.arange(1, slots + 1, dtype=np.float64), context)
        fixed_s, per_token_s = self._extend(times, context)
        return PoolOption(
            **common,  # type: ignore[arg-type]
            step_s=np.maximum.accumulate(steps),
            extend_fixed_s=fixed_s,
            extend_per_token_s=per_token_s,
            first_token_steps=times.first_token_steps,
            bound_by=times.decode_bound_by(float(slots), context),
        )

    @property
    def mean_context_tokens(self) -> float:
        """Context of a request in a batch, mean over time: weighted by output length [tokens]."""
        weight = self.atoms.weight * self.atoms.output_tokens
        context = self.atoms.input_tokens + self.atoms.output_tokens / 2
        return float(weight @ context / weight.sum())

    def _extend(self, times: EngineTimes, context: float) -> tuple[float, float]:
        """Line through the times of recomputing few and many tokens on a context."""
        serving = self.scenario.serving
        few, many = times.extend_s(np.array([1.0, 257.0]), context)
        slope = max(float(many - few) / 256.0, 0.0)
        fixed = max(float(few) - slope, 0.0)
        if serving.handoff_fixed_s is not None:
            fixed = serving.handoff_fixed_s
        if serving.handoff_per_token_s is not None:
            slope = serving.handoff_per_token_s
        return fixed, slope

    def _slots(self, role: Role, room_bytes: float) -> int:
        """Requests whose KV caches fit at once with 99 % confidence."""
        atoms = self.atoms
        cache = self.kv_bytes_per_token * (atoms.input_tokens + atoms.output_tokens / 2)
        cache = cache + self.kv_bytes_fixed
        if role == "decode":
            return slots_in_memory(cache, atoms.weight * atoms.output_tokens, room_bytes)
        counts = [MAX_SLOTS]
        for index in range(self.thresholds):
            weight = np.where(self.relay_from <= index, atoms.weight, 0.0)
            if weight.any():
                counts.append(slots_in_memory(cache, weight, room_bytes))
        return min(counts)


def slots_in_memory(cache_bytes: FloatArray, weights: FloatArray, room_bytes: float) -> int:
    """Most requests whose KV caches fit in memory with 99 % confidence.

    Parameters
    ----------
    cache_bytes : ndarray, shape (atoms,)
        KV cache of each request type [bytes].
    weights : ndarray, shape (atoms,)
        Their shares of the requests in the batch, up to a factor.
    room_bytes : float
        Memory for KV cache [bytes].

    Returns
    -------
    int
        Largest B with B * mean + 2.326 * sqrt(B) * deviation <= room, at most 4,096.
    """
    share = weights / weights.sum()
    mean = float(share @ cache_bytes)
    deviation = math.sqrt(max(float(share @ cache_bytes**2) - mean**2, 0.0))
    if not math.isfinite(room_bytes):
        return MAX_SLOTS
    most = caches_in_memory(np.asarray(mean), np.asarray(deviation), np.maximum(room_bytes, 0.0))
    return min(int(most * (1.0 + 1e-12)), MAX_SLOTS)


def require_options(
    scenario: Scenario, pools: Sequence[PoolOption], rejected: Sequence[RejectedOption]
) -> None:
    """Refuse a scenario in which a needed role has no engine at all.

    Raises
    ------
    InputError
        Naming the shapes that were rejected, and why.
    """
    issues = []
    for role in ("prefill", "decode"):
        sites = [name for name, site in scenario.sites.items() if role in site.roles]
        if any(pool.role == role and pool.site in sites for pool in pools):
            continue
        reasons = [
            f"{one.chip} {one.shape} at {one.site}: {one.reason}"
            for one in rejected
            if one.site in sites
        ]
        shown = "; ".join(reasons[-3:]) or "no chips are available"
        path = f"sites.{sites[0]}.chips" if sites else "sites"
        issues.append(
            scenario.source.issue(
                path,
                f"no engine can {role} {scenario.model} here: {shown}",
                "offer chips with more memory, more chips, or a smaller weight format",
            )
        )
    if issues:
        raise InputError(issues)
