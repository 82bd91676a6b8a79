"""A sweep in every form: as text, or written to files."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pdd_plan.errors import InputError, Issue
from pdd_plan.report.csv_files import csv_text
from pdd_plan.report.render import OUTPUT_WIDTH, SUFFIXES, write_text
from pdd_plan.report.sweep import SweepReport
from pdd_plan.report.sweep_charts import sweep_charts
from pdd_plan.report.sweep_tidy import sweep_json, sweep_table
from pdd_plan.report.sweep_view import sweep_view
from pdd_plan.report.sweep_words import SweepLabels

TEXT_FORMATS = ("console", "md", "csv", "json", "html", "svg")
TEXTS = (
    "reason",
    "scenario_sha256",
    "currency",
    "bcr_reference",
    "architecture",
    "routing_by",
    "fleet",
)
"""Columns that hold text even where no row has any, so that Parquet files can be joined; so do
those of services that end in these."""


def render_sweep(report: SweepReport, form: str, lang: str = "en", width: int | None = None) -> str:
    """Return a sweep as text.

    Parameters
    ----------
    report : SweepReport
        What to report.
    form : str
        One of `TEXT_FORMATS`.
    lang : str
        Language of labels and sentences.
    width : int or None
        Columns of a console report; None asks the terminal.

    Returns
    -------
    str

    Raises
    ------
    InputError
        If there is no such language, or nothing to draw.
    """
    if form == "csv":
        return csv_text(sweep_table(report))
    if form == "json":
        return sweep_json(report)
    if form == "svg":
        return _picture(report, lang)
    view = sweep_view(report, lang)
    if form == "md":
        from pdd_plan.report.markdown import render_markdown

        return render_markdown(view)
    if form == "html":
        from pdd_plan.report.html import render_html

        return render_html(view)
    from pdd_plan.report.console import render_console

    return render_console(view, width)


def _picture(report: SweepReport, lang: str) -> str:
    """Return the first chart of a sweep: its front, its curves, or those along each axis."""
    from pdd_plan.report.svg import picture

    charts = sweep_charts(report, SweepLabels(lang))
    if not charts:
        message = "no point of the sweep has a plan, so that there is nothing to draw"
        raise InputError(Issue(message, "--format", help="take md or csv for the reasons"))
    return picture(charts[0])


def write_sweep(
    report: SweepReport, forms: Sequence[str], place: Path, lang: str = "en"
) -> tuple[Path, ...]:
    """Write a sweep to a file, or in several forms into a folder that exists.

    Parameters
    ----------
    report : SweepReport
        What to report.
    forms : sequence of str
        Of `TEXT_FORMATS` and ``parquet``; just one for a file.
    place : Path
        File or folder.
    lang : str
        Language of labels and sentences.

    Returns
    -------
    tuple of Path
        The files written, each whole or not at all.

    Raises
    ------
    InputError
        If the place cannot be written to, or pyarrow is missing for Parquet.
    """
    written = []
    for form in forms:
        suffix = SUFFIXES.get(form, form)
        file = place / f"sweep.{suffix}" if place.is_dir() else place
        try:
            if form == "parquet":
                _write_parquet(report, file)
            else:
                write_text(file, render_sweep(report, form, lang, OUTPUT_WIDTH))
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(
                Issue(f"cannot write {file}: {reason}", "--output", help="write elsewhere")
            ) from error
        written.append(file)
    return tuple(written)


def require_parquet() -> Any:
    """Return the module that writes Parquet.

    Raises
    ------
    InputError
        If pyarrow is not installed.
    """
    try:
        return importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise InputError(
            Issue(
                "pyarrow, which writes Parquet, is not installed",
                path="--format",
                help="pip install 'pdd-plan[parquet]', or take csv",
            )
        ) from None


def _write_parquet(report: SweepReport, file: Path) -> None:
    parquet = require_parquet()
    arrow = importlib.import_module("pyarrow")
    table = sweep_table(report)
    columns = list(zip(*table.rows, strict=True)) if table.rows else [()] * len(table.keys)
    arrays = [
        arrow.array(list(cells), type=None if any(cell is not None for cell in cells) else unknown)
        for key, cells in zip(table.keys, columns, strict=True)
        for unknown in [arrow.string() if key.rpartition(".")[2] in TEXTS else arrow.float64()]
    ]
    data = arrow.table(arrays, names=list(table.keys))
    handle, name = tempfile.mkstemp(dir=file.resolve().parent, prefix=".sweep.")
    os.close(handle)
    try:
        parquet.write_table(data, name)
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(file.resolve())
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
