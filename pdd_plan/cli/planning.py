"""What the commands that plan have in common: options, progress, the command to reproduce."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from pdd_plan.cli.files import command_line
from pdd_plan.cli.options import Solver

if TYPE_CHECKING:
    from pdd_plan.studies.planning import PlanOptions


def settings(
    time_limit: float, solver: Solver = Solver.highs, seed: int = 0, jobs: int = 1
) -> PlanOptions:
    """Return the options of the planner that a command line stands for.

    Parameters
    ----------
    time_limit : float
        Seconds for one plan.
    solver : Solver
        MILP solver.
    seed : int
        Seed of all random choices.
    jobs : int
        Processes to use.
    """
    from pdd_plan.studies.planning import PlanOptions

    return PlanOptions(time_limit_s=time_limit, solver=solver.value, seed=seed, jobs=jobs)


def differing(options: PlanOptions) -> dict[str, Any]:
    """Return the options that decide a plan and differ from the default, as on a command line.

    Parameters
    ----------
    options : PlanOptions
        As used.
    """
    default = {field.name: field.default for field in fields(options)}
    words: dict[str, Any] = {}
    if options.time_limit_s != default["time_limit_s"]:
        words["time_limit"] = f"{options.time_limit_s:g}"
    for name in ("solver", "seed"):
        if getattr(options, name) != default[name]:
            words[name] = getattr(options, name)
    return words


def reproducible(
    options: PlanOptions, command: str, arguments: Sequence[str], **more: Any
) -> PlanOptions:
    """Return the options with the command line that gives the same plan again.

    Parameters
    ----------
    options : PlanOptions
        As used.
    command : str
        Name of the command.
    arguments : sequence of str
        Its arguments.
    **more : object
        Further options of the command, such as ``set``.
    """
    return replace(options, command=command_line(command, arguments, **more, **differing(options)))


@contextmanager
def progress(options: PlanOptions, quiet: bool) -> Iterator[PlanOptions]:
    """Show on one line of the terminal what the planner does, while it does it.

    Parameters
    ----------
    options : PlanOptions
        To be given a way to tell its progress.
    quiet : bool
        Show nothing. Nothing is shown either where stderr is no terminal.

    Yields
    ------
    PlanOptions
        The options to plan with.
    """
    if quiet or not sys.stderr.isatty():
        yield options
        return

    def show(*said: object) -> None:
        text = " ".join(f"{part:.0%}" if isinstance(part, float) else str(part) for part in said)
        sys.stderr.write(f"\r\x1b[2K{text[:76]}")
        sys.stderr.flush()

    try:
        yield replace(options, progress=show)
    finally:
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()
