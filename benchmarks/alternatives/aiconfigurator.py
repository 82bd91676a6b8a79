"""NVIDIA's aiconfigurator on the question of one site, from an environment of its own."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.alternatives import questions
from benchmarks.alternatives.running import scratch_python
from benchmarks.measured import Measured, measure

VERSION = "0.12.0"
"""Of the package on PyPI."""
INSTALL_S = 600.0
"""Most time for its installation [s]."""


class UnavailableError(RuntimeError):
    """The package cannot be had."""


@contextmanager
def environment(given: str | None) -> Iterator[Path]:
    """Yield an interpreter that has the package.

    Parameters
    ----------
    given : str or None
        One that has it; None makes a virtual environment for the time being and installs it there.

    Raises
    ------
    UnavailableError
        If it cannot be installed, as without a network.
    """
    if given is not None:
        yield Path(given)
        return
    with tempfile.TemporaryDirectory(prefix="aiconfigurator-") as folder:
        python = scratch_python(Path(folder))
        steps = (
            [sys.executable, "-m", "venv", folder],
            [str(python), "-m", "pip", "install", "-q", f"aiconfigurator=={VERSION}"],
        )
        for step in steps:
            try:
                subprocess.run(  # noqa: S603 - commands made here
                    step, check=True, capture_output=True, text=True, timeout=INSTALL_S
                )
            except (OSError, subprocess.SubprocessError) as error:
                said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
                raise UnavailableError(said[-1] if said else type(error).__name__) from error
        yield python


def run(python: Path) -> tuple[Measured, dict[str, Any]]:
    """Run its disaggregated search, and read its best configuration from what it prints.

    Raises
    ------
    UnavailableError
        If it fails or prints something else.
    """
    command = [
        str(python.parent / "aiconfigurator"),
        *("cli", "default", "--model-path", "deepseek-ai/DeepSeek-V3"),
        *("--system", "h200_sxm", "--total-gpus", str(questions.CHIPS)),
        *("--isl", str(questions.INPUT_TOKENS), "--osl", str(questions.OUTPUT_TOKENS)),
        *("--ttft", f"{questions.TTFT_S * 1e3:g}", "--tpot", f"{questions.TPOT_S * 1e3:g}"),
        *("--backend", "trtllm", "--serving-mode", "disagg", "--no-color"),
    ]
    try:
        seen = measure(command)
    except OSError as error:
        raise UnavailableError(f"{command[0]}: {error.strerror}") from error
    rate = re.search(r"Request Rate: ([\d.]+) req/s", seen.output)
    took = re.search(r"All experiments completed in ([\d.]+) seconds", seen.output)
    results = re.search(r"completed with (\d+) results", seen.output)
    if not (seen.ok and rate and took and results):
        lines = seen.output.strip().splitlines()
        raise UnavailableError(lines[-1] if lines else "it printed nothing")
    return seen, {
        "value": float(rate[1]),
        "unit": "req/s",
        "search_s": float(took[1]),
        "looked_at": int(results[1]),
        "fleet": _best(seen.output),
    }


def _best(output: str) -> str:
    """Return the first row of its table: workers, parallelism and batch by role."""
    for line in output.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells[0] == "1" and len(cells) > 15:
            return f"{cells[11]} x {cells[13]} prefill, {cells[15]} x {cells[17]} decode"
    return ""
