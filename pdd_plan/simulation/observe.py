"""Read times and uses of one run off its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pdd_plan.fleet.problem import FloatArray
from pdd_plan.simulation.plant import UNLIMITED, Plant, first_from_prefill
from pdd_plan.simulation.records import LINK, Records, World

TINY_S = 1e-300
"""Stands for a span of no length, so that averages over it are 0."""


@dataclass(frozen=True)
class Observation:
    """Times of the measured requests of one run, and averages over its measured span.

    Attributes
    ----------
    times : dict of str to ndarray, shape (measured,)
        One column a quantity [s], not a number where it does not apply; also ``output_tokens``,
        ``relay_tokens``, ``relayed``, ``lane``, ``pool``, ``route`` (0 direct, 1 relay, 2 local).
    uses : dict of str to tuple
        Utilization, active, held, waiting and capacity by label.
    span_s : float
        From the first to the last measured arrival [s].
    recomputing : float
        Main decode engines that recompute KV cache, mean over the span.
    """

    times: dict[str, FloatArray]
    uses: dict[str, tuple[float, float, float, float, float]]
    span_s: float
    recomputing: float


@dataclass(frozen=True)
class Snapshot:
    """Integrals over time at one moment."""

    time_s: float
    stations: Records
    queues: Records
    engines: Records

    @classmethod
    def of(cls, world: World, time_s: float) -> Snapshot:
        """Copy the integrals of a world that was settled at a time."""
        tables = (world.stations.copy(), world.queues.copy(), world.engines.copy())
        return cls(time_s, *tables)


def observe(
    world: World,
    plant: Plant,
    pool: np.ndarray,
    measured: range,
    begin: Snapshot,
    end: Snapshot,
) -> Observation:
    """Read a finished run.

    Parameters
    ----------
    world : World
    plant : Plant
    pool : ndarray of int, shape (requests,)
        Prefill pool of each request.
    measured : range
    begin, end : Snapshot
        Integrals at the first and after the last measured arrival.

    Returns
    -------
    Observation
    """
    rows = world.requests[measured.start : measured.stop]
    times = _times(plant, rows)
    times["pool"] = pool[measured.start : measured.stop]
    host_s = np.array([option.host_s for option in plant.problem.pools])[times["pool"]]
    times["ttft_s"] += host_s + rows["lag_s"]
    times["e2e_s"] += host_s + rows["lag_s"]
    span_s = max(end.time_s - begin.time_s, TINY_S)
    stalled = float((end.stations["stall"] - begin.stations["stall"]).sum()) / span_s
    return Observation(times, _uses(plant, begin, end), end.time_s - begin.time_s, stalled)


def _times(plant: Plant, rows: Records) -> dict[str, FloatArray]:
    serving = plant.problem.serving
    ready_s = rows["prefill_start_s" if serving.streaming == "layerwise" else "prefill_end_s"]
    reserve = plant.options.reserve == "before_transfer"
    asked_slot_s = ready_s if reserve else rows["transfer_end_s"]
    asked_line_s = rows["decode_slot_s"] if reserve else ready_s
    local = np.array([lane.local for lane in plant.problem.lanes])[rows["lane"]]
    output = rows["tokens"] + float(first_from_prefill(serving))
    with np.errstate(divide="ignore", invalid="ignore"):
        tpot_s = np.where(
            output > 1.0, (rows["finish_s"] - rows["first_token_s"]) / (output - 1.0), np.nan
        )
    return {
        "arrival_s": rows["arrival_s"].copy(),
        "ttft_s": rows["first_token_s"] - rows["arrival_s"],
        "e2e_s": rows["finish_s"] - rows["arrival_s"],
        "tpot_s": tpot_s,
        "handoff_gap_s": rows["gap_s"].copy(),
        "prefill": rows["prefill_start_s"] - rows["arrival_s"],
        "decode_slot": rows["decode_slot_s"] - asked_slot_s,
        "connection": np.where(local, np.nan, rows["transfer_start_s"] - asked_line_s),
        "relay_slot": rows["relay_slot_s"] - rows["prefill_end_s"],
        "transfer_s": rows["transfer_end_s"] - rows["transfer_start_s"],
        "output_tokens": output,
        "relay_tokens": rows["relay_tokens"].copy(),
        "relayed": rows["relayed"].astype(np.float64),
        "lane": rows["lane"].astype(np.float64),
        "route": np.where(local, 2.0, rows["relayed"]),
    }


def _uses(
    plant: Plant, begin: Snapshot, end: Snapshot
) -> dict[str, tuple[float, float, float, float, float]]:
    span_s = max(end.time_s - begin.time_s, TINY_S)
    uses: dict[str, tuple[float, float, float, float, float]] = {}

    def mean(name: str, table: str, rows: Mapping[str, range] | range) -> float:
        after, before = getattr(end, table)[name], getattr(begin, table)[name]
        index = np.arange(rows.start, rows.stop)  # type: ignore[union-attr]
        return float((after[index] - before[index]).sum()) / span_s

    for index, engines in plant.engines.items():
        pool = plant.problem.pools[index]
        servers = len(engines) * pool.servers_per_engine
        busy = mean("area_busy", "engines", engines)
        held = mean("area_bytes", "engines", engines)
        waiting = mean("area_waiting", "queues", plant.queues[index])
        uses[pool.label] = (busy / servers, busy, held, waiting, float(servers))
    labels = {s: plant.problem.lanes[i].label for i, s in plant.links.items()}
    labels |= {s: plant.problem.pools[i].label for i, s in plant.slot_pools.items()}
    for station, label in labels.items():
        row, here = end.stations[station], range(station, station + 1)
        active = mean("area_active", "stations", here)
        held = mean("area_held", "stations", here)
        waiting = mean("area_waiting", "stations", here)
        if row["kind"] == LINK:
            full = float(row["capacity"])
        else:
            full = float(row["limit"] / plant.tables["steps"][row["steps_at"] + row["steps"] - 1])
        work = mean("work", "stations", here)
        limit = float(row["limit"])
        capacity = float("inf") if limit >= UNLIMITED else limit
        uses[label] = (work / full, active, held, waiting, capacity)
    return uses
