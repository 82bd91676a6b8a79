"""Attention of each layer from the fields of a Hugging Face configuration, by family."""

from __future__ import annotations

from typing import Final

from pdd_plan.catalog.attention import Attention, Span
from pdd_plan.catalog.hf_fields import Fields

_STATE_BYTES: Final = 4.0  # recurrent states are kept in fp32


def _head_dim(fields: Fields) -> int:
    given = fields.optional_count("head_dim")
    return given or fields.count("hidden_size") // fields.count("num_attention_heads")


def _gqa(fields: Fields, *, limit: int | None = None, gated: bool = False) -> Attention:
    """Return grouped-query attention: 4 H d operations per query and context token.

    Parameters
    ----------
    fields : Fields
    limit : int, optional
        Sliding window in tokens.
    gated : bool
        Whether an output gate as wide as the queries is computed.
    """
    hidden, heads = fields.count("hidden_size"), fields.count("num_attention_heads")
    kv_heads = fields.optional_count("num_key_value_heads") or heads
    width = _head_dim(fields)
    flop = 4.0 * heads * width
    span = Span("window" if limit else "full", flop, flop, 2.0 * kv_heads * width, limit=limit)
    params = hidden * width * (heads * (3 if gated else 2) + 2 * kv_heads)
    return Attention("gqa", float(params), (span,), kv_heads)


def grouped_query(fields: Fields) -> list[Attention]:
    """Return full or sliding-window grouped-query attention of each layer."""
    layers = fields.count("num_hidden_layers")
    full = _gqa(fields)
    window = fields.get("sliding_window")
    if not window or fields.get("use_sliding_window") is False:
        return [full] * layers
    sliding = _gqa(fields, limit=fields.count("sliding_window"))
    if fields.get("layer_types") is None:
        return [sliding] * layers
    types = fields.per_layer("layer_types", layers, ("sliding_attention", "full_attention"))
    return [sliding if kind == "sliding_attention" else full for kind in types]


def block_sparse(fields: Fields) -> list[Attention]:
    """Return full attention, and attention to the best blocks that an index picks (MiniMax-M3).

    The cache is kept whole; keys of the index are not counted as cache.
    """
    layers, full = fields.count("num_hidden_layers"), _gqa(fields)
    sparse = fields.inner("sparse_attention_config")
    if not sparse.get("use_sparse_attention"):
        return [full] * layers
    limit = sparse.count("sparse_block_size") * sparse.count("sparse_topk_blocks")
    index = 2.0 * sparse.count("sparse_num_index_heads") * sparse.count("sparse_index_dim")
    fields.finish()
    flags = sparse.per_layer("sparse_attention_freq", layers, (0, 1))
    sparse.finish()
    base = full.spans[0]
    chosen = Span("top_k", base.prefill_flop, base.decode_flop, base.elements, limit=limit)
    spans = (chosen, Span("index", index, index, 0.0))
    index_width = sparse.count("sparse_index_dim")
    params = full.params + fields.count("hidden_size") * (index / 2 + index_width)
    picked = Attention("gqa", params, spans, full.kv_heads)
    return [picked if flag else full for flag in flags]


def _linear(params: float, heads: int, key_dim: int, value_dim: int, flop: float) -> Attention:
    """Return a linear attention: `flop` operations per element of its state and token."""
    state = float(heads * key_dim * value_dim)
    return Attention(
        "linear",
        params,
        kv_heads=heads,
        state_bytes=state * _STATE_BYTES,
        state_flop=flop * state,
    )


def lightning_hybrid(fields: Fields) -> list[Attention]:
    """Return lightning attention with full layers between (MiniMax-M1)."""
    layers, hidden = fields.count("num_hidden_layers"), fields.count("hidden_size")
    heads, width = fields.count("num_attention_heads"), _head_dim(fields)
    linear = _linear(5.0 * hidden * heads * width, heads, width, width, 4.0)
    full = _gqa(fields)
    return [full if kind else linear for kind in fields.per_layer("attn_type_list", layers, (0, 1))]


def delta_hybrid(fields: Fields) -> list[Attention]:
    """Return gated delta layers with gated full layers between (Qwen3-Next, Qwen3.5)."""
    layers, hidden = fields.count("num_hidden_layers"), fields.count("hidden_size")
    key_heads, value_heads = (
        fields.count("linear_num_key_heads"),
        fields.count("linear_num_value_heads"),
    )
    key_dim, value_dim = fields.count("linear_key_head_dim"), fields.count("linear_value_head_dim")
    values = value_heads * value_dim
    params = hidden * (2.0 * key_heads * key_dim + 3 * values + 2 * value_heads)
    linear = _linear(params, value_heads, key_dim, value_dim, 6.0)
    full = _gqa(fields, gated=True)
    if fields.get("layer_types") is not None:
        kinds = ("linear_attention", "full_attention")
        flags = [k == kinds[1] for k in fields.per_layer("layer_types", layers, kinds)]
    else:
        interval = fields.count("full_attention_interval")
        flags = [(i + 1) % interval == 0 for i in range(layers)]
    return [full if flag else linear for flag in flags]


