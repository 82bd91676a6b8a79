"""JSON Schema of a scenario as it is written, for editors and other tools."""

from __future__ import annotations

import re
from typing import Any

from pydantic.json_schema import models_json_schema

from pdd_plan.scenario.schema import Scenario
from pdd_plan.scenario.services import SharedScenario
from pdd_plan.units import DIMENSIONS, units_of

_NUMBER = r"(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?"


def scenario_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a scenario file.

    Returns
    -------
    dict
        One of two forms, by whether the file has ``services``. Quantities are numbers in the
        unit ``x-unit``, or text with a unit. Checks across keys
        (shares that sum to 1, names that match) are the loader's.
    """
    _, schema = models_json_schema(
        [(Scenario, "validation"), (SharedScenario, "validation")], by_alias=True
    )
    _tidy(schema)
    definitions = schema["$defs"]
    for name, key in (("Scenario", "name"), ("SharedScenario", "name"), ("ChipOffer", "price")):
        section = definitions[name]
        section["required"] = [other for other in section["required"] if other != key]
    definitions |= {f"quantity_{name}": _text(name) for name in sorted(_refer(schema))}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pdd-plan scenario",
        "if": {"required": ["services"]},
        "then": {"$ref": "#/$defs/SharedScenario"},
        "else": {"$ref": "#/$defs/Scenario"},
    } | schema


def _tidy(node: Any) -> None:
    """Drop generated titles; write defaults of quantities with their unit."""
    if isinstance(node, list):
        for item in node:
            _tidy(item)
    if not isinstance(node, dict):
        return
    properties = node.get("properties")
    if isinstance(properties, dict):
        for field in properties.values():
            field.pop("title", None)
            _write_default(field)
    node.pop("discriminator", None)
    for value in node.values():
        _tidy(value)


def _write_default(field: dict[str, Any]) -> None:
    default = field.get("default")
    unit, dimension = field.get("x-unit"), field.get("x-dimension")
    if unit is None or dimension is None or isinstance(default, str | None):
        return
    size = 1.0 if unit == "1" else units_of(dimension)[unit]
    field["default"] = float(f"{default / size:.12g}")


def _refer(node: Any) -> set[str]:
    """Let quantities refer to the text form of their dimension; return the dimensions."""
    if isinstance(node, list):
        return set().union(*(_refer(item) for item in node))
    if not isinstance(node, dict):
        return set()
    found = set().union(*(_refer(value) for value in node.values()))
    dimension = node.get("x-dimension")
    if isinstance(dimension, str):
        reference = {"$ref": f"#/$defs/quantity_{dimension}"}
        forms = node["anyOf"]
        node["anyOf"] = [reference if form == {"type": "string"} else form for form in forms]
        found.add(dimension)
    return found


def _text(dimension: str) -> dict[str, Any]:
    """Return the schema of a quantity with its unit."""
    found = DIMENSIONS[dimension]
    names = sorted(units_of(dimension), key=len, reverse=True)
    units = "|".join(_unit_pattern(name) for name in names)
    sign = "[+-]?" if dimension == "factor" else r"\+?"
    return {
        "type": "string",
        "description": f"{found.title[0].upper()}{found.title[1:]} with its unit.",
        "pattern": rf"^\s*{sign}{_NUMBER}\s*({units})\s*$",
        "examples": [found.example],
    }


def _unit_pattern(name: str) -> str:
    escaped = re.sub(r"([.^$*+?()\[\]{}|])", r"\\\1", name).replace(" ", r"\s*")
    return escaped.replace("USD", "[A-Z]{3}").replace("/", r"\s*(/|per|-)\s*")
