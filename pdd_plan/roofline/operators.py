"""Operator counts of a model: what one token computes and reads, before any chip is named.

Every attention kind is reduced to a sum of *span terms*: a query at position ``t`` attends
``min(t / ratio, cap)`` cache entries, at so many flop a pair. Full attention has ratio 1 and no
cap, a sliding window has its width as cap, compressed attention has ratio > 1, top-k sparse
attention has cap k plus an indexer term without cap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]


@dataclass(frozen=True)
class SpanTerm:
    """One attention operator of one or more equal layers.

    Attributes
    ----------
    layers : float
        Number of layers that have it.
    prefill_flop_per_pair : float
        Flop per (query, attended entry) and layer when many queries are computed at once.
    decode_flop_per_pair : float
        The same when one query per request is computed (for MLA: absorbed form).
    entry_bytes : float
        Bytes of one cache entry in one layer, as the kernel reads it.
    ratio : float
        Context tokens per cache entry; 1 unless compressed.
    cap : float
        Most entries a query attends; infinity for full attention.
    expand_flop_per_entry : float
        Flop per cached entry and layer to expand it before the prefill form can be used (MLA);
        0 where the cache is used as it is.
    compute_dtype : str
        Type in which the operator multiplies.
    """

    layers: float
    prefill_flop_per_pair: float
    decode_flop_per_pair: float
    entry_bytes: float
    ratio: float = 1.0
    cap: float = math.inf
    expand_flop_per_entry: float = 0.0
    compute_dtype: str = "bf16"


@dataclass(frozen=True)
class LinearGroup:
    """Weights that are multiplied together in one data type and sharded the same way.

    Attributes
    ----------
    name : str
        ``attention``, ``dense`` (dense MLP, shared experts, routers), ``experts`` or ``head``.
    stored_weights : float
        Weights held in memory.
    active_weights : float
        Weights one token multiplies with (2 flop each).
    bytes_per_weight : float
        Storage per weight, scales included.
    storage_dtype : str
        ``bf16``, ``fp8``, ``int8``, ``fp4``, ``mxfp4`` or ``int4``.
    """

    name: str
    stored_weights: float
    active_weights: float
    bytes_per_weight: float
    storage_dtype: str

    @property
    def stored_bytes(self) -> float:
        """Bytes of the group's weights [bytes]."""
        return self.stored_weights * self.bytes_per_weight


@dataclass(frozen=True)
class OperatorCounts:
    """All that the pass-time formulas need of a model at a precision.

    Attributes
    ----------
    name : str
        Model name, for messages.
    layers : int
        Transformer layers.
    hidden_size : int
        Width of the residual stream.
    kernels_per_layer : float
        Kernel launches per layer and pass, averaged over layers.
    linear : tuple of LinearGroup
        Weight groups.
    spans : tuple of SpanTerm
        Attention operators.
    fixed_flop_per_token : float
        Flop per token that depend on neither weights nor context (linear-attention states).
    fixed_state_bytes : float
        Bytes per request that do not grow with context (states, windows).
    state_bytes_per_step : float
        Bytes of constant state one decode step reads and writes per request.
    kv_bytes_per_token : float
        Cache bytes per context token over all layers, not divided by tensor parallelism.
    embedding_bytes : float
        Input embedding table, held but read by rows only.
    heads : int
        Attention heads (query); 0 where not known.
    kv_heads : int
        Heads the cache can be split over; 1 for MLA.
    experts, experts_per_token : int
        Routed experts of a layer and how many a token uses; 0 for dense models.
    moe_layers : int
        Layers with routed experts.
    """

    name: str
    layers: int
    hidden_size: int
    kernels_per_layer: float
    linear: tuple[LinearGroup, ...]
    spans: tuple[SpanTerm, ...]
    fixed_flop_per_token: float
    fixed_state_bytes: float
    state_bytes_per_step: float
    kv_bytes_per_token: float
    embedding_bytes: float
    heads: int
    kv_heads: int
    experts: int
    experts_per_token: int
    moe_layers: int

    def group(self, name: str) -> LinearGroup:
        """Return the weight group called `name`.

        Raises
        ------
        KeyError
            If the model has no such group.
        """
        for group in self.linear:
            if group.name == name:
                return group
        raise KeyError(name)

    @property
    def weight_bytes(self) -> float:
        """Bytes of all weights, embedding included, held once [bytes]."""
        return self.embedding_bytes + sum(group.stored_bytes for group in self.linear)

    @property
    def is_moe(self) -> bool:
        """Whether the model routes tokens to experts."""
        return self.experts > 0


