"""From what happened to what is reported: percentiles, uses and their confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from pdd_plan.fleet.problem import FloatArray, Metric

PERCENTILES = (50.0, 90.0, 95.0, 99.0)


@dataclass(frozen=True)
class Estimate:
    """A number with the half-width of its confidence interval.

    Attributes
    ----------
    mean : float
        Mean over replications.
    half_width : float
        Half-width of the interval by Student's t; not a number for a single replication.
    """

    mean: float
    half_width: float

    @classmethod
    def of(cls, values: Sequence[float] | FloatArray, confidence: float = 0.95) -> Estimate:
        """Estimate from one value a replication; values that are not a number are left out.

        Parameters
        ----------
        values : sequence of float
        confidence : float

        Returns
        -------
        Estimate
        """
        sample = np.asarray(values, dtype=np.float64)
        sample = sample[np.isfinite(sample)]
        if sample.size == 0:
            return cls(float("nan"), float("nan"))
        if sample.size == 1:
            return cls(float(sample[0]), float("nan"))
        factor = float(stdtrit(sample.size - 1, 0.5 + confidence / 2.0))
        error = float(sample.std(ddof=1)) / np.sqrt(sample.size)
        return cls(float(sample.mean()), float(factor * error))


@dataclass(frozen=True)
class Summary:
    """Mean and percentiles of a time [s].

    Attributes
    ----------
    mean, p50, p90, p95, p99 : Estimate
        [s]
    count : int
        Requests measured, over all replications.
    """

    mean: Estimate
    p50: Estimate
    p90: Estimate
    p95: Estimate
    p99: Estimate
    count: int

    def percentile(self, percentile: float) -> Estimate:
        """Estimate of one of the percentiles; 0 stands for the mean.

        Raises
        ------
        KeyError
            If the percentile is none of 0, 50, 90, 95, 99.
        """
        by_value = {0.0: self.mean, 50.0: self.p50, 90.0: self.p90, 95.0: self.p95, 99.0: self.p99}
        return by_value[percentile]


def weighted_percentiles(
    values: FloatArray, weights: FloatArray, percentiles: Sequence[float]
) -> FloatArray:
    """Percentiles of a weighted sample, linear between its points.

    Parameters
    ----------
    values, weights : ndarray, shape (n,)
        n of 1 or more.
    percentiles : sequence of float
        In percent.

    Returns
    -------
    ndarray, shape (percentiles,)
        With equal weights the same as ``numpy.percentile``.
    """
    if weights.size and np.all(weights == weights[0]):
        return np.asarray(np.percentile(values, percentiles))
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order]) - 0.5 * weights[order]
    at = np.asarray(percentiles) / 100.0 * weights.sum()
    return np.asarray(np.interp(at, below, values[order]), dtype=np.float64)


@dataclass(frozen=True)
class Sample:
    """Values of one replication, with weights where periods were simulated apart."""

    values: FloatArray
    weights: FloatArray

    @classmethod
    def joined(cls, parts: Sequence[Sample]) -> Sample:
        """All values of several samples."""
        return cls(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.weights for part in parts]),
        )

    def statistics(self) -> FloatArray:
        """Mean and percentiles, or not-a-numbers for an empty sample."""
        if self.values.size == 0:
            return np.full(1 + len(PERCENTILES), np.nan)
        mean = float(np.average(self.values, weights=self.weights))
        return np.concatenate(
            [[mean], weighted_percentiles(self.values, self.weights, PERCENTILES)]
        )

    def share_within(self, limit_s: float) -> float:
        """Share of the values up to a limit."""
        total = float(self.weights.sum())
        if total == 0.0:
            return float("nan")
        return float(self.weights[self.values <= limit_s].sum()) / total


def summarize(samples: Sequence[Sample], confidence: float) -> Summary:
    """Summary over replications.

    Parameters
    ----------
    samples : sequence of Sample
        One a replication.
    confidence : float

    Returns
    -------
    Summary
    """
    rows = np.stack([sample.statistics() for sample in samples])
    mean, p50, p90, p95, p99 = (Estimate.of(column, confidence) for column in rows.T)
    return Summary(mean, p50, p90, p95, p99, sum(sample.values.size for sample in samples))


@dataclass(frozen=True)
class StationUse:
    """How busy a pool or a line was, averages over time.

    Attributes
    ----------
    utilization : Estimate
        Prefill: busy servers over servers. Line: bytes carried over usable bandwidth. Relay and
        decode: tokens made over tokens of full batches.
    active : Estimate
        Requests in service.
    held : Estimate
        Prefill: bytes of KV cache held. Line: open connections. Relay and decode: slots taken,
        those of requests whose KV cache is on its way included.
    waiting : Estimate
        Requests before it.
    capacity : float
        Servers, connections (inf: no limit) or slots.
    """

    utilization: Estimate
    active: Estimate
    held: Estimate
    waiting: Estimate
    capacity: float


@dataclass(frozen=True)
class SimulationResult:
    """What a simulation has measured.

    Attributes
    ----------
    ttft_s : Summary
        Time to first token over all requests.
    ttft_by_route_s : mapping of str to Summary
        By route: ``direct``, ``relay``, ``local``; routes without requests are left out.
    ttft_by_path_s : mapping of (int, int) to Summary
        By lane and prefill pool, indices into the problem.
    tpot_s : Summary
        Time per output token, (end to end - TTFT) / (O - 1), over requests with O > 1.
    tpot_of_tokens_s : Estimate
        The same, mean over tokens.
    e2e_s : Summary
        Arrival to last token.
    handoff_gap_s : Summary
        Pause at the seam, over requests that were handed over.
    waits_s : mapping of str to Summary
        ``prefill``, ``decode_slot``, ``connection``, ``relay_slot``.
    transfer_s : Summary
        Begin of the transfer to its arrival at main decode, delays included.
    by_class_s : mapping of str to mapping of Metric to Summary
        Latencies of each traffic class by name; empty where there are none.
    by_region_s : mapping of str to mapping of Metric to Summary
        Latencies of the users of each region by name; empty where there are none.
    within : mapping of str to Estimate
        Share of requests within each limit of the problem, by its key.
    uses : mapping of str to StationUse
        By label of pool or lane.
    relay_request_fraction, relay_token_fraction : Estimate
        Share of requests that the relay was to serve; share of all tokens that it made.
    ended_on_relay_fraction : Estimate
        Share of the relayed requests that ended there.
    wait_probabilities : mapping of str to Estimate
        Share of requests that had to wait at all, by the keys of ``waits_s``.
    recompute_s : Estimate
        Time that main decode spends on recomputing KV cache, a request [s]; only where that
        halts batches.
    throughput_requests_per_s, throughput_tokens_per_s : Estimate
        Of the measured requests over the span of their arrivals.
    requests, replications : int
        Measured requests a replication; replications.
    seconds : float
        Processor time of the event loops, summed over replications [s].
    simulated_per_s : float
        Requests simulated a second of one core.
    samples : tuple of dict or None
        Times of the measured requests of each replication where asked for.
    """

    ttft_s: Summary
    ttft_by_route_s: Mapping[str, Summary]
    ttft_by_path_s: Mapping[tuple[int, int], Summary]
    tpot_s: Summary
    tpot_of_tokens_s: Estimate
    e2e_s: Summary
    handoff_gap_s: Summary
    waits_s: Mapping[str, Summary]
    wait_probabilities: Mapping[str, Estimate]
    transfer_s: Summary
    by_class_s: Mapping[str, Mapping[Metric, Summary]]
    by_region_s: Mapping[str, Mapping[Metric, Summary]]
    within: Mapping[str, Estimate]
    uses: Mapping[str, StationUse]
    relay_request_fraction: Estimate
    relay_token_fraction: Estimate
    ended_on_relay_fraction: Estimate
    recompute_s: Estimate
    throughput_requests_per_s: Estimate
    throughput_tokens_per_s: Estimate
    requests: int
    replications: int
    seconds: float
    simulated_per_s: float
    samples: tuple[Mapping[str, FloatArray], ...] | None = None
