"""`python -m benchmarks.optimizer`: proven gaps and times of random fleets of many sites.

Prints tables; with `--write` they are put into ``docs/benchmarks.md``. Fleets are scenarios, built
and searched as any other; each search runs in a process of its own, one at a time, on one core.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from benchmarks.measured import use_one_thread
from benchmarks.optimizer.fleets import Size
from benchmarks.optimizer.measure import Outcome, measure, proven, spread
from benchmarks.pages import BENCHMARKS, put_section, table

SIZES = ((Size(2, 2, 2, 9), 20.0), (Size(3, 3, 3, 20), 60.0), (Size(10, 10, 6, 40), 120.0))
"""Sizes with the time that a search gets [s]."""

BASE = Size(2, 2, 2, 9)
"""Size whose dimensions are varied one by one."""

GROWTH = {
    "sites at each end": [replace(BASE, prefill_sites=n, decode_sites=n) for n in (1, 2, 4, 8)],
    "chip types": [replace(BASE, chips=n) for n in (1, 2, 4, 8)],
    "thresholds": [replace(BASE, thresholds=n) for n in (3, 9, 27, 81)],
    "atoms": [replace(BASE, atoms=n) for n in (50, 200, 800, 3200)],
    "load steps": [replace(BASE, load_steps=n) for n in (5, 10, 20, 40)],
}
GROWTH_VALUES = ("prefill_sites", "chips", "thresholds", "atoms", "load_steps")
GROWTH_LIMIT_S = 30.0

SIZES_TITLE = "## Proof against size"
GROWTH_TITLE = "## Growth with each dimension"


def main() -> None:
    """Measure, print, and write the sections."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.optimizer", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="random fleets of each size")
    parser.add_argument("--only", choices=("sizes", "growth"), help="one part; both by default")
    parser.add_argument("--write", action="store_true", help=f"put it into {BENCHMARKS.name}")
    given = parser.parse_args()
    use_one_thread()  # in the processes of the searches; this one only waits for them
    if given.only != "growth":
        tell(SIZES_TITLE, sizes_section(given.seeds), write=given.write)
    if given.only != "sizes":
        tell(GROWTH_TITLE, growth_section(given.seeds), write=given.write)


def sizes_section(seeds: int) -> str:
    """Gaps and times of three sizes."""
    rows = []
    for size, limit_s in SIZES:
        found = run(size, seeds, limit_s)
        feasible = [one for one in found if one.status != "infeasible"]
        cells = (
            size.label,
            f"{limit_s:.0f} s",
            f"{proven(found)} of {len(found)}",
            spread([100.0 * one.gap for one in found], 2, " %"),
            spread([one.first_s for one in feasible], 1, " s") if feasible else "",
            spread([one.total_s for one in found], 1, " s"),
            spread([one.memory_mib for one in found], 0, " MiB"),
        )
        rows.append(cells)
    sizes = " \u00d7 ".join(("prefill", "decode sites", "chips", "thresholds"))
    heads = (sizes, "limit", "proven", "gap", "first plan", "time", "memory")
    return f"{SIZES_TEXT.format(seeds=seeds)}\n\n{table(heads, rows, 'l' * len(heads))}"


def growth_section(seeds: int) -> str:
    """Times with one dimension varied."""
    rows = []
    for (dimension, sizes), key in zip(GROWTH.items(), GROWTH_VALUES, strict=True):
        for size in sizes:
            found = run(size, seeds, GROWTH_LIMIT_S)
            cells = (
                dimension,
                f"{getattr(size, key):,}",
                f"{proven(found)} of {len(found)}",
                spread([100.0 * one.gap for one in found], 2, " %"),
                spread([one.total_s for one in found], 1, " s"),
                spread([one.memory_mib for one in found], 0, " MiB"),
            )
            rows.append(cells)
    heads = ("dimension", "value", "proven", "gap", "time", "memory")
    text = GROWTH_TEXT.format(base=BASE.label, atoms=BASE.atoms, steps=BASE.load_steps)
    return f"{text}\n\n{table(heads, rows, 'l' * len(heads))}"


def run(size: Size, seeds: int, limit_s: float) -> list[Outcome]:
    """Search the fleets of one size."""
    found = []
    for seed in range(seeds):
        one = measure(size, seed, limit_s)
        print(
            f"{size.label}, {size.atoms} atoms, {size.load_steps} steps, seed {seed}: "
            f"{one.status}, gap {100.0 * one.gap:.2f} %, first plan {one.first_s:.1f} s, "
            f"end {one.total_s:.1f} s, {one.memory_mib:.0f} MiB",
            flush=True,
        )
        found.append(one)
    return found


def tell(title: str, body: str, *, write: bool) -> None:
    """Print a section, and put it into the page if that is wanted."""
    print(f"\n{title}\n\n{body}\n", flush=True)
    if write:
        put_section(BENCHMARKS, title, body)


SIZES_TEXT = """\
`python -m benchmarks.optimizer` draws random fleets as scenarios and plans them: {seeds} of each
size, 200 request types, DeepSeek-V3 on chips 0.7-1.4 times as fast as an H200, 16 sizes a line, a
demand of 35-55 % of what all stock could do. Cells are median / largest. Limits and times are
seconds of processor time of one core, from the scenario on: what an idle machine takes. A gap of 0
is a proven optimum, or a proof that there is no plan."""

GROWTH_TEXT = (
    "The same fleets of {base} ({atoms} request types, {steps} load steps) with one dimension "
    "varied;\n30 s a search, median / largest."
)


if __name__ == "__main__":
    main()
