"""Kinds of quantities and the names of their units, each with its size in SI."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

HOURS_PER_MONTH = 730.0
"""Hours in a billing month [h]: 8,760 / 12."""


@dataclass(frozen=True)
class Dimension:
    """One kind of quantity and the unit names it is written in.

    Attributes
    ----------
    name : str
        Key of the dimension, such as ``"bandwidth"``.
    title : str
        The kind in words, with its article: ``"a bandwidth"``.
    si : str
        Name of the unit of the parsed number, such as ``"bytes/s"``.
    units : Mapping[str, float]
        Unit name to its size in SI. Those of money depend on the currency, see `units_of`.
    display : tuple[str, ...]
        Units used for output, small to large; for money without the currency.
    example : str
        A value that parses, for help texts.
    accepts : str
        The unit names in short, for documentation.
    money : bool
        Whether the unit begins with a currency.
    """

    name: str
    title: str
    si: str
    units: Mapping[str, float]
    display: tuple[str, ...]
    example: str
    accepts: str
    money: bool = False


_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_PREFIXES = _DECIMAL | _BINARY


def _scaled(stems: Iterable[str], one: float, prefixes: Iterable[str]) -> dict[str, float]:
    return {p + stem: _PREFIXES[p] * one for stem in stems for p in prefixes}


_TIME = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3,
    "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "min": 60.0, "minute": 60.0,
    "minutes": 60.0, "h": 3600.0, "hr": 3600.0, "hour": 3600.0, "hours": 3600.0,
    "day": 86400.0, "days": 86400.0,
}  # fmt: skip
_SPANS = {"s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "hour": 3600.0, "day": 86400.0}
_HOURS = {"h": 1.0, "hr": 1.0, "hour": 1.0, "day": 24.0, "month": HOURS_PER_MONTH, "year": 8760.0}
_BITS = _scaled(("bps", "bit/s", "b/s"), 0.125, ("", "k", "M", "G", "T"))
_BYTE_RATES = _scaled(("B/s",), 1.0, _PREFIXES)
_BYTES = _scaled(("B",), 1.0, _PREFIXES) | {"bytes": 1.0, "byte": 1.0}
_TOKEN_COUNTS = {
    f"{prefix} {word}".strip(): _PREFIXES[prefix]
    for prefix in ("", "k", "M", "G", "Ki", "Mi", "Gi")
    for word in ("tokens", "token", "tok")
}
_TOKENS = _TOKEN_COUNTS | {p: _PREFIXES[p] for p in ("k", "M", "G", "Ki", "Mi", "Gi")}
_REQUESTS = {
    f"{word}/{span}": 1.0 / seconds
    for word in ("req", "reqs", "request", "requests", "")
    for span, seconds in _SPANS.items()
}

DIMENSIONS: Mapping[str, Dimension] = {
    d.name: d
    for d in (
        Dimension(
            "time", "a time", "s", _TIME, ("us", "ms", "s", "min", "h", "days"), "10 s",
            "`ns`, `us`, `ms`, `s`, `min`, `h`, `days`",
        ),
        Dimension(
            "time_per_token", "a time per token", "s/token",
            {unit + tail: v for tail in ("", "/token", "/tok") for unit, v in _TIME.items()},
            ("us", "ms", "s"), "60 ms", "as a time, `/token` may follow: `ms`, `ms/token`",
        ),
        Dimension(
            "bytes", "an amount of data", "bytes", _BYTES,
            ("B", "KiB", "MiB", "GiB", "TiB"), "80 GiB",
            "`B`, `kB`, `MB`, `GB`, `TB`, `PB` (powers of 1,000), `KiB`, `MiB`, `GiB`, `TiB`",
        ),
        Dimension(
            "bytes_per_token", "an amount of data per token", "bytes/token",
            {unit + tail: v for tail in ("/token", "/tok") for unit, v in _BYTES.items()},
            ("B/token", "KiB/token", "MiB/token"), "70 KiB/token",
            "as an amount of data with `/token`: `B/token`, `KiB/token`",
        ),
        Dimension(
            "bandwidth", "a bandwidth", "bytes/s", _BITS | _BYTE_RATES,
            ("bps", "kbps", "Mbps", "Gbps", "Tbps"), "20 Gbps",
            "bits: `bps`, `kbps`, `Mbps`, `Gbps`, `Tbps`, `Gbit/s`, `Gb/s`; bytes: `MB/s`, `GB/s`, "
            "`TB/s`, `GiB/s`",
        ),
        Dimension(
            "tokens", "a number of tokens", "tokens", _TOKENS,
            ("tokens", "k tokens", "M tokens"), "64k tokens",
            "`tokens`, `k tokens`, `M tokens`, `Ki tokens`, `Mi tokens`; the word may be left out "
            "after a letter: `k`, `Ki`",
        ),
        Dimension(
            "request_rate", "a request rate", "requests/s", _REQUESTS | {"rps": 1.0},
            ("req/s",), "12 req/s", "`req/s`, `req/min`, `req/h`, `req/day`, `requests/s`, `rps`",
        ),
        Dimension(
            "power", "a power", "W", _scaled(("W",), 1.0, ("", "k", "M", "G")),
            ("W", "kW", "MW"), "700 W", "`W`, `kW`, `MW`, `GW`",
        ),
        Dimension(
            "fraction", "a share", "1", {"%": 0.01}, ("%",), "90 %", "`%`; bare numbers from 0 to 1"
        ),
        Dimension(
            "factor", "a factor", "1", {"x": 1.0, "×": 1.0, "%": 0.01}, ("x",), "0.81x",  # noqa: RUF001
            "`x`, `%`; bare numbers",
        ),
        Dimension(
            "flop_rate", "a compute rate", "flop/s",
            _scaled(("FLOP/s", "FLOPS", "OP/s", "OPS"), 1.0, _DECIMAL),
            ("FLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"), "989 TFLOP/s",
            "`GFLOP/s`, `TFLOP/s`, `PFLOP/s`, `TOP/s`",
        ),
        Dimension(
            "flop", "a number of operations", "flop", _scaled(("FLOP", "OP"), 1.0, _DECIMAL),
            ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"), "81920 FLOP",
            "`FLOP`, `kFLOP`, `MFLOP`, `GFLOP`, `TFLOP`",
        ),
        Dimension(
            "parameters", "a number of parameters", "parameters",
            {"parameters": 1.0, "k": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12},
            ("parameters", "M", "B", "T"), "671 B", "`M`, `B` (billions), `T`, `parameters`",
        ),
        Dimension(
            "price", "a price per hour", "currency/h", {}, ("/h",), "3.8 USD/h",
            "`USD/h`, `USD/day`, `USD/month`, `USD/year`; `USD/chip/h`", money=True,
        ),
        Dimension(
            "bandwidth_price", "a price of bandwidth", "currency/(byte/s)/h", {},
            ("/Gbps/month",), "800 USD/Gbps/month",
            "`USD/Gbps/month`, `USD/Gbps/h`, `USD/Mbps/month`", money=True,
        ),
    )
}  # fmt: skip
"""All dimensions by name."""


@cache
def _price_units(dimension: str, currency: str) -> Mapping[str, float]:
    units: dict[str, float] = {}
    for span, hours in _HOURS.items():
        if dimension == "price":
            for per in ("", "/chip", "/GPU", "/gpu"):
                units[f"{currency}{per}/{span}"] = 1.0 / hours
        else:
            for name in ("Mbps", "Gbps", "Tbps", "Mbit/s", "Gbit/s", "Mb/s", "Gb/s"):
                units[f"{currency}/{name}/{span}"] = 1.0 / (hours * _BITS[name])
    return units


def units_of(dimension: str, currency: str = "USD") -> Mapping[str, float]:
    """Return the unit names of a dimension with their sizes.

    Parameters
    ----------
    dimension : str
        A key of `DIMENSIONS`.
    currency : str
        Three-letter code, for the dimensions of money.

    Returns
    -------
    Mapping[str, float]
        Unit name to its size in SI; of money in currency/h or currency/(byte/s)/h.
    """
    found = DIMENSIONS[dimension]
    return _price_units(dimension, currency) if found.money else found.units


def dimension_of(unit: str, currency: str = "USD") -> Dimension | None:
    """Return the first dimension that has a unit of this name, or None."""
    return next((d for d in DIMENSIONS.values() if unit in units_of(d.name, currency)), None)
