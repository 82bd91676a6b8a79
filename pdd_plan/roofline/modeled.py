"""Engine times from the roofline: data sheets, operator counts and efficiencies."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pdd_plan.catalog.chips import ChipProfile
from pdd_plan.roofline import passes
from pdd_plan.roofline.constants import engine_constants
from pdd_plan.roofline.efficiencies import Efficiencies
from pdd_plan.roofline.engine_shape import EngineShape
from pdd_plan.roofline.memory import engine_cache_bytes
from pdd_plan.roofline.operators import (
    FloatArray,
    OperatorCounts,
    decode_attention_flop,
    decode_cache_bytes,
    prefill_attention_flop,
    prefix_read_bytes,
)
from pdd_plan.roofline.times import Bound


class RooflineTimes:
    """Times of one engine computed from chip, model, shape and efficiencies.

    Parameters
    ----------
    chip : ChipProfile
        Chip.
    counts : OperatorCounts
        Model at a precision.
    shape : EngineShape
        Chips and parallelism.
    efficiencies : Efficiencies
        Shares of the data sheet that are reached.
    framework : str or None
        Serving framework; None takes the mean of those known.
    memory_fraction : float
        Share of device memory that the framework may use.

    Attributes
    ----------
    prefill_servers, kv_capacity_bytes, host_s, first_token_steps
        As in `EngineTimes`.
    """

    def __init__(
        self,
        chip: ChipProfile,
        counts: OperatorCounts,
        shape: EngineShape,
        efficiencies: Efficiencies,
        framework: str | None = None,
        memory_fraction: float = 0.9,
    ) -> None:
        self.chip = chip
        self.counts = counts
        self.shape = shape
        self.efficiencies = efficiencies
        self.framework = framework
        self.constants = engine_constants(chip, counts, shape)
        self._decode_factor, self.host_s = efficiencies.for_framework(framework)
        self.first_token_steps = efficiencies.arrival_steps
        self.prefill_servers = shape.data_parallel
        self.kv_capacity_bytes = engine_cache_bytes(chip, counts, shape, memory_fraction)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Nothing to warn of: the roofline holds at any length."""
        return ()

    def prefill_parts(
        self, uncached_tokens: ArrayLike, input_tokens: ArrayLike
    ) -> passes.PassParts:
        """Return the parts of `prefill_s` [s]."""
        uncached = np.asarray(uncached_tokens, dtype=np.float64)
        context = np.asarray(input_tokens, dtype=np.float64)
        flop = prefill_attention_flop(self.counts.spans, uncached, context)
        prefix = prefix_read_bytes(self.counts.spans, uncached, context)
        return passes.prefill_alone(
            self.constants, uncached, flop, prefix, self.efficiencies, dedicated=True
        )

    def decode_parts(self, batch: ArrayLike, context_tokens: float) -> passes.PassParts:
        """Return the parts of `decode_step_s` [s]."""
        return passes.decode_step(
            self.constants,
            batch,
            decode_cache_bytes(self.counts, context_tokens),
            decode_attention_flop(self.counts, context_tokens),
            self.efficiencies,
            self._decode_factor,
        )

    def prefill_s(self, uncached_tokens: ArrayLike, input_tokens: ArrayLike) -> FloatArray:
        """Return seconds to prefill one request alone on one server."""
        return np.asarray(self.prefill_parts(uncached_tokens, input_tokens).total_s)

    def decode_step_s(self, batch: ArrayLike, context_tokens: float) -> FloatArray:
        """Return seconds of a decode step with `batch` requests on the engine."""
        return np.asarray(self.decode_parts(batch, context_tokens).total_s)

    def extend_s(self, tokens: ArrayLike, context_tokens: float) -> FloatArray:
        """Return seconds to recompute the cache of `tokens` that follow `context_tokens`."""
        extra = np.asarray(tokens, dtype=np.float64)
        return self.prefill_s(extra, context_tokens + extra)

    def prefill_floor_s(self, uncached_tokens: ArrayLike, input_tokens: ArrayLike) -> FloatArray:
        """Return the least time physics allows `prefill_s`."""
        uncached = np.asarray(uncached_tokens, dtype=np.float64)
        context = np.asarray(input_tokens, dtype=np.float64)
        flop = prefill_attention_flop(self.counts.spans, uncached, context)
        prefix = prefix_read_bytes(self.counts.spans, uncached, context)
        return passes.prefill_floor_s(self.constants, uncached, flop, prefix)

    def decode_floor_s(self, batch: ArrayLike, context_tokens: float) -> FloatArray:
        """Return the least time physics allows `decode_step_s`."""
        return passes.decode_floor_s(
            self.constants,
            batch,
            decode_cache_bytes(self.counts, context_tokens),
            decode_attention_flop(self.counts, context_tokens),
        )

    def prefill_bound_by(self, uncached_tokens: float, input_tokens: float) -> Bound:
        """Return which part of the prefill is the largest."""
        return largest_part(self.prefill_parts(uncached_tokens, input_tokens))

    def decode_bound_by(self, batch: float, context_tokens: float) -> Bound:
        """Return which part of the decode step is the largest."""
        return largest_part(self.decode_parts(batch, context_tokens))


def largest_part(parts: passes.PassParts) -> Bound:
    """Return the name of the largest part of one pass."""
    named: dict[Bound, float] = {
        "compute": float(parts.compute_s),
        "memory": float(parts.memory_s),
        "network": float(parts.network_s),
        "overhead": float(parts.overhead_s),
    }
    return max(named, key=lambda name: named[name])
