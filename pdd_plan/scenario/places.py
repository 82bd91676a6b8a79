"""Sites with their chips, and where users are."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from pdd_plan.scenario.efficiencies import Efficiencies
from pdd_plan.scenario.quantity import (
    Factor,
    HourlyPrice,
    LineRate,
    Memory,
    Microseconds,
    Milliseconds,
    Name,
    PositiveShare,
    Quantity,
    Section,
    once,
    problem,
)

Role = Literal["prefill", "relay", "decode"]
ROLES: tuple[Role, ...] = ("prefill", "relay", "decode")


class ChipOffer(Section):
    """Chips of one type at a site: a catalog chip, or one described here."""

    available: int = Field(
        ge=0, le=10_000_000, description="Chips that may be used.", examples=[128]
    )
    min: int = Field(
        default=0,
        ge=0,
        le=10_000_000,
        description="Chips that stay, such as those under contract: paid whether used or not.",
    )
    node: int = Field(
        default=1,
        ge=1,
        le=4096,
        description="Chips are paid in whole nodes of this many.",
    )
    usd_per_chip_hour: HourlyPrice = Field(
        alias="price",
        description="Price of one chip in use; may come from the top-level `prices` instead. Never "
        "defaulted.",
        examples=["3.8 USD/h"],
    )
    profile: str | None = Field(
        default=None,
        min_length=1,
        description="Catalog name or file of the chip profile, relative to the scenario; none: the "
        "key under `chips`.",
    )
    relative_to: str | None = Field(
        default=None,
        min_length=1,
        description="Catalog chip, or another chip of this scenario, that `prefill` and `decode` "
        "compare with; for chips without a published data sheet.",
    )
    prefill: Factor | None = Field(
        default=None, description="Prefill speed / that of `relative_to`."
    )
    decode: Factor | None = Field(default=None, description="Decode speed / that of `relative_to`.")
    memory_bytes: Memory | None = Field(
        default=None, alias="memory", description="Memory of one chip; none: the profile's."
    )
    power_w: Annotated[float, Quantity("power", "W", gt=0, le=1e6)] | None = Field(
        default=None,
        alias="power",
        description="Power of one chip in use, counted against the site's `power`; none: the "
        "profile's.",
    )
    efficiencies: Efficiencies | None = Field(
        default=None,
        description="Efficiencies of this chip, such as a calibration; none: the scenario's.",
    )

    @model_validator(mode="after")
    def _whole_nodes(self) -> Self:
        if self.min > self.available:
            raise problem(
                f" = {self.min} is more than available = {self.available}",
                f"lower it to {self.available}, or raise available",
                "min",
            )
        for key, count in (("available", self.available), ("min", self.min)):
            below = count // self.node * self.node
            if below != count:
                raise problem(
                    f" = {count} is no multiple of node = {self.node}",
                    f"set {key} to {below} or {below + self.node}",
                    key,
                )
        return self

    @model_validator(mode="after")
    def _relative_is_complete(self) -> Self:
        speeds = {"prefill": self.prefill, "decode": self.decode}
        if self.relative_to is None:
            for key, value in speeds.items():
                if value is not None:
                    raise problem(
                        f" = {value:g} compares with nothing", "add relative_to: h100", key
                    )
        elif self.profile is not None:
            raise problem(": profile and relative_to exclude each other", "remove one", "profile")
        else:
            for key, value in speeds.items():
                if value is None:
                    raise problem(
                        f": relative_to = {self.relative_to} needs {key}, the speed ratio",
                        f"add {key}: 1.0",
                        "relative_to",
                    )
        return self


class Rdma(Section):
    """Network inside a site, between engines."""

    bytes_per_s: LineRate | None = Field(
        default=None,
        alias="bandwidth",
        description="Bandwidth of one engine, one direction; none: the NICs of its chips.",
    )
    latency_s: Microseconds = Field(
        default=100e-6, alias="latency", description="Set-up and propagation of one transfer."
    )
    efficiency: PositiveShare = Field(
        default=0.87,
        description="Usable share of the bandwidth. Default: 87 of 100 GB/s, published for the "
        "Mooncake Transfer Engine over 4 x 200 Gbps RoCE.",
    )


class Site(Section):
    """A data center."""

    roles: Annotated[frozenset[Role], BeforeValidator(once)] = Field(
        strict=False,
        min_length=1,
        description="What its engines may do: `prefill`, `relay` (decode while the KV cache is "
        "under way), `decode` (main decode).",
        examples=["[prefill, relay]"],
    )
    chips: dict[Name, ChipOffer] = Field(
        min_length=1,
        description="Chips by name: a catalog name, or any name with `profile` or `relative_to`.",
        examples=["{h200: {available: 128, price: 3.8 USD/h}}"],
    )
    rdma: Rdma = Field(default_factory=Rdma, description="Network inside the site.")
    power_w: Annotated[float, Quantity("power", "kW", gt=0, le=1e7)] | None = Field(
        default=None, alias="power", description="Power limit of all chips in use; none: no limit."
    )
    max_chips: int | None = Field(
        default=None,
        ge=1,
        le=10_000_000,
        description="Most chips of all kinds that are paid at the site; none: all available.",
    )

    @model_validator(mode="after")
    def _kept_chips_fit(self) -> Self:
        kept = sum(offer.min for offer in self.chips.values())
        if self.max_chips is not None and kept > self.max_chips:
            raise problem(
                f" = {self.max_chips} is less than the {kept} chips that stay (min)",
                f"raise it to {kept} or more, or lower min of a chip",
                "max_chips",
            )
        return self


class UserRegion(Section):
    """Users of one region, and how far they are from the sites."""

    share: PositiveShare = Field(
        description="Share of requests; the regions' shares sum to 1.", examples=["60 %"]
    )
    rtt_s: dict[Name, Milliseconds] = Field(
        alias="rtt",
        min_length=1,
        description="Round-trip time between the users and each site.",
        examples=["{beijing: 10 ms}"],
    )
