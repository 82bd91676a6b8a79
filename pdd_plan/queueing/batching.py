"""Continuous batching: token generation whose speed depends on the number of active requests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdd_plan.errors import UnstableQueueError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BatchingResult:
    """Steady state of a pool of engines with continuous batching.

    Attributes
    ----------
    utilization : float
        Arrival rate over the rate that full batches sustain [1].
    mean_active : float
        Mean number of requests in the batches of all engines.
    mean_step_s : float
        Time per output token, mean over tokens [s].
    probability_wait : float
        Share of requests that find every slot taken [1].
    wait_tail_rate_per_s : float
        Rate of the exponential law of the wait of those [1/s].
    mean_wait_s : float
        Mean wait for a slot over all requests [s].
    step_values_s, step_weights : ndarray
        Law of the step time as the tokens see it: values [s], rising, and masses.
    """

    utilization: float
    mean_active: float
    mean_step_s: float
    probability_wait: float
    wait_tail_rate_per_s: float
    mean_wait_s: float
    step_values_s: Array
    step_weights: Array

    def step_quantile_s(self, probability: float) -> float:
        """Step time that the given share of all tokens does not exceed [s]."""
        cumulative = np.cumsum(self.step_weights)
        index = int(np.searchsorted(cumulative, probability * cumulative[-1] * (1.0 - 1e-12)))
        return float(self.step_values_s[min(index, self.step_values_s.size - 1)])


def continuous_batching(
    arrival_rate_per_s: float,
    mean_output_tokens: float,
    step_s: ArrayLike,
    engines: int,
    slots_per_engine: int,
) -> BatchingResult:
    """Steady state of engines that share their requests evenly, batch by batch.

    A birth-death chain on the number N of requests: births λ, deaths N / (E[O] t(N / c)) up to
    c times the slots, constant beyond, where requests wait in order.

    Parameters
    ----------
    arrival_rate_per_s : float
        Requests to the pool [1/s].
    mean_output_tokens : float
        Mean tokens generated per request.
    step_s : array_like, shape (>= slots_per_engine,)
        Time of a step at batch 1, 2, ... of one engine [s].
    engines : int
        Engines in the pool.
    slots_per_engine : int
        Largest batch of one engine.

    Returns
    -------
    BatchingResult
        Steady state.

    Raises
    ------
    UnstableQueueError
        If full batches cannot keep up.
    ValueError
        If an argument is out of its range.
    """
    steps = np.asarray(step_s, dtype=np.float64)[:slots_per_engine]
    slots = engines * slots_per_engine
    active = np.arange(1, slots + 1, dtype=np.float64)
    batch = np.maximum(active / engines, 1.0)
    step = np.interp(batch, np.arange(1, steps.size + 1), steps)
    rate = active / (mean_output_tokens * step)
    utilization = arrival_rate_per_s / float(rate[-1])
    if utilization >= 1.0:
        raise UnstableQueueError(
            f"{arrival_rate_per_s:.4g} requests/s on engines that end {rate[-1]:.4g}/s at most"
        )
    log_mass = np.concatenate(([0.0], np.cumsum(np.log(arrival_rate_per_s) - np.log(rate))))
    mass = np.exp(log_mass - log_mass.max())
    beyond = mass[-1] * utilization / (1.0 - utilization)
    total = mass.sum() + beyond
    mass, beyond = mass / total, beyond / total
    mean_active = float(mass[1:] @ active + beyond * slots)
    probability_wait = float(mass[-1] + beyond)
    tail_rate = float(rate[-1]) - arrival_rate_per_s
    tokens = (mass[1:] + np.where(active == slots, beyond, 0.0)) * rate
    return BatchingResult(
        utilization=utilization,
        mean_active=mean_active,
        mean_step_s=mean_active / (arrival_rate_per_s * mean_output_tokens),
        probability_wait=probability_wait,
        wait_tail_rate_per_s=tail_rate,
        mean_wait_s=probability_wait / tail_rate,
        step_values_s=step,
        step_weights=tokens / tokens.sum(),
    )
