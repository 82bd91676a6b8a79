"""From a scenario to a planning problem."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pdd_plan.catalog import ChipProfile, ModelProfile, load_model, model_from_numbers
from pdd_plan.errors import InputError
from pdd_plan.fleet.chips import resolve_chips
from pdd_plan.fleet.engines import EngineCatalog, RejectedOption, require_options
from pdd_plan.fleet.kv_cache import kv_cache_bytes
from pdd_plan.fleet.problem import (
    LaneOption,
    PoolOption,
    Problem,
    ServingOptions,
    SiteNetwork,
    UserRegion,
)
from pdd_plan.fleet.purchase import ChipTerms
from pdd_plan.scenario.schema import Scenario
from pdd_plan.workload import (
    Workload,
    build_workload,
    relay_from,
    routing_values,
    threshold_candidates,
)

SLOT_WAITS = (0.001, 0.01, 0.03)
"""Limits on the probability of waiting for a slot that are tried where none is given."""


@dataclass(frozen=True)
class BuiltProblem:
    """A problem with what was found out on the way.

    Attributes
    ----------
    problem : Problem
        What to plan.
    workload : Workload
        Requests, with a summary for reports.
    model : ModelProfile
        Model.
    chips : mapping of (site, chip) to ChipProfile
        Chips on offer.
    rejected : tuple of RejectedOption
        Engine shapes that were no candidates.
    """

    problem: Problem
    workload: Workload
    model: ModelProfile
    chips: Mapping[tuple[str, str], ChipProfile]
    rejected: tuple[RejectedOption, ...]


def build_problem(scenario: Scenario, workload: Workload | None = None) -> BuiltProblem:
    """Build the planning problem of a scenario.

    Parameters
    ----------
    scenario : Scenario
        As loaded.
    workload : Workload, optional
        Its workload, where it was built before.

    Returns
    -------
    BuiltProblem
        Arrays and labels, and what was rejected.

    Raises
    ------
    InputError
        If a profile is unknown, no engine fits, or a number is missing.
    """
    workload = workload or build_workload(scenario)
    model = scenario_model(scenario)
    chips = resolve_chips(scenario)
    per_token = model.kv_bytes_per_token(scenario.precision.kv_cache)
    fixed = model.kv_bytes_fixed(scenario.precision.kv_cache)
    atoms = workload.atoms
    thresholds = _thresholds(scenario, workload, per_token, fixed)
    values = routing_values(
        atoms, scenario.routing.by, kv_bytes_per_token=per_token, kv_bytes_fixed=fixed
    )
    first = relay_from(values, scenario.routing.by, thresholds)
    engines = EngineCatalog(
        scenario,
        model,
        chips,
        atoms,
        per_token,
        fixed,
        first,
        thresholds.size,
        workload.raw if workload.order_matters else None,
    )
    pools = engines.pool_options()
    require_options(scenario, pools, engines.rejected)
    multipliers, weights = _periods(scenario)
    slot_wait = scenario.slo.slot_wait
    problem = Problem(
        name=scenario.name,
        atoms=atoms,
        arrival_rate_per_s=workload.arrival_rate_per_s,
        arrival_scv=workload.arrival_scv,
        thresholds=thresholds,
        relay_from=first,
        slot_waits=SLOT_WAITS if slot_wait is None else (slot_wait,),
        kv_bytes=kv_cache_bytes(scenario, model, atoms.input_tokens),
        transfer_bytes=kv_cache_bytes(scenario, model, atoms.missing_tokens),
        kv_bytes_per_token=per_token,
        pools=pools,
        lanes=_lanes(scenario),
        networks={name: _network(scenario, name, pools, chips) for name in scenario.sites},
        stock={
            (name, chip): offer.available
            for name, site in scenario.sites.items()
            for chip, offer in site.chips.items()
        },
        terms={
            (name, chip): ChipTerms(offer.usd_per_chip_hour, offer.min, offer.node)
            for name, site in scenario.sites.items()
            for chip, offer in site.chips.items()
            if offer.min > 0 or offer.node > 1
        },
        site_chips={
            name: site.max_chips
            for name, site in scenario.sites.items()
            if site.max_chips is not None
        },
        limits=scenario.slo.limits,
        serving=_serving(scenario, model),
        period_multipliers=multipliers,
        period_weights=weights,
        mean_multiplier=_mean_multiplier(scenario),
        site_watts={
            name: site.power_w for name, site in scenario.sites.items() if site.power_w is not None
        },
        load_steps=scenario.optimizer.load_steps,
        routing_by=scenario.routing.by,
        routing_between=scenario.routing.between,
        allowed_thresholds=_allowed(scenario, thresholds),
        classes=workload.classes,
        regions=tuple(
            UserRegion(name, region.share, dict(region.rtt_s))
            for name, region in scenario.users.items()
        ),
    )
    return BuiltProblem(problem, workload, model, chips, tuple(engines.rejected))


def scenario_model(scenario: Scenario) -> ModelProfile:
    """Model of a scenario: built in, a Hugging Face configuration, or numbers.

    Raises
    ------
    InputError
        If it is unknown or malformed.
    """
    if not isinstance(scenario.model, str):
        return model_from_numbers(scenario.model.numbers())
    name = scenario.model
    if name.endswith((".json", ".yaml", ".yml")):
        name = str(Path(scenario.source.file).parent / name)
    try:
        return load_model(name)
    except InputError as error:
        raise InputError(
            issue if issue.file else scenario.source.issue("model", issue.message, issue.help)
            for issue in error.issues
        ) from error


def _thresholds(
    scenario: Scenario, workload: Workload, per_token: float, fixed: float
) -> np.ndarray:
    routing = scenario.routing
    given = _given_thresholds(scenario)
    if given:
        always = {0.0} if routing.between == "prefill" else set()
        order = sorted({_never(scenario), *given, *always}, reverse=routing.by != "hit_rate")
        return np.array(order, dtype=np.float64)
    return threshold_candidates(
        workload.atoms,
        routing.by,
        routing.max_thresholds,
        kv_bytes_per_token=per_token,
        kv_bytes_fixed=fixed,
    )


def _allowed(scenario: Scenario, thresholds: np.ndarray) -> tuple[int, ...] | None:
    given = _given_thresholds(scenario)
    if not given:
        return None
    return tuple(i for i, value in enumerate(thresholds.tolist()) if value in given)


def _given_thresholds(scenario: Scenario) -> tuple[float, ...]:
    routing = scenario.routing
    if routing.threshold is not None:
        return (float(routing.threshold),)
    return tuple(float(value) for value in routing.thresholds or ())


def _never(scenario: Scenario) -> float:
    return 0.0 if scenario.routing.by == "hit_rate" else math.inf


def _periods(scenario: Scenario) -> tuple[np.ndarray, np.ndarray]:
    """Load multipliers and shares of the traffic; only the peak where every period must hold."""
    periods = [p for p in scenario.workload.periods if p.multiplier > 0.0]
    if not periods:
        return np.ones(1), np.ones(1)
    multipliers = np.array([p.multiplier for p in periods])
    traffic = np.array([p.multiplier * p.hours for p in periods])
    if scenario.slo.scope == "every_period":
        return np.array([multipliers.max()]), np.ones(1)
    return multipliers, traffic / traffic.sum()


def _mean_multiplier(scenario: Scenario) -> float:
    periods = scenario.workload.periods
    if not periods:
        return 1.0
    hours = sum(p.hours for p in periods)
    return sum(p.multiplier * p.hours for p in periods) / hours


def _serving(scenario: Scenario, model: ModelProfile) -> ServingOptions:
    serving = scenario.serving
    return ServingOptions(
        dispatch=serving.dispatch,
        streaming=serving.streaming,
        handoff=serving.handoff,
        catch_up_utilization=serving.catch_up_utilization,
        first_token_from=serving.first_token_from,
        relay_end=serving.relay_end,
        layers=model.layers,
    )


def _lanes(scenario: Scenario) -> tuple[LaneOption, ...]:
    """Bought lines, and RDMA inside every prefill site, for the plan or for its baseline."""
    lanes = [
        LaneOption(
            source=link.from_site,
            target=link.to_site,
            bytes_per_s=np.array(link.bandwidth.levels()),
            usd_per_hour=np.array([link.price_per_hour(v) for v in link.bandwidth.levels()]),
            efficiency=link.efficiency,
            rtt_s=link.rtt_s,
            overhead_s=link.overhead_s,
            host_copy_bytes_per_s=link.host_copy_bytes_per_s or math.inf,
            connection_cap_bytes_per_s=link.connection_cap_bytes_per_s or math.inf,
            connections=link.connections,
            name=link.given_name,
        )
        for link in scenario.links
    ]
    lanes += [
        LaneOption(
            name,
            name,
            np.array([math.inf]),
            np.zeros(1),
            local=True,
            baseline_only="decode" not in site.roles,
        )
        for name, site in scenario.sites.items()
        if "prefill" in site.roles
    ]
    return tuple(lanes)


def _network(
    scenario: Scenario,
    site: str,
    pools: tuple[PoolOption, ...],
    chips: Mapping[tuple[str, str], ChipProfile],
) -> SiteNetwork:
    """RDMA of one engine at a site: as given, or the NICs of the smallest prefill engine."""
    rdma = scenario.sites[site].rdma
    rate = rdma.bytes_per_s
    if rate is None:
        rates = []
        for pool in pools:
            if pool.site != site or pool.role != "prefill":
                continue
            nic = chips[site, pool.chip].nic_bytes_per_s
            if nic is None:
                raise InputError(
                    scenario.source.issue(
                        f"sites.{site}.rdma.bandwidth",
                        f"chip {pool.chip} has no known NIC, so RDMA inside {site} is unknown",
                        "add rdma: {bandwidth: 400 Gbps}",
                    )
                )
            rates.append(nic * pool.chips_per_engine)
        rate = min(rates, default=math.inf)
    return SiteNetwork(rate * rdma.efficiency, rdma.latency_s)
