"""Disaggregated runs of the sample: two stations in a closed loop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.silicon.data import CHIPS, MEAN_LENGTH, MODELS, formats, read_rows
from benchmarks.silicon.validate import Score, score
from pdd_plan.catalog import load_chip, load_model
from pdd_plan.roofline import Efficiencies, EngineShape
from pdd_plan.roofline.build import make_engine_times
from pdd_plan.roofline.modeled import RooflineTimes
from pdd_plan.roofline.operators import FloatArray

WAVE_SHARE = 0.1  # as for aggregated runs: the harness starts with one wave of C prompts
LOSS_SCALE = 0.5  # log ratio beyond which a TTFT error counts linearly
_ROUNDS = 200
_DAMPING = 0.3


@dataclass(frozen=True)
class SplitRun:
    """One disaggregated run that names both worker counts."""

    model: str
    chip: str
    framework: str
    precision: str
    measured: str
    input_tokens: float
    output_tokens: float
    concurrency: float
    prefill_workers: int
    prefill_shape: EngineShape
    decode_workers: int
    decode_shape: EngineShape
    ttft_s: float
    tpot_s: float


def split_runs(data_dir: Path) -> list[SplitRun]:
    """Return the disaggregated runs with both worker counts and a concurrency."""
    runs = []
    for row in read_rows(data_dir):
        named = row["prefill_num_workers"] and row["decode_num_workers"] and row["concurrency"]
        if row["mode"] != "disagg" or not named:
            continue
        model = MODELS[row["model_path"]]
        scale = MEAN_LENGTH[row["origin"]]
        precision = row["precision"] or "fp8"
        runs.append(
            SplitRun(
                model=model,
                chip=CHIPS[row["system"]],
                framework=row["backend"],
                precision=precision,
                measured=row["measured"],
                input_tokens=float(row["isl"]) * scale,
                output_tokens=float(row["osl"]) * scale,
                concurrency=float(row["concurrency"]),
                prefill_workers=int(row["prefill_num_workers"]),
                prefill_shape=_shape(row, "prefill", model),
                decode_workers=int(row["decode_num_workers"]),
                decode_shape=_shape(row, "decode", model),
                ttft_s=float(row["ttft_ms"]) * 1e-3,
                tpot_s=float(row["tpot_ms"]) * 1e-3,
            )
        )
    return runs


def _shape(row: dict[str, str], phase: str, model: str) -> EngineShape:
    tensor = int(row[f"{phase}_tp_size"] or 1)
    data = int(row[f"{phase}_attention_dp_size"] or 1)
    chips = tensor * data
    return EngineShape(chips, tensor, data, chips if load_model(model).is_moe else 1)


def predict(run: SplitRun, efficiencies: Efficiencies) -> tuple[float, float]:
    """Return predicted (TPOT, TTFT) [s] of a run without speculation.

    C requests circulate between the prefill servers (first come, first served) and the decode
    engines. The wait at the prefill servers follows from the mean queue that an arrival finds.
    """
    prefill = _times(run, run.prefill_shape, efficiencies)
    decode = _times(run, run.decode_shape, efficiencies)
    servers = run.prefill_workers * prefill.prefill_servers
    service = float(prefill.prefill_s(run.input_tokens, run.input_tokens))
    context = run.input_tokens + run.output_tokens / 2.0
    gaps = run.output_tokens - 1.0
    wave = WAVE_SHARE * max(run.concurrency / servers - 1.0, 0.0) / 2.0 * service
    queue, active = 0.0, run.concurrency
    step = response = 0.0
    for _ in range(_ROUNDS):
        step = float(decode.decode_step_s(active / run.decode_workers, context))
        seen = queue * (run.concurrency - 1.0) / run.concurrency
        response = service * (1.0 + max(0.0, seen - servers + 0.5) / servers)
        first = response + prefill.host_s + prefill.first_token_steps * step + wave
        rate = run.concurrency / (first + gaps * step)
        rate = min(rate, servers / service)
        queue += _DAMPING * (run.concurrency - rate * gaps * step - queue)
        active += _DAMPING * (rate * gaps * step - active)
    return step, first


def _times(run: SplitRun, shape: EngineShape, efficiencies: Efficiencies) -> RooflineTimes:
    times = make_engine_times(
        load_chip(run.chip),
        load_model(run.model),
        formats(run.model, run.precision),
        shape,
        efficiencies,
        run.framework,
    )
    assert isinstance(times, RooflineTimes)
    return times


def split_errors(runs: list[SplitRun], efficiencies: Efficiencies) -> FloatArray:
    """Return log ratios of predicted to measured (TPOT, TTFT), one row per run."""
    predicted = np.array([predict(run, efficiencies) for run in runs])
    measured = np.array([[run.tpot_s, run.ttft_s] for run in runs])
    return np.asarray(np.log(predicted / measured))


def fit_dedicated(runs: list[SplitRun], efficiencies: Efficiencies) -> Efficiencies:
    """Return efficiencies with `dedicated_prefill` at the least robust TTFT error of the runs."""
    grid = np.linspace(1.0, 2.4, 15)
    losses = []
    for value in grid:
        errors = split_errors(runs, replace(efficiencies, dedicated_prefill=float(value)))[:, 1]
        losses.append(float(np.sum(np.sqrt(1.0 + (errors / LOSS_SCALE) ** 2))))
    return replace(efficiencies, dedicated_prefill=float(grid[int(np.argmin(losses))]))


def held_out_errors(runs: list[SplitRun], efficiencies: Efficiencies) -> FloatArray:
    """Return log ratios where each chip and framework is predicted by a fit to the others."""
    kinds = [(run.chip, run.framework) for run in runs]
    errors = np.empty((len(runs), 2))
    for kind in sorted(set(kinds)):
        rows = [index for index, one in enumerate(kinds) if one == kind]
        others = [run for run, one in zip(runs, kinds, strict=True) if one != kind]
        fitted = fit_dedicated(others, efficiencies)
        errors[rows] = split_errors([runs[row] for row in rows], fitted)
    return errors


def split_scores(data_dir: Path, efficiencies: Efficiencies) -> list[tuple[str, Score]]:
    """Return held-out scores of all runs, and by chip and framework."""
    runs = split_runs(data_dir)
    errors = held_out_errors(runs, efficiencies)
    names = [f"{run.chip} {run.framework}" for run in runs]
    by_kind = [
        (name, score(errors[np.array([one == name for one in names])]))
        for name in sorted(set(names))
    ]
    return [("all", score(errors)), *by_kind]
