"""Numbers that carry their origin: value, unit, source, date, confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

CONFIDENCES: Final = ("high", "medium", "low", "user")
"""Levels of trust: maker's own data or two sources; one secondary source; press; the user's."""

PRICE_UNITS: Final = ("chip-hour", "Gbps-month", "GB")
"""What a price quote may pay for."""

UNITS: Final[dict[str, tuple[str, float]]] = {
    "FLOP/s": ("flop_per_s", 1.0),
    "GFLOP/s": ("flop_per_s", 1e9),
    "TFLOP/s": ("flop_per_s", 1e12),
    "PFLOP/s": ("flop_per_s", 1e15),
    "TOP/s": ("flop_per_s", 1e12),
    "POP/s": ("flop_per_s", 1e15),
    "B": ("bytes", 1.0),
    "MB": ("bytes", 1e6),
    "GB": ("bytes", 1e9),
    "MiB": ("bytes", 2.0**20),
    "GiB": ("bytes", 2.0**30),
    "TiB": ("bytes", 2.0**40),
    "B/s": ("bytes_per_s", 1.0),
    "MB/s": ("bytes_per_s", 1e6),
    "GB/s": ("bytes_per_s", 1e9),
    "TB/s": ("bytes_per_s", 1e12),
    "Mbps": ("bytes_per_s", 1e6 / 8),
    "Gbps": ("bytes_per_s", 1e9 / 8),
    "Tbps": ("bytes_per_s", 1e12 / 8),
    "W": ("watt", 1.0),
    "kW": ("watt", 1e3),
    "chips": ("chips", 1.0),
    "s": ("second", 1.0),
    "ms": ("second", 1e-3),
    "us": ("second", 1e-6),
    "x": ("ratio", 1.0),
    "%": ("ratio", 0.01),
    "": ("ratio", 1.0),
}
"""Units that a profile may use: name, quantity, factor to SI."""


@dataclass(frozen=True)
class Sourced:
    """One number with its provenance, as the source states it.

    Attributes
    ----------
    value : float
        Number in `unit`.
    unit : str
        A key of `UNITS`, such as ``TB/s``.
    source : str
        Where the number comes from.
    date : str
        Date of the source, or the day on which it was read, ``YYYY[-MM[-DD]]``; empty for the
        user's own numbers.
    confidence : str
        ``high``, ``medium``, ``low`` or ``user``.
    """

    value: float
    unit: str
    source: str
    date: str
    confidence: str

    @property
    def si(self) -> float:
        """The value in SI units (flop/s, bytes, bytes/s, W, s)."""
        return self.value * UNITS[self.unit][1]


@dataclass(frozen=True)
class PriceQuote:
    """A published price as a range with its date; shown to users, never a default.

    Attributes
    ----------
    kind : str
        What was quoted, such as ``on-demand, specialist clouds``.
    low, high : float
        Range in `currency` per unit of `per`.
    currency : str
        ISO 4217 code.
    as_of : str
        Date of the quote, as exact as the source gives it.
    source, confidence : str
        As in `Sourced`.
    per : str
        What it pays for: ``chip-hour``, ``Gbps-month`` or ``GB``.
    """

    kind: str
    low: float
    high: float
    currency: str
    as_of: str
    source: str
    confidence: str
    per: str = "chip-hour"
