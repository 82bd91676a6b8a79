"""Shared lines: exact moments, limits, caps, pools, and event simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from queue_simulators import draw, poisson_gaps, shared_line
from service_laws import agent, exponential, log_normal, scv

from pdd_plan.errors import UnstableQueueError
from pdd_plan.queueing import (
    TimeGrid,
    connection_pool,
    connection_wait_pmf,
    convolve_masses,
    erlang_c,
    mean_of,
    point_masses,
    quantile_of,
    sample_quantile,
    sharing_states,
    transfer_time_points,
    transfer_time_table,
    waiting_time_pmf,
)

SHARES = [0.5, 0.9, 0.99]


def spread(law: tuple, points: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """The same law by fewer sizes."""
    values, weights = law
    edges = np.linspace(0, values.size, min(points, values.size) + 1).astype(int)
    share = np.add.reduceat(weights, edges[:-1])
    return np.add.reduceat(weights * values, edges[:-1]) / share, share


@pytest.mark.parametrize("law", [exponential(), log_normal(4.0), ([1.0], [1.0])])
@pytest.mark.parametrize("load", [0.0, 0.3, 0.85, 0.97])
def test_mean_is_that_of_processor_sharing_for_every_size(law: tuple, load: float) -> None:
    size, share = np.asarray(law[0]), np.asarray(law[1])
    values, masses = transfer_time_points(size, share, load, points=24)
    np.testing.assert_allclose(values @ masses, size / (1.0 - load), rtol=2e-3)
    assert masses.sum() == pytest.approx(1.0)
    assert np.all(np.diff(values, axis=1) >= -1e-9)
    assert np.all(values[:, 0] >= size * (1.0 - 1e-12))


@pytest.mark.parametrize("load", [0.3, 0.6, 0.9])
def test_variance_is_that_of_coffman_muntz_and_trotter(load: float) -> None:
    # M/M/1-PS, mean size 1: Var V(x) = 2u/(1-u)^3 (x - (1 - exp(-(1-u)x))/(1-u))
    size, share = exponential(4000)
    values, masses = transfer_time_points(size, share, load, points=600)
    variance = values**2 @ masses - (values @ masses) ** 2
    left = 1.0 - load
    exact = 2.0 * load / left**3 * (size + np.expm1(-left * size) / left)
    kept = size > 0.02
    np.testing.assert_allclose(variance[kept], exact[kept], rtol=0.02)


def test_variance_of_tiny_and_huge_sizes() -> None:
    load = 0.7
    size, share = log_normal(4.0)
    huge = np.append(size, [1e-4, 3000.0])
    weights = np.append(share, [1e-12, 1e-12])
    values, masses = transfer_time_points(huge, weights, load, points=600)
    variance = values**2 @ masses - (values @ masses) ** 2
    assert variance[-2] == pytest.approx(1e-8 * load / (1.0 - load) ** 2, rel=0.02)
    second = float(share @ size**2)
    assert variance[-1] == pytest.approx(3000.0 * load * second / (1.0 - load) ** 3, rel=0.03)


@pytest.mark.parametrize("load", [0.3, 0.6])
def test_share_of_undisturbed_transfers_is_exact(load: float) -> None:
    # nobody there on arrival, nobody comes: (1 - u) exp(-λ x)
    values, masses = transfer_time_points([1.0], [1.0], load, points=2000)
    free = masses[values[0] < 1.0 + 1e-9].sum()
    assert free == pytest.approx((1.0 - load) * np.exp(-load), abs=2e-3)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from([agent(0.08, 4.0, 0.15), log_normal(2.0), ([1.0], [1.0])]),
       st.sampled_from([1.0, 0.3, 0.05]))  # fmt: skip
def test_transfers_take_longer_under_more_load(law: tuple, cap: float) -> None:
    size, share = np.asarray(law[0]), np.asarray(law[1])
    values, _ = transfer_time_table(size, share, np.linspace(0.0, 0.97, 25), 16, cap)
    assert (np.diff(values, axis=0) / values[1:]).min() > -2e-3


@settings(max_examples=20, deadline=None)
@given(st.floats(1e-3, 1e3), st.floats(0.05, 0.9), st.sampled_from([None, 3]))
def test_the_unit_of_time_does_not_matter(
    factor: float, load: float, connections: int | None
) -> None:
    size, share = spread(agent(0.08, 4.0, 0.15))
    one, _ = transfer_time_points(size, share, load, 12, 0.5, connections)
    other, _ = transfer_time_points(factor * size, 3.0 * share, load, 12, 0.5, connections)
    np.testing.assert_allclose(factor * one, other, rtol=1e-6)


def test_table_is_one_row_a_utilization() -> None:
    size, share = spread(agent(0.08, 4.0, 0.15))
    table, masses = transfer_time_table(size, share, [0.2, 0.9], 8, 0.25, 6)
    for row, load in zip(table, (0.2, 0.9), strict=True):
        values, same = transfer_time_points(size, share, load, 8, 0.25, 6)
        np.testing.assert_allclose(row, values, rtol=1e-12)
        np.testing.assert_array_equal(masses, same)


@pytest.mark.parametrize(("cap", "load"), [(1.0, 0.6), (0.25, 0.6), (0.1, 0.85), (0.02, 0.95)])
def test_capped_connections_have_the_mean_of_erlang_c(cap: float, load: float) -> None:
    # m = 1/r whole: mean x/r (1 + C(m, m u) / (m (1 - u))), whatever the sizes
    size, share = log_normal(3.0)
    servers = round(1.0 / cap)
    wait = float(erlang_c(servers, servers * load))
    exact = size / cap * (1.0 + wait / (servers * (1.0 - load)))
    values, masses = transfer_time_points(size, share, load, 24, cap)
    np.testing.assert_allclose(values @ masses, exact, rtol=2e-3)
    assert np.all(values[:, 0] >= size / cap * (1.0 - 1e-12))


@pytest.mark.parametrize("cap", [0.3, 0.37, 0.7])
def test_fractional_caps_lie_between_whole_ones(cap: float) -> None:
    means = [sharing_states(0.8, r).mean_sharing for r in (cap * 0.9, cap, min(cap * 1.1, 1.0))]
    assert means[0] > means[1] > means[2]
    # brute force: masses u^n / prod min(i r, 1)
    n = np.arange(1, 400)
    mass = np.concatenate(([1.0], np.cumprod(0.8 / np.minimum(n * cap, 1.0))))
    exact = (mass @ np.arange(400)) / mass.sum()
    assert means[1] == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("load", [0.3, 0.8])
def test_one_connection_is_first_come_first_served(load: float) -> None:
    size, share = agent(0.08, 4.0, 0.15)
    grid = TimeGrid(0.05, 4096)
    got = connection_wait_pmf(size, share, load, 1, grid)
    np.testing.assert_allclose(got, waiting_time_pmf(size, share, 1, load, grid), atol=1e-9)
    pool = connection_pool(size, share, load, 1)
    second = float(share @ size**2)
    assert pool.wait_probability == pytest.approx(load)
    assert pool.mean_wait_s == pytest.approx(load * second / 2.0 / (1.0 - load), rel=5e-3)
    assert pool.mean_transfer_s == pytest.approx(1.0)
    assert pool.mean_in_use == pytest.approx(load)


def test_many_connections_are_plain_sharing() -> None:
    size, share = spread(log_normal(2.0))
    limited, _ = transfer_time_points(size, share, 0.6, 16, connections=200)
    plain, _ = transfer_time_points(size, share, 0.6, 16)
    np.testing.assert_allclose(limited, plain, rtol=1e-9)


@pytest.mark.parametrize(("connections", "load"), [(2, 0.5), (4, 0.8), (10, 0.95)])
def test_pool_with_exponential_sizes_is_exact(connections: int, load: float) -> None:
    # the number of transfers is that of M/M/1: all connections in use with probability u^K,
    # and the time in the system is 1/(1 - u) on average
    size, share = exponential()
    pool = connection_pool(size, share, load, connections)
    assert pool.wait_probability == pytest.approx(load**connections, rel=2e-3)
    total = pool.mean_wait_s + pool.mean_transfer_s
    assert total == pytest.approx(1.0 / (1.0 - load), rel=2e-3)
    n = np.arange(3000)
    in_use = float(np.minimum(n, connections) @ ((1.0 - load) * load**n))
    assert pool.mean_in_use == pytest.approx(in_use, rel=1e-9)
    values, masses = transfer_time_points(*spread((size, share)), load, 24, 1.0, connections)
    mean = float(spread((size, share))[1] @ values @ masses)
    assert mean == pytest.approx(total, rel=1e-2)


def test_capped_pool_is_a_queue_with_servers() -> None:
    # 8 connections of 1/20 of the line never fill it: M/G/8 with sizes times 20
    size, share = agent(0.08, 4.0, 0.15)
    grid = TimeGrid(0.2, 2048)
    got = connection_wait_pmf(size, share, 0.3, 8, grid, connection_share=0.05)
    expected = waiting_time_pmf(20.0 * size, share, 8, 0.3, grid)
    np.testing.assert_allclose(np.cumsum(got), np.cumsum(expected), atol=1e-6)


CASES = [
    (exponential(4000), 0.3, 1.0, None),
    (log_normal(4.0), 0.5, 1.0, None),
    (agent(0.1, 5.0, 0.05), 0.7, 1.0, None),
    (agent(0.05, 8.0, 0.4), 0.6, 1.0, None),
    (log_normal(4.0), 0.6, 0.2, None),
    (agent(0.1, 5.0, 0.05), 0.6, 1.0, 3),
    (exponential(4000), 0.8, 1.0, 4),
    (log_normal(2.0), 0.7, 0.25, 8),
]


@pytest.mark.parametrize(("law", "load", "cap", "connections"), CASES)
def test_transfer_times_against_simulation(
    law: tuple, load: float, cap: float, connections: int | None
) -> None:
    check_against_simulation(law, load, cap, connections, count=60_000, seeds=(1, 2, 3, 4))


@pytest.mark.long
@pytest.mark.parametrize("law", [exponential(4000), log_normal(4.0), agent(0.1, 5.0, 0.05),
                                 agent(0.05, 8.0, 0.4), (np.ones(1), np.ones(1))])  # fmt: skip
@pytest.mark.parametrize("load", [0.3, 0.5, 0.7, 0.85])
@pytest.mark.parametrize("cap", [1.0, 0.3, 0.1])
def test_transfer_times_against_long_simulation(law: tuple, load: float, cap: float) -> None:
    check_against_simulation(law, load, cap, None, count=200_000, seeds=(1, 2, 3, 4, 5))


@pytest.mark.long
@pytest.mark.parametrize("law", [exponential(4000), log_normal(4.0), agent(0.1, 5.0, 0.05)])
@pytest.mark.parametrize("load", [0.3, 0.5, 0.7, 0.85])
@pytest.mark.parametrize(("cap", "connections"), [(1.0, 1), (1.0, 2), (1.0, 8), (0.2, 8)])
def test_pools_against_long_simulation(
    law: tuple, load: float, cap: float, connections: int
) -> None:
    check_against_simulation(law, load, cap, connections, count=200_000, seeds=(1, 2, 3, 4, 5))


def check_against_simulation(
    law: tuple, load: float, cap: float, connections: int | None, count: int, seeds: tuple
) -> None:
    """P50, P90 and P99 over all transfers within 5 % beyond two standard errors of the runs.

    With a pool, where wait and transfer are two laws, 8 %.
    """
    size, share = np.asarray(law[0]), np.asarray(law[1])
    runs = []
    for seed in seeds:
        gaps = poisson_gaps(load, count, seed)
        total, _ = shared_line(gaps, draw(size, share, count, seed + 100), cap, connections)
        runs.append(np.quantile(total[count // 10 :], SHARES))
    simulated, error = np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1) / np.sqrt(len(seeds))
    values, masses = transfer_time_points(size, share, load, 48, cap, connections)
    predicted = sample_quantile(values, np.outer(share, masses), SHARES)
    allowed = (0.05 if connections is None else 0.08) * simulated + 2.0 * error
    np.testing.assert_array_less(np.abs(predicted - simulated), allowed)


def test_wait_for_a_connection_against_simulation() -> None:
    size, share = log_normal(2.0)
    load, connections, count = 0.75, 5, 80_000
    waits = []
    for seed in range(5):
        gaps = poisson_gaps(load, count, seed)
        _, wait = shared_line(gaps, draw(size, share, count, seed + 50), 1.0, connections)
        waits.append([(wait > 0.0).mean(), wait.mean()])
    simulated, error = np.mean(waits, axis=0), np.std(waits, axis=0, ddof=1) / np.sqrt(5)
    pool = connection_pool(size, share, load, connections)
    predicted = np.array([pool.wait_probability, pool.mean_wait_s])
    np.testing.assert_array_less(np.abs(predicted - simulated), 0.05 * simulated + 2.5 * error)
    grid = TimeGrid(0.02, 8192)
    pmf = connection_wait_pmf(size, share, load, connections, grid)
    assert float(mean_of(pmf, grid)) == pytest.approx(pool.mean_wait_s, rel=5e-3)


def test_wait_and_service_of_one_connection_is_the_sum() -> None:
    size, share = spread(log_normal(1.5))
    load, grid = 0.6, TimeGrid(0.01, 16384)
    wait = connection_wait_pmf(size, share, load, 1, grid)
    total = convolve_masses([wait, point_masses(size, share, grid)])
    values, masses = transfer_time_points(size, share, load, 64, 1.0, 1)
    got = sample_quantile(values, np.outer(share, masses), SHARES)
    np.testing.assert_allclose(got, quantile_of(total, SHARES, grid), rtol=0.05)


def test_small_transfers_gain_most_from_uneven_sizes() -> None:
    """Same bytes, skewed or even: the median transfer is faster when sizes are skewed."""
    skewed, share = agent(0.1, 5.0, 0.05)
    assert scv(skewed, share) > 4.0
    values, masses = transfer_time_points(skewed, share, 0.7, 32)
    even, even_masses = transfer_time_points([1.0], [1.0], 0.7, 32)
    fast = float(sample_quantile(values, np.outer(share, masses), 0.5))
    assert fast < 0.5 * float(sample_quantile(even, even_masses, 0.5))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([1.0], [1.0], 1.0), UnstableQueueError),
        (([1.0], [1.0], 0.5, 16, 0.1, 4), UnstableQueueError),
        (([1.0], [1.0], -0.1), ValueError),
        (([-1.0], [1.0], 0.5), ValueError),
        (([np.nan], [1.0], 0.5), ValueError),
        (([0.0], [1.0], 0.5), ValueError),
        (([], [], 0.5), ValueError),
        (([1.0], [0.0], 0.5), ValueError),
        (([1.0], [1.0], 0.5, 1), ValueError),
        (([1.0], [1.0], 0.5, 16, 0.0), ValueError),
        (([1.0], [1.0], 0.5, 16, 1.5), ValueError),
        (([1.0], [1.0], 0.5, 16, 1.0, 0), ValueError),
    ],
)
def test_arguments_out_of_range_are_refused(arguments: tuple, error: type) -> None:
    with pytest.raises(error):
        transfer_time_points(*arguments)


def test_sizes_of_zero_take_no_time() -> None:
    values, _ = transfer_time_points([0.0, 1.0], [0.5, 0.5], 0.6, 8)
    assert values[0].max() == 0.0
