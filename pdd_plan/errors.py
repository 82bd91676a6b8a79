"""Errors that the package raises, each a subclass of the built-in it refines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Issue:
    """One thing that is wrong with an input, with its place and how to mend it.

    Attributes
    ----------
    message : str
        What is wrong with which value, in which unit, against which limit.
    path : str
        Dotted path inside the file, such as ``sites.beijing.chips.h200.price``; may be empty.
    file : str
        Name of the file as the user gave it; may be empty.
    line : int
        Line in the file, counted from 1; 0 where no line is known.
    help : str
        What to change, with a value that works where one is known; may be empty.
    """

    message: str
    path: str = ""
    file: str = ""
    line: int = 0
    help: str = ""


class PddPlanError(Exception):
    """Base of all errors that this package raises on purpose."""

    exit_code = 70


class InputError(PddPlanError, ValueError):
    """The user's input is wrong; carries every issue found, in file order."""

    exit_code = 2

    def __init__(self, issues: Iterable[Issue] | Issue | str) -> None:
        if isinstance(issues, str):
            issues = (Issue(issues),)
        elif isinstance(issues, Issue):
            issues = (issues,)
        self.issues: tuple[Issue, ...] = tuple(issues)
        super().__init__("; ".join(issue.message for issue in self.issues))


class UnstableQueueError(PddPlanError, ValueError):
    """A queue is offered at least as much work as it can do, so it has no steady state."""


class SolverError(PddPlanError, RuntimeError):
    """The MILP solver failed for a reason other than the model's infeasibility."""

    exit_code = 3