def attended_pairs(
    uncached_tokens: ArrayLike,
    input_tokens: ArrayLike,
    ratio: float = 1.0,
    cap: float = math.inf,
) -> FloatArray:
    r"""Return how many (query, cache entry) pairs causal attention computes.

    The last `uncached_tokens` positions of a context of `input_tokens` are queries; the one at
    position t attends min(t / ratio, cap) entries. With f(x) the integral of that from 0 to x,
    the answer is f(L) - f(L - U); for full attention this is U (L - U/2).

    Parameters
    ----------
    uncached_tokens : array_like
        U, queries computed [tokens]; broadcast against `input_tokens`.
    input_tokens : array_like
        L, whole context with the cached prefix [tokens].
    ratio : float
        Context tokens per entry.
    cap : float
        Most entries attended.

    Returns
    -------
    ndarray
        Pairs, in the broadcast shape.
    """
    queries = np.asarray(uncached_tokens, dtype=np.float64)
    context = np.asarray(input_tokens, dtype=np.float64)
    if math.isinf(cap):
        return np.asarray(queries * (context - 0.5 * queries) / ratio)
    knee = cap * ratio
    high = np.minimum(context, knee)
    low = np.minimum(context - queries, knee)
    past_knee = np.maximum(context, knee) - np.maximum(context - queries, knee)
    return np.asarray((high - low) * (high + low) * (0.5 / ratio) + cap * past_knee)


def attended_entries(
    context_tokens: ArrayLike, ratio: float = 1.0, cap: float = math.inf
) -> FloatArray:
    """Return how many cache entries one query attends at a context [entries]."""
    return np.minimum(np.asarray(context_tokens, dtype=np.float64) / ratio, cap)


def touched_expert_share(
    tokens: ArrayLike, experts: ArrayLike, experts_per_token: ArrayLike
) -> FloatArray:
    """Return the share of a layer's experts that at least one token is routed to.

    1 - (1 - k/E)^T for T >= 1 tokens with uniform, independent routing; 1 for dense models
    (E = 0).
    """
    total = np.asarray(experts, dtype=np.float64)
    used = np.where(total > 0, np.asarray(experts_per_token) / np.maximum(total, 1.0), 1.0)
    return np.asarray(1.0 - (1.0 - used) ** np.maximum(tokens, 1.0))


def model_flop_per_token(counts: OperatorCounts) -> float:
    """Return the flop of one token outside attention: 2 per active weight, plus states."""
    return counts.fixed_flop_per_token + sum(2.0 * group.active_weights for group in counts.linear)


def decode_attention_flop(counts: OperatorCounts, context_tokens: float) -> float:
    """Return the attention flop of one decoded token at a context, over all layers."""
    return sum(
        term.layers
        * term.decode_flop_per_pair
        * float(attended_entries(context_tokens, term.ratio, term.cap))
        for term in counts.spans
    )


def decode_cache_bytes(counts: OperatorCounts, context_tokens: float) -> float:
    """Return the cache bytes one decoded token reads at a context, over all layers [bytes]."""
    return counts.state_bytes_per_step + sum(
        term.layers
        * term.entry_bytes
        * float(attended_entries(context_tokens, term.ratio, term.cap))
        for term in counts.spans
    )


def prefill_attention_flop(
    spans: Sequence[SpanTerm], uncached_tokens: ArrayLike, input_tokens: ArrayLike
) -> FloatArray:
    """Return the attention flop of a prefill pass, the cheaper of expanded and absorbed form.

    A latent cache (MLA) can be attended in two ways: expand every cached entry once and use the
    small per-pair form, or stay in the latent space at the larger per-pair form. A pass takes
    the cheaper one; the expansion of its own tokens is part of the linear layers.

    Parameters
    ----------
    spans : sequence of SpanTerm
        Attention operators.
    uncached_tokens, input_tokens : array_like
        U and L [tokens].

    Returns
    -------
    ndarray
        Flop over all layers and terms.
    """
    queries = np.asarray(uncached_tokens, dtype=np.float64)
    context = np.asarray(input_tokens, dtype=np.float64)
    total = np.zeros(np.broadcast(queries, context).shape)
    for term in spans:
        pairs = attended_pairs(queries, context, term.ratio, term.cap)
        flop = term.prefill_flop_per_pair * pairs
        if term.expand_flop_per_entry:
            cached = np.minimum(context - queries, pairs) / term.ratio
            expanded = flop + term.expand_flop_per_entry * cached
            flop = np.minimum(expanded, term.decode_flop_per_pair * pairs)
        total = total + term.layers * flop
    return total


def prefix_read_bytes(
    spans: Sequence[SpanTerm], uncached_tokens: ArrayLike, input_tokens: ArrayLike
) -> FloatArray:
    """Return the bytes of cached prefix a prefill pass reads, each entry once [bytes].

    Entries that no query attends (outside a window, or not among the top k) are not read, so at
    most one entry per pair is counted.
    """
    queries = np.asarray(uncached_tokens, dtype=np.float64)
    context = np.asarray(input_tokens, dtype=np.float64)
    total = np.zeros(np.broadcast(queries, context).shape)
    for term in spans:
        entries = (context - queries) / term.ratio
        if math.isfinite(term.cap):
            entries = np.minimum(entries, term.cap * np.maximum(queries, 1.0))
        total = total + term.layers * term.entry_bytes * entries
    return total
