"""Requests in order of arrival: drawn from the atoms, or those of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pdd_plan.fleet.problem import BoolArray, FloatArray, Problem

IntArray = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True, eq=False)
class RequestTypes:
    """What a request of each type asks for.

    Attributes
    ----------
    service_s : mapping of int to ndarray, shape (types,)
        Prefill time by prefill pool (index into ``Problem.pools``) [s].
    kv_bytes, transfer_bytes : ndarray, shape (types,)
        KV cache of the whole prompt, and the part that main decode misses [bytes].
    output_tokens : ndarray, shape (types,)
        Tokens to generate, 1 or more.
    relayed : ndarray of bool, shape (types,)
        Whether it goes through the relay, unless its lane is local.
    relay_above_bytes : ndarray, shape (types,), or None
        Transfer at which a request becomes one for the relay after all, where the request
        before in its conversation has left nothing at main decode [bytes].
    traffic : ndarray of int, shape (types,), or None
        Traffic class; None where there is one only.
    """

    service_s: Mapping[int, FloatArray]
    kv_bytes: FloatArray
    transfer_bytes: FloatArray
    output_tokens: FloatArray
    relayed: BoolArray
    relay_above_bytes: FloatArray | None = None
    traffic: IntArray | None = None

    @classmethod
    def of_atoms(cls, problem: Problem, threshold_index: int) -> RequestTypes:
        """One type an atom.

        Parameters
        ----------
        problem : Problem
        threshold_index : int
            Index into ``problem.thresholds``.

        Returns
        -------
        RequestTypes
        """
        return cls(
            {i: p.service_s for i, p in enumerate(problem.pools) if p.role == "prefill"},
            problem.kv_bytes,
            problem.transfer_bytes,
            problem.atoms.output_tokens,
            problem.relayed(threshold_index),
            traffic=problem.atoms.kind,
        )


@dataclass(frozen=True, eq=False)
class RequestStream:
    """Requests in order of arrival.

    Attributes
    ----------
    arrival_s : ndarray, shape (requests,)
        Times of arrival, ascending [s].
    kind : ndarray of int, shape (requests,)
        Index into the types.
    types : RequestTypes
    previous : ndarray of int, shape (requests,), or None
        Index of the request before in the same conversation, -1 for the first of one. Only
        used with ``relay_end: drop``: if that one ended on the relay and its KV cache was not
        delivered, main decode misses it as well.
    """

    arrival_s: FloatArray
    kind: IntArray
    types: RequestTypes
    previous: IntArray | None = None

    def __len__(self) -> int:
        return int(self.arrival_s.size)


def interarrival_s(
    rng: np.random.Generator, count: int, rate_per_s: float, scv: float
) -> FloatArray:
    """Draw times between arrivals of a renewal process.

    Parameters
    ----------
    rng : Generator
    count : int
        How many.
    rate_per_s : float
        Mean arrivals [requests/s].
    scv : float
        Squared coefficient of variation: 1 exponential (Poisson arrivals), above 1
        hyper-exponential of two phases with balanced means [1]_, below 1 gamma, 0 constant.

    Returns
    -------
    ndarray, shape (count,)
        [s]

    References
    ----------
    .. [1] H. C. Tijms, *A First Course in Stochastic Models*, Wiley 2003, appendix B.
    """
    mean_s = 1.0 / rate_per_s
    if scv == 0.0:
        return np.full(count, mean_s)
    if scv < 1.0:
        return rng.gamma(1.0 / scv, mean_s * scv, count)
    gaps = rng.exponential(mean_s, count)
    if scv > 1.0:
        short = 0.5 * (1.0 + np.sqrt((scv - 1.0) / (scv + 1.0)))
        is_short = rng.random(count) < short
        gaps *= np.where(is_short, 0.5 / short, 0.5 / (1.0 - short))
    return gaps


def sample_stream(
    rng: np.random.Generator,
    problem: Problem,
    types: RequestTypes,
    count: int,
    rate_per_s: float,
    scv: float,
) -> RequestStream:
    """Draw requests independently from the atoms.

    Parameters
    ----------
    rng : Generator
    problem : Problem
        Gives the weights of the atoms.
    types : RequestTypes
        One type an atom.
    count : int
        How many.
    rate_per_s, scv : float
        Arrivals, as in `interarrival_s`.

    Returns
    -------
    RequestStream
    """
    arrival_s = np.cumsum(interarrival_s(rng, count, rate_per_s, scv))
    cumulative = np.cumsum(problem.atoms.weight)
    draws = rng.random(count) * cumulative[-1]
    kind = np.searchsorted(cumulative, draws, side="right").astype(np.int64)
    return RequestStream(arrival_s, np.minimum(kind, cumulative.size - 1), types)
