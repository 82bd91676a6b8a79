"""Models given as plain numbers."""

from __future__ import annotations

import numpy as np
import pytest

from pdd_plan.catalog import load_model, model_from_numbers
from pdd_plan.errors import InputError

# DeepSeek-V3 as its report states it, with the coefficients of its attention.
V3 = {
    "params": 671e9,
    "active_params": 36.6e9,
    "layers": 61,
    "hidden_size": 7168,
    "vocab_size": 129280,
    "experts": 256,
    "experts_per_token": 8,
    "kv_bytes_per_token": 70272,
    "attention_flop": 2 * 128 * (192 + 128),
    "attention_flop_decode": 2 * 128 * (2 * 512 + 64),
    "latent_cache": True,
    "kernels_per_layer": 25,
}
DENSE = {
    "params": 70.6e9,
    "active_params": 70.6e9,
    "layers": 80,
    "hidden_size": 8192,
    "kv_bytes_per_token": 327680,
    "attention_flop": 4 * 64 * 128,
    "kv_heads": 8,
}


def test_an_expert_model_by_numbers_is_close_to_its_profile():
    given, known = model_from_numbers(V3), load_model("deepseek-v3")
    assert given.total_params == pytest.approx(671e9)
    assert given.active_params == pytest.approx(36.6e9)
    assert given.weights.experts == pytest.approx(known.weights.experts, rel=0.005)
    assert given.weight_bytes("fp8") == pytest.approx(known.weight_bytes("fp8"), rel=0.005)
    assert given.kv_copies(8) == known.kv_copies(8) == 8
    for tokens in (1e3, 1e5):
        flop = known.decode_flop_per_token(tokens)
        assert float(given.decode_flop_per_token(tokens)) == pytest.approx(float(flop), rel=0.005)
        pass_flop = float(known.prefill_attention_flop(500.0, tokens))
        assert float(given.prefill_attention_flop(500.0, tokens)) == pytest.approx(pass_flop)
        read = float(known.decode_read_bytes(tokens, "bf16"))
        assert float(given.decode_read_bytes(tokens, "bf16")) == pytest.approx(read)


def test_a_dense_model_by_numbers():
    for extra in ({}, {"vocab_size": 128256}):
        given, known = model_from_numbers({**DENSE, **extra}), load_model("llama-3.1-70b")
        assert given.total_params == pytest.approx(70.6e9)
        assert not given.is_moe
        assert given.kernels_per_layer == known.kernels_per_layer == 10
        assert given.kv_copies(16) == 2
    assert given.active_params == pytest.approx(known.active_params, rel=0.001)


def test_kv_bytes_stand_whatever_the_format():
    model = model_from_numbers({**DENSE, "kv_bytes_fixed": 1e6})
    assert model.kv_bytes_per_token("bf16") == model.kv_bytes_per_token("fp8") == 327680
    assert model.kv_bytes_fixed("bf16") == 1e6


def test_a_window_bounds_attention():
    model = model_from_numbers({**DENSE, "attention_window_tokens": 1000})
    flop = model.decode_attention_flop(np.array([500.0, 1000.0, 9000.0]))
    assert flop == pytest.approx(4 * 64 * 128 * 80 * np.array([500.0, 1000.0, 1000.0]))
    assert float(model.decode_read_bytes(9000.0, "bf16")) == 327680 * 1000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"params": None}, "params"),
        ({"active_params": 80e9}, "is above params"),
        ({"active_params": 40e9}, "needs experts"),
        ({"experts": 8}, "experts_per_token = 0 does not fit"),
        ({"experts": 8, "experts_per_token": 9}, "does not fit experts = 8"),
        ({"layers": 80.5}, "whole number"),
        ({"layers": 0}, "above 0"),
        ({"hidden_size": "wide"}, "must be a number"),
        ({"kv_bytes_per_token": float("inf")}, "finite"),
        ({"kv_heads": -8}, "above 0"),
        ({"kv_bytes_fixed": -1}, "above 0"),
        ({"attention_flops": 5}, "unknown key 'attention_flops'"),
        ({"vocab_size": 10_000_000}, "leave no weights"),
    ],
)
def test_impossible_numbers(change, message):
    numbers = {key: value for key, value in {**DENSE, **change}.items() if value is not None}
    with pytest.raises(InputError, match=message):
        model_from_numbers(numbers)


def test_missing_numbers_are_named_together():
    with pytest.raises(InputError) as caught:
        model_from_numbers({"params": 1e9, "hidden_size": 0})
    text = str(caught.value)
    for word in ("active_params", "attention_flop", "kv_heads missing", "hidden_size = 0"):
        assert word in text


def test_numbers_from_a_file_have_their_line(tmp_path):
    file = tmp_path / "model.yaml"
    lines = [f"{key}: {value}" for key, value in DENSE.items()]
    file.write_text("\n".join(lines))
    assert load_model(file).total_params == pytest.approx(70.6e9)
    file.write_text("\n".join([*lines, "kv_bytes_fixd: 5"]))
    with pytest.raises(InputError) as caught:
        load_model(file)
    (issue,) = caught.value.issues
    assert (issue.line, issue.help) == (8, "did you mean 'kv_bytes_fixed'?")
