"""Scenarios broken at random: refused with a place and a mend, never with a traceback."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scenario_texts import CLASSES, ENGINES, scenario_text

from pdd_plan.errors import InputError
from pdd_plan.scenario import load_scenario, scenario_from_data, scenario_json_schema
from pdd_plan.scenario.yaml_text import parse_yaml

TAIL = """\
prices: {h200: 4 USD/h}
serving: {handoff: one_shot, handoff_fixed: 0.2 s, min_engines: {decode: 2}}
routing: {by: hit_rate, thresholds: [0, 0.5, 90 %]}
efficiencies: {compute: 0.5, kernel: 4 us, decode_factor: {vllm: 1.1}, host: {vllm: 10 ms}}
optimizer: {load_steps: 5, time_limit: 30 s}
"""
TEXTS = [scenario_text(tail=TAIL), scenario_text(CLASSES, ENGINES + TAIL)]
SCENARIOS = [parse_yaml(text, "").data for text in TEXTS]
SCHEMA = scenario_json_schema()
JUNK: list[Any] = [
    None, True, -1, 0, 1, 1e30, 10**80, float("nan"), float("inf"), "", " ", "x", "28 ms",
    "-5 Gbps", "90 %", "1 USD/h", "1 CNY/h", "64K", "auto", "beijing", "h200", "../x.yaml", [], {},
    [1], ["prefill"], {"a": 1}, {"distribution": "skew"}, {"from": "x", "to": "y"}, [[]], "\u7532",
    {"path": ".", "format": "csv"}, [{"share": 1}], "a.b", "1e999 s", {"relative_to": "h200"},
]  # fmt: skip


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Yield container and key of every value."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        yield data, key
        if isinstance(value, dict | list):
            yield from places(value)


@st.composite
def mutations(draw: st.DrawFn) -> Any:
    """Draw a scenario with one to three values replaced, removed, renamed or repeated."""
    data = copy.deepcopy(draw(st.sampled_from(SCENARIOS)))
    for _ in range(draw(st.integers(1, 3))):
        found = list(places(data))
        parent, key = found[draw(st.integers(0, len(found) - 1))]
        change = draw(st.sampled_from(["replace", "remove", "rename", "repeat"]))
        if change == "replace":
            parent[key] = copy.deepcopy(draw(st.sampled_from(JUNK)))
        elif change == "remove":
            del parent[key]
        elif change == "rename" and isinstance(parent, dict):
            parent[draw(st.sampled_from(["x", "rates", "a.b", "", "h2", "\u7532"]))] = parent.pop(
                key
            )
        elif isinstance(parent, list):
            parent.append(copy.deepcopy(parent[key]))
        if not data:
            break
    return data


def refusal(data: Any, overrides: Sequence[str] = ()) -> InputError | None:
    try:
        scenario_from_data(data, overrides, file="fleet.yaml")
    except InputError as error:
        return error
    return None


@settings(max_examples=150, deadline=None)
@given(mutations())
def test_a_broken_scenario_is_refused_with_path_and_help(data: Any) -> None:
    before = repr(data)
    error = refusal(data)
    assert repr(data) == before
    for issue in error.issues if error is not None else ():
        assert issue.message
        assert issue.help
        assert issue.file
        assert "pydantic" not in issue.message + issue.help


@settings(max_examples=100, deadline=None)
@given(mutations())
def test_what_the_json_schema_refuses_the_loader_refuses(data: Any) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    try:
        plain = json.loads(json.dumps(data, allow_nan=False))
    except ValueError:
        return  # JSON has neither NaN nor infinity
    if not validator.is_valid(plain):
        assert refusal(plain) is not None


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_broken_text_is_refused_with_a_line(data: st.DataObject, tmp_path: Path) -> None:
    text = data.draw(st.sampled_from(TEXTS))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text) - 1))
        length = data.draw(st.integers(0, 12))
        junk = data.draw(
            st.sampled_from(
                [
                    "",
                    ":",
                    "\t",
                    "\n",
                    "-",
                    "{",
                    "]",
                    "'",
                    '"',
                    "&a",
                    "*a",
                    "!x ",
                    "#",
                    "  ",
                    "\u7532",
                    "0",
                    "<<: 1",
                    "? ",
                    "|",
                    "%",
                ]
            )
        )
        text = text[:start] + junk + text[start + length :]
    file = tmp_path / "fleet.yaml"
    file.write_text(text, encoding="utf-8")
    try:
        load_scenario(file)
    except InputError as error:
        for issue in error.issues:
            assert issue.file == str(file)
            assert issue.message
            assert issue.help
            assert 1 <= issue.line <= text.count("\n") + 1 or not text.strip()


@settings(max_examples=150, deadline=None)
@given(
    path=st.lists(
        st.sampled_from(["slo", "sites", "beijing", "chips", "h200", "price", "links", "0", "9",
                         "beijing-shanghai", "rtt", "workload", "mixture", "classes", "long",
                         "hit_rate", "engines", "x", "", " ", "routing", "thresholds", "model"]),
        min_size=1, max_size=6,
    ),
    value=st.sampled_from(["", "1", "28 ms", "[", "{a: 1}", "null", "[1, 2]", "auto", "*x", "\t",
                           "="]),
)  # fmt: skip
def test_any_override_is_applied_or_refused(path: list[str], value: str) -> None:
    override = f"{'.'.join(path)}={value}"
    error = refusal(SCENARIOS[1], overrides=[override])
    issues = () if error is None else error.issues
    assert all(issue.message and issue.help and issue.file for issue in issues)


def test_the_unbroken_ones_load() -> None:
    for data in SCENARIOS:
        assert refusal(data) is None


@pytest.mark.long
@settings(max_examples=5000, deadline=None)
@given(mutations())
def test_many_broken_scenarios(data: Any) -> None:
    error = refusal(data)
    assert error is None or all(issue.message and issue.help for issue in error.issues)
