"""Pass times against textbook values and limits."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import numpy as np
import pytest

from pdd_plan.catalog import load_chip
from pdd_plan.roofline import Efficiencies, EngineShape, RooflineTimes
from tests.roofline.engines import counts_of, ideal, times_of

TP8 = EngineShape(8, 8)


def test_ideal_prefill_is_flop_over_peak() -> None:
    """Llama-70B, 8,192 tokens in fp8 on one H200: linear at 1,979 TFLOP/s, rest at 989."""
    counts = counts_of("llama-3.1-70b")
    no_head = replace(counts, linear=tuple(g for g in counts.linear if g.name != "head"))
    times = RooflineTimes(load_chip("h200"), no_head, EngineShape(1), ideal(), "trtllm")
    linear = 2 * 68.5e9 * 8192 / 1979e12
    attention = 80 * 4 * 64 * 128 * 8192**2 / 2 / 989e12
    assert float(times.prefill_s(8192, 8192)) == pytest.approx(linear + attention, rel=3e-3)


def test_ideal_decode_is_bytes_over_bandwidth() -> None:
    """Batch 4 at 4,000 tokens: 69.5 GB of fp8 weights (head in bf16) and 4 caches, 4.8 TB/s."""
    times = times_of("h200", "llama-3.1-70b", EngineShape(1), ideal(), kv_cache="fp8")
    bytes_read = 68.45e9 + 2 * 1.0507e9 + 4 * 4000 * 163_840
    assert float(times.decode_step_s(4, 4000)) == pytest.approx(bytes_read / 4.8e12, rel=2e-3)


def test_ideal_moe_decode_reads_touched_experts_only() -> None:
    """DeepSeek-V3 at batch 1: 1/32 of the routed experts and the rest, over 8 chips."""
    times = times_of("h200", "deepseek-v3", TP8, ideal())
    routed = 58 * 256 * 3 * 7168 * 2048
    head = 129_280 * 7168
    rest = 671.03e9 - routed - 2 * head
    one = (routed / 32 + rest + 2 * head) / 8 / 4.8e12
    assert float(times.decode_step_s(1, 1)) == pytest.approx(one, rel=0.02)


def test_all_reduce_volume_by_hand() -> None:
    """Two all-reduces a layer of 8,192 bf16 values, 2 x 7/8 of the message over 450 GB/s."""
    bare = times_of("h200", "llama-3.1-70b", TP8, ideal())
    parts = bare.prefill_parts(10_000, 10_000)
    volume = 2 * 80 * 8192 * 2 * 2 * 7 / 8
    assert float(parts.network_s) == pytest.approx(10_000 * volume / 450e9, rel=1e-6)


def test_dispatch_between_nodes_goes_over_the_nic() -> None:
    """EP 16 over two nodes: each token leaves its node with probability 1/2 (255/256 touched)."""
    times = times_of("h100", "deepseek-v3", EngineShape(16, 1, 16, 16), ideal())
    per_token = 58 * 7168 * 3 * 2 * (1 - 0.5**8) * 0.5 / 16 / 50e9
    assert times.constants.nic_s_per_token == pytest.approx(per_token)
    inside = times_of("h200", "deepseek-v3", EngineShape(8, 1, 8, 8), ideal())
    assert inside.constants.nic_s_per_token == 0.0


def test_fixed_time_is_kernels_times_launch() -> None:
    launch = replace(ideal(), kernel_s=5e-6)
    bare = times_of("h200", "llama-3.1-8b", EngineShape(1), ideal(), weights="bf16")
    slow = times_of("h200", "llama-3.1-8b", EngineShape(1), launch, weights="bf16")
    more = float(slow.decode_step_s(1, 100) - bare.decode_step_s(1, 100))
    assert more == pytest.approx(32 * 10 * 5e-6)


def test_host_time_counts_requests_of_one_rank() -> None:
    """Each attention rank schedules its own requests."""
    base = ideal()
    slow = replace(base, request_step_s=1e-5)
    shape = EngineShape(8, 1, 8, 8)
    added = times_of("h200", "deepseek-v3", shape, slow).decode_step_s(80, 100) - times_of(
        "h200", "deepseek-v3", shape, base
    ).decode_step_s(80, 100)
    assert float(added) == pytest.approx(10 * 1e-5)


@pytest.mark.parametrize(
    "model", ["llama-3.1-70b", "deepseek-v3", "gpt-oss-120b", "deepseek-v4-pro"]
)
def test_times_rise_with_load(model: str) -> None:
    times = times_of("b200", model, TP8)
    batch = np.arange(1, 400)
    for context in (100.0, 4000.0, 100_000.0):
        assert np.all(np.diff(times.decode_step_s(batch, context)) > 0)
    steps = [float(times.decode_step_s(64, context)) for context in (1, 100, 10_000, 1e6)]
    assert np.all(np.diff(steps) >= 0)
    tokens = np.linspace(1, 60_000, 300)
    assert np.all(np.diff(times.prefill_s(tokens, tokens)) > 0)
    assert np.all(np.diff(times.prefill_s(1000.0, 1000.0 + tokens)) >= 0)
    assert np.all(np.diff(times.extend_s(tokens, 30_000)) > 0)


def test_more_chips_approach_the_latency_floor() -> None:
    """Tensor parallelism shortens a step, ever less, and never below launches and latencies."""
    steps, fixed = [], []
    for chips in (1, 2, 4, 8):
        times = times_of("h200", "llama-3.1-70b", EngineShape(chips, chips))
        steps.append(float(times.decode_step_s(8, 4000)))
        fixed.append(float(times.decode_parts(8, 4000).overhead_s))
    gains = [a / b for a, b in itertools.pairwise(steps)]
    assert gains == sorted(gains, reverse=True)
    assert all(gain > 1.0 for gain in gains)
    assert all(step > floor for step, floor in zip(steps, fixed, strict=True))


def test_a_cached_prefix_saves_time_but_not_all() -> None:
    times = times_of("h200", "deepseek-v3", TP8)
    cold = float(times.prefill_s(65_536, 65_536))
    warm = float(times.prefill_s(6554, 65_536))
    alone = float(times.prefill_s(6554, 6554))
    assert alone < warm < cold / 4


def test_extend_is_a_prefill_on_the_context() -> None:
    times = times_of("h200", "deepseek-v3", TP8)
    assert float(times.extend_s(100, 8000)) == float(times.prefill_s(100, 8100))


def test_weight_only_formats_compute_in_bf16() -> None:
    """fp8 weights on A100 (no fp8 unit) take as long to multiply as bf16 ones."""
    eight = times_of("a100", "llama-3.1-70b", TP8, ideal(), weights="fp8")
    sixteen = times_of("a100", "llama-3.1-70b", TP8, ideal(), weights="bf16")
    long = np.array([30_000.0])
    assert eight.prefill_s(long, long) == pytest.approx(sixteen.prefill_s(long, long))
    assert float(eight.decode_step_s(1, 10)) < 0.6 * float(sixteen.decode_step_s(1, 10))


def test_bound_by_names_what_is_largest() -> None:
    times = times_of("h200", "llama-3.1-70b", EngineShape(1))
    assert times.prefill_bound_by(8192, 8192) == "compute"
    assert times.decode_bound_by(8, 4000) == "memory"
    slow = replace(ideal(), kernel_s=1e-3)
    assert (
        times_of("h200", "llama-3.1-70b", EngineShape(1), slow).decode_bound_by(1, 1) == "overhead"
    )
    wide = times_of("l40s", "llama-3.1-70b", TP8)
    assert wide.prefill_bound_by(8192, 8192) == "network"


def test_frameworks_differ_on_decode_only() -> None:
    vllm = times_of("h200", "llama-3.1-70b", TP8, framework="vllm")
    trtllm = times_of("h200", "llama-3.1-70b", TP8, framework="trtllm")
    assert float(vllm.decode_step_s(8, 1000)) > float(trtllm.decode_step_s(8, 1000))
    assert float(vllm.prefill_s(8000, 8000)) == float(trtllm.prefill_s(8000, 8000))
    middle = times_of("h200", "llama-3.1-70b", TP8, framework=None)
    assert (
        vllm.host_s
        < middle.host_s
        < times_of("h200", "llama-3.1-70b", TP8, framework="sglang").host_s
    )


def test_a_thousand_requests_are_timed_fast() -> None:
    """Plans call this for every engine shape: well under a millisecond."""
    times = times_of("h200", "deepseek-v3", TP8)
    tokens = np.linspace(100, 60_000, 1000)
    times.prefill_s(tokens, tokens + 5000)
    best = min(_clock(lambda: times.prefill_s(tokens, tokens + 5000)) for _ in range(20))
    assert best < 1e-3


def _clock(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def test_default_efficiencies_are_within_their_ranges() -> None:
    default = Efficiencies.default()
    assert "InferenceX" in default.source
    assert len(default.ranges) >= 10
    for name, (low, high) in default.ranges.items():
        field, _, framework = name.partition(".")
        value = getattr(default, field)
        value = value[framework] if framework else value
        assert low <= high
        assert 0.5 * low <= value <= 2.0 * high
