"""The lines between sites, and the sizes in which they can be had."""

from __future__ import annotations

import math
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from pdd_plan.scenario.quantity import (
    NAME_PATTERN,
    AlsoWritten,
    HourlyPrice,
    LineRate,
    Milliseconds,
    PositiveShare,
    Quantity,
    Section,
    problem,
)

MAX_LEVELS = 1000
SIZE = Quantity("bandwidth", "Gbps", gt=0, le=1e6)


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
