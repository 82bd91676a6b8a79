"""`python -m benchmarks.silicon`: fit, held-out errors, and on request the shipped defaults."""

from __future__ import annotations

import argparse
import datetime
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.silicon import defaults
from benchmarks.silicon.calibrated import calibrated_errors
from benchmarks.silicon.data import Run, aggregated_runs, without_settings
from benchmarks.silicon.split import fit_dedicated, split_runs, split_scores
from benchmarks.silicon.transferred import transferred_errors
from benchmarks.silicon.validate import FOLDS, Sample, Score, score
from pdd_plan.roofline.operators import FloatArray

HEAD = (
    "| rows | n | TPOT median | within 25 % | p90 | bias "
    "| TTFT median | within 25 % | p90 | bias |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def main() -> None:
    """Print the validation of the roofline against the silicon sample, as Markdown."""
    arguments = _arguments()
    usable, marked = aggregated_runs(arguments.data)
    sample = Sample(usable)
    print(f"{len(usable)} aggregated runs, {len(marked)} marked as outliers and left out.\n")
    everything = np.ones(len(usable), dtype=bool)
    fitted = sample.fit(everything)
    print(HEAD)
    print(_line("in sample", score(sample.errors(everything, fitted.efficiencies))))
    errors = sample.held_out(FOLDS)
    held_out = score(errors)
    print(_line("six folds of whole (model, chip) groups", held_out))
    if not arguments.fast or arguments.write:
        bare = score(Sample(without_settings(usable)).held_out(FOLDS))
    if not arguments.fast:
        print(_line("six folds, schedulers' settings unknown", bare))
        _splits(sample)
        before, after = calibrated_errors(sample)
        print(_line("ten points of the same kind: before", score(before)))
        print(_line("ten points of the same kind: after", score(after)))
    print("\nDisaggregated runs that name both worker counts, each kind held out:\n")
    print(HEAD)
    for name, one in split_scores(arguments.data, fitted.efficiencies):
        print(_line(name, one))
    _, transferred = transferred_errors(arguments.data)
    print(_line("all, calibrated to aggregated runs of the kind", score(transferred)))
    print("\nHeld out, by group:\n")
    print(HEAD)
    _tables(sample, errors)
    if arguments.write:
        ranges = defaults.bootstrap(sample, arguments.draws, seed=0)
        date = datetime.date.today().isoformat()
        shipped = fit_dedicated(split_runs(arguments.data), fitted.efficiencies)
        text = defaults.render(shipped, ranges, held_out, bare, len(usable), date)
        print(f"\nwrote {defaults.write(text).name}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.silicon", description=main.__doc__)
    here = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    found = Path(os.environ.get("PDD_PLAN_SHARED_DATA", here))
    parser.add_argument("--data", type=Path, default=found, help="folder of the public data")
    parser.add_argument("--fast", action="store_true", help="only the fit and the six folds")
    parser.add_argument("--write", action="store_true", help="write the shipped defaults")
    parser.add_argument("--draws", type=int, default=16, help="bootstrap draws for the ranges")
    return parser.parse_args()


def _splits(sample: Sample) -> None:
    groups = sorted(set(sample.groups))
    print(_line("leave one (model, chip) group out", _held(sample, [[g] for g in groups])))
    for name, position in (("model", 0), ("chip", 1)):
        values = sorted({group[position] for group in groups})
        folds = [[g for g in groups if g[position] == value] for value in values]
        print(_line(f"leave one {name} out", _held(sample, folds)))


def _held(sample: Sample, folds: list[list[tuple[str, str]]]) -> Score:
    return score(sample.held_out(folds))


def _tables(sample: Sample, errors: FloatArray) -> None:
    keys: tuple[Callable[[Run], str], ...] = (
        lambda run: f"{run.model} on {run.chip}",
        lambda run: run.chip,
        lambda run: run.framework,
        lambda run: run.precision,
        lambda run: run.origin,
    )
    for key in keys:
        names = [key(run) for run in sample.runs]
        for name in sorted(set(names)):
            rows = np.array([one == name for one in names])
            print(_line(name, score(errors[rows])))


def _line(name: str, one: Score) -> str:
    return (
        f"| {name} | {one.rows} | {one.tpot_median:.1f} % | {one.tpot_within:.0f} % | "
        f"{one.tpot_p90:.0f} % | {one.tpot_bias:+.0f} % | {one.ttft_median:.1f} % | "
        f"{one.ttft_within:.0f} % | {one.ttft_p90:.0f} % | {one.ttft_bias:+.0f} % |"
    )


if __name__ == "__main__":
    main()
