"""Reads a scenario file, reports everything that is wrong in it, and returns the scenario."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pdd_plan.errors import InputError, Issue
from pdd_plan.scenario.checks import check_parts, price_help
from pdd_plan.scenario.files import content_hash, find_scenario, named_files, read_text
from pdd_plan.scenario.messages import Fault, faults_of
from pdd_plan.scenario.overrides import apply_overrides
from pdd_plan.scenario.parts import Parts
from pdd_plan.scenario.schema import SCHEMA_VERSION, Scenario
from pdd_plan.scenario.services import (
    SharedScenario,
    attach_scenarios,
    check_shared,
    fault_of_service,
    service_data,
    top_level_fault,
)
from pdd_plan.scenario.source import SourceMap
from pdd_plan.scenario.uncertain import check_uncertainty
from pdd_plan.scenario.yaml_text import Document, parse_yaml
from pdd_plan.units import show_value

Question = Scenario | SharedScenario
"""What a scenario file holds: one service, or several that share a fleet."""


def load_scenario(path: str | Path, overrides: Sequence[str] = ()) -> Scenario:
    """Read, override, validate and check a scenario of one service.

    Parameters
    ----------
    path : str or Path
        YAML file, or the name of a scenario that ships with the package.
    overrides : sequence of str
        ``path=value`` changes, applied before validation.

    Returns
    -------
    Scenario
        In SI units, with `Scenario.source` set; paths stay relative to the file's folder.

    Raises
    ------
    InputError
        With every issue found, in file order; those of overrides come last. Also where the file
        has several services.
    """
    return of_one_service(load_question(path, overrides))


def load_question(path: str | Path, overrides: Sequence[str] = ()) -> Question:
    """Read, override, validate and check a scenario of one service or of several.

    Parameters
    ----------
    path, overrides
        As for `load_scenario`.

    Returns
    -------
    Scenario or SharedScenario
        The latter where the file has ``services``.

    Raises
    ------
    InputError
        With every issue found, in file order; those of overrides come last.
    """
    found = find_scenario(path)
    document = parse_yaml(read_text(found), str(found))
    return _build(document, str(found), found.stem, overrides)


def of_one_service(question: Question, what: str = "this") -> Scenario:
    """Return a scenario that is of one service.

    Parameters
    ----------
    question : Scenario or SharedScenario
        As loaded.
    what : str
        What works on one service alone, for the message.

    Raises
    ------
    InputError
        If it has several services.
    """
    if isinstance(question, Scenario):
        return question
    raise InputError(
        question.source.issue(
            "services",
            f"{question.name} has several services, and {what} works on one",
            "optimize, evaluate, compare, sweep, breakeven, simulate and report take several",
        )
    )


def question_from_data(
    data: Mapping[str, Any],
    overrides: Sequence[str] = (),
    file: str = "",
    name: str = "scenario",
) -> Question:
    """Build a scenario of one service or of several; parameters as for `scenario_from_data`."""
    return _build(Document(dict(data)), file, name, overrides)


def scenario_from_data(
    data: Mapping[str, Any],
    overrides: Sequence[str] = (),
    file: str = "",
    name: str = "scenario",
) -> Scenario:
    """Build a scenario from plain data of the YAML's shape.

    Parameters
    ----------
    data : Mapping[str, Any]
        Keys and values as a file has them.
    overrides : sequence of str
        ``path=value`` changes.
    file : str
        File that the data belongs to: relative paths start in its folder.
    name : str
        Name, unless the data has one.

    Returns
    -------
    Scenario

    Raises
    ------
    InputError
        With every issue found.
    """
    return of_one_service(question_from_data(data, overrides, file, name))


def _build(document: Document, file: str, name: str, overrides: Sequence[str]) -> Question:
    if not isinstance(document.data, dict):
        raise InputError([*document.issues, _not_a_mapping(document, file)])
    changed = apply_overrides(document.data, overrides)
    lines = dict(document.lines)
    sha256 = _sha256(changed.data, named_files(changed.data, Path(file).parent))
    data = changed.data
    data.setdefault("name", name)
    written = deepcopy(data)
    _share_prices(data, lines)
    source = SourceMap(file, sha256, lines, changed.texts, written)
    scenario, faults = _validate(data, Path(file).parent)
    issues = [*document.issues, *changed.issues]
    told = {issue.path for issue in document.issues if issue.path}
    issues += [source.issue(*fault) for fault in faults if fault[0] not in told]
    if issues or scenario is None:
        raise InputError(_in_order(issues, lines, overrides))
    if isinstance(scenario, SharedScenario):
        attach_scenarios(scenario, data, _context(data), source)
    else:
        scenario._source = source
    return scenario


def _not_a_mapping(document: Document, file: str) -> Issue:
    what = show_value(document.data) if document.data is not None else "nothing but comments"
    return Issue(
        f"the scenario is {what}, not a mapping of keys to values",
        "",
        file,
        document.lines.get("", 1),
        "begin with schema_version: 1; pdd-plan init writes a starter",
    )


def _share_prices(data: dict[str, Any], lines: dict[str, int]) -> None:
    """Put the top-level prices into the chip entries that have none of their own."""
    prices, sites = data.get("prices"), data.get("sites")
    if not isinstance(prices, dict) or not isinstance(sites, dict):
        return
    for site_name, site in sites.items():
        chips = site.get("chips") if isinstance(site, dict) else None
        for chip_name, offer in chips.items() if isinstance(chips, dict) else ():
            if isinstance(offer, dict) and "price" not in offer and chip_name in prices:
                offer["price"] = prices[chip_name]
                path = f"sites.{site_name}.chips.{chip_name}.price"
                lines[path] = lines.get(f"prices.{chip_name}", 0)


def _sha256(data: Any, files: Sequence[Path]) -> str:
    """Hash the data after overrides, and the content of every file it names."""
    content = {"scenario": data, "files": [content_hash(path) for path in files]}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _context(data: Mapping[str, Any]) -> dict[str, Any]:
    currency = data.get("currency")
    return {"currency": currency if _is_currency(currency) else "USD"}


def _validate(data: dict[str, Any], folder: Path) -> tuple[Question | None, list[Fault]]:
    version = data.get("schema_version")
    if isinstance(version, int) and not isinstance(version, bool) and version > SCHEMA_VERSION:
        message = f"schema_version = {version} is newer than this pdd-plan, which reads 1"
        return None, [("schema_version", message, "upgrade pdd-plan, or write schema_version: 1")]
    if "services" in data:
        return _validate_shared(data, folder)
    context = _context(data)
    faults: list[Fault] = []
    scenario = None
    try:
        scenario = Scenario.model_validate(data, context=context)
        parts = Parts.of_scenario(scenario, folder)
    except ValidationError as error:
        faults = [_with_quotes(f, data) for f in faults_of(error, data, Scenario)]
        parts = Parts.of_data(data, context, folder)
    known = {path for path, _, _ in faults}
    checked = (*check_parts(parts), *check_uncertainty(data, context["currency"]))
    faults += [fault for fault in checked if fault[0] not in known]
    return scenario, faults


def _validate_shared(
    data: dict[str, Any], folder: Path
) -> tuple[SharedScenario | None, list[Fault]]:
    """Validate several services: the file as a whole, then each with the fleet."""
    context = _context(data)
    faults: list[Fault] = []
    shared = None
    try:
        shared = SharedScenario.model_validate(data, context=context)
    except ValidationError as error:
        found = faults_of(error, data, SharedScenario)
        faults = [top_level_fault(_with_quotes(f, data), data["services"]) for f in found]
    known = {path for path, _, _ in faults}
    services = data["services"] if isinstance(data["services"], dict) else {}
    for name, service in services.items():
        if isinstance(service, dict):
            parts = Parts.of_data(service_data(data, service), context, folder)
            found = check_shared(name, parts)
            found += [fault_of_service(name, fault) for fault in check_parts(parts)]
            faults += [fault for fault in found if fault[0] not in known and fault not in faults]
    return shared, faults


def _with_quotes(fault: Fault, data: dict[str, Any]) -> Fault:
    """Name the quotes that the catalog knows where a chip's price is missing."""
    path, message, _ = fault
    keys = path.split(".")
    if not (len(keys) == 5 and keys[4] == "price" and message.endswith(" is missing")):
        return fault
    offer = data["sites"][keys[1]]["chips"][keys[3]]
    chip = offer.get("profile") or keys[3]
    return path, message, price_help(str(chip), str(data.get("currency", "USD")))


def _is_currency(value: object) -> bool:
    return isinstance(value, str) and len(value) == 3 and value.isascii() and value.isupper()


def _in_order(
    issues: Sequence[Issue], lines: Mapping[str, int], overrides: Sequence[str]
) -> list[Issue]:
    order = {path: i for i, path in enumerate(lines)}
    given = {f"--set {text}": 1 + i for i, text in enumerate(overrides)}

    def place(path: str) -> int:
        while path and path not in order:
            path = path.rpartition(".")[0]
        return order.get(path, -1)

    def key(issue: Issue) -> tuple[int, int, int]:
        return given.get(issue.file, 0), issue.line, place(issue.path)

    return sorted(dict.fromkeys(issues), key=key)
