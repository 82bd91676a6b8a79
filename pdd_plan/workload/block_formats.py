"""Readers of the trace formats that tell the blocks of every prompt."""

from __future__ import annotations

import numpy as np

from pdd_plan.workload.arrivals import (
    draw_session_starts,
    in_time_order,
    spread_stamps,
    stamp_step_s,
)
from pdd_plan.workload.blocks import blocks_from_lists, blocks_from_runs, reorder_blocks
from pdd_plan.workload.columns import json_table, to_numbers
from pdd_plan.workload.files import RowProblems
from pdd_plan.workload.prefix_cache import cached_tokens, reuse_profile, reused_block_share
from pdd_plan.workload.requests import RawTrace
from pdd_plan.workload.row_checks import check_requests, note_rows

MOONCAKE_BLOCK_TOKENS = 512
CLAUDE_CODE_BLOCK_TOKENS = 64


def read_mooncake(text: str, file: str, seed: int) -> RawTrace:
    """Read JSON lines with one hash id for every 512-token block.

    Parameters
    ----------
    text : str
        Content of the file.
    file : str
        Its name, for errors.
    seed : int
        Of the place of each request within its time stamp.

    Returns
    -------
    RawTrace

    Raises
    ------
    InputError
        With the line of every bad row.
    """
    problems = RowProblems(file)
    keys = ("timestamp", "input_length", "output_length", "hash_ids")
    rows, lines = json_table(text, keys, problems)
    stamp, length, output = (
        to_numbers([row[key] for row in rows], lines, key, problems) for key in keys[:3]
    )
    blocks = blocks_from_lists(
        [row["hash_ids"] for row in rows], lines, MOONCAKE_BLOCK_TOKENS, problems
    )
    needed = np.ceil(length / MOONCAKE_BLOCK_TOKENS)
    have = np.array(
        [len(row["hash_ids"]) if isinstance(row["hash_ids"], list) else -1 for row in rows]
    )
    note_rows(
        (have > needed) & (length >= 1),
        lines,
        problems,
        lambda i: f"{have[i]} blocks of {MOONCAKE_BLOCK_TOKENS} for {length[i]:g} tokens",
        "hash_ids",
        f"one id for every {MOONCAKE_BLOCK_TOKENS} tokens begun",
    )
    check_requests(stamp, length, output, lines, "timestamp", problems)
    problems.check()
    seconds, order, notes = in_time_order(stamp / 1000, "timestamp")
    blocks = reorder_blocks(blocks, order)
    step = stamp_step_s(seconds)
    if step:
        notes += (
            f"time stamps come in steps of {step:g} s: requests are spread evenly at random "
            f"over their step (seed {seed})",
        )
    profile = reuse_profile(blocks, depths=False)
    return RawTrace(
        arrival_s=spread_stamps(seconds, step, seed) - seconds[0] if step else seconds,
        input_tokens=length[order],
        output_tokens=output[order],
        cached_tokens=cached_tokens(profile, length[order]),
        blocks=blocks,
        reused_block_share=reused_block_share(profile),
        stamp_step_s=step,
        notes=notes,
    )


def read_claude_code(text: str, file: str, seed: int) -> RawTrace:
    """Read JSON lines of sessions with runs of 64-token block ids.

    Parameters
    ----------
    text : str
        Content of the file.
    file : str
        Its name, for errors.
    seed : int
        Of the session starts.

    Returns
    -------
    RawTrace

    Raises
    ------
    InputError
        With the line of every bad row.
    """
    problems = RowProblems(file)
    keys = ("s", "t", "in", "out", "runs")
    rows, lines = json_table(text, keys, problems)
    session, within, length, output = (
        to_numbers([row[key] for row in rows], lines, key, problems) for key in keys[:4]
    )
    blocks = blocks_from_runs(
        [row["runs"] for row in rows], lines, CLAUDE_CODE_BLOCK_TOKENS, problems
    )
    check_requests(within, length, output, lines, "t", problems)
    problems.check()
    name = session.astype(np.int64)
    order = np.lexsort((np.arange(within.size), within, name))
    name, within, length, output = name[order], within[order], length[order], output[order]
    blocks = reorder_blocks(blocks, order)
    profile = reuse_profile(blocks, space=name, depths=False)
    cached = cached_tokens(profile, length)
    arrival = draw_session_starts(within, name, 1.0, seed)
    by_time = np.argsort(arrival, kind="stable")
    return RawTrace(
        arrival_s=arrival[by_time],
        input_tokens=length[by_time],
        output_tokens=output[by_time],
        cached_tokens=cached[by_time],
        session=name[by_time],
        time_in_session_s=within[by_time],
        window_s=float(within.size),
        blocks=reorder_blocks(blocks, by_time),
        reused_block_share=reused_block_share(profile),
        notes=(f"session starts are not published: drawn at random (seed {seed})",),
    )
