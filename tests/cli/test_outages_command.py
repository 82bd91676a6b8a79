"""``evaluate --fail``: forms of the answer, exit codes, and how it is written down again."""

from __future__ import annotations

import csv
import json
import shlex

import pytest


@pytest.fixture
def lose(run, here):  # noqa: ARG001
    def call(*words: str):
        return run("evaluate", "small.yaml", "--plan", "plan.json", "--quiet", *words)

    return call


def test_no_way_left_is_an_answer_and_ends_with_1(lose):
    result = lose("--fail", "site:a")
    assert result.exit_code == 1
    assert "no way left" in result.stdout
    assert "no prefill engine is left" in result.stdout
    assert result.stderr == ""


def test_an_unstable_rest_is_an_answer_and_ends_with_1(lose):
    result = lose("--fail", "engines:1", "--format", "json")
    assert result.exit_code == 1
    statuses = {one["status"] for one in json.loads(result.stdout)["resilience"]["outages"]}
    assert statuses & {"overloaded", "no_way_left"}


def test_a_loss_that_is_borne_ends_with_0(lose):
    result = lose("--fail", "site:b", "--fail", "line:a-b")
    assert result.exit_code == 0
    assert "no way left" not in result.stdout


def test_the_command_is_kept_with_all_losses(lose):
    result = lose("--fail", "site:a", "--fail", "line:a-b", "--format", "json")
    words = shlex.split(json.loads(result.stdout)["command"])
    assert words[-4:] == ["--fail", "site:a", "--fail", "line:a-b"]


@pytest.mark.parametrize(
    ("form", "lang", "words"),
    [
        ("console", "en", ("With a part lost", "1 of a/prefill", "site b", "no way left")),
        ("console", "zh", ("部分失效时", "站点 b", "无路可走")),
        ("md", "en", ("## With a part lost", "| 1 of a/prefill |", "| **no way left** |")),
        ("md", "zh", ("## 部分失效时", "| 站点 b |")),
        ("html", "en", ("With a part lost", "site b", "no way left")),
        ("html", "zh", ("部分失效时", "站点 b")),
    ],
)
def test_losses_are_in_every_report(lose, form, lang, words):
    result = lose("--fail", "engines:1", "--fail", "site:b", "--format", form, "--lang", lang)
    assert result.exit_code == 1
    for word in words:
        assert word in result.stdout


def test_losses_are_tidy_tables(lose, folder):
    lose("--fail", "engines:1", "--fail", "site:a", "--format", "csv", "-o", "tables")
    with (folder / "tables" / "outages.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["outage"] for row in rows][-1] == "site:a"
    assert rows[-1]["status"] == "no_way_left"
    assert rows[-1]["goodput_requests_per_s"] == ""
    assert rows[0]["engines_lost"] == "1"
    names = {path.name for path in (folder / "tables").iterdir()}
    assert {"outage_slo.csv", "outage_lanes.csv"} <= names


def test_a_saved_answer_reports_the_same(lose, run, folder):  # noqa: ARG001
    printed = lose("--fail", "site:b").stdout
    lose("--fail", "site:b", "-o", "scored.json")
    assert run("report", "scored.json").stdout == printed


def test_without_a_plan_the_scenario_is_planned_first(lose, run):
    given = lose("--fail", "site:b", "--format", "json")
    planned = run("evaluate", "small.yaml", "--fail", "site:b", "--format", "json", "--quiet")
    assert json.loads(planned.stdout)["pools"] == json.loads(given.stdout)["pools"]


def test_without_a_plan_an_infeasible_scenario_says_why(run, here):  # noqa: ARG001
    changes = ("--set", "sites.a.chips.h100.available=1", "--set", "workload.rate=40 req/s")
    result = run("evaluate", "small.yaml", *changes, "--fail", "site:b", "--quiet")
    assert result.exit_code == 1
    assert "no plan meets the limits" in result.stdout


def test_wrong_losses_end_with_2_before_any_work(lose, folder):
    result = lose("--fail", "site:c", "--fail", "lines:a-b", "-o", "scored.json")
    assert result.exit_code == 2
    assert "--fail site:c names no site" in result.stderr
    assert "did you mean line:a-b?" in result.stderr
    assert not (folder / "scored.json").exists()


def test_limits_of_a_class_have_a_column_of_their_own(lose):
    limits = "slo={ttft_p90: 9 s, classes: {hit: {ttft_p90: 8 s}, miss: {ttft_p90: 7 s}}}"
    result = lose("--fail", "site:b", "--set", limits)
    heads = " ".join(result.stdout.split("With a part lost:")[1].split("nothing")[0].split())
    for wanted in ("9 s", "hit", "8 s", "miss", "7 s"):
        assert wanted in heads
