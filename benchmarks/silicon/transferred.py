"""Disaggregated runs predicted from a calibration to aggregated runs of the same kind.

A fleet that is to be split is often measured as it is: both phases on the same engines. Here the
aggregated runs of a model, framework and precision calibrate the chip, and the disaggregated ones,
of which none is used, are predicted.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.silicon.data import Run, aggregated_runs
from benchmarks.silicon.split import SplitRun, split_errors, split_runs
from benchmarks.silicon.validate import to_measured
from pdd_plan.roofline import Efficiencies
from pdd_plan.roofline.calibration import calibrate
from pdd_plan.roofline.operators import FloatArray

SAME_DIE = {"gb200": "b200"}  # the sample has no aggregated runs of GB200
FEWEST_ROWS = 10

Kind = tuple[str, str, str, str]


def transferred_errors(data_dir: Path) -> tuple[FloatArray, FloatArray]:
    """Return log ratios (TPOT, TTFT) of disaggregated runs: with the defaults, and transferred.

    Kinds with fewer than ten aggregated runs keep the defaults.
    """
    default = Efficiencies.default()
    aggregated, _ = aggregated_runs(data_dir)
    runs = split_runs(data_dir)
    kinds = [_kind(run) for run in runs]
    before, after = split_errors(runs, default), np.empty((len(runs), 2))
    for kind in sorted(set(kinds)):
        rows = [index for index, one in enumerate(kinds) if one == kind]
        alike = [run for run in aggregated if _kind(run) == kind and not run.speculative]
        fitted = default
        if len(alike) >= FEWEST_ROWS:
            fitted = calibrate(
                [to_measured(run) for run in alike], default, leave_one_out=False
            ).efficiencies
        after[rows] = split_errors([runs[row] for row in rows], fitted)
    return before, after


def _kind(run: Run | SplitRun) -> Kind:
    return run.model, SAME_DIE.get(run.chip, run.chip), run.framework, run.precision
