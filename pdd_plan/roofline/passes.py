"""Time of one pass over a model: prefill, decode step, extend; and their physical floors.

All functions are pure and take numbers or arrays that broadcast. The form is that of a roofline
with overlap, a fixed time per kernel, and collectives; see docs/theory for each term.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pdd_plan.roofline.constants import EngineConstants, Number
from pdd_plan.roofline.efficiencies import Efficiencies
from pdd_plan.roofline.operators import FloatArray, touched_expert_share


@dataclass(frozen=True)
class PassParts:
    """Parts of one pass [s], for reports of what bounds it.

    Attributes
    ----------
    memory_s, compute_s, network_s, overhead_s : number
        Reading, computing, collectives' bytes, and launches with latencies.
    total_s : number
        Time of the pass, with overlap of the parts that overlap.
    """

    memory_s: Number
    compute_s: Number
    network_s: Number
    overhead_s: Number
    total_s: Number


def linear_s_per_token(engine: EngineConstants, efficiencies: Efficiencies) -> Number:
    """Return chip-seconds per token of all weight products at the efficiencies given."""
    quantized = engine.linear_quantized_s + engine.expert_quantized_s
    bf16 = engine.linear_bf16_s + engine.expert_bf16_s
    return (quantized + bf16 / efficiencies.compute_bf16) / efficiencies.compute


def attention_s_per_flop(engine: EngineConstants, efficiencies: Efficiencies) -> Number:
    """Return chip-seconds per attention flop at the efficiencies given."""
    return engine.bf16_flop_s / efficiencies.compute


def network_s(engine: EngineConstants, tokens: Number, efficiencies: Efficiencies) -> Number:
    """Return the time of the collectives' bytes of a pass over `tokens` of the whole engine."""
    return tokens * (
        engine.scaleup_s_per_token / efficiencies.link + engine.nic_s_per_token / efficiencies.nic
    )


def launch_s(engine: EngineConstants, efficiencies: Efficiencies) -> Number:
    """Return the fixed time of a pass: kernel launches and collective latencies [s]."""
    return (
        engine.launches * efficiencies.kernel_s
        + engine.collective_rounds * efficiencies.collective_s
    )


def decode_step(
    engine: EngineConstants,
    batch: ArrayLike,
    cache_bytes: Number,
    attention_flop: Number,
    efficiencies: Efficiencies,
    framework_factor: Number = 1.0,
    tokens_per_request: Number = 1.0,
) -> PassParts:
    """Return the time of one decode step and its parts.

    Reading, computing and, beyond a scale-up domain, dispatch and combine overlap in part
    (a p-norm); all-reduces and launches do not.

    Parameters
    ----------
    engine : EngineConstants
        Engine, or stack of engines.
    batch : array_like
        Requests decoding on the whole engine.
    cache_bytes : number
        Cache bytes one request reads per step at its context [bytes].
    attention_flop : number
        Attention flop of one token at that context [flop].
    efficiencies : Efficiencies
        Shared parameters.
    framework_factor : number
        Factor of the serving framework on the step, without the time per request.
    tokens_per_request : number
        Tokens checked per request and step; 1 without speculation.

    Returns
    -------
    PassParts
        Seconds.
    """
    requests = np.asarray(batch, dtype=np.float64)
    tokens = requests * tokens_per_request
    touched = touched_expert_share(tokens, engine.experts, engine.experts_per_token)
    memory = (
        engine.shared_read_s
        + engine.expert_read_s * touched
        + requests / engine.data_parallel * cache_bytes * engine.bytes_read_s
    ) / efficiencies.memory
    compute = (
        tokens
        / engine.chips
        * (
            linear_s_per_token(engine, efficiencies)
            + attention_flop * attention_s_per_flop(engine, efficiencies)
        )
    )
    reduces = tokens * engine.small_reduce * engine.scaleup_s_per_token / efficiencies.link
    nic = tokens * engine.nic_s_per_token / efficiencies.nic
    network = reduces + nic
    launches = launch_s(engine, efficiencies)
    power = efficiencies.roofline_exponent
    overlapped = (memory**power + compute**power + nic**power) ** (1.0 / power)
    per_request = efficiencies.request_step_s * requests / engine.data_parallel
    total = framework_factor * (overlapped + launches + reduces) + per_request
    return PassParts(memory, compute, network, launches + per_request, total)


