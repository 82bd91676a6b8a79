"""The part of a plan that says what losses do: keys of the JSON contract, as in `plan`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pdd_plan.fleet.plan_fleet import Lane
from pdd_plan.fleet.plan_model import Count, NonNegative, PlanModel
from pdd_plan.fleet.plan_traffic import Goodput, Latency, SloResult


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


class Tolerated(PlanModel):
    """What the scenario wants to be survived."""

    engines: Count = Field(description="Spare engines in every pool in use.")
    site: str = Field(description="any, none, or the name of a site.")
    line: str = Field(description="any, none, or the name of a line.")


class OutageBound(PlanModel):
    """Bound on the cost of any fleet that keeps its limits in one case."""

    outage: str = Field(description="As in `outages`, or `nothing` for the fleet that loses none.")
    lower_bound_usd_per_hour: NonNegative | None = Field(description="Null where no fleet does.")


class Resilience(PlanModel):
    """What a loss of engines, of a site or of a line does; one at a time, never several."""

    outages: tuple[OutageResult, ...]
    tolerated: Tolerated | None = Field(None, description="Null where nothing was planned for.")
    usd_per_hour: NonNegative | None = Field(None, description="Cost of the plan that survives.")
    usd_per_hour_without: NonNegative | None = Field(
        None, description="Cost of the cheapest plan found that need not survive anything."
    )
    binding: tuple[str, ...] = Field(
        (), description="Losses that the plan would not survive with any one engine or line less."
    )
    bounds: tuple[OutageBound, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether every limit is kept whichever part is lost."""
        return all(outage.status == "kept" for outage in self.outages)
