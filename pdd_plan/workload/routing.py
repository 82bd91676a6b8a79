"""What requests are routed by, and the thresholds worth trying.

A request goes straight from prefill to main decode, or through the relay. With the property

- ``hit_rate``: direct if and only if the hit rate at main decode is at least the threshold;
  0 never relays, 1 always does;
- ``uncached_tokens`` (what prefill computes) and ``transfer_bytes`` (KV that the line carries):
  direct if and only if the value is at most the threshold; infinity never relays, 0 always does.

A value within a billionth of the threshold counts as equal to it, so as direct. Thresholds are
ordered from "never relay" to "always relay" throughout, so the relayed sets grow.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdd_plan.workload.atoms import Atoms
from pdd_plan.workload.statistics import EQUAL

FloatArray = NDArray[np.float64]
RoutingBy = Literal["hit_rate", "uncached_tokens", "transfer_bytes"]

_SLACK = 0.2


def routing_values(
    atoms: Atoms,
    by: RoutingBy,
    *,
    kv_bytes_per_token: float | None = None,
    kv_bytes_fixed: float = 0.0,
) -> FloatArray:
    """Return what each atom is routed by.

    Parameters
    ----------
    atoms : Atoms
        The request mix.
    by : {"hit_rate", "uncached_tokens", "transfer_bytes"}
        Property that routes.
    kv_bytes_per_token, kv_bytes_fixed : float
        KV cache of a token, and per request [bytes]; the first is needed by ``transfer_bytes``.

    Returns
    -------
    ndarray, shape (n,)
        Hit rate [1], tokens, or bytes.

    Raises
    ------
    ValueError
        If `by` is unknown or ``transfer_bytes`` lacks the bytes of a token.
    """
    if by == "hit_rate":
        return atoms.hit_fraction
    if by == "uncached_tokens":
        return atoms.uncached_tokens
    if by == "transfer_bytes":
        if kv_bytes_per_token is None:
            raise ValueError("transfer_bytes needs kv_bytes_per_token")
        return atoms.missing_tokens * kv_bytes_per_token + kv_bytes_fixed
    raise ValueError(f"unknown routing property {by!r}")


def never_relay(by: RoutingBy) -> float:
    """Return the threshold at which no request is relayed: 0 for hit rates, else infinity."""
    return 0.0 if by == "hit_rate" else math.inf


def always_relay(by: RoutingBy) -> float:
    """Return the threshold at which every request is relayed: 1 for hit rates, else 0."""
    return 1.0 if by == "hit_rate" else 0.0


def relayed(values: ArrayLike, by: RoutingBy, threshold: float) -> NDArray[np.bool_]:
    """Tell which requests go through the relay.

    Parameters
    ----------
    values : array_like, shape (n,)
        From `routing_values`.
    by : {"hit_rate", "uncached_tokens", "transfer_bytes"}
        Property that routes.
    threshold : float
        In the unit of `values`.

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    value = np.asarray(values, dtype=np.float64)
    if threshold == always_relay(by):
        return np.ones(value.shape, dtype=bool)
    if by == "hit_rate":
        return value < threshold * (1 - EQUAL)
    return value > threshold * (1 + EQUAL)


def relay_from(values: ArrayLike, by: RoutingBy, thresholds: ArrayLike) -> NDArray[np.int64]:
    """Return the first threshold at which each request goes through the relay.

    Parameters
    ----------
    values : array_like, shape (n,)
        From `routing_values`.
    by : {"hit_rate", "uncached_tokens", "transfer_bytes"}
        Property that routes.
    thresholds : array_like, shape (m,)
        From "never relay" to "always relay": ascending for hit rates, else descending.

    Returns
    -------
    ndarray of int64, shape (n,)
        Index into `thresholds`; m where the request is never relayed.

    Raises
    ------
    ValueError
        If the thresholds are in another order.
    """
    levels = np.asarray(thresholds, dtype=np.float64)
    rising = levels if by == "hit_rate" else -levels
    if np.any(rising[1:] < rising[:-1]):
        raise ValueError("thresholds must go from never relay to always relay")
    masks = np.stack([relayed(values, by, level) for level in levels.tolist()])
    return np.where(masks.any(axis=0), masks.argmax(axis=0), levels.size).astype(np.int64)


