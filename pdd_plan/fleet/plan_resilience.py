"""The part of a plan that says what losses do: keys of the JSON contract, as in `plan_parts`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pdd_plan.fleet.plan_parts import (
    Count,
    Goodput,
    Lane,
    Latency,
    NonNegative,
    PlanModel,
    SloResult,
)


class OutageResult(PlanModel):
    """What users see with one part of the fleet lost, and requests re-routed."""

    outage: str = Field(description="As after `--fail`, such as line:beijing-shanghai.")
    kind: Literal["engines", "site", "line"]
    name: str = Field(description="Pool, site or line that is lost.")
    engines_lost: Count | None = Field(None, description="Null for a site and a line.")
    status: Literal["kept", "missed", "overloaded", "no_way_left"] = Field(
        description="Every limit is kept; a limit is missed; the rest cannot carry the demand; no "
        "request can be served."
    )
    reason: str = Field("", description="Why the demand is not carried, in words.")
    rerouting: Literal["none", "shares", "threshold", "shares_and_threshold"] | None = Field(
        None, description="What the router is set to anew; null where nothing can be served."
    )
    threshold: NonNegative | None = None
    lanes: tuple[Lane, ...] = ()
    slo: tuple[SloResult, ...] = ()
    latency: Latency | None = Field(None, description="Null where the demand is not carried.")
    goodput: Goodput | None = Field(None, description="Load that is still carried within limits.")


class Resilience(PlanModel):
    """What a loss of engines, of a site or of a line does; one at a time, never several."""

    outages: tuple[OutageResult, ...]
