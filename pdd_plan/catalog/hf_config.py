"""Model profiles from the fields of a Hugging Face ``config.json``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from pdd_plan.catalog import hf_attention as kinds
from pdd_plan.catalog.attention import Attention
from pdd_plan.catalog.documents import nearest
from pdd_plan.catalog.hf_fields import Fields
from pdd_plan.catalog.models import LayerGroup, ModelProfile
from pdd_plan.errors import InputError, Issue

_ATTENTION: Final[dict[str, Callable[[Fields], list[Attention]]]] = {
    "llama": kinds.grouped_query,
    "mistral": kinds.grouped_query,
    "qwen2": kinds.grouped_query,
    "qwen3": kinds.grouped_query,
    "mixtral": kinds.grouped_query,
    "qwen3_moe": kinds.grouped_query,
    "glm4_moe": kinds.grouped_query,
    "gpt_oss": kinds.grouped_query,
    "minimax_m2": kinds.grouped_query,
    "minimax_m3": kinds.block_sparse,
    "minimax_m1": kinds.lightning_hybrid,
    "qwen3_next": kinds.delta_hybrid,
    "qwen3_5_moe_text": kinds.delta_hybrid,
    "deepseek_v3": kinds.latent,
    "kimi_k2": kinds.latent,
    "deepseek_v32": kinds.latent,
    "glm_moe_dsa": kinds.latent,
    "kimi_linear": kinds.kimi_hybrid,
    "deepseek_v4": kinds.compressed,
}
_QK_NORM: Final = (
    "qwen3",
    "qwen3_moe",
    "qwen3_next",
    "qwen3_5_moe_text",
    "glm4_moe",
    "minimax_m2",
    "minimax_m3",
)


def read_config(path: Path, shown: str | None = None) -> Mapping[str, Any]:
    """Read a ``config.json``.

    Parameters
    ----------
    path : Path
        The file, or the folder that holds it.
    shown : str, optional
        Name for messages.

    Returns
    -------
    Mapping[str, Any]

    Raises
    ------
    InputError
        If it is missing or no JSON object.
    """
    file = path / "config.json" if path.is_dir() else path
    name = shown or str(file)
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        issue = Issue(f"{name} is not valid JSON: {error.msg}", "", name, error.lineno)
        raise InputError(issue) from error
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise InputError(Issue(f"cannot read {name}: {reason}", file=name)) from error
    if not isinstance(data, dict):
        raise InputError(Issue(f"{name} holds no JSON object", file=name))
    return data


def model_from_config(
    config: Mapping[str, Any],
    *,
    name: str,
    title: str = "",
    source: str = "config.json",
    date: str = "",
    confidence: str = "user",
    file: str = "",
) -> ModelProfile:
    """Build a model profile from the fields of a Hugging Face configuration.

    Parameters
    ----------
    config : Mapping[str, Any]
        Content of ``config.json``; a ``text_config`` inside is used where present.
    name, title : str
        Id and published name.
    source, date, confidence : str
        Provenance to note.
    file : str
        File name for messages.

    Returns
    -------
    ModelProfile

    Raises
    ------
    InputError
        If the architecture is unknown, or a field that it needs is missing or impossible.
    """
    fields = Fields(config, file)
    kind = _architecture(fields)
    attention = _ATTENTION[kind](fields)
    mlps = _mlps(fields)
    fields.finish()
    grouped: dict[tuple[Attention, tuple[float, float, int, int]], int] = {}
    for key in zip(attention, mlps, strict=True):
        grouped[key] = grouped.get(key, 0) + 1
    groups = tuple(LayerGroup(count, att, *mlp) for (att, mlp), count in grouped.items())
    model = ModelProfile(
        name=name,
        title=title or name,
        groups=groups,
        hidden_size=fields.count("hidden_size"),
        vocab_size=fields.count("vocab_size"),
        tied_embeddings=bool(fields.get("tie_word_embeddings", False)),
        kernels_per_layer=_kernels(kind, groups, fields),
        max_context_tokens=fields.optional_count("max_position_embeddings"),
        source=source,
        date=date,
        confidence=confidence,
        notes=_notes(kind, fields),
    )
    fields.finish()
    return model


def _architecture(fields: Fields) -> str:
    kind = fields.get("model_type")
    if isinstance(kind, str) and kind in _ATTENTION:
        return kind
    found = "is missing" if kind is None else f"= '{kind}' is an architecture not known here"
    hint = nearest(str(kind), _ATTENTION) if kind else ""
    numbers = (
        "give the model as numbers instead: params, active_params, layers, hidden_size, "
        "kv_heads, kv_bytes_per_token, attention_flop"
    )
    raise InputError(
        Issue(
            f"model_type {found}",
            "model_type",
            fields.file,
            help=f"{hint} {numbers}".strip(),
        )
    )


def _mlps(fields: Fields) -> list[tuple[float, float, int, int]]:
    """Return, for each layer, dense weights, one expert's weights, experts, experts used."""
    layers, hidden = fields.count("num_hidden_layers"), fields.count("hidden_size")
    experts = fields.first("n_routed_experts", "num_experts", "num_local_experts")
    if not experts:
        return [(3.0 * hidden * fields.count("intermediate_size"), 0.0, 0, 0)] * layers
    used = fields.first_count("num_experts_per_tok", "num_experts_per_token")
    if used > experts:
        fields.fault("num_experts_per_tok", f"num_experts_per_tok = {used} is above {experts}")
    width = fields.first_count("moe_intermediate_size", "intermediate_size")
    shared = fields.first("n_shared_experts", "num_shared_experts") or 0
    shared_width = shared * width or (
        fields.first("shared_expert_intermediate_size", "shared_intermediate_size") or 0
    )
    entry = fields.optional_count("routed_expert_hidden_size") or hidden
    beside = 3.0 * hidden * shared_width + hidden * experts
    if entry != hidden:
        beside += 2.0 * hidden * entry
    expert_layer = (beside, 3.0 * entry * width, experts, used)
    sparse = _expert_layers(fields, layers)
    if all(sparse):
        return [expert_layer] * layers
    dense = 3.0 * hidden * fields.first_count("dense_intermediate_size", "intermediate_size")
    return [expert_layer if has_experts else (dense, 0.0, 0, 0) for has_experts in sparse]


