"""Engine times: the interface that queueing, planning and simulation use."""

from __future__ import annotations

from typing import Literal, Protocol

from numpy.typing import ArrayLike

from pdd_plan.roofline.operators import FloatArray

Bound = Literal["compute", "memory", "network", "overhead", "measured"]


class EngineTimes(Protocol):
    """Times of one engine; all lengths in tokens, all times in seconds.

    Attributes
    ----------
    prefill_servers : int
        Requests that one engine prefills side by side (attention ranks).
    kv_capacity_bytes : float
        Cache bytes one engine holds beside weights and activations, copies already taken off:
        a request of b bytes a token takes b times its length.
    host_s : float
        Time per request outside the chips, part of TTFT but of no occupancy [s].
    first_token_steps : float
        Decode steps from joining the batch to the first token at the client.
    warnings : tuple of str
        What a reader of the times should know, such as extrapolation beyond a table.
    """

    prefill_servers: int
    kv_capacity_bytes: float
    host_s: float
    first_token_steps: float

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the times should know."""
        ...

    def prefill_s(self, uncached_tokens: ArrayLike, input_tokens: ArrayLike) -> FloatArray:
        """Return seconds to prefill one request alone on one server."""
        ...

    def decode_step_s(self, batch: ArrayLike, context_tokens: float) -> FloatArray:
        """Return seconds of a decode step with `batch` requests on the engine."""
        ...

    def extend_s(self, tokens: ArrayLike, context_tokens: float) -> FloatArray:
        """Return seconds to recompute the cache of `tokens` that follow `context_tokens`."""
        ...

    def prefill_floor_s(self, uncached_tokens: ArrayLike, input_tokens: ArrayLike) -> FloatArray:
        """Return the physical floor of `prefill_s`."""
        ...

    def decode_floor_s(self, batch: ArrayLike, context_tokens: float) -> FloatArray:
        """Return the physical floor of `decode_step_s`."""
        ...

    def prefill_bound_by(self, uncached_tokens: float, input_tokens: float) -> Bound:
        """Return which part of the prefill is the largest."""
        ...

    def decode_bound_by(self, batch: float, context_tokens: float) -> Bound:
        """Return which part of the decode step is the largest."""
        ...
