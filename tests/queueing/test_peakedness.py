"""Uneven arrivals: textbook cases, and batching fed by them against step-by-step simulation."""

from __future__ import annotations

import numpy as np
import pytest

from pdd_plan.queueing import continuous_batching, departure_scv, peakedness
from tests.queueing.queue_simulators import stepwise_batching


def test_what_leaves_queues_in_textbooks():
    """Burke: M/M/c leaves Poisson. M/G/1: 1 + rho²(c_s² - 1). A full server: its own service."""
    for servers in (1, 4, 32):
        assert departure_scv(1.0, 1.0, 0.8, servers) == pytest.approx(1.0)
    assert departure_scv(1.0, 5.0, 0.5, 1) == pytest.approx(2.0)
    assert departure_scv(1.0, 0.0, 0.9, 1) == pytest.approx(1.0 - 0.81)
    assert departure_scv(3.0, 5.0, 1.0, 1) == pytest.approx(5.0)
    assert departure_scv(3.0, 5.0, 0.0, 1) == pytest.approx(3.0)


def test_peakedness_of_known_stays():
    """Fixed stays: c_a², exponential ones: (1 + c_a²)/2; Poisson arrivals: 1 (Fredericks)."""
    assert peakedness(4.0, np.array([2.0]), np.array([1.0])) == pytest.approx(4.0)
    quantiles = -np.log1p(-(np.arange(4000) + 0.5) / 4000)
    share = np.full(4000, 1 / 4000)
    assert peakedness(4.0, quantiles, share) == pytest.approx(2.5, rel=1e-3)
    assert peakedness(1.0, quantiles, share) == pytest.approx(1.0)


@pytest.mark.parametrize("peaks", [0.5, 2.0, 5.0])
def test_unlimited_slots_hold_numbers_of_the_stated_peakedness(peaks):
    """Steps that all but never grow: a token sees E[N²]/E[N] = mean + variance/mean requests."""
    step = 0.1 + 1e-9 * np.arange(1.0, 601.0)
    result = continuous_batching(10.0, 100.0, step, 1, 600, peakedness=peaks)
    assert result.mean_active == pytest.approx(100.0, rel=1e-3)
    seen = (result.step_values_s - 0.1) / 1e-9
    assert result.step_weights @ seen == pytest.approx(100.0 + peaks, rel=1e-3)


@pytest.mark.parametrize("load", [0.6, 0.85])
def test_bursts_against_simulation(load):
    """Gaps of SCV 4 (two phases): time per token and waits for a slot."""
    slots, engines, mean_tokens, count = 32, 2, 60, 12_000
    step = 0.015 + 0.0005 * np.arange(1.0, slots + 1)
    arrivals = load * engines * slots / (mean_tokens * step[-1])
    steps, waits = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        tokens = rng.geometric(1.0 / mean_tokens, count)
        short = 0.5 * (1.0 + np.sqrt(3.0 / 5.0))
        pace = np.where(rng.random(count) < short, 2.0 * short, 2.0 * (1.0 - short))
        gaps = rng.exponential(1.0, count) / pace
        gaps *= tokens.mean() / (mean_tokens * arrivals * gaps.mean())
        mean_step, waiting = stepwise_batching(gaps, tokens, step, engines)
        steps.append(mean_step)
        waits.append(waiting)
    stay = -np.log1p(-(np.arange(500) + 0.5) / 500)
    peaks = peakedness(4.0, stay, np.full(500, 1 / 500))
    even = continuous_batching(arrivals, float(mean_tokens), step, engines, slots)
    uneven = continuous_batching(
        arrivals, float(mean_tokens), step, engines, slots, peakedness=peaks
    )
    simulated, error = np.mean(steps), np.std(steps, ddof=1) / 2.0
    assert abs(uneven.mean_step_s - simulated) < 0.01 * simulated + 2.0 * error
    assert abs(uneven.mean_step_s - simulated) < 0.6 * abs(even.mean_step_s - simulated)
    spread = np.std(waits, ddof=1) / 2.0
    assert abs(uneven.probability_wait - np.mean(waits)) < 0.04 + 3.0 * spread
    assert even.probability_wait < np.mean(waits)


def test_peakedness_out_of_range_is_refused():
    with pytest.raises(ValueError, match="peakedness"):
        continuous_batching(1.0, 10.0, np.full(4, 0.1), 1, 4, peakedness=0.0)