def _expert_layers(fields: Fields, layers: int) -> list[bool]:
    """Return which layers have routed experts."""
    if fields.get("mlp_layer_types") is not None:
        kinds = fields.per_layer("mlp_layer_types", layers, ("dense", "sparse"))
        return [kind == "sparse" for kind in kinds]
    if isinstance(fields.get("moe_layer_freq"), list):
        return [bool(flag) for flag in fields.per_layer("moe_layer_freq", layers, (0, 1))]
    first, dense_only = (
        fields.natural("first_k_dense_replace", 0),
        fields.numbers("mlp_only_layers"),
    )
    if fields.get("decoder_sparse_step") is not None:
        step = fields.count("decoder_sparse_step")
        chosen = [(i + 1) % step == 0 for i in range(layers)]
    else:
        step = fields.optional_count("moe_layer_freq") or 1
        chosen = [i % step == 0 for i in range(layers)]
    return [i >= first and flag and i not in dense_only for i, flag in enumerate(chosen)]


def _kernels(kind: str, groups: tuple[LayerGroup, ...], fields: Fields) -> int:
    """Return the kernels launched per layer, counted by hand.

    A Llama layer has 10: norm, qkv, rope and cache, attention, output projection, reduce, norm,
    gate-up, activation, down. Norms of q and k add 2, latent attention 6 (two low-rank steps,
    two norms, two absorbed products), a linear attention 4 (convolution, gates, normalization,
    output gate), an indexer 4, compression and mixed residual streams 8, experts 5 (router, top-k,
    permute, quantize, combine) and one more for a second grouped product except in gpt-oss,
    whose kernels fuse it; a shared expert 3, its gate 1.
    """
    layers = sum(group.count for group in groups)
    extra = 0.0
    for group in groups:
        attention, share = group.attention, group.count / layers
        if attention.kind == "linear":
            extra += 4 * share
        elif attention.kind == "mla":
            extra += 6 * share
        elif attention.kind == "compressed":
            extra += 8 * share
        elif kind in _QK_NORM:
            extra += 2 * share
        if any(span.kind == "index" for span in attention.spans):
            extra += 4 * share
    if any(group.experts for group in groups):
        extra += 5 if kind == "gpt_oss" else 6
        if fields.first("n_shared_experts", "num_shared_experts"):
            extra += 3
        elif fields.first("shared_expert_intermediate_size", "shared_intermediate_size"):
            extra += 4
    return int(10 + extra + 0.5)


def _notes(kind: str, fields: Fields) -> tuple[str, ...]:
    notes = []
    if fields.first("num_nextn_predict_layers", "num_mtp_modules", "mtp_num_hidden_layers"):
        notes.append("Multi-token-prediction layers are left out.")
    if fields.get("vision_config"):
        notes.append("The vision part is left out.")
    if kind == "minimax_m3":
        notes.append(
            "Keys of the block index (128 elements per token and sparse layer, 12 % of the cache) "
            "are not counted."
        )
    return tuple(notes)
