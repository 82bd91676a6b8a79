"""``pdd-plan evaluate``: what a given fleet does under a scenario."""

from __future__ import annotations

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
    Solver,
    SolverOption,
    TimeLimitOption,
)

EPILOG = "Example:  pdd-plan evaluate quickstart --plan plan.json --set 'workload.rate=14 req/s'"


def evaluate(
    scenario: ScenarioArgument,
    plan: Annotated[
        str,
        typer.Option("--plan", "-p", metavar="PLAN", show_default=False, help="Saved plan (JSON)."),
    ],
    changes: SetOption = None,
    form: FormatOption = None,
    output: OutputOption = None,
    time_limit: TimeLimitOption = 60.0,
    solver: SolverOption = Solver.highs,
    seed: SeedOption = 0,
    jobs: JobsOption = 1,
    quiet: QuietOption = False,
    debug: DebugOption = False,  # noqa: ARG001 - read from the context
    lang: LanguageOption = Language.en,
) -> None:
    """Score the fleet of a plan, such as today's, under a scenario; nothing is optimized."""
    from pdd_plan.cli.deliver import Target, leave
    from pdd_plan.cli.files import existing_file
    from pdd_plan.fleet.plan import load_plan
    from pdd_plan.scenario import load_scenario

    target = Target.checked(output, form, lang, quiet)
    loaded = load_scenario(scenario, changes or ())
    given = load_plan(existing_file(plan, "plan"))

    from pdd_plan.cli.planning import progress, reproducible, settings
    from pdd_plan.studies.planning import evaluate_plan

    options = settings(time_limit, solver, seed, jobs)
    options = reproducible(options, "evaluate", [scenario], plan=plan, set=changes)
    with progress(options, quiet) as shown:
        scored = evaluate_plan(loaded, given, shown)
    target.deliver(scored)
    leave(scored)
