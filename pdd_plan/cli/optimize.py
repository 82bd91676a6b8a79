"""``pdd-plan optimize``: the cheapest fleet that serves a scenario."""

from __future__ import annotations

from dataclasses import replace

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

EPILOG = "Example:  pdd-plan optimize quickstart --set 'slo.ttft_p90=8 s' -o plan.json"


def optimize(
    scenario: ScenarioArgument,
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
    """Plan the cheapest fleet that keeps every limit, with proof and baselines."""
    from pdd_plan.cli.deliver import Target, leave
    from pdd_plan.scenario import load_scenario

    target = Target.checked(output, form, lang, quiet)
    loaded = load_scenario(scenario, changes or ())

    from pdd_plan.cli.files import command_line
    from pdd_plan.cli.planning import Settings, progress
    from pdd_plan.studies.planning import plan_scenario

    settings = Settings(time_limit, solver, seed, jobs)
    command = command_line("optimize", [scenario], set=changes, **settings.words())
    with progress(quiet) as show:
        plan = plan_scenario(loaded, replace(settings.options(loaded, command), progress=show))
    target.deliver(plan)
    leave(plan)
