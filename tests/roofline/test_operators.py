"""Operator counts against hand counts, brute force and exact expectations."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pdd_plan.roofline.operators import (
    attended_entries,
    attended_pairs,
    decode_attention_flop,
    decode_cache_bytes,
    model_flop_per_token,
    prefill_attention_flop,
    prefix_read_bytes,
    touched_expert_share,
)
from tests.roofline.engines import counts_of


@pytest.mark.parametrize(
    ("ratio", "cap"), [(1.0, math.inf), (1.0, 128.0), (4.0, math.inf), (4.0, 32.0), (128.0, 5.0)]
)
def test_pairs_equal_the_integral_over_positions(ratio: float, cap: float) -> None:
    """Midpoint sums over unit cells are exact where the integrand is linear."""
    for uncached, context in ((1, 1), (7, 300), (300, 300), (64, 1024), (900, 1000)):
        middles = np.arange(context - uncached, context) + 0.5
        by_hand = np.minimum(middles / ratio, cap).sum()
        found = float(attended_pairs(uncached, context, ratio, cap))
        assert found == pytest.approx(by_hand, rel=2e-3)


def test_full_causal_pairs_formula() -> None:
    """U (L - U/2), the count of the model description."""
    assert float(attended_pairs(1000, 8000)) == pytest.approx(1000 * 7500)


def test_pairs_broadcast_and_split() -> None:
    """A prompt computed in two parts has the pairs of the whole."""
    whole = attended_pairs(np.array([4096.0]), np.array([4096.0]), 1.0, 700.0)
    first = attended_pairs(1500, 1500, 1.0, 700.0)
    second = attended_pairs(4096 - 1500, 4096, 1.0, 700.0)
    assert whole.shape == (1,)
    assert float(whole[0]) == pytest.approx(float(first) + float(second))


def test_attended_entries_of_windows_and_compression() -> None:
    assert float(attended_entries(10_000, 1.0, 128.0)) == 128.0
    assert float(attended_entries(100, 1.0, 128.0)) == 100.0
    assert float(attended_entries(1024, 4.0)) == 256.0


def test_touched_experts_equal_the_exact_expectation() -> None:
    """Enumerate all routings of 2 of 4 experts for two tokens."""
    choices = list(itertools.combinations(range(4), 2))
    touched = [len(set(a) | set(b)) / 4.0 for a in choices for b in choices]
    expected = sum(touched) / len(touched)
    assert float(touched_expert_share(2, 4, 2)) == pytest.approx(expected)


def test_touched_share_limits() -> None:
    assert float(touched_expert_share(1, 256, 8)) == pytest.approx(8 / 256)
    assert float(touched_expert_share(1e6, 256, 8)) == pytest.approx(1.0)
    assert float(touched_expert_share(5, 0, 0)) == 1.0
    shares = touched_expert_share(np.arange(1, 500), 128, 4)
    assert np.all(np.diff(shares) > 0)


def test_llama_70b_linear_flop() -> None:
    """2 flop for each of the 70.6 - 1.05 billion weights that a token multiplies with."""
    counts = counts_of("llama-3.1-70b")
    assert model_flop_per_token(counts) == pytest.approx(2 * 69.5e9, rel=2e-3)


def test_llama_70b_attention_by_hand() -> None:
    """80 layers x 4 x 64 heads x 128 per pair; cache of 80 x 2 x 8 x 128 elements in bf16."""
    counts = counts_of("llama-3.1-70b", kv_cache="bf16")
    assert decode_attention_flop(counts, 1000) == pytest.approx(80 * 4 * 64 * 128 * 1000)
    assert decode_cache_bytes(counts, 1000) == pytest.approx(327_680 * 1000)
    flop = float(prefill_attention_flop(counts.spans, 2048, 2048))
    assert flop == pytest.approx(80 * 4 * 64 * 128 * 2048**2 / 2)


def test_deepseek_v3_attention_by_hand() -> None:
    """MLA: 2 x 128 x (192 + 128) per pair in prefill, 2 x 128 x (2 x 512 + 64) absorbed."""
    counts = counts_of("deepseek-v3", kv_cache="bf16")
    flop = float(prefill_attention_flop(counts.spans, 4096, 4096))
    assert flop == pytest.approx(61 * 2 * 128 * 320 * 4096**2 / 2)
    assert decode_attention_flop(counts, 4096) == pytest.approx(61 * 2 * 128 * 1088 * 4096)
    assert decode_cache_bytes(counts, 4096) == pytest.approx(70_272 * 4096)


def test_latent_prefix_takes_the_cheaper_form() -> None:
    """Expanding a cached latent costs 2 x 512 x 128 x (128 + 128) flop an entry and layer."""
    counts = counts_of("deepseek-v3")
    pairs = 2000 * (50_000 - 1000)
    expand = 48_000 * 2 * 512 * 128 * 256
    many = float(prefill_attention_flop(counts.spans, 2000, 50_000))
    assert many == pytest.approx(61 * (2 * 128 * 320 * pairs + expand))
    few = float(prefill_attention_flop(counts.spans, 10, 50_000))
    assert few == pytest.approx(61 * 2 * 128 * 1088 * 10 * (50_000 - 5))


def test_sparse_attention_saturates_but_its_indexer_does_not() -> None:
    """DeepSeek-V3.2: the indexer's 2 x 64 x 128 per pair is all that grows beyond 2,048."""
    counts = counts_of("deepseek-v3.2")
    growth = decode_attention_flop(counts, 60_000) - decode_attention_flop(counts, 50_000)
    assert growth == pytest.approx(61 * 2 * 64 * 128 * 10_000)


