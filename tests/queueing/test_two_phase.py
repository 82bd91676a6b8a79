"""The exactly solved queues: M/H2/c by brute force on its chain, M/D/c by its embedded chain."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest
from scipy.sparse import csc_array
from scipy.sparse.linalg import spsolve
from scipy.special import pdtr

from pdd_plan.errors import UnstableQueueError
from pdd_plan.queueing import deterministic_wait, erlang_c, sharing_states
from pdd_plan.queueing.two_phase import TwoPhase, solve


def chain_by_brute_force(
    servers: int, arrivals: float, service: TwoPhase, levels: int, speeds: np.ndarray
) -> tuple[float, float, float]:
    """P(W > 0), E[W] and E[W²] from the balance equations of the truncated chain."""
    states = [(n, j) for n in range(levels + 1) for j in range(min(n, servers) + 1)]
    index = {state: i for i, state in enumerate(states)}
    rates: dict[tuple[int, int], float] = defaultdict(float)
    p, slow, fast = service.long_share, service.long_rate, service.short_rate
    for (n, j), i in index.items():
        busy = min(n, servers)
        speed = speeds[busy - 1] if busy else 0.0
        for probability, more in ((p, 1), (1.0 - p, 0)):
            if n < levels:
                up = index[n + 1, j + more if n < servers else j]
                rates[up, i] += arrivals * probability
                rates[i, i] -= arrivals * probability
            for rate, gone in ((j * slow * speed, 1), ((busy - j) * fast * speed, 0)):
                if rate > 0.0:
                    left = j - gone + (more if n > servers else 0)
                    rates[index[n - 1, left], i] += rate * probability
                    rates[i, i] -= rate * probability
    rows, columns = np.array(list(rates)).T
    kept = rows > 0  # the first equation follows from the others: mass sums to 1 instead
    every = np.arange(len(states))
    system = csc_array(
        (
            np.concatenate((np.array(list(rates.values()))[kept], np.ones(every.size))),
            (np.concatenate((rows[kept], 0 * every)), np.concatenate((columns[kept], every))),
        )
    )
    mass = spsolve(system, np.eye(len(states))[0])
    number = np.array([n for n, _ in states])
    queue = np.maximum(number - servers, 0)
    # distributional form of Little's law for FCFS and Poisson arrivals: E[Q(Q-1)] = λ² E[W²]
    return (
        float(mass[number >= servers].sum()),
        float(mass @ queue) / arrivals,
        float(mass @ (queue * (queue - 1))) / arrivals**2,
    )


def moments(wait: object) -> tuple[float, float, float]:
    inverse = np.linalg.inv(-wait.generator[0])  # type: ignore[attr-defined]
    first = wait.start[0] @ inverse  # type: ignore[attr-defined]
    probability = wait.probability[0]  # type: ignore[attr-defined]
    return probability, probability * first.sum(), probability * 2.0 * (first @ inverse).sum()


@pytest.mark.parametrize(("servers", "load"), [(1, 0.6), (2, 0.7), (3, 0.5), (5, 0.75)])
@pytest.mark.parametrize("faster_when_idle", [False, True])
def test_solution_equals_the_balance_equations(
    servers: int, load: float, faster_when_idle: bool
) -> None:
    service = TwoPhase.from_moments(5.0, 45.0)
    speeds = servers / np.arange(1.0, servers + 1.0) if faster_when_idle else np.ones(servers)
    wait = solve(servers, np.array([load]), service, speeds)
    expected = chain_by_brute_force(servers, servers * load, service, 160, speeds)
    np.testing.assert_allclose(moments(wait), expected, rtol=2e-5)


def test_survival_function_has_the_mean_of_the_matrix_form() -> None:
    wait = solve(4, np.array([0.6, 0.9]), TwoPhase.from_moments(7.0, 110.0))
    times, survival = wait.survival()
    times = np.concatenate((np.zeros((2, 1)), times), axis=1)
    survival = np.concatenate((np.ones((2, 1)), survival), axis=1)
    means = np.trapezoid(survival, times, axis=1)
    np.testing.assert_allclose(means, wait.mean(), rtol=2e-3)
    assert np.all(np.diff(survival, axis=1) <= 1e-12)


def test_one_server_gives_pollaczek_khinchine() -> None:
    second, third, load = 6.4, 130.0, 0.8
    wait = solve(1, np.array([load]), TwoPhase.from_moments(second, third))
    mean = load * second / (2.0 * (1.0 - load))
    square = 2.0 * mean**2 + load * third / (3.0 * (1.0 - load))
    np.testing.assert_allclose(moments(wait), (load, mean, square), rtol=1e-9)


@pytest.mark.parametrize(("second", "third"), [(2.2, 8.0), (5.0, 60.0), (40.0, 5000.0)])
def test_two_phases_have_the_moments_asked_for(second: float, third: float) -> None:
    fit = TwoPhase.from_moments(second, third)
    means = np.array([1.0 / fit.long_rate, 1.0 / fit.short_rate])
    share = np.array([fit.long_share, 1.0 - fit.long_share])
    got = [share @ means, 2.0 * share @ means**2, 6.0 * share @ means**3]
    np.testing.assert_allclose(got, [1.0, second, third], rtol=1e-9)


def test_no_two_phases_for_regular_service() -> None:
    with pytest.raises(ValueError, match="above 1"):
        TwoPhase.from_moments(1.9, 5.0)


def deterministic_by_embedded_chain(servers: int, load: float, states: int) -> tuple[float, float]:
    """M/D/c from the requests in the system one service time apart."""
    arrivals = servers * load
    step = np.diff(pdtr(np.arange(states), arrivals), prepend=0.0)
    moves = np.zeros((states, states))
    for n in range(states):
        left = max(n - servers, 0)
        moves[n, left:] = step[: states - left]
    moves[:, -1] += 1.0 - moves.sum(axis=1)
    system = (moves - np.eye(states)).T
    system[-1] = 1.0
    mass = np.linalg.solve(system, np.eye(states)[-1])
    number = np.arange(states)
    return (
        float(mass[servers:].sum()),
        float(mass @ np.maximum(number - servers, 0)) / arrivals,
    )


@pytest.mark.parametrize(
    ("servers", "load"), list(itertools.product([1, 2, 7, 20], [0.3, 0.7, 0.93]))
)
def test_deterministic_service_equals_the_embedded_chain(servers: int, load: float) -> None:
    expected = deterministic_by_embedded_chain(servers, load, 220)
    np.testing.assert_allclose(deterministic_wait(servers, load), expected, rtol=1e-6, atol=1e-12)


def test_deterministic_service_with_one_server_is_pollaczek_khinchine() -> None:
    for load in (0.1, 0.5, 0.9, 0.99):
        expected = (load, load / (2.0 * (1.0 - load)))
        np.testing.assert_allclose(deterministic_wait(1, load), expected, rtol=1e-6)
    assert deterministic_wait(3, 0.0) == (0.0, 0.0)
    with pytest.raises(UnstableQueueError):
        deterministic_wait(3, 1.0)


@pytest.mark.parametrize("connections", [1, 3, 40])
def test_pool_of_capped_connections_is_erlang_c(connections: int) -> None:
    cap = 1.0 / connections
    state = sharing_states(0.7, cap, connections)
    assert state.wait_probability == pytest.approx(
        float(erlang_c(connections, 0.7 * connections)), rel=1e-12
    )
