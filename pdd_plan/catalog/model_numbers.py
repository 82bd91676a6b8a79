"""Models given as plain numbers, for architectures that are not known here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pdd_plan.catalog.attention import Attention, Span
from pdd_plan.catalog.documents import Document, Reader
from pdd_plan.catalog.models import LayerGroup, ModelProfile

REQUIRED: Final = (
    "params",
    "active_params",
    "layers",
    "hidden_size",
    "kv_bytes_per_token",
    "attention_flop",
)
"""Numbers without which a model cannot be planned with."""

OPTIONAL: Final = (
    "name",
    "kv_bytes_fixed",
    "attention_flop_decode",
    "attention_window_tokens",
    "kv_heads",
    "latent_cache",
    "vocab_size",
    "experts",
    "experts_per_token",
    "kernels_per_layer",
    "max_context_tokens",
)
"""Numbers that refine it."""


def model_from_numbers(
    numbers: Mapping[str, Any], *, document: Document | None = None, name: str = "custom"
) -> ModelProfile:
    """Build a model profile from numbers alone.

    Parameters
    ----------
    numbers : Mapping[str, Any]
        Required: ``params`` and ``active_params`` (weights in all; those that one token is
        multiplied with, so without the input embedding),
        ``layers``, ``hidden_size``, ``kv_bytes_per_token`` [bytes, all layers],
        ``attention_flop`` [flop per query, context token and layer in prefill].
        Optional: ``name``, ``attention_flop_decode`` (the same in decode, default
        ``attention_flop``), ``attention_window_tokens`` (most context a query attends to),
        ``kv_bytes_fixed`` [bytes per request, default 0], ``kv_heads`` or ``latent_cache: true``
        (how tensor parallelism splits the cache; one of them is required), ``vocab_size``
        (counts embedding and head apart, in bf16), ``experts`` and ``experts_per_token``
        (required where ``active_params`` is below ``params``), ``kernels_per_layer`` (default
        10, with experts 18: counts of a Llama and of a Qwen3 expert layer),
        ``max_context_tokens``.
    document : Document, optional
        File the numbers come from, for lines in messages.
    name : str
        Id, unless the numbers state one.

    Returns
    -------
    ModelProfile
        Its weights outside the routed experts count as attention, which data-parallel attention
        copies: the cautious choice for memory.

    Raises
    ------
    InputError
        If a number is missing, impossible or unknown.
    """
    reader = Reader(document or Document(dict(numbers), "", {}))
    data = reader.root(("kind", *REQUIRED, *OPTIONAL))
    if missing := [key for key in REQUIRED if key not in data]:
        reader.fault((), f"{', '.join(missing)} missing", "required: " + ", ".join(REQUIRED))
    values = {
        key: reader.number((key,), value)
        for key, value in data.items()
        if key in (*REQUIRED, *OPTIONAL) and key not in ("name", "latent_cache", "kv_bytes_fixed")
    }
    fixed = data.get("kv_bytes_fixed", 0)
    if fixed != 0:
        fixed = reader.number(("kv_bytes_fixed",), fixed)
    latent = bool(data.get("latent_cache", False))
    if "kv_heads" not in data and not latent:
        reader.fault((), "kv_heads missing", "kv_heads: 8, or latent_cache: true for MLA")
    for key in ("layers", "hidden_size", "experts", "experts_per_token", "kv_heads", "vocab_size"):
        if key in values and values[key] % 1:
            reader.fault((key,), f"{key} = {values[key]:g} must be a whole number")
    reader.finish()
    group, vocabulary = _group(reader, values, latent)
    reader.finish()
    default_kernels = 18 if group.experts else 10
    explicit = {"kv_bytes_per_token": values["kv_bytes_per_token"], "kv_bytes_fixed": float(fixed)}
    label = str(data.get("name", name))
    limit = values.get("max_context_tokens")
    return ModelProfile(
        name=label.lower(),
        title=label,
        groups=(group,),
        hidden_size=int(values["hidden_size"]),
        vocab_size=vocabulary,
        tied_embeddings=False,
        kernels_per_layer=int(values.get("kernels_per_layer", default_kernels)),
        max_context_tokens=None if limit is None else int(limit),
        source="user's numbers",
        date="",
        confidence="user",
        explicit=explicit,
    )


def _group(reader: Reader, values: Mapping[str, float], latent: bool) -> tuple[LayerGroup, int]:
    """Return one group for all layers, and the rows of the head that is counted apart."""
    total, active, layers = values["params"], values["active_params"], values["layers"]
    experts = int(values.get("experts", 0))
    used = int(values.get("experts_per_token", 0))
    vocabulary = int(values.get("vocab_size", 0))
    head = vocabulary * values["hidden_size"]
    rest, routed = total - 2 * head, 0.0
    if active > total:
        reader.fault(("active_params",), f"active_params = {active:g} is above params = {total:g}")
    elif used > experts or (experts and not used):
        reader.fault(
            ("experts_per_token",), f"experts_per_token = {used} does not fit experts = {experts}"
        )
    elif not experts and active < (total - head) * (1 - 1e-9):
        reader.fault(
            ("active_params",),
            f"active_params = {active:g} below params = {total:g} needs experts",
            "experts: 256 and experts_per_token: 8, say",
        )
    elif used < experts:
        routed = (total - head - active) / (1 - used / experts)
        rest = active - head - routed * used / experts
    if rest <= 0 and not reader.issues:
        reader.fault(("params",), "these numbers leave no weights outside experts and head")
    flop = values["attention_flop"]
    window = values.get("attention_window_tokens")
    span = Span(
        "top_k" if window else "full",
        flop,
        values.get("attention_flop_decode", flop),
        values["kv_bytes_per_token"] / layers / 2.0,
        limit=None if window is None else int(window),
    )
    heads = 1 if latent else int(values["kv_heads"])
    attention = Attention("numbers", rest / layers, (span,), heads, latent=latent)
    expert = routed / layers / experts if experts else 0.0
    return LayerGroup(int(layers), attention, 0.0, expert, experts, used), vocabulary
