"""The scenario reference, made from the schema: key, unit, default, bounds and meaning.

``python -m pdd_plan.scenario.reference > docs/scenario-reference.md`` writes it anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from pdd_plan.scenario.quantity import AlsoWritten, Quantity, Section, number_text
from pdd_plan.scenario.schema import Scenario, Service
from pdd_plan.scenario.services import SharedScenario
from pdd_plan.scenario.walk import fields_of, members, metadata_of, quantity_of
from pdd_plan.units import DIMENSIONS, HOURS_PER_MONTH, units_of

_INTRODUCTION = f"""\
# Scenario reference

One YAML file describes a planning question. This page is made from the schema
(`python -m pdd_plan.scenario.reference`); `pdd-plan schema scenario` prints the same as JSON
Schema, which editors use for completion, and `pdd-plan init` writes a scenario to start from.

- Relative paths start at the folder of the scenario file.
- A quantity is a number with its unit (`20 Gbps`, `28 ms`, `90 %`) or a bare number in the unit
  that the table names. Unit names are case-sensitive: `Gb` is bits, `GB` is bytes.
- `k`, `M`, `G`, `T` are powers of 1,000 and `Ki`, `Mi`, `Gi`, `Ti` powers of 1,024: `64k tokens` is
  64,000, `64Ki tokens` is 65,536. A capital `K` is refused, since it is used for both.
- A month is {HOURS_PER_MONTH:g} hours.
- Prices are in `currency`; `USD` below stands for it. No price is ever assumed.
- Only `true` and `false` are booleans; `on`, `off`, `yes` and `no` are text. `1e-3` is a number.
- `--set path=value` changes a value before validation: `--set "slo.ttft_p90=8 s"`. Items of lists
  go by position from 0, lines also as `links.<from>-<to>`, all also by `name`.
- With several services, `model`, `workload` and what else a service has of its own stand below
  `services.<name>` instead of at the top; the paths below are those of a file of one service.
