"""`python -m benchmarks.sweep`: what two processes gain on a sweep of 500 points.

Runs the same sweep in one process and in two, checks that their results are the same file, and
prints a Markdown table, which `--write` puts into ``docs/benchmarks.md``. On a machine with other
work beside it seconds say little; the processor time of the two runs still tells what running side
by side costs, so that both are printed: efficiency by the clock is t(1) / (n t(n)), by processor
time it is c(1) / c(n).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.measured import PROGRAM, measure
from benchmarks.pages import BENCHMARKS, put_section, table

TITLE = "## Sweeps in parallel"
TEXT = """\
`python -m benchmarks.sweep`: {points} points of a small quickstart, prices of decode chips by
limits on P90 TTFT, in one process and in several (`sweep --jobs`)."""

SMALLER = (
    "workload.max_atoms=60",
    "routing.max_thresholds=4",
    "slo.slot_wait=1 %",
    "engines=[{chip: h200, chips: 8}, {chip: h20, chips: 8}]",
)
"""Changes of the quickstart that make a plan quick."""
PRICES, LIMITS = 20, 25
"""Values of the two axes; their product is the number of points."""


class Run(NamedTuple):
    """One sweep: seconds by the clock, processor seconds of all its processes, and its result."""

    wall_s: float
    processor_s: float
    result: bytes


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=2, help="processes to compare one with")
    parser.add_argument("--limits", type=int, default=LIMITS, help="25 make 500 points")
    parser.add_argument("--write", action="store_true", help=f"put it into {BENCHMARKS.name}")
    given = parser.parse_args()
    points = PRICES * given.limits
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = {jobs: sweep(folder, jobs, given.limits) for jobs in (1, given.jobs)}
    if runs[1].result != runs[given.jobs].result:
        sys.exit("the two runs differ in their results")
    body = section(runs, points)
    print(f"{TITLE}\n\n{body}")
    if given.write:
        put_section(BENCHMARKS, TITLE, body)


def section(runs: Mapping[int, Run], points: int) -> str:
    """Return the runs as a table, by the number of processes, and what the last one lost."""
    rows = [
        (
            str(jobs),
            f"{run.wall_s:.1f} s",
            f"{points / run.wall_s:.1f}",
            f"{run.processor_s:.1f} s",
        )
        for jobs, run in runs.items()
    ]
    heads = ("processes", "time", "points/s", "processor time of all")
    one, many, jobs = runs[1], runs[max(runs)], max(runs)
    by_clock = one.wall_s / (jobs * many.wall_s)
    by_processor = one.processor_s / many.processor_s
    return "\n\n".join(
        (
            TEXT.format(points=points),
            table(heads, rows, "rrrr"),
            f"Parallel efficiency: {by_clock:.0%} by the clock, start of the processes included; "
            f"{by_processor:.0%} by\nprocessor time. The results of both are the same file.",
        )
    )


def sweep(folder: Path, jobs: int, limits: int) -> Run:
    """Run the sweep in a process of its own, with so many workers."""
    output = folder / f"{jobs}.csv"
    command = [
        *PROGRAM,
        "sweep",
        "quickstart",
        *(word for change in SMALLER for word in ("--set", change)),
        "--vary",
        f"sites.shanghai.chips.h20.price=0.1 USD/h..{PRICES / 10} USD/h/0.1 USD/h",
        "--vary",
        f"slo.ttft_p90=1 s..{1 + (limits - 1) * 0.02:g} s/0.02 s",
        "--jobs",
        str(jobs),
        "--quiet",
        "-o",
        str(output),
    ]
    seen = measure(command, {"NO_COLOR": "1"})
    if not seen.ok:
        sys.exit(f"the sweep failed:\n{seen.output}")
    return Run(seen.wall_s, seen.cpu_s, output.read_bytes())


if __name__ == "__main__":
    main()
