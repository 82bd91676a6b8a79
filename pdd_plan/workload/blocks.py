"""Prompt blocks of a trace, read into runs of consecutive ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdd_plan.workload.files import RowProblems
from pdd_plan.workload.requests import BlockRuns
from pdd_plan.workload.row_checks import note_rows


def blocks_from_lists(
    lists: Sequence[Any], lines: Sequence[int], block_tokens: int, problems: RowProblems
) -> BlockRuns:
    """Return lists of block ids as runs of consecutive ids.

    Parameters
    ----------
    lists : sequence
        One list of ids a request; anything else is noted.
    lines : sequence of int
        Line of every request.
    block_tokens : int
        Tokens in a block.
    problems : RowProblems
        Where bad lists are noted.

    Returns
    -------
    BlockRuns
    """
    sizes = np.array(_list_sizes(lists, lines, "hash_ids", problems), dtype=np.int64)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    ids = _flat_ids(lists, sizes, lines, "hash_ids", problems)
    fresh = np.ones(ids.size, dtype=bool)
    fresh[1:] = ids[1:] != ids[:-1] + 1
    fresh[offsets[:-1][sizes > 0]] = True
    starts = np.flatnonzero(fresh)
    return BlockRuns(
        np.searchsorted(starts, offsets).astype(np.int64),
        ids[starts],
        np.diff(np.append(starts, ids.size)),
        block_tokens,
    )


def blocks_from_runs(
    lists: Sequence[Any], lines: Sequence[int], block_tokens: int, problems: RowProblems
) -> BlockRuns:
    """Return lists of [first, count, first, count, ...] as runs.

    Parameters
    ----------
    lists : sequence
        One list of pairs a request; anything else is noted.
    lines, block_tokens, problems
        As in `blocks_from_lists`.

    Returns
    -------
    BlockRuns
    """
    sizes = np.array(_list_sizes(lists, lines, "runs", problems), dtype=np.int64)
    note_rows(
        sizes % 2 == 1,
        lines,
        problems,
        lambda i: f"runs has {sizes[i]} numbers, not pairs of first id and count",
        "runs",
    )
    flat = _flat_ids(lists, sizes, lines, "runs", problems)
    if np.any(sizes % 2):
        flat = flat[: flat.size // 2 * 2]
    count = flat[1::2]
    owner = np.repeat(np.arange(sizes.size), sizes // 2)
    if not np.any(sizes % 2):
        note_rows(
            np.isin(np.arange(sizes.size), owner[count < 1]),
            lines,
            problems,
            lambda _: "runs holds a count below 1",
            "runs",
        )
    offsets = np.concatenate(([0], np.cumsum(sizes // 2))).astype(np.int64)
    return BlockRuns(offsets, flat[::2], count, block_tokens)


def _list_sizes(
    lists: Sequence[Any], lines: Sequence[int], name: str, problems: RowProblems
) -> list[int]:
    sizes = []
    for line, value in zip(lines, lists, strict=True):
        if isinstance(value, list):
            sizes.append(len(value))
        else:
            sizes.append(0)
            problems.add(line, f"{name} = {value!r} is not a list of ids", name)
    return sizes


def _flat_ids(
    lists: Sequence[Any],
    sizes: NDArray[np.int64],
    lines: Sequence[int],
    name: str,
    problems: RowProblems,
) -> NDArray[np.int64]:
    """Return all ids end to end; a row with one that is no whole number is noted and zeroed."""
    usable = [value if isinstance(value, list) else [] for value in lists]
    flat = [item for value in usable for item in value]
    try:
        ids = np.array(flat)
        if ids.size == 0 or (ids.dtype.kind == "i" and ids.ndim == 1):
            return ids.astype(np.int64)
    except (ValueError, OverflowError):
        pass
    good = [type(item) is int and abs(item) < 2**62 for item in flat]
    owner = np.repeat(np.arange(sizes.size), sizes)
    note_rows(
        np.isin(np.arange(sizes.size), owner[~np.array(good)]),
        lines,
        problems,
        lambda _: f"{name} holds something other than whole numbers",
        name,
    )
    return np.array([i if g else 0 for i, g in zip(flat, good, strict=True)], dtype=np.int64)


def reorder_blocks(blocks: BlockRuns, order: NDArray[np.intp]) -> BlockRuns:
    """Return the blocks of requests in another order.

    Parameters
    ----------
    blocks : BlockRuns
        Blocks of every request.
    order : ndarray of int, shape (requests,)
        Old index of each new request.

    Returns
    -------
    BlockRuns
    """
    sizes = np.diff(blocks.offsets)[order]
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    index = np.repeat(blocks.offsets[:-1][order] - offsets[:-1], sizes) + np.arange(offsets[-1])
    return BlockRuns(offsets, blocks.first[index], blocks.count[index], blocks.block_tokens)
