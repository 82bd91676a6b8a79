"""YAML with a line number for every value, and a collector of all that is wrong in it."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pdd_plan.catalog.provenance import (
    CONFIDENCES,
    PRICE_UNITS,
    UNITS,
    PriceQuote,
    Sourced,
)
from pdd_plan.errors import InputError, Issue

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NUMBER = re.compile(r"[-+]?(\d[\d_]*\.?[\d_]*|\.\d+)([eE][-+]?\d+)?")
_QUANTITY = re.compile(rf"({_NUMBER.pattern})\s*([A-Za-z%/]*)")
_PRICE_KEYS = ("kind", "low", "high", "currency", "as_of", "source", "confidence")
Path_ = tuple[str | int, ...]


@dataclass(frozen=True)
class Document:
    """Parsed YAML with the line of each key and item.

    Attributes
    ----------
    data : Any
        Plain mappings, sequences, numbers and strings; dates stay strings.
    file : str
        Name to show in messages.
    lines : Mapping[tuple, int]
        Line, from 1, of each path of keys and positions.
    """

    data: Any
    file: str
    lines: Mapping[Path_, int]

    def line_of(self, path: Path_) -> int:
        """Return the line of a path, or of its nearest parent that has one; 0 without any."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint such as ``did you mean 'h200'?``, or an empty string."""
    found = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.5)
    return f"did you mean '{found[0]}'?" if found else ""


