"""Sweeps: order, failed points, the same result in parallel, after an interruption, on Dask."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

import pdd_plan
from pdd_plan.errors import InputError
from pdd_plan.studies.sweep import SweepResult, sweep
from pdd_plan.studies.sweep_axes import parse_axes
from pdd_plan.studies.sweep_journal import Journal
from pdd_plan.studies.sweep_outcome import COLUMNS
from pdd_plan.studies.sweep_run import Progress, Runner
from pdd_plan.studies.sweep_workers import DaskWorkers, LocalWorkers
from tests.studies.scenarios import agent_fleet
from tests.studies.sweep_planner import (
    PRICE,
    SCENARIO,
    Counting,
    Interrupted,
    failing,
    killed,
    options_of,
    priced,
    slow,
)

ROOT = Path(__file__).resolve().parents[2]
VARY = (f"{PRICE}=1 USD/h..3 USD/h/1 USD/h", "workload.rate=1 req/s,2 req/s,4 req/s,8 req/s")


def swept(vary=VARY, planner=priced, workers=None, journal=None, changes=(), **more) -> SweepResult:
    runner = Runner(workers or LocalWorkers(1), journal, planner=planner, **more)
    return sweep(SCENARIO, parse_axes(vary), options_of, runner, changes)


def test_rows_are_in_the_order_of_the_grid_and_hold_what_was_planned():
    result = swept()
    assert result.scenario == "quickstart"
    assert [row.steps for row in result.rows] == [(i, j) for i in range(3) for j in range(4)]
    costs = [row.outcome.usd_per_hour for row in result.rows]
    assert costs == [100.0 * price + rate for price in (1, 2, 3) for rate in (1, 2, 4, 8)]
    assert [row.outcome.ttft_p90_s for row in result.rows[:4]] == [1.0, 2.0, 4.0, 8.0]
    assert result.rows[5].changes == (f"{PRICE}=2 USD/h", "workload.rate=2 req/s")


def test_an_outcome_holds_the_plan_in_short():
    (row,) = swept(["workload.rate=1 req/s"]).rows
    outcome = row.outcome  # of the plan in tests/report/report_examples.py
    assert (outcome.status, outcome.reason, outcome.planned) == ("optimal", None, True)
    assert (outcome.prefill_chips, outcome.relay_chips, outcome.decode_chips) == (72, 8, 56)
    assert outcome.chips == 136
    assert outcome.fleet == (
        "beijing prefill h200 9 x 8; beijing relay h200 1 x 8; shanghai decode h20 7 x 8"
    )
    assert outcome.usd_per_million_output_tokens == 1.37
    assert outcome.tpot_p90_s == 0.041
    assert outcome.single_site_usd_per_million_output_tokens is not None
    assert outcome.cross_site_bcr is not None
    assert tuple(outcome.record()) == COLUMNS


def test_points_that_fail_are_rows_with_a_reason():
    rows = swept(["workload.rate=1..6/1 req/s"], failing).rows
    assert [(row.outcome.status, row.outcome.reason) for row in rows] == [
        ("optimal", None),
        ("infeasible", "slo.ttft_p90 = 1 s cannot be met"),
        ("input_error", "no shape fits the memory"),
        ("solver_failed", "no plan was found in 60 s"),
        ("error", "ZeroDivisionError: division by zero"),
        ("optimal", None),
    ]


def test_a_wrong_combination_is_a_row_and_the_others_are_planned():
    vary = ["links.0.bandwidth.min=20 Gbps,60 Gbps", "links.0.bandwidth.max=40 Gbps,80 Gbps"]
    result = swept(vary)
    assert [row.outcome.status for row in result.rows] == [
        "optimal",
        "optimal",
        "input_error",
        "optimal",
    ]
    assert "min = 60 Gbps is above max = 40 Gbps" in str(result.rows[2].outcome.reason)


def test_wrong_axes_are_told_together_before_anything_is_planned():
    planner = Counting()
    vary = ["links.0.bandwith=5..20/5 Gbps", "slo.ttft_p90=1 s,fast,3 Gbps", f"{PRICE}=1 USD/h"]
    with pytest.raises(InputError) as caught:
        swept(vary, planner)
    issues = caught.value.issues
    assert [issue.message for issue in issues] == [
        "links.0.bandwith is not in the scenario",
        'slo.ttft_p90 = "fast" is not a time',
        "slo.ttft_p90 = 3 Gbps is a bandwidth (unit Gbps), not a time (unit s)",
    ]
    assert "did you mean links.0.bandwidth?" in issues[0].help
    assert issues[1].file == "--vary slo.ttft_p90=fast"
    assert planner.calls == 0


def test_a_scenario_that_only_the_axis_makes_whole_is_planned():
    # Without the price that the axis brings, the scenario cannot be read.
    result = swept([f"{PRICE}=1 USD/h,2 USD/h"], changes=("workload.rate=12 req/s", f"{PRICE}=?"))
    assert [row.outcome.usd_per_hour for row in result.rows] == [112.0, 212.0]


def test_a_missing_scenario_is_one_error():
    with pytest.raises(InputError) as caught:
        sweep("none.yaml", parse_axes(["a=1,2"]), options_of, Runner(LocalWorkers(1)))
    assert len(caught.value.issues) == 1


def test_nothing_to_vary_is_an_error():
    with pytest.raises(InputError, match="nothing is varied"):
        sweep(SCENARIO, (), options_of, Runner(LocalWorkers(1)))


def test_equal_points_are_planned_once():
    planner = Counting()
    result = swept(["slo={ttft_p90: 2 s},{'ttft_p90': 2 s}"], planner)
    assert planner.calls == 1
    assert len(result.rows) == 2
    assert result.rows[0].outcome == result.rows[1].outcome


def test_in_parallel_the_result_is_the_same():
    vary = (f"{PRICE}=1..3/1 USD/h", "workload.rate=1..6/1 req/s")
    serial = swept(vary, failing)
    assert swept(vary, failing, LocalWorkers(2)) == serial


@pytest.mark.parametrize("at", [1, 5, 12])
def test_an_interrupted_sweep_resumes_to_the_same_result(tmp_path, at):
    whole = swept()
    path = tmp_path / "sweep.journal.jsonl"
    with Journal(path, False) as journal, pytest.raises(KeyboardInterrupt):
        swept(planner=Interrupted(at), journal=journal)
    if path.exists():
        assert path.read_text().count('"key"') == at - 1
    planner = Counting()
    with Journal(path, True) as journal:
        assert swept(planner=planner, journal=journal) == whole
        journal.finish()
    assert planner.calls == 12 - (at - 1)
    with Journal(path, True) as journal:
        assert swept(planner=Interrupted(1), journal=journal) == whole  # nothing is left to plan


def test_a_sweep_killed_in_the_middle_of_a_line_resumes(tmp_path):
    whole = swept()
    path = tmp_path / "j.jsonl"
    with Journal(path, False) as journal:
        swept(journal=journal)
    text = path.read_bytes()
    path.write_bytes(text[: len(text) * 2 // 3])
    with Journal(path, True) as journal:
        assert swept(journal=journal) == whole
    lines = [json.loads(line) for line in path.read_text().splitlines()]  # every line is whole
    assert len({line["key"] for line in lines[1:]}) == len(lines) - 1 == 12


def test_a_larger_grid_takes_over_the_points_that_are_known(tmp_path):
    with Journal(tmp_path / "j", False) as journal:
        swept(["workload.rate=1..4/1 req/s"], journal=journal)
    planner = Counting()
    with Journal(tmp_path / "j", True) as journal:
        swept(["workload.rate=1..6/1 req/s"], planner, journal=journal)
    assert planner.calls == 2


def test_failures_of_the_moment_are_tried_again(tmp_path):
    vary = ["workload.rate=1..5/1 req/s"]
    with Journal(tmp_path / "j", False) as journal:
        swept(vary, failing, journal=journal)
    planner = Counting()
    with Journal(tmp_path / "j", True) as journal:
        rows = swept(vary, planner, journal=journal).rows
    assert planner.calls == 2  # the solver's failure and the bug, not what was infeasible or wrong
    assert [row.outcome.status for row in rows[1:3]] == ["infeasible", "input_error"]
    assert all(row.outcome.planned for row in rows[3:])


@pytest.mark.parametrize("what", ["version", "scenario", "options"])
def test_nothing_is_taken_over_that_something_else_decided(tmp_path, monkeypatch, what):
    from dataclasses import replace

    with Journal(tmp_path / "j", False) as journal:
        swept(journal=journal)
    planner = Counting()
    runner = Runner(LocalWorkers(1), Journal(tmp_path / "j", True), planner=planner)
    changes, options = (), options_of
    if what == "version":
        monkeypatch.setattr(pdd_plan, "__version__", "99")
    elif what == "scenario":
        changes = ("slo.ttft_p90=3 s",)
    else:
        options = lambda scenario: replace(options_of(scenario), solver="cbc")  # noqa: E731
    sweep(SCENARIO, parse_axes(VARY), options, runner, changes)
    assert planner.calls == 12


def test_progress_is_told_after_every_point():
    seen: list[Progress] = []
    swept(["workload.rate=1..5/1 req/s"], failing, progress=seen.append)
    assert [p.done for p in seen] == [0, 1, 2, 3, 4, 5]
    assert {p.total for p in seen} == {5}
    assert seen[-1].without_plan == 4
    assert seen[0].left_s is None
    assert seen[-1].left_s == 0.0


def test_a_dask_cluster_gives_the_same_result():
    distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    vary = (f"{PRICE}=1..3/1 USD/h", "workload.rate=1..6/1 req/s")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as cluster:
        workers = DaskWorkers(cluster.scheduler_address)
        found = swept(vary, failing, workers)
        workers.close()
    assert found == swept(vary, failing)


@pytest.mark.parametrize("address", ["nonsense", "tcp://127.0.0.1:1"])
def test_a_dask_scheduler_that_is_not_there_is_told(address):
    pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    with pytest.raises(InputError) as caught:
        DaskWorkers(address)
    assert f"no Dask scheduler answers at {address}" in caught.value.issues[0].message
    assert "dask scheduler" in caught.value.issues[0].help


def test_without_dask_the_help_says_how_to_get_it(monkeypatch):

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError) as caught:
        DaskWorkers("tcp://127.0.0.1:8786")
    assert "pdd-plan[dask]" in caught.value.issues[0].help


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="Windows has no such masks")
def test_processes_leave_ctrl_c_to_the_one_that_started_them():
    code = (
        "from tests.studies.sweep_planner import held\n"
        "from tests.studies.test_sweep import LocalWorkers, swept\n"
        "print({row.outcome.reason for row in swept(planner=held, workers=LocalWorkers(2)).rows})"
    )
    # A process of its own: there, nothing of multiprocessing has been started before.
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert ran.stdout == "{None}\n"


@pytest.mark.long
def test_a_point_that_kills_its_process_is_a_row():
    rows = swept(VARY, killed, LocalWorkers(2)).rows
    assert [row.outcome.planned for row in rows] == [True, False, True, True] * 3
    assert "killed" in str(rows[1].outcome.reason)


@pytest.mark.long
def test_a_point_that_kills_its_process_on_dask_is_a_row():
    distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        workers = DaskWorkers(cluster.scheduler_address)
        rows = swept(["workload.rate=1..4/1 req/s"], killed, workers).rows
        workers.close()
    assert [row.outcome.planned for row in rows] == [True, False, True, True]
    assert "killed" in str(rows[1].outcome.reason)


@pytest.mark.long
def test_two_processes_lose_less_than_a_fifth():
    vary = [f"{PRICE}=1..100/1 USD/h"]
    swept([f"{PRICE}=1 USD/h,2 USD/h"], slow, LocalWorkers(2))  # the processes are up
    started = time.perf_counter()
    swept(vary, slow, LocalWorkers(2))
    elapsed_s = time.perf_counter() - started
    assert 100 * 0.5 / (2 * elapsed_s) >= 0.8


@pytest.mark.long
def test_real_plans_are_the_same_in_series_in_processes_and_on_dask(tmp_path):
    distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    data = agent_fleet()
    data["workload"]["max_atoms"] = 40
    data["engines"] = [{"chip": "h200", "chips": 8}, {"chip": "h20", "chips": 8}]
    file = tmp_path / "fleet.yaml"
    file.write_text(yaml.safe_dump(data))
    axes = parse_axes(["workload.rate=4 req/s,8 req/s", "slo.ttft_p90=0.1 s,1.5 s,6 s"])

    def by(workers, journal=None):
        return sweep(file, axes, options_of, Runner(workers, journal))

    serial = by(LocalWorkers(1))
    assert [row.outcome.planned for row in serial.rows] == [False, True, True] * 2
    assert by(LocalWorkers(2)) == serial
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        workers = DaskWorkers(cluster.scheduler_address)
        with Journal(tmp_path / "j", False) as journal:
            assert by(workers, journal) == serial
        workers.close()
    with Journal(tmp_path / "j", True) as journal:  # begun on the cluster, gone on with here
        assert by(LocalWorkers(1), journal) == serial
