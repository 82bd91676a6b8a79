"""View → terminal: aligned text that fits the width and leaves nothing out."""

from __future__ import annotations

import io
import os
import shutil
import sys
from dataclasses import replace
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
from pdd_plan.report.breaking import cuts

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
ROW_NAME = 22
"""Names of rows may be wrapped to this width where columns are alternatives."""
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
    for section in view.brief_sections():
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
    """Labels in one column; their texts flow beside it, broken between texts where they can be."""
    longest = max(cell_len(fact.label) for fact in block.facts)
    start = INDENT + min(longest, width // 3) + GUTTER
    for fact in block.facts:
        items = [RichText(text.text, style=STYLES[text.mark]) for text in fact.texts]
        flowed = list(_flow(items, width - start))
        label = list(wrap(RichText(fact.label), start - INDENT - GUTTER, 0, 0))
        for level in range(max(len(label), len(flowed))):
            line = RichText(" " * INDENT)
            line.append_text(label[level] if level < len(label) else RichText())
            line.append(" " * (start - line.cell_len))
            yield line.append_text(flowed[level] if level < len(flowed) else RichText())


def _flow(items: Iterable[RichText], width: int, hang: int = 0) -> Iterator[RichText]:
    """Set items beside each other, three blanks apart, and in the next line where one is full."""
    line = RichText()
    for item in items:
        if line.plain and line.cell_len + 3 + item.cell_len > width:
            yield from wrap(line, width, 0, hang)
            line = RichText()
        if line.plain:
            line.append("   ")
        line.append_text(item)
    yield from wrap(line, width, 0, hang)


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
    """Break a line at blanks, or within words too long; indent it by `first`, then `rest`."""
    for index, (start, end) in enumerate(cuts(line.plain, width - first, width - rest)):
        indent = " " * (rest if index else first)
        yield RichText(indent).append_text(line[start:end])


def table_lines(table: Table, width: int) -> Iterator[RichText]:
    """Return a table as a grid where it fits, in groups of columns or row by row where not."""
    room = width - INDENT
    widths = _natural(table)
    if table.wide and _total(widths) > room:
        groups = _groups(table, room)
        if groups is not None:
            yield from _grouped(table, groups)
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


def _longest_word(label: str) -> int:
    return max(map(cell_len, label.split(" ")))


def _total(widths: Iterable[int]) -> int:
    sizes = list(widths)
    return sum(sizes) + GUTTER * (len(sizes) - 1)


def _groups(table: Table, room: int) -> dict[tuple[int, ...], list[int]] | None:
    """Split the columns behind the first into groups that fit; None where one alone does not.

    Returns
    -------
    dict of tuple of int to list of int, or None
        Columns of each group, and their widths: row names and headings are broken if need be.
    """
    sizes = [
        max(min(cell_len(column.label), TEXT_COLUMN), _data_width(table, index))
        for index, column in enumerate(table.columns)
    ]
    sizes[0] = min(sizes[0], max(ROW_NAME, room // 3))
    groups, group = [], [0]
    for index in range(1, len(sizes)):
        if _total([sizes[0], sizes[index]]) > room:
            return None
        if _total(sizes[i] for i in [*group, index]) > room:
            groups.append(group)
            group = [0]
        group.append(index)
    return {tuple(part): [sizes[i] for i in part] for part in [*groups, group]}


def _data_width(table: Table, index: int) -> int:
    return max((cell_len(row[index].text) for row in table.rows), default=0)


def _grouped(table: Table, groups: dict[tuple[int, ...], list[int]]) -> Iterator[RichText]:
    for number, (group, sizes) in enumerate(groups.items()):
        if number:
            yield RichText()
        rows = tuple(tuple(row[i] for i in group) for row in table.rows)
        part = replace(table, columns=tuple(table.columns[i] for i in group), rows=rows)
        yield from _grid(part, sizes)


def _shrink(table: Table, widths: list[int], room: int) -> list[int] | None:
    """Narrow the widest columns until the table fits; None where they would get too narrow.

    Headings of numbers are broken, then texts at blanks, then texts within long words.
    """
    for whole_words in (True, False):
        sizes = list(widths)
        floor = [_floor(table, index, whole_words) for index in range(len(sizes))]
        while _total(sizes) > room:
            index = max(range(len(sizes)), key=lambda i: sizes[i] if sizes[i] > floor[i] else -1)
            if sizes[index] <= floor[index]:
                break
            sizes[index] -= 1
        else:
            return sizes
    return None


def _floor(table: Table, index: int, whole_words: bool) -> int:
    column, texts = table.columns[index], [row[index].text for row in table.rows]
    word = _longest_word(column.label)
    if column.right:
        return max(word, *map(cell_len, texts))
    longest = max(map(cell_len, [column.label, *texts]))
    words = max(map(_longest_word, texts)) if whole_words else 0
    return min(longest, max(TEXT_COLUMN, word, words))


def _grid(table: Table, widths: list[int]) -> Iterator[RichText]:
    heads = tuple(Text(column.label, "faint") for column in table.columns)
    for number, row in enumerate((heads, *table.rows)):
        last = table.total and number == len(table.rows)
        cells = []
        for index, (text, size) in enumerate(zip(row, widths, strict=True)):
            style = "bold" if last and not text.mark else STYLES[text.mark]
            hang = GUTTER if table.wide and index == 0 else 0
            cells.append(list(wrap(RichText(text.text, style=style), size, 0, hang)))
        height = max(len(cell) for cell in cells)
        if number == 0:  # headings stand on their columns
            cells = [[RichText()] * (height - len(cell)) + cell for cell in cells]
        for level in range(height):
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
        items = []
        for column, text in zip(table.columns[table.heads :], row[table.heads :], strict=True):
            if text.text:
                item = RichText().append(f"{column.label} ", style=STYLES["faint"])
                items.append(item.append(text.text, style=STYLES[text.mark]))
        start = " " * (INDENT + GUTTER)
        for line in _flow(items, width - len(start), GUTTER) if items else ():
            yield RichText(start).append_text(line)