- Every error is reported at once, with file, line and a value that works.
"""


def reference_markdown() -> str:
    """Return the scenario reference as Markdown.

    Returns
    -------
    str
        One table a section of the file, and one of units.
    """
    parts = [_INTRODUCTION]
    for section, paths in _sections().items():
        parts.append(_section(section, paths))
    parts.append(_units())
    return "\n".join(parts)


def _sections() -> dict[type[Section], list[str]]:
    """Return all sections with the paths at which they stand, in order of appearance.

    What stands below a service is listed at its place in a file without services.
    """
    found: dict[type[Section], list[str]] = {}

    def visit(section: type[Section], path: str) -> None:
        paths = found.setdefault(section, [])
        if path in paths:
            return
        paths.append(path)
        for key, field in fields_of(section).items():
            for inner, tail in _inner(field.annotation, ""):
                visit(inner, f"{path}.{key}{tail}" if path else f"{key}{tail}")

    visit(Scenario, "")
    # What a service has of its own stands in a table above already.
    for section, path in ((SharedScenario, ""), (Service, "services.<name>")):
        found[section] = [path]
    return found


def _inner(annotation: Any, tail: str) -> Iterator[tuple[type[Section], str]]:
    for member in members(annotation):
        args = get_args(member)
        if isinstance(member, type) and issubclass(member, Section):
            yield member, tail
        elif get_origin(member) is dict:
            yield from _inner(args[1], f"{tail}.<name>")
        elif get_origin(member) in (tuple, frozenset):
            yield from _inner(args[0], f"{tail}.<n>")


def _section(section: type[Section], paths: list[str]) -> str:
    where = ", ".join(f"`{path}`" for path in paths if path)
    lines = [f"## {_heading(section)}", ""]
    if where:
        lines += [f"At {where}.", ""]
    lines += [
        cleandoc(section.__doc__ or ""),
        "",
        "| key | value | default | allowed | meaning |",
        "|---|---|---|---|---|",
    ]
    for key, field in fields_of(section).items():
        cells = (f"`{key}`", _value(field), _default(key, field), _allowed(field))
        lines.append(f"| {' | '.join(cells)} | {field.description} |")
    return "\n".join([*lines, ""])


def _heading(section: type[Section]) -> str:
    names = {Scenario: "The file", SharedScenario: "The file of several services"}
    return names.get(section, section.__name__)


def _anchor(section: type[Section]) -> str:
    return f"[{_heading(section)}](#{_heading(section).lower().replace(' ', '-')})"


def _unit_text(quantity: Quantity) -> str:
    title = DIMENSIONS[quantity.dimension].title.removeprefix("a ").removeprefix("an ")
    return title if quantity.unit == "1" else f"{title}; bare: {quantity.unit}"


def _value(field: FieldInfo) -> str:
    quantity = quantity_of(field)
    if quantity is not None:
        return _unit_text(quantity)
    words = list(dict.fromkeys(_kinds(field.annotation)))
    short = next((m for m in field.metadata if isinstance(m, AlsoWritten)), None)
    if short is not None:
        words.insert(0, _short(short, field))
    return " or ".join(dict.fromkeys(word for word in words if word))


def _short(short: AlsoWritten, field: FieldInfo) -> str:
    if isinstance(short.short, Quantity):
        return _unit_text(short.short)
    if short.short == "count":
        return "whole number"
    if short.short == "text":
        return "text"
    items = [get_args(m)[0] for m in members(field.annotation) if get_origin(m) is tuple]
    return " or ".join(word for item in items for word in _kinds(item))


def _kinds(annotation: Any) -> Iterator[str]:
    names = {int: "whole number", bool: "true or false", str: "text", float: "number"}
    for member in members(annotation):
        origin, args = get_origin(member), get_args(member)
        if origin is Literal:
            yield ", ".join(f"`{value}`" for value in args)
        elif origin is dict:
            yield f"mapping of names to {_item(args[1])}"
        elif origin in (tuple, frozenset):
            yield f"list of {_item(args[0])}"
        elif member is Any:
            yield "number or quantity"
        elif isinstance(member, type) and issubclass(member, Section):
            yield _anchor(member)
        else:
            yield names[member]


def _item(annotation: Any) -> str:
    quantity = next((m for m in metadata_of(annotation) if isinstance(m, Quantity)), None)
    if quantity is not None:
        return _unit_text(quantity)
    return " or ".join(_kinds(annotation))


def _default(key: str, field: FieldInfo) -> str:
    if key == "name" and field.is_required():
        return "the file's name"
    if field.is_required():
        return "required"
    value = field.default
    if field.default_factory is not None or value == ():
        inner = [section for section, _ in _inner(field.annotation, "")]
        section = value != () and field.default_factory is not dict and inner
        return "as there" if section else "empty"
    if value is None:
        return "none"
    quantity = quantity_of(field)
    if quantity is not None and isinstance(value, float):
        if quantity.unit == "1":
            return f"{value:g}"
        size = 1.0 if quantity.in_unit else units_of(quantity.dimension)[quantity.unit]
        return f"{value / size:.12g} {quantity.unit}"
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{shown}`" if shown else "empty"


def _allowed(field: FieldInfo) -> str:
    quantity = quantity_of(field)
    if quantity is not None:
        return quantity.bounds()
    words = []
    for item in [*field.metadata, *metadata_of(field.annotation)]:
        for name, sign in (("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<=")):
            bound = getattr(item, name, None)
            if isinstance(bound, int | float) and not isinstance(item, Quantity):
                words.append(f"{sign} {number_text(bound)}")
    return " and ".join(dict.fromkeys(words))


def _units() -> str:
    lines = [
        "## Units",
        "",
        "A bare number is in the unit that the tables above name.",
        "",
        "| quantity | units | example |",
        "|---|---|---|",
    ]
    lines += [f"| {d.title} | {d.accepts} | `{d.example}` |" for d in DIMENSIONS.values()]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    print(reference_markdown(), end="")
