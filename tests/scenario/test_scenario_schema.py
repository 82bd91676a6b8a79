"""JSON Schema and reference of the scenario: they say what the loader does."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from scenario_texts import CLASSES, ENGINES, TRACE, scenario_text

from pdd_plan.scenario import scenario_json_schema
from pdd_plan.scenario.files import shipped_folder
from pdd_plan.scenario.quantity import Section
from pdd_plan.scenario.reference import _sections, reference_markdown
from pdd_plan.scenario.walk import fields_of
from pdd_plan.scenario.yaml_text import parse_yaml

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema = scenario_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def data_of(text: str) -> Any:
    return parse_yaml(text, "").data


@pytest.mark.parametrize(
    "text",
    [
        scenario_text(),
        scenario_text(CLASSES, ENGINES),
        scenario_text(TRACE),
        scenario_text(tail="serving: {min_engines: 2}\nrouting: {thresholds: [0.5, 90 %]}\n"),
        scenario_text().replace("{min: 10 Gbps, max: 100 Gbps, step: 10 Gbps}", "20"),
        scenario_text().replace("    input_tokens: {distribution: lognormal, median: 20k tokens, "
                                "sigma: 1.0, max: 128k tokens}", "    input_tokens: 64Ki tokens"),
    ],
)  # fmt: skip
def test_valid_scenarios_pass(validator: jsonschema.Draft202012Validator, text: str) -> None:
    assert not [error.message for error in validator.iter_errors(data_of(text))]


def test_shipped_scenarios_pass(validator: jsonschema.Draft202012Validator) -> None:
    folder = shipped_folder()
    assert folder is not None
    for file in folder.glob("*.yaml"):
        data = data_of(file.read_text(encoding="utf-8"))
        assert not [error.message for error in validator.iter_errors(data)], file


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("slo", "ttft_p90"), "10 Gbps"),
        (("slo", "ttft_p90"), "10"),
        (("slo", "ttft_p90"), -1),
        (("slo", "ttft_p91"), "10 s"),
        (("workload", "rate"), "-12 req/s"),
        (("workload", "mixture", "output_tokens"), "5K tokens"),
        (("workload", "mixture", "hit_rate"), {"distribution": "skew", "share": 0.5}),
        (("precision", "weights"), "fp9"),
        (("sites", "beijing", "roles"), []),
        (("sites", "beijing", "chips", "h200", "available"), 1.5),
        (("links", 0, "bandwidth"), "28 ms"),
        (("links", 0, "rtt"), True),
        (("links", 0, "price"), "800 USD/month"),
        (("engines",), "manual"),
        (("currency",), "dollar"),
        (("schema_version",), 2),
    ],
)
def test_wrong_values_fail(
    validator: jsonschema.Draft202012Validator, path: tuple[str | int, ...], value: Any
) -> None:
    data = copy.deepcopy(data_of(scenario_text()))
    place = data
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    assert list(validator.iter_errors(data))


def test_defaults_are_written_in_the_unit_of_the_key() -> None:
    rdma = scenario_json_schema()["$defs"]["Rdma"]["properties"]
    assert rdma["latency"]["default"] == 100
    assert rdma["latency"]["x-unit"] == "us"


def test_the_committed_reference_is_current() -> None:
    file = REPOSITORY / "docs" / "scenario-reference.md"
    if not file.is_file():
        pytest.skip("no docs folder beside the tests")
    assert file.read_text(encoding="utf-8") == reference_markdown(), (
        "run: python -m pdd_plan.scenario.reference > docs/scenario-reference.md"
    )


def test_the_reference_names_every_key_with_its_meaning() -> None:
    text = reference_markdown()
    sections = _sections()
    assert len(sections) > 25
    for section in sections:
        assert issubclass(section, Section)
        for key, field in fields_of(section).items():
            assert field.description, f"{section.__name__}.{key}"
            assert f"| `{key}` |" in text
            assert field.description in text
            if field.is_required():
                assert field.examples, f"{section.__name__}.{key} is required without an example"


def test_the_reference_gives_unit_default_and_bounds() -> None:
    text = reference_markdown()
    for row in (
        "| `rtt` | time; bare: ms | required | >= 0 and <= 100,000 ms | Round-trip time. |",
        "| `latency` | time; bare: us | 100 us |",
        "| `max_atoms` | whole number | `1000` | >= 1 and <= 100,000 |",
        "| `dispatch` | `shared`, `random`, `prefix_affinity` | `shared` |  |",
        "| `name` | text | the file's name |  |",
    ):
        assert f"\n{row}" in text
