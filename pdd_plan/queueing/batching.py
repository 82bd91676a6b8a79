"""Continuous batching: token generation whose speed depends on the number of active requests.

An engine with a batch of n makes a token for each of them every t(n) seconds. With requests spread
evenly over c engines the pool is a queue with state-dependent processor sharing: n active requests
end at rate n / (E[O] t(n / c)), O tokens each. Its steady state has product form and depends on
the outputs through their mean only [1]_ [2]_, as long as no request waits for a slot; with
waits it is exact for geometric outputs. A stage before decode during which the slot is already
taken (KV cache on its way) is an infinite-server station of the same product form; above the
slots the pool is replaced by its throughput at full slots (flow-equivalent server, [3]_).

Against step-by-step simulation (1-8 engines, 16-128 slots, load 0.3-0.95) the time per token is
within 0.6 % for geometric and fixed outputs, within 1.6 % for outputs with an SCV of 3.2.

References
----------
.. [1] J. W. Cohen, "The multiple phase service network with generalized processor sharing",
   Acta Informatica 12 (1979) 245-284.
.. [2] F. Baskett, K. M. Chandy, R. R. Muntz and F. G. Palacios, "Open, closed, and mixed networks
   of queues with different classes of customers", Journal of the ACM 22 (1975) 248-260.
.. [3] K. M. Chandy, U. Herzog and L. Woo, "Parametric analysis of queuing networks", IBM Journal
   of Research and Development 19 (1975) 36-42.
"""

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
        Arrival rate over the rate that the pool sustains at full slots [1].
    mean_active : float
        Mean number of requests in the batches of all engines.
    mean_reserved : float
        Mean number of slots that are taken by requests not yet in a batch.
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
    mean_reserved: float
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
    reserved_s: float = 0.0,
    output_scv: float = 1.0,
    peakedness: float = 1.0,
) -> BatchingResult:
    """Steady state of engines that share their requests evenly, batch by batch.

    Parameters
    ----------
    arrival_rate_per_s : float
        Requests to the pool [1/s], above 0.
    mean_output_tokens : float
        Mean tokens generated per request.
    step_s : array_like, shape (>= slots_per_engine,)
        Time of a step at batch 1, 2, ... of one engine [s]; interpolated between.
    engines : int
        Engines in the pool.
    slots_per_engine : int
        Largest batch of one engine.
    reserved_s : float
        Mean time that a request holds its slot before it joins the batch [s].
    output_scv : float
        Squared coefficient of variation of the output tokens [1]. It scales the wait of those who
        wait by (1 + scv)/2, exact for one slot; nothing else depends on it.
    peakedness : float
        Variance over mean of the number that arrivals would keep in unlimited slots [1]; 1 for
        Poisson arrivals.

    Returns
    -------
    BatchingResult
        Steady state.

    Raises
    ------
    UnstableQueueError
        If full slots cannot keep up.
    ValueError
        If an argument is out of its range.
    """
    if not (arrival_rate_per_s > 0.0 and np.isfinite(arrival_rate_per_s)):
        raise ValueError(f"the arrival rate must be above 0 requests/s, not {arrival_rate_per_s}")
    if not output_scv >= 0.0:
        raise ValueError(f"output_scv must be 0 or more, not {output_scv}")
    chain = BatchingChain(
        mean_output_tokens, step_s, engines, slots_per_engine, reserved_s, peakedness
    )
    masses, ratio, full = chain.solve(arrival_rate_per_s)
    active = np.concatenate(([0.0], chain.active))
    mean_active = float(masses @ active)
    tail_rate = arrival_rate_per_s * (1.0 / ratio - 1.0) / (0.5 * (1.0 + output_scv))
    tokens = masses[1:] * chain.rate
    return BatchingResult(
        utilization=ratio,
        mean_active=mean_active,
        mean_reserved=arrival_rate_per_s * reserved_s,
        mean_step_s=mean_active / (arrival_rate_per_s * mean_output_tokens),
        probability_wait=full,
        wait_tail_rate_per_s=tail_rate,
        mean_wait_s=full / tail_rate,
        step_values_s=chain.step,
        step_weights=tokens / tokens.sum(),
    )


