"""View → terminal: aligned text that fits the width and leaves nothing out."""

from __future__ import annotations

import io
import os
import shutil
import sys
from typing import TYPE_CHECKING, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text as RichText

from pdd_plan.report.blocks import (
    Facts,
    Mark,
    Section,
    Sentence,
    Sentences,
    Table,
    Text,
    View,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

STYLES: dict[Mark, str] = {
    "": "",
    "good": "green",
    "bad": "bold red",
    "best": "bold green",
    "changed": "yellow",
    "strong": "bold",
    "faint": "dim",
}
INDENT = 2
GUTTER = 2
NARROWEST = 40
PIPE_WIDTH = 100
TEXT_COLUMN = 14
"""A column of text may be wrapped to this width before the table is shown row by row."""


def render_console(view: View, width: int | None = None, color: bool = False) -> str:
    """Return a report as text for a terminal.

    Parameters
    ----------
    view : View
        Report of a plan or of a comparison.
    width : int or None
        Columns of the terminal; no line is longer. Below 40 counts as 40; None asks the terminal.
    color : bool
        Whether to write ANSI styles.

    Returns
    -------
    str
        Lines without trailing blanks, each ending in a newline.
    """
    columns = max(NARROWEST, width if width is not None else terminal_width())
    lines = list(_view_lines(view, columns))
    if not color:
        return "".join(f"{line.plain.rstrip()}\n" for line in lines)
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=columns,
        force_terminal=True,
        color_system="standard",
        no_color=False,
        highlight=False,
        legacy_windows=False,
    )
    for line in lines:
        line.rstrip()
        console.print(line, soft_wrap=True)
    return stream.getvalue()


def print_console(view: View, stream: TextIO | None = None, width: int | None = None) -> None:
    """Write a report to a stream, in color only on a terminal and where NO_COLOR is not set."""
    target = sys.stdout if stream is None else stream
    target.write(render_console(view, width, color=wants_color(target)))