def _prefill_chip_s(
    engine: EngineConstants,
    uncached_tokens: Number,
    attention_flop: Number,
    efficiencies: Efficiencies,
) -> Number:
    """Return the chip-seconds that a prefill computes.

    Mixture-of-experts models reach only `compute_moe` of the efficiency of dense ones in prefill:
    a prompt gives each expert few tokens, which come permuted and in ragged batches.
    """
    chip_s = uncached_tokens * linear_s_per_token(engine, efficiencies)
    chip_s = chip_s + attention_flop * attention_s_per_flop(engine, efficiencies)
    return chip_s / efficiencies.compute_moe**engine.moe


def prefill_work_s(
    engine: EngineConstants,
    uncached_tokens: Number,
    attention_flop: Number,
    efficiencies: Efficiencies,
) -> Number:
    """Return how long one prefill keeps the whole engine busy among others (S_work) [s]."""
    compute = _prefill_chip_s(engine, uncached_tokens, attention_flop, efficiencies) / engine.chips
    return compute + network_s(engine, uncached_tokens, efficiencies)


def prefill_alone(
    engine: EngineConstants,
    uncached_tokens: Number,
    attention_flop: Number,
    cached_bytes: Number,
    efficiencies: Efficiencies,
    dedicated: bool = False,
) -> PassParts:
    """Return the time of one prefill on one attention rank while the others do the same.

    Dispatch and combine between nodes hide behind the computing of another micro-batch.

    Parameters
    ----------
    engine : EngineConstants
        Engine, or stack of engines.
    uncached_tokens : number
        U, tokens computed.
    attention_flop : number
        Attention flop of the pass over all layers [flop].
    cached_bytes : number
        Cache bytes of the prefix that attention reads [bytes].
    efficiencies : Efficiencies
        Shared parameters.
    dedicated : bool
        Whether the engine does nothing but prefill.

    Returns
    -------
    PassParts
        Seconds.
    """
    chip_s = _prefill_chip_s(engine, uncached_tokens, attention_flop, efficiencies)
    if dedicated:
        chip_s = chip_s / efficiencies.dedicated_prefill**engine.moe
    compute = chip_s * engine.data_parallel / engine.chips
    touched = touched_expert_share(uncached_tokens, engine.experts, engine.experts_per_token)
    memory = (
        engine.shared_read_s + engine.expert_read_s * touched + cached_bytes * engine.bytes_read_s
    ) / efficiencies.memory
    tokens = uncached_tokens * engine.data_parallel
    network = network_s(engine, tokens, efficiencies)
    nic = tokens * engine.nic_s_per_token / efficiencies.nic
    launches = launch_s(engine, efficiencies)
    total = np.maximum(np.maximum(compute, memory), nic) + (network - nic) + launches
    return PassParts(memory, compute, network, launches, total)


def decode_floor_s(
    engine: EngineConstants, batch: ArrayLike, cache_bytes: Number, attention_flop: Number
) -> FloatArray:
    """Return the least time physics allows a decode step [s].

    The larger of all flop at the data-sheet peak and all bytes at the data-sheet bandwidth,
    each spread evenly over the chips, nothing else.
    """
    requests = np.asarray(batch, dtype=np.float64)
    touched = touched_expert_share(requests, engine.experts, engine.experts_per_token)
    memory = (
        engine.shared_read_s
        + engine.expert_read_s * touched
        + requests / engine.data_parallel * cache_bytes * engine.bytes_read_s
    )
    compute = (
        requests / engine.chips * (_peak_s_per_token(engine) + attention_flop * engine.bf16_flop_s)
    )
    return np.asarray(np.maximum(memory, compute))


def prefill_floor_s(
    engine: EngineConstants, uncached_tokens: Number, attention_flop: Number, cached_bytes: Number
) -> FloatArray:
    """Return the least time physics allows one prefill on one attention rank [s].

    Routed experts may use every chip of the engine, all else the chips of the rank.
    """
    expert = engine.expert_quantized_s + engine.expert_bf16_s
    rank = engine.linear_quantized_s + engine.linear_bf16_s
    rank_chips = engine.chips / engine.data_parallel
    compute = (
        uncached_tokens * (expert / engine.chips + rank / rank_chips)
        + attention_flop * engine.bf16_flop_s / rank_chips
    )
    touched = touched_expert_share(uncached_tokens, engine.experts, engine.experts_per_token)
    memory = (
        engine.shared_read_s + engine.expert_read_s * touched + cached_bytes * engine.bytes_read_s
    )
    return np.asarray(np.maximum(memory, compute))


def _peak_s_per_token(engine: EngineConstants) -> Number:
    return (
        engine.linear_quantized_s
        + engine.linear_bf16_s
        + engine.expert_quantized_s
        + engine.expert_bf16_s
    )
