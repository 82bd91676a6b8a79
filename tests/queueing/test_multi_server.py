"""M/G/c waits: exact queues, monotonicity, units, splits, wrong inputs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from service_laws import agent, erlang, exponential, log_normal, scaled, scv

from pdd_plan.errors import UnstableQueueError
from pdd_plan.queueing import (
    TimeGrid,
    cdf_of,
    convolve_masses,
    erlang_c,
    mean_of,
    point_masses,
    quantile_of,
    wait_probability,
    waiting_time_cdf_table,
    waiting_time_pmf,
)

SHARES = np.array([0.5, 0.9, 0.99])


def assert_quantiles(got: np.ndarray, expected: np.ndarray) -> None:
    """Within 1e-3, and where the wait is nearly 0 within 1e-3 of the mean service time (1)."""
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("servers", "load"), [(1, 0.5), (1, 0.93), (2, 0.8), (5, 0.6), (16, 0.9), (64, 0.95)]
)
def test_exponential_service_is_exact(servers: int, load: float) -> None:
    service, share = exponential()
    rate = servers * (1.0 - load)
    grid = TimeGrid(40.0 / rate / 16384 if rate < 1.0 else 40.0 / 16384, 16384)
    pmf = waiting_time_pmf(service, share, servers, servers * load, grid)
    wait = float(erlang_c(servers, servers * load))
    expected = np.maximum(np.log(wait / (1.0 - SHARES)), 0.0) / rate
    assert_quantiles(quantile_of(pmf, SHARES, grid), expected)
    # wait + service: a mixture of exponentials (rate != 1 here)
    total = convolve_masses([pmf, point_masses(service, share, grid)])

    def survival(t: np.ndarray) -> np.ndarray:
        late = (np.exp(-rate * t) - rate * np.exp(-t)) / (1.0 - rate)
        if abs(rate - 1.0) < 1e-9:
            late = (1.0 + t) * np.exp(-t)
        return (1.0 - wait) * np.exp(-t) + wait * late

    at = quantile_of(total, SHARES, grid)
    np.testing.assert_allclose(1.0 - survival(at), SHARES, atol=3e-4)


@pytest.mark.parametrize("load", [0.3, 0.7, 0.93])
def test_one_server_with_two_phases_is_exact(load: float) -> None:
    # M/H2/1: the wait is a mixture of two exponentials (roots of the transform's denominator)
    share_long, long_mean, short_mean = 0.1, 5.5, 0.5
    unit, _ = exponential(8000)
    service = np.concatenate((short_mean * unit, long_mean * unit))
    weights = np.repeat([1.0 - share_long, share_long], unit.size)
    mean, slow, fast = share_long * long_mean + 0.9 * short_mean, 1 / long_mean, 1 / short_mean
    arrivals = load / mean
    a = slow + fast - arrivals
    b = slow * fast * (1.0 - load)
    roots = 0.5 * (a + np.array([-1.0, 1.0]) * np.sqrt(a * a - 4.0 * b))
    masses = (1 - load) * (slow - roots) * (fast - roots) / roots / (roots[::-1] - roots)
    grid = TimeGrid(60.0 / (1.0 - load) / 16384, 16384)
    pmf = waiting_time_pmf(service, weights, 1, arrivals, grid)
    at = quantile_of(pmf, SHARES, grid)
    exact = 1.0 - masses @ np.exp(-np.outer(roots, at))
    np.testing.assert_allclose(np.where(at > 0, exact, SHARES), SHARES, atol=1e-4)
    assert masses.sum() == pytest.approx(load)


@pytest.mark.parametrize("load", [0.4, 0.8, 0.9])
def test_one_server_with_fixed_service_is_the_formula_of_erlang(load: float) -> None:
    # P(W <= t) = (1 - u) sum_{k <= t} exp(u (t - k)) (-u (t - k))^k / k!, service time 1
    grid = TimeGrid(1.0 / 1024, 1024 * 12)
    pmf = waiting_time_pmf([1.0], [1.0], 1, load, grid)
    at = np.array([0.0, 0.3, 0.9, 1.5, 2.2, 3.7])
    exact = []
    for t in at:
        k = np.arange(int(t) + 1)
        factorial = np.cumprod(np.maximum(k, 1)).astype(float)
        terms = np.exp(load * (t - k)) * (-load * (t - k)) ** k / factorial
        exact.append((1.0 - load) * terms.sum())
    np.testing.assert_allclose(np.interp(at, grid.times_s, cdf_of(pmf)), exact, atol=2e-4)


@pytest.mark.parametrize("law", [agent(0.08, 4.0, 0.15), log_normal(5.0), erlang(3)])
@pytest.mark.parametrize("load", [0.3, 0.85])
def test_one_server_has_the_mean_of_pollaczek_khinchine(law: tuple, load: float) -> None:
    service, share = law
    second, third = share @ service**2, share @ service**3
    mean = load * second / (2.0 * (1.0 - load))
    reach = second / (1.0 - load) * 12.0 + third / second * 6.0
    grid = TimeGrid(reach / 16384, 16384)
    pmf = waiting_time_pmf(service, share, 1, load, grid)
    assert float(mean_of(pmf, grid)) == pytest.approx(mean, rel=2e-3)
    assert pmf.sum() == pytest.approx(1.0, abs=1e-4)
    assert cdf_of(pmf)[0] == pytest.approx(1.0 - load, abs=2e-3)


def test_what_lies_beyond_the_grid_is_left_out_and_nothing_wraps_round() -> None:
    service, share = agent(0.08, 4.0, 0.15)
    small, large = TimeGrid(0.05, 64), TimeGrid(0.05, 8192)
    for servers in (1, 4):
        short = waiting_time_pmf(service, share, servers, 0.9 * servers, small)
        long = waiting_time_pmf(service, share, servers, 0.9 * servers, large)
        assert 0.02 < 1.0 - short.sum() < 0.9
        np.testing.assert_allclose(np.cumsum(short), np.cumsum(long)[:64], atol=2e-3)


@pytest.mark.parametrize("servers", [1, 3, 8, 40])
def test_table_holds_the_single_laws(servers: int) -> None:
    service, share = agent(0.1, 5.0, 0.3)
    grid = TimeGrid(0.02, 2048)
    loads = np.array([0.0, 0.4, 0.77, 0.95])
    table = waiting_time_cdf_table(service, share, servers, loads, grid)
    for load, row in zip(loads, table, strict=True):
        pmf = waiting_time_pmf(service, share, servers, load * servers, grid)
        np.testing.assert_allclose(row[1:], cdf_of(pmf)[1:], atol=2e-3)
    np.testing.assert_allclose(
        1.0 - table[:, 0], wait_probability(service, share, servers, loads), atol=1e-12
    )
    np.testing.assert_allclose(table[0], 1.0)


laws = st.sampled_from(
    [agent(0.08, 4.0, 0.15), agent(0.05, 8.0, 0.4), log_normal(3.0), erlang(2), ([1.0], [1.0]),
     scaled(np.array([0.2, 5.0]), np.array([0.93, 0.07])), exponential(2000)]
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(laws, st.integers(1, 45), st.floats(0.2, 4.0))
def test_waits_grow_with_the_load(law: tuple, servers: int, reach: float) -> None:
    service, share = np.asarray(law[0]), np.asarray(law[1])
    grid = TimeGrid(reach * (1.0 + scv(service, share)) / servers / 256, 512)
    table = waiting_time_cdf_table(service, share, servers, np.linspace(0.0, 0.997, 24), grid)
    assert np.diff(table, axis=0).max() <= 1e-9
    assert np.diff(table, axis=1).min() >= -1e-9
    assert table.min() >= 0.0
    assert table.max() <= 1.0


@settings(max_examples=40, deadline=None)
@given(laws, st.floats(0.3, 34.0), st.floats(0.2, 4.0))
def test_waits_fall_with_the_servers(law: tuple, erlangs: float, reach: float) -> None:
    service, share = np.asarray(law[0]), np.asarray(law[1])
    grid = TimeGrid(reach * (1.0 + scv(service, share)) / erlangs / 256, 512)
    first = int(erlangs / 0.997) + 1
    rows = [
        waiting_time_cdf_table(service, share, n, [erlangs / n], grid)[0]
        for n in range(first, first + 4)
    ]
    assert np.diff(np.stack(rows), axis=0).min() >= -1e-9


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 12), st.floats(0.1, 0.95), st.floats(1e-3, 1e3))
def test_the_unit_of_time_does_not_matter(servers: int, load: float, factor: float) -> None:
    service, share = agent(0.08, 4.0, 0.15)
    one = waiting_time_pmf(service, share, servers, servers * load, TimeGrid(0.01, 512))
    other = waiting_time_pmf(
        factor * service,
        7.0 * share,
        servers,
        servers * load / factor,
        TimeGrid(0.01 * factor, 512),
    )
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_split_arrivals_are_queues_of_their_own() -> None:
    service, share = agent(0.08, 4.0, 0.15)
    grid = TimeGrid(0.05, 1024)
    split = waiting_time_pmf(service, share, 1, 0.7, grid, split=6)
    np.testing.assert_allclose(split, waiting_time_pmf(service, share, 1, 0.7, grid), atol=1e-12)
    shared = waiting_time_pmf(service, share, 6, 4.2, grid)
    assert float(mean_of(split, grid)) > 3.0 * float(mean_of(shared, grid))


def test_waits_grow_with_the_burstiness_of_arrivals() -> None:
    service, share = agent(0.08, 4.0, 0.15)
    grid = TimeGrid(0.02, 2048)
    for servers in (1, 6):
        rows = [
            waiting_time_cdf_table(service, share, servers, [0.8], grid, arrival_scv=scv_)[0]
            for scv_ in (0.2, 0.7, 1.0, 1.5, 4.0)
        ]
        assert np.diff(np.stack(rows), axis=0).max() <= 1e-6


def test_bursty_arrivals_at_one_exponential_server() -> None:
    # H2/M/1 exactly: W > 0 with probability s, s the root of A*(μ(1 - s)) = s, rate μ(1 - s)
    service, share = exponential()
    for load, arrival_scv in ((0.7, 2.0), (0.9, 4.0)):
        p = 0.5 * (1.0 + np.sqrt((arrival_scv - 1.0) / (arrival_scv + 1.0)))
        rates = 2.0 * load * np.array([p, 1.0 - p])
        root = 0.5
        for _ in range(500):
            root = float(np.array([p, 1.0 - p]) @ (rates / (rates + 1.0 - root)))
        grid = TimeGrid(0.02, 16384)
        pmf = waiting_time_pmf(service, share, 1, load, grid, arrival_scv=arrival_scv)
        exact = root / (1.0 - root)
        assert float(mean_of(pmf, grid)) == pytest.approx(exact, rel=0.12)
        assert 1.0 - cdf_of(pmf)[0] == pytest.approx(root, rel=0.05)


def test_perfectly_regular_arrivals_and_service_do_not_wait() -> None:
    pmf = waiting_time_pmf([1.0], [1.0], 4, 3.2, TimeGrid(0.01, 64), arrival_scv=0.0)
    assert pmf[0] > 0.98


@pytest.mark.parametrize("service", [erlang(2), erlang(5), ([1.0], [1.0])])
@pytest.mark.parametrize("servers", [3, 12])
def test_regular_service_waits_less_often_than_exponential(service: tuple, servers: int) -> None:
    got = float(wait_probability(*service, servers, np.array([0.8]))[0])
    assert got < float(erlang_c(servers, 0.8 * servers))


def test_overload_is_refused() -> None:
    grid = TimeGrid(0.1, 64)
    with pytest.raises(UnstableQueueError, match="utilization 1"):
        waiting_time_pmf([1.0], [1.0], 2, 2.0, grid)
    with pytest.raises(UnstableQueueError):
        waiting_time_cdf_table([1.0], [1.0], 2, [0.3, 1.2], grid)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"service_s": [-1.0]}, "0 s or more"),
        ({"service_s": [np.inf]}, "finite"),
        ({"service_s": [0.0]}, "above 0 s"),
        ({"service_s": []}, "one length"),
        ({"weights": [-1.0]}, "weights"),
        ({"weights": [0.0]}, "not all 0"),
        ({"weights": [1.0, 2.0]}, "one length"),
        ({"servers": 0}, "1 or more"),
        ({"servers": 1.5}, "whole number"),
        ({"arrival_rate_per_s": -1.0}, "0 or more"),
        ({"arrival_rate_per_s": np.nan}, "finite"),
        ({"arrival_scv": -0.1}, "arrival_scv"),
    ],
)
def test_arguments_out_of_range_are_refused(change: dict, message: str) -> None:
    arguments = {
        "service_s": [1.0], "weights": [1.0], "servers": 2, "arrival_rate_per_s": 1.0,
        "grid": TimeGrid(0.1, 64),
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        waiting_time_pmf(**(arguments | change))
