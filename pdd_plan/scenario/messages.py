"""Validation errors as issues: what is wrong with which value, and a value that works."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from pdd_plan.scenario.quantity import Section
from pdd_plan.scenario.walk import PathPart, field_at, keys_at, kinds, sections_at
from pdd_plan.units import nearest, show_value

Fault = tuple[str, str, str]
"""Dotted path, message, help."""


def dotted(path: Sequence[PathPart]) -> str:
    """Return a path of keys and positions as dotted text."""
    return ".".join(map(str, path))


def faults_of(error: ValidationError, data: Any, root: type[Section]) -> list[Fault]:
    """Return what a validation error says, one fault for each thing that is wrong.

    Parameters
    ----------
    error : ValidationError
        From validating `data` against `root`.
    data : object
        Plain data.
    root : type
        The section validated against.
    """
    found = [_fault(item, data, root) for item in error.errors(include_url=False)]
    return list(dict.fromkeys(found))


def _fault(item: Mapping[str, Any], data: Any, root: type[Section]) -> Fault:
    kind, context = item["type"], item.get("ctx", {})
    path, value, parent = _locate(item["loc"], data, kind)
    if kind == "scenario":
        if context["key"]:
            path = (*path, *context["key"].split("."))
        message = str(context["message"])
        glue = "" if message.startswith((":", " ")) else " = "
        where = dotted(path) if path else "the scenario"
        return dotted(path), f"{where}{glue}{message}", context["help"]
    if kind == "missing":
        return _missing(path, parent, root)
    if kind == "extra_forbidden":
        return _unknown_key(path, parent, root)
    if kind.startswith("union_tag"):
        return _no_kind(path, value, root)
    words, mend = _describe(kind, value, context)
    where = dotted(path) or "the scenario"
    if item["loc"] and item["loc"][-1] == "[key]":
        return dotted(path), f"the name {path[-1]} {words}", mend
    if kind == "literal_error" and path == ("engines",):
        mend = "write engines: auto, or a list of shapes such as [{chip: h200, chips: 8}]"
    field = field_at(root, path)
    if field is not None and field.examples and (not mend or kind in _FORMS):
        mend = f"write for example {path[-1]}: {field.examples[0]}"
    if value is None:
        return dotted(path), f"{where} is empty", mend or _FORMS.get(kind, "") or "remove the key"
    if isinstance(value, dict | list) and words == "is empty":
        return dotted(path), f"{where} is empty", mend or "see pdd-plan schema"
    return dotted(path), f"{where} = {show_value(value)} {words}", mend or "see pdd-plan schema"


def _locate(
    location: Sequence[PathPart], data: Any, kind: str
) -> tuple[tuple[PathPart, ...], Any, Any]:
    """Return path, value and parent; parts that only name a branch of a union drop out."""
    path: tuple[PathPart, ...] = ()
    value, parent = data, None
    for i, part in enumerate(location):
        is_key = isinstance(value, dict) and part in value
        is_item = isinstance(value, list) and isinstance(part, int) and part < len(value)
        if is_key or is_item:
            parent, value = value, value[part]
            path = (*path, part)
        elif kind == "missing" and i == len(location) - 1:
            return (*path, part), None, value
    return path, value, parent


def _missing(path: Sequence[PathPart], parent: Any, root: type[Section]) -> Fault:
    key = path[-1]
    field = field_at(root, path, parent)
    mend = f"add {key}"
    if field is not None and field.examples:
        mend = f"add {key}: {field.examples[0]}"
    near = nearest(str(key), _odd_keys(path, parent, root))
    if near:
        mend = f"rename {near} to {key}, or {mend}"
    return dotted(path), f"{dotted(path)} is missing", mend


def _odd_keys(path: Sequence[PathPart], parent: Any, root: type[Section]) -> list[str]:
    known = keys_at(root, path[:-1], parent)
    return [key for key in parent if key not in known] if isinstance(parent, dict) else []


def _unknown_key(path: Sequence[PathPart], parent: Any, root: type[Section]) -> Fault:
    key = str(path[-1])
    known = keys_at(root, path[:-1], parent)
    near = nearest(key, known)
    where = f" in {dotted(path[:-1])}" if len(path) > 1 else ""
    mend = f"did you mean {near}?" if near else f"known keys are {', '.join(known)}"
    if near and isinstance(parent, dict) and near in parent:
        mend = f"{near} is there already; remove {key}, or use one of {', '.join(known)}"
    return dotted(path), f"unknown key {key}{where}", mend


def _no_kind(path: Sequence[PathPart], value: Any, root: type[Section]) -> Fault:
    known = kinds(sections_at(root, path))
    given = value.get("distribution") if isinstance(value, dict) else None
    if given is None:
        message = f"{dotted(path)} does not say its distribution"
        return dotted(path), message, f"add distribution: {' | '.join(known)}, or give one value"
    near = nearest(str(given), known)
    where = dotted((*path, "distribution"))
    mend = f"did you mean {near}? " if near else ""
    message = f"{where} = {show_value(given)} is not known"
    return where, message, f"{mend}known are {', '.join(known)}"


def _describe(kind: str, value: Any, context: Mapping[str, Any]) -> tuple[str, str]:
    """Return the words that follow ``path = value``, and the help."""
    describe = _WORDS.get(kind)
    words, mend = describe(value, context) if describe else (f"is not allowed ({kind})", "")
    return words, mend or _FORMS.get(kind, "")


_FORMS = {
    "tuple_type": "write a list: [a, b], or lines that begin with -",
    "frozen_set_type": "write a list: [a, b], or lines that begin with -",
    "model_type": "write a mapping: {key: value}, or indented lines key: value",
    "dict_type": "write a mapping: {key: value}, or indented lines key: value",
}


def _literal(value: Any, context: Mapping[str, Any]) -> tuple[str, str]:
    known = [w.strip().strip("'") for w in context["expected"].replace(" or ", ", ").split(",")]
    near = nearest(str(value), known)
    options = known[0] if len(known) == 1 else f"one of {', '.join(known)}"
    return f"is not {options}", (f"did you mean {near}?" if near else f"write {options}")


def _whole(value: Any, _: Mapping[str, Any]) -> tuple[str, str]:
    try:
        number = float(str(value).split()[0])
        quoted = isinstance(value, str) and number == round(number)
        words = "is text, not a whole number" if quoted else "is not a whole number"
        return words, f"write {round(number)}" + (" without quotes" if quoted else "")
    except (ValueError, IndexError, OverflowError):
        return "is not a whole number", ""


def _boolean(value: Any, _: Mapping[str, Any]) -> tuple[str, str]:
    meant = {"yes": "true", "on": "true", "1": "true"}.get(str(value).lower())
    meant = meant or {"no": "false", "off": "false", "0": "false"}.get(str(value).lower())
    return "is not true or false", f"write {meant or 'true or false'}"


def _text(value: Any, _: Mapping[str, Any]) -> tuple[str, str]:
    return "is not text", f'write "{value}"' if isinstance(value, int | float | bool) else ""


def _plain(words: str, mend: str = "") -> Callable[[Any, Mapping[str, Any]], tuple[str, str]]:
    return lambda _, __: (words, mend)


def _bound(words: str, key: str) -> Callable[[Any, Mapping[str, Any]], tuple[str, str]]:
    return lambda _, c: (f"must be {words} {c[key]:,}", f"write {c[key]} or another whole number")


_WORDS: dict[str, Callable[[Any, Mapping[str, Any]], tuple[str, str]]] = {
    "literal_error": _literal,
    "int_type": _whole,
    "int_from_float": _whole,
    "bool_type": _boolean,
    "string_type": _text,
    "tuple_type": _plain("is not a list"),
    "frozen_set_type": _plain("is not a list"),
    "model_type": _plain("is not a mapping of keys to values"),
    "dict_type": _plain("is not a mapping of keys to values"),
    "greater_than_equal": _bound("at least", "ge"),
    "less_than_equal": _bound("at most", "le"),
    "too_short": _plain("is empty"),
    "string_too_short": _plain("is empty"),
    "string_too_long": lambda _, c: (
        f"is longer than {c['max_length']} characters",
        "use a shorter one",
    ),
}


def _pattern(_: Any, context: Mapping[str, Any]) -> tuple[str, str]:
    if context["pattern"] == r"^[A-Z]{3}$":
        return "is not a three-letter currency code", "write for example USD, CNY or EUR"
    return (
        "is not allowed",
        "use letters, digits, _, - and spaces, at most 64, beginning with a letter or digit",
    )


_WORDS["string_pattern_mismatch"] = _pattern
