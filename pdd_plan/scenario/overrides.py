"""``--set path=value``: changes to a scenario's plain data before it is validated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from pdd_plan.errors import InputError, Issue
from pdd_plan.scenario.quantity import Section
from pdd_plan.scenario.schema import Scenario
from pdd_plan.scenario.services import SharedScenario, beside_services
from pdd_plan.scenario.walk import PathPart, annotations_at, keys_at
from pdd_plan.scenario.yaml_text import parse_value
from pdd_plan.units import nearest

_NAMED = (("sites",), ("sites", "*", "chips"), ("services",))
"""Mappings whose keys the user chooses: an override may not invent one."""


@dataclass
class Overridden:
    """Data with overrides applied.

    Attributes
    ----------
    data : Any
        Plain data; the input is left as it was.
    texts : dict[str, str]
        ``path=value`` as given, by the dotted path it set.
    issues : list[Issue]
        Overrides that could not be applied.
    """

    data: Any
    texts: dict[str, str] = field(default_factory=dict)
    issues: list[Issue] = field(default_factory=list)


class _Refused(Exception):  # noqa: N818 - not an error of the program
    def __init__(self, message: str, help: str) -> None:  # noqa: A002
        super().__init__(message)
        self.help = help


def apply_overrides(data: Any, overrides: Sequence[str]) -> Overridden:
    """Set values at paths.

    Parameters
    ----------
    data : object
        Plain data of a scenario.
    overrides : sequence of str
        Such as ``slo.ttft_p90=8 s`` or ``links.beijing-shanghai.bandwidth=40 Gbps``. Items of
        lists go by position, lines also by ``from-to`` or name, classes and engines also by name.

    Returns
    -------
    Overridden
    """
    result = Overridden(deepcopy(data))
    for text in overrides:
        path, equals, value = text.partition("=")
        place = f"--set {text}"
        parts = [part.strip() for part in path.split(".")]
        if not equals or not all(parts):
            message = f"the override {text!r} is not of the form path=value"
            mend = 'write for example --set "slo.ttft_p90=8 s"'
            result.issues.append(Issue(message, "", place, 0, mend))
            continue
        try:
            real = _set(result.data, parts, parse_value(value.strip()), _root(data))
        except _Refused as refused:
            result.issues.append(Issue(str(refused), path, place, 0, refused.help))
        except InputError as error:
            fault = error.issues[0]
            message = f"the value of {path} cannot be read: {fault.message}"
            result.issues.append(Issue(message, path, place, 0, "quote it, or check its brackets"))
        else:
            result.texts[".".join(map(str, real))] = text
    return result


def real_path(data: Any, path: str) -> tuple[PathPart, ...]:
    """Return the keys and positions that an override's path leads to.

    Parameters
    ----------
    data : object
        Plain data of a scenario; left as it is.
    path : str
        Dotted path, as for `apply_overrides`.

    Raises
    ------
    InputError
        If the scenario has no such place.
    """
    parts = [part.strip() for part in path.split(".")]
    try:
        return _set(deepcopy(data), parts, None, _root(data))
    except _Refused as refused:
        raise InputError(Issue(str(refused), path, help=refused.help)) from None


def _root(data: Any) -> type[Section]:
    return SharedScenario if isinstance(data, Mapping) and "services" in data else Scenario


def _set(data: Any, parts: list[str], value: Any, root: type[Section]) -> tuple[PathPart, ...]:
    """Set one value in place and return the path with names of list items as positions."""
    here: Any = data
    real: tuple[PathPart, ...] = ()
    wrong = beside_services(".".join(parts), data["services"]) if root is SharedScenario else None
    if wrong is not None and parts[0] not in data:
        raise _Refused(*wrong)
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        key: Any = _position(here, part, real) if isinstance(here, list) else part
        if not isinstance(here, dict | list):
            raise _Refused(
                f"{'.'.join(map(str, real)) or 'the scenario'} is one value, so it has no {part}",
                f"set it as a whole: {'.'.join(map(str, real))}={{{part}: ...}}",
            )
        if isinstance(here, dict):
            _check_key(here, part, real, root)
        real = (*real, key)
        if last:
            here[key] = value
        else:
            if isinstance(here, dict) and here.get(key) is None:
                here[key] = {}
            here = here[key]
    return real


def _check_key(
    here: dict[str, Any], part: str, real: tuple[PathPart, ...], root: type[Section]
) -> None:
    if part in here:
        return
    shape = tuple("*" if i % 2 else p for i, p in enumerate(real))
    where = ".".join(map(str, real))
    if shape in _NAMED:
        known = list(here)
    else:
        known = keys_at(root, real, here)
        free = not known and bool(annotations_at(root, real))
        if part in known or free:
            return
    near = nearest(part, known)
    raise _Refused(
        f"{where + '.' if where else ''}{part} is not in the scenario",
        f"did you mean {where + '.' if where else ''}{near}?"
        if near
        else f"known {'below ' + where if where else 'keys'}: {', '.join(known)}",
    )


def _position(items: list[Any], part: str, real: tuple[PathPart, ...]) -> int:
    where = ".".join(map(str, real))
    names = [_name(item) for item in items]
    if part in names:
        if names.count(part) > 1:
            raise _Refused(
                f"{where}.{part} names {names.count(part)} items",
                f"use the position, such as {where}.{names.index(part)}",
            )
        return names.index(part)
    if part.isdigit() and int(part) < len(items):
        return int(part)
    near = nearest(part, [name for name in names if name])
    listed = ", ".join(name for name in names if name) or f"0 to {len(items) - 1}"
    raise _Refused(
        f"{where}.{part} is not in the scenario",
        f"did you mean {where}.{near}?" if near else f"known below {where}: {listed}",
    )


def _name(item: Any) -> str:
    if not isinstance(item, dict):
        return ""
    if "from" in item and "to" in item and not item.get("name"):
        return f"{item['from']}-{item['to']}"
    return str(item.get("name", ""))
