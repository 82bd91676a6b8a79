"""One door to all formats: a plan, a comparison or another answer as text, or written to files."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.plan import Plan
from pdd_plan.fleet.shared_plan import SharedPlan
from pdd_plan.report.blocks import View
from pdd_plan.report.break_even import BreakEvens, break_even_tables, break_even_view
from pdd_plan.report.comparison import Comparison, SharedComparison, comparison_tables
from pdd_plan.report.comparison_view import comparison_view
from pdd_plan.report.csv_files import csv_long, csv_text
from pdd_plan.report.shared_comparison import shared_comparison_tables, shared_comparison_view
from pdd_plan.report.shared_tidy import shared_tables
from pdd_plan.report.shared_view import shared_view
from pdd_plan.report.tidy import Tidy, plan_tables
from pdd_plan.report.view import plan_view

if TYPE_CHECKING:
    from pdd_plan.fleet.calibrated import Calibrated

FORMATS = ("console", "md", "csv", "json", "html")
SUFFIXES = {"console": "txt", "md": "md", "csv": "csv", "json": "json", "html": "html"}
OUTPUT_WIDTH = 100
"""Columns of a console report that is written to a file."""

Answer: TypeAlias = "Plan | SharedPlan | Comparison | SharedComparison | BreakEvens | Calibrated"
"""What can be reported. A calibration brings numpy along, which plans do without."""


@dataclass(frozen=True)
class _Kind:
    """How answers of one kind are reported, and the name of their file in a folder."""

    stem: str
    view: Callable[[Any, str], View]
    tables: Callable[[Any], tuple[Tidy, ...]]
    json: Callable[[Any], str]


def _comparison_json(answer: Comparison | SharedComparison) -> str:
    parts = [
        {"name": name, "plan": plan.model_dump(mode="json")} for name, plan in answer.alternatives
    ]
    data = {"schema_version": 1, "command": answer.command, "alternatives": parts}
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


_KINDS: dict[type, _Kind] = {
    Plan: _Kind("plan", plan_view, plan_tables, Plan.to_json),
    SharedPlan: _Kind("plan", shared_view, shared_tables, SharedPlan.to_json),
    Comparison: _Kind("comparison", comparison_view, comparison_tables, _comparison_json),
    SharedComparison: _Kind(
        "comparison", shared_comparison_view, shared_comparison_tables, _comparison_json
    ),
    BreakEvens: _Kind("break-even", break_even_view, break_even_tables, BreakEvens.to_json),
}


def _kind(answer: Answer) -> _Kind:
    kind = _KINDS.get(type(answer))
    if kind is None:
        from pdd_plan.report.calibration import calibration_json, calibration_tables
        from pdd_plan.report.calibration_view import calibration_view

        kind = _Kind("calibration", calibration_view, calibration_tables, calibration_json)
    return kind


def view_of(answer: Answer, lang: str = "en") -> View:
    """Return the view of an answer."""
    return _kind(answer).view(answer, lang)


def render(
    answer: Answer,
    format: str,  # noqa: A002  # the option's name
    width: int | None = None,
    lang: str = "en",
    color: bool = False,
) -> str:
    """Return a report as text.

    Parameters
    ----------
    answer : a plan, a comparison, BreakEvens or Calibrated
        What to report.
    format : str
        One of `FORMATS`. Several tables make one long one as CSV here; `write` makes one file
        a table.
    width : int or None
        Columns of a console report; None asks the terminal.
    lang : str
        Language of labels and sentences; keys of CSV and JSON stay as they are.
    color : bool
        Whether a console report has ANSI styles.

    Returns
    -------
    str

    Raises
    ------
    InputError
        If there is no such format or language.
    """
    if format == "json":
        return _kind(answer).json(answer)
    if format == "csv":
        tables = _kind(answer).tables(answer)
        return csv_text(tables[0]) if len(tables) == 1 else csv_long(tables)
    if format == "console":
        from pdd_plan.report.console import render_console

        return render_console(view_of(answer, lang), width, color)
    if format == "md":
        from pdd_plan.report.markdown import render_markdown

        return render_markdown(view_of(answer, lang))
    if format == "html":
        from pdd_plan.report.html import render_html

        return render_html(view_of(answer, lang))
    raise InputError(
        Issue(f"no report format {format!r}", path="--format", help=f"one of {', '.join(FORMATS)}")
    )


def write(
    answer: Answer,
    format: str,  # noqa: A002  # the option's name
    output: str | Path,
    lang: str = "en",
) -> tuple[Path, ...]:
    """Write a report to a file, or a CSV report to a folder.

    A file appears whole or not at all: it is written beside its place and then renamed.

    Parameters
    ----------
    answer : a plan, a comparison, BreakEvens or Calibrated
        What to report.
    format : str
        One of `FORMATS`.
    output : str or Path
        A file; or a folder, which gets `plan.md` or `calibration.md`, say. CSV goes to a folder,
        one file a table, unless the name ends in `.csv`, which takes one long table.
    lang : str
        Language of labels and sentences.

    Returns
    -------
    tuple of Path
        The files written.

    Raises
    ------
    InputError
        If there is no such format or language, or the place cannot be written to.
    """
    place = Path(output)
    if format == "csv" and (place.is_dir() or place.suffix.lower() != ".csv"):
        texts = {f"{table.name}.csv": csv_text(table) for table in _kind(answer).tables(answer)}
        return _guarded(place, lambda: _write_folder(place, texts))
    text = render(answer, format, OUTPUT_WIDTH, lang)
    if place.is_dir():
        place = place / f"{_kind(answer).stem}.{SUFFIXES[format]}"
    return _guarded(place, lambda: (write_text(place, text),))


def _guarded(place: Path, action: Callable[[], tuple[Path, ...]]) -> tuple[Path, ...]:
    try:
        return action()
    except OSError as error:
        missing = not place.parent.is_dir()
        reason = f"there is no folder {place.parent}" if missing else error.strerror or str(error)
        mend = "create it first, or write elsewhere" if missing else "write elsewhere with --output"
        raise InputError(
            Issue(f"cannot write {place}: {reason}", path="--output", help=mend)
        ) from error


def write_text(place: Path, text: str) -> Path:
    """Write a text whole or not at all; line ends stay as they are.

    Parameters
    ----------
    place : Path
        File to make or to replace. A link is followed; a device or pipe is written directly.
    text : str
        Its content, written as UTF-8.

    Returns
    -------
    Path
        The place.

    Raises
    ------
    OSError
        If it cannot be written; an earlier file is then still what it was.
    """
    target = place.resolve()
    data = text.encode("utf-8")
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return place
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:64]}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(name, _mode(target))  # noqa: PTH101
        os.replace(name, target)  # noqa: PTH105
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return place


def _mode(target: Path) -> int:
    """Return the rights of the file that is replaced, or those that a new file gets."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _write_folder(place: Path, texts: dict[str, str]) -> tuple[Path, ...]:
    """Write files into a folder; a new folder appears with all of them."""
    if place.is_dir():
        return tuple(write_text(place / name, text) for name, text in texts.items())
    if place.exists():
        raise FileExistsError(17, "it is a file; CSV needs a folder, or a name that ends in .csv")
    made = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name[:64]}."))
    try:
        for name, text in texts.items():
            write_text(made / name, text)
        mask = os.umask(0)
        os.umask(mask)
        made.chmod(0o777 & ~mask)
        made.rename(place)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return tuple(place / name for name in texts)
