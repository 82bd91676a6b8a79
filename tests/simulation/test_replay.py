"""Traces replayed in their real order and at their real times."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from stations import fleet

from benchmarks.validation.replay import TRACES, TraceKind, replays
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.simulation import SimulationOptions, replay_stream, simulate_trace, trace_stream
from pdd_plan.workload.atoms import Atoms
from pdd_plan.workload.requests import RawTrace
from tests.problems import random_problem

TRACE = RawTrace(
    arrival_s=np.array([10.0, 12.0, 15.0]),
    input_tokens=np.array([100.0, 200.0, 400.0]),
    output_tokens=np.array([5.0, 6.0, 7.0]),
    cached_tokens=np.array([95.0, 20.0, 380.0]),
)


def plan(threshold=0.9, by="hit_rate") -> tuple[Problem, Candidate]:
    problem, candidate = fleet(step_s=np.full(50, 1e-3), relay_step_s=np.full(50, 1e-3))
    thresholds = np.array([0.0, threshold])
    return replace(problem, thresholds=thresholds, routing_by=by), candidate


def stream_of(problem, candidate, **options):
    return trace_stream(
        problem,
        candidate,
        TRACE,
        service_s={0: lambda uncached, length: 0.001 * uncached + 0.0001 * length},
        kv_bytes_per_token=2.0,
        kv_bytes_fixed=10.0,
        **options,
    )


def test_trace_becomes_requests_with_their_own_times_and_sizes():
    stream = stream_of(*plan())
    assert stream.arrival_s.tolist() == [0.0, 2.0, 5.0]
    np.testing.assert_allclose(stream.types.service_s[0], [0.015, 0.2, 0.06])
    assert stream.types.kv_bytes.tolist() == [210.0, 410.0, 810.0]
    assert stream.types.transfer_bytes.tolist() == [20.0, 370.0, 50.0]
    assert stream.types.output_tokens.tolist() == [5.0, 6.0, 7.0]
    assert stream.types.relayed.tolist() == [False, True, False]


def test_trace_is_routed_by_what_the_problem_says():
    assert stream_of(*plan(19.0, "uncached_tokens")).types.relayed.tolist() == [False, True, True]
    assert stream_of(*plan(50.0, "transfer_bytes")).types.relayed.tolist() == [False, True, False]


def test_trace_can_be_stretched_and_have_a_cache_of_its_own_at_main_decode():
    stream = stream_of(*plan(), rate_per_s=4.0, cached_decode_tokens=np.array([90.0, 0.0, 100.0]))
    assert stream.arrival_s.tolist() == [0.0, 0.2, 0.5]  # two gaps in 0.5 s
    assert stream.types.transfer_bytes.tolist() == [30.0, 410.0, 610.0]
    assert stream.types.relayed.tolist() == [False, True, True]


def test_trace_without_cached_tokens_is_refused():
    with pytest.raises(ValueError, match="count hits first"):
        trace_stream(
            *plan(), replace(TRACE, cached_tokens=None), service_s={}, kv_bytes_per_token=1.0
        )


def test_replay_by_way_of_exact_atoms_gives_the_same_requests():
    problem, candidate = plan()
    direct = stream_of(problem, candidate)
    atoms = Atoms(
        TRACE.input_tokens,
        TRACE.cached_tokens,
        TRACE.cached_tokens,
        TRACE.output_tokens,
        np.full(3, 1 / 3),
    )
    prefill = replace(problem.pools[0], service_s=direct.types.service_s[0])
    exact = replace(
        problem,
        atoms=atoms,
        pools=(prefill, *problem.pools[1:]),
        kv_bytes=direct.types.kv_bytes,
        transfer_bytes=direct.types.transfer_bytes,
    )
    replayed = replay_stream(problem, candidate, exact, TRACE.arrival_s)
    results = [simulate_trace(problem, candidate, s) for s in (direct, replayed)]
    assert results[0].ttft_s.mean.mean == results[1].ttft_s.mean.mean
    assert results[0].e2e_s.p90.mean == results[1].e2e_s.p90.mean
    with pytest.raises(ValueError, match="2 arrivals but 3 requests"):
        replay_stream(problem, candidate, exact, TRACE.arrival_s[:2])
    other = replace(exact, pools=(replace(prefill, shape="other"), *problem.pools[1:]))
    with pytest.raises(ValueError, match="no pass times"):
        replay_stream(problem, candidate, other, TRACE.arrival_s)


def test_replay_measures_every_request_after_the_warm_up():
    problem, candidate = random_problem(1)
    rng = np.random.default_rng(0)
    count = 500
    trace = RawTrace(
        arrival_s=np.sort(rng.uniform(0.0, count / problem.arrival_rate_per_s, count)),
        input_tokens=rng.integers(1_000, 20_000, count).astype(float),
        output_tokens=rng.integers(1, 300, count).astype(float),
        cached_tokens=rng.integers(0, 1_000, count).astype(float),
    )
    stream = trace_stream(
        problem,
        candidate,
        trace,
        service_s={0: lambda uncached, _: 2e-5 * uncached},
        kv_bytes_per_token=4e4,
    )
    options = SimulationOptions(warmup_fraction=0.2)
    result = simulate_trace(problem, candidate, stream, options, keep_samples=True)
    assert result.replications == 1  # one lane, one pool a site: nothing is left to chance
    assert result.requests == 400
    assert result.ttft_s.count == 400
    assert math.isnan(result.ttft_s.p90.half_width)
    np.testing.assert_allclose(result.samples[0]["arrival_s"], stream.arrival_s[100:])


@pytest.mark.long
@pytest.mark.parametrize("rate", [4.0, 12.0, 25.0])
def test_prediction_agrees_with_the_replay_of_conversations(rate, data_dir):
    """Mooncake: bursts, and a rate that drifts over the hour."""
    assert_p90_within_tenth(replace(TRACES[0], seeds=(0,)), rate, data_dir)


@pytest.mark.long
@pytest.mark.parametrize("rate", [40.0])
def test_prediction_agrees_with_the_replay_of_agent_sessions(rate, data_dir):
    """Claude Code: very uneven passes that come spread out; mean of draws of session starts."""
    assert_p90_within_tenth(replace(TRACES[1], seeds=tuple(range(31, 47))), rate, data_dir)


def assert_p90_within_tenth(kind: TraceKind, rate: float, data: Path) -> None:
    """Every fleet at loads up to 0.8."""
    usual = [one for one in replays(kind, rate, data, shuffles=0) if one.load <= 0.8]
    assert usual
    for one in usual:
        assert abs(one.error("p90")) < 0.10, f"{one.engines} at load {one.load:.2f}"
