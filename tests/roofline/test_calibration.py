"""Calibration: known efficiencies come back, with ranges that hold them, or a reason why not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pdd_plan.catalog import load_chip, load_model
from pdd_plan.errors import InputError
from pdd_plan.roofline import Efficiencies, EngineShape, make_engine_times
from pdd_plan.roofline.calibration import Calibration, calibrate, calibration_names
from pdd_plan.roofline.fit import get_value, with_values
from pdd_plan.roofline.runs import MeasuredRun, RunArrays
from tests.roofline.engines import Formats
from tests.roofline.llama_roofline import Roofline
from tests.roofline.test_fit import runs_of

TRUTH = Roofline()
NAMES = ("compute", "memory", "kernel_s", "request_step_s")
LENGTHS = (250.0, 1000.0, 4000.0, 16000.0, 60000.0)
STEPS = [(b, c) for b in (1.0, 8.0, 32.0, 128.0, 400.0) for c in (500.0, 4000.0)]


def llama_runs(
    noise: float = 0.0, seed: int = 0, lengths=LENGTHS, steps=STEPS, truth: Roofline = TRUTH
) -> list[MeasuredRun]:
    """Points of the independent roofline, with log-normal noise (twice as much on prefill)."""
    base = MeasuredRun(
        load_chip("h100"),
        load_model("llama-3.1-8b"),
        Formats("bf16", None, "bf16"),
        EngineShape(1, 1),
        "vllm",
        1.0,
        1.0,
        1.0,
    )
    rng = np.random.default_rng(seed)
    runs = []
    for length in lengths:
        time = truth.prefill_s(length) * np.exp(2 * noise * rng.standard_normal())
        runs.append(replace(base, phase="prefill", input_tokens=length, ttft_s=float(time)))
    for batch, context in steps:
        time = truth.step_s(batch, context) * np.exp(noise * rng.standard_normal())
        runs.append(
            replace(
                base,
                phase="decode",
                input_tokens=context,
                output_tokens=0.0,
                concurrency=batch,
                tpot_s=float(time),
            )
        )
    return runs


def value(result: Calibration, name: str):
    return next(one for one in result.values if one.name == name)


def test_an_independent_roofline_is_recovered() -> None:
    result = calibrate(llama_runs(), leave_one_out=False)
    assert [one.name for one in result.values] == list(NAMES)
    assert result.doubts == ()
    for name in NAMES:
        one = value(result, name)
        assert one.low < getattr(TRUTH, name) < one.high
        assert one.value == pytest.approx(getattr(TRUTH, name), rel=0.05)
    assert np.nanmax(np.abs(result.errors)) < 0.01
    assert np.nanmedian(np.abs(result.default_errors)) > 0.1


def test_ranges_hold_the_truth_as_often_as_they_say() -> None:
    """80 % ranges of four parameters in 30 samples each: 120 chances, 96 expected."""
    hits = dict.fromkeys(NAMES, 0)
    for seed in range(30):
        result = calibrate(llama_runs(noise=0.05, seed=seed), leave_one_out=False)
        for one in result.values:
            hits[one.name] += one.low <= getattr(TRUTH, one.name) <= one.high
    assert 84 <= sum(hits.values()) <= 114
    assert min(hits.values()) >= 17


def test_outliers_do_not_move_the_fit() -> None:
    clean = calibrate(llama_runs(noise=0.02), leave_one_out=False)
    runs = llama_runs(noise=0.02)
    runs[2] = replace(runs[2], ttft_s=6 * runs[2].ttft_s)
    runs[9] = replace(runs[9], tpot_s=0.3 * runs[9].tpot_s)
    spoiled = calibrate(runs, leave_one_out=False)
    for name in NAMES:
        assert value(spoiled, name).value == pytest.approx(value(clean, name).value, rel=0.12)
    assert spoiled.outliers[2, 1]
    assert spoiled.outliers[9, 0]
    assert spoiled.outliers.sum() == 2


def test_more_scatter_gives_wider_ranges() -> None:
    little, much = (
        value(calibrate(llama_runs(noise=n), leave_one_out=False), "memory") for n in (0.03, 0.12)
    )
    assert np.log(much.high / much.low) > 2 * np.log(little.high / little.low)


def test_one_batch_cannot_tell_launches_from_reading() -> None:
    """At batch 8 and one context, a step is one number: memory takes it, the rest is open."""
    runs = llama_runs(lengths=LENGTHS[2:], steps=[(8.0, 4000.0)] * 6, noise=0.02)
    result = calibrate(runs, leave_one_out=False)
    doubts = {doubt.name: doubt for doubt in result.doubts}
    assert "kernel_s" in doubts
    assert "request_step_s" in doubts
    assert "all points have batch 8" in doubts["kernel_s"].reason
    assert "batch 1" in doubts["kernel_s"].measure
    assert result.efficiencies.kernel_s == Efficiencies.default().kernel_s


def test_prefill_alone_tells_nothing_of_decode() -> None:
    result = calibrate(llama_runs(steps=[]), leave_one_out=False)
    doubts = {doubt.name: doubt for doubt in result.doubts}
    assert value(result, "compute").value == pytest.approx(TRUTH.compute, rel=0.05)
    assert "no point" in doubts["memory"].reason
    assert result.efficiencies.decode_factor == Efficiencies.default().decode_factor


def test_one_degree_of_parallelism_cannot_tell_collectives() -> None:
    runs = runs_of(Efficiencies.default(), noise=0.02, sizes=(8,))
    result = calibrate([r for r in runs if r.framework == "vllm"], leave_one_out=False)
    doubt = next(d for d in result.doubts if d.name == "collective_s")
    assert doubt.partner == "kernel_s"
    assert "all points have chips 8" in doubt.reason


def test_what_no_point_depends_on_is_silent() -> None:
    """One chip has no collectives; TPOT alone says nothing of the host before a request."""
    pool = runs_of(Efficiencies.default(), noise=0.02, sizes=(1,), loads=(1.0,))
    runs = [replace(run, ttft_s=float("nan")) for run in pool if run.framework == "vllm"]
    assert not {"link", "collective_s"} & set(calibration_names(runs))
    result = calibrate(runs, leave_one_out=False)
    silent = {doubt.name for doubt in result.doubts if doubt.silent}
    assert {"host_s.vllm", "arrival_steps"} <= silent
    assert result.efficiencies.host_s == Efficiencies.default().host_s


def test_kept_parameters_keep_their_value() -> None:
    result = calibrate(llama_runs(), keep=("memory",), leave_one_out=False)
    default = Efficiencies.default()
    assert result.efficiencies.memory == default.memory
    assert result.efficiencies.decode_factor == default.decode_factor
    assert "memory" not in {one.name for one in result.values}


def test_left_out_errors_come_from_the_other_points() -> None:
    result = calibrate(llama_runs(noise=0.05))
    measured = np.isfinite(result.errors)
    assert (np.isfinite(result.left_out_errors) == measured).all()
    inside = np.median(np.abs(result.errors[measured]))
    outside = np.median(np.abs(result.left_out_errors[measured]))
    assert inside < outside < 0.2


def test_throughput_stands_for_both_times() -> None:
    """Little's law: the concurrency over the request rate is the whole time of a request."""
    truth = with_values(
        Efficiencies.default(), {"memory": 0.6, "compute": 0.4, "decode_factor.vllm": 1.0}
    )
    runs = [run for run in runs_of(truth) if run.framework == "vllm"]
    rates = []
    for run in runs:
        request_s = run.ttft_s + (run.output_tokens - 1) * run.tpot_s
        per_token = request_s / run.output_tokens
        rates.append(replace(run, phase="throughput", tpot_s=per_token, ttft_s=float("nan")))
    arrays = RunArrays.from_runs(rates)
    assert np.nanmax(np.abs(arrays.predict_logs(truth) - arrays.measured)) < 1e-3
    result = calibrate(rates, leave_one_out=False)
    assert result.efficiencies.memory == pytest.approx(0.6, rel=0.1)


