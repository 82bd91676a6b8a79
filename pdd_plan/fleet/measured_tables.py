"""Measured tables of an engine from a CSV of measured points."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import numpy as np

from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.measurements import MeasuredPoint, Measurements, read_measurements
from pdd_plan.roofline import (
    DecodeTable,
    EngineShape,
    EngineTimes,
    MeasuredTimes,
    PrefillTable,
)
from pdd_plan.scenario import EngineSpec
from pdd_plan.scenario.files import content_hash

_SHOWN = 3  # combinations of batch and context named in an error


def with_tables(
    times: EngineTimes, spec: EngineSpec, shape: EngineShape, folder: Path
) -> EngineTimes:
    """Return an engine's times with the measured tables of its entry in the scenario, if any.

    Parameters
    ----------
    times : EngineTimes
        Computed times.
    spec : EngineSpec
        Entry with ``prefill_table`` and ``decode_table``.
    shape : EngineShape
        Its shape.
    folder : Path
        Where paths start.

    Raises
    ------
    InputError
        If a table or its file is wrong.
    """
    prefill = decode = None
    if spec.prefill_table is not None:
        given = spec.prefill_table
        prefill = PrefillTable(given.tokens, given.time_s)
        if given.file is not None:
            prefill = prefill_table(folder / given.file, spec.chip, shape)
    if spec.decode_table is not None:
        table = spec.decode_table
        decode = DecodeTable(table.batch, table.context_tokens, table.step_s)
        if table.file is not None:
            decode = decode_table(folder / table.file, spec.chip, shape)
    if prefill is None and decode is None:
        return times
    return MeasuredTimes(times, prefill, decode, extrapolate=True)


def prefill_table(file: Path, chip: str, shape: EngineShape) -> PrefillTable:
    """Return measured prefill times of one engine.

    Parameters
    ----------
    file : Path
        Table of measured points (`pdd_plan.fleet.measurements`).
    chip : str
        Rows of other chips are passed over.
    shape : EngineShape
        Rows of other shapes are passed over; a row without degrees counts.

    Returns
    -------
    PrefillTable
        The median of each prompt length.

    Raises
    ------
    InputError
        If the file is wrong, or no row is of this engine.
    """
    found: dict[float, list[float]] = {}
    for point in _points(file, "prefill", chip, shape):
        if not point.cached_tokens:
            found.setdefault(point.input_tokens, []).append(point.prompt_s(shape.data_parallel))
    if not found:
        raise _none(file, "prefill", chip, shape, " with an empty cache")
    lengths = tuple(sorted(found))
    return PrefillTable(lengths, tuple(float(np.median(found[length])) for length in lengths))


def decode_table(file: Path, chip: str, shape: EngineShape) -> DecodeTable:
    """Return measured decode steps of one engine, by batch and context.

    Parameters
    ----------
    file, chip, shape
        As in `prefill_table`.

    Returns
    -------
    DecodeTable
        The median of each pair.

    Raises
    ------
    InputError
        If the file is wrong, no row is of this engine, or a pair of batch and context is missing.
    """
    found: dict[tuple[float, float], list[float]] = {}
    for point in _points(file, "decode", chip, shape):
        found.setdefault((point.concurrency, point.input_tokens), []).append(point.step_s)
    if not found:
        raise _none(file, "decode", chip, shape)
    batches = tuple(sorted({batch for batch, _ in found}))
    contexts = tuple(sorted({context for _, context in found}))
    missing = [(b, c) for b in batches for c in contexts if (b, c) not in found]
    if missing:
        named = ", ".join(f"batch {b:g} at {c:g} tokens" for b, c in missing[:_SHOWN])
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        raise InputError(
            Issue(
                f"the decode steps of {chip} {shape.label} are no full table: no {named}{more}",
                file=str(file),
                help="measure every batch at every context, or fit with pdd-plan calibrate",
            )
        )
    rows = tuple(tuple(float(np.median(found[b, c])) for c in contexts) for b in batches)
    return DecodeTable(batches, contexts, rows)


def _points(file: Path, phase: str, chip: str, shape: EngineShape) -> Iterable[MeasuredPoint]:
    degrees = (shape.tensor_parallel, shape.data_parallel, shape.expert_parallel)
    for point in _read(file, content_hash(file)).points:
        own = (point.tensor_parallel, point.data_parallel, point.expert_parallel)
        same = all(a is None or a == b for a, b in zip(own, degrees, strict=True))
        if point.phase == phase and same and point.chip in ("", chip):
            yield point


@lru_cache(maxsize=16)
def _read(file: Path, _content: str) -> Measurements:
    """Read a table, once as long as its content stays the same."""
    return read_measurements(file)


def _none(file: Path, phase: str, chip: str, shape: EngineShape, also: str = "") -> InputError:
    return InputError(
        Issue(
            f"no row of phase {phase} is of {chip} {shape.label}{also}",
            file=str(file),
            help="check the columns phase, chip and tensor_parallel",
        )
    )
