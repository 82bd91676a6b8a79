"""The requests of a trace in their own order, kept for counting and replay."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BlockRuns:
    """Prompt blocks of every request, as runs of consecutive block ids.

    Request i has the runs ``offsets[i]:offsets[i + 1]``; run k holds the ids ``first[k]`` to
    ``first[k] + count[k] - 1``. The same id is the same block after the same prefix.

    Attributes
    ----------
    offsets : ndarray of int64, shape (requests + 1,)
        Where the runs of each request start.
    first, count : ndarray of int64, shape (runs,)
        First id and length of each run.
    block_tokens : int
        Tokens in a block.
    """

    offsets: NDArray[np.int64]
    first: NDArray[np.int64]
    count: NDArray[np.int64]
    block_tokens: int


@dataclass(frozen=True, eq=False)
class RawTrace:
    """Requests as recorded, in order of arrival.

    Attributes
    ----------
    arrival_s : ndarray, shape (n,)
        Arrival from the start of the trace [s], ascending.
    input_tokens, output_tokens : ndarray, shape (n,)
        Lengths [tokens], at least 1.
    cached_tokens : ndarray, shape (n,), or None
        Prefix found in an unlimited cache [tokens]; None where the format does not say.
    session : ndarray of int64, shape (n,), or None
        Session of each request.
    time_in_session_s : ndarray, shape (n,), or None
        Time from the start of the session [s], where sessions have no published start.
    window_s : float or None
        Period of the stream [s] where sessions were laid on it around a circle, see
        `pdd_plan.workload.arrivals.draw_session_starts`; None for times as recorded.
    blocks : BlockRuns or None
        Prompt blocks, for caches of finite size.
    format : str
        Name of the format read.
    path : str
        File, as the user gave it.
    reused_block_share : float or None
        Share of prompt blocks that an unlimited cache holds.
    stamp_step_s : float
        Resolution of the published time stamps [s]; 0 where they are exact.
    notes : tuple of str
        What was put right while reading.
    """

    arrival_s: FloatArray
    input_tokens: FloatArray
    output_tokens: FloatArray
    cached_tokens: FloatArray | None
    session: NDArray[np.int64] | None = None
    time_in_session_s: FloatArray | None = None
    window_s: float | None = None
    blocks: BlockRuns | None = field(default=None, repr=False)
    format: str = ""
    path: str = ""
    reused_block_share: float | None = None
    stamp_step_s: float = 0.0
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.arrival_s.size)

    @property
    def span_s(self) -> float:
        """Time from the first to the last arrival [s]."""
        return float(self.arrival_s[-1] - self.arrival_s[0])
