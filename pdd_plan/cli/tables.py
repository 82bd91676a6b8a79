"""Tables that are no plan: to the terminal, Markdown, CSV or JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from pdd_plan.report.blocks import View
    from pdd_plan.report.tidy import Tidy, Value


@dataclass(frozen=True)
class Listing:
    """A table for people and for programs.

    Attributes
    ----------
    title : str
        Heading.
    labels : tuple of str
        Headings of the columns for people.
    shown : tuple of tuple of str
        Cells for people, with units.
    tidy : Tidy
        The same for programs: keys and raw values.
    numbers : frozenset of int
        Columns that stand to the right.
    """

    title: str
    labels: tuple[str, ...]
    shown: tuple[tuple[str, ...], ...]
    tidy: Tidy
    numbers: frozenset[int] = frozenset()


def print_tables(
    title: str, subtitle: str, tables: Sequence[Listing], form: str, warnings: Sequence[str] = ()
) -> None:
    """Print tables on stdout.

    Parameters
    ----------
    title, subtitle : str
        What they are about.
    tables : sequence of Listing
        One section each.
    form : str
        ``console``, ``md``, ``csv`` or ``json``.
    warnings : sequence of str
        What to know before trusting the tables; in JSON a key of its own, in CSV a column.
    """
    if form == "json":
        data: dict[str, object] = {table.tidy.name: _records(table.tidy) for table in tables}
        data |= {"warnings": list(warnings)} if warnings else {}
        typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
    elif form == "csv":
        from pdd_plan.report.csv_files import csv_long, csv_text

        tidy = [table.tidy.warning(warnings) for table in tables]
        typer.echo(csv_text(tidy[0]) if len(tidy) == 1 else csv_long(tidy), nl=False)
    elif form == "md":
        from pdd_plan.report.markdown import render_markdown

        typer.echo(render_markdown(_view(title, subtitle, tables, warnings)), nl=False)
    else:
        from pdd_plan.report.console import print_console

        print_console(_view(title, subtitle, tables, warnings))


def _records(table: Tidy) -> list[dict[str, Value]]:
    return [dict(zip(table.keys, row, strict=True)) for row in table.rows]


def _view(title: str, subtitle: str, tables: Sequence[Listing], warnings: Sequence[str]) -> View:
    from pdd_plan.report import sentences
    from pdd_plan.report.blocks import Column, Section, Table, Text, View
    from pdd_plan.report.digits import clean

    sections = []
    for table in tables:
        columns = tuple(Column(label, i in table.numbers) for i, label in enumerate(table.labels))
        rows = tuple(tuple(Text(clean(cell)) for cell in row) for row in table.shown)
        sections.append(Section(table.tidy.name, table.title, (Table(columns, rows),)))
    if warnings:
        sections.append(Section("warnings", "Warnings", (sentences.warnings(warnings),)))
    return View(clean(title), clean(subtitle), "en", tuple(sections))
