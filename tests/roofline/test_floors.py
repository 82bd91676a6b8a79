"""No predicted time lies below what physics allows, over all chips, models and shapes."""

from __future__ import annotations

import numpy as np
import pytest

from pdd_plan.catalog import chip_names, load_chip, load_model, model_names
from pdd_plan.errors import InputError
from pdd_plan.roofline import candidate_shapes, make_engine_times
from tests.roofline.engines import Formats

FORMATS = (
    Formats("fp8", None, "fp8"),
    Formats("bf16", "mxfp4", "bf16"),
    Formats("int8", None, "bf16"),
)
UNCACHED = np.array([1.0, 64.0, 900.0, 7000.0, 60_000.0])
CACHED = np.array([0.0, 500.0, 40_000.0])
BATCHES = np.array([1.0, 2.0, 7.0, 60.0, 500.0, 4000.0])


@pytest.mark.parametrize("chip_name", chip_names())
def test_no_time_lies_below_its_floor(chip_name: str) -> None:
    """Every model, its formats by turns."""
    names = model_names()
    checked = sum(
        check(chip_name, name, FORMATS[index % len(FORMATS)]) for index, name in enumerate(names)
    )
    assert checked > 0 or "bf16" not in load_chip(chip_name).flop_per_s


@pytest.mark.long
@pytest.mark.parametrize("chip_name", chip_names())
def test_no_time_lies_below_its_floor_in_any_format(chip_name: str) -> None:
    for name in model_names():
        for formats in FORMATS:
            check(chip_name, name, formats, every_shape=True)


def check(chip_name: str, model_name: str, formats: Formats, every_shape: bool = False) -> int:
    """Compare times with floors over shapes that fit, lengths and batches; return the shapes."""
    chip, model = load_chip(chip_name), load_model(model_name)
    fitting, _ = candidate_shapes(chip, model, formats, 4096)
    shapes = fitting if every_shape else fitting[:1] + fitting[1:][-1:]
    for shape in shapes:
        times = make_engine_times(chip, model, formats, shape)
        for cached in CACHED:
            total = UNCACHED + cached
            floor = times.prefill_floor_s(UNCACHED, total)
            assert np.all(times.prefill_s(UNCACHED, total) >= floor), (model_name, shape)
            assert np.all(floor > 0)
        for context in (1.0, 3000.0, 200_000.0):
            floor = times.decode_floor_s(BATCHES, context)
            assert np.all(times.decode_step_s(BATCHES, context) >= floor), (model_name, shape)
    return len(shapes)


def test_floor_by_hand() -> None:
    """Llama-8B in bf16 on one H100, batch 1: 15 GB of weights at 3.35 TB/s."""
    times = make_engine_times(
        load_chip("h100"), load_model("llama-3.1-8b"), Formats("bf16"), _one_chip()
    )
    floor = float(times.decode_floor_s(1, 0))
    assert floor == pytest.approx(2 * 7.505e9 / 3.35e12, rel=2e-3)


def _one_chip():
    from pdd_plan.roofline import EngineShape

    return EngineShape(1)


def test_a_chip_without_bf16_peak_says_so() -> None:
    chip = load_chip("mtt-s5000")
    fitting, rejected = candidate_shapes(chip, load_model("llama-3.1-8b"), Formats(), 4096)
    assert not fitting
    assert any("no peak for bf16" in one.reason for one in rejected)
    with pytest.raises(InputError, match="no peak for bf16"):
        make_engine_times(chip, load_model("llama-3.1-8b"), Formats(), rejected[0].shape)
