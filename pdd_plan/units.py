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
from collections.abc import Iterable

from pdd_plan.dimensions import (
    DIMENSIONS,
    HOURS_PER_MONTH,
    Dimension,
    dimension_of,
    units_of,
)
from pdd_plan.errors import InputError, Issue

__all__ = [
    "DIMENSIONS",
    "HOURS_PER_MONTH",
    "Dimension",
    "QuantityError",
    "dimension_of",
    "format_quantity",
    "nearest",
    "parse_quantity",
    "show_value",
    "to_si",
    "units_of",
]

_NUMBER = re.compile(
    r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?![\d,_.])\s*(.*?)\s*", re.DOTALL
)
_CURRENCY = re.compile(r"[A-Z]{3}(?=/)")


class QuantityError(InputError):
    """A value that is no quantity of the wanted dimension; the message names value and unit."""

    def __init__(self, message: str, help: str = "") -> None:  # noqa: A002 - as in Issue
        super().__init__(Issue(message, help=help))


def to_si(number: float, unit: str, dimension: str, currency: str = "USD") -> float:
    """Convert a number in a named unit to SI.

    Parameters
    ----------
    number : float
        The number as written.
    unit : str
        A unit name of the dimension; ``"1"`` where the dimension is counted in ones.
    dimension : str
        A key of `DIMENSIONS`.
    currency : str
        Currency of money dimensions.

    Returns
    -------
    float
        The number in the dimension's SI unit.
    """
    return number if unit == "1" else number * units_of(dimension, currency)[unit]


def parse_quantity(value: object, dimension: str, unit: str, currency: str = "USD") -> float:
    """Read one quantity.

    Parameters
    ----------
    value : object
        Text such as ``"20 Gbps"``, or a bare number in `unit`.
    dimension : str
        A key of `DIMENSIONS`.
    unit : str
        Unit of a bare number; ``"1"`` where the dimension is counted in ones.
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

    Examples
    --------
    >>> parse_quantity("20 Gbps", "bandwidth", "Gbps")
    2500000000.0
    >>> parse_quantity(28, "time", "ms")
    0.028
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise QuantityError(
            f"{show_value(value)} is not {DIMENSIONS[dimension].title}",
            _help(dimension, unit, currency),
        )
    if isinstance(value, str):
        return _parse_text(value, dimension, unit, currency)
    try:
        number = to_si(float(value), unit, dimension, currency)
    except OverflowError:
        number = math.inf
    return _finite(number, show_value(value), dimension, unit, currency)


def show_value(value: object) -> str:
    """Write a value of an input file for a message, as its author would know it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "an empty value"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and abs(value) >= 10**300:
        return f"a number of more than {300} digits"
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
    number, written = match[1], _normal(match[2])
    if not written:
        plain = f"{float(number):.15g}"
        bare = f"{plain} without quotes"
        mend = bare if unit == "1" else f'"{plain} {unit}", or {bare} for {unit}'
        raise QuantityError(
            f"{show_value(text)} is text without a unit; {wanted.title} is wanted", f"write {mend}"
        )
    size = units_of(dimension, currency).get(written)
    if size is None:
        raise _wrong_unit(show_value(text), number, written, dimension, unit, currency)
    return _finite(float(number) * size, show_value(text), dimension, unit, currency)


def _normal(unit: str) -> str:
    unit = re.sub(r"\s*(?:/|\bper\b)\s*", "/", unit)
    unit = re.sub(r"-(?=(?:month|hour|hr|h|day|year)$)", "/", unit)
    return re.sub(r"^([kMG]i?)(?=tok)", r"\1 ", re.sub(r"\s+", " ", unit))


def _no_number(text: str, wanted: Dimension) -> str:
    if text.strip().lower().lstrip("+-.") in {"nan", "inf", "infinity"}:
        return f"{show_value(text)} is not a finite number"
    if re.match(r"\s*[+-]?\d+[,_]\d", text):
        return f"{show_value(text)} has a separator inside the number"
    return f"{show_value(text)} is not {wanted.title}"


def _wrong_unit(
    text: str, number: str, written: str, dimension: str, unit: str, currency: str
) -> QuantityError:
    """Say what is wrong with a unit that the dimension does not have."""
    wanted = DIMENSIONS[dimension]
    if dimension == "tokens" and re.match(r"K\b|K ?tok", written):
        return QuantityError(
            f"{text} is ambiguous: K may mean 1,000 or 1,024",
            f'write "{number}k tokens" (times 1,000) or "{number}Ki tokens" (times 1,024)',
        )
    code = _CURRENCY.match(written)
    if wanted.money and code and code[0] != currency and written in units_of(dimension, code[0]):
        return QuantityError(
            f"{text} is in {code[0]}, but the scenario counts in {currency}",
            f"convert it to {currency}, or set currency: {code[0]} for the whole scenario",
        )
    other = dimension_of(written, currency)
    if other is not None:
        right = f" (unit {unit})" if unit != "1" else ""
        return QuantityError(
            f"{text} is {other.title} (unit {written}), not {wanted.title}{right}",
            _help(dimension, unit, currency),
        )
    near = nearest(written, units_of(dimension, currency))
    hint = f'did you mean "{number} {near}"?' if near else _help(dimension, unit, currency)
    return QuantityError(f'{text} has the unknown unit "{written}"; {wanted.title} is wanted', hint)


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
    if unit == "1":
        return f'write for example "{example}", or a bare number'
    if not example.endswith(unit):
        example = f"10 {unit}"
    return f'write for example "{example}", or a bare number in {unit}'


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

    Examples
    --------
    >>> format_quantity(0.041, "time"), format_quantity(2.5e9, "bandwidth")
    ('41 ms', '20 Gbps')
    """
    found = DIMENSIONS[dimension]
    names = [currency + name if found.money else name for name in found.display]
    sizes = [to_si(1.0, name, dimension, currency) for name in names]
    if value == 0 or not math.isfinite(value):
        plain = next((i for i, size in enumerate(sizes) if size == 1.0), 0)
        return f"{value:g} {names[plain]}"
    pick = 0
    for i, size in enumerate(sizes):
        if float(_digits(abs(value) / size, digits)) >= 1.0:
            pick = i
    return f"{_digits(value / sizes[pick], digits)} {names[pick]}"


def _digits(number: float, digits: int) -> str:
    text = f"{number:.{digits}g}"
    if "e" in text and 1e-4 <= abs(number) < 1e15:
        text = f"{float(text):f}".rstrip("0").rstrip(".")
    return text