def threshold_candidates(
    atoms: Atoms,
    by: RoutingBy = "hit_rate",
    max_thresholds: int = 20,
    *,
    kv_bytes_per_token: float | None = None,
    kv_bytes_fixed: float = 0.0,
) -> FloatArray:
    """Return the thresholds worth trying, from "never relay" to "always relay".

    Between the two ends lie cuts between neighboring atoms, at even steps of the average of two
    shares: of requests, and of the tokens that the line carries. Near each step the cut is taken
    whose threshold has the fewest digits.

    Parameters
    ----------
    atoms : Atoms
        The request mix.
    by : {"hit_rate", "uncached_tokens", "transfer_bytes"}
        Property that routes.
    max_thresholds : int
        Most thresholds to return, at least 1; 1 gives "never relay" alone.
    kv_bytes_per_token, kv_bytes_fixed
        As in `routing_values`.

    Returns
    -------
    ndarray, shape (m,)
        0 … 1 for hit rates, infinity … 0 for tokens [tokens] and bytes [bytes].

    Raises
    ------
    ValueError
        If `max_thresholds` is below 1, or as `routing_values`.
    """
    if max_thresholds < 1:
        raise ValueError(f"max_thresholds must be at least 1, got {max_thresholds}")
    values = routing_values(
        atoms, by, kv_bytes_per_token=kv_bytes_per_token, kv_bytes_fixed=kv_bytes_fixed
    )
    ends = [never_relay(by), always_relay(by)][:max_thresholds]
    # Ascending in "relayed first": low hit rates, or large values.
    rank = values if by == "hit_rate" else -values
    order = np.argsort(rank, kind="stable")
    rank = rank[order]
    fresh = np.concatenate(([True], np.diff(rank) > 4 * EQUAL * np.abs(rank[:-1])))
    starts = np.flatnonzero(fresh)
    carried = (atoms.weight * atoms.missing_tokens)[order]
    mass = atoms.weight[order] + carried / max(float(carried.sum()), 1e-300)
    relayed_share = np.cumsum(np.add.reduceat(mass, starts))[:-1] / 2
    # Cut k relays the first k + 1 groups; its thresholds lie in (last[k], first[k]].
    last, first = rank[np.append(starts[1:], rank.size) - 1][:-1], rank[starts][1:]
    picks = _picks(relayed_share, max(max_thresholds - 2, 0))
    inner = []
    for low, high in picks:
        # Keep clear of the relayed neighbor, which rounding would else count as direct.
        beyond = float(last[low]) + 2 * EQUAL * abs(float(last[low]))
        level = -_simplest(-float(first[high]), -beyond)
        if abs(level) in ends:
            level = (beyond + float(first[low])) / 2
        inner.append(abs(level))
    return np.array(ends[:1] + inner + ends[1:])


def _picks(relayed_share: FloatArray, wanted: int) -> list[tuple[int, int]]:
    """Return ranges of cuts, first and last index, from each of which one is wanted."""
    count = relayed_share.size
    if count <= wanted:
        return [(k, k) for k in range(count)]
    step = 1 / (wanted + 1)
    found: list[tuple[int, int]] = []
    for goal in ((np.arange(wanted) + 1) * step).tolist():
        low = int(np.searchsorted(relayed_share, goal - _SLACK * step))
        high = int(np.searchsorted(relayed_share, goal + _SLACK * step, side="right")) - 1
        if high < low:
            near = int(np.argmin(np.abs(relayed_share - goal)))
            low = high = near
        if not found or low > found[-1][1]:
            found.append((low, high))
    return found


def _simplest(low: float, high: float) -> float:
    """Return the number of fewest digits in [low, high), the lowest of them."""
    scale = max(abs(low), abs(high))
    exponent = math.floor(math.log10(scale)) if scale > 0 else 0
    for digits in range(exponent, exponent - 16, -1):
        candidate = round(math.ceil(low / 10.0**digits - 1e-9) * 10.0**digits, max(-digits, 0))
        if low <= candidate < high:
            return candidate
    return low
