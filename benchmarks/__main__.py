"""`python -m benchmarks`: every section of ``docs/benchmarks.md``, measured one after the other.

Takes about half an hour, on a machine that does nothing else. `docs/validation.md` has a command of
its own, `python -m benchmarks.validation`.
"""

from __future__ import annotations

import subprocess
import sys

PARTS = ("speed", "optimizer", "sweep", "alternatives")


def main() -> None:
    """Run them all, each in a process of its own."""
    for part in PARTS:
        command = [sys.executable, "-m", f"benchmarks.{part}", "--write"]
        subprocess.run(command, check=True)  # noqa: S603 - modules of this folder


if __name__ == "__main__":
    main()
