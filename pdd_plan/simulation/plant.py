"""Build the tables of the event loop from a problem and a candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.problem import Candidate, FloatArray, PoolOption, Problem, ServingOptions
from pdd_plan.simulation.options import SimulationOptions
from pdd_plan.simulation.records import (
    BATCH,
    DECODE,
    ENGINE,
    LANE,
    LINK,
    NIC,
    QUEUE,
    RELAY,
    STATION,
    Records,
    table,
)

UNLIMITED = 2**62
"""Limit of a gate that never closes."""


def first_from_prefill(serving: ServingOptions) -> bool:
    """Tell whether the prefill pass itself emits the first token."""
    return serving.first_token_from == "prefill"


@dataclass(frozen=True)
class Plant:
    """Where the stations of a candidate are found in the tables.

    Attributes
    ----------
    links, slot_pools : dict of int to int
        Station of a lane, and of a relay or decode pool, by index into the problem.
    queues, engines : dict of int to range
        Queues and engines of a prefill pool, by index into the problem.
    """

    problem: Problem
    candidate: Candidate
    options: SimulationOptions
    links: dict[int, int] = field(default_factory=dict)
    slot_pools: dict[int, int] = field(default_factory=dict)
    queues: dict[int, range] = field(default_factory=dict)
    engines: dict[int, range] = field(default_factory=dict)
    stations: int = 0
    tables: dict[str, Records] = field(default_factory=dict, repr=False)

    def pools_at(self, site: str, role: str) -> list[int]:
        """Pools with engines of a site in a role."""
        return [
            i
            for i, pool in enumerate(self.problem.pools)
            if pool.site == site and pool.role == role and self.candidate.engines[i] > 0
        ]


def build_plant(problem: Problem, candidate: Candidate, options: SimulationOptions) -> Plant:
    """Build the stations of a candidate and fill their tables.

    Parameters
    ----------
    problem : Problem
    candidate : Candidate
    options : SimulationOptions

    Returns
    -------
    Plant

    Raises
    ------
    InputError
        If traffic flows where there is no line or no engine.
    """
    _check(problem, candidate)
    plant = Plant(problem, candidate, options)
    stations: list[dict[str, float]] = []
    for index, lane in enumerate(problem.lanes):
        if candidate.levels[index] >= 0 and not lane.local:
            plant.links[index] = len(stations)
            stations.append(
                {
                    "kind": LINK,
                    "capacity": float(lane.bytes_per_s[candidate.levels[index]]) * lane.efficiency,
                    "cap": lane.connection_cap_bytes_per_s,
                    "limit": UNLIMITED if lane.connections is None else lane.connections,
                }
            )
    steps: list[FloatArray] = []
    batches: list[int] = []
    for index, pool in enumerate(problem.pools):
        if pool.role != "prefill" and candidate.engines[index] > 0:
            plant.slot_pools[index] = len(stations)
            row = _slot_station(pool, candidate.engines[index], len(batches), sum(map(len, steps)))
            batches += [len(stations)] * candidate.engines[index]
            stations.append(row)
            steps.append(np.asarray(pool.step_s, dtype=np.float64))
    queues, engines = _prefill_tables(plant, stations)
    plant.tables.update(
        stations=_filled(STATION, stations),
        batches=_filled(BATCH, [{"station": s} for s in batches]),
        queues=_filled(QUEUE, queues),
        engines=_filled(ENGINE, engines),
        lanes=_lane_table(plant),
        steps=np.concatenate(steps) if steps else np.ones(1),
    )
    return plant


def _check(problem: Problem, candidate: Candidate) -> None:
    issues: list[Issue] = []

    def has(site: str, role: str) -> bool:
        pairs = zip(problem.pools, candidate.engines, strict=True)
        return any(n > 0 and p.site == site and p.role == role for p, n in pairs)

    relayed = bool(problem.relayed(candidate.threshold_index).any())
    for lane, level, flow in zip(
        problem.lanes, candidate.levels, candidate.flows_per_s, strict=True
    ):
        if flow <= 0.0:
            continue
        if level < 0 and not lane.local:
            issues.append(Issue(f"line {lane.label} carries {flow:.4g} requests/s but is not open"))
        needs = [(lane.source, "prefill"), (lane.target, "decode")]
        if relayed and not lane.local:
            needs.append((lane.source, "relay"))
        issues += [
            Issue(f"line {lane.label} carries {flow:.4g} requests/s but {site} has no {role}")
            for site, role in needs
            if not has(site, role)
        ]
    if issues:
        raise InputError(issues)


def _slot_station(pool: PoolOption, engines: int, first_batch: int, at: int) -> dict[str, float]:
    return {
        "kind": RELAY if pool.role == "relay" else DECODE,
        "engines": engines,
        "first_batch": first_batch,
        "steps_at": at,
        "steps": pool.slots,
        "limit": engines * pool.slots,
        "first_steps": pool.first_token_steps,
        "extend_fixed_s": pool.extend_fixed_s,
        "extend_per_token_s": pool.extend_per_token_s,
    }


def _prefill_tables(
    plant: Plant, stations: list[dict[str, float]]
) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    """Rows of queues and engines; appends the engines' networks to the stations."""
    queues: list[dict[str, float]] = []
    engines: list[dict[str, float]] = []
    shared = plant.problem.serving.dispatch == "shared"
    for index, pool in enumerate(plant.problem.pools):
        count = plant.candidate.engines[index]
        if pool.role != "prefill" or count == 0:
            continue
        network = plant.problem.networks.get(pool.site)
        first_queue, first_engine = len(queues), len(engines)
        for engine in range(count):
            if engine == 0 or not shared:
                queues.append({"first_engine": len(engines), "engines": count if shared else 1})
            engines.append(
                {
                    "queue": len(queues) - 1,
                    "nic": len(stations),
                    "free_servers": pool.servers_per_engine,
                    "free_bytes": pool.kv_capacity_bytes,
                }
            )
            speed = network.bytes_per_s if network else np.inf
            stations.append({"kind": NIC, "capacity": speed, "cap": np.inf, "limit": UNLIMITED})
        plant.queues[index] = range(first_queue, len(queues))
        plant.engines[index] = range(first_engine, len(engines))
    return queues, engines


def _lane_table(plant: Plant) -> Records:
    rows: list[dict[str, float]] = []
    for index, lane in enumerate(plant.problem.lanes):
        network = plant.problem.networks.get(lane.source)
        latency_s = network.latency_s if network else 0.0
        rows.append(
            {
                "link": plant.links.get(index, -1),
                "delay_s": latency_s if lane.local else lane.rtt_s / 2.0 + lane.overhead_s,
                "copy_s_per_byte": 0.0 if lane.local else 1.0 / lane.host_copy_bytes_per_s,
                "half_rtt_s": 0.0 if lane.local else lane.rtt_s / 2.0,
                "rdma_latency_s": latency_s,
            }
        )
    return _filled(LANE, rows)


def _filled(dtype: np.dtype[np.void], rows: Sequence[Mapping[str, float]]) -> Records:
    records = table(dtype, max(len(rows), 1))
    if "next_s" in (dtype.names or ()):
        records["next_s"] = np.inf
    if "head" in (dtype.names or ()):
        records["head"] = -1
    for i, row in enumerate(rows):
        for name, value in row.items():
            records[name][i] = value
    return records
