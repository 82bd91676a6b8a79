"""Columns of CSV tables and JSON lines, checked, every bad cell with its line."""

from __future__ import annotations

import csv
import difflib
import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdd_plan.errors import InputError, Issue
from pdd_plan.workload.files import RowProblems

FloatArray = NDArray[np.float64]


def json_rows(text: str, problems: RowProblems) -> list[tuple[int, dict[str, Any]]]:
    """Return (line, object) of every line that holds a JSON object, noting the others.

    Parameters
    ----------
    text : str
        JSON lines; empty lines are passed over.
    problems : RowProblems
        Where bad lines are noted.

    Returns
    -------
    list of (int, dict)
    """
    rows: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line or line.isspace():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            problems.add(number, f"not a JSON object: {error}", help="one JSON object a line")
            continue
        if isinstance(row, dict):
            rows.append((number, row))
        else:
            problems.add(number, f"not a JSON object but {type(row).__name__}")
    return rows


def csv_columns(
    text: str, required: Sequence[str], optional: Sequence[str], problems: RowProblems
) -> tuple[dict[str, list[str]], list[int]]:
    """Return the named columns of a CSV table as text, and the line of every row.

    Parameters
    ----------
    text : str
        The table; lines that start with ``#`` and empty ones are passed over.
    required, optional : sequence of str
        Names in the header line.
    problems : RowProblems
        Where rows with too few or too many cells are noted.

    Returns
    -------
    columns : dict of list of str
        Required columns, and optional ones that the table has.
    lines : list of int
        Line number of every row.

    Raises
    ------
    InputError
        If a required column is missing or a name appears twice.
    """
    numbered = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not numbered:
        raise InputError(Issue(f"{problems.file} has no header line", file=problems.file))
    header_line = numbered[0][0]
    reader = csv.reader(line for _, line in numbered)
    header = [name.strip() for name in next(reader)]
    check_names(header, required, problems.file, header_line, "column")
    doubled = sorted({name for name in header if header.count(name) > 1})
    if doubled:
        raise InputError(
            Issue(f"column {doubled[0]} appears twice", file=problems.file, line=header_line)
        )
    rows: list[list[str]] = []
    lines: list[int] = []
    for row in reader:
        line = numbered[min(reader.line_num, len(numbered)) - 1][0]
        if len(row) != len(header):
            problems.add(line, f"{len(row)} cells, the header names {len(header)}")
            continue
        rows.append(row)
        lines.append(line)
    wanted = [name for name in (*required, *optional) if name in header]
    places = [header.index(name) for name in wanted]
    cells = list(zip(*rows, strict=True)) if rows else [()] * len(header)
    return {n: list(cells[k]) for n, k in zip(wanted, places, strict=True)}, lines


def check_names(
    found: Iterable[str], required: Sequence[str], file: str, line: int, kind: str
) -> None:
    """Demand names, and name the nearest that is there for each that is not.

    Parameters
    ----------
    found, required : iterable of str
        Names there and names wanted.
    file, line
        Place of the error.
    kind : str
        ``"column"`` or ``"key"``.

    Raises
    ------
    InputError
        With one issue for each missing name.
    """
    names = [str(name) for name in found]
    lower = {name.lower(): name for name in names}
    issues = []
    for name in required:
        if name in names:
            continue
        near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
        if near:
            mend = f"rename {lower[near[0]]} to {name}"
        else:
            mend = f"add {name}; the {kind}s found are {', '.join(names) or 'none'}"
        issues.append(Issue(f"{kind} {name} is missing", name, file, line, mend))
    if issues:
        raise InputError(issues)


def to_numbers(
    cells: Sequence[Any], lines: Sequence[int], name: str, problems: RowProblems
) -> FloatArray:
    """Return cells as finite numbers, noting those that are not.

    Parameters
    ----------
    cells : sequence
        Text or JSON values.
    lines : sequence of int
        Line of every cell.
    name : str
        Column, for the message.
    problems : RowProblems
        Where bad cells are noted.

    Returns
    -------
    ndarray, shape (n,)
        Bad cells are NaN.
    """
    try:
        if any(isinstance(cell, bool) for cell in cells):
            raise ValueError
        values = np.array(cells, dtype=np.float64)
        if values.ndim != 1:
            raise ValueError
    except (ValueError, TypeError, OverflowError):
        values = np.array([_number(cell) for cell in cells])
    for index in np.flatnonzero(~np.isfinite(values)).tolist():
        problems.add(lines[index], f"{name} = {cells[index]!r} is not a finite number", name)
    return values


def json_table(
    text: str, keys: Sequence[str], problems: RowProblems
) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the objects that have all keys and their lines, noting those that lack one.

    Parameters
    ----------
    text : str
        JSON lines.
    keys : sequence of str
        Keys wanted.
    problems : RowProblems
        Where bad lines are noted.

    Returns
    -------
    rows : list of dict
    lines : list of int

    Raises
    ------
    InputError
        If none of the first hundred rows has any of the keys.
    """
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


def _number(cell: Any) -> float:
    if isinstance(cell, bool):
        return float("nan")
    try:
        return float(cell)
    except (ValueError, TypeError, OverflowError):
        return float("nan")
