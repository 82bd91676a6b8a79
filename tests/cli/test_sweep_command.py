"""``pdd-plan sweep``: forms, files, exit codes, interruption and resumption."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

import pdd_plan.studies.services
from tests.studies.scenarios import agent_fleet
from tests.studies.sweep_planner import Interrupted, failing, priced, stepped

ROOT = Path(__file__).resolve().parents[2]
RATE = ("--vary", "workload.rate=1..6/1 req/s")
SWEEP = ("sweep", "quickstart", "--jobs", "1", *RATE)


@pytest.fixture
def planner(monkeypatch):
    """Let `sweep` plan by arithmetic."""

    def use(planner):
        monkeypatch.setattr(pdd_plan.studies.services, "plan_question", planner)

    use(priced)
    return use


def records(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_help_has_an_example_and_fits_80_columns(run):
    result = run("sweep", "--help")
    assert result.exit_code == 0
    assert "Example:  pdd-plan sweep" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_csv_is_one_tidy_table_that_comes_back_as_it_was(run, planner):
    planner(failing)
    result = run(*SWEEP, "--format", "csv")
    assert result.exit_code == 0, result.stderr
    rows = records(result.stdout)
    data = json.loads(run(*SWEEP, "--format", "json").stdout)
    assert [float(row["workload.rate [req/s]"]) for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row["status"] for row in rows] == [
        "optimal",
        "infeasible",
        "input_error",
        "solver_failed",
        "error",
        "optimal",
    ]
    for row, record in zip(rows, data["rows"], strict=True):
        for key in set(row) - {"point", "workload.rate [req/s]"}:
            value = record[key]
            if isinstance(value, bool):
                assert row[key] == str(value).lower()
            elif isinstance(value, int | float):
                assert float(row[key]) == value  # every digit
            else:
                assert row[key] == (value or "")


def test_csv_is_safe_to_open_in_a_spreadsheet(run, planner):
    from pdd_plan.errors import InputError, Issue

    def evil(scenario, options):  # noqa: ARG001
        raise InputError(Issue("=HYPERLINK(1)", path="slo.x"))

    planner(evil)
    result = run(*SWEEP, "--format", "csv")
    assert {row["reason"] for row in records(result.stdout)} == {"'=HYPERLINK(1)"}


def test_json_says_how_to_get_each_point_again(run, planner):  # noqa: ARG001
    data = json.loads(run(*SWEEP, "--set", "slo.ttft_p90=3 s", "--format", "json").stdout)
    assert data["schema_version"] == 1
    assert data["scenario"] == "quickstart"
    assert "sweep quickstart" in data["command"]
    assert data["axes"][0][0] == {
        "path": "workload.rate",
        "values": [f"{k} req/s" for k in range(1, 7)],
        "unit": "req/s",
        "numbers": [1, 2, 3, 4, 5, 6],
    }
    assert data["rows"][2]["values"] == {"workload.rate": "3 req/s"}
    assert data["rows"][2]["changes"] == ["slo.ttft_p90=3 s", "workload.rate=3 req/s"]


def test_zipped_paths_have_a_column_each(run, planner):  # noqa: ARG001
    both = ("--zip", "workload.rate=1,2,2", "--zip", "name=a,b,c")
    rows = records(run("sweep", "quickstart", "-j", "1", *both, "-f", "csv").stdout)
    assert [(row["workload.rate"], row["name"]) for row in rows] == [
        ("1.0", "a"),
        ("2.0", "b"),
        ("2.0", "c"),
    ]


@pytest.mark.parametrize("form", ["console", "md", "html"])
def test_every_point_is_in_every_report(run, planner, form):
    planner(failing)
    text = run(*SWEEP, "--format", form).stdout
    for rate in range(1, 7):
        assert f"{rate} req/s" in text
    for reason in ("no shape fits the memory", "no plan was found in 60 s", "division by zero"):
        assert reason in text
    assert "sweep of 6 points, 2 with a plan" in text


def test_the_console_fits_80_columns(run, planner):
    planner(failing)
    two = (*RATE, "--vary", "sites.shanghai.chips.h20.price=1..3/1 USD/h")
    for axes in (RATE, two, (*two, "--vary", "sites.beijing.chips.h200.price=3..5/1 USD/h")):
        result = run("sweep", "quickstart", "-j", "1", *axes)
        assert result.exit_code == 0
        assert max(map(len, result.stdout.splitlines())) <= 80


def test_chinese_reports(run, planner):  # noqa: ARG001
    text = run(*SWEEP, "--lang", "zh").stdout
    assert "扫描 6 个点" in text


def test_html_is_one_page_that_loads_nothing_and_escapes_all(run, planner):  # noqa: ARG001
    axes = ("--vary", "workload.rate=1,2,4", "--vary", "name=<b>x</b>,y")
    text = run("sweep", "quickstart", "-j", "1", *axes, "-f", "html").stdout
    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert "<b>x" not in text
    assert text.count("<svg") == 3  # cost along an axis, cost and kind over both


def test_one_axis_has_curves_with_their_crossing(run, planner):
    def crossing(scenario, options):
        """Single site costs 10; PDD costs the rate times 3: they cross at 3.33 req/s."""
        plan = priced(scenario, options)
        rate = scenario.workload.rate_per_s
        costs = {"single_site": 10.0, "cross_site": 20.0, "pdd": 3 * rate}
        bases = [
            base.model_copy(
                update={
                    "cost": base.cost.model_copy(
                        update={"usd_per_million_output_tokens": costs[base.name]}
                    )
                }
            )
            for base in plan.baselines
            if base.name in costs
        ]
        pdd = bases[0].model_copy(
            update={
                "name": "pdd",
                "cost": bases[0].cost.model_copy(
                    update={"usd_per_million_output_tokens": costs["pdd"]}
                ),
            }
        )
        bases = [base for base in bases if base.name != "pdd"]
        return plan.model_copy(update={"baselines": (*bases, pdd)})

    planner(crossing)
    text = run(*SWEEP).stdout
    assert "PDD is cheaper up to 3 req/s, single site from 4 req/s" in text
    assert "3.33 req/s (10.00 USD)" in text
    data = json.loads(run(*SWEEP, "--format", "json").stdout)
    assert [
        (item["below"], item["above"], item["low"], item["high"], round(item["at"], 6))
        for item in data["crossings"]
    ] == [("pdd", "single_site", 3.0, 4.0, 3.333333)]
    html = run(*SWEEP, "--format", "html").stdout
    assert "3.33 req/s</text>" in html


def test_the_front(run, planner):
    planner(stepped)
    result = run("sweep", "quickstart", "-j", "1", "--pareto", "--format", "csv")
    rows = [row for row in records(result.stdout) if row["on_front"] == "true"]
    assert [(float(row["ttft_p90_s"]), float(row["usd_per_hour"])) for row in rows] == [
        (0.9, 400.0),
        (1.7, 300.0),
        (6.0, 220.0),
        (40.0, 150.0),
    ]
    text = run("sweep", "quickstart", "-j", "1", "--pareto").stdout
    assert "front of cost against P90 TTFT, 4 of" in text
    assert run("sweep", "quickstart", "-j", "1", "--pareto", "-f", "html").stdout.count("<svg") == 1


def test_files_and_the_journal_beside_them(run, planner, folder):  # noqa: ARG001
    result = run(*SWEEP, "-o", "rates.csv")
    assert result.stdout == ""
    assert "wrote rates.csv" in result.stderr
    assert (folder / "rates.csv").read_text() == run(*SWEEP, "-f", "csv").stdout
    lines = (folder / "rates.journal.jsonl").read_text().splitlines()
    assert len(lines) == 8  # a head, six points, the end
    (folder / "out").mkdir()
    run(*SWEEP, "-o", "out", "--quiet")
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "sweep.csv",
        "sweep.html",
        "sweep.journal.jsonl",
        "sweep.json",
        "sweep.md",
    ]


def test_another_form_of_a_sweep_that_is_done_plans_nothing(run, planner, folder):
    run(*SWEEP, "-o", "rates.csv")
    planner(Interrupted(1))
    result = run(*SWEEP, "-o", "rates.html", "--resume")
    assert result.exit_code == 0
    assert "took 6 of 6 points from rates.journal.jsonl" in result.stderr
    assert (folder / "rates.html").exists()


def test_parquet_holds_what_csv_holds(run, planner, folder):
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra 'parquet' is not installed")
    planner(failing)
    run(*SWEEP, "-o", "rates.parquet")
    rows = parquet.read_table(folder / "rates.parquet").to_pylist()
    data = json.loads(run(*SWEEP, "-f", "json").stdout)["rows"]
    assert [row["workload.rate [req/s]"] for row in rows] == [1, 2, 3, 4, 5, 6]
    for row, record in zip(rows, data, strict=True):
        assert {key: row[key] for key in record if key in row} == {
            key: value for key, value in record.items() if key in row
        }


def test_without_pyarrow_the_help_says_how_to_get_it(run, planner, monkeypatch, folder):  # noqa: ARG001
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    result = run(*SWEEP, "-o", "rates.parquet")
    assert result.exit_code == 2
    assert "pdd-plan[parquet]" in result.stderr
    assert list(folder.iterdir()) == []


def test_exit_code_1_if_no_point_has_a_plan(run, planner):
    planner(failing)
    result = run("sweep", "quickstart", "-j", "1", "--vary", "workload.rate=2..4/1 req/s")
    assert result.exit_code == 1
    assert "sweep of 3 points, 0 with a plan" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing is varied"),
        (("--vary", "slo.ttft_p90=1..2"), "not the form first..last/step"),
        (("--vary", "slo.tftt_p90=1 s"), "did you mean slo.ttft_p90?"),
        ((*RATE, "--resume"), "--resume needs the --output"),
        ((*RATE, "-f", "parquet"), "Parquet is no text"),
        ((*RATE, "-o", "a.pdf"), "the ending of a.pdf names no form"),
        ((*RATE, "-o", "no/a.csv"), "there is no folder no"),
        ((*RATE, "--set", "slo.ttft_p90=3 Gbps"), "is a bandwidth"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_planned(run, planner, folder, arguments, said):
    planner(Interrupted(1))
    result = run("sweep", "quickstart", "-j", "1", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""
    assert list(folder.iterdir()) == []


def test_ctrl_c_says_how_to_go_on_and_going_on_ends_in_the_same_files(run, planner, folder):
    whole = run(*SWEEP, "-f", "csv").stdout
    planner(Interrupted(4))
    result = run(*SWEEP, "-o", "rates.csv")
    assert result.exit_code == 130
    assert "interrupted after 3 points, kept in rates.journal.jsonl" in result.stderr
    assert "--output rates.csv --jobs 1 --resume" in result.stderr
    assert not (folder / "rates.csv").exists()
    planner(priced)
    again = run(*SWEEP, "-o", "rates.csv")
    assert again.exit_code == 2
    assert "add --resume" in again.stderr
    result = run(*SWEEP, "-o", "rates.csv", "--resume")
    assert result.exit_code == 0
    assert "took 3 of 6 points" in result.stderr
    assert (folder / "rates.csv").read_text() == whole


def test_a_dask_cluster_through_the_same_command(run, planner):
    distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    planner(failing)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        result = run(*SWEEP, "-f", "csv", "--dask", cluster.scheduler_address)
    assert result.exit_code == 0
    assert result.stdout == run(*SWEEP, "-f", "csv").stdout


def test_ctrl_c_without_output_keeps_nothing(run, planner):
    planner(Interrupted(4))
    result = run(*SWEEP)
    assert result.exit_code == 130
    assert "none is kept" in result.stderr


def test_a_point_is_planned_as_optimize_plans_it(run, folder):
    data = agent_fleet(gbps="40 Gbps")
    data["workload"]["max_atoms"] = 40
    data["engines"] = [{"chip": "h200", "chips": 8}, {"chip": "h20", "chips": 8}]
    (folder / "fleet.yaml").write_text(yaml.safe_dump(data))
    rate = "workload.rate=4 req/s"
    plan = json.loads(run("optimize", "fleet.yaml", "--set", rate, "-f", "json").stdout)
    swept = ("sweep", "fleet.yaml", "-j", "1", "--vary", rate, "-f", "json")
    (row,) = json.loads(run(*swept).stdout)["rows"]
    assert row["scenario_sha256"] == plan["scenario"]["sha256"]
    assert row["usd_per_hour"] == plan["cost"]["usd_per_hour"]
    assert row["ttft_p90_s"] == plan["latency"]["ttft_s"]["p90"]
    assert row["gap"] == plan["certificate"]["gap"]
    for base in plan["baselines"]:
        cost = base["cost"] and base["cost"]["usd_per_million_output_tokens"]
        assert row[f"{base['name']}_usd_per_million_output_tokens"] == cost


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="sends the signal that Ctrl-C sends")
def test_ctrl_c_in_a_terminal_ends_all_processes_without_a_traceback(folder):
    program = [sys.executable, "-c", "from pdd_plan.cli.main import main; main()"]
    command = [*program, "sweep", "quickstart", "-j", "2", *RATE, "-o", "rates.csv"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    journal = folder / "rates.journal.jsonl"
    deadline = time.monotonic() + 120
    while not journal.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes
    said = process.communicate(timeout=30)[1]
    assert process.returncode == 130
    assert "To go on:" in said
    assert "Traceback" not in said
    assert _gone(process.pid, deadline)


def _gone(group: int, deadline: float) -> bool:
    """Whether all processes of a group end in time."""
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False
