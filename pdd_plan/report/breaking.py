"""Where a line of text may be broken, for a terminal of some width."""

from __future__ import annotations

import re

from rich.cells import cell_len

NO_LINE_START = "\uff0c\u3002\uff1b\uff1a\uff09\u3001"
NO_LINE_END = "\uff08"
"""Chinese comma, full stop, semicolon, colon, closing bracket, list comma; opening bracket."""
_UNIT = re.compile(r" +(%|m?s\b|Gbps|req/s|[A-Z]{3}\b)")


def cuts(text: str, first: int, rest: int) -> list[tuple[int, int]]:
    """Return the slices of a text that fit the first width and the later ones.

    Parameters
    ----------
    text : str
        One line.
    first, rest : int
        Columns of the terminal for the first slice and for each later one.

    Returns
    -------
    list of tuple of int
        Start and end of each slice; only blanks lie between them. At least one.
    """
    slices, start, room = [], 0, first
    while cell_len(text[start:]) > room:
        end, used = start, 0
        while end < len(text) and used + cell_len(text[end]) <= room:
            used += cell_len(text[end])
            end += 1
        end = max(_break(text, start, max(end, start + 1)), start + 1)
        slices.append((start, end))
        start, room = end, rest
        while start < len(text) and text[start] == " ":
            start += 1
    if start < len(text) or not slices:
        slices.append((start, len(text)))
    return slices


def _between_wide(text: str, place: int) -> bool:
    after = text[place : place + 1]
    before = text[place - 1]
    return cell_len(before) == 2 and before not in NO_LINE_END and after not in NO_LINE_START


def _break(text: str, start: int, end: int) -> int:
    """Return where to break at or before `end`: a blank or a wide character, else after a sign.

    A number is not parted from its unit, and a line does not begin with Chinese punctuation.
    """
    wide = end
    while wide > start + 1 and not _between_wide(text, wide):
        wide -= 1
    blank = end
    while (blank := text.rfind(" ", start + 1, blank + 1)) > start:
        parted = text[blank - 1].isdigit() and _UNIT.match(text, blank)
        if not parted and text[start:blank].strip(" ~"):
            return max(blank, wide)
        blank -= 1
    if wide > start + 1:
        return wide
    signs = [text.rfind(sign, start + 1, end) for sign in "./_-,;|"]
    return max(signs) + 1 if max(signs) > start + (end - start) // 3 else end
