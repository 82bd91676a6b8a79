"""Fit and held-out errors on the silicon sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.silicon.data import Run
from pdd_plan.catalog import load_chip, load_model
from pdd_plan.roofline import Efficiencies, EngineShape
from pdd_plan.roofline.aggregated import WAVE_SHARE
from pdd_plan.roofline.fit import Fitted, fit_efficiencies, with_values
from pdd_plan.roofline.operators import FloatArray
from pdd_plan.roofline.runs import MeasuredRun, RunArrays

PARAMETERS = (
    "compute",
    "compute_moe",
    "memory",
    "link",
    "kernel_s",
    "collective_s",
    "request_step_s",
    "decode_factor.vllm",
    "decode_factor.sglang",
    "host_s.trtllm",
    "host_s.vllm",
    "host_s.sglang",
    "arrival_steps",
    "accepted_tokens.trtllm",
    "accepted_tokens.sglang",
    "speculative_host_s",
)

# Round starting values, set before any fit; also the centers of the priors.
START = {
    "compute": 0.6,
    "compute_moe": 0.5,
    "memory": 0.8,
    "link": 0.5,
    "kernel_s": 4e-6,
    "collective_s": 4e-6,
    "request_step_s": 2e-5,
    "decode_factor.vllm": 1.1,
    "decode_factor.sglang": 1.1,
    "host_s.trtllm": 0.05,
    "host_s.vllm": 0.05,
    "host_s.sglang": 0.1,
    "arrival_steps": 4.0,
    "accepted_tokens.trtllm": 2.0,
    "accepted_tokens.sglang": 1.7,
    "speculative_host_s": 0.1,
}

# TTFT scatters about twice as much as TPOT between equal configurations.
MEASURE_WEIGHTS = np.array([1.0, 0.5])

# Six folds of whole (model, chip) groups.
_FOLDS = (
    "qwen3-32b h100, gpt-oss-120b h100",
    "deepseek-v3 b200, deepseek-v3 gb200, qwen3-235b-a22b h200, qwen3-32b gb200",
    "llama-3.1-70b b200, minimax-m2.5 h100, minimax-m2.5 h200, qwen3-235b-a22b h100",
    "llama-3.1-8b h200, minimax-m2.5 b200, qwen3.5-397b-a17b b200, qwen3.5-397b-a17b h200, "
    "qwen3-32b b200",
    "kimi-k2.5 b200, llama-3.1-70b h100, llama-3.1-70b h200, llama-3.1-8b h100",
    "deepseek-v3 h200, kimi-k2.5 h200, gpt-oss-120b b200, gpt-oss-120b h200",
)
FOLDS = tuple(
    tuple((pair.split()[0], pair.split()[1]) for pair in fold.split(", ")) for fold in _FOLDS
)

Group = tuple[str, str]


@dataclass(frozen=True)
class Score:
    """Errors of some rows [%]: median, share within 25 %, 90th percentile, bias."""

    rows: int
    tpot_median: float
    tpot_within: float
    tpot_p90: float
    tpot_bias: float
    ttft_median: float
    ttft_within: float
    ttft_p90: float
    ttft_bias: float


def score(errors: FloatArray) -> Score:
    """Return the score of log ratios (TPOT, TTFT), predicted over measured."""
    size = 100.0 * np.abs(np.exp(errors) - 1.0)
    values: list[float] = []
    for column in range(2):
        values += [
            float(np.median(size[:, column])),
            float(np.mean(size[:, column] < 25.0) * 100.0),
            float(np.percentile(size[:, column], 90)),
            float(100.0 * np.expm1(np.median(errors[:, column]))),
        ]
    return Score(len(errors), *values)


def to_measured(run: Run) -> MeasuredRun:
    """Return a row of the sample as the product's measured run."""
    model = load_model(run.model)
    return MeasuredRun(
        chip=load_chip(run.chip),
        model=model,
        precision=run.formats,
        shape=EngineShape(
            run.chips, run.tensor_parallel, run.data_parallel, run.chips if model.is_moe else 1
        ),
        framework=run.framework,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        concurrency=run.concurrency,
        ttft_s=run.ttft_s,
        tpot_s=run.tpot_s,
        max_running=run.settings.max_running,
        wait_steps=run.settings.wait_steps,
        checked_tokens=run.settings.checked_tokens,
        wave_share=1.0 if run.single_wave else WAVE_SHARE,
    )


class Sample:
    """Runs with their arrays and groups."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = list(runs)
        self.arrays = RunArrays.from_runs([to_measured(run) for run in runs])
        self.groups = [run.group for run in runs]
        counts = {group: self.groups.count(group) for group in set(self.groups)}
        self.weights = np.array([counts[group] ** -0.25 for group in self.groups])

    def rows(self, groups: Sequence[Group]) -> FloatArray:
        """Return a mask of the rows in some groups."""
        return np.array([group in groups for group in self.groups])

    def fit(self, rows: FloatArray) -> Fitted:
        """Fit the shared parameters to the rows of a mask."""
        return self.fit_index(np.flatnonzero(rows))

    def fit_index(self, index: FloatArray) -> Fitted:
        """Fit the shared parameters to rows by index, repeats allowed."""
        arrays = self.arrays.take(index)
        return fit_efficiencies(
            arrays.predict_logs,
            arrays.measured,
            starting_values(),
            PARAMETERS,
            self.weights[index, None] * MEASURE_WEIGHTS,
        )

    def errors(self, rows: FloatArray, efficiencies: Efficiencies) -> FloatArray:
        """Return log ratios of predicted to measured (TPOT, TTFT) over a mask."""
        arrays = self.arrays.take(np.flatnonzero(rows))
        return arrays.predict_logs(efficiencies) - arrays.measured

    def held_out(self, folds: Sequence[Sequence[Group]]) -> FloatArray:
        """Return log ratios where each fold is predicted by a fit to all other rows."""
        errors = np.full((len(self.runs), 2), np.nan)
        for fold in folds:
            test = self.rows(fold)
            if test.any():
                fitted = self.fit(~test)
                errors[test] = self.errors(test, fitted.efficiencies)
        return errors


def starting_values() -> Efficiencies:
    """Return the start of every fit: round values, not the shipped ones."""
    return with_values(Efficiencies.default(), START)