def test_a_cached_prefix_shortens_the_prefill() -> None:
    times = make_engine_times(
        load_chip("h100"),
        load_model("llama-3.1-8b"),
        Formats("bf16", None, "bf16"),
        EngineShape(1, 1),
        framework="vllm",
    )
    run = replace(llama_runs()[3], cached_tokens=12000.0)
    arrays = RunArrays.from_runs([run])
    predicted = np.exp(arrays.predict_logs(Efficiencies.default())[0, 1])
    assert predicted == pytest.approx(float(times.prefill_s(4000.0, 16000.0)))


def test_single_phases_are_predicted_as_the_engine_times_do() -> None:
    """Prefill times and steps of a mixture of experts on 8 chips, as the planner computes them."""
    chip, model = load_chip("h200"), load_model("qwen3-235b-a22b")
    shape, formats = EngineShape(8, 4, 2, 8), Formats("fp8", None, "fp8")
    truth = Efficiencies.default()
    times = make_engine_times(chip, model, formats, shape, truth, "vllm")
    base = MeasuredRun(chip, model, formats, shape, "vllm", 8000.0, 0.0, 64.0)
    prefill = replace(base, phase="prefill", ttft_s=float(times.prefill_s(8000.0, 8000.0)))
    decode = replace(base, phase="decode", tpot_s=float(times.decode_step_s(64.0, 8000.0)))
    arrays = RunArrays.from_runs([prefill, decode])
    assert np.nanmax(np.abs(arrays.predict_logs(truth) - arrays.measured)) < 1e-9
    names = calibration_names([prefill, decode])
    assert "dedicated_prefill" in names
    assert not {"compute_moe", "arrival_steps", "host_s.vllm"} & set(names)


def test_impossible_products_of_shares_end_the_search_inside() -> None:
    """Measurements at ten times the peak: the fit stays where `Efficiencies` allows."""
    runs = [replace(run, ttft_s=run.ttft_s / 10) for run in llama_runs()]
    result = calibrate(runs, leave_one_out=False)
    assert get_value(result.efficiencies, "compute") <= 0.76 + 1e-9


def test_too_few_points_are_an_error() -> None:
    with pytest.raises(InputError, match="too few"):
        calibrate(llama_runs()[:2])
    blank = [replace(run, ttft_s=float("nan"), tpot_s=float("nan")) for run in llama_runs()]
    with pytest.raises(InputError, match="0 measured points are too few"):
        calibrate(blank)


def test_frameworks_are_not_mixed() -> None:
    runs = llama_runs()
    runs[0] = replace(runs[0], framework="sglang")
    with pytest.raises(InputError, match="sglang and vllm are mixed"):
        calibrate(runs)
