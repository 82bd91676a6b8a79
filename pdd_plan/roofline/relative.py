"""Engine times of a chip declared relative to another one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pdd_plan.errors import InputError, Issue
from pdd_plan.roofline.operators import FloatArray
from pdd_plan.roofline.times import Bound, EngineTimes


class RelativeTimes:
    """Times of a base engine divided by speed ratios.

    Parameters
    ----------
    base : EngineTimes
        Engine of the chip that the ratios refer to.
    prefill_ratio, decode_ratio : float
        Speed against the base: 2.1 means 2.1 times as fast. Extending a cache is prefill work.
    kv_capacity_bytes : float or None
        Cache room of the engine; None takes the base's.

    Raises
    ------
    InputError
        If a ratio is not positive.
    """

    def __init__(
        self,
        base: EngineTimes,
        prefill_ratio: float,
        decode_ratio: float,
        kv_capacity_bytes: float | None = None,
    ) -> None:
        for name, ratio in (("prefill", prefill_ratio), ("decode", decode_ratio)):
            if not ratio > 0.0:
                raise InputError(Issue(f"relative {name} speed {ratio:g} is not positive"))
        self.base = base
        self.prefill_ratio = prefill_ratio
        self.decode_ratio = decode_ratio
        self.prefill_servers = base.prefill_servers
        self.host_s = base.host_s
        self.first_token_steps = base.first_token_steps
        self.kv_capacity_bytes = (
            base.kv_capacity_bytes if kv_capacity_bytes is None else kv_capacity_bytes
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the base."""
        return self.base.warnings

    def prefill_s(self, uncached_tokens: ArrayLike, input_tokens: ArrayLike) -> FloatArray:
        """Return seconds to prefill one request alone on one server."""
        return np.asarray(self.base.prefill_s(uncached_tokens, input_tokens) / self.prefill_ratio)

    def decode_step_s(self, batch: ArrayLike, context_tokens: float) -> FloatArray:
        """Return seconds of a decode step with `batch` requests on the engine."""
        return np.asarray(self.base.decode_step_s(batch, context_tokens) / self.decode_ratio)

    def extend_s(self, tokens: ArrayLike, context_tokens: float) -> FloatArray:
        """Return seconds to recompute the cache of `tokens` that follow `context_tokens`."""
        return np.asarray(self.base.extend_s(tokens, context_tokens) / self.prefill_ratio)

    def prefill_floor_s(self, uncached_tokens: ArrayLike, input_tokens: ArrayLike) -> FloatArray:
        """Return the floor of the base, divided like its times."""
        floor = self.base.prefill_floor_s(uncached_tokens, input_tokens)
        return np.asarray(floor / self.prefill_ratio)

    def decode_floor_s(self, batch: ArrayLike, context_tokens: float) -> FloatArray:
        """Return the floor of the base, divided like its times."""
        return np.asarray(self.base.decode_floor_s(batch, context_tokens) / self.decode_ratio)

    def prefill_bound_by(self, uncached_tokens: float, input_tokens: float) -> Bound:
        """Return the bound of the base."""
        return self.base.prefill_bound_by(uncached_tokens, input_tokens)

    def decode_bound_by(self, batch: float, context_tokens: float) -> Bound:
        """Return the bound of the base."""
        return self.base.decode_bound_by(batch, context_tokens)
