"""Writes the shipped default efficiencies from a fit to the whole sample."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

import pdd_plan.roofline
from benchmarks.silicon.validate import PARAMETERS, Sample, Score
from pdd_plan.roofline import Efficiencies
from pdd_plan.roofline.efficiencies import DEFAULTS_FILE
from pdd_plan.roofline.efficiency_files import render_efficiencies

NOTES = {
    "dedicated_prefill": "fitted to the disaggregated runs of the sample",
    "compute_bf16": "set: bf16 products reach a larger share of their lower peak",
    "nic": "set: DeepEP's published 43 to 46 of 50 GB/s between nodes",
    "roofline_exponent": "set before the fit",
}


def bootstrap(sample: Sample, draws: int, seed: int) -> dict[str, tuple[float, float]]:
    """Return the 10-90 % range of each parameter over resampled groups."""
    rng = np.random.default_rng(seed)
    groups = sorted(set(sample.groups))
    values = []
    for _ in range(draws):
        drawn = rng.choice(len(groups), len(groups))
        index = np.concatenate(
            [np.flatnonzero(sample.rows([groups[position]])) for position in drawn]
        )
        values.append(list(sample.fit_index(index).values().values()))
    low, high = np.percentile(np.array(values), [10, 90], axis=0)
    return {name: (float(a), float(b)) for name, a, b in zip(PARAMETERS, low, high, strict=True)}


def render(
    efficiencies: Efficiencies,
    ranges: dict[str, tuple[float, float]],
    held_out: Score,
    without_settings: Score,
    rows: int,
    date: str,
) -> str:
    """Return the YAML of the defaults."""
    errors = f"TPOT {held_out.tpot_median:.1f} %, TTFT {held_out.ttft_median:.1f} %"
    source = (
        f"fit to {rows} public runs (InferenceX and NVIDIA, Oct 2025 to Apr 2026); "
        f"held-out median error {errors}"
    )
    header = (
        "Efficiencies shared by all chips, models and frameworks, fitted to public measurements.",
        "Written by `python -m benchmarks.silicon --write`; low and high are the 10-90 % range",
        "over resampled (model, chip) groups. Median error with whole groups held out:",
        f"{errors}; the terms were chosen while it was watched (read TPOT",
        "as 10 to 10.5 %), and the benchmark's scheduler settings were known (TTFT without them:",
        f"{without_settings.ttft_median:.1f} %).",
    )
    shipped = replace(efficiencies, source=source, date=date, ranges=ranges)
    return render_efficiencies(shipped, header=header, notes=NOTES)


def write(text: str) -> Path:
    """Write the defaults into the package."""
    path = Path(pdd_plan.roofline.__file__).parent / DEFAULTS_FILE
    path.write_text(text, encoding="utf-8")
    return path
