"""Which engine shapes are candidates, and why the others are not."""

from __future__ import annotations

import pytest

from pdd_plan.catalog import chip_names, load_chip, load_model, model_names
from pdd_plan.errors import InputError
from pdd_plan.roofline import EngineShape, candidate_shapes, make_engine_times
from pdd_plan.roofline.memory import cache_copies
from tests.roofline.engines import Formats, counts_of, times_of


def labels(
    chip: str, model: str, longest: float, **formats: str
) -> tuple[list[str], dict[str, str]]:
    fitting, rejected = candidate_shapes(
        load_chip(chip), load_model(model), Formats(**formats), longest
    )
    return [shape.label for shape in fitting], {one.shape.label: one.reason for one in rejected}


def test_deepseek_v3_does_not_fit_a_node_of_h100() -> None:
    """671 GB of fp8 weights on 8 x 80 GiB, known from practice: two nodes are needed."""
    fitting, rejected = labels("h100", "deepseek-v3", 16_384)
    assert "tp8" not in fitting
    assert "78.3 GiB on each of 8 x 80 GiB" in rejected["tp8"]
    assert {"tp8-dp2", "dp16"} <= set(fitting)


def test_deepseek_v3_fits_a_node_of_h200() -> None:
    """141 GB chips hold it in one node, so nothing larger is looked at."""
    fitting, _ = labels("h200", "deepseek-v3", 65_536)
    assert fitting == ["tp8", "dp8"]


def test_llama_70b_needs_two_h100_for_long_requests() -> None:
    """70.6 GB of weights leave room for little on 80 GiB."""
    fitting, rejected = labels("h100", "llama-3.1-70b", 100_000, kv_cache="fp8")
    assert fitting[0] == "tp2"
    assert "longest request of 100,000 tokens needs 15.3 GiB" in rejected["tp1"]


def test_tensor_parallelism_divides_heads() -> None:
    """gpt-oss has 64 query heads and 8 key-value heads; GLM-4.6 has 96 and 8."""
    _, rejected = labels("gb200", "glm-4.6", 8192)
    assert "does not divide 96 attention heads" in rejected["tp64"]
    assert "too thin" in rejected["tp32"]


def test_key_value_heads_are_not_copied_often() -> None:
    fitting, rejected = labels("h200", "qwen3.5-397b-a17b", 8192)
    assert "tp8" not in fitting
    assert "holds each of 2 key-value heads 4 times" in rejected["tp8"]
    assert "tp2-dp4" in fitting


def test_dense_models_do_not_cross_the_domain() -> None:
    fitting, rejected = labels("l40s", "llama-3.1-405b", 8192)
    assert not fitting
    assert any("pipeline parallelism is not modeled" in reason for reason in rejected.values())


def test_an_impossible_request_rejects_every_shape() -> None:
    fitting, rejected = labels("h200", "llama-3.1-70b", 1e8)
    assert not fitting
    needed = 163_840 * 2 * 1e8 / 2**30
    assert f"100,000,000 tokens needs {needed:.1f} GiB" in rejected["tp8"]


@pytest.mark.parametrize("chip", chip_names())
def test_lists_stay_small_and_every_candidate_has_room(chip: str) -> None:
    profile = load_chip(chip)
    for name in model_names():
        model = load_model(name)
        fitting, rejected = candidate_shapes(profile, model, Formats(), 8192)
        assert len(fitting) <= 12
        assert all(one.reason[0].islower() and len(one.reason) > 30 for one in rejected)
        for shape in fitting:
            times = make_engine_times(profile, model, Formats(), shape)
            needed = 8192 * model.kv_bytes_per_token("bf16") + model.kv_bytes_fixed("bf16")
            assert times.kv_capacity_bytes / shape.data_parallel >= needed


def test_capacity_of_llama_70b_on_one_h200() -> None:
    """Measured residence implies 45 to 48 slots of 8,294 tokens in fp8 (four public runs)."""
    times = times_of("h200", "llama-3.1-70b", EngineShape(1), kv_cache="fp8")
    assert 43 <= times.kv_capacity_bytes / (163_840 * 8294) <= 49


def test_latent_cache_is_copied_by_tensor_parallelism() -> None:
    """Eight copies under tp8, one under dp8, where attention weights are copied instead."""
    assert cache_copies(counts_of("deepseek-v3"), 8) == 8
    assert cache_copies(counts_of("llama-3.1-70b"), 8) == 1
    assert cache_copies(counts_of("llama-3.1-70b"), 16) == 2
    tensor = times_of("h200", "deepseek-v3", EngineShape(8, 8, 1, 8))
    data = times_of("h200", "deepseek-v3", EngineShape(8, 1, 8, 8))
    assert 5 < data.kv_capacity_bytes / tensor.kv_capacity_bytes < 8


def test_degrees_must_multiply() -> None:
    with pytest.raises(InputError, match="is not the 8 chips"):
        EngineShape(8, 4)
    with pytest.raises(InputError, match="below 1"):
        EngineShape(0, 0)
    with pytest.raises(InputError, match="exceeds the 4 chips"):
        EngineShape(4, 4, 1, 8)


def test_labels() -> None:
    assert EngineShape(8, 8).label == "tp8"
    assert EngineShape(8, 1, 8).label == "dp8"
    assert EngineShape(32, 8, 4).label == "tp8-dp4"
