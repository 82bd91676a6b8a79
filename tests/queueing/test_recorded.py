"""Waits behind recorded arrivals: textbook queues, brute force, and what must not happen."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from scipy.optimize import brentq

from pdd_plan.queueing import (
    TimeGrid,
    quantile_of,
    wait_shift,
    waiting_time_cdf_table,
    waiting_time_pmf,
)
from pdd_plan.queueing.recorded import found_work

COUNT = 40_000
MANY = 400_000


def exponential(rng: np.random.Generator, count: int = COUNT) -> np.ndarray:
    """Service times of mean 1."""
    return rng.exponential(1.0, count)


def poisson(rng: np.random.Generator, rate: float = 1.0, count: int = COUNT) -> np.ndarray:
    return np.cumsum(rng.exponential(1.0 / rate, count))


def drifting(rng: np.random.Generator, count: int = COUNT) -> np.ndarray:
    """Arrivals at a rate that swings by 25 % around 1, ten swings in all."""
    unit = poisson(rng, count=count)
    times = np.linspace(0.0, unit[-1] * 1.01, 200_001)
    period = unit[-1] / 10
    passed = times - 0.25 * period / (2 * np.pi) * (np.cos(2 * np.pi * times / period) - 1.0)
    return np.interp(unit, passed, times)


def waits_by_brute_force(arrivals, service, servers: int) -> np.ndarray:
    """First come, first served, request by request."""
    free = [0.0] * servers
    waits = np.empty(arrivals.size)
    for i, (at, work) in enumerate(zip(arrivals, service, strict=True)):
        start = max(heapq.heappop(free), at)
        waits[i] = start - at
        heapq.heappush(free, start + work)
    return waits


def law(service, servers, utilization, shift, split=1):
    """Quantiles of the wait by level, for the sample of service times."""
    mean = float(service.mean())
    values, counts = np.unique(np.round(service, 2), return_counts=True)
    grid = TimeGrid(0.02 * mean, 8192)
    pmf = waiting_time_pmf(
        np.maximum(values, 1e-3), counts, servers, utilization * servers / mean, grid,
        recorded=shift, split=split,
    )  # fmt: skip
    return lambda probability: float(quantile_of(pmf, probability, grid))


def test_work_found_equals_the_recursion_written_out():
    rng = np.random.default_rng(3)
    gaps, work = rng.exponential(1.0, 49), rng.exponential(1.0, 50)
    expected = [0.0]
    for gap, job in zip(gaps, work[:-1], strict=True):
        expected.append(max(expected[-1] + job - gap / 0.8, 0.0))
    np.testing.assert_allclose(found_work(gaps, work, 0.8), expected, atol=1e-12)


@pytest.mark.parametrize("servers", [1, 8])
def test_poisson_arrivals_change_nothing(servers):
    rng = np.random.default_rng(0)
    service = exponential(rng, MANY)
    shift = wait_shift(poisson(rng, count=MANY), service)
    for utilization in (0.5, 0.7, 0.85):
        with_trace = law(service, servers, utilization, shift)
        without = law(service, servers, utilization, None)
        for probability in (0.7, 0.9, 0.99):
            allowed = 0.05 * without(probability) + 0.02
            assert with_trace(probability) == pytest.approx(without(probability), abs=allowed)


@pytest.mark.parametrize("utilization", [0.6, 0.8])
def test_regular_arrivals_wait_as_in_the_textbook(utilization):
    """D/M/1: P(W > t) = s exp(-(1 - s) t), s the root of s = exp(-(1 - s)/rho) (Kleinrock 6.4)."""
    rng = np.random.default_rng(1)
    service = exponential(rng, MANY)
    root = brentq(lambda s: s - np.exp(-(1.0 - s) / utilization), 1e-9, 1.0 - 1e-6)
    found = law(service, 1, utilization, wait_shift(np.arange(float(MANY)), service))
    for probability in (0.6, 0.9, 0.99):
        textbook = max(np.log(root / (1.0 - probability)) / (1.0 - root), 0.0)
        assert found(probability) == pytest.approx(textbook, rel=0.04, abs=0.02)


def bursty(rng: np.random.Generator) -> np.ndarray:
    """Gaps of two phases with balanced means, squared coefficient of variation 4."""
    short = 0.5 * (1.0 + np.sqrt(3.0 / 5.0))
    rate = np.where(rng.random(COUNT) < short, 2.0 * short, 2.0 * (1.0 - short))
    return np.cumsum(rng.exponential(1.0, COUNT) / rate)


def batches(rng: np.random.Generator) -> np.ndarray:
    """Four at a time."""
    return np.repeat(poisson(rng, 0.25, COUNT // 4), 4)


@pytest.mark.parametrize(("servers", "near"), [(1, 0.02), (4, 0.08), (16, 0.13)])
@pytest.mark.parametrize("arrivals_of", [drifting, bursty, batches])
def test_bursts_and_drifts_are_felt(arrivals_of, servers, near):
    """P90 and P99 against brute force; Poisson arrivals of the same rate miss them by far."""
    rng = np.random.default_rng(2)
    arrivals, service = arrivals_of(rng), exponential(rng)
    utilization = 0.8
    found = law(service, servers, utilization, wait_shift(arrivals, service))
    plain = law(service, servers, utilization, None)
    pace = service.mean() / (servers * utilization) / np.diff(arrivals).mean()
    waits = waits_by_brute_force(arrivals * pace, service, servers)
    for probability in (0.9, 0.99):
        true = float(np.quantile(waits, probability))
        assert found(probability) == pytest.approx(true, rel=near)
        assert plain(probability) < 0.8 * true


def test_long_passes_that_keep_apart_wait_less():
    """Every tenth request long, as regular as can be, against long ones drawn at random."""
    rng = np.random.default_rng(4)
    arrivals = poisson(rng)
    service = np.where(np.arange(COUNT) % 10 == 0, 5.5, 0.5)
    found = law(service, 1, 0.8, wait_shift(arrivals, service))
    waits = waits_by_brute_force(arrivals / 0.8, service, 1)
    assert found(0.9) == pytest.approx(float(np.quantile(waits, 0.9)), rel=0.03)
    assert found(0.9) < 0.9 * law(service, 1, 0.8, None)(0.9)


def test_a_stream_split_to_many_queues_is_nearly_poisson():
    rng = np.random.default_rng(5)
    shift = wait_shift(drifting(rng), exponential(rng))
    service = exponential(rng)
    whole, tenth = (law(service, 1, 0.75, shift, split)(0.9) for split in (1, 10))
    plain = law(service, 1, 0.75, None)(0.9)
    assert tenth - plain == pytest.approx((whole - plain) / 10, rel=0.05)


def test_the_law_falls_with_the_load():
    """What the optimizer rests on: at no time is more done at a higher load."""
    rng = np.random.default_rng(6)
    service = exponential(rng)
    table = waiting_time_cdf_table(
        [0.5, 1.0, 4.0], [0.5, 0.4, 0.1], 4, np.linspace(0.0, 0.99, 40), TimeGrid(0.05, 500),
        recorded=wait_shift(drifting(rng), service),
    )  # fmt: skip
    assert np.all(np.diff(table, axis=0) <= 1e-9)
    assert np.all(np.diff(table, axis=1) >= -1e-9)
    np.testing.assert_allclose(table[0], 1.0)


def test_a_trace_too_short_says_nothing():
    rng = np.random.default_rng(7)
    assert wait_shift(poisson(rng, count=15), exponential(rng, 15)) is None
    assert wait_shift(np.zeros(100), np.ones(100)) is None
    assert wait_shift(np.arange(100.0), np.zeros(100)) is None
    shift = wait_shift(poisson(rng, count=2000), exponential(rng, 2000))
    assert shift is not None
    # 1 - sqrt(10 * 2 / 2000): beyond it they grow like rho / (1 - rho)
    assert shift.utilization[-1] == pytest.approx(0.9, abs=0.01)
    np.testing.assert_allclose(shift.at(0.99), shift.at(0.95) * 99.0 / 19.0)