@dataclass
class Reader:
    """Reads values out of a `Document` and gathers every issue found on the way."""

    document: Document
    issues: list[Issue] = field(default_factory=list)

    def fault(self, path: Path_, message: str, help: str = "") -> None:  # noqa: A002
        """Note one thing that is wrong at a path."""
        dotted = ".".join(map(str, path))
        line = self.document.line_of(path)
        self.issues.append(Issue(message, dotted, self.document.file, line, help))

    def finish(self) -> None:
        """Raise all issues, in file order.

        Raises
        ------
        InputError
            If there is any issue.
        """
        if self.issues:
            raise InputError(sorted(self.issues, key=lambda issue: issue.line))

    def mapping(
        self, path: Path_, value: Any, known: Iterable[str] | None = None
    ) -> dict[str, Any]:
        """Return a mapping, or an empty one with a fault; unknown keys are faults as well."""
        if not isinstance(value, dict):
            name = ".".join(map(str, path)) or "the file"
            self.fault(path, f"{name} must be a mapping of keys to values")
            return {}
        if known is not None:
            known = list(known)
            for key in value:
                if key not in known:
                    hint = nearest(key, known) or "known keys: " + ", ".join(known)
                    self.fault((*path, key), f"unknown key '{key}'", hint)
        return value

    def root(self, known: Iterable[str]) -> dict[str, Any]:
        """Return the file's mapping; unknown keys are faults.

        Raises
        ------
        InputError
            If the file holds no mapping.
        """
        data = self.mapping((), self.document.data, known)
        if not isinstance(self.document.data, dict):
            self.finish()
        return data

    def text(self, path: Path_, value: Any, choices: Iterable[str] | None = None) -> str:
        """Return a string, one of `choices` if these are given."""
        if value is None or isinstance(value, dict | list) or not str(value).strip():
            self.fault(path, f"{'.'.join(map(str, path))} must be a text")
            return ""
        text = str(value)
        if choices is not None and text not in (choices := list(choices)):
            hint = nearest(text, choices) or "one of: " + ", ".join(choices)
            self.fault(path, f"{'.'.join(map(str, path))} = '{text}' is not known", hint)
        return text

    def number(self, path: Path_, value: Any, *, above: float = 0.0) -> float:
        """Return a finite number above a bound, or NaN with a fault."""
        name = ".".join(map(str, path))
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fault(path, f"{name} must be a number, not {value!r}")
            return math.nan
        if not math.isfinite(value) or value <= above:
            self.fault(path, f"{name} = {value:g} must be a finite number above {above:g}")
            return math.nan
        return float(value)

    def texts(self, key: str, data: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the texts of an optional list."""
        value = data.get(key) or []
        if not isinstance(value, list):
            self.fault((key,), f"{key} must be a list")
            return ()
        return tuple(self.text((key, i), item) for i, item in enumerate(value))

    def prices(self, data: Mapping[str, Any], *, per: str | None = None) -> tuple[PriceQuote, ...]:
        """Return the price quotes of a profile; without `per`, each says what it pays for."""
        keys = _PRICE_KEYS if per is not None else (*_PRICE_KEYS, "per")
        items = data.get("prices") or []
        if not isinstance(items, list):
            self.fault(("prices",), "prices must be a list")
            return ()
        quotes = []
        for i, value in enumerate(items):
            path = ("prices", i)
            item = self.mapping(path, value, keys)
            if missing := [key for key in keys if key not in item]:
                self.fault(path, f"a price quote lacks {', '.join(missing)}")
                continue
            low = self.number((*path, "low"), item["low"])
            high = self.number((*path, "high"), item["high"])
            if low > high:
                self.fault((*path, "low"), f"low = {low:g} is above high = {high:g}")
            words = ("kind", "currency", "as_of", "source")
            texts = {key: self.text((*path, key), item[key]) for key in words}
            trust = self.text((*path, "confidence"), item["confidence"], CONFIDENCES)
            paid = per or self.text((*path, "per"), item["per"], PRICE_UNITS)
            quotes.append(PriceQuote(low=low, high=high, confidence=trust, per=paid, **texts))
        return tuple(quotes)

    def sourced(self, path: Path_, value: Any, quantity: str) -> Sourced:
        """Return a number with provenance from its full or its short form.

        The full form is a mapping ``{value, unit, source, date, confidence}``; the short form
        is a text such as ``141 GiB``, which is taken as the user's own.
        """
        name = ".".join(map(str, path))
        example = next(unit for unit, (kind, _) in UNITS.items() if kind == quantity and unit)
        if isinstance(value, dict):
            keys = ("value", "unit", "source", "date", "confidence")
            self.mapping(path, value, keys)
            if missing := [key for key in keys if key not in value]:
                self.fault(path, f"{name} lacks {', '.join(missing)}", "every number has a source")
                return Sourced(math.nan, example, "", "", "user")
            unit = str(value["unit"])
            fact = Sourced(
                self.number((*path, "value"), value["value"]),
                unit,
                self.text((*path, "source"), value["source"]),
                self.text((*path, "date"), value["date"]),
                self.text((*path, "confidence"), value["confidence"], CONFIDENCES),
            )
        else:
            match = _QUANTITY.fullmatch(str(value).strip())
            if match is None:
                self.fault(path, f"{name} = {value!r} is no quantity", f"such as 100 {example}")
                return Sourced(math.nan, example, "", "", "user")
            unit = match[4] or ("chips" if quantity == "chips" else "")
            number = self.number(path, float(match[1].replace("_", "")))
            fact = Sourced(number, unit, "user's profile", "", "user")
        if UNITS.get(unit, ("", 0.0))[0] != quantity:
            units = ", ".join(u for u, (kind, _) in UNITS.items() if kind == quantity and u)
            self.fault(path, f"{name} has unit '{unit}'", f"units that fit: {units}")
            return Sourced(math.nan, example, "", "", "user")
        return fact


def read_yaml(path: Path, shown: str | None = None) -> Document:
    """Read one YAML file with line numbers.

    Parameters
    ----------
    path : Path
        File to read, UTF-8.
    shown : str, optional
        Name for messages; the path's own by default.

    Returns
    -------
    Document

    Raises
    ------
    InputError
        If the file is missing, unreadable, no YAML, or repeats a key.
    """
    name = shown or str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise InputError(Issue(f"cannot read {name}: {reason}", file=name)) from error
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or "cannot be parsed"
        mark = getattr(error, "problem_mark", None)
        if "end of stream" in problem:  # an open quote or bracket: where it was opened
            mark = getattr(error, "context_mark", None) or mark
        line = mark.line + 1 if mark is not None else 0
        raise InputError(Issue(f"{name} is not valid YAML: {problem}", "", name, line)) from error
    lines: dict[Path_, int] = {}
    issues: list[Issue] = []
    data = _plain(node, (), lines, issues, name) if node is not None else None
    if issues:
        raise InputError(issues)
    return Document(data, name, lines)


def _plain(node: Any, path: Path_, lines: dict[Path_, int], issues: list[Issue], file: str) -> Any:
    """Turn a YAML node into plain Python data, noting lines and repeated keys."""
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key, line = str(key_node.value), key_node.start_mark.line + 1
            if key in result:
                dotted = ".".join(map(str, (*path, key)))
                issues.append(Issue(f"key '{key}' appears twice", dotted, file, line))
            lines[(*path, key)] = line
            result[key] = _plain(value_node, (*path, key), lines, issues, file)
        return result
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, (*path, i), lines, issues, file) for i, item in enumerate(node.value)]
    return _scalar(node)


def _scalar(node: Any) -> Any:
    """Return a scalar; unlike PyYAML, ``1e-3`` is a number and a date is text."""
    text, kind = node.value, node.tag.rpartition(":")[2]
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in ("true", "yes", "on")
    if kind == "int" and re.fullmatch(r"[-+]?\d[\d_]*", text):
        return int(text)
    if not node.style and _NUMBER.fullmatch(text):
        return float(text.replace("_", ""))
    return text
