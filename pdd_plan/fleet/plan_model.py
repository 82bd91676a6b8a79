"""What all parts of a plan are made of: their base, number types and fixed words."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Status = Literal["optimal", "feasible", "infeasible"]
Architecture = Literal["single_site", "cross_site", "pdd", "by_size"]
RouteBy = Literal["hit_rate", "uncached_tokens", "transfer_bytes"]
Role = Literal["prefill", "relay", "decode", "aggregated"]
"""Role of a pool; aggregated engines, prefill and decode in one, occur in a baseline only."""


ROUNDING = 1e-9
"""Amounts this far out of bounds are rounding errors of sums, and are set to the bound."""


def _plain(value: Any) -> Any:
    """Turn a NumPy scalar into the Python number it stands for."""
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value


def _unrounded(value: Any) -> Any:
    value = _plain(value)
    return 0.0 if isinstance(value, float) and -ROUNDING <= value < 0 else value


def _unrounded_fraction(value: Any) -> Any:
    value = _unrounded(value)
    return 1.0 if isinstance(value, float) and 1 < value <= 1 + ROUNDING else value


Number = Annotated[float, BeforeValidator(_plain)]
NonNegative = Annotated[float, Field(ge=0), BeforeValidator(_unrounded)]
Fraction = Annotated[float, Field(ge=0, le=1), BeforeValidator(_unrounded_fraction)]
Count = Annotated[int, Field(ge=0), BeforeValidator(_plain)]


class PlanModel(BaseModel):
    """Base of all parts of a plan: frozen, strict, finite numbers, no unknown keys."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        json_schema_serialization_defaults_required=True,
        defer_build=True,
    )
