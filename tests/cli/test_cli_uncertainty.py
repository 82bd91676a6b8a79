"""``optimize`` and ``evaluate`` with uncertain inputs: answers, exit codes, every report."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pdd_plan.cli.main import app

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