def test_deepseek_v4_against_v32_at_one_million_tokens() -> None:
    """Published: V4-Pro needs 27 % of the flop per token of V3.2 at a context of 1M."""
    new, old = counts_of("deepseek-v4-pro"), counts_of("deepseek-v3.2")
    total = [
        model_flop_per_token(counts) + decode_attention_flop(counts, 1_048_576)
        for counts in (new, old)
    ]
    assert total[0] / total[1] == pytest.approx(0.27, abs=0.03)


def test_linear_attention_reads_its_state_and_no_more() -> None:
    """Qwen3.5: 45 of 60 layers keep a constant state; growth is that of 15 GQA layers."""
    counts = counts_of("qwen3.5-397b-a17b", kv_cache="bf16")
    growth = decode_cache_bytes(counts, 20_000) - decode_cache_bytes(counts, 10_000)
    assert growth == pytest.approx(30_720 * 10_000)
    assert decode_cache_bytes(counts, 1e-9) > 100e6  # 180 MiB of state, read and written


def test_prefix_bytes_are_those_of_the_cached_part() -> None:
    counts = counts_of("llama-3.1-70b", kv_cache="fp8")
    assert float(prefix_read_bytes(counts.spans, 100, 1100)) == pytest.approx(163_840 * 1000)
    assert float(prefix_read_bytes(counts.spans, 1000, 1000)) == 0.0


def test_weight_bytes_of_deepseek_v3() -> None:
    """671 billion weights in fp8, embedding and head in bf16."""
    counts = counts_of("deepseek-v3")
    assert counts.weight_bytes == pytest.approx(671e9 + 2 * 0.93e9, rel=5e-3)
    assert counts.heads == 128
    assert counts.kv_heads == 1
    assert counts.moe_layers == 58


@pytest.mark.parametrize(
    ("model", "heads"),
    [
        *(("llama-3.1-70b", 64), ("qwen3-235b-a22b", 64), ("gpt-oss-120b", 64)),
        *(("kimi-k2", 64), ("deepseek-v4-pro", 128), ("glm-4.6", 96)),
    ],
)
def test_query_heads_as_published(model: str, heads: int) -> None:
    assert counts_of(model).heads == heads


def test_explicit_numbers_keep_their_cache_bytes_at_any_format() -> None:
    from pdd_plan.catalog import model_from_numbers
    from pdd_plan.roofline import operator_counts
    from tests.roofline.engines import Formats

    model = model_from_numbers(
        {
            "params": 1e12,
            "active_params": 5e10,
            "layers": 60,
            "hidden_size": 7168,
            "kv_bytes_per_token": 70_000,
            "attention_flop": 80_000,
            "latent_cache": True,
            "experts": 256,
            "experts_per_token": 8,
        }
    )
    for cache in ("bf16", "fp8"):
        counts = operator_counts(model, Formats(kv_cache=cache))
        assert decode_cache_bytes(counts, 1000) == pytest.approx(70e6)
        assert counts.heads == 0
