"""Scenarios of several services: what they become, and what is refused."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pdd_plan.errors import InputError, Issue
from pdd_plan.scenario import (
    SharedScenario,
    load_question,
    load_scenario,
    question_from_data,
    scenario_from_data,
    scenario_json_schema,
)
from pdd_plan.scenario.yaml_text import parse_yaml

TEXT = """\
schema_version: 1
name: both
services:
  chat:
    model: llama-3.1-70b
    precision: {weights: fp8, kv_cache: fp8}
    workload:
      rate: 10 req/s
      mixture: {input_tokens: 2k tokens, hit_rate: 50 %, output_tokens: 300}
    slo: {ttft_p90: 2 s}
  agent:
    model: minimax-m2
    precision: {weights: fp8, kv_cache: bf16}
    workload:
      rate: 11 req/s
      mixture: {input_tokens: 24k tokens, hit_rate: 90 %, output_tokens: 900}
    slo: {ttft_p90: 1.2 s}
    routing: {threshold: 50 %}
sites:
  beijing:
    roles: [prefill, relay, decode]
    chips:
      h200: {available: 128, price: 4.88 USD/h}
  shanghai:
    roles: [decode]
    chips:
      h20: {available: 256, price: 1.06 USD/h}
links:
  - from: beijing
    to: shanghai
    bandwidth: {min: 20 Gbps, max: 100 Gbps, step: 10 Gbps}
    price: 800 USD/Gbps/month
    rtt: 28.6 ms
