"""``pdd-plan simulate``: a plan's predictions against a discrete-event simulation."""

from __future__ import annotations

from typing import Annotated

import typer

from pdd_plan.cli.options import (
    DebugOption,
    JobsOption,
    PlanOption,
    QuietOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
)
from pdd_plan.cli.profiles import TableFormat, TableFormatOption

EPILOG = "Example:  pdd-plan simulate quickstart --plan plan.json --requests 50000"


def simulate(
    scenario: ScenarioArgument,
    plan: PlanOption = None,
    changes: SetOption = None,
    requests: Annotated[
        int, typer.Option("--requests", metavar="N", min=1000, help="Requests of one run.")
    ] = 200_000,
    runs: Annotated[int, typer.Option("--runs", metavar="N", min=2, help="Independent runs.")] = 4,
    form: TableFormatOption = TableFormat.console,
    seed: SeedOption = 0,
    jobs: JobsOption = 1,
    quiet: QuietOption = False,
    debug: DebugOption = False,  # noqa: ARG001 - read from the context
) -> None:
    """Simulate a plan request by request, and put its predictions beside what comes out.

    Ends with code 1 if a limit is missed in the simulation beyond its confidence interval.
    """
    from pdd_plan.cli.errors import NO, note
    from pdd_plan.cli.planning import Settings, given_or_planned, progress
    from pdd_plan.cli.simulate_tables import simulation_tables
    from pdd_plan.cli.tables import print_tables
    from pdd_plan.scenario import load_question
    from pdd_plan.simulation import SimulationOptions

    loaded = load_question(scenario, changes or ())
    given = given_or_planned(loaded, plan, Settings(), quiet)

    from pdd_plan.studies.left_out import left_out
    from pdd_plan.studies.simulating import simulate_any

    options = SimulationOptions(requests=requests, replications=runs, seed=seed, jobs=jobs)
    with progress(quiet) as show:
        reports = simulate_any(
            loaded, given, options, show and (lambda share: show("simulating", share))
        )
    tables = [
        table for name, report in reports.items() for table in simulation_tables(report, name)
    ]
    subtitle = "predicted and simulated"
    print_tables(loaded.name, subtitle, tables, form.value, left_out(loaded))
    if not quiet:
        speed = min(report.result.simulated_per_s for report in reports.values())
        note(f"note: {runs} runs of {requests} requests, {speed:,.0f} requests/s on one core")
    if any(report.missed for report in reports.values()):
        raise typer.Exit(NO)
