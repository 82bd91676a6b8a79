"""``optimize`` and ``evaluate`` with uncertain inputs: answers, exit codes, every report."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pdd_plan.cli.main import app
from pdd_plan.fleet.plan import Plan
from pdd_plan.scenario import Scenario
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.planning import plan_scenario

SMALL = Path(__file__).with_name("small.yaml")
SECTION = """
uncertainty:
  samples: 50
  inputs:
    - {{path: workload.rate, low: {low}x, high: {high}x, relative: true}}
  {confidence}
"""


def run(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words], prog_name="pdd-plan")


def scenario(tmp_path: Path, low: float, high: float, confidence: str = "") -> Path:
    file = tmp_path / "uncertain.yaml"
    section = SECTION.format(low=low, high=high, confidence=confidence)
    file.write_text(SMALL.read_text(encoding="utf-8") + section, encoding="utf-8")
    return file


@pytest.fixture
def saved(tmp_path) -> Path:
    place = tmp_path / "plan.json"
    assert run("optimize", SMALL, "-o", place, "-q").exit_code == 0
    return place


def test_a_plan_as_written_tells_its_risk(tmp_path):
    place = tmp_path / "plan.json"
    result = run("optimize", scenario(tmp_path, 0.9, 1.0), "-j", 1, "-o", place, "-q")
    assert result.exit_code == 0, result.output
    told = json.loads(place.read_text())["uncertainty"]
    assert told["risk"]["holds"]["estimate"] == 1.0
    assert told["risk"]["draws"] == 50
    assert (told["confidence"], told["headroom"], told["nominal_risk"]) == (None, None, None)
    assert told["inputs"][0]["path"] == "workload.rate"
    assert sum(told["ttft_p90_histogram"]["weights"]) == pytest.approx(1.0, abs=0.021)


def test_every_report_of_a_saved_plan_has_the_risk(tmp_path):
    place, folder = tmp_path / "plan.json", tmp_path / "tables"
    assert run("optimize", scenario(tmp_path, 0.9, 1.0), "-j", 1, "-o", place, "-q").exit_code == 0
    console = run("report", place).output
    assert "Uncertain inputs:" in console
    assert "workload.rate" in console[console.index("What drives the spread") :]
    assert "## Uncertain inputs" in run("report", place, "-f", "md").output
    assert "不确定输入" in run("report", place, "--lang", "zh").output
    page = run("report", place, "-f", "html").output
    assert "chart-risk" in page
    assert run("report", place, "-f", "csv", "-o", folder, "-q").exit_code == 0
    with (folder / "risk.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert rows[0]["what"] == "every_limit"
    assert {row["plan"] for row in rows} == {"this_plan"}
    assert float(rows[0]["holds"]) == 1.0


def test_a_fleet_that_does_not_hold_with_the_confidence_is_a_no(tmp_path, saved):
    file = scenario(tmp_path, 0.9, 3.0, "confidence: 90 %")
    result = run("evaluate", file, "--plan", saved)
    assert result.exit_code == 1
    assert "does not hold with it" in result.output
    assert "count as misses" in " ".join(result.output.split())
    assert run("evaluate", file, "--plan", saved, "--set", "uncertainty=null").exit_code == 0


def test_a_fleet_that_holds_is_found_and_told(tmp_path):
    file = scenario(tmp_path, 1.0, 1.5, "confidence: 80 %")
    result = run("optimize", file, "-j", 1)
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "plan that keeps every limit with 80 % confidence" in said
    assert "in 50 fresh draws every limit held" in said
    assert "not proven least" in said


def test_a_wrong_section_is_told_with_its_line(tmp_path):
    result = run("optimize", scenario(tmp_path, 1.2, 0.9))
    assert result.exit_code == 2
    assert "uncertain.yaml:" in result.output
    assert "swap low and high" in result.output


def test_why_is_about_the_values_as_written(tmp_path):
    file = scenario(tmp_path, 1.0, 1.5, "confidence: 80 %")
    result = run("optimize", file, "--why")
    assert result.exit_code == 2
    assert "--set uncertainty.confidence=null" in result.output


STUDIES = {
    "compare": ("--what-if", "more: workload.rate=5 req/s"),
    "sweep": ("--vary", "workload.rate=3 req/s,4 req/s", "-j", "1"),
    "front": ("--pareto", "--vary", "slo.ttft_p90=1 s,2 s", "-j", "1"),
    "breakeven": ("--of", "sites.b.chips.h20.price", "--between", "0.9 USD/h,1 USD/h", "-j", "1"),
    "simulate": ("--requests", "1000", "--runs", "2"),
}
LEFT_OUT = "the section uncertainty is left out here: every value is taken as written"


@pytest.fixture
def planned_once(monkeypatch):
    """Let equal scenarios be planned once, for all studies and forms."""
    import pdd_plan.studies.services as services

    monkeypatch.setattr(services, "plan_question", _planned)


PLANS: dict[tuple[str, bool], Plan] = {}


def _planned(scenario: Scenario, options: PlanOptions) -> Plan:
    key = scenario.source.sha256, options.whole
    if key not in PLANS:
        PLANS[key] = plan_scenario(scenario, options)
    return PLANS[key].model_copy(update={"command": options.command})


@pytest.mark.parametrize("form", ["console", "md", "csv", "json", "html"])
@pytest.mark.parametrize("study", STUDIES)
def test_studies_of_values_as_written_say_so(tmp_path, planned_once, study, form):  # noqa: ARG001
    if study == "simulate":
        pytest.importorskip("numba")
        if form == "html":
            pytest.skip("tables have no such form")
    command = "sweep" if study == "front" else study
    file = scenario(tmp_path, 0.9, 1.1, "confidence: 90 %")
    result = run(command, file, *STUDIES[study], "-f", form)
    assert result.exit_code == 0, result.output
    assert LEFT_OUT in " ".join(result.stdout.split())
    without = run(command, file, *STUDIES[study], "-f", form, "--set", "uncertainty=null")
    assert LEFT_OUT not in " ".join(without.stdout.split())
    if form == "csv" and study != "compare":
        rows = list(csv.DictReader(io.StringIO(result.stdout)))
        assert all(row["warnings"].startswith(LEFT_OUT) for row in rows)
        assert "warnings" not in without.stdout
    if form == "json" and study != "compare":
        assert [text[: len(LEFT_OUT)] for text in json.loads(result.stdout)["warnings"]] == [
            LEFT_OUT
        ]


def test_compare_gives_the_commands_of_plans_as_written(tmp_path, planned_once):  # noqa: ARG001
    file = scenario(tmp_path, 0.9, 1.1, "confidence: 90 %")
    data = json.loads(run("compare", file, *STUDIES["compare"], "-f", "json").stdout)
    for one in data["alternatives"]:
        assert one["plan"]["command"].endswith("--set uncertainty=null")
        assert one["plan"]["warnings"][-1].startswith(LEFT_OUT)
    place = tmp_path / "tables"
    assert run("compare", file, *STUDIES["compare"], "-f", "csv", "-o", place).exit_code == 0
    with (place / "warnings.csv").open(newline="") as stream:
        assert [row["alternative"] for row in csv.DictReader(stream)] == ["as written", "more"]


def test_why_leaves_the_draws_out_and_says_so(tmp_path, planned_once):  # noqa: ARG001
    file = scenario(tmp_path, 0.9, 1.1)
    result = run("optimize", file, "--why", "-j", "1", "-f", "json")
    assert result.exit_code == 0, result.output
    plan = json.loads(result.stdout)
    assert plan["uncertainty"] is None
    assert plan["warnings"][-1].startswith(LEFT_OUT)