"""


def data_of(text: str = TEXT) -> dict[str, Any]:
    data = parse_yaml(text, "").data
    assert isinstance(data, dict)
    return data


def shared(*overrides: str) -> SharedScenario:
    found = question_from_data(data_of(), overrides)
    assert isinstance(found, SharedScenario)
    return found


def refused(text: str, tmp_path: Path, *overrides: str) -> tuple[Issue, ...]:
    file = tmp_path / "both.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        load_question(file, overrides)
    return error.value.issues


def test_every_service_is_a_scenario_with_the_whole_fleet() -> None:
    scenarios = shared().scenarios
    assert list(scenarios) == ["chat", "agent"]
    assert [one.model for one in scenarios.values()] == ["llama-3.1-70b", "minimax-m2"]
    assert scenarios["agent"].routing.threshold == 0.5
    assert scenarios["chat"].sites == scenarios["agent"].sites == shared().sites
    assert scenarios["chat"].name == "both: chat"


def test_parts_of_a_line_are_multiples_of_its_step() -> None:
    parts = shared().scenarios["chat"].links[0].bandwidth.levels()
    assert parts == pytest.approx([10e9 / 8 * n for n in range(1, 11)])


def test_a_line_of_one_size_is_divided_in_tenths() -> None:
    parts = shared("links.0.bandwidth=40 Gbps").scenarios["chat"].links[0].bandwidth.levels()
    assert parts == pytest.approx([4e9 / 8 * n for n in range(1, 11)])
    own = shared("links.0.bandwidth={min: 40 Gbps, max: 40 Gbps, step: 20 Gbps}")
    assert len(own.scenarios["chat"].links[0].bandwidth.levels()) == 2


def test_a_service_alone_is_the_scenario_of_one() -> None:
    """But for the sizes of lines, which are parts."""
    data = data_of()
    chat = data.pop("services")["chat"]
    one = scenario_from_data({**data, **chat})
    other = shared().scenarios["chat"]
    assert one.model_dump(exclude={"name", "links"}) == other.model_dump(exclude={"name", "links"})


def test_overrides_reach_into_services() -> None:
    found = shared("services.chat.slo.ttft_p90=3 s", "sites.beijing.chips.h200.available=64")
    assert found.scenarios["chat"].slo.ttft_p90 == 3.0
    assert found.scenarios["agent"].slo.ttft_p90 == 1.2
    assert found.scenarios["agent"].sites["beijing"].chips["h200"].available == 64
    assert found.source.sha256 != shared().source.sha256


def test_an_issue_of_a_service_stands_at_its_line(tmp_path: Path) -> None:
    file = tmp_path / "both.yaml"
    file.write_text(TEXT, encoding="utf-8")
    found = load_question(file)
    assert isinstance(found, SharedScenario)
    issue = found.scenarios["agent"].source.issue("slo.ttft_p90", "too low")
    assert (issue.line, issue.file) == (17, str(file))
    issue = found.scenarios["agent"].source.issue("serving", "none")
    assert issue.line == 11


def test_prices_at_the_top_are_those_of_all_services() -> None:
    data = data_of()
    del data["sites"]["beijing"]["chips"]["h200"]["price"]
    data["prices"] = {"h200": "5 USD/h"}
    found = question_from_data(data)
    assert isinstance(found, SharedScenario)
    for scenario in found.scenarios.values():
        assert scenario.sites["beijing"].chips["h200"].usd_per_chip_hour == 5.0


def test_a_scenario_of_one_service_is_as_before(tmp_path: Path) -> None:
    data = data_of()
    chat = data.pop("services")["chat"]
    assert question_from_data({**data, **chat}) == scenario_from_data({**data, **chat})
    with pytest.raises(InputError, match="both has several services, and this works on one"):
        scenario_from_data(data_of())
    file = tmp_path / "both.yaml"
    file.write_text(TEXT, encoding="utf-8")
    with pytest.raises(InputError) as error:
        load_scenario(file)
    assert error.value.issues[0].line == 3


WRONG = [
    ("model: llama-3.1-70b", "model: llama-3.1-70", "services.chat.model: unknown model"),
    ("    model: llama-3.1-70b\n", "", "services.chat.model is missing"),
    ("rate: 10 req/s", "rate: 10 Gbps", "services.chat.workload.rate = 10 Gbps"),
    ("rate: 10 req/s", "rate: 0 req/s", "services.chat.workload.rate = 0 req/s must be above"),
    ("rate: 10 req/s", "rate: .inf", "services.chat.workload.rate = "),
    ("ttft_p90: 2 s", "ttft_p90: -2 s", "services.chat.slo.ttft_p90 = -2 s must be above"),
    ("      rate: 10 req/s\n", "", "services.chat.workload.rate is missing"),
    ("    slo: {ttft_p90: 2 s}", "    slow: {ttft_p90: 2 s}", "unknown key slow in services.chat"),
    ("{threshold: 50 %}", "{between: prefill}", "between = prefill is planned for one service"),
    ("min: 20 Gbps", "min: 25 Gbps", "min = 25 Gbps is to"),
    ("name: both\n", "name: both\nmodel: minimax-m2\n", "model stands beside services"),
    ("name: both\n", "name: both\nbudget: 9 USD/h\n", "budget is for one service"),
    ("name: both\n", "name: both\nobjective: goodput\n", 'objective = "goodput"'),
    ("to: shanghai", "to: shangai", "links.0.to = shangai is not a site"),
    ("kv_cache: bf16}", "kv_cache: bf17}", "services.agent.precision.kv_cache"),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG, ids=[case[2] for case in WRONG])
def test_what_is_wrong_is_said_where_it_is(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    text = TEXT.replace(old, new, 1)
    assert text != TEXT
    if message.startswith("min = 25"):
        text = text.replace("max: 100 Gbps", "max: 105 Gbps")
        message = "min = 25 Gbps is no multiple of step = 10 Gbps"
    issues = refused(text, tmp_path)
    found = [issue for issue in issues if message in issue.message]
    assert found, [issue.message for issue in issues]
    assert found[0].line > 0
    assert found[0].help


@pytest.mark.parametrize("value", ["[]", "{}", "3", "null", "{chat: 3}", "{chat: {}}", "text"])
def test_services_that_are_no_services_are_refused(value: str, tmp_path: Path) -> None:
    issues = refused(TEXT, tmp_path, f"services={value}")
    assert all(issue.path.startswith("services") for issue in issues)


def test_all_faults_of_all_services_come_at_once(tmp_path: Path) -> None:
    text = TEXT
    for old, new, _ in WRONG[:1] + WRONG[3:4] + WRONG[8:10] + WRONG[13:15]:
        text = text.replace(old, new, 1)
    text = text.replace("max: 100 Gbps", "max: 105 Gbps")
    issues = refused(text, tmp_path)
    assert len({issue.line for issue in issues}) >= 5
    lines = [issue.line for issue in issues]
    assert lines == sorted(lines)


def test_too_many_parts_of_a_line_are_refused(tmp_path: Path) -> None:
    size = "{min: 9.9 Tbps, max: 10 Tbps, step: 1 Gbps}"
    issues = refused(TEXT, tmp_path, f"links.0.bandwidth={size}")
    assert "makes 10000 parts to reserve" in issues[0].message


def test_an_unknown_service_gets_the_nearest_name(tmp_path: Path) -> None:
    issues = refused(TEXT, tmp_path, "services.chatt.slo.ttft_p90=3 s")
    assert issues[0].help == "did you mean services.chat?"


def test_the_json_schema_takes_both_forms() -> None:
    validator = jsonschema.Draft202012Validator(scenario_json_schema())
    data = data_of()
    assert not list(validator.iter_errors(data))
    for service in ("chat", "agent"):
        wrong = copy.deepcopy(data)
        wrong["services"][service]["workload"]["rate"] = "10 Gbps"
        assert list(validator.iter_errors(wrong))
    assert list(validator.iter_errors({**data, "model": "minimax-m2"}))