def wants_color(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that shows styles and the user has not said no."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def terminal_width() -> int:
    """Return the width of the terminal, or that of COLUMNS, or 100 where there is neither."""
    return shutil.get_terminal_size((PIPE_WIDTH, 24)).columns


def _view_lines(view: View, width: int) -> Iterator[RichText]:
    head = RichText(view.title, style="bold")
    head.append(f": {view.subtitle}", style="" if view.good else STYLES["bad"])
    yield from wrap(head, width, 0, INDENT)
    for section in view.sections:
        if section.detail:
            continue
        yield RichText()
        yield from _section_lines(section, width)


def _section_lines(section: Section, width: int) -> Iterator[RichText]:
    titled = section.key not in ("summary", "fleet", "why")
    if titled:
        yield from wrap(RichText(f"{section.title}:", style="bold"), width, INDENT, INDENT)
    for block in section.blocks:
        if isinstance(block, Facts):
            yield from _facts_lines(block, width)
        elif isinstance(block, Sentences):
            yield from _sentence_lines(block, width)
        elif isinstance(block, Table):
            yield from table_lines(block, width)


def _facts_lines(block: Facts, width: int) -> Iterator[RichText]:
    """Labels in one column; their texts flow behind it and are broken between texts if need be."""
    longest = max(cell_len(fact.label) for fact in block.facts)
    start = INDENT + min(longest, width // 3) + GUTTER
    for fact in block.facts:
        line = RichText(" " * INDENT + fact.label)
        if line.cell_len > start - GUTTER:
            yield from wrap(RichText(fact.label), width, INDENT, INDENT)
            line = RichText()
        line.append(" " * (start - line.cell_len))
        for position, text in enumerate(fact.texts):
            space = "   " if position else ""
            if position and line.cell_len + len(space) + cell_len(text.text) > width:
                yield from wrap(line, width, 0, start)
                line, space = RichText(" " * start), ""
            line.append(space)
            line.append(text.text, style=STYLES[text.mark])
        yield from wrap(line, width, 0, start)


def _sentence_lines(block: Sentences, width: int) -> Iterator[RichText]:
    for sentence in block.sentences:
        line = RichText()
        lead = _lead(sentence)
        if lead:
            line.append(lead, style="bold")
        line.append(sentence.text, style=STYLES[sentence.mark])
        yield from wrap(line, width, INDENT, INDENT + GUTTER)


def _lead(sentence: Sentence) -> str:
    if not sentence.lead:
        return ""
    return f"{sentence.lead}: " if sentence.text else f"{sentence.lead}:"


def wrap(line: RichText, width: int, first: int, rest: int) -> Iterator[RichText]:
    """Break a line at blanks, or within words that are too long, and indent what follows.

    A line that is already indented within its text is given with `first` = 0.
    """
    lead = len(line.plain) - len(line.plain.lstrip(" ")) if not first else 0
    body = line[lead:] if lead else line
    start = " " * (lead or first)
    for index, cut in enumerate(_cuts(body.plain, width - len(start), width - rest)):
        part = body[cut[0] : cut[1]]
        yield RichText(start if index == 0 else " " * rest).append_text(part)


def _cuts(text: str, first: int, rest: int) -> list[tuple[int, int]]:
    """Return the slices of a text that fit the first width and the later ones."""
    slices, start, room = [], 0, first
    while cell_len(text[start:]) > room:
        end = start
        used = 0
        while end < len(text) and used + cell_len(text[end]) <= room:
            used += cell_len(text[end])
            end += 1
        blank = text.rfind(" ", start, end + 1)
        next_start = end
        if blank > start and text[start:blank].strip():
            end, next_start = blank, blank
            while next_start < len(text) and text[next_start] == " ":
                next_start += 1
        end = max(end, start + 1)
        next_start = max(next_start, end)
        slices.append((start, end))
        start, room = next_start, rest
    if start < len(text) or not slices:
        slices.append((start, len(text)))
    return slices


def table_lines(table: Table, width: int) -> Iterator[RichText]:
    """Return a table as a grid where it fits, in groups of columns or row by row where not."""
    room = width - INDENT
    widths = _natural(table)
    if table.wide and _total(widths) > room:
        groups = _groups(table, widths, room)
        if groups is not None:
            for number, group in enumerate(groups):
                if number:
                    yield RichText()
                part = Table(
                    tuple(table.columns[i] for i in group),
                    tuple(tuple(row[i] for i in group) for row in table.rows),
                    table.heads,
                )
                yield from _grid(part, _natural(part))
            return
    shrunk = _shrink(table, widths, room)
    if shrunk is not None:
        yield from _grid(table, shrunk)
    else:
        yield from _records(table, width)


def _natural(table: Table) -> list[int]:
    return [
        max([cell_len(column.label), *(cell_len(row[index].text) for row in table.rows)])
        for index, column in enumerate(table.columns)
    ]


def _total(widths: Iterable[int]) -> int:
    sizes = list(widths)
    return sum(sizes) + GUTTER * (len(sizes) - 1)


def _groups(table: Table, widths: list[int], room: int) -> list[list[int]] | None:
    """Split the columns behind the heads into groups that fit; None where one alone does not."""
    heads = list(range(table.heads))
    groups, group = [], list(heads)
    for index in range(table.heads, len(widths)):
        if _total(widths[i] for i in [*heads, index]) > room:
            return None
        if _total(widths[i] for i in [*group, index]) > room:
            groups.append(group)
            group = list(heads)
        group.append(index)
    return [*groups, group]


def _shrink(table: Table, widths: list[int], room: int) -> list[int] | None:
    """Narrow the widest text columns until the table fits; None where they would get too narrow."""
    sizes = list(widths)
    floor = [
        size if column.right else min(size, max(TEXT_COLUMN, cell_len(column.label)))
        for size, column in zip(widths, table.columns, strict=True)
    ]
    while _total(sizes) > room:
        index = max(range(len(sizes)), key=lambda i: sizes[i] if sizes[i] > floor[i] else -1)
        if sizes[index] <= floor[index]:
            return None
        sizes[index] -= 1
    return sizes


def _grid(table: Table, widths: list[int]) -> Iterator[RichText]:
    heads = tuple(Text(column.label, "faint") for column in table.columns)
    for number, row in enumerate((heads, *table.rows)):
        last = table.total and number == len(table.rows)
        cells = []
        for text, size in zip(row, widths, strict=True):
            style = "bold" if last and not text.mark else STYLES[text.mark]
            cells.append(list(wrap(RichText(text.text, style=style), size, 0, 0)))
        for level in range(max(len(cell) for cell in cells)):
            line = RichText(" " * INDENT)
            for cell, size, column in zip(cells, widths, table.columns, strict=True):
                part = cell[level] if level < len(cell) else RichText()
                space = " " * (size - part.cell_len)
                line.append(space if column.right else "").append_text(part)
                line.append("" if column.right else space).append(" " * GUTTER)
            line.rstrip()
            yield line


def _records(table: Table, width: int) -> Iterator[RichText]:
    """Show each row as its heads and, below them, its other cells with their columns' labels."""
    for row in table.rows:
        head = "  ".join(text.text for text in row[: table.heads] if text.text)
        yield from wrap(RichText(head, style="bold"), width, INDENT, INDENT + GUTTER)
        start = INDENT + GUTTER
        line = RichText(" " * start)
        for column, text in zip(table.columns[table.heads :], row[table.heads :], strict=True):
            if not text.text:
                continue
            item = RichText(f"{column.label} ", style=STYLES["faint"])
            item.append(text.text, style=STYLES[text.mark] or "not dim")
            space = "   " if line.plain.strip() else ""
            if space and line.cell_len + len(space) + item.cell_len > width:
                yield from wrap(line, width, 0, start + GUTTER)
                line, space = RichText(" " * start), ""
            line.append(space).append_text(item)
        if line.plain.strip():
            yield from wrap(line, width, 0, start + GUTTER)
