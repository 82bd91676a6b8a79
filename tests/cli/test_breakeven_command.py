"""``breakeven`` in every form, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import shlex
import shutil
from pathlib import Path

import pytest

import pdd_plan.studies.services
from pdd_plan.errors import SolverError
from tests.studies.test_break_even import PRICE, chips

SMALL = Path(__file__).with_name("small.yaml")


@pytest.fixture
def planner(monkeypatch):
    """Put an invented planner in the place of the true one, in this process."""

    def use(planner):
        monkeypatch.setattr(pdd_plan.studies.services, "plan_question", planner)

    use(chips)
    return use


def ask(run, *more):
    return run("breakeven", "quickstart", "--of", PRICE, "--jobs", "1", *more)


def test_the_console_says_it_and_gives_both_bounds(run, planner):  # noqa: ARG001
    result = ask(run)
    assert result.exit_code == 0, result.output
    assert "shanghai h20 pays while its price is at most 3.8" in result.stdout
    assert "312.00" in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_json_and_csv_hold_the_bounds(run, planner):  # noqa: ARG001
    data = json.loads(ask(run, "-f", "json").stdout)
    (one,) = data["break_even"]
    assert one["pays_at"] <= 3.875 <= one["fails_at"]
    assert one["unit"] == "USD/h"
    assert shlex.split(data["command"])[:3] == ["pdd-plan", "breakeven", "quickstart"]
    (row,) = csv.DictReader(io.StringIO(ask(run, "-f", "csv").stdout))
    assert float(row["pays_at"]) == one["pays_at"]


@pytest.mark.parametrize(("form", "said"), [("md", "h20, price"), ("html", "h20, price")])
def test_documents(run, planner, form, said):  # noqa: ARG001
    assert said in ask(run, "-f", form).stdout


def test_chinese(run, planner):  # noqa: ARG001
    assert "划算" in ask(run, "--lang", "zh").stdout


def test_a_file_and_a_folder(run, planner, folder):  # noqa: ARG001
    assert ask(run, "-o", "answer.json").exit_code == 0
    assert json.loads((folder / "answer.json").read_text())["break_even"]
    (folder / "out").mkdir()
    assert ask(run, "-o", "out").exit_code == 0
    names = {file.name for file in (folder / "out").iterdir()}
    assert names == {"break-even.json", "break-even.md", "break-even.html", "break_even.csv"}


def test_precision_and_between(run, planner):  # noqa: ARG001
    result = ask(run, "--between", "2 USD/h,5 USD/h", "--precision", "0.01", "-f", "json")
    (one,) = json.loads(result.stdout)["break_even"]
    assert one["fails_at"] / one["pays_at"] <= 1.0001
    assert one["tried_from"] == 2


def test_a_failing_solver_ends_with_3(run, planner):
    def failing(scenario, options):  # noqa: ARG001
        raise SolverError("no plan was found in 60 s")

    planner(failing)
    result = ask(run)
    assert result.exit_code == 3
    assert "no plan was found" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--of", "workload.nothing", "--between", "1,2"), "nothing is not in the scenario"),
        (("--of", "slo.ttft_p90", "--between", "2 s,1 s"), "does not rise"),
        (("--of", "slo.ttft_p90", "--between", "-2 s,1 s"), "does not rise"),
        (("--of", "slo.ttft_p90", "--between", "1 s"), "not two values"),
        (("--of", "slo.ttft_p90", "--between", "1 s,2 USD/h"), "not two values"),
        (("--of", "slo.ttft_p90", "--between", "1 GB,2 GB"), "1 GB"),
        (("--of", "slo.ttft_p90", "--between", "inf,inf"), "not two values"),
        (("--of", "slo.ttft_p90", "--pays", "chip"), "belongs to no chip"),
        (("--of", "slo.ttft_p90", "--precision", "0"), "--precision"),
        (("--of", "slo.ttft_p90", "--pays", "cake"), "cake"),
        (("--of", "slo.ttft_p90", "--set", "objective=goodput"), "the objective is goodput"),
        ((), "--of"),
    ],
)
def test_wrong_usage(run, folder, arguments, said):
    shutil.copy(SMALL, folder / "small.yaml")
    result = run("breakeven", "small.yaml", *arguments)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert "Traceback" not in result.output


def test_a_path_that_does_not_exist_is_told_with_the_nearest(run, here):  # noqa: ARG001
    result = run("breakeven", "small.yaml", "--of", "slo.ttft_p9")
    assert result.exit_code == 2
    assert "slo.ttft_p9 is not in the scenario" in result.stderr
    assert "did you mean slo.ttft_p9" in result.stderr
