"""``optimize`` of a scenario that tolerates a loss: forms of the answer and exit codes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pdd_plan.cli.main import app

SMALL = Path(__file__).with_name("small.yaml")
SPARE = ("--set", "tolerate.engines=1 per pool")


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    """The plan of the small fleet with a spare engine, in the place of the plan without."""
    file = tmp_path_factory.mktemp("plan") / "spare.json"
    result = CliRunner().invoke(app, ["optimize", str(SMALL), *SPARE, "-o", str(file), "-q"])
    assert result.exit_code == 0, result.output
    return file


def test_keys_of_the_plan(saved):
    data = json.loads(saved.read_text())["resilience"]
    assert list(data) == [
        "outages",
        "tolerated",
        "usd_per_hour",
        "usd_per_hour_without",
        "binding",
        "bounds",
    ]
    assert data["tolerated"] == {"engines": 1, "site": "none", "line": "none"}
    assert data["usd_per_hour"] > data["usd_per_hour_without"]
    assert {one["status"] for one in data["outages"]} == {"kept"}
    assert data["binding"] == ["engines:1"]


@pytest.mark.parametrize(
    ("form", "lang", "words"),
    [
        ("console", "en", ("Tolerates", "1 engine of every pool", "Decided by", "limits kept")),
        ("console", "zh", ("可容忍", "每个资源池 1 台引擎", "决定性失效")),
        ("md", "en", ("- **Tolerates**: 1 engine of every pool", "USD/h without", "| Lost |")),
        ("html", "en", ("Tolerates", "1 engine of every pool", "for it")),
        ("html", "zh", ("可容忍", "因此多付")),
    ],
)
def test_cost_and_losses_are_in_every_report(run, here, form, lang, words):  # noqa: ARG001
    result = run("report", "plan.json", "--format", form, "--lang", lang)
    assert result.exit_code == 0
    for word in words:
        assert word in result.stdout


def test_cost_and_bounds_are_tidy(run, here):
    run("report", "plan.json", "--format", "csv", "-o", "tables")
    with (here / "tables" / "summary.csv").open(newline="", encoding="utf-8") as stream:
        rows = {(row["section"], row["key"]): row["value"] for row in csv.DictReader(stream)}
    assert rows["tolerated", "engines"] == "1"
    assert float(rows["resilience", "usd_per_hour"]) == float(rows["cost", "usd_per_hour"])
    with (here / "tables" / "outage_bounds.csv").open(newline="", encoding="utf-8") as stream:
        bounds = [row["outage"] for row in csv.DictReader(stream)]
    assert bounds == ["nothing", "engines:1"]


def test_simpler_fleets_are_planned_without_the_loss(saved):
    data = json.loads(saved.read_text())
    cheapest = min(one["cost"]["usd_per_hour"] for one in data["baselines"][:3] if one["cost"])
    assert cheapest == pytest.approx(data["resilience"]["usd_per_hour_without"])


def test_evaluate_asks_about_what_the_scenario_tolerates(run, here):  # noqa: ARG001
    result = run("evaluate", "small.yaml", *SPARE, "--plan", "plan.json", "--format", "json", "-q")
    assert result.exit_code == 0
    outages = json.loads(result.stdout)["resilience"]["outages"]
    assert [one["outage"] for one in outages] == ["engines:a/prefill", "engines:a/decode"]


def test_a_loss_that_nothing_survives_ends_with_1_and_its_reason(run, here):  # noqa: ARG001
    result = run("optimize", "small.yaml", "--set", "tolerate.site=any", "-q")
    assert result.exit_code == 1
    assert "it is the only site that prefills" in " ".join(result.stdout.split())
    assert "tolerate.site" in result.stdout


def test_wrong_losses_end_with_2_all_at_once(run, here):
    wrong = ("--set", "tolerate.site=c", "--set", "tolerate.engines=few")
    result = run("optimize", "small.yaml", *wrong, "-o", "out.json")
    assert result.exit_code == 2
    assert "tolerate.site = c is no site" in result.stderr
    assert "is not a number of engines per pool" in result.stderr
    assert not (here / "out.json").exists()
