"""Attention of one layer: what it computes, reads and stores for each token of context.

Every kind of attention in use is a sum of *spans*: of the ``context / ratio`` entries that lie
behind a query, it attends to all, to a window of the last ``limit``, or to the best ``limit``.
Full, sliding-window, sparse (indexer + top-k) and compressed attention differ only in these
numbers; linear attention has no span and a constant state instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

KV_BYTES: Final = {
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "fp8_ds_mla": 1.0,
    "fp4": 0.5,
    "nvfp4": 0.5625,
    "mxfp4": 0.53125,
}
"""Bytes per cached element; nvfp4 and mxfp4 carry a scale for each 16 and 32 elements.

``fp8_ds_mla`` is the layout of FlashMLA and vLLM for sparse attention: fp8 with bf16 rotary
part and scales, whose bytes per entry are stated on the span."""


@dataclass(frozen=True)
class Span:
    """One set of cached entries that a query attends to.

    Attributes
    ----------
    kind : str
        ``full``, ``window``, ``top_k`` or ``index`` (scores of a sparse attention's indexer).
    prefill_flop, decode_flop : float
        Operations per query and attended entry [flop]; they differ for MLA, whose decode step
        works on the latent (absorbed form).
    elements : float
        Cached elements per entry; 0 if the entries belong to another span.
    ratio : int
        Tokens per entry (compressed attention), else 1.
    limit : int or None
        Most entries attended, or None for all.
    packed_bytes : float or None
        Bytes per entry in the ``fp8_ds_mla`` layout, scales included, if it has one.
    """

    kind: str
    prefill_flop: float
    decode_flop: float
    elements: float
    ratio: int = 1
    limit: int | None = None
    packed_bytes: float | None = None

    @property
    def grows(self) -> bool:
        """Whether the cache of this span grows with the context (a window's does not)."""
        return self.kind != "window"

    def entries(self, context_tokens: npt.ArrayLike) -> Array:
        """Return the entries attended by a query with this much context, same shape."""
        entries = np.asarray(context_tokens, dtype=np.float64) / self.ratio
        return entries if self.limit is None else np.minimum(entries, self.limit)

    def causal_pairs(self, new_tokens: npt.ArrayLike, context_tokens: npt.ArrayLike) -> Array:
        """Return the (query, entry) pairs when the last `new_tokens` of a context are computed.

        Parameters
        ----------
        new_tokens, context_tokens : array_like
            Tokens computed in this pass, and all tokens including them; broadcast together.

        Returns
        -------
        ndarray
            Integral of `entries` over the contexts of the new tokens; for a full span
            U (L - U/2).
        """
        end = np.asarray(context_tokens, dtype=np.float64)
        start = end - np.asarray(new_tokens, dtype=np.float64)
        if self.limit is None:
            return (end**2 - start**2) / (2.0 * self.ratio)
        knee = float(self.limit * self.ratio)
        rising = (np.minimum(end, knee) ** 2 - np.minimum(start, knee) ** 2) / (2.0 * self.ratio)
        flat = self.limit * (np.maximum(end, knee) - np.maximum(start, knee))
        return np.asarray(rising + flat, dtype=np.float64)

    def entry_bytes(self, kv_dtype: str, index_dtype: str | None = None) -> float:
        """Return the bytes of one cached entry.

        Parameters
        ----------
        kv_dtype : str
            A key of `KV_BYTES`.
        index_dtype : str, optional
            Format of the indexer's keys, if it differs from `kv_dtype`.
        """
        if self.kind == "index" and index_dtype is not None:
            return self.elements * KV_BYTES[index_dtype]
        if kv_dtype == "fp8_ds_mla" and self.packed_bytes is not None:
            return self.packed_bytes
        return self.elements * KV_BYTES[kv_dtype]


@dataclass(frozen=True)
class Attention:
    """Attention of one layer.

    Attributes
    ----------
    kind : str
        ``gqa``, ``mla``, ``compressed``, ``linear`` or ``numbers`` (given as numbers).
    params : float
        Weights of its projections, indexer included.
    spans : tuple of Span
        Cached entries it attends to; empty for linear attention.
    kv_heads : int
        Heads over which tensor parallelism can split the cache.
    latent : bool
        Whether all heads share one latent cache, so that each tensor-parallel rank holds it whole.
    state_bytes : float
        Constant recurrent state per request [bytes] (fp32), read and written by each token.
    state_flop : float
        Operations per token of a linear attention [flop].
    """

    kind: str
    params: float
    spans: tuple[Span, ...] = ()
    kv_heads: int = 1
    latent: bool = False
    state_bytes: float = 0.0
    state_flop: float = 0.0

    def kv_bytes_per_token(self, kv_dtype: str, index_dtype: str | None = None) -> float:
        """Return the bytes that each further token of context adds."""
        return sum(
            span.entry_bytes(kv_dtype, index_dtype) / span.ratio
            for span in self.spans
            if span.grows
        )

    def window_bytes(self, kv_dtype: str) -> float:
        """Return the bytes of full windows, constant once a request is longer than them."""
        return sum(
            span.entry_bytes(kv_dtype) * (span.limit or 0) for span in self.spans if not span.grows
        )

    def prefill_flop(self, new_tokens: npt.ArrayLike, context_tokens: npt.ArrayLike) -> Array:
        """Return the operations of a pass over the last `new_tokens` of a context [flop]."""
        new = np.asarray(new_tokens, dtype=np.float64)
        total: Any = self.state_flop * new
        for span in self.spans:
            total = total + span.prefill_flop * span.causal_pairs(new, context_tokens)
        return np.asarray(total, dtype=np.float64)

    def decode_flop(self, context_tokens: npt.ArrayLike) -> Array:
        """Return the operations of one decoded token with this much context [flop]."""
        context = np.asarray(context_tokens, dtype=np.float64)
        total: Any = np.full_like(context, self.state_flop)
        for span in self.spans:
            total = total + span.decode_flop * span.entries(context)
        return np.asarray(total, dtype=np.float64)

    def decode_read_bytes(self, context_tokens: npt.ArrayLike, kv_dtype: str) -> Array:
        """Return the cache bytes that one decoded token moves (states: read and written)."""
        context = np.asarray(context_tokens, dtype=np.float64)
        total: Any = np.full_like(context, 2.0 * self.state_bytes)
        for span in self.spans:
            total = total + span.entry_bytes(kv_dtype) * span.entries(context)
        return np.asarray(total, dtype=np.float64)
