"""The fit recovers what made the data, and says what the data cannot tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pdd_plan.catalog import load_chip, load_model
from pdd_plan.roofline import Efficiencies, EngineShape
from pdd_plan.roofline.fit import fit_efficiencies, get_value, with_values
from pdd_plan.roofline.runs import MeasuredRun, RunArrays
from tests.roofline.engines import Formats

TRUTH = {"compute": 0.45, "memory": 0.8, "kernel_s": 6e-6, "decode_factor.vllm": 1.3}


def runs_of(
    efficiencies: Efficiencies,
    noise: float = 0.0,
    count: int = 40,
    sizes: tuple[int, ...] = (1, 2, 4, 8),
    loads: tuple[float, ...] = (1.0, 4.0, 16.0, 64.0),
) -> list[MeasuredRun]:
    """Runs of Llama-70B on H200, measured as the efficiencies predict, with noise."""
    rng = np.random.default_rng(3)
    runs = []
    for index in range(count):
        chips = int(rng.choice(sizes))
        runs.append(
            MeasuredRun(
                load_chip("h200"),
                load_model("llama-3.1-70b"),
                Formats("fp8", None, "fp8"),
                EngineShape(chips, chips),
                "vllm" if index % 2 else "trtllm",
                float(rng.choice([500, 2000, 7000])),
                float(rng.choice([200, 900])),
                float(rng.choice(loads)),
            )
        )
    logs = RunArrays.from_runs(runs).predict_logs(efficiencies)
    logs = logs + noise * rng.standard_normal(logs.shape)
    return [
        replace(run, tpot_s=float(np.exp(log[0])), ttft_s=float(np.exp(log[1])))
        for run, log in zip(runs, logs, strict=True)
    ]


def fit(runs: list[MeasuredRun], names: tuple[str, ...], **options):
    arrays = RunArrays.from_runs(runs)
    start = Efficiencies.default()
    return fit_efficiencies(arrays.predict_logs, arrays.measured, start, names, **options)


def test_exact_data_give_exact_parameters() -> None:
    truth = with_values(Efficiencies.default(), TRUTH)
    fitted = fit(runs_of(truth), tuple(TRUTH), prior_sd=50.0)
    for name, value in TRUTH.items():
        assert fitted.values()[name] == pytest.approx(value, rel=0.01)
    assert np.all(fitted.prior_share < 0.01)


def test_outliers_do_not_move_the_fit() -> None:
    truth = with_values(Efficiencies.default(), TRUTH)
    runs = runs_of(truth, noise=0.03)
    for index in range(0, 40, 8):
        runs[index] = replace(runs[index], tpot_s=5 * runs[index].tpot_s)
    fitted = fit(runs, tuple(TRUTH), prior_sd=5.0)
    for name, value in TRUTH.items():
        assert fitted.values()[name] == pytest.approx(value, rel=0.2)


def test_stated_uncertainty_covers_the_truth() -> None:
    truth = with_values(Efficiencies.default(), TRUTH)
    fitted = fit(runs_of(truth, noise=0.1), tuple(TRUTH), prior_sd=5.0)
    logs = np.log(list(TRUTH.values()))
    assert np.all(np.abs(fitted.log_values - logs) < 3.5 * fitted.log_sd)
    assert np.all(fitted.log_sd < 0.3)


def test_missing_measurements_are_left_out() -> None:
    truth = with_values(Efficiencies.default(), TRUTH)
    runs = [replace(run, ttft_s=float("nan")) for run in runs_of(truth)]
    fitted = fit(runs, tuple(TRUTH), prior_sd=50.0)
    assert fitted.values()["memory"] == pytest.approx(0.8, rel=0.02)


def test_no_share_above_the_data_sheet() -> None:
    """Measurements faster than the hardware leave the share at its bound."""
    truth = with_values(Efficiencies.default(), {"memory": 0.9})
    runs = [replace(run, tpot_s=run.tpot_s / 3) for run in runs_of(truth)]
    assert fit(runs, ("memory",), prior_sd=50.0).values()["memory"] <= 0.93 + 1e-9


def test_names_reach_into_mappings() -> None:
    default = Efficiencies.default()
    changed = with_values(default, {"host_s.vllm": 0.5, "compute": 0.4, "host_s.sglang": 0.6})
    assert get_value(changed, "host_s.vllm") == 0.5
    assert get_value(changed, "host_s.sglang") == 0.6
    assert changed.host_s["trtllm"] == default.host_s["trtllm"]
    assert changed.compute == 0.4
