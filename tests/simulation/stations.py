"""Fleets that come down to one textbook station each, and given requests to send through them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pdd_plan.fleet.problem import (
    Candidate,
    FloatArray,
    LaneOption,
    PoolOption,
    Problem,
    ServingOptions,
    SiteNetwork,
)
from pdd_plan.simulation import SimulationOptions, SimulationResult, simulate_trace
from pdd_plan.simulation.stream import RequestStream, RequestTypes
from pdd_plan.workload.atoms import Atoms

TINY = 1e-12

ALL = SimulationOptions(warmup_fraction=0.0, replications=1, rdma="delay")
"""Measure every request, once."""


def fleet(
    *,
    engines: tuple[int, int, int] = (1, 1, 1),
    servers: int = 1,
    kv_capacity_bytes: float = np.inf,
    bytes_per_s: float = 1.0,
    relay_step_s: Sequence[float] = (TINY,),
    step_s: Sequence[float] = (TINY,),
    extend: tuple[float, float] = (0.0, 0.0),
    first_token_steps: float = 1.0,
    serving: ServingOptions | None = None,
    network: SiteNetwork | None = None,
    host_s: float = 0.0,
    **lane: object,
) -> tuple[Problem, Candidate]:
    """One prefill, one relay and one decode pool and a line of efficiency 1; plain numbers."""
    atoms = Atoms(*(np.ones(1) for _ in range(5)))
    prefill = PoolOption(
        "a",
        "prefill",
        "x",
        "s",
        1,
        1.0,
        99,
        servers_per_engine=servers,
        service_s=np.ones(1),
        kv_capacity_bytes=kv_capacity_bytes,
        host_s=host_s,
    )
    relay = PoolOption("a", "relay", "x", "s", 1, 1.0, 99, step_s=np.asarray(relay_step_s))
    decode = PoolOption(
        "b",
        "decode",
        "x",
        "s",
        1,
        1.0,
        99,
        step_s=np.asarray(step_s),
        extend_fixed_s=extend[0],
        extend_per_token_s=extend[1],
        first_token_steps=first_token_steps,
    )
    options = {"efficiency": 1.0, **lane}
    line = LaneOption("a", "b", np.array([bytes_per_s]), np.zeros(1), **options)  # type: ignore[arg-type]
    problem = Problem(
        name="station",
        atoms=atoms,
        arrival_rate_per_s=1.0,
        thresholds=np.array([0.0, 1.0]),
        relay_from=np.array([1]),
        slot_waits=(0.01,),
        kv_bytes=np.ones(1),
        transfer_bytes=np.ones(1),
        pools=(prefill, relay, decode),
        lanes=(line,),
        networks={"a": network or SiteNetwork(1e12)},
        stock={},
        limits=(),
        serving=serving or ServingOptions(handoff="one_shot"),
    )
    return problem, Candidate(1, 0.01, engines, (0,), (1.0,))


def requests(
    arrival_s: FloatArray | Sequence[float],
    *,
    service_s: object = TINY,
    transfer_bytes: object = 0.0,
    kv_bytes: object = 0.0,
    output_tokens: object = 1.0,
    relayed: object = False,
) -> RequestStream:
    """Given requests; numbers stand for all of them."""
    arrival = np.asarray(arrival_s, dtype=np.float64)

    def column(values: object, dtype: type = np.float64) -> np.ndarray:
        return np.broadcast_to(np.asarray(values, dtype=dtype), arrival.shape)

    types = RequestTypes(
        {0: column(service_s)},
        column(kv_bytes),
        column(transfer_bytes),
        column(output_tokens),
        column(relayed, bool),
    )
    return RequestStream(arrival, np.arange(arrival.size), types)


def send(
    plant: tuple[Problem, Candidate],
    stream: RequestStream,
    options: SimulationOptions = ALL,
    **changes: object,
) -> SimulationResult:
    """Simulate given requests."""
    options = replace(options, **changes)  # type: ignore[arg-type]
    return simulate_trace(*plant, stream, options, keep_samples=True)


def column(result: SimulationResult, name: str) -> FloatArray:
    """Times of all requests in order of arrival."""
    assert result.samples is not None
    return result.samples[0][name]


def poisson(rng: np.random.Generator, count: int, rate_per_s: float) -> FloatArray:
    """Poisson arrivals."""
    return np.cumsum(rng.exponential(1.0 / rate_per_s, count))
