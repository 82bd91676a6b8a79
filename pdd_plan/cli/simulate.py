"""``pdd-plan simulate``: a plan's predictions against a discrete-event simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pdd_plan.cli.options import (
    DebugOption,
    JobsOption,
    QuietOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
)
from pdd_plan.cli.profiles import TableFormat, TableFormatOption

if TYPE_CHECKING:
    from pdd_plan.fleet.plan import Plan
    from pdd_plan.scenario import Scenario

EPILOG = "Example:  pdd-plan simulate quickstart --plan plan.json --requests 50000"


def simulate(
    scenario: ScenarioArgument,
    plan: Annotated[
        str | None,
        typer.Option(
            "--plan",
            "-p",
            metavar="PLAN",
            show_default=False,
            help="Saved plan (JSON); by default the scenario is planned first.",
        ),
    ] = None,
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
    from pdd_plan.cli.planning import progress
    from pdd_plan.cli.simulate_tables import simulation_tables
    from pdd_plan.cli.tables import print_tables
    from pdd_plan.scenario import load_scenario
    from pdd_plan.simulation import SimulationOptions

    loaded = load_scenario(scenario, changes or ())
    given = _plan(loaded, plan, quiet)

    from pdd_plan.studies.simulating import simulate_plan

    options = SimulationOptions(requests=requests, replications=runs, seed=seed, jobs=jobs)
    with progress(quiet) as show:
        report = simulate_plan(
            loaded, given, options, show and (lambda share: show("simulating", share))
        )
    print_tables(loaded.name, "predicted and simulated", simulation_tables(report), form.value)
    if not quiet:
        speed = report.result.simulated_per_s
        note(f"note: {runs} runs of {requests} requests, {speed:,.0f} requests/s on one core")
    if report.missed:
        raise typer.Exit(NO)


def _plan(scenario: Scenario, plan: str | None, quiet: bool) -> Plan:
    from pdd_plan.cli.files import existing_file
    from pdd_plan.cli.planning import Settings, progress
    from pdd_plan.fleet.plan import load_plan

    if plan is not None:
        return load_plan(existing_file(plan, "plan"))

    from dataclasses import replace

    from pdd_plan.studies.planning import plan_scenario

    with progress(quiet) as show:
        return plan_scenario(scenario, replace(Settings().options(scenario, ""), progress=show))
