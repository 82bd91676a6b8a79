"""Readers of request traces: published formats, plain tables and atoms tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pdd_plan.errors import InputError, Issue
from pdd_plan.workload.arrivals import (
    draw_session_starts,
    in_time_order,
    spread_stamps,
    stamp_step_s,
)
from pdd_plan.workload.blocks import blocks_from_lists, blocks_from_runs, reorder_blocks
from pdd_plan.workload.columns import (
    check_at_least,
    check_cached,
    check_names,
    csv_columns,
    json_rows,
    note_rows,
    to_numbers,
)
from pdd_plan.workload.files import RowProblems, read_text
from pdd_plan.workload.prefix_cache import cached_tokens, reuse_profile, reused_block_share
from pdd_plan.workload.requests import RawTrace

FloatArray = NDArray[np.float64]
TraceFormat = Literal["mooncake", "azure", "claude_code", "csv", "jsonl", "atoms"]

MOONCAKE_BLOCK_TOKENS = 512
CLAUDE_CODE_BLOCK_TOKENS = 64

PLAIN_COLUMNS = ("arrival_s", "input_tokens", "output_tokens")
PLAIN_OPTIONAL = ("cached_tokens", "session")
AZURE_COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")


def read_trace(
    path: str | Path,
    format: TraceFormat | None = None,  # noqa: A002
    *,
    seed: int = 0,
) -> RawTrace:
    """Read a trace of requests.

    Parameters
    ----------
    path : str or Path
        File, plain, gzip or Zstandard.
    format : str, optional
        ``mooncake`` (JSON lines with ``hash_ids`` of 512-token blocks), ``azure`` (CSV of
        AzurePublicDataset; no prefix information), ``claude_code`` (JSON lines of sessions with
        runs of 64-token block ids), ``csv`` or ``jsonl`` with `arrival_s`, `input_tokens`,
        `output_tokens` and, if known, `cached_tokens` and `session`. Found from the first line
        by default.
    seed : int
        For what a trace does not publish: where in its stamp a Mooncake request arrived, and
        when a Claude Code session started.

    Returns
    -------
    RawTrace
        In order of arrival. Cached tokens are those of an unlimited cache where the format has
        blocks. Claude Code sessions start at one request a second on average, see
        `draw_session_starts`.

    Raises
    ------
    InputError
        With file and line of the first bad rows, or the missing columns.
    """
    file = Path(path)
    text = read_text(file)
    kind = format or detect_format(text, str(path))
    if kind == "atoms":
        raise InputError(
            Issue(
                "an atoms table has no requests to read one by one",
                file=str(path),
                help="use read_atoms_csv, or workload.trace with format: atoms",
            )
        )
    readers = {
        "mooncake": _read_mooncake,
        "azure": _read_azure,
        "claude_code": _read_claude_code,
        "csv": _read_csv,
        "jsonl": _read_jsonl,
    }
    trace = readers[kind](text, str(path), seed)
    return replace(trace, format=kind, path=str(path))


def detect_format(text: str, file: str = "") -> TraceFormat:
    """Tell the format of a trace from its first line.

    Parameters
    ----------
    text : str
        Content of the file.
    file : str
        Name for the error.

    Returns
    -------
    str

    Raises
    ------
    InputError
        If it is none of the known formats.
    """
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    if first.startswith("{"):
        try:
            keys = set(json.loads(first))
        except ValueError:
            keys = set()
        if "hash_ids" in keys:
            return "mooncake"
        if "runs" in keys:
            return "claude_code"
        if keys & set(PLAIN_COLUMNS):
            return "jsonl"
    else:
        names = {name.strip() for name in first.split(",")}
        if "weight" in names and "cached_prefill_tokens" in names:
            return "atoms"
        if {"ContextTokens", "GeneratedTokens"} & names:
            return "azure"
        if names & set(PLAIN_COLUMNS):
            return "csv"
    raise InputError(
        Issue(
            "the format of the trace is not known from its first line",
            file=file,
            line=1,
            help="name it: mooncake, azure, claude_code, csv, jsonl or atoms",
        )
    )


def _read_mooncake(text: str, file: str, seed: int) -> RawTrace:
    problems = RowProblems(file)
    keys = ("timestamp", "input_length", "output_length", "hash_ids")
    rows, lines = _json_table(text, keys, problems)
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
        (have >= 0) & (have > needed),
        lines,
        problems,
        lambda i: f"{have[i]} blocks of {MOONCAKE_BLOCK_TOKENS} for {length[i]:g} tokens",
        "hash_ids",
        f"one id for every {MOONCAKE_BLOCK_TOKENS} tokens begun",
    )
    _check_requests(stamp, length, output, lines, "timestamp", problems)
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


def _read_claude_code(text: str, file: str, seed: int) -> RawTrace:
    problems = RowProblems(file)
    keys = ("s", "t", "in", "out", "runs")
    rows, lines = _json_table(text, keys, problems)
    session, within, length, output = (
        to_numbers([row[key] for row in rows], lines, key, problems) for key in keys[:4]
    )
    blocks = blocks_from_runs(
        [row["runs"] for row in rows], lines, CLAUDE_CODE_BLOCK_TOKENS, problems
    )
    _check_requests(within, length, output, lines, "t", problems)
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


def _read_azure(text: str, file: str, seed: int) -> RawTrace:
    del seed
    problems = RowProblems(file)
    cells, lines = csv_columns(text, AZURE_COLUMNS, (), problems)
    stamp = _to_seconds(cells["TIMESTAMP"], lines, problems)
    length = to_numbers(cells["ContextTokens"], lines, "ContextTokens", problems)
    output = to_numbers(cells["GeneratedTokens"], lines, "GeneratedTokens", problems)
    _check_requests(stamp, length, output, lines, "TIMESTAMP", problems, least_time=None)
    problems.check()
    seconds, order, notes = in_time_order(stamp, "TIMESTAMP")
    return RawTrace(seconds, length[order], output[order], None, notes=notes)


def _read_csv(text: str, file: str, seed: int) -> RawTrace:
    del seed
    problems = RowProblems(file)
    cells, lines = csv_columns(text, PLAIN_COLUMNS, PLAIN_OPTIONAL, problems)
    return _plain(cells, lines, problems)


def _read_jsonl(text: str, file: str, seed: int) -> RawTrace:
    del seed
    problems = RowProblems(file)
    rows, lines = _json_table(text, PLAIN_COLUMNS, problems)
    cells: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in PLAIN_COLUMNS}
    for name in PLAIN_OPTIONAL:
        have = [name in row for row in rows]
        if all(have):
            cells[name] = [row[name] for row in rows]
        elif any(have):
            note_rows(~np.array(have), lines, problems, _missing_key(name), name)
    return _plain(cells, lines, problems)


def _plain(cells: dict[str, list[Any]], lines: Sequence[int], problems: RowProblems) -> RawTrace:
    column = {name: to_numbers(cells[name], lines, name, problems) for name in cells}
    arrival, length, output = (column[name] for name in PLAIN_COLUMNS)
    _check_requests(arrival, length, output, lines, "arrival_s", problems)
    cached = column.get("cached_tokens")
    if cached is not None:
        check_cached(cached, length, lines, "cached_tokens", problems)
    problems.check()
    seconds, order, notes = in_time_order(arrival, "arrival_s")
    if cached is not None:
        full = int(np.count_nonzero(cached >= length))
        if full:
            notes += (
                f"{full} prompts were cached whole: their last token is computed all the same",
            )
        cached = np.minimum(cached, length - 1)[order]
    session = column.get("session")
    return RawTrace(
        seconds,
        length[order],
        output[order],
        cached,
        session=None if session is None else session[order].astype(np.int64),
        notes=notes,
    )


def _missing_key(name: str) -> Callable[[int], str]:
    return lambda _: f"key {name} is missing"


def _json_table(
    text: str, keys: Sequence[str], problems: RowProblems
) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the rows that have all keys, noting those that lack one."""
    numbered = json_rows(text, problems)
    if numbered and not any(key in row for key in keys for _, row in numbered[:100]):
        check_names(numbered[0][1], keys, problems.file, numbered[0][0], "key")
    rows, lines = [], []
    for number, row in numbered:
        lacking = [key for key in keys if key not in row]
        if lacking:
            try:
                check_names(row, lacking, problems.file, number, "key")
            except InputError as error:
                for issue in error.issues:
                    problems.add(number, issue.message, issue.path, issue.help)
        else:
            rows.append(row)
            lines.append(number)
    return rows, lines


