"""Errors after calibration with ten points of the same model, chip, engine and precision."""

from __future__ import annotations

import numpy as np

from benchmarks.silicon.validate import Group, Sample, to_measured
from pdd_plan.roofline import Efficiencies
from pdd_plan.roofline.calibration import calibrate
from pdd_plan.roofline.operators import FloatArray

POINTS = 10
FEWEST_ROWS = 25


def calibrated_errors(
    sample: Sample, draws: int = 2, seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Return log ratios (TPOT, TTFT) before and after calibration, over rows not calibrated with.

    The base is a fit without the (model, chip) group, so nothing of it is known but the points.
    """
    rng = np.random.default_rng(seed)
    kinds = [(r.model, r.chip, r.framework, r.precision) for r in sample.runs]
    bases: dict[Group, Efficiencies] = {}
    before, after = [], []
    for kind in sorted(set(kinds)):
        rows = np.flatnonzero([one == kind for one in kinds])
        if len(rows) < FEWEST_ROWS:
            continue
        group = (kind[0], kind[1])
        if group not in bases:
            bases[group] = sample.fit(~sample.rows([group])).efficiencies
        for _ in range(draws):
            picked = rng.choice(rows, POINTS, replace=False)
            rest = sample.arrays.take(np.setdiff1d(rows, picked))
            runs = [to_measured(sample.runs[row]) for row in picked]
            fitted = calibrate(runs, bases[group], leave_one_out=False).efficiencies
            before.append(rest.predict_logs(bases[group]) - rest.measured)
            after.append(rest.predict_logs(fitted) - rest.measured)
    return np.concatenate(before), np.concatenate(after)
