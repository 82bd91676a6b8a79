"""Columns of a table of measurements: names, units and cells."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence

import numpy as np

from pdd_plan.errors import InputError, Issue
from pdd_plan.units import QuantityError, nearest, parse_quantity
from pdd_plan.workload.columns import to_numbers
from pdd_plan.workload.files import RowProblems

TIMES = ("ttft", "tpot")
RATES = ("input_tokens_per_s", "output_tokens_per_s", "requests_per_s")
COUNTS = ("input_tokens", "cached_tokens", "output_tokens", "concurrency", "requests")
DEGREES = ("tensor_parallel", "data_parallel", "expert_parallel")
TEXTS = ("phase", "chip", "model", "framework")
COLUMNS = (*TEXTS, *COUNTS, *DEGREES, *TIMES, *RATES)
ALIASES = {
    "batch": "concurrency",
    "batch_size": "concurrency",
    "isl": "input_tokens",
    "context_tokens": "input_tokens",
    "osl": "output_tokens",
    "tp": "tensor_parallel",
    "dp": "data_parallel",
    "ep": "expert_parallel",
    "prefill_time": "ttft",
    "step_time": "tpot",
}
_TIME_NAME = re.compile(r"(?P<name>.*?)(?:_| ?\[| ?\()(?P<unit>s|ms|us|µs)[\])]?")


def canonical_header(text: str, file: str) -> tuple[str, dict[str, str], tuple[str, ...]]:
    """Return a table with the names of `COLUMNS` in its header.

    Parameters
    ----------
    text : str
        The table.
    file : str
        Its name, for messages.

    Returns
    -------
    text : str
        The table with another header.
    units : dict
        Unit of each time that has one in its name.
    unused : tuple of str
        Columns that are not understood, and not near to one that would be.

    Raises
    ------
    InputError
        If there is no header, no column with a measurement, or a name with a slip.
    """
    rows = text.splitlines()
    at = next((i for i, row in enumerate(rows) if row.strip() and row.lstrip()[0] != "#"), None)
    if at is None:
        raise InputError(
            Issue(
                f"{file} has no header line",
                file=file,
                help="pdd-plan calibrate --template prints one",
            )
        )
    header = [name.strip() for name in next(csv.reader([rows[at]]))]
    _check_separator(header, file, at + 1)
    units: dict[str, str] = {}
    names, unused, issues = [], [], []
    for written in header:
        name, unit = _canonical(written)
        if unit:
            units[name] = unit
        if name not in COLUMNS and written:
            near = nearest(name, (*COLUMNS, *ALIASES))
            if near is None:
                unused.append(written)
            else:
                message = f"column {written} is not known"
                issues.append(Issue(message, written, file, at + 1, f"did you mean {near}?"))
        names.append(name)
    if not issues and not {*TIMES, *RATES} & set(names):
        message = f"{file} has no column with a measured time or rate"
        mend = f"add one of ttft_ms, tpot_ms, {', '.join(RATES)}; the columns found are {header}"
        issues.append(Issue(message, "", file, at + 1, mend.replace("'", "").replace("[", "")[:-1]))
    if issues:
        raise InputError(issues)
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return "\n".join([*rows[:at], line.getvalue(), *rows[at + 1 :]]), units, tuple(unused)


def _check_separator(header: Sequence[str], file: str, line: int) -> None:
    for sign, word in ((";", "semicolons"), ("\t", "tabs")):
        if len(header) == 1 and sign in header[0]:
            raise InputError(
                Issue(
                    f"{file} is separated by {word}, not by commas",
                    file=file,
                    line=line,
                    help="save it with commas between the cells and points in the numbers",
                )
            )


def _canonical(written: str) -> tuple[str, str]:
    """Return the canonical name of a column and the unit of time in it."""
    name = written.lower()
    match = _TIME_NAME.fullmatch(name)
    if match is not None and ALIASES.get(match["name"], match["name"]) in TIMES:
        return ALIASES.get(match["name"], match["name"]), match["unit"].replace("µ", "u")
    return ALIASES.get(name, name), ""


def parsed_columns(
    cells: Mapping[str, list[str]],
    lines: Sequence[int],
    units: Mapping[str, str],
    problems: RowProblems,
) -> dict[str, list[object]]:
    """Return the cells of each column as text, numbers or seconds.

    Parameters
    ----------
    cells : mapping
        Text by column, as `csv_columns` returns it.
    lines : sequence of int
        Line of every row.
    units : mapping
        Unit of each time that has one in its name.
    problems : RowProblems
        Where bad cells are noted.

    Returns
    -------
    dict
        By attribute name of a measured point; NaN for empty cells of numbers.
    """
    found: dict[str, list[object]] = {}
    for name, texts in cells.items():
        stripped = [text.strip() for text in texts]
        if name in TEXTS:
            found[name] = list(stripped)
        elif name in TIMES:
            found[f"{name}_s"] = _times(stripped, lines, name, units.get(name, ""), problems)
        else:
            found[name] = _numbers(stripped, lines, name, problems)
    return found


def _numbers(
    texts: Sequence[str], lines: Sequence[int], name: str, problems: RowProblems
) -> list[object]:
    """Return numbers, NaN for empty cells, noting what is no number or too small."""
    given = [index for index, text in enumerate(texts) if text]
    values = np.full(len(texts), np.nan)
    values[given] = to_numbers([texts[i] for i in given], [lines[i] for i in given], name, problems)
    least = 0.0 if name == "cached_tokens" else 1.0
    for index in given:
        value = float(values[index])
        if name in RATES and value <= 0.0:
            problems.add(lines[index], f"{name} = {value:g} must be above 0", name)
        elif name not in RATES and value < least:
            problems.add(lines[index], f"{name} = {value:g} must be at least {least:g}", name)
        elif name in DEGREES and value != int(value):
            problems.add(lines[index], f"{name} = {value:g} is no whole number", name)
    return list(values.tolist())


def _times(
    texts: Sequence[str], lines: Sequence[int], name: str, unit: str, problems: RowProblems
) -> list[object]:
    """Return times [s], NaN for empty cells."""
    values: list[object] = []
    plain = [text for text in texts if text and re.fullmatch(r"[-+.\deE]+", text)]
    if not unit and plain and len(plain) == len([text for text in texts if text]):
        problems.add(
            lines[0],
            f"column {name} has no unit",
            name,
            f"name it {name}_ms or {name}_s, or write the unit in every cell: {plain[0]} ms",
        )
        return [float("nan")] * len(texts)
    for text, line in zip(texts, lines, strict=True):
        value = float("nan")
        if text:
            bare = bool(unit) and re.search(r"[^-+.\deE\s]", text) is None
            try:
                value = parse_quantity(f"{text} {unit}" if bare else text, "time", unit or "s")
                if value <= 0.0:
                    problems.add(line, f"{name} = {text} must be above 0", name)
            except QuantityError as error:
                issue = error.issues[0]
                problems.add(line, f"{name}: {issue.message}", name, issue.help)
        values.append(value)
    return values
