"""``optimize --why`` on a small fleet."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pdd_plan.fleet.plan import load_plan

SMALL = Path(__file__).with_name("small.yaml")


@pytest.fixture
def here(folder) -> Path:
    """A folder with the scenario."""
    shutil.copy(SMALL, folder / "small.yaml")
    return folder


def test_why_adds_what_changes_would_do(run, here):  # noqa: ARG001
    result = run("optimize", "small.yaml", "--why", "--jobs", "1", "-o", "plan.json")
    assert result.exit_code == 0, result.output
    plan = load_plan("plan.json")
    assert "--why" in plan.command
    kinds = {item.kind for item in plan.sensitivity if item.of_scenario}
    assert kinds == {"price", "limit", "stock", "rate", "hit_rate"}  # no line is bought
    shown = run("report", "plan.json")
    assert "What moves the cost" in shown.stdout
    assert all(len(line) <= 80 for line in shown.stdout.splitlines())


def test_two_processes_find_the_same(run, here):  # noqa: ARG001
    one = run("optimize", "small.yaml", "--why", "--jobs", "1", "-f", "json")
    two = run("optimize", "small.yaml", "--why", "--jobs", "2", "-f", "json")
    assert one.exit_code == two.exit_code == 0
    assert json.loads(one.stdout)["sensitivity"] == json.loads(two.stdout)["sensitivity"]


def test_changes_are_made_on_top_of_set(run, here):  # noqa: ARG001
    result = run(
        "optimize", "small.yaml", "--why", "-j", "1", "--set", "slo.ttft_p90=4 s", "-f", "json"
    )
    entries = json.loads(result.stdout)["sensitivity"]
    values = {one["value"] for one in entries if one["path"] == "slo.ttft_p90"}
    assert values == {"3.2 s", "4.8 s"}


def test_an_infeasible_scenario_is_told_as_without_why(run, here):  # noqa: ARG001
    changes = ("--set", "sites.a.chips.h100.available=1", "--set", "workload.rate=40 req/s")
    result = run("optimize", "small.yaml", "--why", *changes)
    assert result.exit_code == 1
    assert "no plan meets the limits" in result.stdout


@pytest.mark.parametrize("jobs", ["0", "-1", "two"])
def test_wrong_numbers_of_processes(run, here, jobs):  # noqa: ARG001
    result = run("optimize", "small.yaml", "--why", "--jobs", jobs)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
