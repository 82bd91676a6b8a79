"""The part of a plan that is the fleet: pools, lines, routing, cost, and simpler fleets."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pdd_plan.fleet.plan_model import Count, Fraction, NonNegative, PlanModel, Role, RouteBy, Status
from pdd_plan.fleet.plan_traffic import Goodput, Latency


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
