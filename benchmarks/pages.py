"""Pieces of the Markdown pages that benchmarks write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
"""Page that benchmarks put their sections into when asked to with ``--write``."""


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
    """Return a Markdown table.

    Parameters
    ----------
    heads : sequence of str
    rows : sequence of sequences of str
    align : str
        ``l`` or ``r`` a column.
    """
    marks = ["---:" if one == "r" else "---" for one in align]
    lines = [heads, marks, *rows]
    return "\n".join("| " + " | ".join(one) + " |" for one in lines)


def put_section(page: Path, title: str, body: str) -> None:
    """Put a section into a page, in place of the one of the same title or at its end.

    Parameters
    ----------
    page : Path
    title : str
        Its line in the page, with ``##``. What it names ends at the next ``##`` of a line.
    body : str
        Markdown below it.
    """
    before, _, rest = page.read_text(encoding="utf-8").partition(f"{title}\n")
    following = rest.find("\n## ")
    after = rest[following:] if following >= 0 else ""
    text = f"{before.rstrip()}\n\n{title}\n\n{body.strip()}\n{after}"
    page.write_text(text, encoding="utf-8")
