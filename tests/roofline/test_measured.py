"""Measured tables, relative chips and their interpolation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import PchipInterpolator

from pdd_plan.catalog import load_chip, load_model
from pdd_plan.errors import InputError
from pdd_plan.roofline import (
    DecodeTable,
    EngineShape,
    MeasuredTimes,
    PrefillTable,
    RelativeTimes,
    make_engine_times,
)
from pdd_plan.roofline.interpolation import MonotoneCurve, pooled_increasing
from tests.roofline.engines import Formats, times_of

# Prefill of a 1T hybrid model on 8 x H200, as published ("prefill as a service").
LENGTHS = (1024.0, 8192.0, 32_768.0, 131_072.0)
SECONDS = (0.44, 0.72, 1.84, 7.40)
BATCH = (1.0, 8.0, 64.0)
CONTEXT = (1000.0, 8000.0)
STEPS = ((0.010, 0.011), (0.012, 0.016), (0.030, 0.055))


@pytest.fixture
def base():
    return times_of("h200", "deepseek-v3", EngineShape(8, 8))


@given(
    st.lists(st.floats(0.01, 5.0), min_size=3, max_size=9),
    st.lists(st.floats(0.0, 5.0), min_size=3, max_size=9),
)
@settings(max_examples=100, deadline=None)
def test_curve_equals_scipy_pchip(gaps: list[float], rises: list[float]) -> None:
    size = min(len(gaps), len(rises))
    x = 1.0 + np.cumsum(gaps[:size])
    y = 0.5 + np.cumsum(rises[:size])
    inside = np.linspace(x[0], x[-1], 101)
    ours = MonotoneCurve(x, y)(inside)
    assert ours == pytest.approx(PchipInterpolator(x, y)(inside), rel=1e-9, abs=1e-9)
    assert np.all(np.diff(ours) >= -1e-12)


def test_table_is_met_at_its_points_and_between(base) -> None:
    times = MeasuredTimes(base, PrefillTable(LENGTHS, SECONDS), DecodeTable(BATCH, CONTEXT, STEPS))
    assert times.prefill_s(np.array(LENGTHS), np.array(LENGTHS)) == pytest.approx(SECONDS)
    lengths = np.linspace(1024, 131_072, 500)
    assert np.all(np.diff(times.prefill_s(lengths, lengths)) > 0)
    for column, context in enumerate(CONTEXT):
        expected = [row[column] for row in STEPS]
        assert times.decode_step_s(np.array(BATCH), context) == pytest.approx(expected)
    between = times.decode_step_s(np.array([8.0]), 4500.0)
    assert 0.012 < float(between[0]) < 0.016
    assert times.decode_step_s(np.ones((2, 3)), 4500.0).shape == (2, 3)
    assert times.warnings == ()


def test_outside_the_table_is_refused_or_flagged(base) -> None:
    table = PrefillTable(LENGTHS, SECONDS)
    strict = MeasuredTimes(base, table)
    with pytest.raises(InputError, match="exceeds the measured range 1,024 to 131,072"):
        strict.prefill_s(200_000.0, 200_000.0)
    lenient = MeasuredTimes(base, table, extrapolate=True)
    slope = (lenient.prefill_s(131_072.0, 131_072.0) - lenient.prefill_s(131_000.0, 131_000.0)) / 72
    beyond = float(lenient.prefill_s(200_000.0, 200_000.0))
    assert beyond == pytest.approx(7.40 + float(slope) * 68_928, rel=1e-3)
    assert "extrapolated" in lenient.warnings[0]
    assert 0.0 < float(lenient.prefill_s(10.0, 10.0)) < 0.44
    wide = MeasuredTimes(base, PrefillTable(LENGTHS, SECONDS, (1.0, 262_144.0)))
    wide.prefill_s(200_000.0, 200_000.0)
    assert wide.warnings == ()


def test_decode_outside_batch_or_context_is_refused(base) -> None:
    times = MeasuredTimes(base, decode=DecodeTable(BATCH, CONTEXT, STEPS))
    with pytest.raises(InputError, match="decode batch"):
        times.decode_step_s(np.arange(1, 100), 2000.0)
    with pytest.raises(InputError, match="decode context"):
        times.decode_step_s(8, 50_000.0)


def test_a_prefix_scales_the_table_by_the_base(base) -> None:
    times = MeasuredTimes(base, PrefillTable(LENGTHS, SECONDS))
    growth = base.prefill_s(8192.0, 60_000.0) / base.prefill_s(8192.0, 8192.0)
    assert float(times.prefill_s(8192.0, 60_000.0)) == pytest.approx(0.72 * float(growth))


def test_what_is_not_measured_comes_from_the_base(base) -> None:
    times = MeasuredTimes(base, PrefillTable(LENGTHS, SECONDS))
    assert float(times.decode_step_s(8, 1000)) == float(base.decode_step_s(8, 1000))
    assert times.prefill_bound_by(8192, 8192) == "measured"
    assert times.decode_bound_by(8, 1000) == base.decode_bound_by(8, 1000)
    assert float(times.extend_s(100, 1000)) == float(base.extend_s(100, 1000))
    assert times.kv_capacity_bytes == base.kv_capacity_bytes


def test_small_dips_are_pooled_and_told_large_ones_refused(base) -> None:
    """Isotonic regression of 1, 3, 2.9, 4 pools the dip to its mean."""
    pooled, dip = pooled_increasing([1.0, 3.0, 2.9, 4.0])
    assert pooled == pytest.approx([1.0, 2.95, 2.95, 4.0])
    assert dip == pytest.approx(0.1 / 3)
    noisy = MeasuredTimes(base, PrefillTable((1.0, 2.0, 3.0), (1.0, 0.98, 1.2)))
    assert "pooled as noise" in noisy.warnings[0]
    with pytest.raises(InputError, match="falls by 50 %"):
        MeasuredTimes(base, PrefillTable((1.0, 2.0, 3.0), (1.0, 0.5, 1.2)))


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ((1.0, 1.0), (1.0, 2.0), "do not increase"),
        ((1.0, 2.0), (1.0,), "one each"),
        ((1.0, 2.0), (0.0, 1.0), "not positive"),
        ((), (), "one each"),
    ],
)
def test_malformed_tables(x, y, message: str) -> None:
    with pytest.raises(InputError, match=message):
        MonotoneCurve(x, y)


def test_decode_table_shape_is_checked(base) -> None:
    with pytest.raises(InputError, match="times for 2 batches x 2 contexts"):
        MeasuredTimes(base, decode=DecodeTable((1.0, 2.0), CONTEXT, STEPS))


def test_relative_times_are_exact_ratios(base) -> None:
    """Chip E: prefill 0.81, decode 2.10 of GPU A."""
    times = RelativeTimes(base, 0.81, 2.10)
    lengths = np.array([100.0, 5000.0, 60_000.0])
    ratio = times.prefill_s(lengths, lengths + 10) / base.prefill_s(lengths, lengths + 10)
    assert ratio == pytest.approx(1 / 0.81)
    batch = np.arange(1, 50)
    assert times.decode_step_s(batch, 4000) * 2.10 == pytest.approx(base.decode_step_s(batch, 4000))
    assert float(times.extend_s(9, 99)) == pytest.approx(float(base.extend_s(9, 99)) / 0.81)
    assert float(times.decode_floor_s(4, 99)) == pytest.approx(
        float(base.decode_floor_s(4, 99)) / 2.1
    )
    with pytest.raises(InputError, match="not positive"):
        RelativeTimes(base, 0.0, 1.0)


def test_relative_chip_from_the_catalog() -> None:
    """chip-e refers to gpu-a, which stands in for h100."""
    model, shape = load_model("deepseek-v4-flash"), EngineShape(8, 8)
    formats = Formats("fp8", None, "fp8")
    slow = make_engine_times(load_chip("chip-e"), model, formats, shape)
    fast = make_engine_times(load_chip("h100"), model, formats, shape)
    assert float(slow.prefill_s(8000, 8000) / fast.prefill_s(8000, 8000)) == pytest.approx(1 / 0.81)
    assert float(slow.decode_step_s(8, 8000) / fast.decode_step_s(8, 8000)) == pytest.approx(
        1 / 2.1
    )
    assert slow.kv_capacity_bytes == pytest.approx(fast.kv_capacity_bytes)
