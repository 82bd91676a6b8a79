"""Affine steps and batch limits against linear programming and search by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from pdd_plan.roofline import EngineShape, fit_affine_step, max_batch_in_memory, max_batch_under
from tests.roofline.engines import ideal, times_of


def test_dense_memory_bound_step_is_affine() -> None:
    """Weights and caches alone: intercept weights / bandwidth, slope cache / bandwidth."""
    times = times_of("h200", "llama-3.1-70b", EngineShape(1), ideal(), kv_cache="fp8")
    fit = fit_affine_step(times, 4000, 64)
    assert fit.max_relative_error < 1e-4
    assert fit.slope_s == pytest.approx(4000 * 163_840 / 4.8e12, rel=1e-3)
    assert fit.intercept_s == pytest.approx((68.45e9 + 2.10e9) / 4.8e12, rel=2e-3)


@pytest.mark.parametrize("model", ["deepseek-v3", "qwen3-235b-a22b", "llama-3.1-70b"])
def test_line_has_the_least_maximal_error(model: str) -> None:
    """The same minimax problem as a linear program."""
    times = times_of("h200", model, EngineShape(8, 8))
    batch = np.arange(1, 129, dtype=float)
    step = times.decode_step_s(batch, 4000)
    above = np.column_stack([1 / step, batch / step, -np.ones(batch.size)])
    below = np.column_stack([-1 / step, -batch / step, -np.ones(batch.size)])
    program = linprog(
        [0, 0, 1],
        np.vstack([above, below]),
        np.concatenate([np.ones(batch.size), -np.ones(batch.size)]),
        bounds=[(None, None)] * 3,
    )
    fit = fit_affine_step(times, 4000, 128)
    assert fit.max_relative_error == pytest.approx(program.fun, rel=1e-3, abs=1e-9)
    worst = np.abs(fit.step_s(batch) / step - 1).max()
    assert fit.max_relative_error == pytest.approx(worst)


def test_one_and_two_batches() -> None:
    times = times_of("h200", "deepseek-v3", EngineShape(8, 8))
    one = fit_affine_step(times, 1000, 1)
    assert one.intercept_s == float(times.decode_step_s(1, 1000))
    two = fit_affine_step(times, 1000, 2)
    assert two.max_relative_error < 1e-12
    with pytest.raises(ValueError, match="below 1"):
        fit_affine_step(times, 1000, 0)


def test_batch_under_a_limit_is_the_last_that_meets_it() -> None:
    times = times_of("h200", "deepseek-v3", EngineShape(8, 8))
    steps = times.decode_step_s(np.arange(1, 301), 4000)
    for limit in (0.001, float(steps[0]), 0.02, 0.035, 10.0):
        by_hand = int(np.sum(steps <= limit))
        assert max_batch_under(times, 4000, limit, 300) == by_hand


def test_batch_in_memory_counts_whole_requests_per_rank() -> None:
    times = times_of("h200", "deepseek-v3", EngineShape(8, 1, 8, 8))
    per_rank = times.kv_capacity_bytes / 8
    assert max_batch_in_memory(times, per_rank / 2.5) == 16
    assert max_batch_in_memory(times, per_rank * 1.1) == 0
    with pytest.raises(ValueError, match="not positive"):
        max_batch_in_memory(times, 0.0)
