"""The request mix as a weighted sample, and what a report says about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdd_plan.workload.statistics import Spread, share_at_least, spread, weighted_histogram

if TYPE_CHECKING:
    from pdd_plan.workload.requests import RawTrace

FloatArray = NDArray[np.float64]

HIT_BIN_EDGES: tuple[float, ...] = (*(round(0.05 * k, 2) for k in range(20)), 0.97, 0.99, 1.0)
"""Edges of the hit-rate histogram; the last bin is closed, all others are [low, high)."""

_WEIGHT_SUM_TOLERANCE = 1e-9

_CACHED = ("cached_prefill_tokens", "cached_decode_tokens")


@dataclass(frozen=True, eq=False)
class Atoms:
    """Weighted request types that stand for the whole request mix.

    Attributes
    ----------
    input_tokens : ndarray, shape (n,)
        Prompt length L [tokens], at least 1.
    cached_prefill_tokens : ndarray, shape (n,)
        Prefix found in the cache of the prefill site [tokens], 0 to L.
    cached_decode_tokens : ndarray, shape (n,)
        Prefix found in the cache of main decode [tokens], 0 to L.
    output_tokens : ndarray, shape (n,)
        Generated tokens O, at least 1.
    weight : ndarray, shape (n,)
        Share of requests; positive, sums to 1.
    kind : ndarray of int, shape (n,)
        Traffic class, an index into :attr:`Workload.classes`; 0 where there are none.

    Raises
    ------
    ValueError
        If shapes differ, a value is not finite, a cached prefix is longer than its prompt, or
        the weights do not sum to 1.
    """

    input_tokens: FloatArray
    cached_prefill_tokens: FloatArray
    cached_decode_tokens: FloatArray
    output_tokens: FloatArray
    weight: FloatArray
    kind: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        for name in ("input_tokens", "output_tokens", *_CACHED, "weight"):
            column = np.array(getattr(self, name), dtype=np.float64)
            if column.ndim != 1 or column.size == 0:
                raise ValueError(f"{name} must be a non-empty vector, got shape {column.shape}")
            if column.shape != np.shape(self.weight):
                raise ValueError(f"{name} has {column.size} values, weight {np.size(self.weight)}")
            if not np.all(np.isfinite(column)):
                raise ValueError(f"{name} holds values that are not finite")
            column.setflags(write=False)
            object.__setattr__(self, name, column)
        if np.any(self.weight <= 0) or abs(float(self.weight.sum()) - 1) > _WEIGHT_SUM_TOLERANCE:
            raise ValueError(f"weights must be positive and sum to 1, sum {self.weight.sum()!r}")
        for name in ("input_tokens", "output_tokens"):
            if np.any(getattr(self, name) < 1):
                raise ValueError(f"{name} must be at least 1")
        for name in _CACHED:
            cached = getattr(self, name)
            if np.any(cached < 0) or np.any(cached > self.input_tokens):
                raise ValueError(f"{name} must lie between 0 and input_tokens")
        kind = np.array(self.kind if np.size(self.kind) else np.zeros(len(self)), dtype=np.int64)
        if kind.shape != self.weight.shape or np.any(kind < 0):
            raise ValueError(f"kind must hold one class for each weight, got shape {kind.shape}")
        kind.setflags(write=False)
        object.__setattr__(self, "kind", kind)

    @classmethod
    def from_columns(
        cls,
        input_tokens: ArrayLike,
        cached_prefill_tokens: ArrayLike,
        output_tokens: ArrayLike,
        weight: ArrayLike | None = None,
        cached_decode_tokens: ArrayLike | None = None,
        kind: ArrayLike | None = None,
    ) -> Atoms:
        """Build atoms from columns with weights of any scale, sorted by hit rate.

        Parameters
        ----------
        input_tokens, cached_prefill_tokens, output_tokens : array_like, shape (n,)
            Tokens, as in the class.
        weight : array_like, shape (n,), optional
            Counts or shares; divided by their sum. All equal by default.
        cached_decode_tokens : array_like, shape (n,), optional
            Equal to `cached_prefill_tokens` by default.
        kind : array_like of int, shape (n,), optional
            Traffic class; one class for all by default.

        Returns
        -------
        Atoms
            In ascending order of hit fraction, then prompt length, cached prefix, output and class.

        Raises
        ------
        ValueError
            As the class.
        """
        length = np.asarray(input_tokens, dtype=np.float64)
        prefill = np.asarray(cached_prefill_tokens, dtype=np.float64)
        decode = np.asarray(
            prefill if cached_decode_tokens is None else cached_decode_tokens, dtype=np.float64
        )
        output = np.asarray(output_tokens, dtype=np.float64)
        group = np.zeros(length.shape) if kind is None else np.asarray(kind)
        share = np.ones_like(length) if weight is None else np.asarray(weight, dtype=np.float64)
        keep = share > 0 if np.all(share >= 0) else np.ones(share.shape, dtype=bool)
        length, prefill, decode = length[keep], prefill[keep], decode[keep]
        output, share, group = output[keep], share[keep], group[keep]
        with np.errstate(divide="ignore", invalid="ignore"):
            order = np.lexsort((share, group, output, prefill, length, decode / length))
        share = share[order] / share.sum()
        return cls(
            length[order],
            prefill[order],
            decode[order],
            output[order],
            share,
            group[order].astype(np.int64),
        )

    def __len__(self) -> int:
        return int(self.weight.size)

    @property
    def uncached_tokens(self) -> FloatArray:
        """Tokens that prefill computes, U = L - cached at prefill, shape (n,)."""
        return self.input_tokens - self.cached_prefill_tokens

    @property
    def missing_tokens(self) -> FloatArray:
        """Tokens whose KV main decode lacks and the line carries, shape (n,)."""
        return self.input_tokens - self.cached_decode_tokens

    @property
    def hit_fraction(self) -> FloatArray:
        """Hit rate at main decode, cached / L, 0 to 1, shape (n,)."""
        return self.cached_decode_tokens / self.input_tokens

    @property
    def prefill_hit_fraction(self) -> FloatArray:
        """Hit rate at the prefill site, cached / L, 0 to 1, shape (n,)."""
        return self.cached_prefill_tokens / self.input_tokens

    def mean(self, values: ArrayLike) -> float:
        """Return the weighted mean of one value per atom.

        Parameters
        ----------
        values : array_like, shape (n,)
            Any quantity, one value per atom.

        Returns
        -------
        float
            In the unit of `values`.
        """
        # Not np.dot: its threads cost more than they gain on vectors of this size.
        return float(np.sum(self.weight * np.asarray(values, dtype=np.float64)))


@dataclass(frozen=True)
class WorkloadSummary:
    """What the traffic is, counted before it was compressed to atoms.

    Attributes
    ----------
    requests : int
        Requests counted; 0 for a mix given by formula or classes.
    atoms : int
        Atoms that stand for them.
    span_s : float
        Time from the first to the last arrival [s]; 0 where there are no arrivals.
    arrival_rate_per_s : float
        Mean arrivals [requests/s], after any override by the scenario.
    trace_rate_per_s : float or None
        Mean arrivals of the trace itself [requests/s].
    arrival_scv : float
        Burstiness used by the queues: 1 for Poisson arrivals.
    arrival_scv_source : str
        Where that number comes from.
    input_tokens, uncached_tokens, missing_tokens, output_tokens : Spread
        Mean and percentiles [tokens].
    mean_hit_rate : float
        Hit rate at main decode, mean over requests.
    token_hit_rate : float
        Cached tokens over prompt tokens, the token-weighted mean.
    share_hit_95 : float
        Share of requests with a hit rate of at least 95 %.
    blocks_reused_share : float or None
        Share of prompt blocks found in the cache, for traces with block hashes.
    hit_bin_edges : tuple of float
        Edges of the histogram, one more than shares.
    hit_bin_shares : tuple of float
        Share of requests in each bin; sums to 1.
    provenance : tuple of str
        Where the numbers come from.
    warnings : tuple of str
        What was put right while reading, and what a reader should know.
    """

    requests: int
    atoms: int
    span_s: float
    arrival_rate_per_s: float
    trace_rate_per_s: float | None
    arrival_scv: float
    arrival_scv_source: str
    input_tokens: Spread
    uncached_tokens: Spread
    missing_tokens: Spread
    output_tokens: Spread
    mean_hit_rate: float
    token_hit_rate: float
    share_hit_95: float
    blocks_reused_share: float | None
    hit_bin_edges: tuple[float, ...]
    hit_bin_shares: tuple[float, ...]
    provenance: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Workload:
    """The request mix and its arrivals, ready for the queues.

    Attributes
    ----------
    atoms : Atoms
        Weighted request types.
    arrival_rate_per_s : float
        Mean arrivals [requests/s].
    arrival_scv : float
        Squared coefficient of variation of inter-arrival times at the time scale of the queue;
        1 for Poisson arrivals.
    summary : WorkloadSummary
        What a report says about the traffic.
    source : str
        One line that names the origin.
    raw : RawTrace or None
        The requests in their own order, for a replay; None for a mix without a trace.
    order_matters : bool
        Waits follow the order and the times of `raw` rather than `arrival_scv`.
    classes : tuple of str
        Names of the traffic classes; empty where none is named.
    """

    atoms: Atoms
    arrival_rate_per_s: float
    arrival_scv: float
    summary: WorkloadSummary
    source: str
    raw: RawTrace | None = field(default=None, repr=False)
    order_matters: bool = False
    classes: tuple[str, ...] = ()


def summarize(
    atoms: Atoms,
    *,
    arrival_rate_per_s: float,
    arrival_scv: float,
    arrival_scv_source: str,
    compressed_atoms: int | None = None,
    requests: int = 0,
    span_s: float = 0.0,
    trace_rate_per_s: float | None = None,
    blocks_reused_share: float | None = None,
    provenance: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
) -> WorkloadSummary:
    """Count what a report says about the traffic.

    Parameters
    ----------
    atoms : Atoms
        The requests as they were before compression.
    arrival_rate_per_s, arrival_scv, arrival_scv_source, requests, span_s, trace_rate_per_s
        As in `WorkloadSummary`.
    compressed_atoms : int, optional
        Atoms left after compression; those of `atoms` by default.
    blocks_reused_share, provenance, warnings
        As in `WorkloadSummary`.

    Returns
    -------
    WorkloadSummary
    """
    hit, weight = atoms.hit_fraction, atoms.weight
    return WorkloadSummary(
        requests=requests,
        atoms=len(atoms) if compressed_atoms is None else compressed_atoms,
        span_s=span_s,
        arrival_rate_per_s=arrival_rate_per_s,
        trace_rate_per_s=trace_rate_per_s,
        arrival_scv=arrival_scv,
        arrival_scv_source=arrival_scv_source,
        input_tokens=spread(atoms.input_tokens, weight),
        uncached_tokens=spread(atoms.uncached_tokens, weight),
        missing_tokens=spread(atoms.missing_tokens, weight),
        output_tokens=spread(atoms.output_tokens, weight),
        mean_hit_rate=atoms.mean(hit),
        token_hit_rate=atoms.mean(atoms.cached_decode_tokens) / atoms.mean(atoms.input_tokens),
        share_hit_95=share_at_least(hit, weight, 0.95),
        blocks_reused_share=blocks_reused_share,
        hit_bin_edges=HIT_BIN_EDGES,
        hit_bin_shares=weighted_histogram(hit, weight, HIT_BIN_EDGES),
        provenance=provenance,
        warnings=warnings,
    )
