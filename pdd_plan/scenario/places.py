"""Sites with their chips, and the lines between them."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from pdd_plan.scenario.efficiencies import Efficiencies
from pdd_plan.scenario.quantity import (
    NAME_PATTERN,
    AlsoWritten,
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
MAX_LEVELS = 1000
SIZE = Quantity("bandwidth", "Gbps", gt=0, le=1e6)


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


class Bandwidth(Section):
    """Sizes in which a line can be had; a bare quantity is one fixed size."""

    min_bytes_per_s: LineRate = Field(
        alias="min", description="Smallest size.", examples=["10 Gbps"]
    )
    max_bytes_per_s: LineRate = Field(
        alias="max", description="Largest size.", examples=["100 Gbps"]
    )
    step_bytes_per_s: LineRate | None = Field(
        default=None,
        alias="step",
        description="Step between sizes; none where min equals max. Several services reserve "
        "their parts in this step, without one in tenths of the line.",
    )

    @model_validator(mode="before")
    @classmethod
    def _one_size(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {"min": value, "max": value}

    @model_validator(mode="after")
    def _steps_fit(self) -> Self:
        low, high = self.min_bytes_per_s, self.max_bytes_per_s
        if low > high:
            raise problem(
                f": min = {_gbps(low)} is above max = {_gbps(high)}", "swap min and max", "min"
            )
        if low < high and self.step_bytes_per_s is None:
            raise problem(
                f": sizes from {_gbps(low)} to {_gbps(high)} need a step",
                f"add step: {_gbps(_round_step(high - low, (high - low) / 10))}",
                "",
            )
        if low == high or self.step_bytes_per_s is None:
            return self
        steps = (high - low) / self.step_bytes_per_s
        if abs(steps - round(steps)) > 1e-6 or steps < 0.5:
            raise problem(
                f" = {_gbps(self.step_bytes_per_s)} does not divide the way from "
                f"{_gbps(low)} to {_gbps(high)}",
                f"use step: {_gbps(_round_step(high - low, self.step_bytes_per_s))}",
                "step",
            )
        if steps > MAX_LEVELS:
            raise problem(
                f" = {_gbps(self.step_bytes_per_s)} makes {round(steps) + 1} sizes; "
                f"at most {MAX_LEVELS} are allowed",
                f"use step: {_gbps(_round_step(high - low, (high - low) / 20))}",
                "step",
            )
        return self

    def levels(self) -> tuple[float, ...]:
        """Return every size, ascending [bytes/s]."""
        low, high = self.min_bytes_per_s, self.max_bytes_per_s
        if self.step_bytes_per_s is None or low == high:
            return (low,)
        steps = round((high - low) / self.step_bytes_per_s)
        return tuple(low + (high - low) * i / steps for i in range(steps + 1))


def _round_step(span: float, wanted: float) -> float:
    """Return the step nearest to the wanted one that divides the span and has few digits."""
    steps = [span / count for count in range(1, MAX_LEVELS)]
    short = [s for s in steps if abs(float(f"{s / 125e6:.2g}") / (s / 125e6) - 1) < 1e-9]
    return min(short or steps[:1], key=lambda step: abs(math.log(step / wanted)))


def _gbps(bytes_per_s: float) -> str:
    return f"{bytes_per_s / 125e6:.6g} Gbps"


class Link(Section):
    """A line from a prefill site to a decode site."""

    from_site: str = Field(
        alias="from", min_length=1, description="Site where prefill runs.", examples=["beijing"]
    )
    to_site: str = Field(
        alias="to", min_length=1, description="Site of main decode.", examples=["shanghai"]
    )
    given_name: str = Field(
        default="",
        alias="name",
        pattern=f"^$|{NAME_PATTERN}",
        description="Name for reports and overrides; needed where several lines join the same "
        "sites, and `from-to` where empty.",
    )
    bandwidth: Annotated[Bandwidth, AlsoWritten(SIZE)] = Field(
        description="Size, fixed or to choose.", examples=["20 Gbps"]
    )
    usd_per_bytes_per_s_hour: (
        Annotated[float, Quantity("bandwidth_price", "USD/Gbps/month", ge=0, le=1e8)] | None
    ) = Field(
        default=None,
        alias="price",
        description="Price of bandwidth. One of `price`, `fixed_price` and `owned` is required.",
    )
    usd_per_hour: HourlyPrice | None = Field(
        default=None,
        alias="fixed_price",
        description="Price of the line as a whole while it is used, in addition to `price`.",
    )
    owned: bool = Field(
        default=False, description="True: the line is paid for already and costs nothing more."
    )
    rtt_s: Milliseconds = Field(alias="rtt", description="Round-trip time.", examples=["28 ms"])
    efficiency: PositiveShare = Field(
        default=0.9, description="Usable share of the nominal bandwidth (headers, TCP)."
    )
    connection_cap_bytes_per_s: LineRate | None = Field(
        default=None,
        alias="connection_cap",
        description="Most that one transfer can use; none: the whole line.",
    )
    connections: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="Size of the connection pool: so many transfers share the line, the rest "
        "wait; none: no limit.",
    )
    overhead_s: Milliseconds = Field(
        default=0.0, alias="overhead", description="Set-up of one transfer; uses no bandwidth."
    )
    host_copy_bytes_per_s: LineRate | None = Field(
        default=None,
        alias="host_copy_bandwidth",
        description="Rate of staging a transfer through host memory, added to its time and using "
        "no bandwidth of the line; none: no staging.",
    )

    @model_validator(mode="after")
    def _priced(self) -> Self:
        priced = self.usd_per_bytes_per_s_hour is not None or self.usd_per_hour is not None
        if self.owned and priced:
            raise problem(
                ": an owned line has no price", "remove owned, or price and fixed_price", "owned"
            )
        if not (self.owned or priced):
            raise problem(
                ": price is missing; prices are never assumed",
                "add price: 800 USD/Gbps/month, fixed_price: 1600 USD/month, or owned: true for a "
                "line that is paid for",
            )
        if self.from_site == self.to_site:
            raise problem(
                f" = {self.to_site} is the site where the line starts",
                "a line joins two sites; inside a site the network is sites.<name>.rdma",
                "to",
            )
        return self

    @property
    def name(self) -> str:
        """Name for people and for override paths: as given, or ``from-to``."""
        return self.given_name or f"{self.from_site}-{self.to_site}"

    def price_per_hour(self, bytes_per_s: float) -> float:
        """Return the price of the line at a size [currency/h].

        Parameters
        ----------
        bytes_per_s : float
            Size of the line [bytes/s].
        """
        per_byte = self.usd_per_bytes_per_s_hour or 0.0
        return per_byte * bytes_per_s + (self.usd_per_hour or 0.0)
