"""Every error ends as text on stderr and an exit code, never as a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pdd_plan.scenario
from pdd_plan.cli.errors import issue_text
from pdd_plan.errors import InputError, Issue, SolverError, UnstableQueueError

PROGRAM = [sys.executable, "-c", "from pdd_plan.cli.main import main; main()"]


def test_issue_text_follows_the_documented_form():
    issue = Issue(
        "slo.ttft_p90 = 0.5 s cannot be met",
        path="slo.ttft_p90",
        file="fleet.yaml",
        line=9,
        help="raise it to 1.9 s",
    )
    assert issue_text(issue) == (
        "error: slo.ttft_p90 = 0.5 s cannot be met\n  --> fleet.yaml:9\n  help: raise it to 1.9 s"
    )


@pytest.mark.parametrize(
    ("issue", "place"),
    [
        (
            Issue("too long", path="workload.rate", file="a.yaml", line=3),
            "a.yaml:3 (workload.rate)",
        ),
        (Issue("too long", file="a.yaml"), "a.yaml"),
        (Issue("too long", path="--output"), "--output"),
    ],
)
def test_issue_text_names_the_place_that_is_known(issue, place):
    assert issue_text(issue) == f"error: too long\n  --> {place}"


@pytest.fixture
def failing(monkeypatch):
    """Make `optimize` raise an error of choice when it loads its scenario."""

    def with_error(error: BaseException):
        def load(*_args, **_kwargs):
            raise error

        monkeypatch.setattr(pdd_plan.scenario, "load_question", load)

    return with_error


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (InputError("no such chip"), 2, "error: no such chip"),
        (SolverError("HiGHS gave up"), 3, "the solver failed: HiGHS gave up"),
        (UnstableQueueError("rho = 1.2"), 70, "a bug of pdd-plan"),
        (ZeroDivisionError("division by zero"), 70, "ZeroDivisionError: division by zero"),
        (PermissionError(13, "Permission denied", "secret.yaml"), 2, "secret.yaml: Permission"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_exit_code_and_message_of_each_kind_of_error(run, failing, error, code, said):
    failing(error)
    result = run("optimize", "quickstart", "-o", "plan.json")
    assert result.exit_code == code
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert not Path("plan.json").exists()


def test_all_issues_are_shown_in_order(run, failing):
    failing(InputError([Issue("first"), Issue("second"), Issue("third")]))
    said = run("optimize", "quickstart").stderr
    assert said.index("error: first") < said.index("error: second") < said.index("error: third")


def test_debug_shows_the_traceback_as_well(run, failing):
    failing(ZeroDivisionError("division by zero"))
    result = run("optimize", "quickstart", "--debug")
    assert result.exit_code == 70
    assert "Traceback" in result.stderr
    assert "--debug" in result.stderr


def test_control_characters_of_an_input_do_not_reach_the_terminal(run, failing):
    failing(InputError("name \x1b[31mred\x1b[0m"))
    assert "\x1b[31mred" not in run("optimize", "quickstart").stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["optimise", "quickstart"],
        ["optimize"],
        ["optimize", "quickstart", "--sovler", "cbc"],
        ["optimize", "quickstart", "--solver", "gurobi"],
        ["optimize", "quickstart", "--format", "pdf"],
        ["optimize", "quickstart", "--seed", "-1"],
        ["optimize", "quickstart", "--jobs", "0"],
        ["optimize", "quickstart", "--time-limit", "0"],
        ["optimize", "quickstart", "--lang", "fr"],
        ["evaluate"],
        ["profiles", "list", "prices"],
        ["schema", "problem"],
    ],
)
def test_wrong_usage_exits_2_and_says_how_to_get_help(run, arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage: pdd-plan" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_closed_pipe_is_no_error():
    process = subprocess.Popen(
        [*PROGRAM, "schema", "plan"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    said = process.stderr.read()
    process.wait(timeout=60)
    assert said == b""
    assert process.returncode in (0, 141)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_control_c_ends_with_one_line_and_code_130(tmp_path):
    code = (
        "import pdd_plan.scenario as s, signal, time\n"
        # as in a terminal: a background job may have been started with the signal ignored
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def load(*a, **k): print('started', flush=True); time.sleep(60)\n"
        "s.load_question = load\n"
        "from pdd_plan.cli.main import main\n"
        "main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "optimize", "quickstart"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"started\n"
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.decode().splitlines() == ["error: interrupted; nothing was written"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_no_room_for_the_result_is_no_bug():
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            [*PROGRAM, "schema", "plan"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert process.returncode == 2
    assert b"cannot be written: No space left on device" in process.stderr
    assert b"bug" not in process.stderr


@pytest.mark.parametrize("limit", ["1ms", "0", "nan", "inf", "-5", "5 parsecs", "soon"])
def test_a_wrong_time_limit_says_what_is_right(run, limit):
    result = run("optimize", "quickstart", "--time-limit", limit)
    assert result.exit_code == 2
    assert "--time-limit" in result.stderr
    assert "0.1 s" in result.stderr or "'2 min'" in result.stderr


def test_a_time_limit_may_have_a_unit(run, here):  # noqa: ARG001
    result = run("optimize", "small.yaml", "--time-limit", "1 min", "-q", "-f", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["certificate"]["time_limit_s"] == 60.0
