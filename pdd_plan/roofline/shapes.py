"""Engine shapes worth considering for a chip and a model, and why the others are not."""

from __future__ import annotations

from pdd_plan.catalog.chips import ChipProfile
from pdd_plan.errors import InputError
from pdd_plan.roofline.constants import engine_constants
from pdd_plan.roofline.engine_shape import EngineShape, RejectedShape
from pdd_plan.roofline.memory import (
    activation_bytes_per_chip,
    rank_cache_bytes,
    request_cache_bytes,
    weight_bytes_per_chip,
)
from pdd_plan.roofline.operators import OperatorCounts

MAX_TENSOR_PARALLEL = 16
MAX_ENGINE_CHIPS = 64
GIB = 2.0**30


def candidate_shapes_of(
    chip: ChipProfile,
    counts: OperatorCounts,
    longest_request_tokens: float,
    memory_fraction: float = 0.9,
    max_chips: int = MAX_ENGINE_CHIPS,
) -> tuple[list[EngineShape], list[RejectedShape]]:
    """Return the shapes that can run a model on a chip, and the rejected ones with reasons.

    Chips per engine are powers of two up to the scale-up domain. Beyond it, multi-node engines
    of mixture-of-experts models are looked at only where nothing inside the domain fits.

    Parameters
    ----------
    chip : ChipProfile
        Chip.
    counts : OperatorCounts
        Model at a precision.
    longest_request_tokens : float
        Longest request (input and output) that must fit [tokens].
    memory_fraction : float
        Share of device memory that the framework may use.
    max_chips : int
        Largest engine to consider.

    Returns
    -------
    tuple of list
        Candidates by chips, then tensor parallelism; rejected shapes with reasons.
    """
    domain = min(chip.scaleup_domain_chips, max_chips)
    fitting: list[EngineShape] = []
    rejected: list[RejectedShape] = []
    for chips in _powers_of_two(1, domain):
        _sort_out(
            _shapes_of_size(counts, chips),
            chip,
            counts,
            longest_request_tokens,
            memory_fraction,
            fitting,
            rejected,
        )
    if not fitting and domain < max_chips:
        for chips in _powers_of_two(2 * _last_power(domain), max_chips):
            _sort_out(
                _multi_node_shapes(chip, counts, chips),
                chip,
                counts,
                longest_request_tokens,
                memory_fraction,
                fitting,
                rejected,
            )
    return fitting, rejected


def _sort_out(
    shapes: list[EngineShape],
    chip: ChipProfile,
    counts: OperatorCounts,
    longest_request_tokens: float,
    memory_fraction: float,
    fitting: list[EngineShape],
    rejected: list[RejectedShape],
) -> None:
    for shape in shapes:
        reason = rejection(chip, counts, shape, longest_request_tokens, memory_fraction)
        if reason is None:
            fitting.append(shape)
        else:
            rejected.append(RejectedShape(shape, reason))


def _powers_of_two(low: int, high: int) -> list[int]:
    sizes = []
    size = low
    while size <= high:
        sizes.append(size)
        size *= 2
    return sizes


def _last_power(limit: int) -> int:
    return 1 << (max(limit, 1).bit_length() - 1)


def _shapes_of_size(counts: OperatorCounts, chips: int) -> list[EngineShape]:
    """Return the ways to use `chips` chips of one scale-up domain, most tensor parallel first."""
    if not counts.is_moe:
        return [EngineShape(chips, chips)]
    shapes = [EngineShape(chips, chips, 1, chips)]
    if 1 < counts.kv_heads < chips:
        tensor = counts.kv_heads
        shapes.append(EngineShape(chips, tensor, chips // tensor, chips))
    if counts.kv_heads == 1 and chips > 1:
        shapes.append(EngineShape(chips, 1, chips, chips))
    return shapes


def _multi_node_shapes(chip: ChipProfile, counts: OperatorCounts, chips: int) -> list[EngineShape]:
    domain = _last_power(chip.scaleup_domain_chips)
    if not counts.is_moe:
        return [EngineShape(chips, chips)]
    shapes = [EngineShape(chips, domain, chips // domain, chips)]
    if counts.kv_heads == 1:
        shapes.append(EngineShape(chips, 1, chips, chips))
    return shapes


def rejection(
    chip: ChipProfile,
    counts: OperatorCounts,
    shape: EngineShape,
    longest_request_tokens: float,
    memory_fraction: float = 0.9,
) -> str | None:
    """Return why a shape cannot or should not run a model, or None if it can.

    Parameters
    ----------
    chip, counts, shape, longest_request_tokens, memory_fraction
        As in `candidate_shapes_of`.

    Returns
    -------
    str or None
        A sentence with numbers.
    """
    structural = _structural_rejection(chip, counts, shape)
    if structural is not None:
        return structural
    return _memory_rejection(chip, counts, shape, longest_request_tokens, memory_fraction)


def _structural_rejection(
    chip: ChipProfile, counts: OperatorCounts, shape: EngineShape
) -> str | None:
    tensor = shape.tensor_parallel
    if counts.heads and counts.heads % tensor:
        return f"tensor parallelism {tensor} does not divide {counts.heads} attention heads"
    if tensor > chip.scaleup_domain_chips:
        return (
            f"tensor parallelism {tensor} reaches beyond the scale-up domain of "
            f"{chip.scaleup_domain_chips} chips; pipeline parallelism is not modeled"
        )
    if tensor > MAX_TENSOR_PARALLEL:
        return (
            f"tensor parallelism {tensor} leaves {max(counts.heads, tensor) // tensor} heads and "
            f"{counts.hidden_size // tensor} hidden columns a chip, too thin for an all-reduce "
            f"twice a layer (limit {MAX_TENSOR_PARALLEL})"
        )
    if counts.kv_heads > 1 and tensor > 2 * counts.kv_heads:
        return (
            f"tensor parallelism {tensor} holds each of {counts.kv_heads} key-value heads "
            f"{tensor // counts.kv_heads} times: smaller engines on the same chips hold more"
        )
    if counts.is_moe and counts.experts % shape.expert_parallel:
        return (
            f"expert parallelism {shape.expert_parallel} does not divide {counts.experts} experts"
        )
    try:
        engine_constants(chip, counts, shape)
    except InputError as error:
        return error.issues[0].message
    return None


def _memory_rejection(
    chip: ChipProfile,
    counts: OperatorCounts,
    shape: EngineShape,
    longest_request_tokens: float,
    memory_fraction: float,
) -> str | None:
    held = sum(weight_bytes_per_chip(counts, shape, chip.scaleup_domain_chips).values())
    working = activation_bytes_per_chip(counts, shape)
    usable = memory_fraction * chip.memory_bytes
    split = (
        f"weights take {held / GIB:.1f} GiB on each of {shape.chips} x "
        f"{chip.memory_bytes / GIB:.0f} GiB ({counts.weight_bytes / 1e9:.0f} GB in all)"
    )
    if held + working >= usable:
        return (
            f"{split}, with {working / GIB:.1f} GiB of activations no room for cache in the "
            f"{usable / GIB:.1f} GiB usable"
        )
    room = rank_cache_bytes(chip, counts, shape, memory_fraction)
    needed = request_cache_bytes(counts, longest_request_tokens)
    if needed > room:
        return (
            f"{split}, which leaves {room / GIB:.1f} GiB for cache: the longest request of "
            f"{longest_request_tokens:,.0f} tokens needs {needed / GIB:.1f} GiB"
        )
    return None
