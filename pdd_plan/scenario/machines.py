"""Model numbers, precision, engines with measured tables, and efficiencies."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from pdd_plan.scenario.efficiencies import Efficiencies
from pdd_plan.scenario.places import Role
from pdd_plan.scenario.quantity import (
    Memory,
    PositiveSeconds,
    PositiveTokens,
    Quantity,
    Section,
    once,
    problem,
)

WeightFormat = Literal["bf16", "fp8", "int8", "nvfp4", "mxfp4", "int4"]
CacheFormat = Literal["bf16", "fp8", "int8", "fp4"]


class Precision(Section):
    """Number formats of weights and KV cache."""

    weights: WeightFormat = Field(description="Format of the weights.", examples=["fp8"])
    experts: WeightFormat | None = Field(
        default=None, description="Format of routed experts; none: as `weights`."
    )
    kv_cache: CacheFormat = Field(default="bf16", description="Format of the KV cache.")


TableFile = Annotated[
    str | None,
    Field(
        default=None,
        min_length=1,
        description="CSV of measured points, as `pdd-plan calibrate` reads it, relative to the "
        "scenario, instead of the other keys; rows of another phase, chip or shape are left out.",
    ),
]


class PrefillTable(Section):
    """Measured prefill times of one engine; interpolated between the points."""

    file: TableFile
    tokens: tuple[PositiveTokens, ...] = Field(
        default=(),
        strict=False,
        description="Uncached tokens, ascending. This or `file` is required.",
        examples=["[1000, 8000]"],
    )
    time_s: tuple[PositiveSeconds, ...] = Field(
        default=(),
        alias="time",
        strict=False,
        description="Time of the prefill of one request, one for each entry of `tokens`.",
        examples=["[0.44 s, 0.72 s]"],
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _one_source(self.file, {"tokens": self.tokens, "time": self.time_s})
        check_table(self.tokens, self.time_s, "time", "s")
        return self


class DecodeTable(Section):
    """Measured decode steps of one engine; interpolated between the points."""

    file: TableFile
    batch: tuple[Annotated[float, Quantity("factor", "1", ge=1, le=1e6)], ...] = Field(
        default=(),
        strict=False,
        description="Requests on the engine, ascending. This or `file` is required.",
        examples=["[1, 32]"],
    )
    context_tokens: tuple[PositiveTokens, ...] = Field(
        default=(),
        alias="context",
        strict=False,
        description="Context lengths, ascending.",
        examples=["[1000, 64000]"],
    )
    step_s: tuple[Annotated[tuple[PositiveSeconds, ...], Field(strict=False)], ...] = Field(
        default=(),
        alias="time",
        strict=False,
        description="Time of one step: a row for each entry of `batch`, in it one value for each "
        "entry of `context`.",
        examples=["[[20 ms, 22 ms], [30 ms, 45 ms]]"],
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        keys = {"batch": self.batch, "context": self.context_tokens, "time": self.step_s}
        _one_source(self.file, keys)
        _ascending(self.batch, "batch")
        _ascending(self.context_tokens, "context")
        _same_size(self.step_s, self.batch, "time", "batch")
        for i, row in enumerate(self.step_s):
            _same_size(row, self.context_tokens, f"time.{i}", "context")
            _not_falling(row, f"time.{i}")
        for column in zip(*self.step_s, strict=True):
            _not_falling(column, "time")
        return self


def _one_source(file: str | None, keys: dict[str, tuple[Any, ...]]) -> None:
    """Refuse a table that has neither its keys nor a file, or both."""
    for key, values in keys.items():
        if file is not None and values:
            raise problem(": file and the table itself exclude each other", "remove one", key)
        if file is None and not values:
            raise problem(" is missing, and so is file", f"give {', '.join(keys)}, or file", key)


def check_table(tokens: tuple[float, ...], values: tuple[float, ...], key: str, unit: str) -> None:
    """Refuse a measured table by tokens that is out of order, ragged or falling.

    Parameters
    ----------
    tokens : tuple of float
        Entries of ``tokens``.
    values : tuple of float
        What was measured at each, in `unit`.
    key : str
        Key of the values.
    unit : str
        Their unit, for messages.
    """
    _ascending(tokens, "tokens")
    _same_size(values, tokens, key, "tokens")
    _not_falling(values, key, unit)


def _ascending(values: tuple[float, ...], key: str) -> None:
    for i in range(1, len(values)):
        if values[i] <= values[i - 1]:
            raise problem(
                f" = {values[i]:g} follows {values[i - 1]:g}: values must ascend",
                "sort the columns of the table and drop repeats",
                f"{key}.{i}",
            )


def _same_size(values: tuple[Any, ...], other: tuple[Any, ...], key: str, of: str) -> None:
    if len(values) != len(other):
        raise problem(
            f" has {len(values)} entries, but {of} has {len(other)}",
            f"give one entry of {key.partition('.')[0]} for each entry of {of}",
            key,
        )


def _not_falling(values: tuple[float, ...], key: str, unit: str = "s") -> None:
    less = "take less time" if unit == "s" else "need less room"
    for i in range(1, len(values)):
        if values[i] < values[i - 1]:
            raise problem(
                f": {values[i]:g} {unit} follows {values[i - 1]:g} {unit}, so more work would "
                f"{less}",
                "smooth the measurements so that they do not fall",
                key,
            )


class EngineSpec(Section):
    """One engine shape to consider: a model replica over some chips."""

    name: str = Field(default="", description="Label for reports; none: from the parallelism.")
    chip: str = Field(
        min_length=1, description="Chip, as named under `sites.<site>.chips`.", examples=["h200"]
    )
    roles: Annotated[frozenset[Role] | None, BeforeValidator(once)] = Field(
        default=None, strict=False, min_length=1, description="Roles it may take; none: every role."
    )
    sites: Annotated[frozenset[str] | None, BeforeValidator(once)] = Field(
        default=None,
        strict=False,
        min_length=1,
        description="Sites it may stand at; none: every site with the chip.",
    )
    chips: int = Field(ge=1, le=4096, description="Chips of one engine.", examples=[8])
    tensor_parallel: int | None = Field(
        default=None,
        ge=1,
        le=4096,
        description="Tensor-parallel degree; none: `chips` / `data_parallel`.",
    )
    data_parallel: int = Field(
        default=1,
        ge=1,
        le=4096,
        description="Attention data-parallel degree: requests prefilled side by side.",
    )
    expert_parallel: int | None = Field(
        default=None,
        ge=1,
        le=4096,
        description="Expert-parallel degree; none: all chips for mixture-of-experts models.",
    )
    max_batch: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="Most requests decoded at once on one engine; none: what the memory holds.",
    )
    kv_capacity_bytes: Memory | None = Field(
        default=None,
        alias="kv_memory",
        description="Memory for KV cache of one engine; none: memory less weights and activations.",
    )
    prefill_table: PrefillTable | None = Field(
        default=None, description="Measured prefill times; none: computed."
    )
    decode_table: DecodeTable | None = Field(
        default=None, description="Measured decode steps; none: computed."
    )
    efficiencies: Efficiencies | None = Field(
        default=None, description="Efficiencies of this shape; none: the scenario's."
    )

    @model_validator(mode="after")
    def _parallelism_fits(self) -> Self:
        if self.chips % self.data_parallel:
            raise problem(
                f" = {self.data_parallel} does not divide chips = {self.chips}",
                f"use data_parallel: {_divisor(self.chips, self.data_parallel)}",
                "data_parallel",
            )
        left = self.chips // self.data_parallel
        if self.tensor_parallel is not None and self.tensor_parallel != left:
            raise problem(
                f" = {self.tensor_parallel} times data_parallel = {self.data_parallel} is "
                f"{self.tensor_parallel * self.data_parallel}, not chips = {self.chips}",
                f"use tensor_parallel: {left}",
                "tensor_parallel",
            )
        if self.expert_parallel is not None and self.chips % self.expert_parallel:
            raise problem(
                f" = {self.expert_parallel} does not divide chips = {self.chips}",
                f"use expert_parallel: {_divisor(self.chips, self.expert_parallel)}",
                "expert_parallel",
            )
        return self


def _divisor(number: int, near: int) -> int:
    return max(d for d in range(1, min(near, number) + 1) if number % d == 0)
