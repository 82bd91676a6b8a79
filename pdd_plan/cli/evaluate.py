"""``pdd-plan evaluate``: what a given fleet does under a scenario."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from pdd_plan.cli.options import (
    DebugOption,
    FormatOption,
    JobsOption,
    Language,
    LanguageOption,
    OutputOption,
    QuietOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    SolverOption,
    TimeLimitOption,
)

EPILOG = "Example:  pdd-plan evaluate quickstart --plan plan.json --set 'workload.rate=12 req/s'"


def evaluate(
    scenario: ScenarioArgument,
    plan: Annotated[
        str,
        typer.Option("--plan", "-p", metavar="PLAN", show_default=False, help="Saved plan (JSON)."),
    ],
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
    """Score the fleet of a plan, such as today's, under a scenario; nothing is optimized."""
    from pdd_plan.cli.deliver import Target, leave
    from pdd_plan.cli.files import command_line, existing_file
    from pdd_plan.fleet.plan import load_plan
    from pdd_plan.scenario import load_scenario

    target = Target.checked(output, form, lang, quiet)
    loaded = load_scenario(scenario, changes or ())
    given = load_plan(existing_file(plan, "plan"))

    from pdd_plan.cli.planning import Settings, progress
    from pdd_plan.studies.planning import evaluate_plan

    settings = Settings(time_limit, solver, seed, jobs)
    command = command_line("evaluate", [scenario], plan=plan, set=changes, **settings.words())
    with progress(quiet) as show:
        options = replace(settings.options(loaded, command), progress=show)
        scored = evaluate_plan(loaded, given, options)
    target.deliver(scored)
    leave(scored)
