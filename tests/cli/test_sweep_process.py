"""Sweeps as true processes: ended by Ctrl-C or killed, then resumed with the same result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SMALL = Path(__file__).with_name("small.yaml")
PROGRAM = [sys.executable, "-c", "from pdd_plan.cli.main import main; main()"]
POINTS = 36
VARY = (
    "sites.b.chips.h20.price=0.2 USD/h..1.8 USD/h/0.2 USD/h",
    "slo.ttft_p90=1 s,1.5 s,2 s,0.001 s",  # the last cannot be met: rows with a reason
)


def arguments(output: Path, jobs: int, *more: str) -> list[str]:
    vary = [word for text in VARY for word in ("--vary", text)]
    return [*PROGRAM, "sweep", str(SMALL), *vary, "-o", str(output), "-j", str(jobs), *more]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> str:
    """The result of the sweep without an interruption, in one process."""
    output = tmp_path_factory.mktemp("whole") / "result.csv"
    done = subprocess.run(arguments(output, 1), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = output.read_text()
    assert len(text.splitlines()) == POINTS + 1
    assert text.count(",infeasible,") == POINTS // 4
    return text


@pytest.mark.long
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill -9"])
def test_what_was_done_is_kept_and_the_result_is_the_same(whole, tmp_path, how, jobs):
    output = tmp_path / "result.csv"
    journal = tmp_path / "result.journal.jsonl"
    notes = tmp_path / "notes.txt"  # no pipe: workers of a killed process may keep it open
    with notes.open("w") as stream:
        process = subprocess.Popen(
            arguments(output, jobs), stderr=stream, text=True, start_new_session=True
        )
    deadline = time.monotonic() + 300
    while not journal.exists() or journal.read_bytes().count(b"\n") < 6:
        assert process.poll() is None, "the sweep ended before it could be interrupted"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    if how is signal.SIGINT:
        os.killpg(process.pid, how)  # as a terminal does
    else:
        os.kill(process.pid, how)
    process.wait(timeout=120)
    said = notes.read_text()
    kept = journal.read_text().count('"key"')
    assert 5 <= kept < POINTS
    assert not output.exists()
    if how is signal.SIGINT:
        assert process.returncode == 130
        assert "--resume" in said
        assert "Traceback" not in said
    again = subprocess.run(arguments(output, 2, "--resume"), capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert f"took {kept} of {POINTS} points" in again.stderr
    assert output.read_text() == whole


@pytest.mark.long
def test_a_local_dask_cluster_gives_the_same_result(whole, tmp_path):
    distributed = pytest.importorskip("distributed")
    output = tmp_path / "result.csv"
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        words = [*arguments(output, 2), "--dask", cluster.scheduler_address]
        done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert output.read_text() == whole
