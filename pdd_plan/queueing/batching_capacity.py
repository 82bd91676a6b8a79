"""Largest load of a continuous-batching pool within limits on token times and waits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdd_plan.errors import UnstableQueueError
from pdd_plan.queueing.batching import BatchingChain

Array = NDArray[np.float64]

TOLERANCE = 1e-12
"""Accuracy of the load found, over the largest one."""
BISECTION = 6
"""How often an interval is halved at least."""


def batching_capacity(
    mean_output_tokens: float,
    step_s: ArrayLike,
    engines: int,
    slots_per_engine: int,
    tpot_limit_s: float | None = None,
    tpot_probability: float | None = None,
    wait_probability: float | None = None,
    reserved_s: float = 0.0,
) -> float:
    """Largest arrival rate at which a pool keeps its limits.

    The chain is that of `continuous_batching`. Every measure looked at rises with the arrival
    rate: births grow while deaths stay, so the number of requests grows in likelihood ratio.

    Parameters
    ----------
    mean_output_tokens : float
        Mean tokens generated per request.
    step_s : array_like, shape (>= slots_per_engine,)
        Time of a step at batch 1, 2, ... of one engine [s]; must not fall.
    engines, slots_per_engine : int
        Engines in the pool, and largest batch of one.
    tpot_limit_s : float, optional
        Limit on the time per output token [s]; none by default.
    tpot_probability : float, optional
        Share of tokens that must keep the limit, in (0, 1); the mean must by default.
    wait_probability : float, optional
        Largest share of requests that may find every slot taken; any by default, up to stability.
    reserved_s : float
        Mean time that a request holds its slot before it joins the batch [s].

    Returns
    -------
    float
        Requests per second; 0 where even a single request breaks a limit.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    """
    for name, value in (("tpot_probability", tpot_probability), ("wait", wait_probability)):
        if value is not None and not 0.0 < value <= 1.0:
            raise ValueError(f"{name} must lie in (0, 1], not {value}")
    chain = BatchingChain(mean_output_tokens, step_s, engines, slots_per_engine, reserved_s)
    if tpot_limit_s is not None and chain.step[0] > tpot_limit_s:
        return 0.0

    def excess(arrivals: float) -> float:
        """Return ln of the worst measure over its limit: above 0 where a limit is broken."""
        try:
            masses, _, full = chain.solve(arrivals)
        except UnstableQueueError:
            return np.inf
        worst = -np.inf
        if wait_probability is not None:
            worst = _log_ratio(full, wait_probability)
        if tpot_limit_s is not None and tpot_probability is None:
            step = float(masses[1:] @ chain.active) / (arrivals * mean_output_tokens)
            worst = max(worst, _log_ratio(step, tpot_limit_s))
        elif tpot_limit_s is not None and tpot_probability is not None:
            tokens = masses[1:] * chain.rate
            late = float(tokens[chain.step > tpot_limit_s].sum() / tokens.sum())
            worst = max(worst, _log_ratio(late, 1.0 - tpot_probability))
        return worst

    return _largest(excess, float(chain.rate[-1]))


def _log_ratio(value: float, limit: float) -> float:
    """Return ln(value / limit), signed infinity at 0."""
    if limit <= 0.0:
        return -np.inf if value <= 0.0 else np.inf
    return float(np.log(value / limit)) if value > 0.0 else -np.inf


def _largest(excess: Callable[[float], float], bound: float) -> float:
    """Largest argument below `bound` at which a rising function is 0 or less.

    False position, with the weight of an end halved that stays for a second time (Illinois), and a
    bisection wherever a value is infinite and every `BISECTION` times.
    """
    low, high = 0.0, bound
    at_low, at_high = -np.inf, np.inf
    last = 0
    for turn in range(200):
        if high - low <= TOLERANCE * bound:
            break
        middle = 0.5 * (low + high)
        if np.isfinite(at_low) and np.isfinite(at_high) and turn % BISECTION:
            guess = low - at_low * (high - low) / (at_high - at_low)
            edge = 0.25 * TOLERANCE * bound
            middle = min(max(guess, low + edge), high - edge)
        value = excess(middle)
        if value <= 0.0:
            low, at_low, at_high = middle, value, at_high * (0.5 if last < 0 else 1.0)
        else:
            high, at_high, at_low = middle, value, at_low * (0.5 if last > 0 else 1.0)
        last = -1 if value <= 0.0 else 1
    return low
