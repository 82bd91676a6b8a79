"""A model by its numbers, for architectures that the catalog does not know."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from pdd_plan.scenario.quantity import PositiveTokens, Quantity, Section

Parameters = Annotated[float, Quantity("parameters", "parameters", gt=0, le=1e15)]
PairFlop = Annotated[float, Quantity("flop", "FLOP", gt=0, le=1e12)]


class ModelNumbers(Section):
    """A model by its numbers, for architectures that the catalog does not know."""

    name: str = Field(default="custom", min_length=1, description="Label for reports.")
    params: Parameters = Field(description="Weights in all.", examples=["671 B"])
    active_params: Parameters = Field(
        description="Weights that one token is multiplied with, input embedding left out; equal to "
        "`params` for dense models.",
        examples=["37 B"],
    )
    layers: int = Field(ge=1, le=10_000, description="Layers.", examples=[61])
    hidden_size: int = Field(
        ge=1, le=1_000_000, description="Width of the hidden state.", examples=[7168]
    )
    kv_bytes_per_token: Annotated[float, Quantity("bytes_per_token", "B/token", gt=0, le=1e9)] = (
        Field(
            description="KV cache of one token over all layers, in the precision used.",
            examples=["68.6 KiB/token"],
        )
    )
    kv_bytes_fixed: Annotated[float, Quantity("bytes", "B", ge=0, le=1e12)] = Field(
        default=0.0, description="Constant state of one request (windows, linear attention)."
    )
    attention_flop: PairFlop = Field(
        description="Operations per query token, context token and layer in prefill: 4 x heads x "
        "head size for GQA, 2 x heads x (d_qk + d_v) for MLA.",
        examples=["81920 FLOP"],
    )
    attention_flop_decode: PairFlop | None = Field(
        default=None, description="The same in decode; none: as in prefill."
    )
    attention_window_tokens: PositiveTokens | None = Field(
        default=None, description="Most context that a token attends to; none: all."
    )
    kv_heads: int | None = Field(
        default=None,
        ge=1,
        le=100_000,
        description="Heads over which tensor parallelism can split the cache; this or "
        "`latent_cache: true` is required.",
    )
    latent_cache: bool = Field(
        default=False, description="True: every chip holds the whole cache (MLA)."
    )
    vocab_size: int | None = Field(
        default=None, ge=1, le=10_000_000, description="Vocabulary; counts the head apart, in bf16."
    )
    experts: int | None = Field(
        default=None, ge=1, le=100_000, description="Routed experts of a layer; none: dense."
    )
    experts_per_token: int | None = Field(
        default=None, ge=1, le=100_000, description="Routed experts that a token uses."
    )
    kernels_per_layer: int | None = Field(
        default=None,
        ge=1,
        le=1000,
        description="Kernels launched per layer; none: 10 for dense models, 18 with experts.",
    )
    max_context_tokens: PositiveTokens | None = Field(
        default=None, description="Longest context of the model; none: no limit."
    )

    def numbers(self) -> dict[str, Any]:
        """Return what is given, as `pdd_plan.catalog.model_from_numbers` takes it."""
        return self.model_dump(exclude_none=True)
