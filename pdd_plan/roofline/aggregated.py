"""Aggregated engine: prefill and decode on the same chips, with chunked prefill.

The baseline that most fleets run: requests are prefilled in chunks between decode steps of the
others, so each token gap carries a share of prefill work. Closed loop (a fixed number of
requests in flight, as benchmarks run) and open loop (Poisson arrivals) share the same step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pdd_plan.roofline import passes
from pdd_plan.roofline.constants import EngineConstants, Number
from pdd_plan.roofline.efficiencies import Efficiencies
from pdd_plan.roofline.operators import FloatArray

WAVE_SHARE = 0.1  # a harness that sends 10 C prompts at concurrency C starts with one wave of C
_ROUNDS = 12
_DAMPING = 0.5


@dataclass(frozen=True)
class AggregatedLoad:
    """Requests on one aggregated engine (or arrays over engines).

    Attributes
    ----------
    input_tokens, output_tokens : number
        Mean lengths of a request [tokens].
    uncached_tokens : number
        Tokens a request prefills [tokens].
    prefill_flop : number
        Attention flop of one request's prefill [flop].
    prefix_bytes : number
        Bytes of cached prefix one prefill reads [bytes].
    cache_bytes, attention_flop : number
        Cache bytes and attention flop of one decoded token at the mean context.
    slots : number
        Requests that fit in memory at once, at least 1.
    """

    input_tokens: Number
    output_tokens: Number
    uncached_tokens: Number
    prefill_flop: Number
    prefix_bytes: Number
    cache_bytes: Number
    attention_flop: Number
    slots: Number


@dataclass(frozen=True)
class HostTimes:
    """What serving adds around the chips (numbers, or arrays over engines).

    Attributes
    ----------
    decode_factor : number
        Framework's factor on the decode step.
    host_s : number
        Time per request before its first token [s].
    wait_steps : number
        Decode steps that the scheduler holds a new request back on average.
    checked_tokens, accepted_tokens : number
        Tokens checked and kept per request and step; 1 without speculation.
    """

    decode_factor: Number = 1.0
    host_s: Number = 0.0
    wait_steps: Number = 0.0
    checked_tokens: Number = 1.0
    accepted_tokens: Number = 1.0


@dataclass(frozen=True)
class AggregatedResult:
    """Latency of an aggregated engine.

    Attributes
    ----------
    ttft_s, tpot_s : ndarray
        Mean time to first token and per further token [s].
    active : ndarray
        Mean requests decoding.
    requests_per_s : ndarray
        Throughput of the engine.
    prefill_work_s : ndarray
        Engine time one prefill takes from the others [s].
    """

    ttft_s: FloatArray
    tpot_s: FloatArray
    active: FloatArray
    requests_per_s: FloatArray
    prefill_work_s: FloatArray


def closed_loop(
    engine: EngineConstants,
    load: AggregatedLoad,
    concurrency: Number,
    efficiencies: Efficiencies,
    host: HostTimes,
    wave_share: Number = WAVE_SHARE,
) -> AggregatedResult:
    """Return latency with a fixed number of requests in flight.

    A request holds one of N slots for its prefill and its tokens; the C - N others wait. With X
    the throughput, each token gap contains X S_work of prefill per unit of time, and Little's law
    over the decode phase turns that into S_work B / (O - 1) a token; Little's law over the loop
    gives the wait (C / N - 1) times the residence.

    Parameters
    ----------
    engine : EngineConstants
        Engine, or stack of engines.
    load : AggregatedLoad
        Mean request.
    concurrency : number
        C, requests in flight.
    efficiencies : Efficiencies
        Shared parameters.
    host : HostTimes
        Framework.
    wave_share : number
        Share of requests that arrive in the first simultaneous wave: 0.1 for harnesses that send
        10 C prompts, 0 in steady traffic.

    Returns
    -------
    AggregatedResult
        Mean latencies.
    """
    gaps = np.maximum(np.asarray(load.output_tokens, dtype=np.float64) - 1.0, 1.0)
    served = np.minimum(concurrency, load.slots)
    work = passes.prefill_work_s(engine, load.uncached_tokens, load.prefill_flop, efficiencies)
    alone = passes.prefill_alone(
        engine, load.uncached_tokens, load.prefill_flop, load.prefix_bytes, efficiencies
    )
    accepted = host.accepted_tokens
    fixed = host.host_s + alone.total_s + wave_share * (served - 1.0) / 2.0 * work
    steps = efficiencies.arrival_steps + host.wait_steps
    active = np.asarray(served, dtype=np.float64)
    for _ in range(_ROUNDS):
        step = passes.decode_step(
            engine,
            active,
            load.cache_bytes,
            load.attention_flop,
            efficiencies,
            host.decode_factor,
            host.checked_tokens,
        ).total_s
        tpot = step / accepted + work * active / gaps
        first = fixed + steps * accepted * tpot
        wanted = served * gaps * tpot / (first + gaps * tpot)
        active = active + _DAMPING * (wanted - active)
    residence = first + gaps * tpot
    wait = np.maximum(0.0, concurrency / served - 1.0) * residence
    return AggregatedResult(first + wait, tpot, active, served / residence, np.asarray(work))
