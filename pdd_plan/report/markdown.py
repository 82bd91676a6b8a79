"""View → Markdown (GitHub's), to paste into a design review."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pdd_plan.report.blocks import Block, Facts, Mark, Sentences, Table, Text, View

_SPECIAL = re.compile(r"([\\`*{}\[\]<|~$&]|(?<!\w)_|_(?!\w))")
_OPENING = re.compile(r"^(\s*)(?:([-+>#])|(\d+)([.)]))(?=\s|$)")


def render_markdown(view: View) -> str:
    """Return a report as Markdown; charts are left to the HTML report.

    Parameters
    ----------
    view : View
        Report of a plan or of a comparison.

    Returns
    -------
    str
        Text that ends in a newline.
    """
    lines = [f"# {escape(view.title)}: {escape(view.subtitle)}", ""]
    for section in view.full_sections():
        blocks = [line for block in section.blocks for line in _block_lines(block)]
        if blocks:
            lines += [f"## {escape(section.title)}", "", *blocks]
    return "\n".join(lines).rstrip("\n") + "\n"


def escape(text: str) -> str:
    """Escape what Markdown would take for markup within a line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split("\n")))


def _opening(text: str) -> str:
    """Escape what Markdown would take for a list, a quote or a heading at the start of a line."""
    return _OPENING.sub(r"\1\3\\\2\4", text)


def _block_lines(block: Block) -> Iterator[str]:
    if isinstance(block, Facts):
        for fact in block.facts:
            said = "; ".join(_marked(text) for text in fact.texts)
            yield f"- **{escape(fact.label)}**: {said}"
        yield ""
    elif isinstance(block, Sentences):
        for sentence in block.sentences:
            lead = f"**{escape(sentence.lead)}**: " if sentence.lead else ""
            yield f"- {lead}{_opening(escape(sentence.text))}".rstrip()
        yield ""
    elif isinstance(block, Table):
        yield from _table_lines(block)


def _table_lines(table: Table) -> Iterator[str]:
    yield _row(escape(column.label) for column in table.columns)
    yield _row("---:" if column.right else "---" for column in table.columns)
    for number, cells in enumerate(table.rows):
        total = table.total and number == len(table.rows) - 1
        yield _row(_marked(Text(cell.text, "strong") if total else cell) for cell in cells)
    yield ""


def _row(cells: Iterator[str] | list[str]) -> str:
    return f"| {' | '.join(cells)} |"


_AROUND: dict[Mark, str] = {"good": "", "bad": "**", "best": "**", "strong": "**"}


def _marked(text: Text) -> str:
    said = text.text.strip()
    around = _AROUND.get(text.mark, "") if said else ""
    return f"{around}{escape(said)}{around}"