class BatchingChain:
    """Birth-death chain of a pool; the same for all arrival rates.

    Parameters
    ----------
    mean_output_tokens, step_s, engines, slots_per_engine, reserved_s, peakedness
        As for `continuous_batching`.

    Attributes
    ----------
    active : ndarray, shape (n,)
        Numbers of active requests up to engines times slots, in steps of the peakedness.
    step : ndarray, shape (n,)
        Step time [s].
    rate : ndarray, shape (n,)
        Requests that end per second.
    """

    def __init__(
        self,
        mean_output_tokens: float,
        step_s: ArrayLike,
        engines: int,
        slots_per_engine: int,
        reserved_s: float = 0.0,
        peakedness: float = 1.0,
    ) -> None:
        steps = np.asarray(step_s, dtype=np.float64)[:slots_per_engine]
        if engines < 1 or slots_per_engine < 1:
            raise ValueError("a pool needs one engine and one slot or more")
        if steps.size < slots_per_engine:
            raise ValueError(f"{steps.size} step times for batches up to {slots_per_engine}")
        if not (np.all(steps > 0.0) and np.all(np.isfinite(steps))):
            raise ValueError("step times must be positive and finite")
        if not mean_output_tokens > 0.0:
            raise ValueError(f"mean output tokens must be positive, not {mean_output_tokens}")
        if not (reserved_s >= 0.0 and np.isfinite(reserved_s)):
            raise ValueError(f"reserved_s must be finite and 0 s or more, not {reserved_s}")
        if not peakedness > 0.0:
            raise ValueError(f"peakedness must be above 0, not {peakedness}")
        # Hayward: arrivals of peakedness z to n slots are as Poisson arrivals, in units of z
        most = engines * slots_per_engine
        units = max(round(most / peakedness), 1)
        self.active = np.arange(1.0, units + 1.0) * (most / units)
        batch = np.maximum(self.active / engines, 1.0)
        self.step = np.interp(batch, np.arange(1.0, steps.size + 1.0), steps)
        self.rate = self.active / (mean_output_tokens * self.step)
        self.reserved_s, self._unit = reserved_s, most / units
        self._log_rates = np.concatenate(([0.0], np.cumsum(np.log(self.rate))))
        self._counts = np.arange(self.active.size + 1.0)

    def solve(self, arrival_rate_per_s: float) -> tuple[Array, float, float]:
        """Steady state at an arrival rate.

        Parameters
        ----------
        arrival_rate_per_s : float
            Requests [1/s], above 0.

        Returns
        -------
        masses : ndarray, shape (n + 1,)
            P(k requests are active), k = 0 ... n.
        ratio : float
            Arrival rate over throughput at full slots [1].
        full : float
            P(all slots are taken) [1].

        Raises
        ------
        UnstableQueueError
            If the ratio is 1 or more.
        """
        log_active = self._counts * np.log(arrival_rate_per_s) - self._log_rates
        log_active -= log_active.max()
        mass = np.exp(log_active)
        if arrival_rate_per_s * self.reserved_s < np.finfo(np.float64).tiny:
            ratio = arrival_rate_per_s / float(self.rate[-1])
            self._check(ratio, arrival_rate_per_s)
            at_full, beyond = float(mass[-1]), float(mass[-1]) * ratio / (1.0 - ratio)
            total = float(mass.sum()) + beyond
            mass[-1] += beyond
            return mass / total, ratio, (at_full + beyond) / total
        return self._solve_reserved(log_active, arrival_rate_per_s)

    def _solve_reserved(self, log_active: Array, arrivals: float) -> tuple[Array, float, float]:
        """Steady state with slots held by requests that are not active yet."""
        from scipy.special import gammaincc, gammaln

        load, counts = arrivals * self.reserved_s / self._unit, self._counts
        log_held = counts * np.log(load) - load - gammaln(counts + 1.0)
        all_taken = log_active + log_held[::-1]  # n active and the other slots held
        one_free = log_active[:-1] + log_held[-2::-1]
        top = float(all_taken.max())
        taken = np.exp(all_taken - top)
        ratio = float(taken.sum() / np.exp(one_free - top).sum())
        self._check(ratio, arrivals)
        taken *= np.exp(top)
        # held by up to K - n requests: a Poisson distribution function
        mass = np.exp(log_active) * gammaincc(counts[::-1] + 1.0, load)
        mass += taken * (ratio / (1.0 - ratio))
        total = float(mass.sum())
        return np.asarray(mass / total), ratio, float(taken.sum()) / (1.0 - ratio) / total

    @staticmethod
    def _check(ratio: float, arrivals: float) -> None:
        if ratio >= 1.0:
            raise UnstableQueueError(
                f"{arrivals:.4g} requests/s are {ratio:.4g} of what full batches sustain"
            )
