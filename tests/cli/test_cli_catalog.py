"""``profiles``, ``schema`` and ``init``."""

from __future__ import annotations

import csv
import io
import json

import jsonschema
import pytest
import yaml

from pdd_plan.catalog import chip_names, link_names, load_chip, model_names
from pdd_plan.scenario import load_question, load_scenario, scenario_names


def test_list_names_every_profile(run):
    words = set(run("profiles", "list").stdout.split())
    assert {*chip_names(), *model_names(), *link_names()} <= words


def test_list_gives_the_same_numbers_as_json_and_csv(run):
    records = json.loads(run("profiles", "list", "chips", "--format", "json").stdout)["chips"]
    text = run("profiles", "list", "chips", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["name"] for row in rows] == chip_names()
    for record, row in zip(records, rows, strict=True):
        assert float(row["memory_bytes"]) == record["memory_bytes"]
        assert record["memory_bytes"] == load_chip(record["name"]).memory_bytes


@pytest.mark.parametrize("name", ["h20", "deepseek-v3", "wavelength-10g", "H200-SXM"])
def test_show_gives_every_number_with_a_source(run, name):
    facts = json.loads(run("profiles", "show", name, "--format", "json").stdout)["facts"]
    assert facts
    numbers = [fact for fact in facts if fact["confidence"]]
    assert numbers
    assert all(fact["source"] and fact["date"] for fact in numbers)


def test_show_an_unknown_name_proposes_the_nearest(run):
    result = run("profiles", "show", "h2000")
    assert result.exit_code == 2
    assert "did you mean h200?" in result.stderr


def test_show_reads_a_file_of_ones_own(run, folder):
    text = (folder / "x").with_name("mine.yaml")
    text.write_text(
        "kind: chip\nname: mine\nrelative_to: h100\n"
        "prefill: {value: 0.5, unit: x, source: our benchmark, date: 2026-11, confidence: user}\n"
        "decode: {value: 2, unit: x, source: our benchmark, date: 2026-11, confidence: user}\n"
    )
    said = run("profiles", "show", "mine.yaml").stdout
    assert "our benchmark" in said
    assert "prefill speed relative to h100" in said


def test_check_passes_what_ships_and_refuses_what_is_wrong(run, folder):
    assert run("profiles", "check").exit_code == 0
    (folder / "bad.yaml").write_text("kind: chip\nname: bad\nmemory: 80\n")
    result = run("profiles", "check", "bad.yaml")
    assert result.exit_code == 2
    assert "bad.yaml" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("what", ["scenario", "plan"])
def test_schema_is_a_json_schema(run, what):
    schema = json.loads(run("schema", what).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", scenario_names())
def test_shipped_scenarios_obey_the_schema(run, name):
    schema = json.loads(run("schema", "scenario").stdout)
    data = yaml.safe_load(run_text(name))
    jsonschema.Draft202012Validator(schema).validate(data)


def run_text(name: str) -> str:
    """Text of a shipped scenario."""
    from pdd_plan.scenario import find_scenario

    return find_scenario(name).read_text(encoding="utf-8")


def test_schema_goes_to_a_file(run, folder):
    result = run("schema", "plan", "-o", "plan.schema.json")
    assert result.stdout == ""
    assert json.loads((folder / "plan.schema.json").read_text())["title"] == "pdd-plan plan"


@pytest.mark.parametrize("name", scenario_names())
def test_init_writes_a_scenario_that_loads_under_its_own_name(run, folder, name):
    result = run("init", "my-fleet.yaml", "--from", name)
    assert result.exit_code == 0
    assert "pdd-plan optimize my-fleet.yaml" in result.stderr
    scenario = load_question(folder / "my-fleet.yaml")
    assert scenario.name == "my-fleet"
    assert scenario.sites.keys() == load_question(name).sites.keys()


@pytest.mark.parametrize("stem", ["7", "true", "a b", "it's"])
def test_init_quotes_a_name_that_yaml_would_read_otherwise(run, folder, stem):
    assert run("init", f"{stem}.yaml").exit_code == 0
    assert load_scenario(folder / f"{stem}.yaml").name == stem


def test_init_keeps_a_file_that_exists(run, folder):
    (folder / "scenario.yaml").write_text("mine\n")
    result = run("init")
    assert result.exit_code == 2
    assert "exists" in result.stderr
    assert (folder / "scenario.yaml").read_text() == "mine\n"


def test_init_from_an_unknown_scenario(run, folder):
    result = run("init", "--from", "quickstrat")
    assert result.exit_code == 2
    assert "did you mean quickstart?" in result.stderr
    assert list(folder.iterdir()) == []
