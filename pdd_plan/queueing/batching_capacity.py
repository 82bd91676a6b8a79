"""Largest load of a continuous-batching pool within limits on token times and waits."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

ROUNDS = 44
"""Bisection rounds: the load is found to about 1e-13 of the largest one."""


def batching_capacity(
    mean_output_tokens: float,
    step_s: ArrayLike,
    engines: int,
    slots_per_engine: int,
    tpot_limit_s: float | None = None,
    tpot_probability: float | None = None,
    wait_probability: float | None = None,
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

    Returns
    -------
    float
        Requests per second; 0 where even a single request breaks a limit.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    """
    steps = np.asarray(step_s, dtype=np.float64)[:slots_per_engine]
    if engines < 1 or steps.size < 1 or slots_per_engine < 1:
        raise ValueError("a pool needs one engine and one slot or more")
    if not mean_output_tokens > 0.0:
        raise ValueError(f"mean output tokens must be positive, not {mean_output_tokens}")
    active = np.arange(1, engines * steps.size + 1, dtype=np.float64)
    step = np.interp(np.maximum(active / engines, 1.0), np.arange(1, steps.size + 1), steps)
    rate = active / (mean_output_tokens * step)
    chain = _Chain(active, step, rate, mean_output_tokens)
    if tpot_limit_s is not None and step[0] > tpot_limit_s:
        return 0.0
    low, high = 0.0, float(rate[-1])
    for _ in range(ROUNDS):
        middle = 0.5 * (low + high)
        if chain.keeps(middle, tpot_limit_s, tpot_probability, wait_probability):
            low = middle
        else:
            high = middle
    return low


class _Chain:
    """Steady states of one pool at different arrival rates."""

    def __init__(self, active: Array, step: Array, rate: Array, mean_tokens: float) -> None:
        self.active, self.step, self.rate = active, step, rate
        self.mean_tokens = mean_tokens
        self.log_rates = np.cumsum(np.log(rate))

    def keeps(
        self,
        arrival_rate_per_s: float,
        tpot_limit_s: float | None,
        tpot_probability: float | None,
        wait_probability: float | None,
    ) -> bool:
        """Whether every limit holds at an arrival rate."""
        load = arrival_rate_per_s / float(self.rate[-1])
        if not 0.0 < load < 1.0:
            return load == 0.0
        log_mass = self.active * np.log(arrival_rate_per_s) - self.log_rates
        top = max(float(log_mass.max()), 0.0)
        mass = np.exp(log_mass - top)
        beyond = float(mass[-1]) * load / (1.0 - load)
        total = float(mass.sum()) + beyond + float(np.exp(-top))
        if wait_probability is not None and (mass[-1] + beyond) / total > wait_probability:
            return False
        if tpot_limit_s is None:
            return True
        if tpot_probability is None:
            mean_active = (float(mass @ self.active) + beyond * float(self.active[-1])) / total
            return mean_active <= tpot_limit_s * arrival_rate_per_s * self.mean_tokens
        mass[-1] += beyond
        tokens = mass * self.rate
        late = float(tokens[self.step > tpot_limit_s].sum())
        return late <= (1.0 - tpot_probability) * float(tokens.sum())
