"""What uncertain inputs do to a plan: the part ``uncertainty`` of the JSON contract."""

from __future__ import annotations

from pydantic import Field

from pdd_plan.fleet.plan_model import Count, Fraction, NonNegative, Number, PlanModel
from pdd_plan.fleet.plan_traffic import Histogram


class Probability(PlanModel):
    """A probability estimated from draws, with its 95 % confidence interval."""

    estimate: Fraction
    low: Fraction
    high: Fraction


class UncertainInput(PlanModel):
    """One uncertain input and how it is distributed."""

    path: str
    unit: str = Field(description="Of the numbers; empty for ones.")
    distribution: str
    written: Number | None = Field(description="The scenario's own value; null without one.")
    p5: Number
    p50: Number
    p95: Number


class Spread(PlanModel):
    """Quantiles over the draws; null beyond every finite value, as where queues are unstable."""

    p5: NonNegative | None
    p50: NonNegative | None
    p90: NonNegative | None
    p95: NonNegative | None
    mean: NonNegative | None = Field(description="Null where a draw has no finite value.")


class LimitRisk(PlanModel):
    """One limit and the probability that it holds."""

    metric: str
    percentile: Fraction | None = Field(description="0.9 for P90; null where the mean is limited.")
    limit: NonNegative = Field(description="Seconds.")
    holds: Probability
    predicted: Spread = Field(description="Seconds.")


class Risk(PlanModel):
    """What the draws do to one fleet. An unstable draw misses every limit and is never dropped."""

    draws: Count
    sampling: str = Field(description="latin_hypercube or independent.")
    holds: Probability = Field(description="That every limit holds.")
    unstable_fraction: Fraction = Field(description="Draws in which the load cannot be carried.")
    limits: tuple[LimitRisk, ...]
    usd_per_hour: Spread
    usd_per_million_output_tokens: Spread = Field(description="At the drawn demand.")
    ttft_p90_s: Spread


class Driver(PlanModel):
    """How an input and an outcome rise together over the draws."""

    path: str
    outcome: str = Field(description="cost_per_token, or a limit such as slo.ttft_p90.")
    rank_correlation: Number = Field(description="Spearman's, from -1 to 1.")


class Headroom(PlanModel):
    """What the stated confidence takes beyond the plan for the values as written."""

    reached: bool = Field(description="A fleet that holds with the stated confidence was found.")
    nominal_usd_per_hour: NonNegative
    usd_per_hour: NonNegative | None = Field(
        description="Of the fleet that holds, at the values as written; null where none was found."
    )
    extra_fraction: Number | None = Field(description="usd_per_hour / nominal_usd_per_hour - 1.")
    plans: Count = Field(description="Plans made on the way.")
    fleets: Count = Field(description="Fleets judged by draws on the way.")
    verification: Risk | None = Field(
        description="By independent draws that the search has not "
        "seen; null where no fleet got that far."
    )


class Uncertainty(PlanModel):
    """What the uncertain inputs of the scenario do to this plan."""

    confidence: Fraction | None = Field(description="As the scenario states it.")
    seed: Count
    correlation: str = Field("none", description="Between inputs.")
    inputs: tuple[UncertainInput, ...]
    risk: Risk = Field(description="Of this plan.")
    nominal_risk: Risk | None = Field(
        None, description="Of the plan for the values as written, where this is another."
    )
    drivers: tuple[Driver, ...]
    headroom: Headroom | None = Field(None, description="Null where no confidence is asked for.")
    ttft_p90_histogram: Histogram | None = Field(
        None, description="P90 TTFT [s] of the draws; weights are shares of all draws."
    )
    ttft_p90_beyond: Fraction = Field(0.0, description="Draws beyond the histogram, or unstable.")

    @property
    def confident(self) -> bool:
        """Whether the plan holds with the confidence asked for; so it does where none is."""
        if self.confidence is None:
            return True
        if self.headroom is not None:
            return self.headroom.reached
        return self.risk.holds.low >= self.confidence
