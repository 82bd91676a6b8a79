"""The M/H2/c queue, solved exactly.

Service is exponential with one of two means, drawn anew for each request (hyperexponential of
two phases). The state is the number of requests and how many of those in service are long ones,
so the queue is a quasi-birth-death process whose blocks have c + 1 states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_OCTAVES = 17
_POINTS_PER_OCTAVE = 8


@dataclass(frozen=True)
class TwoPhase:
    """A hyperexponential service time of mean 1.

    Attributes
    ----------
    long_share : float
        Share of requests with the longer mean [1].
    long_rate, short_rate : float
        Inverse means of the two kinds, in units of the overall mean service time [1].
    """

    long_share: float
    long_rate: float
    short_rate: float

    @classmethod
    def from_moments(cls, second: float, third: float) -> TwoPhase:
        """Match the second and third moment of a service time of mean 1.

        With y the mean of the kind drawn, E[y] = 1, E[y²] = `second`/2 and E[y³] = `third`/6
        fix two means and their shares [1]_. Needs `second` > 2; a third moment too small for
        any hyperexponential (E[y³] < E[y²]²) is raised to 1.03 times the least one.

        References
        ----------
        .. [1] W. Whitt, "Approximating a point process by a renewal process, I", Operations
           Research 30 (1982) 125-147, section 3.
        """
        if not second > 2.0:
            raise ValueError("a hyperexponential needs a squared coefficient of variation above 1")
        square = 0.5 * second
        cube = max(third / 6.0, 1.03 * square**2)
        total = (cube - square) / (square - 1.0)
        product = total - square
        root = np.sqrt(total * total - 4.0 * product)
        long_mean = 0.5 * (total + root)
        short_mean = product / long_mean
        return cls(
            long_share=float((1.0 - short_mean) / (long_mean - short_mean)),
            long_rate=float(1.0 / long_mean),
            short_rate=float(1.0 / short_mean),
        )


@dataclass(frozen=True)
class TwoPhaseWait:
    """Waiting time of M/H2/c for several utilizations, in units of the mean service time.

    Attributes
    ----------
    probability : ndarray, shape (m,)
        P(W > 0) [1].
    start : ndarray, shape (m, c + 1)
        With `generator`, the law of the wait of those who wait: P(W > t | W > 0) is the sum of
        start · exp(generator t).
    generator : ndarray, shape (m, c + 1, c + 1)
        See `start`.
    """

    probability: Array
    start: Array
    generator: Array

    def mean(self) -> Array:
        """Mean wait of those who wait, shape (m,)."""
        ones = np.ones((*self.start.shape, 1))
        return np.asarray(self.start[:, None, :] @ np.linalg.solve(-self.generator, ones))[:, 0, 0]

    def survival(self) -> tuple[Array, Array]:
        """Return times and P(W > t | W > 0) on them, both of shape (m, points).

        The times run from the mean / 1024 to 128 times the mean, 8 to an octave; matrix
        exponentials by Taylor series and squaring.
        """
        first = self.mean() / 2.0**10
        norm = np.abs(self.generator).sum(axis=2).max(axis=1)
        squarings = max(3, int(np.ceil(np.log2(max(float((norm * first).max()), 1e-9) / 0.25))))
        scaled = self.generator * (first / 2.0**squarings)[:, None, None]
        size = scaled.shape[1]
        power = np.broadcast_to(np.eye(size), scaled.shape) + scaled / 9.0
        for order in range(8, 0, -1):
            power = np.eye(size) + (scaled @ power) / order
        recent = [power]
        for _ in range(squarings):
            recent = [*recent[-3:], recent[-1] @ recent[-1]]
        times, values = [], []
        for octave in range(_OCTAVES):
            row = self.start[:, None, :] @ recent[-1]
            for part in range(_POINTS_PER_OCTAVE):
                times.append(first * 2.0**octave * (1.0 + part / _POINTS_PER_OCTAVE))
                values.append(row.sum(axis=(1, 2)))
                row = row @ recent[-4]  # exp(generator first 2^octave / 8)
            recent = [*recent[-3:], recent[-1] @ recent[-1]]
        return np.stack(times, axis=1), np.stack(values, axis=1)


def solve(
    servers: int, utilization: Array, service: TwoPhase, speeds: Array | None = None
) -> TwoPhaseWait:
    """Solve M/H2/c for several utilizations at once.

    With `speeds` the servers are faster while some are idle, as the slots of a shared line are.

    The matrix G of first passages one level down comes from logarithmic reduction [1]_, the
    boundary below c requests from block elimination. The wait is matrix-exponential of order
    c + 1: for Poisson arrivals the age of the oldest waiting request, a process that grows at
    rate 1 and jumps back at departures, has the generator T = λ G - diag(departure rates), by
    Sengupta's equation [2]_.

    Parameters
    ----------
    servers : int
        Number of servers c, 1 or more.
    utilization : ndarray, shape (m,)
        Utilizations in (0, 1).
    service : TwoPhase
        Service time, mean 1.
    speeds : ndarray, shape (c,), optional
        Speed of each server while 1, 2, ..., c requests are served, the last one 1.

    Returns
    -------
    TwoPhaseWait
        Waiting time in units of the mean service time.

    References
    ----------
    .. [1] G. Latouche and V. Ramaswami, "A logarithmic reduction algorithm for
       quasi-birth-death processes", Journal of Applied Probability 30 (1993) 650-674.
    .. [2] B. Sengupta, "Markov processes whose steady state distribution is matrix-exponential
       with an application to the GI/PH/1 queue", Advances in Applied Probability 21 (1989)
       159-180; for several servers S. Asmussen and C. A. O'Cinneide, "Representations for
       matrix-geometric and matrix-exponential steady-state distributions with applications to
       many-server queues", Stochastic Models 14 (1998) 369-387.
    """
    arrivals = servers * utilization[:, None, None]
    long = np.arange(servers + 1, dtype=np.float64)
    departures = long * service.long_rate + (servers - long) * service.short_rate
    down = _refilled_departures(servers, service)
    diagonal = np.eye(servers + 1) * departures
    first_passage = _first_passages(arrivals, departures, down)
    rate = arrivals * np.linalg.inv(diagonal + arrivals * (np.eye(servers + 1) - first_passage))
    if speeds is None:
        speeds = np.ones(servers)
    at_full, below = _boundary(speeds, arrivals, service, rate, down)
    waiting = np.linalg.solve(
        np.swapaxes(np.eye(servers + 1) - rate, 1, 2), np.swapaxes(at_full, 1, 2)
    )[:, :, 0]
    mass = waiting.sum(axis=1)
    return TwoPhaseWait(
        probability=mass / (mass + below),
        start=waiting / mass[:, None],
        generator=arrivals * first_passage - diagonal,
    )


def _refilled_departures(servers: int, service: TwoPhase) -> Array:
    """Return rates of a departure whose place is taken from the queue, by long requests."""
    long = np.arange(servers + 1, dtype=np.float64)
    share = service.long_share
    long_ends, short_ends = long * service.long_rate, (servers - long) * service.short_rate
    rates = np.diag(long_ends * share + short_ends * (1.0 - share))
    index = np.arange(servers)
    rates[index + 1, index] = long_ends[1:] * (1.0 - share)
    rates[index, index + 1] = short_ends[:-1] * share
    return rates


def _first_passages(arrivals: Array, departures: Array, down: Array) -> Array:
    """Return G, the law of the state on the first step one level down, shape (m, n, n)."""
    size = departures.size
    out = departures + arrivals  # shape (m, 1, n)
    identity = np.eye(size)
    up = identity * (arrivals / out)
    low = down / np.swapaxes(out, 1, 2)
    first_passage, factor = low.copy(), up.copy()
    for _ in range(64):
        both = np.linalg.inv(identity - (up @ low + low @ up))
        up, low = _flushed(both @ (up @ up)), _flushed(both @ (low @ low))
        first_passage += factor @ low
        factor = _flushed(factor @ up)
        if np.abs(1.0 - first_passage.sum(axis=2)).max() < 1e-13 or factor.max() < 1e-15:
            break
    return first_passage


def _boundary(
    speeds: Array, arrivals: Array, service: TwoPhase, rate: Array, down: Array
) -> tuple[Array, Array]:
    """Return the row of states with c requests, shape (m, 1, c + 1), and the mass below c."""
    share, servers = service.long_share, speeds.size
    steps = []
    for level in range(servers, 0, -1):
        long = np.arange(level + 1, dtype=np.float64)
        speed = speeds[level - 1]
        long_ends = speed * service.long_rate * long
        short_ends = speed * service.short_rate * (level - long)
        flow = np.eye(level + 1) * (arrivals + long_ends + short_ends)
        inner = np.linalg.inv(flow - rate @ down)
        rate = _flushed(arrivals * ((1.0 - share) * inner[:, :level] + share * inner[:, 1:]))
        steps.append(rate)
        down = np.zeros((level + 1, level))
        index = np.arange(level)
        down[index, index] = short_ends[:-1]
        down[index + 1, index] = long_ends[1:]
    row = np.ones((arrivals.shape[0], 1, 1))
    below = np.ones(arrivals.shape[0])
    for level, step in enumerate(reversed(steps), start=1):
        row = row @ step
        if level < servers:
            below = below + row.sum(axis=(1, 2))
    return row, below


def _flushed(matrix: Array) -> Array:
    """Return the matrix with entries below 1e-60 set to 0: subnormal numbers are slow."""
    matrix[np.abs(matrix) < 1e-60] = 0.0
    return matrix
