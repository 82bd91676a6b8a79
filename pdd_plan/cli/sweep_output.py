"""Where a sweep goes, and the journal beside it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pdd_plan.cli.errors import INTERRUPTED, note

if TYPE_CHECKING:
    from pdd_plan.report.sweep import SweepReport
    from pdd_plan.studies.sweep_journal import Journal
    from pdd_plan.studies.sweep_run import Progress, Runner


class SweepFormat(StrEnum):
    """Forms of a sweep."""

    console = "console"
    md = "md"
    csv = "csv"
    json = "json"
    html = "html"
    svg = "svg"
    parquet = "parquet"


_BY_SUFFIX = {
    ".md": SweepFormat.md,
    ".csv": SweepFormat.csv,
    ".json": SweepFormat.json,
    ".html": SweepFormat.html,
    ".htm": SweepFormat.html,
    ".svg": SweepFormat.svg,
    ".parquet": SweepFormat.parquet,
    ".txt": SweepFormat.console,
}
_INTO_FOLDER = (SweepFormat.json, SweepFormat.md, SweepFormat.html, SweepFormat.csv)


@dataclass(frozen=True)
class Place:
    """Where a sweep is to go, checked before the work begins.

    Attributes
    ----------
    output : Path or None
        File or folder; None for stdout.
    forms : tuple of SweepFormat
        One for stdout and for a file.
    """

    output: Path | None
    forms: tuple[SweepFormat, ...]

    @classmethod
    def checked(cls, output: Path | None, form: SweepFormat | None, resume: bool) -> Place:
        """Return the place that the options describe.

        Raises
        ------
        InputError
            If it cannot take the result, or there is no journal to resume.
        """
        from pdd_plan.cli.deliver import check_file
        from pdd_plan.errors import InputError, Issue

        if output is None and resume:
            message = "--resume needs the --output of the sweep: the journal stands beside it"
            raise InputError(Issue(message, help="give the same --output as before"))
        if output is None and form is SweepFormat.parquet:
            raise InputError(
                Issue("Parquet is no text", "--format", help="name a file: -o x.parquet")
            )
        if output is not None and not output.is_dir():
            form = form or _BY_SUFFIX.get(output.suffix.lower())
            if form is None:
                raise InputError(
                    Issue(
                        f"the ending of {output} names no form",
                        path="--output",
                        help="end it in .csv, .html, .json, .md, .parquet, .svg or .txt, add "
                        "--format, or name a folder that exists",
                    )
                )
            check_file(output)
        if form is SweepFormat.parquet:
            from pdd_plan.report.sweep_files import require_parquet

            require_parquet()
        if form is None:
            return cls(output, _INTO_FOLDER if output is not None else (SweepFormat.console,))
        return cls(output, (form,))

    @property
    def journal(self) -> Path | None:
        """File of the journal; None where the result is not kept either."""
        if self.output is None or (self.output.exists() and self.output.is_char_device()):
            return None
        if self.output.is_dir():
            return self.output / "sweep.journal.jsonl"
        return self.output.with_name(f"{self.output.stem}.journal.jsonl")

    def deliver(self, report: SweepReport, language: str, quiet: bool) -> None:
        """Print or write the report of a sweep.

        Raises
        ------
        InputError
            If the place cannot be written to.
        """
        from pdd_plan.report.sweep_files import render_sweep, write_sweep

        if self.output is not None:
            forms = [form.value for form in self.forms]
            files = write_sweep(report, forms, self.output, language)
            if not quiet:
                note(f"wrote {', '.join(map(str, files))}")
        elif self.forms[0] is SweepFormat.console:
            from pdd_plan.report.console import print_console
            from pdd_plan.report.sweep_view import sweep_view

            print_console(sweep_view(report, language))
        else:
            sys.stdout.write(render_sweep(report, self.forms[0].value, language))


@contextmanager
def running(
    place: Place, resume: bool, jobs: int | None, dask: str | None, quiet: bool, again: str
) -> Iterator[Runner]:
    """Give a runner for the time of a sweep; Ctrl-C ends it with a word on how to go on.

    Parameters
    ----------
    place : Place
        Says where the journal is.
    resume : bool
        Take over what the journal knows.
    jobs : int or None
        Processes.
    dask : str or None
        Address of a Dask scheduler.
    quiet : bool
        No progress and no notes.
    again : str
        The command that resumes the sweep.

    Yields
    ------
    Runner

    Raises
    ------
    typer.Exit
        With code 130 after Ctrl-C.
    """
    from pdd_plan.cli.planning import progress
    from pdd_plan.studies.sweep_journal import Journal
    from pdd_plan.studies.sweep_run import Runner
    from pdd_plan.studies.sweep_workers import DaskWorkers, LocalWorkers, Workers

    with ExitStack() as stack:
        file = place.journal
        journal = stack.enter_context(Journal(file, resume)) if file is not None else None
        workers: Workers = DaskWorkers(dask) if dask else LocalWorkers(jobs)
        stack.callback(workers.close)
        show = stack.enter_context(progress(quiet))
        told = (lambda seen: show(progress_text(seen))) if show is not None else None
        runner = Runner(workers, journal, told)
        try:
            yield runner
        except KeyboardInterrupt:
            stack.close()
            _say_interrupted(runner, journal, again)
            raise typer.Exit(INTERRUPTED) from None
        if journal is not None:
            journal.finish()
        stack.close()
        if quiet:
            return
        if runner.reused:
            note(f"took {runner.reused:,} of {runner.done:,} points from {file}")
        if runner.errors:
            note(
                f"{runner.errors:,} points ended in an error that is not the scenario's: "
                "their rows say which; --resume tries them again"
            )


def _say_interrupted(runner: Runner, journal: Journal | None, again: str) -> None:
    done = "1 point" if runner.done == 1 else f"{runner.done:,} points"
    if not runner.done:
        note("interrupted before a point was done")
    elif journal is None:
        note(f"interrupted after {done}; none is kept. With --output, a sweep can be resumed.")
    else:
        note(f"interrupted after {done}, kept in {journal.path}. To go on:")
        note(f"  {again}")


def local_runner(jobs: int | None, show: Callable[..., None] | None, lead: str) -> Runner:
    """Return a runner for plans beside another task, in processes of this machine.

    Parameters
    ----------
    jobs : int or None
        Processes; None for one a core.
    show : callable or None
        Shows progress on a terminal.
    lead : str
        What the plans are for, before how many are done.
    """
    from pdd_plan.studies.sweep_run import Runner
    from pdd_plan.studies.sweep_workers import LocalWorkers

    told = (lambda seen: show(lead, progress_text(seen))) if show is not None else None
    return Runner(LocalWorkers(jobs), progress=told)


def progress_text(seen: Progress) -> str:
    """Return how far a sweep is, for one line of a terminal.

    Parameters
    ----------
    seen : Progress
        Points done, and the time left.
    """
    parts = [f"{seen.done:,} of {seen.total:,} points"]
    if seen.left_s is not None and seen.done < seen.total:
        minutes, seconds = divmod(round(seen.left_s), 60)
        hours, minutes = divmod(minutes, 60)
        clock = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
        parts.append(f"{clock} left")
    if seen.without_plan:
        parts.append(f"{seen.without_plan:,} without a plan")
    return ", ".join(parts)
