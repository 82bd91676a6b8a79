"""Measured points of engines in a CSV table: several kinds of points, every unit stated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.measurement_columns import (
    COLUMNS,
    DEGREES,
    canonical_header,
    parsed_columns,
)
from pdd_plan.units import nearest
from pdd_plan.workload.columns import csv_columns
from pdd_plan.workload.files import RowProblems, read_text

PHASES = ("serving", "prefill", "decode")
TEMPLATE = """\
# Measured points of one model, one row each. Cells that do not apply stay empty, columns that
# never apply may be left out.
#   phase serving  prefill and decode on one engine at a fixed number of requests in flight:
#                  needs input_tokens, output_tokens, concurrency and one of ttft, tpot,
#                  output_tokens_per_s, requests_per_s (means over the run; rates of one engine)
#   phase prefill  one prompt at a time on an engine that does nothing else:
#                  needs input_tokens (cached_tokens of it in the cache) and ttft
#   phase decode   steps at a fixed batch: needs input_tokens (the context), concurrency (the
#                  batch) and tpot, the time of a step
# Times carry their unit in the header (ttft_ms, tpot_s) or in every cell (95 ms).
# chip, framework and the degrees of parallelism default to those of the scenario.
phase,chip,framework,tensor_parallel,data_parallel,expert_parallel,input_tokens,cached_tokens,\
output_tokens,concurrency,requests,ttft_ms,tpot_ms,output_tokens_per_s
prefill,h200,vllm,8,,,8000,,,,,210,,
decode,h200,vllm,8,,,4000,,,1,,,9.5,
decode,h200,vllm,8,,,4000,,,64,,,19,
serving,h200,vllm,8,,,4000,,500,16,160,340,14.2,
"""
_DISAGREE = 0.1  # a time and a rate of one row that differ by more cannot both be right


@dataclass(frozen=True)
class MeasuredPoint:
    """One row of a table of measurements.

    Attributes
    ----------
    line : int
        Line in the file.
    phase : str
        One of `PHASES`.
    chip, model, framework : str
        As written; empty where not given.
    input_tokens, cached_tokens, output_tokens : float
        Lengths of a request; in the decode phase `input_tokens` is the context [tokens].
    concurrency : float
        Requests in flight; in the decode phase the batch.
    requests : float
        Requests of the whole run; NaN where not given.
    tensor_parallel, data_parallel, expert_parallel : int or None
        Degrees; None where not given.
    ttft_s, tpot_s : float
        Measured times, NaN where not given [s].
    input_tokens_per_s, output_tokens_per_s, requests_per_s : float
        Measured rates of one engine, NaN where not given.
    """

    line: int
    phase: str
    chip: str = ""
    model: str = ""
    framework: str = ""
    input_tokens: float = float("nan")
    cached_tokens: float = 0.0
    output_tokens: float = float("nan")
    concurrency: float = float("nan")
    requests: float = float("nan")
    tensor_parallel: int | None = None
    data_parallel: int | None = None
    expert_parallel: int | None = None
    ttft_s: float = float("nan")
    tpot_s: float = float("nan")
    input_tokens_per_s: float = float("nan")
    output_tokens_per_s: float = float("nan")
    requests_per_s: float = float("nan")

    def prompt_s(self, data_parallel: int) -> float:
        """Return the time of one prompt [s]: as measured, or by the rate of the engine.

        Parameters
        ----------
        data_parallel : int
            Prompts that the engine works on side by side.
        """
        uncached = self.input_tokens - self.cached_tokens
        return _given(self.ttft_s, uncached * data_parallel / self.input_tokens_per_s)

    @property
    def step_s(self) -> float:
        """Time of an output token [s]: as measured, or by a rate of the engine."""
        made = self.requests_per_s * self.output_tokens
        return _given(self.tpot_s, self.concurrency / _given(self.output_tokens_per_s, made))


def _given(first: float, second: float) -> float:
    return second if np.isnan(first) else first


@dataclass(frozen=True)
class Measurements:
    """A table of measurements as read.

    Attributes
    ----------
    file : str
        As named by the user.
    points : tuple of MeasuredPoint
        In file order.
    unused : tuple of str
        Columns that mean nothing here.
    """

    file: str
    points: tuple[MeasuredPoint, ...]
    unused: tuple[str, ...] = ()


def read_measurements(path: str | Path) -> Measurements:
    """Read a table of measured points.

    Parameters
    ----------
    path : str or Path
        CSV with columns of `COLUMNS` or `ALIASES`; times with their unit in the header
        (``ttft_ms``, ``ttft [ms]``) or in every cell (``95 ms``). Lines that start with ``#`` are
        remarks.

    Returns
    -------
    Measurements

    Raises
    ------
    InputError
        With file and line of every bad cell, as far as eight; for a header that lacks columns or
        units; for rows that are there twice.
    """
    file = str(path)
    text = read_text(Path(path))
    problems = RowProblems(file)
    renamed, units, unused = canonical_header(text, file)
    cells, lines = csv_columns(renamed, (), COLUMNS, problems)
    if not lines and not problems.issues:
        issue = Issue(f"{file} holds no points", file=file, help="add a row for each measurement")
        raise InputError(issue)
    columns = parsed_columns(cells, lines, units, problems)
    count = len(lines)
    points = tuple(_point(columns, index, lines[index]) for index in range(count))
    seen: dict[tuple[object, ...], int] = {}
    for point in points:
        _check_point(point, problems)
        key = _content(point)
        first = seen.setdefault(key, point.line)
        if first != point.line:
            problems.add(
                point.line,
                f"the row repeats line {first} to the last digit, so it would count twice",
                help="remove one; a second run of the same point has its own times",
            )
    problems.check()
    return Measurements(file, points, unused)


def _content(point: MeasuredPoint) -> tuple[object, ...]:
    """Return the fields of a point without its line; NaN, which equals nothing, as None."""
    values = (getattr(point, item.name) for item in fields(point) if item.name != "line")
    return tuple(None if value != value else value for value in values)


def _point(columns: Mapping[str, list[object]], index: int, line: int) -> MeasuredPoint:
    given = {name: values[index] for name, values in columns.items()}
    for name in DEGREES:
        value = given.get(name)
        if isinstance(value, float):
            given[name] = int(value) if np.isfinite(value) else None
    if given.get("cached_tokens") != given.get("cached_tokens"):
        given["cached_tokens"] = 0.0
    phase = str(given.pop("phase", "") or "serving").lower()
    return MeasuredPoint(line=line, phase=phase, **given)  # type: ignore[arg-type]


_NEEDED = {
    "serving": ("input_tokens", "output_tokens", "concurrency"),
    "prefill": ("input_tokens",),
    "decode": ("input_tokens", "concurrency"),
}
_MEASURED = {
    "serving": ("ttft_s", "tpot_s", "output_tokens_per_s", "requests_per_s"),
    "prefill": ("ttft_s", "input_tokens_per_s"),
    "decode": ("tpot_s", "output_tokens_per_s"),
}


def _check_point(point: MeasuredPoint, problems: RowProblems) -> None:
    """Note what a row lacks, and what in it cannot be."""
    if point.phase not in PHASES:
        near = nearest(point.phase, PHASES)
        mend = f"did you mean {near}?" if near else f"phases are {', '.join(PHASES)}"
        problems.add(point.line, f"phase {point.phase} is not known", "phase", mend)
        return
    for name in _NEEDED[point.phase]:
        if np.isnan(getattr(point, name)):
            problems.add(
                point.line,
                f"a {point.phase} point needs {name}",
                name,
                "see pdd-plan calibrate --template",
            )
    measured = _MEASURED[point.phase]
    if all(np.isnan(getattr(point, name)) for name in measured):
        wanted = " or ".join(name.removesuffix("_s") if name[:1] == "t" else name
                             for name in measured)  # fmt: skip
        problems.add(
            point.line, f"a {point.phase} point needs {wanted}", help="measure one of them"
        )
    if point.cached_tokens >= point.input_tokens:
        problems.add(
            point.line,
            f"cached_tokens = {point.cached_tokens:g} is not below input_tokens = "
            f"{point.input_tokens:g}: the last token of a prompt is always computed",
            "cached_tokens",
        )
    if point.phase == "prefill" and point.concurrency > 1.0:
        problems.add(
            point.line,
            f"concurrency = {point.concurrency:g}: prefill is timed with one prompt at a time",
            "concurrency",
            "use phase serving, or leave concurrency empty",
        )
    _check_rate(point, problems)


def _check_rate(point: MeasuredPoint, problems: RowProblems) -> None:
    """Note a step and a rate of one decode row that cannot both be right."""
    if point.phase != "decode" or not point.tpot_s > 0.0:
        return
    implied = point.concurrency / point.tpot_s
    if abs(point.output_tokens_per_s - implied) > _DISAGREE * implied:
        problems.add(
            point.line,
            f"batch {point.concurrency:g} in {point.tpot_s:g} s is {implied:,.0f} tokens/s, not "
            f"output_tokens_per_s = {point.output_tokens_per_s:,.0f}",
            "output_tokens_per_s",
            "give the rate of the whole engine, or leave it out",
        )
