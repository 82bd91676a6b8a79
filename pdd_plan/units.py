"""Quantities with units: ``"20 Gbps"`` to SI numbers and back.

Inside the package every number is in SI base units (seconds, bytes, bytes per second, watts) or,
for money, in the scenario's currency per hour. Text with a unit exists at the edge only.

Rules worth knowing
-------------------
* Unit names are case-sensitive, because ``Gb`` (bits) and ``GB`` (bytes) differ by eight.
* ``k``, ``M``, ``G``, ``T`` are powers of 1,000; ``Ki``, ``Mi``, ``Gi``, ``Ti`` of 1,024.
  ``64k tokens`` is 64,000 and ``64Ki tokens`` is 65,536. A capital ``K`` means either in common
  use, so it is refused rather than guessed.
* A month is 730 hours (8,760 hours a year / 12).
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from pdd_plan.errors import InputError, Issue

HOURS_PER_MONTH = 730.0
"""Hours in a billing month [h]: 8,760 / 12."""

_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_PREFIXES = _DECIMAL | _BINARY
_NUMBER = re.compile(
    r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?![\d,_.])\s*(.*?)\s*", re.S
)
_HOURS = {"h": 1.0, "hour": 1.0, "hr": 1.0, "day": 24.0, "month": HOURS_PER_MONTH, "year": 8760.0}
_CURRENCY = re.compile(r"[A-Z]{3}")


class QuantityError(InputError):
    """A value that is no quantity of the wanted dimension; the message names value and unit."""

    def __init__(self, message: str, help: str = "") -> None:  # noqa: A002 - as in Issue
        super().__init__(Issue(message, help=help))


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
        Unit name to its size in SI. Money units are added by currency, see `price_units`.
    display : tuple[str, ...]
        Units used for output, small to large.
    example : str
        A value that parses, for help texts.
    """

    name: str
    title: str
    si: str
    units: Mapping[str, float]
    display: tuple[str, ...]
    example: str
    money: bool = field(default=False)


def _scaled(
    stems: Iterable[str], factor: float, prefixes: Iterable[str] = _PREFIXES
) -> dict[str, float]:
    return {p + stem: _PREFIXES[p] * factor for stem in stems for p in prefixes}


