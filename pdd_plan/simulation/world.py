"""Fill the tables of one run: requests, routes and rules."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pdd_plan.errors import InputError, Issue
from pdd_plan.simulation.plant import Plant, first_from_prefill
from pdd_plan.simulation.records import (
    CONTROL,
    EVENT,
    FOUND,
    NODE,
    REQUEST,
    Records,
    World,
    table,
)
from pdd_plan.simulation.stream import RequestStream


def build_world(
    plant: Plant,
    stream: RequestStream,
    routes: Mapping[str, np.ndarray],
    measured: range,
    *,
    drain: bool = False,
) -> World:
    """Make the tables of one run.

    Parameters
    ----------
    plant : Plant
    stream : RequestStream
    routes : mapping
        Columns ``lane``, ``pool``, ``relay``, ``decode``, ``queue`` of the requests, from
        :func:`pdd_plan.simulation.routes.draw_routes`.
    measured : range
        Requests whose end the run waits for.
    drain : bool
        Run until all requests have ended.

    Returns
    -------
    World

    Raises
    ------
    InputError
        If a prompt's KV cache is larger than the memory of its prefill engine.
    """
    serving, options = plant.problem.serving, plant.options
    requests = _request_table(plant, stream, routes)
    _check_memory(plant, requests, routes["pool"])
    control = table(CONTROL, 1)
    control["layers"] = serving.layers if serving.streaming == "layerwise" else 0
    below = {"one_shot": -1.0, "catch_up": 1.0, "auto": serving.catch_up_utilization}
    control["catch_up_below"] = below[options.handoff or serving.handoff]
    control["first_from_prefill"] = first_from_prefill(serving)
    control["reserve"] = options.reserve == "before_transfer"
    control["stepwise"] = options.decoding == "stepwise"
    control["share_nics"] = options.rdma == "shared"
    control["extend_stalls"] = options.extend_stalls
    control["drop"] = serving.relay_end == "drop"
    control["measure_from"], control["measure_to"] = measured.start, measured.stop
    control["drain"] = drain
    copies = {name: rows.copy() for name, rows in plant.tables.items()}
    return World(
        requests=requests,
        nodes=table(NODE, 4 * len(stream)),
        events=table(EVENT, 4 * len(stream) + len(plant.tables["batches"]) + 1),
        control=control,
        **copies,
    )


def _request_table(
    plant: Plant, stream: RequestStream, routes: Mapping[str, np.ndarray]
) -> Records:
    types, kind = stream.types, stream.kind
    requests = table(REQUEST, len(stream))
    for name in FOUND:
        requests[name] = np.nan
    requests["arrival_s"] = stream.arrival_s
    for pool, service_s in types.service_s.items():
        here = routes["pool"] == pool
        requests["service_s"][here] = np.asarray(service_s)[kind[here]]
    requests["kv_bytes"] = types.kv_bytes[kind]
    requests["transfer_bytes"] = types.transfer_bytes[kind]
    first = float(first_from_prefill(plant.problem.serving))
    requests["tokens"] = np.maximum(np.rint(types.output_tokens[kind]), 1.0) - first
    local = np.array([lane.local for lane in plant.problem.lanes])
    requests["relayed"] = types.relayed[kind] & ~local[routes["lane"]]
    requests["previous"] = -1 if stream.previous is None else stream.previous
    requests["relay_above_bytes"] = np.inf
    if types.relay_above_bytes is not None:
        above = types.relay_above_bytes[kind]
        requests["relay_above_bytes"] = np.where(local[routes["lane"]], np.inf, above)
    for name in ("lane", "relay", "decode", "queue"):
        requests[name] = routes[name]
    return requests


def _check_memory(plant: Plant, requests: Records, pool: np.ndarray) -> None:
    issues = []
    for index in plant.engines:
        option = plant.problem.pools[index]
        sizes = requests["kv_bytes"][pool == index]
        largest = float(sizes.max(initial=0.0))
        if largest > option.kv_capacity_bytes:
            issues.append(
                Issue(
                    f"a prompt's KV cache of {largest:.4g} bytes does not fit {option.label}, "
                    f"which holds {option.kv_capacity_bytes:.4g} bytes an engine"
                )
            )
    if issues:
        raise InputError(issues)
