"""The workload section: a trace, a mixture of distributions, or a list of request classes."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from pdd_plan.scenario.distributions import (
    ShareDistribution,
    TokenDistribution,
    check_shares,
)
from pdd_plan.scenario.quantity import (
    AlsoWritten,
    PositiveShare,
    PositiveTokens,
    Quantity,
    Section,
    Share,
    Tokens,
    problem,
)

TraceFormat = Literal["mooncake", "azure", "claude_code", "csv", "jsonl", "atoms"]


class Trace(Section):
    """A file of recorded requests."""

    path: str = Field(
        min_length=1,
        description="File, relative to the scenario; may be compressed (.gz, .zst).",
        examples=["requests.csv"],
    )
    format: TraceFormat = Field(
        description="`mooncake` (hash blocks), `azure` (no prefix information), `claude_code` "
        "(sessions with block runs), `csv` or `jsonl` (columns `arrival_s, input_tokens, "
        "cached_tokens, output_tokens`), `atoms` (weighted request types, as `pdd-plan trace` "
        "writes them).",
        examples=["csv"],
    )
    hit_rate: ShareDistribution | None = Field(
        default=None,
        description="Hit rates at the prefill site, for formats that record no prefix; required "
        "with `azure`, refused where the trace has its own.",
    )
    seed: int = Field(
        default=0,
        ge=0,
        le=2**32 - 1,
        description="Seed of what the format leaves open (session starts of `claude_code`).",
    )


class MixturePart(Section):
    """Requests whose lengths and hit rates follow given distributions."""

    name: str = Field(
        default="", description="Traffic class, for reports and `slo.classes`; parts may share one."
    )
    share: PositiveShare = Field(
        default=1.0, description="Share of requests; the parts' shares sum to 1."
    )
    input_tokens: TokenDistribution = Field(description="Prompt length.", examples=["64k tokens"])
    hit_rate: ShareDistribution = Field(
        description="Cached prefix at the prefill site / prompt length.",
        examples=["{distribution: skew, share: 75 %, at_least: 95 %, mean: 90 %}"],
    )
    output_tokens: TokenDistribution = Field(description="Generated tokens.", examples=[500])
    hit_length_correlation: Annotated[float, Quantity("factor", "1", gt=-1, lt=1)] = Field(
        default=0.0,
        description="Correlation of hit rate and prompt length (Gaussian copula); 0: independent.",
    )


class RequestClass(Section):
    """Requests that are all alike."""

    name: str = Field(
        default="",
        description="Traffic class, for reports and `slo.classes`; entries may share one.",
    )
    share: PositiveShare = Field(
        description="Share of requests; the classes' shares sum to 1.", examples=["60 %"]
    )
    input_tokens: PositiveTokens = Field(description="Prompt length.", examples=["64k tokens"])
    cached_tokens: Tokens = Field(
        default=0.0, description="Cached prefix at the prefill site; at most the prompt length."
    )
    cached_decode_tokens: Tokens | None = Field(
        default=None,
        description="Cached prefix at main decode; none: `cached_tokens` x `decode_hit_fraction`.",
    )
    output_tokens: PositiveTokens = Field(description="Generated tokens.", examples=[500])

    @model_validator(mode="after")
    def _prefix_fits(self) -> Self:
        for key in ("cached_tokens", "cached_decode_tokens"):
            cached = getattr(self, key)
            if cached is not None and cached > self.input_tokens:
                raise problem(
                    f" = {cached:g} tokens is longer than the prompt, {self.input_tokens:g} tokens",
                    f"a cached prefix is part of the prompt: {key} must be at most "
                    f"{self.input_tokens:g}",
                    key,
                )
        return self


class Period(Section):
    """Part of the day with its own load."""

    hours: Annotated[float, Quantity("time", "h", gt=0, le=8784, in_unit=True)] = Field(
        description="Length of the period.", examples=[8]
    )
    multiplier: Annotated[float, Quantity("factor", "1", ge=0, le=1000)] = Field(
        description="Arrival rate in the period / `rate`.", examples=[0.5]
    )


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, dict) else value


class Workload(Section):
    """Requests to serve: exactly one of `trace`, `mixture` and `classes`."""

    trace: Trace | None = Field(default=None, description="Recorded requests.")
    mixture: Annotated[
        tuple[MixturePart, ...] | None, BeforeValidator(_as_list), AlsoWritten("item")
    ] = Field(
        default=None,
        strict=False,
        description="Distributions of lengths and hit rates: one mapping, or a list of parts with "
        "shares.",
    )
    classes: tuple[RequestClass, ...] | None = Field(
        default=None, strict=False, description="A list of request classes with shares."
    )
    rate_per_s: Annotated[float, Quantity("request_rate", "req/s", gt=0, le=1e7)] | None = Field(
        default=None,
        alias="rate",
        description="Mean arrival rate; rescales a trace, whose own rate is the default. Required "
        "with `mixture` and `classes`, except where the objective is goodput or bcr: there it is "
        "the least that the fleet must carry.",
    )
    arrival_scv: Annotated[float, Quantity("factor", "1", ge=0, le=1e4)] | None = Field(
        default=None,
        description="Squared coefficient of variation of the arrivals at the time scale of the "
        "queues; none: the order and the times of a trace, 1 (Poisson) without one.",
    )
    decode_hit_fraction: Share = Field(
        default=1.0,
        description="Part of the prefill site's cached prefix that main decode holds too.",
    )
    mean_hit_rate: Share | None = Field(
        default=None,
        description="Mean hit rate to have: the missed part of every prompt is scaled by one "
        "factor until the mean over requests is this; none: as the workload has it. For what-ifs.",
    )
    periods: tuple[Period, ...] = Field(
        default=(), strict=False, description="Load profile; none: constant load."
    )
    max_atoms: int = Field(
        default=1000, ge=1, le=100_000, description="Most weighted request types to compute with."
    )

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the traffic classes, in order; empty for entries without one, if others have."""
        parts = self.mixture or self.classes or ()
        names = tuple(dict.fromkeys(part.name for part in parts))
        return names if any(names) else ()

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [k for k in ("trace", "mixture", "classes") if getattr(self, k) is not None]
        if len(given) != 1:
            what = "none is given" if not given else " and ".join(given) + " are given"
            raise problem(
                f": exactly one of trace, mixture and classes is wanted; {what}",
                "keep one of them"
                if given
                else "add for example trace: {path: requests.csv, format: csv}",
                given[-1] if given else "",
            )
        for key in ("mixture", "classes"):
            parts = getattr(self, key)
            if parts is not None:
                check_shares((part.share for part in parts), key)
        if self.max_atoms < len(self.class_names):
            raise problem(
                f" = {self.max_atoms} is less than one for each of the "
                f"{len(self.class_names)} traffic classes",
                f"raise it to {len(self.class_names)} or more",
                "max_atoms",
            )
        if self.periods and all(period.multiplier == 0 for period in self.periods):
            raise problem(": every multiplier is 0, so there is no load", "set one to 1", "periods")
        return self
