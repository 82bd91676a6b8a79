"""``pdd-plan compare``: scenarios, what-ifs and saved plans side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdd_plan.cli.options import (
    DebugOption,
    FormatOption,
    JobsOption,
    Language,
    LanguageOption,
    OutputOption,
    QuietOption,
    SeedOption,
    SetOption,
    SolverOption,
    TimeLimitOption,
)

if TYPE_CHECKING:
    from pdd_plan.studies.compare import Alternative, WhatIf

EPILOG = (
    "Example:  pdd-plan compare quickstart "
    "--what-if 'H20 at 1.5: sites.shanghai.chips.h20.price=1.5 USD/h'"
)


def compare(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="SCENARIO|PLAN...",
            show_default=False,
            help="Scenarios to plan, by file or shipped name, and saved plans (*.json).",
        ),
    ],
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            "--what-if",
            "-w",
            metavar="'NAME: PATH=VALUE,...'",
            show_default=False,
            help="Also plan the scenario with these changes; may be given again.",
        ),
    ] = None,
    changes: SetOption = None,
    form: FormatOption = None,
    output: OutputOption = None,
    time_limit: TimeLimitOption = None,
    solver: SolverOption = None,
    seed: SeedOption = 0,
    jobs: JobsOption = 1,
    quiet: QuietOption = False,
    debug: DebugOption = False,  # noqa: ARG001 - read from the context
    lang: LanguageOption = Language.en,
) -> None:
    """Compare fleets: cost, latency, BCR and chips of each, in one table."""
    from pdd_plan.cli.deliver import Target, leave
    from pdd_plan.cli.files import command_line
    from pdd_plan.cli.planning import Settings, progress
    from pdd_plan.report.shared_comparison import compared
    from pdd_plan.studies.compare import compare as plan_all
    from pdd_plan.studies.compare import parse_what_if

    target = Target.checked(output, form, lang, quiet)
    settings = Settings(time_limit, solver, seed)
    words = settings.words()
    what_ifs = [parse_what_if(text) for text in what_if or ()]
    columns = _columns(files, what_ifs, changes or [], words)
    with progress(quiet) as show:
        plans = plan_all(columns, settings.options, jobs, show)
    command = command_line("compare", files, what_if=what_if, set=changes, **words)
    comparison = compared(plans, command)
    target.deliver(comparison)
    leave(comparison)


def _columns(
    files: Sequence[str],
    what_ifs: Sequence[WhatIf],
    changes: Sequence[str],
    words: dict[str, Any],
) -> list[Alternative]:
    """Return the alternatives: each file, and after the one scenario its what-ifs."""
    from pdd_plan.cli.files import command_line, existing_file
    from pdd_plan.errors import InputError, Issue
    from pdd_plan.studies.compare import AS_WRITTEN, Alternative

    scenarios = [name for name in files if not name.endswith(".json")]
    if what_ifs and len(scenarios) != 1:
        raise InputError(
            Issue(
                f"--what-if changes one scenario, but {len(scenarios)} are given",
                help="name just one scenario file; saved plans may stand beside it",
            )
        )
    columns = []
    for name, title in zip(files, _titles(files), strict=True):
        if name.endswith(".json"):
            columns.append(Alternative(title, existing_file(name, "plan"), saved=True))
            continue
        sets = [(AS_WRITTEN if what_ifs else title, tuple(changes))]
        sets += [(item.name, (*changes, *item.changes)) for item in what_ifs]
        for title, its in sets:
            command = command_line("optimize", [name], set=its, **words)
            columns.append(Alternative(title, Path(name), its, command=command))
    return columns


def _titles(files: Sequence[str]) -> list[str]:
    """Return a name for every file: its stem, and more of its path where others share that."""
    titles = [Path(file).stem for file in files]
    for longer in ([Path(file).name for file in files], files):
        titles = [
            full if titles.count(title) > 1 else title
            for title, full in zip(titles, longer, strict=True)
        ]
    return titles
