"""What of a scenario is not known for sure: paths, and how far their values spread."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from pdd_plan.scenario.quantity import OpenShare, Section, problem
from pdd_plan.units import show_value

INTERVAL = 0.95
"""Confidence of the intervals of probabilities that are estimated from draws."""


def _amount(value: Any) -> int | float | str:
    """Take a number or text; its unit is checked where the path is known."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise problem(f"{show_value(value)} is no number", "write a number, or one with its unit")
    return value


Amount = Annotated[Any, BeforeValidator(_amount), WithJsonSchema({"type": ["number", "string"]})]


def _of(what: str, default: Any = ...) -> Any:
    return Field(default=default, description=what)


class _UncertainInput(Section):
    path: str = Field(
        min_length=1,
        description="What is uncertain: the path of a quantity, as for `--set`.",
        examples=["workload.rate"],
    )
    relative: bool = Field(
        default=False,
        description="The values are factors on the scenario's own value, such as `1.2x`.",
    )


class UniformInput(_UncertainInput):
    """Anything between two ends, each value as likely; `distribution` may be left out."""

    distribution: Literal["uniform"] = Field(default="uniform", description="Names the kind.")
    low: Amount = Field(description="Least value.", examples=["9 req/s"])
    high: Amount = Field(description="Greatest value.", examples=["14 req/s"])


class TriangularInput(_UncertainInput):
    """Between two ends, one value the most likely."""

    distribution: Literal["triangular"] = Field(
        description="Names the kind.", examples=["triangular"]
    )
    low: Amount = Field(description="Least value.", examples=["9 req/s"])
    mode: Amount = Field(description="Most likely value.", examples=["11 req/s"])
    high: Amount = Field(description="Greatest value.", examples=["14 req/s"])


class NormalInput(_UncertainInput):
    """A normal distribution, conditioned on lying between `low` and `high` where given."""

    distribution: Literal["normal"] = Field(description="Names the kind.", examples=["normal"])
    mean: Amount = Field(description="Mean, before the ends.", examples=["11 req/s"])
    std: Amount = Field(description="Standard deviation, before the ends.", examples=["1 req/s"])
    low: Amount | None = _of("Least value; none: no end.", None)
    high: Amount | None = _of("Greatest value; none: no end.", None)


class LogNormalInput(_UncertainInput):
    """A log-normal distribution, conditioned on lying between `low` and `high` where given."""

    distribution: Literal["lognormal"] = Field(
        description="Names the kind.", examples=["lognormal"]
    )
    median: Amount = Field(description="Median, before the ends.", examples=["11 req/s"])
    sigma: Amount = Field(
        description="Standard deviation of the natural logarithm; 0.1 is about 10 %.",
        examples=["0.1"],
    )
    low: Amount | None = _of("Least value; none: no end.", None)
    high: Amount | None = _of("Greatest value; none: no end.", None)


def _uniform(value: Any) -> Any:
    """Take a mapping without a distribution as a range."""
    if isinstance(value, dict) and "distribution" not in value:
        return {"distribution": "uniform", **value}
    return value


UncertainInput = Annotated[
    Annotated[
        UniformInput | TriangularInput | NormalInput | LogNormalInput,
        Field(discriminator="distribution"),
    ],
    BeforeValidator(_uniform),
]


class Uncertainty(Section):
    """What is not known for sure; used by `optimize` and `evaluate`.

    The inputs vary independently of each other.
    """

    inputs: Annotated[tuple[UncertainInput, ...], Field(strict=False)] = Field(
        default=(), description="Values that are uncertain."
    )
    efficiencies: Literal["fitted"] | None = Field(
        default=None,
        description="`fitted`: efficiencies that the scenario does not set spread as their fit "
        "says; none: they are as they are.",
    )
    confidence: OpenShare | None = Field(
        default=None,
        description="Probability with which the plan must keep every limit; none: the plan is "
        "made for the values as written, and its risk is told.",
        examples=["90 %"],
    )
    samples: int = Field(
        default=300,
        ge=50,
        le=100_000,
        description="Draws to judge a plan by: 36 and more can show a confidence of 90 %, 72 one "
        "of 95 %, 368 one of 99 %.",
    )

    @model_validator(mode="after")
    def _enough(self) -> Self:
        """Refuse fewer draws than can show the confidence even where none misses a limit."""
        if self.confidence is None:
            return self
        # The lower end of the interval (Clopper and Pearson) is then ((1 - I) / 2)^(1 / n).
        needed = math.ceil(math.log((1.0 - INTERVAL) / 2.0) / math.log(self.confidence))
        if self.samples < needed:
            raise problem(
                f" = {self.samples} are too few to show a confidence of {self.confidence:.6g}, "
                f"even if none misses a limit",
                f"write samples: {3 * needed}; {needed} is the least",
                "samples",
            )
        return self
