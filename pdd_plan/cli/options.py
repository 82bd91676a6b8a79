"""Options that several commands share, declared once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

DEBUG = "pdd_plan.debug"
"""Key in the context's shared ``meta`` that says whether tracebacks are wanted."""


class Format(StrEnum):
    """Forms of a report."""

    console = "console"
    md = "md"
    csv = "csv"
    json = "json"
    html = "html"


class Solver(StrEnum):
    """MILP solvers at hand."""

    highs = "highs"
    cbc = "cbc"


class Language(StrEnum):
    """Languages of a report."""

    en = "en"
    zh = "zh"


def _remember_debug(ctx: typer.Context, wanted: bool) -> bool:
    ctx.meta[DEBUG] = wanted
    return wanted


def _time_limit(text: str) -> float:
    """Read a time of 0.1 s or more; a bare number is seconds."""
    from pdd_plan.units import QuantityError, parse_quantity

    try:
        value = float(text)
    except ValueError:
        try:
            value = parse_quantity(text, "time", "s")
        except QuantityError as error:
            raise typer.BadParameter(f"{error}; write seconds, such as 10, or '2 min'") from error
    if not 0.1 <= value <= 1e6:
        raise typer.BadParameter(f"{text} is not from 0.1 s to 1,000,000 s.")
    return value


ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        show_default=False,
        help="Scenario file, or the name of a shipped scenario such as quickstart.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        show_default=False,
        help="Replace a value of the scenario; may be given again.",
    ),
]
PlanOption = Annotated[
    str | None,
    typer.Option(
        "--plan",
        "-p",
        metavar="PLAN",
        show_default=False,
        help="Saved plan (JSON); by default the scenario is planned first.",
    ),
]
FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format",
        "-f",
        show_default=False,
        help="Form of the result; by default what --output's ending says, else console.",
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE|FOLDER",
        show_default=False,
        help="Write the result there instead of to the terminal.",
    ),
]
TimeLimitOption = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="SECONDS",
        parser=_time_limit,
        show_default=False,
        help="Time for the optimizer, such as 10 or '2 min'; by default the scenario's, 60 s.",
    ),
]
SolverOption = Annotated[
    Solver | None,
    typer.Option(
        "--solver", show_default=False, help="MILP solver; by default the scenario's, highs."
    ),
]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, help="Seed of all random choices.")
]
JobsOption = Annotated[
    int, typer.Option("--jobs", "-j", metavar="N", min=1, help="Processes to use.")
]
CoresOption = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        min=1,
        show_default=False,
        help="Processes to use; by default one a core.",
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes.")]
DebugOption = Annotated[
    bool,
    typer.Option("--debug", callback=_remember_debug, help="Show the traceback of an error."),
]
LanguageOption = Annotated[Language, typer.Option("--lang", help="Language of the report.")]
