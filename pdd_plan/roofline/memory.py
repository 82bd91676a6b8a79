"""What fits on an engine: weights, activations, and the cache that remains."""

from __future__ import annotations

from pdd_plan.catalog.chips import ChipProfile
from pdd_plan.roofline.engine_shape import EngineShape
from pdd_plan.roofline.operators import OperatorCounts

PREFILL_CHUNK_TOKENS = 8192  # default chunk of vLLM and SGLang on data-center GPUs
ACTIVATION_BYTES = 2.0  # bf16


def weight_bytes_per_chip(
    counts: OperatorCounts, shape: EngineShape, domain_chips: int
) -> dict[str, float]:
    """Return the bytes of weights one chip holds, by group.

    Attention is split over tensor parallelism and replicated over attention ranks; dense layers,
    shared experts, embedding and head are split over the chips of one scale-up domain; routed
    experts over all chips of the engine.

    Parameters
    ----------
    counts : OperatorCounts
        Model at a precision.
    shape : EngineShape
        Engine.
    domain_chips : int
        Chips of a scale-up domain.

    Returns
    -------
    dict
        Bytes by group name, ``embedding`` included.
    """
    near = min(shape.chips, domain_chips)
    held = {"embedding": counts.embedding_bytes / near}
    for group in counts.linear:
        if group.name == "attention":
            held[group.name] = group.stored_bytes / shape.tensor_parallel
        elif group.name == "experts":
            held[group.name] = group.stored_bytes / shape.chips
        else:
            held[group.name] = group.stored_bytes / near
    return held


def activation_bytes_per_chip(counts: OperatorCounts, shape: EngineShape) -> float:
    """Return the working memory of a prefill chunk on one chip [bytes].

    Residual, normalized input, attention input and output (query, key, value and result, as wide
    as the heads) and the two halves of a gated MLP, in bf16, for one chunk of 8,192 tokens. What
    a framework reserves beyond that (runtime, communication buffers) is the part of memory above
    `memory_fraction`.
    """
    attention = 4.0 * counts.hidden_size / shape.tensor_parallel
    dense = counts.group("dense").active_weights / max(counts.layers, 1) / counts.hidden_size
    mlp = dense / min(shape.chips, 8)
    if counts.is_moe:
        experts = counts.group("experts")
        per_token = experts.active_weights / max(counts.moe_layers, 1) / counts.hidden_size
        mlp += (per_token + counts.experts_per_token * counts.hidden_size) / min(shape.chips, 8)
    return PREFILL_CHUNK_TOKENS * ACTIVATION_BYTES * (3.0 * counts.hidden_size + attention + mlp)


def cache_split(counts: OperatorCounts, tensor_parallel: int) -> int:
    """Return over how many of a rank's chips one request's cache is split.

    Key-value heads are split as far as they go; a latent cache (MLA) is replicated.
    """
    return min(tensor_parallel, counts.kv_heads)


def cache_copies(counts: OperatorCounts, tensor_parallel: int) -> float:
    """Return how many copies of a request's cache a rank holds (1 if it is only split)."""
    return tensor_parallel / cache_split(counts, tensor_parallel)


def rank_cache_bytes(
    chip: ChipProfile, counts: OperatorCounts, shape: EngineShape, memory_fraction: float = 0.9
) -> float:
    """Return the distinct cache bytes one attention rank holds; negative where weights exceed.

    (memory_fraction x memory - weights - activations) of each chip of the rank, divided by the
    copies that tensor parallelism forces.

    Parameters
    ----------
    chip : ChipProfile
        Chip.
    counts : OperatorCounts
        Model at a precision.
    shape : EngineShape
        Engine.
    memory_fraction : float
        Share of device memory that the framework may use, 0 to 1.

    Returns
    -------
    float
        Bytes.
    """
    held = sum(weight_bytes_per_chip(counts, shape, chip.scaleup_domain_chips).values())
    free = memory_fraction * chip.memory_bytes - held - activation_bytes_per_chip(counts, shape)
    return free * shape.tensor_parallel / cache_copies(counts, shape.tensor_parallel)


def engine_cache_bytes(
    chip: ChipProfile, counts: OperatorCounts, shape: EngineShape, memory_fraction: float = 0.9
) -> float:
    """Return the distinct cache bytes a whole engine holds [bytes]."""
    return shape.data_parallel * rank_cache_bytes(chip, counts, shape, memory_fraction)


def request_cache_bytes(counts: OperatorCounts, tokens: float) -> float:
    """Return the cache bytes of one request of `tokens` tokens [bytes]."""
    return counts.kv_bytes_per_token * tokens + counts.fixed_state_bytes
