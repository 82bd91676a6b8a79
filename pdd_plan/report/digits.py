"""How numbers are written: as many digits as carry information, with a unit."""

from __future__ import annotations

import math
import unicodedata

MISSING = "-"
"""Text of a number that does not exist."""


def number(value: float | None, decimals: int = 2) -> str:
    """Write a number with thousands separators and fixed decimals; huge ones with an exponent."""
    if value is None:
        return MISSING
    if abs(value) >= 1e15:
        return f"{value:.4g}"
    return f"{value:,.{decimals}f}"


def money(value: float | None) -> str:
    """Write an amount: two decimals, or three significant digits below 1."""
    if value is None or value == 0 or abs(value) >= 1:
        return number(value, 2)
    if abs(value) < 1e-6:
        return f"{value:.2e}"
    return number(value, 2 - math.floor(math.log10(abs(value))))


def rate(value: float | None) -> str:
    """Write a rate: one decimal below 1,000, none above, three significant digits below 1."""
    if value is None:
        return MISSING
    if value == 0 or 1 <= abs(value) < 1000:
        return number(value, 1)
    return number(value, 0) if abs(value) >= 1000 else significant(value, 3)


def significant(value: float | None, digits: int) -> str:
    """Write a number to significant digits, without an exponent where it is readable."""
    if value is None:
        return MISSING
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if not -6 <= exponent < 15:
        return f"{value:.{digits}g}"
    text = f"{round(value, digits - 1 - exponent):,.{max(0, digits - 1 - exponent)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def seconds(value: float | None, near: float | None = None) -> str:
    """Write a duration in ms or s; with more digits if it would else read like the limit `near`.

    Parameters
    ----------
    value : float or None
        Duration [s].
    near : float or None
        Limit [s] that the text must not equal unless the value does.
    """
    if value is None:
        return MISSING
    text = _seconds(value, 0)
    if near is not None and value != near:
        for extra in range(1, 7):
            if text != _seconds(near, extra - 1):
                break
            text = _seconds(value, extra)
    return text


def _seconds(value: float, extra: int) -> str:
    millis = value * 1e3
    if millis < 999.5:
        if 0 < millis < 0.95:
            return f"{significant(millis, extra + 1)} ms"
        return f"{millis:.{extra + (1 if 0 < millis < 9.95 else 0)}f} ms"
    return f"{number(value, extra + (1 if value < 99.95 else 0))} s"


def elapsed(value: float) -> str:
    """Write how long a computation took [s]: 0.8 s."""
    return f"{number(value, 1 if value < 99.95 else 0)} s" if value >= 0.05 else "0.0 s"


def limit_seconds(value: float) -> str:
    """Write a limit [s] with all its digits: 10 s, 2.5 s, 60 ms."""
    return f"{significant(value * 1e3, 6)} ms" if value < 1 else f"{significant(value, 6)} s"


def percent(fraction: float | None) -> str:
    """Write a fraction as a percentage that reads 0 or 100 only where it is just that."""
    if fraction is None:
        return MISSING
    value = 100 * fraction
    if value == 0 or value == 100:
        return f"{value:.0f} %"
    if abs(value) < 0.095:
        return f"{significant(value, 1)} %" if abs(value) >= 1e-4 else f"{value:.0e} %"
    decimals = 1 if abs(value) < 9.95 else 0
    while 0 < 100 - value < 100 and float(f"{value:.{decimals}f}") >= 100:
        if decimals == 3:
            return "> 99.999 %"
        decimals += 1
    return f"{number(value, decimals)} %"


def signed_percent(fraction: float | None, nothing: float = 5e-7) -> str:
    """Write a relative change with its sign; up to `nothing` it reads 0."""
    if fraction is None:
        return MISSING
    if abs(fraction) <= nothing:
        return percent(0.0)
    return f"+{percent(fraction)}" if fraction > 0 else percent(fraction)


def gap(value: float | None) -> str:
    """Write an optimality gap; at most 1e-6 counts as none."""
    if value is None:
        return MISSING
    return "0" if value <= 1e-6 else percent(value)


def size(value: float) -> str:
    """Write bytes in decimal units."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= scale:
            return f"{significant(value / scale, 4)} {unit}"
    return f"{significant(value, 4)} B"


def clean(text: str) -> str:
    """Show control and direction characters by their escapes, so that a name cannot act."""
    if text.isprintable():
        return text
    return "".join(
        character
        if unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        for character in text
    )
