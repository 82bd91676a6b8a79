"""Burstiness against processes whose dispersion is known; stamps, order and rates."""

import numpy as np
import pytest

from pdd_plan.workload import BlockRuns, RawTrace, index_of_dispersion
from pdd_plan.workload.arrivals import (
    in_time_order,
    mean_rate_per_s,
    rescale_trace,
    spread_stamps,
    stamp_step_s,
)


def test_poisson_arrivals_have_dispersion_one_at_every_window():
    arrival = np.sort(np.random.default_rng(1).uniform(0, 50_000, 200_000))
    for window in (0.5, 5.0, 50.0):
        # Standard error of a variance ratio: sqrt(2 / windows).
        assert index_of_dispersion(arrival, window) == pytest.approx(
            1, abs=4 * np.sqrt(2 * window / 50_000)
        )


def test_batches_multiply_the_dispersion():
    # Poisson batches of six: the count's variance over its mean is six at every window.
    arrival = np.repeat(np.sort(np.random.default_rng(2).uniform(0, 30_000, 30_000)), 6)
    assert index_of_dispersion(arrival, 10.0) == pytest.approx(6, rel=0.1)


def test_renewal_arrivals_tend_to_the_variation_of_their_gaps():
    gaps = np.random.default_rng(3).gamma(0.25, 4.0, 400_000)  # squared variation 4
    assert index_of_dispersion(np.cumsum(gaps), 200.0) == pytest.approx(4, rel=0.12)


def test_even_arrivals_have_almost_none():
    assert index_of_dispersion(np.arange(10_000.0), 20.0) < 0.02


def test_windows_that_are_mostly_empty_take_no_memory():
    # A window holds one arrival at most: the count is a Bernoulli variable, 1 - p of its mean.
    assert index_of_dispersion(np.arange(1_000.0), 1e-9) == pytest.approx(1.0, rel=1e-8)
    assert index_of_dispersion(np.array([0.0, 1.0]), 1e-9) == pytest.approx(1.0, rel=1e-8)
    assert index_of_dispersion(np.arange(1_000.0), 0.25) == pytest.approx(0.75, rel=1e-2)


def test_windows_longer_than_half_the_trace_are_refused():
    with pytest.raises(ValueError, match="no two windows"):
        index_of_dispersion(np.arange(10.0), 5.0)
    with pytest.raises(ValueError, match="no two windows"):
        index_of_dispersion(np.zeros(5), 1.0)


def test_mean_rate():
    assert mean_rate_per_s(np.array([0.0, 1.0, 4.0])) == 0.5
    assert mean_rate_per_s(np.zeros(3)) is None


def test_stamps_are_found_and_spread_in_order():
    stamp = np.repeat(np.arange(200) * 3.0, 10)
    assert stamp_step_s(stamp) == 3.0
    spread = spread_stamps(stamp, 3.0, seed=5)
    assert np.all(np.diff(spread) >= 0)
    assert np.array_equal(np.floor(spread / 3.0), stamp / 3.0)
    # Even within the step: mean offset 1.5 with standard error 3 / sqrt(12 * 2000).
    assert np.mean(spread - stamp) == pytest.approx(1.5, abs=4 * 3 / np.sqrt(12 * 2000))
    assert spread_stamps(stamp, 3.0, seed=5).tolist() == spread.tolist()
    assert spread_stamps(stamp, 3.0, seed=6).tolist() != spread.tolist()


def test_exact_times_are_not_taken_for_stamps():
    assert stamp_step_s(np.sort(np.random.default_rng(0).uniform(0, 9, 50))) == 0
    assert stamp_step_s(np.zeros(5)) == 0
    assert stamp_step_s(np.array([1.0])) == 0


def test_order():
    times, order, notes = in_time_order(np.array([5.0, 3.0, 3.0, 9.0]), "t")
    assert times.tolist() == [0, 0, 2, 6]
    assert order.tolist() == [1, 2, 0, 3]
    assert notes == ("t was not in order (1 steps back): rows were sorted",)


def trace(**more):
    return RawTrace(
        arrival_s=np.array([0.0, 2.0, 10.0]),
        input_tokens=np.array([10.0, 20.0, 30.0]),
        output_tokens=np.ones(3),
        cached_tokens=np.array([1.0, 2.0, 3.0]),
        **more,
    )


def test_recorded_times_are_stretched_as_a_whole():
    slow = rescale_trace(trace(stamp_step_s=1.0), 0.1)
    assert slow.arrival_s.tolist() == [0, 4, 20]
    assert slow.stamp_step_s == 2
    assert mean_rate_per_s(slow.arrival_s) == pytest.approx(0.1)


def test_a_trace_of_one_moment_cannot_be_stretched():
    still = RawTrace(np.zeros(2), np.ones(2), np.ones(2), None)
    assert rescale_trace(still, 5.0).arrival_s.tolist() == [0, 0]


def test_sessions_keep_their_pace_and_rows_stay_together():
    blocks = BlockRuns(
        np.array([0, 1, 2, 3]), np.array([7, 8, 9]), np.array([1, 1, 1]), block_tokens=4
    )
    sessions = trace(
        session=np.array([1, 1, 2]),
        time_in_session_s=np.array([0.0, 2.0, 0.0]),
        window_s=3.0,
        blocks=blocks,
    )
    fast = rescale_trace(sessions, 0.01, seed=3)
    assert fast.window_s == 300
    assert np.all(np.diff(fast.arrival_s) >= 0)
    by_length = {length: k for k, length in enumerate(fast.input_tokens.tolist())}
    first, second = by_length[10.0], by_length[20.0]
    assert (fast.arrival_s[second] - fast.arrival_s[first]) % 300 == pytest.approx(2)
    for length, cached, block in ((10.0, 1.0, 7), (20.0, 2.0, 8), (30.0, 3.0, 9)):
        row = by_length[length]
        assert fast.cached_tokens[row] == cached
        assert fast.blocks.first[fast.blocks.offsets[row]] == block


def test_mooncake_is_poisson_within_seconds_and_bursty_over_minutes(mooncake):
    # Spreading stamps evenly makes windows far below the step Poisson by construction; what is
    # known about the trace begins at several steps.
    assert index_of_dispersion(mooncake.arrival_s, 0.1) == pytest.approx(1, abs=0.05)
    assert index_of_dispersion(mooncake.arrival_s, 60.0) > 2
