"""Time and memory of programs, each run to its end in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PROGRAM = (sys.executable, "-c", "from pdd_plan.cli.main import main; main()")
"""The command line, without relying on where its script was installed."""
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
RSS_BYTES = 1 if sys.platform == "darwin" else 1024
"""Unit of `ru_maxrss` [bytes]."""


def use_one_thread() -> None:
    """Keep numpy to one thread, here unless it is loaded already, and in processes started."""
    for name in THREADS:
        os.environ.setdefault(name, "1")


def environment() -> dict[str, str]:
    """Variables for a program that is measured, as its users have them.

    One thread for numpy, as in `use_one_thread`; and Python keeps what it has compiled, as it is
    kept where a package was installed, even if whoever measures has told it not to.
    """
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return variables | dict.fromkeys(THREADS, "1")


@dataclass(frozen=True)
class Measured:
    """One run of a program.

    Attributes
    ----------
    wall_s, cpu_s : float
        From start to end, and processor time of all its threads [s].
    rss_bytes : float
        Most memory resident at a time [bytes]; never less than what the measuring process itself
        held when it started the program, so that process is to be small.
    output : str
        What it printed.
    ok : bool
        It ended with code 0.
    """

    wall_s: float
    cpu_s: float
    rss_bytes: float
    output: str
    ok: bool


def measure(command: Sequence[str], variables: Mapping[str, str] | None = None) -> Measured:
    """Run a program to its end and measure it.

    Parameters
    ----------
    command : sequence of str
        Program and arguments.
    variables : mapping, optional
        Of its environment, beside those of this process.
    """
    own = environment() | dict(variables or {})
    with tempfile.TemporaryFile("w+") as stream:
        started = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603 - commands are made by this benchmark
            command, stdout=stream, stderr=subprocess.STDOUT, env=own
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        stream.seek(0)
        output = stream.read()
    cpu = usage.ru_utime + usage.ru_stime
    return Measured(wall, cpu, usage.ru_maxrss * RSS_BYTES, output, process.returncode == 0)
