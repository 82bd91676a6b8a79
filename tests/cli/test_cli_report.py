"""``report`` and where its output goes."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "report"))

from report_examples import plan as example_plan

from pdd_plan.fleet.plan import load_plan


@pytest.fixture
def saved(folder):  # noqa: ARG001
    """A saved plan."""
    Path("plan.json").write_text(example_plan().to_json(), encoding="utf-8")
    return "plan.json"


def test_console_by_default(run, saved):
    result = run("report", saved)
    assert result.exit_code == 0
    assert result.stdout.startswith(example_plan().scenario.name)
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "\x1b[" not in result.stdout


@pytest.mark.parametrize("form", ["console", "md", "csv", "json", "html"])
def test_stdout_and_file_are_the_same(run, saved, form, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")  # the width of a console report in a file
    printed = run("report", saved, "--format", form).stdout
    name = {"console": "r.txt", "csv": "r.csv"}.get(form, f"r.{form}")
    result = run("report", saved, "-o", name)
    assert result.stdout == ""
    assert f"wrote {name}" in result.stderr
    assert Path(name).read_bytes().decode().replace("\r\n", "\n") == printed.replace("\r\n", "\n")


def test_json_round_trip(run, saved):
    assert json.loads(run("report", saved, "--format", "json").stdout) == json.loads(
        Path(saved).read_text()
    )


def test_a_folder_gets_every_form(run, saved):
    Path("out").mkdir()
    result = run("report", saved, "-o", "out")
    assert result.exit_code == 0
    names = {path.name for path in Path("out").iterdir()}
    assert {"plan.json", "plan.md", "plan.html", "pools.csv", "latency.csv"} <= names
    assert load_plan("out/plan.json") == example_plan()
    with Path("out/pools.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["chips"]) for row in rows] == [pool.chips for pool in example_plan().pools]


def test_chinese(run, saved):
    assert "最优" in run("report", saved, "--lang", "zh").stdout


def test_quiet_says_nothing(run, saved):
    assert run("report", saved, "-o", "r.md", "--quiet").output == ""


@pytest.mark.parametrize(
    ("output", "form", "said"),
    [
        ("nowhere/r.md", None, "there is no folder nowhere"),
        ("r.docx", None, "names no form"),
        ("r", None, "names no form"),
        ("plan.json/r.md", None, "plan.json"),
        ("plan.json", "csv", "is a file"),
    ],
)
def test_places_that_cannot_take_a_report(run, saved, output, form, said):
    before = Path(saved).read_bytes()
    options = [] if form is None else ["--format", form]
    result = run("report", saved, "-o", output, *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert Path(saved).read_bytes() == before
    assert [path.name for path in Path().iterdir()] == [saved]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "plan.json"),
        ("{", "plan.json"),
        ("[]", "plan.json"),
        ('{"schema_version": 99}', "schema_version"),
        ('{"schema_version": 1}', "missing"),
    ],
)
def test_files_that_are_no_plan(run, content, said):
    Path("plan.json").write_text(content)
    result = run("report", "plan.json")
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_an_infeasible_plan_is_shown_like_any_other(run):
    Path("no.json").write_text(example_plan("infeasible").to_json(), encoding="utf-8")
    result = run("report", "no.json")
    assert result.exit_code == 0
    assert "no plan" in result.stdout


def test_no_color_and_color(saved, folder):  # noqa: ARG001
    import os
    import pty
    import subprocess

    def shown(**more: str) -> str:
        parent, child = pty.openpty()
        env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        env |= {"TERM": "xterm", "PYTHONPATH": str(Path(__file__).parents[2]), **more}
        command = [sys.executable, "-c", "from pdd_plan.cli.main import main; main()"]
        process = subprocess.Popen(
            [*command, "report", "plan.json"], stdout=child, stderr=child, env=env
        )
        os.close(child)
        parts = []
        while True:
            try:
                part = os.read(parent, 65536)
            except OSError:
                break
            if not part:
                break
            parts.append(part)
        os.close(parent)
        assert process.wait(timeout=60) == 0
        return b"".join(parts).decode()

    assert "\x1b[" in shown()
    assert "\x1b[" not in shown(NO_COLOR="1")
