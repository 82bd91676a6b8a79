"""Read text files, plain or compressed, and collect what is wrong with their rows."""

from __future__ import annotations

import difflib
import gzip
import io
import zlib
from pathlib import Path

from pdd_plan.errors import InputError, Issue

SHOWN_ROWS = 8
"""Faults named one by one in an error; the rows of the rest are counted."""

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class RowProblems:
    """Collects bad rows of one file and raises them together.

    Parameters
    ----------
    file : str
        Name as the user gave it.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.issues: list[Issue] = []
        self.lines: set[int] = set()

    def add(self, line: int, message: str, path: str = "", help: str = "") -> None:  # noqa: A002
        """Note one bad row.

        Parameters
        ----------
        line : int
            Line in the file, from 1.
        message, path, help : str
            As in `pdd_plan.errors.Issue`.
        """
        self.lines.add(line)
        if len(self.issues) < SHOWN_ROWS:
            self.issues.append(Issue(message, path, self.file, line, help))

    def check(self) -> None:
        """Raise all that was noted.

        Raises
        ------
        InputError
            If anything was noted, in the order of lines.
        """
        if not self.issues:
            return
        issues = sorted(self.issues, key=lambda issue: issue.line)
        more = len(self.lines - {issue.line for issue in issues})
        if more:
            issues.append(Issue(f"{more} more bad rows in this file", file=self.file))
        raise InputError(issues)


def read_text(path: Path) -> str:
    """Return the text of a file, unpacked if it is gzip or Zstandard.

    Parameters
    ----------
    path : Path
        The file; what is in it decides, not its name.

    Returns
    -------
    str

    Raises
    ------
    InputError
        If the file cannot be read, unpacked or decoded as UTF-8, or is empty.
    """
    shown = str(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(_missing_file(path)) from None
    except OSError as error:
        raise InputError(
            Issue(f"cannot read {shown}: {error.strerror or error}", file=shown)
        ) from None
    try:
        if data.startswith(_GZIP_MAGIC):
            data = gzip.decompress(data)
        elif data.startswith(_ZSTD_MAGIC):
            data = _unpack_zstd(data)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise InputError(
            Issue(f"cannot unpack {shown}: {error}", file=shown, help="fetch or compress it again")
        ) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            Issue(
                f"{shown} is not UTF-8 text (byte {error.start})",
                file=shown,
                line=line,
                help="save it as UTF-8 CSV or JSON lines, plain, gzip or zstd",
            )
        ) from None
    if not text.strip():
        raise InputError(Issue(f"{shown} is empty", file=shown, help="give a file with rows"))
    return text


def _missing_file(path: Path) -> Issue:
    folder = path.parent
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    near = difflib.get_close_matches(path.name, names, n=1)
    mend = f"did you mean {folder / near[0]}?" if near else "check the path"
    return Issue(f"file {path} does not exist", file=str(path), help=mend)


def _unpack_zstd(data: bytes) -> bytes:
    import zstandard

    try:
        with zstandard.ZstdDecompressor().stream_reader(
            io.BytesIO(data), read_across_frames=True
        ) as stream:
            return stream.read()
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None
