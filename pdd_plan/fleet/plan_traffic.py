"""The part of a plan on its traffic: the load, its latency and how much more would be served."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from pdd_plan.fleet.plan_model import Count, Fraction, NonNegative, Number, PlanModel


class Percentiles(PlanModel):
    """Percentiles of one duration [s]; null beyond the evaluated horizon."""

    p50: NonNegative | None
    p90: NonNegative | None
    p95: NonNegative | None
    p99: NonNegative | None
    mean: NonNegative | None = None


class SloResult(PlanModel):
    """One service level objective, what the plan is predicted to reach, and whether that is met."""

    metric: Literal["ttft", "tpot", "handoff_gap", "e2e"]
    percentile: Fraction | None = Field(description="0.9 for P90; null where the mean is limited.")
    limit: NonNegative = Field(description="Seconds.")
    predicted: NonNegative | None = Field(description="Seconds; null beyond the evaluated horizon.")
    met: bool
    fraction_within: Fraction | None = Field(None, description="Requests within the limit.")
    period: str | None = Field(None, description="Traffic period that the row is about.")
    traffic: str | None = Field(None, description="Traffic class that it is for; null for all.")
    region: str | None = Field(None, description="Region of users that it is for; null for all.")

    @property
    def of_part(self) -> bool:
        """Whether it is for one traffic class or region only."""
        return self.traffic is not None or self.region is not None


class Latency(PlanModel):
    """Latency percentiles [s], over all requests and by route."""

    ttft_s: Percentiles
    ttft_direct_s: Percentiles | None = Field(description="Null where nothing goes direct.")
    ttft_relay_s: Percentiles | None = Field(description="Null where nothing is relayed.")
    tpot_s: Percentiles
    handoff_gap_s: Percentiles | None = Field(description="Null where nothing is relayed.")
    e2e_s: Percentiles | None = None
    ttft_home_s: Percentiles | None = Field(
        None, description="Requests prefilled at home, where prefill sites are chosen by size."
    )
    ttft_remote_s: Percentiles | None = Field(
        None, description="Requests prefilled at the remote site, likewise."
    )


class TrafficGroup(PlanModel):
    """Latency percentiles [s] of a traffic class, or of the users of a region."""

    name: str = Field(description="Empty for requests without a class.")
    request_fraction: Fraction
    ttft_s: Percentiles
    tpot_s: Percentiles
    e2e_s: Percentiles
    handoff_gap_s: Percentiles | None = Field(None, description="Null where none is relayed.")


class Goodput(PlanModel):
    """Largest load that still meets every SLO on the plan's fleet."""

    requests_per_s: NonNegative
    output_tokens_per_s: NonNegative
    limited_by: str | None = Field(None, description="What gives first, such as slo.ttft_p90.")


class Demand(PlanModel):
    """The load that the scenario asks for."""

    requests_per_s: NonNegative
    output_tokens_per_s: NonNegative
    input_tokens_per_s: NonNegative


class Histogram(PlanModel):
    """Weights of the bins between n + 1 edges; the weights sum to 1."""

    edges: tuple[Number, ...]
    weights: tuple[Fraction, ...]

    @model_validator(mode="after")
    def _one_edge_more(self) -> Histogram:
        if len(self.edges) != len(self.weights) + 1:
            raise ValueError("edges must be one more than weights")
        return self


class WorkloadFacts(PlanModel):
    """What the traffic is like: counts, means and the distribution of hit rates."""

    source: str
    requests: Count | None = None
    atoms: Count
    mean_input_tokens: NonNegative
    mean_uncached_tokens: NonNegative
    mean_output_tokens: NonNegative
    mean_hit_rate: Fraction
    share_hit_95: Fraction | None = Field(None, description="Requests with a hit rate of 95 %.")
    blocks_reused_fraction: Fraction | None = Field(
        None, description="Prompt blocks that an unlimited cache holds, where the trace has blocks."
    )
    arrival_scv: NonNegative | None = None
    hit_rate: Histogram | None = None


class Handoff(PlanModel):
    """How main decode takes over from the relay, and what that costs."""

    mode: Literal["one_shot", "catch_up"]
    mean_tokens: NonNegative | None = Field(None, description="Tokens made before the takeover.")
    extra_relay_token_fraction: NonNegative | None = None
    extra_main_decode_work_fraction: NonNegative | None = None
    one_shot_gap_s: Percentiles | None = None
    catch_up_gap_s: Percentiles | None = None
    kv_push_gap_s: Percentiles | None = Field(None, description="KV sent instead of recomputed.")


class TtftDistribution(PlanModel):
    """P(TTFT <= time) over a grid of times, of all requests and by route."""

    time_s: tuple[NonNegative, ...]
    overall: tuple[Fraction, ...]
    direct: tuple[Fraction, ...] | None = None
    relay: tuple[Fraction, ...] | None = None

    @model_validator(mode="after")
    def _same_lengths(self) -> TtftDistribution:
        for curve in (self.overall, self.direct, self.relay):
            if curve is not None and len(curve) != len(self.time_s):
                raise ValueError("curves must be as long as time_s")
        return self
