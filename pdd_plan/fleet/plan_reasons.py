"""The part of a plan that says why: proof, limits, changes, and what it rests on."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pdd_plan.fleet.plan_model import Count, NonNegative, Number, PlanModel


class Failure(PlanModel):
    """One limit that cannot be kept even with everything at its maximum."""

    what: str = Field(description="Such as slo.ttft_p90.")
    best: NonNegative | None = Field(description="Best that is possible; null where unbounded.")
    limit: NonNegative
    unit: str


class Change(PlanModel):
    """One change of the scenario, as text and as the value to set."""

    change: str
    path: str
    value: str | int | float | None


class Infeasibility(PlanModel):
    """Why there is no plan, and the smallest single changes each of which makes one."""

    reason: str
    failures: tuple[Failure, ...] = ()
    smallest_changes: tuple[Change, ...] = ()


class TieBreak(PlanModel):
    """How the plan was chosen among those of the least cost."""

    by: str = Field(description="Such as ttft_p90.")
    predicted_s: NonNegative | None = Field(description="Of the plan, by the full model.")
    excluded_s: NonNegative = Field(
        description="No plan of this cost keeps less as a limit, by the planning rule."
    )
    promised_s: NonNegative = Field(
        description="Least limit that a plan of this cost is found to keep, by the planning rule."
    )
    plans: Count = Field(description="Plans of this cost that were compared.")


class Certificate(PlanModel):
    """How good the plan is proven to be, and how that was found out."""

    lower_bound_usd_per_hour: NonNegative | None
    gap: NonNegative | None = Field(description="(cost - bound) / cost; null where not proven.")
    cuts: Count
    evaluations: Count
    solver: str
    solve_time_s: NonNegative
    model: str = Field("", description="What the proof covers, in words.")
    objective: str = "cost_per_token"
    objective_value: Number | None = None
    objective_bound: Number | None = None
    thresholds: Count | None = Field(None, description="Thresholds tried.")
    flow_steps: Count | None = Field(None, description="Steps that lane shares move in.")
    time_limit_s: NonNegative | None = None
    recomputed_usd_per_hour: NonNegative | None = Field(
        None, description="Cost summed again from counts and prices, without the solver."
    )
    recomputed_slo_met: bool | None = None
    tie_break: TieBreak | None = Field(None, description="Null where none was asked for.")


class Sensitivity(PlanModel):
    """What one change of the plan or the scenario would do."""

    change: str = Field(description="Such as 'one prefill engine fewer'.")
    path: str = Field("", description="Scenario path or pool that is changed.")
    value: str | int | float | None = None
    feasible: bool | None = None
    usd_per_hour: NonNegative | None = None
    ttft_p90_s: NonNegative | None = None
    effect: str = Field("", description="In words, such as 'P90 TTFT 11.2 s, limit 10 s'.")
    kind: str = Field("", description="What of the scenario is changed, such as 'price'.")
    subject: str = Field("", description="Whose that is, such as 'shanghai h20'.")
    from_value: str | None = Field(
        None, description="Value in the plan's scenario; null where the fleet is changed."
    )
    step: str = Field("", description="By how much it is changed, such as '10 %'.")
    direction: Literal["down", "up"] | None = None
    relative_change: Number | None = Field(
        None,
        description="Of the cost per token (at the goodput for bcr), or of the goodput where "
        "that is the objective: new / old - 1, each of its own best fleet.",
    )
    goodput_requests_per_s: NonNegative | None = None
    same_fleet: bool | None = Field(
        None, description="The best fleet is still that of the plan, lines and routing included."
    )
    gap: NonNegative | None = Field(None, description="Of the plan with the change.")
    within_gap: bool | None = Field(
        None, description="The gaps of the two plans leave the direction of the effect open."
    )

    @property
    def of_scenario(self) -> bool:
        """Whether the scenario is changed and planned anew, rather than the fleet."""
        return self.from_value is not None


class BreakEven(PlanModel):
    """Where a chip, a line, a fleet over several sites or a relay begins or ceases to pay."""

    what: Literal["chip", "line", "split", "relay"]
    subject: str = Field(description="Which chip or line, such as 'shanghai h20'; else empty.")
    path: str = Field(description="Scenario path that is varied.")
    unit: str = Field(description="Unit of the values.")
    now: Number | None = Field(description="Value in the scenario; of a line, the size bought.")
    pays: Literal["below", "above", "always", "never", "unknown"]
    pays_at: Number | None = Field(None, description="Planned value nearest to it that pays.")
    fails_at: Number | None = Field(None, description="Planned value nearest to it that does not.")
    tried_from: Number | None = None
    tried_to: Number | None = None
    usd_per_hour_without: NonNegative | None = Field(
        None, description="Least cost without the chip or line; null where there is no plan."
    )
    possible_without: bool | None = None
    proven: bool = Field(False, description="The gaps of the plans leave no doubt.")
    reason: str = Field("", description="Why it is unknown.")


class Binding(PlanModel):
    """A limit that the plan has reached: to relax it could make the plan cheaper."""

    what: str = Field(description="Such as slo.ttft_p90 or sites.beijing.chips.h200.available.")
    value: Number
    limit: Number
    unit: str


class ScenarioId(PlanModel):
    """Which scenario the plan answers: its name, and the SHA-256 of everything that went in."""

    name: str
    sha256: str


class Assumption(PlanModel):
    """A value that the plan rests on and the scenario did not give, with its source."""

    path: str
    value: str | bool | int | float | None
    source: str
    unit: str = ""
    confidence: Literal["high", "medium", "low", "user"] | None = None


class RejectedShape(PlanModel):
    """An engine shape that was no candidate, and why."""

    site: str
    chip: str
    shape: str
    reason: str


class FrontPoint(PlanModel):
    """One plan on the front of cost against P90 TTFT."""

    usd_per_hour: NonNegative
    ttft_p90_s: NonNegative
    label: str = ""
