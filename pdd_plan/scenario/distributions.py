"""Distributions of lengths and hit rates, as a scenario gives them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from pdd_plan.scenario.quantity import (
    AlsoWritten,
    OpenShare,
    PositiveShare,
    PositiveTokens,
    Quantity,
    Section,
    Share,
    problem,
)

SHARE_TOLERANCE = 1e-6
"""How far shares may be from 1 in sum."""


def check_shares(shares: Iterable[float], key: str) -> None:
    """Raise a validation error where shares do not sum to 1."""
    total = math.fsum(shares)
    if abs(total - 1) > SHARE_TOLERANCE:
        raise problem(
            f": shares sum to {total:.6g}, not 1",
            f"change the shares by {1 - total:+.6g} in all",
            key,
        )


class ConstantTokens(Section):
    """Always the same length; the form of a bare quantity."""

    distribution: Literal["constant"] = Field(description="Names the kind.", examples=["constant"])
    value: PositiveTokens = Field(description="The length.", examples=["64k tokens"])


class RangeTokens(Section):
    """Lengths in an interval: even, or as even as a given mean allows."""

    distribution: Literal["range"] = Field(description="Names the kind.", examples=["range"])
    min: PositiveTokens = Field(description="Least length.", examples=["1k tokens"])
    max: PositiveTokens = Field(description="Greatest length.", examples=["128k tokens"])
    mean: PositiveTokens | None = Field(
        default=None, description="Mean length, between `min` and `max`; none: the middle."
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        _check_range(self.min, self.max, self.mean)
        return self


class LogNormalTokens(Section):
    """Log-normal lengths, conditioned on an interval (not clipped to it)."""

    distribution: Literal["lognormal"] = Field(
        description="Names the kind.", examples=["lognormal"]
    )
    median: PositiveTokens = Field(
        description="Median before truncation, exp(mu).", examples=["20k tokens"]
    )
    sigma: Annotated[float, Quantity("factor", "1", gt=0, le=5)] = Field(
        description="Standard deviation of the natural logarithm.", examples=["1.0"]
    )
    min: PositiveTokens = Field(default=1.0, description="Shortest length.")
    max: PositiveTokens | None = Field(default=None, description="Longest length; none: no limit.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.max is not None and self.min >= self.max:
            raise problem(
                f": min = {self.min:g} must be below max = {self.max:g} tokens",
                f"set max above {self.min:g}",
                "max",
            )
        return self


class TokensBin(Section):
    """One bin of a histogram of lengths, even within."""

    min: PositiveTokens = Field(description="Lower edge.", examples=["1k tokens"])
    max: PositiveTokens = Field(
        description="Upper edge; equal to `min` for one value.", examples=["8k tokens"]
    )
    share: PositiveShare = Field(description="Share of requests.", examples=["25 %"])

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        _check_range(self.min, self.max)
        return self


class HistogramTokens(Section):
    """Lengths given by bins."""

    distribution: Literal["histogram"] = Field(
        description="Names the kind.", examples=["histogram"]
    )
    bins: tuple[TokensBin, ...] = Field(
        strict=False,
        min_length=1,
        description="Bins in ascending order; shares sum to 1.",
        examples=["[{min: 1, max: 2, share: 1}]"],
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        _check_bins(self.bins)
        return self


class ConstantShare(Section):
    """Always the same hit rate; the form of a bare number."""

    distribution: Literal["constant"] = Field(description="Names the kind.", examples=["constant"])
    value: Share = Field(description="The hit rate.", examples=["90 %"])


class RangeShare(Section):
    """Hit rates in an interval: even, or as even as a given mean allows."""

    distribution: Literal["range"] = Field(description="Names the kind.", examples=["range"])
    min: Share = Field(description="Least hit rate.", examples=["0 %"])
    max: Share = Field(description="Greatest hit rate.", examples=["99 %"])
    mean: Share | None = Field(
        default=None, description="Mean, between `min` and `max`; none: the middle."
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        _check_range(self.min, self.max, self.mean)
        return self


class SkewShare(Section):
    """Skewed hit rates as they are published: a share of requests lies at or above a value."""

    distribution: Literal["skew"] = Field(description="Names the kind.", examples=["skew"])
    share: OpenShare = Field(
        description="Share of requests at or above `at_least`.", examples=["75 %"]
    )
    at_least: OpenShare = Field(description="Hit rate that this share reaches.", examples=["95 %"])
    mean: OpenShare = Field(description="Mean hit rate over all requests.", examples=["90 %"])

    @model_validator(mode="after")
    def _possible(self) -> Self:
        low = self.share * self.at_least
        high = self.share + (1 - self.share) * self.at_least
        if not low < self.mean < high:
            raise problem(
                f": mean = {self.mean:g} is impossible when {self.share:.4g} of requests reach "
                f"{self.at_least:.4g}; it lies between {low:.4g} and {high:.4g}",
                f"set mean to {(low + high) / 2:.3g}, or change share or at_least",
                "mean",
            )
        return self


class ShareBin(Section):
    """One bin of a histogram of hit rates, even within."""

    min: Share = Field(description="Lower edge.", examples=["0 %"])
    max: Share = Field(description="Upper edge; equal to `min` for one value.", examples=["50 %"])
    share: PositiveShare = Field(description="Share of requests.", examples=["25 %"])

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        _check_range(self.min, self.max)
        return self


class HistogramShare(Section):
    """Hit rates given by bins."""

    distribution: Literal["histogram"] = Field(
        description="Names the kind.", examples=["histogram"]
    )
    bins: tuple[ShareBin, ...] = Field(
        strict=False,
        min_length=1,
        description="Bins in ascending order; shares sum to 1.",
        examples=["[{min: 1, max: 2, share: 1}]"],
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        _check_bins(self.bins)
        return self


def _check_range(low: float, high: float, mean: float | None = None) -> None:
    if low > high:
        raise problem(f": min = {low:g} is above max = {high:g}", "swap min and max", "min")
    if mean is not None and not low < mean < high:
        raise problem(
            f": mean = {mean:g} must lie between min = {low:g} and max = {high:g}",
            f"set mean to {(low + high) / 2:g}, or leave it out",
            "mean",
        )


def _check_bins(bins: tuple[TokensBin, ...] | tuple[ShareBin, ...]) -> None:
    for i in range(1, len(bins)):
        if bins[i].min < bins[i - 1].max:
            raise problem(
                f": bin {i} starts at {bins[i].min:g}, inside the bin before it, "
                f"which ends at {bins[i - 1].max:g}",
                f"start it at {bins[i - 1].max:g} or above",
                f"bins.{i}",
            )
    check_shares((b.share for b in bins), "bins")


def _as_constant(value: Any) -> Any:
    return value if isinstance(value, dict) else {"distribution": "constant", "value": value}


LENGTH = Quantity("tokens", "tokens", ge=1, le=1e9)
HIT_RATE = Quantity("fraction", "1", ge=0, le=1)

TokenDistribution = Annotated[
    Annotated[
        ConstantTokens | RangeTokens | LogNormalTokens | HistogramTokens,
        Field(discriminator="distribution"),
    ],
    BeforeValidator(_as_constant),
    AlsoWritten(LENGTH),
]
"""Lengths: a bare quantity, or a mapping with ``distribution``."""

ShareDistribution = Annotated[
    Annotated[
        ConstantShare | RangeShare | SkewShare | HistogramShare,
        Field(discriminator="distribution"),
    ],
    BeforeValidator(_as_constant),
    AlsoWritten(HIT_RATE),
]
"""Hit rates: a bare share, or a mapping with ``distribution``."""
