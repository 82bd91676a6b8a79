"""Replay a trace: its requests in their real order and at their real times."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from pdd_plan.fleet.problem import Candidate, FloatArray, Problem
from pdd_plan.simulation.compiled import require_compiled
from pdd_plan.simulation.measures import SimulationResult
from pdd_plan.simulation.options import Progress, SimulationOptions
from pdd_plan.simulation.plant import build_plant
from pdd_plan.simulation.run import Run, all_replications, run_stream
from pdd_plan.simulation.stream import RequestStream, RequestTypes
from pdd_plan.simulation.summary import result_of
from pdd_plan.workload.requests import RawTrace
from pdd_plan.workload.routing import relayed as is_relayed

ServiceTime = Callable[[FloatArray, FloatArray], FloatArray]
"""Uncached and prompt tokens of each request to seconds of prefill."""


def trace_stream(
    problem: Problem,
    candidate: Candidate,
    trace: RawTrace,
    *,
    service_s: Mapping[int, ServiceTime],
    kv_bytes_per_token: float,
    kv_bytes_fixed: float = 0.0,
    cached_decode_tokens: FloatArray | None = None,
    rate_per_s: float | None = None,
) -> RequestStream:
    """Turn a trace into requests as the event loop takes them.

    Parameters
    ----------
    problem : Problem
        Gives the thresholds and what requests are routed by.
    candidate : Candidate
        Gives the threshold.
    trace : RawTrace
        With known cached prefixes.
    service_s : mapping of int to callable
        Prefill time of each prefill pool (index into ``problem.pools``) from uncached and prompt
        tokens; what the atoms' times were made with.
    kv_bytes_per_token, kv_bytes_fixed : float
        KV cache of a token, and of a request beside [bytes].
    cached_decode_tokens : ndarray, shape (requests,), optional
        Prefix found at main decode; the same as at prefill by default [tokens].
    rate_per_s : float, optional
        Stretch the times to this mean rate [requests/s]; order and pattern stay.

    Returns
    -------
    RequestStream

    Raises
    ------
    ValueError
        If the trace does not say what was cached.
    """
    if trace.cached_tokens is None:
        raise ValueError("the trace does not say how many tokens were cached: count hits first")
    length = np.asarray(trace.input_tokens, dtype=np.float64)
    uncached = length - trace.cached_tokens
    at_decode = trace.cached_tokens if cached_decode_tokens is None else cached_decode_tokens
    missing = length - at_decode
    sent = missing * kv_bytes_per_token + kv_bytes_fixed
    routed_by = {
        "hit_rate": at_decode / length,
        "uncached_tokens": uncached,
        "transfer_bytes": sent,
    }[problem.routing_by]
    threshold = float(problem.thresholds[candidate.threshold_index])
    types = RequestTypes(
        service_s={pool: np.asarray(time(uncached, length)) for pool, time in service_s.items()},
        kv_bytes=length * kv_bytes_per_token + kv_bytes_fixed,
        transfer_bytes=sent,
        output_tokens=np.asarray(trace.output_tokens, dtype=np.float64),
        relayed=is_relayed(routed_by, problem.routing_by, threshold),  # type: ignore[arg-type]
    )
    arrival_s = np.asarray(trace.arrival_s - trace.arrival_s[0], dtype=np.float64)
    if rate_per_s is not None:
        arrival_s = arrival_s * ((len(trace) - 1) / (rate_per_s * arrival_s[-1]))
    return RequestStream(arrival_s, np.arange(len(trace)), types)


def replay_stream(
    problem: Problem, candidate: Candidate, exact: Problem, arrival_s: FloatArray
) -> RequestStream:
    """Turn a trace into requests by way of a problem that was built with each of them as an atom.

    Parameters
    ----------
    problem : Problem
        What the candidate decides about.
    candidate : Candidate
        Gives the threshold.
    exact : Problem
        The same scenario with the requests of the trace as atoms, in order of arrival; its pass
        times and sizes are used. Its pools are found by their labels.
    arrival_s : ndarray, shape (requests,)
        Ascending [s].

    Returns
    -------
    RequestStream

    Raises
    ------
    ValueError
        If the atoms are not as many as the arrivals, or a prefill pool has no counterpart.
    """
    if arrival_s.size != len(exact.atoms):
        raise ValueError(f"{arrival_s.size} arrivals but {len(exact.atoms)} requests")
    by_label = {pool.label: pool for pool in exact.pools if pool.role == "prefill"}
    service_s = {}
    for index, pool in enumerate(problem.pools):
        if pool.role == "prefill" and candidate.engines[index] > 0:
            if pool.label not in by_label:
                raise ValueError(f"no pass times of single requests for {pool.label}")
            service_s[index] = by_label[pool.label].service_s
    atoms = exact.atoms
    routed_by = {
        "hit_rate": atoms.hit_fraction,
        "uncached_tokens": atoms.uncached_tokens,
        "transfer_bytes": exact.transfer_bytes,
    }[problem.routing_by]
    threshold = float(problem.thresholds[candidate.threshold_index])
    types = RequestTypes(
        service_s=service_s,
        kv_bytes=exact.kv_bytes,
        transfer_bytes=exact.transfer_bytes,
        output_tokens=atoms.output_tokens,
        relayed=is_relayed(routed_by, problem.routing_by, threshold),  # type: ignore[arg-type]
    )
    first_s = float(arrival_s[0])
    return RequestStream(arrival_s - first_s, np.arange(arrival_s.size), types)


def simulate_trace(
    problem: Problem,
    candidate: Candidate,
    stream: RequestStream,
    options: SimulationOptions | None = None,
    *,
    pool_loads: Mapping[int, float] | None = None,
    progress: Progress | None = None,
    keep_samples: bool = False,
) -> SimulationResult:
    """Send given requests through a candidate in their real order and at their real times.

    Parameters
    ----------
    problem : Problem
        Lanes, pools and rules; its atoms and arrivals are not used.
    candidate : Candidate
        What to simulate.
    stream : RequestStream
        From `trace_stream`.
    options : SimulationOptions, optional
        ``requests`` is not used: all are replayed, and all but the warm-up measured.
        Replications differ in which lane, pool and engine a request takes by chance, so their
        intervals do not cover what another trace of the same users would show; where nothing is
        left to chance there is one replication.
    pool_loads, progress, keep_samples
        As in :func:`pdd_plan.simulation.run.simulate`.

    Returns
    -------
    SimulationResult

    Raises
    ------
    InputError
        As :func:`pdd_plan.simulation.run.simulate`.
    """
    options = options or SimulationOptions()
    require_compiled(len(stream))
    plant = build_plant(problem, candidate, options)
    measured = range(int(len(stream) * options.warmup_fraction), len(stream))

    def replicate(index: int, report: Progress) -> Run:
        rng = np.random.default_rng([options.seed, index])
        seen, seconds = run_stream(
            rng, plant, stream, measured, pool_loads, drain=True, report=report
        )
        return [(1.0, seen, seconds)]

    count = options.replications if _chance(candidate, problem) else 1
    runs = all_replications(replicate, count, options.jobs, 1, progress)
    return result_of(plant, runs, options, keep_samples=keep_samples)


def _chance(candidate: Candidate, problem: Problem) -> bool:
    """Whether anything about the way of a request is drawn."""
    if sum(flow > 0.0 for flow in candidate.flows_per_s) > 1:
        return True
    if problem.serving.dispatch != "shared" and any(
        n > 1 and p.role == "prefill" for n, p in zip(candidate.engines, problem.pools, strict=True)
    ):
        return True
    places = [
        (pool.site, pool.role)
        for pool, engines in zip(problem.pools, candidate.engines, strict=True)
        if engines > 0
    ]
    return len(set(places)) < len(places)
