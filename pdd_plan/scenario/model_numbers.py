"""A model by its numbers, for architectures that the catalog does not know."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from pdd_plan.scenario.machines import check_table
from pdd_plan.scenario.quantity import PositiveTokens, Quantity, Section, problem

Parameters = Annotated[float, Quantity("parameters", "parameters", gt=0, le=1e15)]
PairFlop = Annotated[float, Quantity("flop", "FLOP", gt=0, le=1e12)]


class KvTable(Section):
    """Measured KV cache of one request by its length; interpolated between the points."""

    tokens: tuple[PositiveTokens, ...] = Field(
        strict=False,
        min_length=2,
        description="Tokens whose cache it is, ascending.",
        examples=["[1000, 32000]"],
    )
    size_bytes: tuple[Annotated[float, Quantity("bytes", "MiB", gt=0, le=1e9)], ...] = Field(
        alias="size",
        strict=False,
        description="Bytes of the cache over all layers, one for each entry of `tokens`.",
        examples=["[190.8 MiB, 701.3 MiB]"],
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_table(self.tokens, self.size_bytes, "size", "bytes")
        if self.size_bytes[-1] == self.size_bytes[0]:
            raise problem(
                f" is {self.size_bytes[0]:g} bytes at every length, so a token would take no room",
                "measure at lengths further apart",
                "size",
            )
        return self

    def line(self) -> tuple[float, float]:
        """Return bytes fixed and per token of the line through the first and the last point.

        A line that would start below 0 goes through the origin and the last point instead.
        """
        slope = (self.size_bytes[-1] - self.size_bytes[0]) / (self.tokens[-1] - self.tokens[0])
        fixed = self.size_bytes[0] - slope * self.tokens[0]
        if fixed < 0.0:
            return 0.0, self.size_bytes[-1] / self.tokens[-1]
        return fixed, slope


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
    kv_bytes_per_token: (
        Annotated[float, Quantity("bytes_per_token", "B/token", gt=0, le=1e9)] | None
    ) = Field(
        default=None,
        description="KV cache of one token over all layers, in the precision used. This or "
        "`kv_table` is required.",
        examples=["68.6 KiB/token"],
    )
    kv_bytes_fixed: Annotated[float, Quantity("bytes", "B", ge=0, le=1e12)] = Field(
        default=0.0, description="Constant state of one request (windows, linear attention)."
    )
    kv_table: KvTable | None = Field(
        default=None,
        description="Measured KV cache by length, instead of `kv_bytes_per_token` and "
        "`kv_bytes_fixed`.",
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

    @model_validator(mode="after")
    def _one_cache(self) -> Self:
        if self.kv_table is not None:
            for key in ("kv_bytes_per_token", "kv_bytes_fixed"):
                if getattr(self, key):
                    raise problem(
                        f" = {getattr(self, key):g} is given beside kv_table",
                        "remove it, or kv_table",
                        key,
                    )
        elif self.kv_bytes_per_token is None:
            raise problem(
                " is missing, and so is kv_table",
                "add kv_bytes_per_token: 68.6 KiB/token",
                "kv_bytes_per_token",
            )
        return self

    def numbers(self) -> dict[str, Any]:
        """Return what is given, as `pdd_plan.catalog.model_from_numbers` takes it.

        A measured cache counts there as the line through its first and last point.
        """
        given = self.model_dump(exclude_none=True, exclude={"kv_table"})
        if self.kv_table is not None:
            given["kv_bytes_fixed"], given["kv_bytes_per_token"] = self.kv_table.line()
        return given