_TIME = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0,
    "min": 60.0, "h": 3600.0, "hour": 3600.0, "hours": 3600.0, "day": 86400.0, "days": 86400.0,
}  # fmt: skip
_SPANS = {"s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "hour": 3600.0, "day": 86400.0}
_BITS = _scaled(("bps", "bit/s", "b/s"), 0.125, ("", "k", "M", "G", "T"))
_BYTE_RATE = _scaled(("B/s",), 1.0)
_BYTES = _scaled(("B",), 1.0) | {"bytes": 1.0, "byte": 1.0}
_COUNTED = ("", "k", "M", "G", "Ki", "Mi", "Gi")
_TOKENS = {
    (p + gap + word).strip(): _PREFIXES[p]
    for p in _COUNTED
    for gap, word in (("", ""), (" ", "tokens"), (" ", "token"), (" ", "tok"))
    if p or word
}
_FLOP_RATE = _scaled(("FLOP/s", "FLOPS", "FLOPs", "OP/s", "OPS"), 1.0, _DECIMAL)

DIMENSIONS: Mapping[str, Dimension] = {
    d.name: d
    for d in (
        Dimension("time", "a time", "s", _TIME, ("us", "ms", "s", "min", "h", "days"), "10 s"),
        Dimension(
            "time_per_token", "a time per token", "s/token",
            {f"{u}{tail}": v for u, v in _TIME.items() for tail in ("", "/token", "/tok")},
            ("us", "ms", "s"), "60 ms",
        ),
        Dimension(
            "bytes", "an amount of data", "bytes", _BYTES,
            ("B", "KiB", "MiB", "GiB", "TiB"), "80 GiB",
        ),
        Dimension(
            "bytes_per_token", "an amount of data per token", "bytes/token",
            {f"{u}{tail}": v for u, v in _BYTES.items() for tail in ("/token", "/tok")},
            ("B/token", "KiB/token", "MiB/token"), "70 KiB/token",
        ),
        Dimension(
            "bandwidth", "a bandwidth", "bytes/s", _BITS | _BYTE_RATE,
            ("bps", "kbps", "Mbps", "Gbps", "Tbps"), "20 Gbps",
        ),
        Dimension(
            "memory_bandwidth", "a bandwidth", "bytes/s", _BITS | _BYTE_RATE,
            ("B/s", "kB/s", "MB/s", "GB/s", "TB/s"), "3.35 TB/s",
        ),
        Dimension(
            "tokens", "a number of tokens", "tokens", _TOKENS,
            ("tokens", "k tokens", "M tokens"), "64k tokens",
        ),
        Dimension(
            "request_rate", "a request rate", "requests/s",
            {f"{w}/{t}": 1.0 / s for w in ("req", "reqs", "request", "requests", "")
             for t, s in _SPANS.items()} | {"rps": 1.0},
            ("req/s",), "12 req/s",
        ),
        Dimension(
            "token_rate", "a token rate", "tokens/s",
            {f"{p}/{t}": size / s for p, size in _TOKENS.items() if p.endswith(("n", "ns", "k"))
             for t, s in _SPANS.items()},
            ("tokens/s", "k tokens/s", "M tokens/s"), "800 tokens/s",
        ),
        Dimension(
            "power", "a power", "W", _scaled(("W",), 1.0, ("", "k", "M", "G")),
            ("W", "kW", "MW"), "700 W",
        ),
        Dimension("fraction", "a share", "1", {"%": 0.01}, ("%",), "90 %"),
        Dimension("factor", "a factor", "1", {"x": 1.0, "×": 1.0, "%": 0.01}, ("x",), "0.81x"),  # noqa: RUF001
        Dimension(
            "flop_rate", "a compute rate", "flop/s", _FLOP_RATE,
            ("FLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"), "989 TFLOP/s",
        ),
        Dimension(
            "flop", "a number of operations", "flop",
            _scaled(("FLOP", "flop", "OP"), 1.0, _DECIMAL),
            ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"), "81920 FLOP",
        ),
        Dimension(
            "parameters", "a number of parameters", "parameters",
            {"k": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12, "parameters": 1.0},
            ("parameters", "M", "B", "T"), "671 B",
        ),
        Dimension("price", "a price per hour", "currency/h", {}, ("/h",), "3.8 USD/h", money=True),
        Dimension(
            "bandwidth_price", "a price of bandwidth", "currency/(byte/s)/h", {},
            ("/Gbps/month",), "800 USD/Gbps/month", money=True,
        ),
    )
}  # fmt: skip
"""All dimensions by name."""


@cache
def price_units(dimension: str, currency: str) -> Mapping[str, float]:
    """Return the unit names of a money dimension in one currency.

    Parameters
    ----------
    dimension : str
        ``"price"`` (currency per hour, also per chip) or ``"bandwidth_price"``.
    currency : str
        Three-letter code, such as ``"USD"``.

    Returns
    -------
    Mapping[str, float]
        Unit name to its size in currency/h, or in currency/(byte/s)/h.
    """
    units: dict[str, float] = {}
    for span, hours in _HOURS.items():
        if dimension == "price":
            for per in ("", "/chip", "/GPU", "/gpu"):
                units[f"{currency}{per}/{span}"] = 1.0 / hours
        else:
            for name in ("Mbps", "Gbps", "Tbps", "Mbit/s", "Gbit/s", "Gb/s", "MB/s", "GB/s"):
                units[f"{currency}/{name}/{span}"] = 1.0 / (hours * (_BITS | _BYTE_RATE)[name])
    return units


def units_of(dimension: str, currency: str = "USD") -> Mapping[str, float]:
    """Return unit name → size in SI for a dimension, money units in `currency`."""
    found = DIMENSIONS[dimension]
    return price_units(dimension, currency) if found.money else found.units


def to_si(number: float, unit: str, dimension: str, currency: str = "USD") -> float:
    """Convert a number in a named unit to SI.

    Parameters
    ----------
    number : float
        The number as written.
    unit : str
        A unit name of the dimension; ``""`` where the dimension is counted in ones.
    dimension : str
        A key of `DIMENSIONS`.
    currency : str
        Currency of money dimensions.

    Returns
    -------
    float
        The number in the dimension's SI unit.
    """
    return number * _size(unit, dimension, currency)


def _size(unit: str, dimension: str, currency: str) -> float:
    if unit in ("", "1"):
        return 1.0
    return units_of(dimension, currency)[unit]


def parse_quantity(value: object, dimension: str, unit: str, currency: str = "USD") -> float:
    """Read one quantity.

    Parameters
    ----------
    value : object
        Text such as ``"20 Gbps"``, or a bare number in `unit`.
    dimension : str
        A key of `DIMENSIONS`.
    unit : str
        Unit of a bare number.
    currency : str
        Three-letter code that money must be in.

    Returns
    -------
    float
        The quantity in the dimension's SI unit (money: currency per hour); finite.

    Raises
    ------
    QuantityError
        For anything else: no number, not finite, a unit that is missing, unknown, of another
        dimension or another currency. The message names value and unit, the help a value that
        works.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise QuantityError(
            f"{show_value(value)} is not {DIMENSIONS[dimension].title}",
            _help(dimension, unit, currency),
        )
    if isinstance(value, str):
        return _parse_text(value, dimension, unit, currency)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    return _finite(to_si(number, unit, dimension, currency), str(value), dimension, unit, currency)


def show_value(value: object) -> str:
    """Write a value of an input file for a message, as its author would know it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "an empty value"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = str(value)
    if isinstance(value, str) and not re.match(r"\s*[+-]?\.?\d", value):
        text = f'"{text}"'
    return text if len(text) <= 60 else text[:56] + " ..."


def _finite(number: float, shown: str, dimension: str, unit: str, currency: str) -> float:
    if not math.isfinite(number):
        raise QuantityError(f"{shown} is not a finite number", _help(dimension, unit, currency))
    return number


def _parse_text(text: str, dimension: str, unit: str, currency: str) -> float:
    wanted = DIMENSIONS[dimension]
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise QuantityError(_no_number(text, wanted), _help(dimension, unit, currency))
    number, written = float(match[1]), _normal(match[2])
    if not written:
        raise QuantityError(
            f'"{text}" is text without a unit; {wanted.title} is wanted',
            f'write "{match[1]} {unit}" or the bare number {match[1]} (in {unit})'
            if unit not in ("", "1")
            else f"write {match[1]} without quotes",
        )
    size = units_of(dimension, currency).get(written)
    if size is None:
        raise _unknown_unit(text, match[1], written, dimension, unit, currency)
    return _finite(number * size, f'"{text}"', dimension, unit, currency)


def _normal(unit: str) -> str:
    unit = re.sub(r"\s*(?:/|\bper\b)\s*", "/", unit)
    unit = re.sub(r"-(?=(?:month|hour|h|day|year)$)", "/", unit)
    return re.sub(r"^([kMG]i?)(?=tok)", r"\1 ", re.sub(r"\s+", " ", unit))


def _no_number(text: str, wanted: Dimension) -> str:
    if text.strip().lower().lstrip("+-.") in {"nan", "inf", "infinity"}:
        return f'"{text}" is not a finite number'
    if re.match(r"\s*[+-]?\d+[,_]\d", text):
        return f'"{text}" has a separator inside the number'
    return f"{show_value(text)} is not {wanted.title}"


def _unknown_unit(
    text: str, number: str, written: str, dimension: str, unit: str, currency: str
) -> QuantityError:
    wanted = DIMENSIONS[dimension]
    if dimension in ("tokens", "token_rate") and re.match(r"K\b|K ?tok", written):
        return QuantityError(
            f"{text} is ambiguous: K may mean 1,000 or 1,024",
            f'write "{number}k tokens" (times 1,000) or "{number}Ki tokens" (times 1,024)',
        )
    code = _CURRENCY.match(written)
    if wanted.money and code and code[0] != currency and units_of(dimension, code[0]).get(written):
        return QuantityError(
            f"{text} is in {code[0]}, but the scenario counts in {currency}",
            f"convert it to {currency}, or set currency: {code[0]} for the whole scenario",
        )
    other = dimension_of(written, currency)
    if other is not None:
        return QuantityError(
            f"{text} is {other.title} (unit {written}), not {wanted.title} (unit {unit})",
            _help(dimension, unit, currency),
        )
    near = nearest(written, units_of(dimension, currency))
    hint = f'did you mean "{number} {near}"?' if near else _help(dimension, unit, currency)
    return QuantityError(f'{text} has the unknown unit "{written}"; {wanted.title} is wanted', hint)


def dimension_of(unit: str, currency: str = "USD") -> Dimension | None:
    """Return the first dimension that has this unit name, or None."""
    return next((d for d in DIMENSIONS.values() if unit in units_of(d.name, currency)), None)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most like `name`, or None where none is near.

    Parameters
    ----------
    name : str
        What was written.
    known : Iterable[str]
        What there is.
    """
    by_lower: dict[str, str] = {}
    for candidate in known:
        by_lower.setdefault(candidate.lower(), candidate)
    found = difflib.get_close_matches(name.lower(), list(by_lower), n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def _help(dimension: str, unit: str, currency: str) -> str:
    example = DIMENSIONS[dimension].example.replace("USD", currency)
    bare = unit.replace("USD", currency)
    return f'write for example "{example}"' + (
        f", or a bare number in {bare}" if bare not in ("", "1") else ", or a bare number"
    )


def format_quantity(value: float, dimension: str, currency: str = "USD", digits: int = 3) -> str:
    """Write a quantity for people: ``8.7 s``, ``41 ms``, ``20 Gbps``.

    Parameters
    ----------
    value : float
        Quantity in the dimension's SI unit.
    dimension : str
        A key of `DIMENSIONS`.
    currency : str
        Currency of money dimensions.
    digits : int
        Significant digits; trailing zeros are left out.

    Returns
    -------
    str
        Number and unit, which `parse_quantity` reads back (to `digits` digits).
    """
    ladder = DIMENSIONS[dimension].display
    names = [currency + name if DIMENSIONS[dimension].money else name for name in ladder]
    sizes = [_size(name, dimension, currency) for name in names]
    if not math.isfinite(value):
        return f"{value} {names[-1]}".strip()
    pick = 0
    for i, size in enumerate(sizes):
        if float(_digits(abs(value) / size, digits)) >= 1.0:
            pick = i
    if value == 0:
        pick = (
            len(names) - 1
            if dimension in ("time", "time_per_token") and "s" not in names
            else _unit_zero(names)
        )
    return f"{_digits(value / sizes[pick], digits)} {names[pick]}".strip()


def _unit_zero(names: list[str]) -> int:
    return next((i for i, name in enumerate(names) if name in ("s", "Gbps", "GiB", "GB/s")), 0)


def _digits(number: float, digits: int) -> str:
    text = f"{number:.{digits}g}"
    if "e" not in text:
        return text
    if 1e-4 <= abs(number) < 1e15:
        text = f"{float(text):f}".rstrip("0").rstrip(".")
    return text
