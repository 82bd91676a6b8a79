"""The axes of a sweep: paths of the scenario, and the values that each is given in turn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product

from pdd_plan.errors import InputError, Issue
from pdd_plan.units import DIMENSIONS, units_of

MOST_POINTS = 20_000
"""Points of one sweep; a grid beyond it is taken for a typing error."""

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_UNIT = r"[^\d.\s][^\d.]*?"
_RANGE = re.compile(
    rf"\s*(?P<first>{_NUMBER})\s*(?P<first_unit>{_UNIT})?\s*\.\.\s*"
    rf"(?P<last>{_NUMBER})\s*(?P<last_unit>{_UNIT})??\s*/\s*"
    rf"(?P<step>{_NUMBER})\s*(?P<step_unit>{_UNIT})?\s*"
)
_RANGE_BEGINS = re.compile(rf"\s*{_NUMBER}\s*(?:{_UNIT})?\s*\.\.\s*{_NUMBER}")
_QUANTITY = re.compile(rf"\s*({_NUMBER})\s*({_UNIT})?\s*")


@dataclass(frozen=True)
class Axis:
    """Paths that are changed together, and what they are set to in turn.

    Attributes
    ----------
    paths : tuple of str
        Dotted paths of the scenario: one, or several where values go together.
    values : tuple of tuple of str
        For each step of the axis the values of its paths, as written.
    """

    paths: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]

    def changes(self, index: int) -> tuple[str, ...]:
        """Return the overrides ``path=value`` of one step."""
        pairs = zip(self.paths, self.values[index], strict=True)
        return tuple(f"{path}={value}" for path, value in pairs)


@dataclass(frozen=True)
class Scale:
    """Values as numbers in one unit; the unit is empty for bare numbers."""

    unit: str
    numbers: tuple[float, ...]


def scale_of(texts: Sequence[str]) -> Scale | None:
    """Return values as numbers in the unit of the first.

    Parameters
    ----------
    texts : sequence of str
        Values as written, such as ``500 ms`` and ``2 s``.

    Returns
    -------
    Scale or None
        None unless all are numbers of one kind.
    """
    found = [_QUANTITY.fullmatch(text) for text in texts]
    pairs = [(Decimal(match[1]), match[2] or "") for match in found if match]
    if not pairs or len(pairs) < len(texts):
        return None
    unit = pairs[0][1]
    numbers = []
    for number, written in pairs:
        size = _ratio(written, unit)
        if size is None:
            return None
        numbers.append(float(number * size))
    return Scale(unit, tuple(numbers))


def parse_axes(vary: Sequence[str], together: Sequence[str] = ()) -> tuple[Axis, ...]:
    """Read the axes of a sweep.

    Parameters
    ----------
    vary : sequence of str
        ``path=v1,v2,…`` each, an axis of its own. A value may be a range with its step,
        ``first..last/step``, and lists, mappings and quotes keep their commas.
    together : sequence of str
        Likewise, but all of these advance together and are one axis.

    Returns
    -------
    tuple of Axis
        Those of `vary` in the order given, then the joint one.

    Raises
    ------
    InputError
        With every issue: no path, no values, a wrong range, a path or value given twice, a joint
        axis of unequal lengths, too many points.
    """
    issues: list[Issue] = []
    axes = [axis for text in vary if (axis := _axis(text, "--vary", issues))]
    others = [axis for text in together if (axis := _axis(text, "--zip", issues))]
    issues += _twice([axis.paths[0] for axis in (*axes, *others)])
    lengths = [len(axis.values) for axis in others]
    if len(set(lengths)) > 1:
        counts = ", ".join(f"{axis.paths[0]} has {len(axis.values)}" for axis in others)
        mend = "give each the same number of values, or use --vary for all combinations"
        issues.append(Issue(f"values of --zip go together, but {counts}", "", "--zip", 0, mend))
    if issues:
        raise InputError(issues)
    if others:
        paths = tuple(axis.paths[0] for axis in others)
        steps = zip(*(axis.values for axis in others), strict=True)
        axes.append(_joint(paths, [tuple(v for (v,) in step) for step in steps]))
    _require_size(axes)
    return tuple(axes)


def grid(axes: Sequence[Axis]) -> Iterator[tuple[int, ...]]:
    """Yield the steps of every axis for each point; the last axis runs fastest."""
    yield from product(*(range(len(axis.values)) for axis in axes))


def _joint(paths: tuple[str, ...], steps: Sequence[tuple[str, ...]]) -> Axis:
    again = next((step for step in steps if steps.count(step) > 1), None)
    if again is not None:
        message = f"the values {', '.join(again)} of {', '.join(paths)} are there twice"
        raise InputError(Issue(message, "", "--zip", 0, "name them once"))
    return Axis(paths, tuple(steps))


def _require_size(axes: Sequence[Axis]) -> None:
    points = 1
    for axis in axes:
        points *= len(axis.values)
    if points > MOST_POINTS:
        sizes = " x ".join(f"{len(axis.values):,}" for axis in axes)
        raise InputError(
            Issue(
                f"the grid has {points:,} points ({sizes}); at most {MOST_POINTS:,} are planned",
                path="--vary",
                help="take larger steps, or sweep part of it at a time",
            )
        )


def _twice(paths: Sequence[str]) -> list[Issue]:
    again = dict.fromkeys(path for path in paths if paths.count(path) > 1)
    mend = "give all its values in one option"
    return [Issue(f"{path} is varied twice", path, "", 0, mend) for path in again]


def _axis(text: str, option: str, issues: list[Issue]) -> Axis | None:
    """Read one axis, or note why it is none."""
    path, equals, body = text.partition("=")
    path = path.strip()
    if not equals or not path or not body.strip():
        message = f'{option} "{text}" is not path=value,value,...'
        mend = f'write for example {option} "slo.ttft_p90=2 s,4 s,8 s" or "=2 s..8 s/1 s"'
        issues.append(Issue(message, path, "", 0, mend))
        return None
    place = f"{option} {text}"
    values: list[str] = []
    for part in split_values(body):
        try:
            values += _range(part) if _RANGE_BEGINS.match(part) else [part]
        except InputError as error:
            first = error.issues[0]
            issues.append(Issue(first.message, path, place, 0, first.help))
            return None
    if "" in values:
        issues.append(
            Issue(f"{path} has an empty value", path, place, 0, "remove the comma too many")
        )
        return None
    again = next((value for value in values if values.count(value) > 1), None)
    if again is not None and option == "--vary":
        message = f"{path} has the value {again} twice"
        issues.append(Issue(message, path, place, 0, "name it once"))
        return None
    return Axis((path,), tuple((value,) for value in values))


def split_values(text: str) -> list[str]:
    """Split at commas that are outside brackets and quotes.

    Parameters
    ----------
    text : str
        Such as ``1,2`` or ``[prefill, relay],[relay]``.

    Returns
    -------
    list of str
        The values without blanks around them.
    """
    parts, start, depth, quote = [], 0, 0, ""
    for index, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{(":
            depth += 1
        elif character in ")}]":
            depth -= 1
        elif character == "," and depth <= 0:
            parts.append(text[start:index])
            start = index + 1
    return [part.strip() for part in (*parts, text[start:])]


def _range(text: str) -> list[str]:
    """Write out ``first..last/step``; every unit may differ, and be left out if another tells."""
    mend = 'write for example "5 Gbps..50 Gbps/5 Gbps", or list the values'
    match = _RANGE.fullmatch(text)
    if match is None:
        raise InputError(Issue(f'the range "{text}" has not the form first..last/step', help=mend))
    written = [match[f"{name}_unit"] or "" for name in ("first", "last", "step")]
    unit = next((one for one in (written[2], written[1], written[0]) if one), "")
    numbers = []
    for name, own in zip(("first", "last", "step"), written, strict=True):
        size = _ratio(own or unit, unit)
        if size is None:
            message = f'the range "{text}" mixes {own} and {unit}, which are not of one kind'
            raise InputError(Issue(message, help="write first, last and step in one unit"))
        numbers.append(Decimal(match[name]) * size)
    first, last, step = numbers
    if step <= 0 or last < first:
        wrong = "its step is not above 0" if step <= 0 else "it ends below its start"
        raise InputError(Issue(f'the range "{text}" is empty: {wrong}', help=mend))
    count = int((last - first) / step) + 1
    if count > MOST_POINTS:
        message = f'the range "{text}" has {count:,} values; at most {MOST_POINTS:,} are planned'
        raise InputError(Issue(message, help="take a larger step"))
    return [f"{_plain(first + k * step)} {unit}".strip() for k in range(count)]


def _plain(number: Decimal) -> str:
    """Write a number without an exponent and without trailing zeros."""
    text = f"{number:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def _ratio(unit: str, other: str) -> Decimal | None:
    """Return how many of `other` one `unit` is; None where they are not of one kind."""
    if unit == other:
        return Decimal(1)
    code = re.match(r"[A-Z]{3}(?=/)", unit)
    for name in DIMENSIONS:
        known = units_of(name, code[0] if code else "USD")
        if unit in known and other in known:
            # To 12 digits: 500 ms are 0.5 s, not 0.500...01 s.
            return Decimal(f"{known[unit] / known[other]:.12g}")
    return None
