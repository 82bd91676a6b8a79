"""The parts of a plan: frozen, strict models with the keys of the JSON contract."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

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
    )


class ScenarioId(PlanModel):
    """Which scenario the plan answers: its name, and the SHA-256 of everything that went in."""

    name: str
    sha256: str


class Percentiles(PlanModel):
    """Percentiles of one duration [s]; null beyond the evaluated horizon."""

    p50: NonNegative | None
    p90: NonNegative | None
    p95: NonNegative | None
    p99: NonNegative | None
    mean: NonNegative | None = None


class Cost(PlanModel):
    """Cost per hour and per million tokens, in the plan's currency; at demand unless named."""

    usd_per_hour: NonNegative
    chips_usd_per_hour: NonNegative
    links_usd_per_hour: NonNegative
    usd_per_million_output_tokens: NonNegative = Field(description="At the demand.")
    usd_per_million_total_tokens: NonNegative = Field(
        description="Input and output, at the demand."
    )
    usd_per_million_output_tokens_at_goodput: NonNegative | None = None
    usd_per_million_total_tokens_at_goodput: NonNegative | None = None


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


class Routing(PlanModel):
    """Who goes which way, and what share of requests, tokens and chips the relay takes."""

    by: RouteBy
    threshold: NonNegative | None = Field(
        description="Relayed: hit rate below it, or uncached tokens or transfer bytes above it; "
        "null where no threshold applies."
    )
    relay_request_fraction: Fraction
    relay_token_fraction: Fraction = Field(description="Output tokens made by relay engines.")
    main_decode_token_fraction: Fraction
    rld_chip_fraction: Fraction = Field(description="Chips of relay pools over chips of all pools.")
    slot_wait: Fraction | None = Field(
        None, description="Largest share of requests that may wait for a decode slot."
    )
    between: Literal["decode", "prefill"] = Field(
        "decode",
        description="What the threshold chooses between: the relay and main decode, or the remote "
        "prefill site (above it) and the one beside decode.",
    )
    remote_request_fraction: Fraction | None = Field(
        None, description="Requests prefilled at the remote site, where `between` is prefill."
    )


class Pool(PlanModel):
    """Engines of one shape on one chip at one site in one role."""

    site: str
    role: Role
    chip: str
    shape: str
    engines: Count
    chips: Count
    utilization: NonNegative = Field(description="Offered work over capacity; stable below 1.")
    bound_by: str = Field(description="compute, memory, network or overhead.")
    usd_per_hour: NonNegative
    usd_per_chip_hour: NonNegative | None = None
    chips_available: Count | None = Field(None, description="Chips of this type at the site.")
    request_fraction: Fraction | None = Field(None, description="Requests that this pool serves.")
    slots_per_engine: Count | None = Field(None, description="Requests one engine holds at most.")
    kv_memory_utilization: Fraction | None = None


class PaidChips(PlanModel):
    """Chips of one kind at a site that are paid under contract or in whole nodes."""

    site: str
    chip: str
    used: Count = Field(description="Chips of all engines.")
    paid: Count
    under_contract: Count = Field(description="Chips that stay, paid whether used or not.")
    node: Count = Field(description="Chips are paid in multiples of this.")
    idle_usd_per_hour: NonNegative = Field(description="Price of the chips that are not used.")


class PlanLink(PlanModel):
    """One line between sites, as bought."""

    from_site: str = Field(alias="from")
    to_site: str = Field(alias="to")
    name: str | None = Field(None, description="Of a line that has a name.")
    gbps: NonNegative
    utilization: NonNegative
    usd_per_hour: NonNegative
    max_gbps: NonNegative | None = Field(None, description="Most that can be bought.")
    traffic_gbps: NonNegative | None = Field(
        None, description="KV cache that it carries at the peak of the load, mean over time."
    )


class Lane(PlanModel):
    """Share of the demand from one prefill site to one decode site."""

    from_site: str = Field(alias="from")
    to_site: str = Field(alias="to")
    name: str | None = Field(None, description="Of a line that has a name.")
    share: Fraction
    threshold: NonNegative | None = Field(None, description="Where it differs from the routing's.")


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


class Baseline(PlanModel):
    """The best plan of a simpler kind, by the same optimizer and the same model."""

    name: str
    status: Status
    cost: Cost | None
    latency: Latency | None
    goodput: Goodput | None
    bcr: NonNegative | None = Field(description="Goodput per cost, relative to `bcr_reference`.")
    pools: tuple[Pool, ...]
    links: tuple[PlanLink, ...] = ()
    lanes: tuple[Lane, ...] = ()
    routing: Routing | None = None
    gap: NonNegative | None = None
    reason: str | None = Field(None, description="Why it is infeasible.")


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


class FrontPoint(PlanModel):
    """One plan on the front of cost against P90 TTFT."""

    usd_per_hour: NonNegative
    ttft_p90_s: NonNegative
    label: str = ""
