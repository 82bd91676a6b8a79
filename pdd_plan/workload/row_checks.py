"""Checks of the rows of a table of requests, every bad one with its line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pdd_plan.errors import InputError, Issue
from pdd_plan.workload.files import RowProblems

FloatArray = NDArray[np.float64]

WHOLE_PROMPTS = "{} prompts were cached whole: their last token is computed all the same"
"""Note on prefixes as long as their prompts."""


def note_rows(
    bad: NDArray[np.bool_],
    lines: Sequence[int],
    problems: RowProblems,
    message: Callable[[int], str],
    path: str = "",
    help: str = "",  # noqa: A002
) -> None:
    """Note every row that is marked bad.

    Parameters
    ----------
    bad : ndarray of bool, shape (n,)
        Rows in question.
    lines : sequence of int
        Line of every row.
    problems : RowProblems
        Where they are noted.
    message : callable
        Row index to message.
    path, help : str
        As in `pdd_plan.errors.Issue`.
    """
    for index in np.flatnonzero(bad).tolist():
        problems.add(lines[index], message(index), path, help)


def check_at_least(
    values: FloatArray, least: float, lines: Sequence[int], name: str, problems: RowProblems
) -> None:
    """Note every row whose value is below a bound.

    Parameters
    ----------
    values : ndarray, shape (n,)
        One value a row.
    least : float
        Smallest value allowed.
    lines, name, problems
        As in `to_numbers`.
    """
    note_rows(
        values < least,
        lines,
        problems,
        lambda i: f"{name} = {values[i]:g} is below {least:g}",
        name,
        f"{name} must be at least {least:g}",
    )


def check_cached(
    cached: FloatArray,
    length: FloatArray,
    lines: Sequence[int],
    name: str,
    problems: RowProblems,
) -> None:
    """Note every row whose cached prefix is negative or longer than its prompt.

    Parameters
    ----------
    cached, length : ndarray, shape (n,)
        Cached prefix and prompt [tokens].
    lines, name, problems
        As in `to_numbers`.
    """
    check_at_least(cached, 0, lines, name, problems)
    note_rows(
        (cached > length) & (length >= 1),
        lines,
        problems,
        lambda i: f"{name} = {cached[i]:g} exceeds input_tokens = {length[i]:g}",
        name,
        "a cached prefix is part of the prompt: at most input_tokens",
    )


def check_requests(
    time: FloatArray,
    length: FloatArray,
    output: FloatArray,
    lines: Sequence[int],
    time_name: str,
    problems: RowProblems,
    least_time: float | None = 0.0,
) -> None:
    """Note every request that cannot be.

    Parameters
    ----------
    time, length, output : ndarray, shape (n,)
        Arrival, prompt and output, one value a row.
    lines : sequence of int
        Line of every row.
    time_name : str
        Name of the time column.
    problems : RowProblems
        Where bad rows are noted.
    least_time : float or None
        Smallest time allowed; None for any.

    Raises
    ------
    InputError
        If there are no rows and nothing is noted yet.
    """
    if not lines and not problems.issues:
        raise InputError(
            Issue(f"{problems.file} holds no requests", file=problems.file, help="add rows")
        )
    if least_time is not None:
        check_at_least(time, least_time, lines, time_name, problems)
    check_at_least(length, 1, lines, "input tokens", problems)
    check_at_least(output, 0, lines, "output tokens", problems)
