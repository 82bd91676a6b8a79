"""Times of passes against the public silicon sample: errors of groups that no fit has seen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.pages import table
from benchmarks.silicon.data import Run, aggregated_runs
from benchmarks.silicon.split import split_scores
from benchmarks.silicon.validate import FOLDS, Sample, Score, score
from benchmarks.validation.document import Section

FEWEST_ROWS = 5
"""Runs of one kind below which a median says little; they count in the totals."""

HEADS = ("runs", "TPOT median", "within 25 %", "bias", "TTFT median", "within 25 %", "bias")


def silicon_section(data: Path | None) -> Section | None:
    """Predict measured serving runs by fits to other chips and models; None without the data."""
    if data is None:
        return None
    usable, marked = aggregated_runs(data)
    sample = Sample(usable)
    errors = sample.held_out(FOLDS)
    total = score(errors)
    shipped = sample.fit(np.ones(len(usable), dtype=bool)).efficiencies
    split = split_scores(data, shipped)
    rows = [("all aggregated runs", *_cells(total))]
    rows += [(f"disaggregated: {name}", *_cells(one)) for name, one in split]
    body = "\n\n".join(
        [
            f"{len(usable)} measured runs of aggregated engines ({len(marked)} marked outliers "
            "left out) and the disaggregated runs that name their engine counts, from the public "
            "InferenceX sample. Predicted from the model's configuration, the chip's data sheet, "
            "parallelism and concurrency by shared efficiencies that were fitted without any run "
            "of the same model and chip (six folds of whole groups; disaggregated runs each kind "
            "held out). `python -m benchmarks.silicon` redoes the fit.",
            table(("", *HEADS), rows, "lrrrrrrr"),
            "By chip, model and precision. The band is the median of predicted over measured by "
            "framework, lowest to highest: how far serving frameworks lie apart on the same kind "
            f"of run. Kinds with fewer than {FEWEST_ROWS} runs are left out.",
            _by_kind(sample.runs, errors),
            "By framework:",
            _by_framework(sample.runs, errors),
        ]
    )
    summary = (
        f"Measured runs of chips and models that no fit saw: median error of TPOT "
        f"{total.tpot_median:.1f} %, of TTFT {total.ttft_median:.1f} % ({len(usable)} aggregated "
        "runs)",
    )
    return Section("Predicted against measured: silicon", body, summary=summary)


def _cells(one: Score) -> tuple[str, ...]:
    return (
        str(one.rows),
        f"{one.tpot_median:.1f} %",
        f"{one.tpot_within:.0f} %",
        f"{one.tpot_bias:+.0f} %",
        f"{one.ttft_median:.1f} %",
        f"{one.ttft_within:.0f} %",
        f"{one.ttft_bias:+.0f} %",
    )


def _by_kind(runs: Sequence[Run], errors: NDArray[np.float64]) -> str:
    kinds = [(run.chip, run.model, run.precision) for run in runs]
    rows = []
    for kind in sorted(set(kinds)):
        here = np.array([one == kind for one in kinds])
        if here.sum() < FEWEST_ROWS:
            continue
        frameworks = sorted({run.framework for run, on in zip(runs, here, strict=True) if on})
        bands: list[list[float]] = [[], []]
        for framework in frameworks:
            rows_of = here & np.array([run.framework == framework for run in runs])
            for column, band in enumerate(bands):
                band.append(float(np.exp(np.median(errors[rows_of, column]))))
        one = score(errors[here])
        rows.append(
            (
                *kind,
                " ".join(frameworks),
                str(one.rows),
                f"{one.tpot_median:.1f} %",
                _band(bands[0]),
                f"{one.ttft_median:.1f} %",
                _band(bands[1]),
            )
        )
    heads = (
        "chip", "model", "precision", "engines", "runs", "TPOT median", "TPOT band",
        "TTFT median", "TTFT band",
    )  # fmt: skip
    return table(heads, rows, "llllrrrrr")


def _band(ratios: Sequence[float]) -> str:
    if len(ratios) == 1:
        return f"{ratios[0]:.2f}"
    return f"{min(ratios):.2f}-{max(ratios):.2f}"


def _by_framework(runs: Sequence[Run], errors: NDArray[np.float64]) -> str:
    names = [run.framework for run in runs]
    rows = []
    for name in sorted(set(names)):
        here = np.array([one == name for one in names])
        rows.append((name, *_cells(score(errors[here]))))
    return table(("", *HEADS), rows, "lrrrrrrr")
