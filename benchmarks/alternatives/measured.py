"""Programs run one after the other, with their time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
RSS_BYTES = 1 if sys.platform == "darwin" else 1024
"""Unit of `ru_maxrss` [bytes]."""


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


def measure(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Measured:
    """Run a program to its end and measure it.

    Parameters
    ----------
    command : sequence of str
        Program and arguments.
    environment : mapping, optional
        Variables beside those of this process.
    """
    own = dict.fromkeys(THREADS, "1") | dict(environment or {})
    with tempfile.TemporaryFile("w+") as stream:
        started = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603 - commands are made by this benchmark
            command, stdout=stream, stderr=subprocess.STDOUT, env={**os.environ, **own}
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        stream.seek(0)
        output = stream.read()
    cpu = usage.ru_utime + usage.ru_stime
    return Measured(wall, cpu, usage.ru_maxrss * RSS_BYTES, output, process.returncode == 0)


def contend(name: str, *arguments: str) -> tuple[Measured, dict[str, Any]]:
    """Run one of the `contenders` in a process of its own, and read the JSON that it prints.

    Raises
    ------
    RuntimeError
        If it fails.
    """
    module = "benchmarks.alternatives.contenders"
    seen = measure([sys.executable, "-m", module, name, *arguments])
    if not seen.ok:
        raise RuntimeError(f"{name} failed:\n{seen.output}")
    found: dict[str, Any] = json.loads(seen.output.splitlines()[-1])
    return seen, found


def load() -> str:
    """Return the load of the machine and its cores, for the record."""
    average = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return f"{os.cpu_count()} cores, load average {average:.1f} at the start"


def scratch_python(folder: Path) -> Path:
    """Return the interpreter of a virtual environment."""
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"
