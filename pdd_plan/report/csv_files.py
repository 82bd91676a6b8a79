"""Tidy tables → CSV: RFC 4180, UTF-8, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from pdd_plan.report.tidy import SUMMARY_KEYS, Tidy, Value

DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n")
"""A spreadsheet takes a text that begins with one of these for a formula."""


def safe_cell(value: Value) -> str:
    """Return a value as the text of a CSV cell.

    Parameters
    ----------
    value : str, bool, int, float or None
        Numbers stay numbers, negative ones included, with all their digits; None is empty.

    Returns
    -------
    str
        Text that begins like a formula gets a leading apostrophe, which spreadsheets take for
        "this is text".
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{value}" if value.startswith(DANGEROUS) else value
    return repr(value)


def csv_text(table: Tidy) -> str:
    """Return one table as CSV with CRLF line ends and a heading."""
    return _text(table.keys, table.rows)


def csv_long(tables: Sequence[Tidy]) -> str:
    """Return several tables as one: table, row, key, value; to be pivoted, or searched."""
    rows: list[tuple[Value, ...]] = []
    for table in tables:
        for number, cells in enumerate(table.rows, start=1):
            if table.keys == SUMMARY_KEYS:
                rows.append((table.name, number, f"{cells[0]}.{cells[1]}", cells[2]))
            else:
                pairs = zip(table.keys, cells, strict=True)
                rows += [(table.name, number, key, value) for key, value in pairs]
    return _text(("table", "row", "key", "value"), rows)


def _text(keys: Sequence[str], rows: Iterable[Sequence[Value]]) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(keys)
    writer.writerows([safe_cell(value) for value in cells] for cells in rows)
    return stream.getvalue()
