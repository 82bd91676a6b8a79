"""The JSON plan: its contract, its schema, and what a bad file is answered with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from pydantic import ValidationError
from report_examples import EXAMPLES, example, plan

from pdd_plan.errors import InputError
from pdd_plan.fleet.plan import Lane, Plan, load_plan, plan_json_schema

# The contract that other tools rely on, keys in its order.
CONTRACT: dict[str, list[str]] = {
    "": [
        "schema_version",
        "tool_version",
        "scenario",
        "status",
        "cost",
        "slo",
        "latency",
        "routing",
        "pools",
        "links",
        "lanes",
        "goodput",
        "baselines",
        "bcr",
        "certificate",
        "sensitivity",
        "binding",
        "warnings",
        "assumptions",
    ],
    "scenario": ["name", "sha256"],
    "cost": [
        "usd_per_hour",
        "chips_usd_per_hour",
        "links_usd_per_hour",
        "usd_per_million_output_tokens",
        "usd_per_million_total_tokens",
    ],
    "slo": ["metric", "percentile", "limit", "predicted", "met"],
    "latency": ["ttft_s", "ttft_direct_s", "ttft_relay_s", "tpot_s", "handoff_gap_s"],
    "routing": [
        "by",
        "threshold",
        "relay_request_fraction",
        "relay_token_fraction",
        "main_decode_token_fraction",
        "rld_chip_fraction",
    ],
    "pools": [
        "site",
        "role",
        "chip",
        "shape",
        "engines",
        "chips",
        "utilization",
        "bound_by",
        "usd_per_hour",
    ],
    "links": ["from", "to", "gbps", "utilization", "usd_per_hour"],
    "lanes": ["from", "to", "share"],
    "goodput": ["requests_per_s", "output_tokens_per_s"],
    "baselines": ["name", "status", "cost", "latency", "goodput", "bcr", "pools"],
    "certificate": [
        "lower_bound_usd_per_hour",
        "gap",
        "cuts",
        "evaluations",
        "solver",
        "solve_time_s",
    ],
    "assumptions": ["path", "value", "source"],
}


def written(name: str = "example") -> dict[str, Any]:
    data: dict[str, Any] = json.loads(plan(name).to_json())
    return data


@pytest.mark.parametrize("part", CONTRACT)
def test_keys_and_their_order_are_those_of_the_contract(part: str) -> None:
    data: Any = written()
    if part:
        data = data[part]
    if isinstance(data, list):
        data = data[0]
    assert [key for key in data if key in CONTRACT[part]] == CONTRACT[part]


@pytest.mark.parametrize("part", [key for key in CONTRACT if key])
def test_every_key_of_the_contract_must_be_there(part: str) -> None:
    for key in CONTRACT[part]:
        data = example()
        target = data[part][0] if isinstance(data[part], list) else data[part]
        target.pop(key)
        with pytest.raises(ValidationError, match="required"):
            Plan.model_validate_json(json.dumps(data))


def test_latency_blocks_hold_the_four_percentiles() -> None:
    for block in written()["latency"].values():
        assert block is None or list(block)[:4] == ["p50", "p90", "p95", "p99"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_written_plans_obey_the_published_schema(name: str) -> None:
    schema = plan_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(written(name))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("status",), "perfect"),
        (("schema_version",), 2),
        (("cost", "usd_per_hour"), -1.0),
        (("cost", "usd_per_hour"), "412.80"),
        (("pools", 0, "engines"), 2.5),
        (("lanes", 0, "share"), 1.2),
        (("routing", "by"), "luck"),
        (("extra",), 1),
    ],
)
def test_schema_and_loader_refuse_the_same_things(
    path: tuple[str | int, ...], value: object
) -> None:
    data = written()
    target: Any = data
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, plan_json_schema())
    with pytest.raises(ValidationError):
        Plan.model_validate_json(json.dumps(data))


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_reloaded_plan_is_equal_and_writes_the_same_text(name: str, tmp_path: Path) -> None:
    saved = plan(name)
    file = tmp_path / "plan.json"
    file.write_text(saved.to_json(), encoding="utf-8")
    loaded = load_plan(file)
    assert loaded == saved
    assert loaded.to_json() == saved.to_json()


def test_json_holds_no_nan_and_no_infinity() -> None:
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValidationError):
            plan(bcr=bad)


def test_numpy_scalars_become_numbers_and_rounding_errors_bounds() -> None:
    lane = Lane(from_site="a", to_site="b", share=np.float64(1 + 4e-10))
    assert type(lane.share) is float
    assert lane.share == 1.0
    assert Lane(from_site="a", to_site="b", share=-1e-12).share == 0.0
    with pytest.raises(ValidationError):
        Lane(from_site="a", to_site="b", share=1 + 1e-6)


def test_an_infeasible_plan_must_say_why_and_a_plan_must_cost() -> None:
    with pytest.raises(ValidationError, match="must say why"):
        plan("infeasible", infeasibility=None)
    with pytest.raises(ValidationError, match="needed unless infeasible"):
        plan("example", cost=None)


def broken(change: Any) -> str:
    data = example()
    change(data)
    return json.dumps(data, indent=2)


BAD_FILES = {
    "empty": ("", "not JSON", 1),
    "a report instead": ("agent-fleet: optimal plan, gap 0", "not JSON", 1),
    "cut short": ('{\n  "schema_version": 1,\n', "not JSON", 3),
    "a list": ("[]", "must be a JSON object", 0),
    "no version": ("{}", "no schema_version", 0),
    "newer version": (broken(lambda d: d.update(schema_version=7)), "schema_version = 7", 2),
    "missing key": (broken(lambda d: d.pop("pools")), "pools is missing", 1),
    "missing inner key": (
        broken(lambda d: d["pools"][1].pop("chip")),
        "pools.1.chip is missing",
        None,
    ),
    "unknown key": (broken(lambda d: d["cost"].update(eur_per_hour=1)), "cost.eur_per_hour", None),
    "wrong type": (broken(lambda d: d["goodput"].update(requests_per_s="9")), '= "9"', None),
    "negative": (broken(lambda d: d["links"][0].update(gbps=-20)), "links.0.gbps = -20", None),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_answered_with_place_and_mend(name: str, tmp_path: Path) -> None:
    text, said, line = BAD_FILES[name]
    file = tmp_path / "plan.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_plan(file)
    issue = caught.value.issues[0]
    assert said in issue.message
    assert issue.file == str(file)
    assert issue.help
    if line is not None:
        assert issue.line == line


def test_the_line_of_a_bad_value_is_the_one_it_stands_on(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(broken(lambda d: d["links"][0].update(gbps=-20)), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_plan(file)
    line = caught.value.issues[0].line
    assert file.read_text(encoding="utf-8").splitlines()[line - 1].strip() == '"gbps": -20,'


def test_all_issues_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    def spoil(data: dict[str, Any]) -> None:
        del data["goodput"]
        data["pools"][0]["engines"] = "nine"
        data["links"][0]["gbps"] = -1

    file = tmp_path / "plan.json"
    file.write_text(broken(spoil), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_plan(file)
    paths = {issue.path for issue in caught.value.issues}
    assert {"goodput", "pools.0.engines", "links.0.gbps"} <= paths


def test_missing_files_folders_and_other_encodings_are_input_errors(tmp_path: Path) -> None:
    latin = tmp_path / "latin.json"
    latin.write_bytes(b'{"name": "\xe9"}')
    for file in (tmp_path / "nowhere.json", tmp_path, latin):
        with pytest.raises(InputError, match="cannot read the plan"):
            load_plan(file)


def test_a_byte_order_mark_is_no_obstacle(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(plan().to_json(), encoding="utf-8-sig")
    assert load_plan(file) == plan()
