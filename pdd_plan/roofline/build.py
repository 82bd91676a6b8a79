"""Engine times and shapes from catalog profiles: the front door of the roofline."""

from __future__ import annotations

from pdd_plan.catalog.chips import ChipProfile, absolute_chip
from pdd_plan.catalog.models import ModelProfile
from pdd_plan.roofline.counts import Precision, operator_counts
from pdd_plan.roofline.efficiencies import Efficiencies
from pdd_plan.roofline.engine_shape import EngineShape, RejectedShape
from pdd_plan.roofline.memory import engine_cache_bytes
from pdd_plan.roofline.modeled import RooflineTimes
from pdd_plan.roofline.relative import RelativeTimes
from pdd_plan.roofline.shapes import MAX_ENGINE_CHIPS, candidate_shapes_of
from pdd_plan.roofline.times import EngineTimes


def candidate_shapes(
    chip: ChipProfile,
    model: ModelProfile,
    precision: Precision,
    longest_request_tokens: float,
    memory_fraction: float = 0.9,
    max_chips: int = MAX_ENGINE_CHIPS,
) -> tuple[list[EngineShape], list[RejectedShape]]:
    """Return the engine shapes that can run a model on a chip, and the rejected with reasons.

    Parameters
    ----------
    chip : ChipProfile
        Chip; a relative chip is laid out with its own memory and network.
    model : ModelProfile
        Model.
    precision : Precision
        Formats of weights, experts and cache.
    longest_request_tokens : float
        Longest request (input and output) that must fit [tokens].
    memory_fraction : float
        Share of device memory that the framework may use.
    max_chips : int
        Largest engine to consider.

    Returns
    -------
    tuple of list
        Candidates by chips; rejected shapes, each with a sentence of why.

    Raises
    ------
    InputError
        If a format is unknown.
    """
    counts = operator_counts(model, precision)
    return candidate_shapes_of(chip, counts, longest_request_tokens, memory_fraction, max_chips)


def make_engine_times(
    chip: ChipProfile,
    model: ModelProfile,
    precision: Precision,
    shape: EngineShape,
    efficiencies: Efficiencies | None = None,
    framework: str | None = None,
    memory_fraction: float = 0.9,
) -> EngineTimes:
    """Return the times of one engine from the roofline.

    Parameters
    ----------
    chip : ChipProfile
        Chip; for a relative chip the base's times are divided by its speed ratios.
    model : ModelProfile
        Model.
    precision : Precision
        Formats of weights, experts and cache.
    shape : EngineShape
        Chips and parallelism.
    efficiencies : Efficiencies or None
        Shares of the data sheet that are reached; None takes the shipped defaults.
    framework : str or None
        ``vllm``, ``sglang`` or ``trtllm``; None takes their mean.
    memory_fraction : float
        Share of device memory that the framework may use.

    Returns
    -------
    EngineTimes
        Vectorized over requests and batches.

    Raises
    ------
    InputError
        If a format or framework is unknown, or the chip lacks a figure that is needed.
    """
    counts = operator_counts(model, precision)
    base, prefill_speed, decode_speed = absolute_chip(chip)
    fitted = efficiencies if efficiencies is not None else Efficiencies.default()
    times = RooflineTimes(base, counts, shape, fitted, framework, memory_fraction)
    if chip.relative is None:
        return times
    room = engine_cache_bytes(chip, counts, shape, memory_fraction)
    return RelativeTimes(times, prefill_speed, decode_speed, room)
