"""Where a result goes: to stdout, to a file, or as several files into a folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pdd_plan.cli.errors import NO, note
from pdd_plan.cli.options import Format, Language
from pdd_plan.errors import InputError, Issue

if TYPE_CHECKING:
    from pdd_plan.fleet.shared_plan import AnyPlan
    from pdd_plan.report.comparison import Comparison, SharedComparison
    from pdd_plan.report.render import Answer

_BY_SUFFIX = {
    ".json": Format.json,
    ".md": Format.md,
    ".csv": Format.csv,
    ".html": Format.html,
    ".htm": Format.html,
    ".txt": Format.console,
}
_INTO_FOLDER = (Format.json, Format.md, Format.html, Format.csv)
"""What a folder gets if no form is asked for."""
_NAMED_FILES = 4
"""Most files to name one by one after they were written."""


@dataclass(frozen=True)
class Target:
    """Where a report is to go, checked before the work begins.

    Attributes
    ----------
    place : Path or None
        File or folder; None for stdout.
    forms : tuple of Format
        One form for stdout and for a file; several may go into a folder.
    language : Language
        Of the report.
    quiet : bool
        Say nothing about the files written.
    """

    place: Path | None
    forms: tuple[Format, ...]
    language: Language = Language.en
    quiet: bool = False

    @classmethod
    def checked(
        cls, output: Path | None, form: Format | None, language: Language, quiet: bool
    ) -> Target:
        """Return the target that the options describe.

        Parameters
        ----------
        output : Path or None
            As given with ``--output``.
        form : Format or None
            As given with ``--format``; else the name's ending says, or everything goes into a
            folder.
        language : Language
            Of the report.
        quiet : bool
            Say nothing about the files written.

        Raises
        ------
        InputError
            If the place cannot take the result: no such folder, a file where a folder is needed,
            an ending that names no form.
        """
        if output is None:
            return cls(None, (form or Format.console,), language, quiet)
        folder = output.is_dir()
        if form is None and not folder:
            form = _BY_SUFFIX.get(output.suffix.lower())
            if form is None:
                raise InputError(
                    Issue(
                        f"the ending of {output} names no form",
                        path="--output",
                        help="end it in .json, .md, .csv, .html or .txt, add --format, or name "
                        "a folder that exists",
                    )
                )
        if not folder and not (form is Format.csv and not output.exists()):
            check_file(output)
        if form is Format.csv and output.is_file() and output.suffix.lower() != ".csv":
            raise InputError(
                Issue(
                    f"{output} is a file, but CSV tables go into a folder",
                    path="--output",
                    help="name a folder, or a file that ends in .csv for one long table",
                )
            )
        return cls(output, (form,) if form is not None else _INTO_FOLDER, language, quiet)

    def deliver(self, answer: Answer) -> None:
        """Print or write a report.

        Parameters
        ----------
        answer : Plan, SharedPlan, Comparison, BreakEvens or Calibrated
            What to report.

        Raises
        ------
        InputError
            If the place cannot be written to.
        """
        if self.place is None:
            self._print(answer)
        else:
            from pdd_plan.report.render import write

            for form in self.forms:
                files = write(answer, form.value, self.place, self.language.value)
                if not self.quiet:
                    note(f"wrote {_listed(files)}")

    def _print(self, answer: Answer) -> None:
        form = self.forms[0]
        if form is Format.console:
            from pdd_plan.report.console import print_console
            from pdd_plan.report.render import view_of

            print_console(view_of(answer, self.language.value))
            return
        from pdd_plan.report.render import render

        sys.stdout.write(render(answer, form.value, lang=self.language.value))


def _listed(files: Sequence[Path]) -> str:
    """Name files, of many in one folder only how many there are."""
    if len(files) <= _NAMED_FILES:
        return ", ".join(map(str, files))
    return f"{len(files)} {files[0].suffix[1:].upper()} files into {files[0].parent}"


def leave(answer: AnyPlan | Comparison | SharedComparison) -> None:
    """Leave with exit code 1 if the answer is no.

    Parameters
    ----------
    answer : Plan, SharedPlan, Comparison or SharedComparison
        No is a plan that does not hold, such as an infeasible one, and a comparison in which no
        plan is feasible.

    Raises
    ------
    typer.Exit
        With code 1 if the answer is no.
    """
    from pdd_plan.report.comparison import Alternatives

    if isinstance(answer, Alternatives):
        yes = any(plan.status != "infeasible" for plan in answer.plans)
    else:
        yes = answer.holds
    if not yes:
        raise typer.Exit(NO)


def check_file(output: Path | None) -> None:
    """Check that a file can be made or replaced, before any work is done.

    Parameters
    ----------
    output : Path or None
        As given with ``--output``; None passes.

    Raises
    ------
    InputError
        If it is a folder, or its folder does not exist.
    """
    if output is None:
        return
    if output.is_dir():
        raise InputError(Issue(f"{output} is a folder, not a file", path="--output"))
    if not output.parent.is_dir():
        raise InputError(
            Issue(f"there is no folder {output.parent}", path="--output", help="create it first")
        )


def text_out(text: str, output: Path | None) -> None:
    """Print a text, or write it to a file whole or not at all.

    Parameters
    ----------
    text : str
        What to write.
    output : Path or None
        File; None for stdout.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    if output is None:
        sys.stdout.write(text)
        return
    check_file(output)
    from pdd_plan.report.render import write_text

    write_text(output, text)
