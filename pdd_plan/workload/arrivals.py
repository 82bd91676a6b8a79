"""Arrival times: what a trace leaves open, its rate and its burstiness."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pdd_plan.workload.blocks import reorder_blocks
from pdd_plan.workload.requests import RawTrace

FloatArray = NDArray[np.float64]

_PHASES = 8


def index_of_dispersion(arrival_s: FloatArray, window_s: float) -> float:
    """Return the variance of the number of arrivals in a window over its mean.

    It is 1 for Poisson arrivals at every window and tends to the squared coefficient of variation
    of the gaps for renewal arrivals at long ones; for streams with memory it is what queues feel
    at the time scale of the window, which the variation of single gaps misses [1]_.

    Parameters
    ----------
    arrival_s : ndarray, shape (n,)
        Arrivals [s], ascending.
    window_s : float
        Length of the windows [s], positive; the mean busy period of the queue, say.

    Returns
    -------
    float
        Mean over windows that start at eight phases, edge to edge from each; unbiased variance.

    Raises
    ------
    ValueError
        If the arrivals span fewer than two windows.

    References
    ----------
    .. [1] K. W. Fendick and W. Whitt, Measurements and approximations to describe the offered
       traffic and predict the average workload in a single-server queue, Proc. IEEE 77(1), 1989.
    """
    start, span = float(arrival_s[0]), float(arrival_s[-1] - arrival_s[0])
    if not window_s > 0 or span < 2 * window_s:
        raise ValueError(f"{span:g} s of arrivals hold no two windows of {window_s:g} s")
    values = []
    for phase in range(_PHASES):
        first = start + window_s * phase / _PHASES
        count = int((arrival_s[-1] - first) / window_s)
        if count < 2:
            continue
        window = np.floor((arrival_s - first) / window_s)
        inside = window[(window >= 0) & (window < count)]
        if inside.size:
            values.append(_dispersion(inside, count))
    return float(np.mean(values))


def _dispersion(window: FloatArray, count: int) -> float:
    """Return variance over mean of the arrivals in `count` windows, given the window of each.

    The empty windows are never listed: there may be many more of them than arrivals.
    """
    _, arrivals = np.unique(window, return_counts=True)
    mean = window.size / count
    squares = float(np.square(arrivals - mean).sum()) + (count - arrivals.size) * mean**2
    return squares / (count - 1) / mean


def mean_rate_per_s(arrival_s: FloatArray) -> float | None:
    """Return arrivals over the time they span, one gap fewer than arrivals.

    Parameters
    ----------
    arrival_s : ndarray, shape (n,)
        Arrivals [s], ascending.

    Returns
    -------
    float or None
        In requests/s; None where all arrive at once.
    """
    span = float(arrival_s[-1] - arrival_s[0])
    return (arrival_s.size - 1) / span if span > 0 else None


def draw_session_starts(
    time_in_session_s: FloatArray, session: NDArray[np.int64], rate_per_s: float, seed: int = 0
) -> FloatArray:
    """Lay sessions of unknown start on one time axis as a stationary stream.

    Sessions start as a Poisson stream over the window in which all requests arrive at the wanted
    rate; what a session does after the end of the window is moved to its beginning, as the part
    of a session that was already running then. So every moment of the window has the same
    expected rate, which starts alone would give only after the longest session (days).

    Parameters
    ----------
    time_in_session_s : ndarray, shape (n,)
        Time of each request from the start of its session [s].
    session : ndarray of int64, shape (n,)
        Session of each request.
    rate_per_s : float
        Mean arrivals [requests/s].
    seed : int
        Of the random starts.

    Returns
    -------
    ndarray, shape (n,)
        Arrivals [s], in the order of the input, from 0 to n / rate.
    """
    window = time_in_session_s.size / rate_per_s
    names, index = np.unique(session, return_inverse=True)
    starts = np.random.default_rng(seed).uniform(0.0, window, names.size)
    arrival: FloatArray = np.mod(starts[index] + time_in_session_s, window)
    return arrival


def spread_stamps(stamp_s: FloatArray, step_s: float, seed: int = 0) -> FloatArray:
    """Spread requests that share a coarse time stamp evenly at random over its step.

    Parameters
    ----------
    stamp_s : ndarray, shape (n,)
        Stamps [s], ascending.
    step_s : float
        Resolution of the stamps [s].
    seed : int
        Of the positions within the step.

    Returns
    -------
    ndarray, shape (n,)
        Ascending; each within [stamp, stamp + step), in the order of the input.
    """
    offset = np.random.default_rng(seed).uniform(0.0, step_s, stamp_s.size)
    order = np.lexsort((offset, stamp_s))
    # Sorting by (stamp, offset) hands the k-th smallest offset to the k-th row of each stamp.
    spread: FloatArray = stamp_s + offset[order]
    return np.maximum.accumulate(spread)


def stamp_step_s(stamp_s: FloatArray) -> float:
    """Return the resolution of time stamps: the median gap of distinct ones if most are shared.

    Parameters
    ----------
    stamp_s : ndarray, shape (n,)
        Stamps [s], ascending.

    Returns
    -------
    float
        In seconds; 0 where at least half of the stamps are distinct.
    """
    distinct = np.unique(stamp_s)
    if distinct.size < 2 or 2 * distinct.size > stamp_s.size:
        return 0.0
    return float(np.median(np.diff(distinct)))


def in_time_order(
    time_s: FloatArray, name: str
) -> tuple[FloatArray, NDArray[np.intp], tuple[str, ...]]:
    """Sort time stamps.

    Parameters
    ----------
    time_s : ndarray, shape (n,)
        Stamps [s], in any order.
    name : str
        Column, for the note.

    Returns
    -------
    sorted_s : ndarray, shape (n,)
        Ascending, from 0.
    order : ndarray of int, shape (n,)
        Indices that sort; rows of equal stamps keep their order.
    notes : tuple of str
        What was put right.
    """
    order = np.argsort(time_s, kind="stable")
    sorted_s = time_s[order]
    late = int(np.count_nonzero(np.diff(time_s) < 0))
    notes = (f"{name} was not in order ({late} steps back): rows were sorted",) if late else ()
    return sorted_s - sorted_s[0], order, notes


def rescale_trace(trace: RawTrace, rate_per_s: float, seed: int = 0) -> RawTrace:
    """Return a trace at another mean rate.

    Recorded times are stretched or compressed as a whole, so a burst stays a burst at the new
    time scale. Sessions of unpublished start keep their pace and get new, denser or sparser,
    starts.

    Parameters
    ----------
    trace : RawTrace
        As read.
    rate_per_s : float
        Mean arrivals wanted [requests/s].
    seed : int
        Of the session starts.

    Returns
    -------
    RawTrace
    """
    if trace.time_in_session_s is not None and trace.session is not None:
        within, session = trace.time_in_session_s, trace.session
        # The starts depend on the sessions' names only, not on the order of the requests.
        arrival = draw_session_starts(within, session, rate_per_s, seed)
        order = np.lexsort((within, session, arrival))
        return replace(
            trace,
            arrival_s=arrival[order],
            input_tokens=trace.input_tokens[order],
            output_tokens=trace.output_tokens[order],
            cached_tokens=None if trace.cached_tokens is None else trace.cached_tokens[order],
            session=session[order],
            time_in_session_s=within[order],
            window_s=within.size / rate_per_s,
            blocks=None if trace.blocks is None else reorder_blocks(trace.blocks, order),
        )
    own = mean_rate_per_s(trace.arrival_s)
    if own is None:
        return trace
    factor = own / rate_per_s
    return replace(
        trace, arrival_s=trace.arrival_s * factor, stamp_step_s=trace.stamp_step_s * factor
    )
