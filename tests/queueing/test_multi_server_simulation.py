"""M/G/c waits against simulation, on laws and loads that no constant was fitted to."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest
from queue_simulators import draw, multi_server_waits, poisson_gaps
from service_laws import agent, erlang, log_normal, scv

from pdd_plan.queueing import (
    TimeGrid,
    convolve_masses,
    point_masses,
    quantile_of,
    waiting_time_pmf,
)

SHARES = np.array([0.5, 0.9, 0.99])
AGENTS = {
    "cached chat": agent(0.08, 4.0, 0.15),
    "coding agent": agent(0.06, 6.0, 0.25),
    "no fixed part": agent(0.1, 5.0, 0.05),
    "log-normal": log_normal(7.0),
}


def predicted(law: tuple, servers: int, load: float, arrival_scv: float = 1.0) -> np.ndarray:
    """P50, P90, P99 of wait + service."""
    service, share = law
    spread = (1.0 + scv(service, share)) / (2.0 * servers * (1.0 - load)) * (1.0 + arrival_scv)
    grid = TimeGrid((8.0 * spread + 1.2 * service.max()) / 16384, 16384)
    wait = waiting_time_pmf(service, share, servers, servers * load, grid, arrival_scv)
    total = convolve_masses([wait, point_masses(service, share, grid)])
    return quantile_of(total, SHARES, grid)


def check(law: tuple, servers: int, load: float, runs: list[np.ndarray], **arrival: float) -> None:
    """Within 7, 5 and 7 % at P50, P90 and P99, beyond two standard errors of the runs."""
    simulated = np.mean(runs, axis=0)
    error = np.std(runs, axis=0, ddof=1) / np.sqrt(len(runs))
    off = np.abs(predicted(law, servers, load, **arrival) / simulated - 1.0)
    np.testing.assert_array_less(off, np.array([0.07, 0.05, 0.07]) + 2.0 * error / simulated)


def short_runs(
    law: tuple, servers: int, gaps: Callable[[int, int], np.ndarray]
) -> list[np.ndarray]:
    service, share = law
    runs, count = [], 120_000
    for seed in range(5):
        times = draw(service, share, count, seed)
        waits = multi_server_waits(gaps(seed, count), times, servers)
        runs.append(np.quantile((waits + times)[count // 10 :], SHARES))
    return runs


@pytest.mark.parametrize(
    ("name", "servers", "load"),
    [("cached chat", 2, 0.6), ("coding agent", 5, 0.8), ("log-normal", 10, 0.7)],
)
def test_agent_traffic(name: str, servers: int, load: float) -> None:
    law = AGENTS[name]
    rate = servers * load
    runs = short_runs(law, servers, lambda seed, count: poisson_gaps(rate, count, seed))
    check(law, servers, load, runs)


@pytest.mark.parametrize(("stages", "servers", "load"), [(2, 4, 0.9), (6, 12, 0.85)])
def test_regular_service(stages: int, servers: int, load: float) -> None:
    law = erlang(stages)
    rate = servers * load
    runs = short_runs(law, servers, lambda seed, count: poisson_gaps(rate, count, seed))
    check(law, servers, load, runs)


def test_bursty_arrivals() -> None:
    law, servers, load = AGENTS["cached chat"], 6, 0.8
    share = 0.5 * (1.0 + np.sqrt(2.0 / 4.0))  # two-phase gaps with balanced means, SCV 3

    def gaps(seed: int, count: int) -> np.ndarray:
        rng = np.random.default_rng(seed + 500)
        gaps = rng.exponential(1.0 / np.where(rng.random(count) < share, share, 1.0 - share))
        return gaps / (gaps.mean() * servers * load)

    check(law, servers, load, short_runs(law, servers, gaps), arrival_scv=3.0)


@lru_cache(maxsize=1)
def compiled_simulation() -> Callable[..., np.ndarray]:
    """Histogram of waits of a long run, compiled."""
    numba = pytest.importorskip("numba")

    @numba.njit  # type: ignore[untyped-decorator]
    def run(
        service: np.ndarray, cumulative: np.ndarray, servers: int, rate: float, count: int,
        seed: int, step: float, size: int,
    ) -> np.ndarray:  # fmt: skip
        np.random.seed(seed)  # noqa: NPY002 - numba has no generators of its own here
        free = np.zeros(servers)
        histogram = np.zeros(size)
        now = 0.0
        for i in range(-count // 10, count):
            now += np.random.exponential(1.0 / rate)  # noqa: NPY002
            work = service[np.searchsorted(cumulative, np.random.random())]  # noqa: NPY002
            start = max(free[0], now)
            if i >= 0:
                histogram[min(int((start - now) / step + 0.5), size - 1)] += 1.0
            end, k = start + work, 0
            while 2 * k + 1 < servers:
                child = 2 * k + 1
                if child + 1 < servers and free[child + 1] < free[child]:
                    child += 1
                if free[child] >= end:
                    break
                free[k] = free[child]
                k = child
            free[k] = end
        return histogram / count

    return run  # type: ignore[no-any-return]


@pytest.mark.long
@pytest.mark.parametrize("name", list(AGENTS))
@pytest.mark.parametrize("servers", [2, 5, 12, 64])
@pytest.mark.parametrize("load", [0.5, 0.7, 0.85, 0.93])
def test_agent_traffic_at_length(name: str, servers: int, load: float) -> None:
    law = AGENTS[name]
    service, share = law
    spread = (1.0 + scv(service, share)) / (2.0 * servers * (1.0 - load))
    grid = TimeGrid((14.0 * spread + 1.2 * service.max()) / 16384, 16384)
    own = point_masses(service, share, grid)
    cumulative = np.cumsum(share)
    cumulative[-1] = 1.0
    runs = []
    for seed in range(6):
        waits = compiled_simulation()(
            service, cumulative, servers, servers * load, 2_500_000, seed, grid.step_s, grid.size
        )
        runs.append(quantile_of(convolve_masses([waits, own]), SHARES, grid))
    check(law, servers, load, runs)
