"""Write ``docs/validation.md`` and its charts: ``python -m benchmarks.validation``.

Simulations are kept in ``build/validation`` and reused as long as neither the fleets nor the code
of the simulation change. ``--only grid replay`` makes these parts anew and keeps the others.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Compare, and write the report."""
    from benchmarks.validation.report import PARTS, write_report

    parser = argparse.ArgumentParser(prog="python -m benchmarks.validation", description=__doc__)
    parser.add_argument("--plans", type=int, default=200, help="random fleets to simulate")
    parser.add_argument("--jobs", type=int, default=2, help="simulations at a time")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="folder of the report")
    parser.add_argument("--kept", type=Path, default=ROOT / "build" / "validation")
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, help="parts to make anew; all by default"
    )
    given = parser.parse_args()
    write_report(
        plans=given.plans,
        jobs=given.jobs,
        out=given.out,
        kept=given.kept,
        only=given.only,
        report=_reporter(),
    )


def _reporter() -> Callable[[str], None]:
    return lambda said: print(said, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
