"""Contenders run one after the other, each in a process of its own."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.measured import Measured, measure


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
