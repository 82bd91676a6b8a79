"""``pdd-plan sweep``: a grid of what-ifs, or the front of cost against P90 TTFT."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdd_plan.cli.options import (
    CoresOption,
    DebugOption,
    Language,
    LanguageOption,
    QuietOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    SolverOption,
    TimeLimitOption,
)
from pdd_plan.cli.sweep_output import Place, SweepFormat, running

if TYPE_CHECKING:
    from pdd_plan.report.sweep import SweepReport
    from pdd_plan.studies.sweep import SweepResult

EPILOG = (
    "Example:  pdd-plan sweep quickstart --vary 'links.0.bandwidth=20 Gbps..100 Gbps/20 Gbps' "
    "-o sweep.html"
)


def sweep(
    scenario: ScenarioArgument,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="PATH=V1,V2,...",
            show_default=False,
            help="Values to try, or a range as 'first..last/step'; may be given again, for "
            "every combination.",
        ),
    ] = None,
    together: Annotated[
        list[str] | None,
        typer.Option(
            "--zip",
            metavar="PATH=V1,V2,...",
            show_default=False,
            help="Likewise, but the values of all --zip go together, first with first.",
        ),
    ] = None,
    pareto: Annotated[
        bool,
        typer.Option("--pareto", help="Find the front of cost against P90 TTFT at every point."),
    ] = False,
    changes: SetOption = None,
    form: Annotated[
        SweepFormat | None,
        typer.Option(
            "--format",
            "-f",
            show_default=False,
            help="Form of the result; by default what --output's ending says, else console.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE|FOLDER",
            show_default=False,
            help="Write the result there; beside it a journal keeps every point that is done.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Take over the points that the journal knows.")
    ] = False,
    jobs: CoresOption = None,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask",
            metavar="ADDRESS",
            show_default=False,
            help="Plan on the Dask cluster of this scheduler instead.",
        ),
    ] = None,
    time_limit: TimeLimitOption = None,
    solver: SolverOption = None,
    seed: SeedOption = 0,
    quiet: QuietOption = False,
    debug: DebugOption = False,  # noqa: ARG001 - read from the context
    lang: LanguageOption = Language.en,
) -> None:
    """Plan a grid of what-ifs: hundreds of points, in parallel, resumable.

    A point without a plan is a row with its reason. Exit code 1 if no point has a plan.
    """
    from pdd_plan.cli.errors import NO
    from pdd_plan.cli.files import command_line
    from pdd_plan.cli.planning import Settings
    from pdd_plan.studies.sweep import sweep as plan_grid
    from pdd_plan.studies.sweep_axes import parse_axes
    from pdd_plan.studies.sweep_front import front

    place = Place.checked(output, form, resume)
    axes = parse_axes(vary or (), together or ())
    settings = Settings(time_limit, solver, seed)
    words: dict[str, Any] = {"vary": vary, "zip": together, "pareto": pareto, "set": changes}
    words |= settings.words()
    command = command_line("sweep", [scenario], **words)
    here = {"format": form and form.value, "output": output and str(output), "jobs": jobs}
    again = command_line("sweep", [scenario], **words, **here, dask=dask, resume=True)
    with running(place, resume, jobs, dask, quiet, again) as runner:
        study = front if pareto else plan_grid
        result = study(
            scenario, axes, lambda loaded: settings.options(loaded, ""), runner, changes or ()
        )
    place.deliver(_report(result, command), lang.value, quiet)
    if not result.any_plan:
        raise typer.Exit(NO)


def _report(result: SweepResult, command: str) -> SweepReport:
    """Return a sweep as its reports see it."""
    from pdd_plan import __version__
    from pdd_plan.report.sweep import SweepAxis, SweepReport, SweepRow, Varied
    from pdd_plan.studies.sweep_axes import Axis, scale_of

    def varied(axis: Axis, number: int) -> Varied:
        texts = tuple(values[number] for values in axis.values)
        scale = scale_of(texts)
        if scale is None:
            return Varied(axis.paths[number], texts)
        return Varied(axis.paths[number], texts, scale.unit, scale.numbers)

    axes = tuple(
        SweepAxis(tuple(varied(axis, number) for number in range(len(axis.paths))))
        for axis in result.axes
    )
    rows = tuple(
        SweepRow(row.steps, row.changes, row.outcome.record(result.services), row.on_front)
        for row in result.rows
    )
    return SweepReport(
        result.scenario, axes, rows, command, __version__, result.services, result.warnings
    )
