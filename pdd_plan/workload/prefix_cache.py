"""Prefix hits of a trace in its own order, for a cache of any size, from one pass.

A request hits the longest prefix of its blocks that the cache holds. A cache of C blocks under
least-recently-used eviction holds, of every size, what a larger one holds too (the inclusion
property [1]_), so one pass that notes how deep in the recency stack each leading block lies
answers every size at once. A request touches its blocks from the last to the first, so that
the start of a prefix outlives its end, as radix-tree caches evict leaves first.

Blocks are kept as runs of consecutive ids. Each touched run is one slot of a Fenwick tree that
counts the blocks whose latest touch it was; an interval map says which slot holds an id now.

References
----------
.. [1] R. L. Mattson, J. Gecsei, D. R. Slutz and I. L. Traiger, Evaluation techniques for storage
   hierarchies, IBM Systems Journal 9(2), 1970.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdd_plan.workload.recency import IdSpace, Recency
from pdd_plan.workload.requests import BlockRuns

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ReuseProfile:
    """How far back each leading block of each request was used last.

    One row a piece: neighboring blocks of one request that were last touched together. Only
    pieces of the longest prefix ever seen are kept, in prefix order.

    Attributes
    ----------
    request : ndarray of int64, shape (pieces,)
        Index of the request.
    blocks : ndarray of int64, shape (pieces,)
        Blocks in the piece.
    depth : ndarray of int64, shape (pieces,)
        Distinct blocks touched more recently than the first block of the piece; the next blocks
        lie one deeper each.
    depth_before : ndarray of int64, shape (pieces,)
        Cache size [blocks] that holds all blocks before the piece.
    age_s : ndarray, shape (pieces,)
        Time since the last touch [s].
    age_before_s : ndarray, shape (pieces,)
        Longest time since the last touch of all blocks before the piece [s].
    request_blocks : ndarray of int64, shape (requests,)
        Blocks of each prompt.
    distinct_blocks : int
        Blocks an unlimited cache ends up with.
    block_tokens : int
        Tokens in a block.
    """

    request: IntArray
    blocks: IntArray
    depth: IntArray
    depth_before: IntArray
    age_s: FloatArray
    age_before_s: FloatArray
    request_blocks: IntArray
    distinct_blocks: int
    block_tokens: int


@dataclass(frozen=True)
class HitRatePoint:
    """Hit rates at one cache size.

    Attributes
    ----------
    capacity_blocks, capacity_tokens : float
        Size of the cache; infinite for an unlimited one.
    mean_hit_rate : float
        Cached over prompt tokens, mean over requests.
    token_hit_rate : float
        Cached tokens over prompt tokens.
    block_hit_rate : float
        Blocks found over prompt blocks.
    share_hit_95 : float
        Share of requests with a hit rate of at least 95 %.
    """

    capacity_blocks: float
    capacity_tokens: float
    mean_hit_rate: float
    token_hit_rate: float
    block_hit_rate: float
    share_hit_95: float


def reuse_profile(
    blocks: BlockRuns,
    arrival_s: ArrayLike | None = None,
    space: NDArray[np.int64] | None = None,
    *,
    depths: bool = True,
) -> ReuseProfile:
    """Pass once over a trace and note how long ago each leading block was used.

    Parameters
    ----------
    blocks : BlockRuns
        Prompt blocks of every request, in order of arrival.
    arrival_s : array_like, shape (requests,), optional
        Arrival times [s], ascending within each space; needed for ages.
    space : ndarray of int64, shape (requests,), optional
        Id space of each request, where block ids are local (to a session, say); all requests
        share one by default.
    depths : bool
        Whether to work out depths, which an unlimited cache and a time limit do without; they
        are 0 then.

    Returns
    -------
    ReuseProfile
    """
    offsets = blocks.offsets.tolist()
    first, count = blocks.first.tolist(), blocks.count.tolist()
    runs, requests = len(first), len(offsets) - 1
    recency = Recency(runs if depths else 0)
    spaces: dict[int, IdSpace] = {}
    space_ids = [0] * requests if space is None else space.tolist()
    times = [0.0] * requests if arrival_s is None else np.asarray(arrival_s, float).tolist()
    slot_time: list[float] = [0.0] * runs
    slot_first: list[int] = [0] * runs
    rows: list[tuple[int, int, int, int, float, float]] = []
    slot = 0
    for request, now in enumerate(times):
        here = spaces.get(space_ids[request])
        if here is None:
            here = spaces[space_ids[request]] = IdSpace()
        low, high = offsets[request], offsets[request + 1]
        needed, oldest = 0, 0.0
        starts, stops, slots = here.starts, here.stops, here.slots
        for run in range(low, high):
            at, end = first[run], first[run] + count[run]
            index = bisect_right(starts, at) - 1
            while at < end and 0 <= index < len(starts) and starts[index] <= at < stops[index]:
                piece_slot = slots[index]
                length = min(end, stops[index]) - at
                depth = 0
                if depths:
                    depth = recency.after(piece_slot) + at - starts[index]
                    depth += here.earlier_in_slot(index, slot_first[piece_slot])
                age = now - slot_time[piece_slot]
                rows.append((request, length, depth, needed, age, oldest))
                needed, oldest = max(needed, depth + length), max(oldest, age)
                at += length
                index += 1
            if at < end:
                break
        for run in range(high - 1, low - 1, -1):
            if count[run] > 0:
                slot_time[slot], slot_first[slot] = now, first[run]
                here.touch(first[run], first[run] + count[run], slot, recency)
            slot += 1
    table = np.array(rows, dtype=np.float64).reshape(-1, 6)
    request_blocks = np.add.reduceat(np.append(blocks.count, 0), blocks.offsets[:-1])
    request_blocks[blocks.offsets[1:] == blocks.offsets[:-1]] = 0
    whole = table[:, :4].astype(np.int64)
    return ReuseProfile(
        request=whole[:, 0],
        blocks=whole[:, 1],
        depth=whole[:, 2],
        depth_before=whole[:, 3],
        age_s=table[:, 4],
        age_before_s=table[:, 5],
        request_blocks=request_blocks,
        distinct_blocks=sum(
            stop - start
            for here in spaces.values()
            for start, stop in zip(here.starts, here.stops, strict=True)
        ),
        block_tokens=blocks.block_tokens,
    )


def hit_blocks(
    profile: ReuseProfile, capacity_blocks: float | None = None, ttl_s: float | None = None
) -> IntArray:
    """Return the leading blocks that each request finds in the cache.

    Parameters
    ----------
    profile : ReuseProfile
        From `reuse_profile`.
    capacity_blocks : float, optional
        Size of the cache [blocks], least recently used evicted first; unlimited by default.
    ttl_s : float, optional
        Time after its last use at which a block is lost [s]; never by default. Together with a
        size, both must hold the block; room freed by expiry is not reused.

    Returns
    -------
    ndarray of int64, shape (requests,)
    """
    blocks = profile.blocks
    if capacity_blocks is not None:
        fits = np.clip(np.floor(capacity_blocks) - profile.depth, 0, blocks).astype(np.int64)
        blocks = np.where(profile.depth_before <= capacity_blocks, fits, 0)
    if ttl_s is not None:
        alive = (profile.age_s <= ttl_s) & (profile.age_before_s <= ttl_s)
        blocks = np.where(alive, blocks, 0)
    counted = np.bincount(profile.request, weights=blocks, minlength=profile.request_blocks.size)
    return counted.astype(np.int64)


def cached_tokens(
    profile: ReuseProfile,
    input_tokens: ArrayLike,
    capacity_blocks: float | None = None,
    ttl_s: float | None = None,
) -> FloatArray:
    """Return the prefix that each request finds in the cache.

    Parameters
    ----------
    profile : ReuseProfile
        From `reuse_profile`.
    input_tokens : array_like, shape (requests,)
        Prompt lengths [tokens].
    capacity_blocks, ttl_s
        As in `hit_blocks`.

    Returns
    -------
    ndarray, shape (requests,)
        Whole blocks [tokens], at most prompt - 1, since the last token is always computed.
    """
    found = hit_blocks(profile, capacity_blocks, ttl_s) * profile.block_tokens
    return np.minimum(found.astype(np.float64), np.asarray(input_tokens, np.float64) - 1)


def reused_block_share(profile: ReuseProfile) -> float:
    """Return the share of prompt blocks that an unlimited cache holds.

    Parameters
    ----------
    profile : ReuseProfile
        From `reuse_profile`.

    Returns
    -------
    float
        Between 0 and 1.
    """
    return float(profile.blocks.sum() / max(profile.request_blocks.sum(), 1))


def hit_rate_curve(
    profile: ReuseProfile,
    input_tokens: ArrayLike,
    capacities_blocks: ArrayLike | None = None,
    points: int = 24,
) -> tuple[HitRatePoint, ...]:
    """Return hit rates over cache sizes, the last an unlimited one.

    Parameters
    ----------
    profile : ReuseProfile
        From `reuse_profile`, with depths.
    input_tokens : array_like, shape (requests,)
        Prompt lengths [tokens].
    capacities_blocks : array_like, optional
        Sizes [blocks], ascending; by default `points` sizes evenly spaced in the logarithm, from
        where the first hits appear to all distinct blocks of the trace.
    points : int
        Sizes where none are given.

    Returns
    -------
    tuple of HitRatePoint
        Never falling in size.
    """
    length = np.asarray(input_tokens, dtype=np.float64)
    if capacities_blocks is None:
        most = max(profile.distinct_blocks, 1)
        least = int(np.quantile(profile.depth, 0.01)) + 1 if profile.depth.size else 1
        sizes = np.unique(np.round(np.geomspace(min(least, most), most, points)))
    else:
        sizes = np.asarray(capacities_blocks, dtype=np.float64)
    curve = []
    for size in (*sizes.tolist(), np.inf):
        blocks = hit_blocks(profile, None if np.isinf(size) else size)
        cached = np.minimum(blocks * float(profile.block_tokens), length - 1)
        rate = cached / length
        curve.append(
            HitRatePoint(
                capacity_blocks=size,
                capacity_tokens=size * profile.block_tokens,
                mean_hit_rate=float(rate.mean()),
                token_hit_rate=float(cached.sum() / length.sum()),
                block_hit_rate=float(blocks.sum() / max(profile.request_blocks.sum(), 1)),
                share_hit_95=float((rate >= 0.95).mean()),
            )
        )
    return tuple(curve)
