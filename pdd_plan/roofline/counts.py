"""Operator counts of a catalog model at a precision."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Protocol

from pdd_plan.catalog.attention import Attention, Span
from pdd_plan.catalog.models import WEIGHT_BYTES, ModelProfile
from pdd_plan.roofline.operators import LinearGroup, OperatorCounts, SpanTerm

QUANTIZE_KERNELS = 2.0
ROPE_ELEMENTS = 64.0  # rotary part of the latent cache in every published MLA model


class Precision(Protocol):
    """Number formats of a deployment.

    Attributes
    ----------
    weights : str
        Format of the linear layers.
    experts : str or None
        Format of the routed experts if it differs.
    kv_cache : str
        Format of the cache.
    """

    @property
    def weights(self) -> str: ...  # noqa: D102

    @property
    def experts(self) -> str | None: ...  # noqa: D102

    @property
    def kv_cache(self) -> str: ...  # noqa: D102


def operator_counts(model: ModelProfile, precision: Precision) -> OperatorCounts:
    """Return what a model computes, reads and holds at a precision.

    Parameters
    ----------
    model : ModelProfile
        Architecture.
    precision : Precision
        Formats of weights, routed experts and cache.

    Returns
    -------
    OperatorCounts
        Sums over all layers.

    Raises
    ------
    InputError
        If a format is unknown.
    """
    linear_format, expert_format = model.weight_formats(precision.weights, precision.experts)
    kv_format = precision.kv_cache
    return OperatorCounts(
        name=model.name,
        layers=model.layers,
        hidden_size=model.hidden_size,
        kernels_per_layer=model.kernels_per_layer + _quantize_kernels(linear_format),
        linear=_linear_groups(model, linear_format, expert_format),
        spans=_spans(model, kv_format),
        fixed_flop_per_token=sum(g.count * g.attention.state_flop for g in model.groups),
        fixed_state_bytes=model.kv_bytes_fixed(kv_format),
        state_bytes_per_step=2.0 * model.state_bytes,
        kv_bytes_per_token=model.kv_bytes_per_token(kv_format),
        embedding_bytes=model.weights.embedding * WEIGHT_BYTES["bf16"],
        heads=_query_heads(model),
        kv_heads=1 if model.is_mla else model.kv_heads,
        experts=model.experts,
        experts_per_token=model.experts_per_token,
        moe_layers=sum(group.count for group in model.groups if group.experts),
    )


def _quantize_kernels(linear_format: str) -> float:
    """Return the kernels per layer that quantize activations beside those the model counts.

    Four products a layer need quantized input (query-key-value, output, gate-up, down); two of
    the quantizations are fused with the norms, two stand alone. Weight-only formats need none.
    """
    return QUANTIZE_KERNELS if linear_format in ("fp8", "int8", "fp4", "nvfp4") else 0.0


def _linear_groups(
    model: ModelProfile, linear_format: str, expert_format: str
) -> tuple[LinearGroup, ...]:
    parts = model.weights
    width = WEIGHT_BYTES[linear_format]
    groups = [
        LinearGroup("attention", parts.attention, parts.attention, width, linear_format),
        LinearGroup("dense", parts.dense, parts.dense, width, linear_format),
        LinearGroup("head", parts.head, parts.head, WEIGHT_BYTES["bf16"], "bf16"),
    ]
    if model.is_moe:
        groups.append(
            LinearGroup(
                "experts",
                parts.experts,
                model.active_expert_params,
                WEIGHT_BYTES[expert_format],
                expert_format,
            )
        )
    return tuple(groups)


def _spans(model: ModelProfile, kv_format: str) -> tuple[SpanTerm, ...]:
    """Return span terms with equal ones of different layer groups joined."""
    joined: dict[SpanTerm, float] = {}
    for group in model.groups:
        for span in group.attention.spans:
            term = _span_term(group.attention, span, kv_format)
            joined[term] = joined.get(term, 0.0) + group.count
    terms = [replace(term, layers=layers) for term, layers in joined.items()]
    if model.explicit and "kv_bytes_per_token" in model.explicit:
        given = model.explicit["kv_bytes_per_token"]
        summed = sum(term.layers * term.entry_bytes / term.ratio for term in terms)
        scale = given / summed if summed else 1.0
        terms = [replace(term, entry_bytes=term.entry_bytes * scale) for term in terms]
    return tuple(terms)


def _span_term(attention: Attention, span: Span, kv_format: str) -> SpanTerm:
    """Return the span term of one layer."""
    return SpanTerm(
        layers=1.0,
        prefill_flop_per_pair=span.prefill_flop,
        decode_flop_per_pair=span.decode_flop,
        entry_bytes=span.entry_bytes(kv_format),
        ratio=float(span.ratio),
        cap=math.inf if span.limit is None else float(span.limit),
        expand_flop_per_entry=_expand_flop(attention, span),
    )


def _query_heads(model: ModelProfile) -> int:
    """Return the query heads that tensor parallelism must divide, the fewest of any layer.

    0 where they are not known (a model given as plain numbers).
    """
    heads = [_heads(group.attention) for group in model.groups]
    return min((count for count in heads if count), default=0)


def _heads(attention: Attention) -> int:
    given = int(getattr(attention, "heads", 0))
    if given or not attention.spans:
        return given or attention.kv_heads
    if attention.kind == "numbers":
        return 0
    span = attention.spans[0]
    if attention.latent:
        rope = ROPE_ELEMENTS if attention.kind == "mla" else 0.0
        width = 2.0 * span.elements - rope
        return round(span.decode_flop / (2.0 * width))
    return round(span.decode_flop * attention.kv_heads / (2.0 * span.elements))


def _expand_flop(attention: Attention, span: Span) -> float:
    """Return the flop to expand one latent entry into keys and values of all heads.

    2 rank H (d_nope + d_v), with H (d_nope + rope + d_v) known from the flop of a pair.
    """
    if attention.kind != "mla" or span.prefill_flop >= span.decode_flop:
        return 0.0
    rank = span.elements - ROPE_ELEMENTS
    return rank * (span.prefill_flop - 2.0 * _heads(attention) * ROPE_ELEMENTS)