def _mla(fields: Fields, *, top_k: int | None = None, own_index: bool = False) -> Attention:
    """Return multi-head latent attention, sparse if `top_k` is given.

    Prefill computes heads explicitly, 2 H (d_qk + d_v) per pair; decode works on the latent,
    2 H (2 rank + rope). Sparse attention works on the latent in both.
    """
    hidden, heads = fields.count("hidden_size"), fields.count("num_attention_heads")
    rank, rope = fields.count("kv_lora_rank"), fields.count("qk_rope_head_dim")
    nope, value = fields.count("qk_nope_head_dim"), fields.count("v_head_dim")
    q_rank = fields.optional_count("q_lora_rank")
    q_width = heads * (nope + rope)
    params = float(hidden * q_width if q_rank is None else q_rank * (hidden + q_width))
    params += hidden * (rank + rope) + rank * heads * (nope + value) + heads * value * hidden
    if fields.get("mla_use_output_gate"):
        params += hidden * heads * value
    latent_flop = 2.0 * heads * (2 * rank + rope)
    explicit_flop = 2.0 * heads * (nope + rope + value)
    if top_k is None:
        spans: tuple[Span, ...] = (Span("full", explicit_flop, latent_flop, float(rank + rope)),)
        return Attention("mla", params, spans, 1, latent=True)
    packed = rank + rank / 128 * 4 + 2 * rope
    spans = (Span("top_k", latent_flop, latent_flop, float(rank + rope), 1, top_k, packed),)
    if own_index:
        spans += (_index(fields),)
        index_heads, width = fields.count("index_n_heads"), fields.count("index_head_dim")
        params += fields.count("q_lora_rank") * index_heads * width + hidden * (width + index_heads)
    return Attention("mla", params, spans, 1, latent=True)


def _index(fields: Fields, ratio: int = 1) -> Span:
    """Return the span of an indexer: 2 H_i d_i operations per query and key."""
    width = fields.count("index_head_dim")
    flop = 2.0 * fields.count("index_n_heads") * width
    return Span("index", flop, flop, float(width), ratio, None, width + width / 128 * 4)


def latent(fields: Fields) -> list[Attention]:
    """Return latent attention, full (DeepSeek-V3, Kimi-K2) or sparse (V3.2, GLM-5)."""
    layers = fields.count("num_hidden_layers")
    if fields.get("index_topk") is None:
        return [_mla(fields)] * layers
    top_k = fields.count("index_topk")
    indexed = _mla(fields, top_k=top_k, own_index=True)
    if fields.get("indexer_types") is None:
        return [indexed] * layers
    shared = _mla(fields, top_k=top_k)
    types = fields.per_layer("indexer_types", layers, ("full", "shared"))
    return [shared if kind == "shared" else indexed for kind in types]


def kimi_hybrid(fields: Fields) -> list[Attention]:
    """Return Kimi delta attention with latent full layers between (Kimi-K3)."""
    layers, hidden = fields.count("num_hidden_layers"), fields.count("hidden_size")
    linear = fields.inner("linear_attn_config")
    heads, width = linear.count("num_heads"), linear.count("head_dim")
    full_layers = linear.numbers("full_attn_layers")
    if not full_layers:
        linear.fault("full_attn_layers", "full_attn_layers must list the full layers, from 1")
    fields.finish()
    linear.finish()
    inner = heads * width
    gate = hidden * inner if linear.get("use_full_rank_gate") else width * (hidden + inner)
    params = 4.0 * hidden * inner + width * (hidden + inner) + gate + hidden * heads
    delta = _linear(params, heads, width, width, 6.0)
    full = _mla(fields)
    return [full if i + 1 in full_layers else delta for i in range(layers)]


def compressed(fields: Fields) -> list[Attention]:
    """Return compressed attention with a window (DeepSeek V4), by each layer's ratio.

    Ratio 4: entries of 4 tokens picked by an indexer. Larger: all entries. 0: the window alone.
    Keys and values are one latent, so a pair costs 2 H (d + d).
    """
    layers = fields.count("num_hidden_layers")
    ratios = fields.per_layer("compress_ratios", layers)
    kinds = {ratio: _compressed(fields, int(ratio or 0)) for ratio in set(ratios)}
    return [kinds[ratio] for ratio in ratios]


def _compressed(fields: Fields, ratio: int) -> Attention:
    hidden, heads = fields.count("hidden_size"), fields.count("num_attention_heads")
    width, rope = fields.count("head_dim"), fields.count("qk_rope_head_dim")
    q_rank, o_rank = fields.count("q_lora_rank"), fields.count("o_lora_rank")
    params = float(q_rank * (hidden + heads * width) + hidden * width)
    params += o_rank * heads * width + fields.count("o_groups") * o_rank * hidden
    flop, packed = 4.0 * heads * width, (width - rope) + 2 * rope + 8.0
    window = fields.count("sliding_window")
    spans: tuple[Span, ...] = (Span("window", flop, flop, float(width), 1, window, packed),)
    if ratio == 4:
        top_k = fields.count("index_topk")
        spans += (Span("top_k", flop, flop, float(width), ratio, top_k, packed),)
        spans += (_index(fields, ratio),)
        index_heads, index_width = fields.count("index_n_heads"), fields.count("index_head_dim")
        params += 4.0 * hidden * (width + index_width)
        params += q_rank * index_heads * index_width + hidden * index_heads
    elif ratio > 0:
        spans += (Span("full", flop, flop, float(width), ratio, None, packed),)
        params += 2.0 * hidden * width
    return Attention("compressed", params, spans, 1, latent=True)