def _check_requests(
    time: FloatArray,
    length: FloatArray,
    output: FloatArray,
    lines: Sequence[int],
    time_name: str,
    problems: RowProblems,
    least_time: float | None = 0.0,
) -> None:
    if not lines and not problems.issues:
        raise InputError(
            Issue(f"{problems.file} holds no requests", file=problems.file, help="add rows")
        )
    if least_time is not None:
        check_at_least(time, least_time, lines, time_name, problems)
    check_at_least(length, 1, lines, "input tokens", problems)
    check_at_least(output, 0, lines, "output tokens", problems)


def _to_seconds(cells: Sequence[str], lines: Sequence[int], problems: RowProblems) -> FloatArray:
    """Return UTC time stamps as seconds since 1970, noting those that are none."""
    plain = [cell.strip().removesuffix("Z").removesuffix("+00:00") for cell in cells]
    try:
        stamps = np.array(plain, dtype="datetime64[ns]")
    except ValueError:
        stamps = np.array([_stamp(cell) for cell in plain], dtype="datetime64[ns]")
    missing = np.isnat(stamps)
    note_rows(
        missing,
        lines,
        problems,
        lambda i: f"TIMESTAMP = {cells[i]!r} is not a time",
        "TIMESTAMP",
        "write it as 2023-11-16 18:17:03.979",
    )
    origin = stamps[~missing].min() if not missing.all() else np.datetime64(0, "ns")
    return np.where(missing, np.nan, (stamps - origin) / np.timedelta64(1, "s"))


def _stamp(cell: str) -> np.datetime64:
    try:
        return np.datetime64(cell, "ns")
    except ValueError:
        return np.datetime64("NaT", "ns")
