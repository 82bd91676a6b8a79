"""Errors on the terminal: what, where and how to mend it, then the exit code."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from typing import NoReturn

import typer

from pdd_plan.errors import InputError, Issue, SolverError

NO = 1
"""Exit code of an answer of "no": infeasible, or out of tolerance."""
BUG = 70
"""Exit code of an error that is ours (EX_SOFTWARE of sysexits.h)."""
INTERRUPTED = 130
"""Exit code after Ctrl-C (128 + SIGINT)."""
BROKEN_PIPE = 141
"""Exit code when the reader of stdout has gone (128 + SIGPIPE)."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says where stdout goes to a file that has no room left."""


def issue_text(issue: Issue) -> str:
    """Return an issue as the lines that the terminal shows.

    Parameters
    ----------
    issue : Issue
        What is wrong, where, and how to mend it.

    Returns
    -------
    str
        ``error: …``, then ``  --> file:line`` and ``  help: …`` where they are known.
    """
    lines = [f"error: {issue.message}"]
    place = f"{issue.file}:{issue.line}" if issue.file and issue.line else issue.file
    if issue.path and issue.path not in issue.message:
        place = f"{place} ({issue.path})" if place else issue.path
    if place:
        lines.append(f"  --> {place}")
    if issue.help:
        lines.append(f"  help: {issue.help}")
    return "\n".join(lines)


def note(text: str) -> None:
    """Print a note for people on stderr, where it does not mix with the result."""
    typer.echo(text, err=True)


def fail(error: BaseException, debug: bool) -> NoReturn:
    """Report an error that a command raised, and leave with its exit code.

    Parameters
    ----------
    error : BaseException
        What the command raised.
    debug : bool
        Show the traceback too.

    Raises
    ------
    typer.Exit
        Always: code 2 for wrong input, 3 for the solver, 130 for Ctrl-C, 141 for a closed
        pipe, 70 for a bug.
    """
    if debug and not isinstance(error, BrokenPipeError):
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, BrokenPipeError):
        _silence_stdout()
        raise typer.Exit(BROKEN_PIPE) from error
    code, issues = _diagnosis(error)
    _print(issues)
    raise typer.Exit(code) from error


def _silence_stdout() -> None:
    """Send stdout where writing cannot fail: Python flushes it once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)


def _diagnosis(error: BaseException) -> tuple[int, tuple[Issue, ...]]:
    """Return the exit code and what to say."""
    if isinstance(error, InputError):
        return error.exit_code, error.issues
    if isinstance(error, SolverError):
        mend = "try the other solver (--solver cbc), or run again with --debug"
        return error.exit_code, (Issue(f"the solver failed: {error}", help=mend),)
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, (Issue("interrupted; nothing was written"),)
    if isinstance(error, OSError) and error.filename is not None:
        reason = error.strerror or type(error).__name__
        return InputError.exit_code, (Issue(f"{error.filename}: {reason}"),)
    if isinstance(error, OSError) and error.errno in _FULL:
        _silence_stdout()
        reason = error.strerror or type(error).__name__
        return InputError.exit_code, (
            Issue(
                f"the result cannot be written: {reason}",
                help="make room, or write it elsewhere with --output",
            ),
        )
    return BUG, (
        Issue(
            f"this is a bug of pdd-plan ({type(error).__name__}: {error})",
            help="run the command again with --debug and report its output with the scenario",
        ),
    )


def _print(issues: tuple[Issue, ...]) -> None:
    from pdd_plan.report.digits import clean

    for index, issue in enumerate(issues):
        if index:
            note("")
        first, *rest = issue_text(issue).split("\n")
        word, message = first[:6], clean(first[6:])
        note(typer.style(word, fg="red", bold=True) + message)
        for line in rest:
            note(clean(line))
