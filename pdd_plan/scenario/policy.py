"""Service levels, how the fleet serves and routes, and how the plan is searched."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator
from pydantic_core.core_schema import ValidationInfo

from pdd_plan.scenario.efficiencies import Framework
from pdd_plan.scenario.quantity import (
    AlsoWritten,
    Name,
    OpenShare,
    PositiveShare,
    Quantity,
    Seconds,
    Section,
    problem,
)

Metric = Literal["ttft", "tpot", "handoff_gap", "e2e"]
RoutingBy = Literal["hit_rate", "uncached_tokens", "transfer_bytes"]
Limit = Annotated[float, Quantity("time", "s", gt=0, le=1e5)] | None
TokenLimit = Annotated[float, Quantity("time_per_token", "s", gt=0, le=1e5)] | None


@dataclass(frozen=True)
class SloLimit:
    """One service-level limit.

    Attributes
    ----------
    metric : {"ttft", "tpot", "handoff_gap", "e2e"}
        Time to first token, time per output token, gap at the hand-off, end to end.
    percentile : float
        In percent, such as 90; 0 stands for the mean.
    limit_s : float
        Upper limit [s].
    key : str
        Scenario key, such as ``ttft_p90`` or ``classes.long.ttft_p90``.
    traffic : str
        Traffic class that it is for; empty for all requests.
    region : str
        Region of users that it is for; empty for all users.
    """

    metric: Metric
    percentile: float
    limit_s: float
    key: str
    traffic: str = ""
    region: str = ""

    @property
    def on_part(self) -> bool:
        """Whether it is for a part of the requests only."""
        return bool(self.traffic or self.region)

    @property
    def probability(self) -> float:
        """The percentile as a probability in (0, 1)."""
        return self.percentile / 100.0


def _limit(words: str) -> Any:
    return Field(default=None, description=f"Limit on the {words}.")


class Limits(Section):
    """Limits on what users see; `{}` for none."""

    ttft_mean: Limit = _limit("mean time to first token")
    ttft_p50: Limit = _limit("median time to first token")
    ttft_p90: Limit = _limit("90th percentile of the time to first token")
    ttft_p95: Limit = _limit("95th percentile of the time to first token")
    ttft_p99: Limit = _limit("99th percentile of the time to first token")
    tpot_mean: TokenLimit = _limit("mean time per output token")
    tpot_p50: TokenLimit = _limit("median time per output token of a request")
    tpot_p90: TokenLimit = _limit("90th percentile of the time per output token of a request")
    tpot_p95: TokenLimit = _limit("95th percentile of the time per output token of a request")
    tpot_p99: TokenLimit = _limit("99th percentile of the time per output token of a request")
    handoff_gap_mean: Limit = _limit("mean gap at the hand-off from relay to main decode")
    handoff_gap_p50: Limit = _limit("median gap at the hand-off")
    handoff_gap_p90: Limit = _limit("90th percentile of the gap at the hand-off")
    handoff_gap_p95: Limit = _limit("95th percentile of the gap at the hand-off")
    handoff_gap_p99: Limit = _limit("99th percentile of the gap at the hand-off")
    e2e_mean: Limit = _limit("mean time from arrival to last token")
    e2e_p50: Limit = _limit("median time from arrival to last token")
    e2e_p90: Limit = _limit("90th percentile of the time from arrival to last token")
    e2e_p95: Limit = _limit("95th percentile of the time from arrival to last token")
    e2e_p99: Limit = _limit("99th percentile of the time from arrival to last token")

    def named(self, where: str = "", traffic: str = "", region: str = "") -> tuple[SloLimit, ...]:
        """Return the limits that are set, by metric and percentile.

        Parameters
        ----------
        where : str
            Comes before their keys.
        traffic, region : str
            Traffic class, and region of users, that they are for.
        """
        found = []
        for key in Limits.model_fields:
            match = re.fullmatch(r"(ttft|tpot|handoff_gap|e2e)_(mean|p(\d+))", key)
            value = getattr(self, key)
            if match and value is not None:
                metric: Any = match[1]
                percentile = float(match[3] or 0)
                limit = SloLimit(metric, percentile, value, f"{where}{key}", traffic, region)
                found.append(limit)
        return tuple(found)

    @cached_property
    def limits(self) -> tuple[SloLimit, ...]:
        """The limits that are set, by metric and percentile."""
        return self.named()


class Slo(Limits):
    """Service levels to keep; `{}` for none."""

    scope: Literal["mixture", "every_period"] = Field(
        default="mixture",
        description="With `workload.periods`: limits hold for the traffic of all periods together, "
        "or in every period.",
    )
    slot_wait: OpenShare | None = Field(
        default=None,
        description="Most requests that may wait for a decode slot, as a share; none: 0.1 %, 1 % "
        "and 3 % are tried.",
    )
    classes: dict[Name, Limits] = Field(
        default_factory=dict,
        description="Further limits for the requests of one traffic class, by the `name` of "
        "entries of `workload.classes` or `workload.mixture`.",
    )

    regions: dict[Name, Limits] = Field(
        default_factory=dict,
        description="Further limits for the users of one region, by its name under `users`.",
    )

    @model_validator(mode="after")
    def _parts_are_limited(self) -> Self:
        for key in ("classes", "regions"):
            for name, section in getattr(self, key).items():
                if not section.named():
                    raise problem(
                        " sets no limit", "add one, such as ttft_p90: 10 s", f"{key}.{name}"
                    )
        return self

    @cached_property
    def limits(self) -> tuple[SloLimit, ...]:
        """The limits that are set: on all requests, then on classes, then on regions."""
        found = self.named()
        for name, section in self.classes.items():
            found += section.named(f"classes.{name}.", traffic=name)
        for name, section in self.regions.items():
            found += section.named(f"regions.{name}.", region=name)
        return found


class MinEngines(Section):
    """Least number of engines in every pool that is used, for redundancy."""

    prefill: int = Field(default=1, ge=1, le=10_000, description="In prefill pools.")
    relay: int = Field(default=1, ge=1, le=10_000, description="In relay pools.")
    decode: int = Field(default=1, ge=1, le=10_000, description="In main decode pools.")


def _each_role(value: Any) -> Any:
    plain = isinstance(value, int) and not isinstance(value, bool)
    return dict.fromkeys(("prefill", "relay", "decode"), value) if plain else value


class Serving(Section):
    """How engines serve."""

    dispatch: Literal["shared", "random", "prefix_affinity"] = Field(
        default="shared",
        description="How prefill engines get requests: one shared queue, at random, by prefix.",
    )
    streaming: Literal["after_prefill", "layerwise"] = Field(
        default="after_prefill", description="When the KV cache is sent: at the end, or by layer."
    )
    handoff: Literal["one_shot", "catch_up", "auto"] = Field(
        default="auto",
        description="How main decode takes over from the relay: one visible gap, rounds without "
        "a gap, or rounds while the relay's utilization is below `catch_up_utilization`.",
    )
    catch_up_utilization: PositiveShare = Field(
        default=0.8, description="Relay utilization above which `handoff: auto` uses one shot."
    )
    handoff_fixed_s: Seconds | None = Field(
        default=None,
        alias="handoff_fixed",
        description="Fixed part of recomputing the relay's tokens at main decode; none: computed.",
    )
    handoff_per_token_s: Annotated[float, Quantity("time_per_token", "s", ge=0, le=1e3)] | None = (
        Field(
            default=None,
            alias="handoff_per_token",
            description="Part of that for each token; none: computed.",
        )
    )
    first_token_from: Literal["decode", "prefill"] = Field(
        default="decode", description="Which engine emits the first token."
    )
    relay_end: Literal["deliver", "drop"] = Field(
        default="deliver",
        description="KV cache of a request that ends on the relay: still delivered, or dropped.",
    )
    framework: Framework | None = Field(
        default=None, description="Serving framework; none: the middle of those known."
    )
    memory_fraction: PositiveShare = Field(
        default=0.9, description="Share of chip memory that the engine may use."
    )
    max_batch: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="Most requests decoded at once on one engine; none: what the memory holds.",
    )
    min_engines: Annotated[
        MinEngines,
        BeforeValidator(_each_role),
        AlsoWritten("count"),
    ] = Field(
        default_factory=MinEngines,
        description="Least number of engines in every pool that is used: one number, or by role.",
    )


def _threshold(value: Any, info: ValidationInfo) -> float:
    """Read a threshold in the unit of what is routed by."""
    by = info.data.get("by", "hit_rate")
    if by == "uncached_tokens":
        quantity = Quantity("tokens", "tokens", ge=0, le=1e9)
    elif by == "transfer_bytes":
        quantity = Quantity("bytes", "MiB", ge=0, le=1e9)
    else:
        quantity = Quantity("fraction", "1", ge=0, le=1)
    return quantity.validate(value, info)


Threshold = Annotated[
    Any, BeforeValidator(_threshold), WithJsonSchema({"type": ["number", "string"]})
]


class Routing(Section):
    """Which requests go which way: to main decode or its relay, or to which prefill site."""

    between: Literal["decode", "prefill"] = Field(
        default="decode",
        description="What the threshold chooses between. `decode`: straight to main decode, or "
        "through the relay. `prefill`: prefilled beside decode up to the threshold, and at the "
        "remote prefill site above it.",
    )
    by: RoutingBy = Field(
        default="hit_rate",
        description="Property compared with the threshold: the share of the prompt that main "
        "decode has cached, the tokens to prefill, or the KV cache to send.",
    )
    threshold: Threshold | None = Field(
        default=None,
        description="Fixed threshold, in the unit of `by` (share, tokens, MiB); none: chosen.",
    )
    thresholds: Annotated[tuple[Threshold, ...], Field(strict=False, min_length=1)] | None = Field(
        default=None,
        description="Thresholds to choose from; none: quantiles of the workload.",
    )
    max_thresholds: int = Field(
        default=20, ge=1, le=1000, description="Most thresholds to try where none are given."
    )


class Optimizer(Section):
    """How the plan is searched."""

    load_steps: int = Field(
        default=10,
        ge=1,
        le=1000,
        description="The demand is shared over lanes in multiples of demand / `load_steps`.",
    )
    time_limit_s: Annotated[float, Quantity("time", "s", gt=0, le=1e6)] = Field(
        default=60.0, alias="time_limit", description="Time after which the best plan is returned."
    )
    solver: Literal["highs", "cbc"] = Field(default="highs", description="MILP solver.")
