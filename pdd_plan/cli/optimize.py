"""``pdd-plan optimize``: the cheapest fleet that serves a scenario."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from pdd_plan.cli.options import (
    CoresOption,
    DebugOption,
    FormatOption,
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

if TYPE_CHECKING:
    from pdd_plan.fleet.shared_plan import AnyPlan

EPILOG = "Example:  pdd-plan optimize quickstart --set 'slo.ttft_p90=8 s' -o plan.json"


def optimize(
    scenario: ScenarioArgument,
    changes: SetOption = None,
    form: FormatOption = None,
    output: OutputOption = None,
    time_limit: TimeLimitOption = None,
    solver: SolverOption = None,
    seed: SeedOption = 0,
    why: Annotated[
        bool,
        typer.Option(
            "--why",
            help="Also plan with other prices, limits, lines, stock and traffic, one at a time: "
            "what each would change, and up to which price or distance chips and lines pay.",
        ),
    ] = False,
    jobs: CoresOption = None,
    quiet: QuietOption = False,
    debug: DebugOption = False,  # noqa: ARG001 - read from the context
    lang: LanguageOption = Language.en,
) -> None:
    """Plan the cheapest fleet that keeps every limit, with proof and baselines."""
    from pdd_plan.cli.deliver import Target, leave
    from pdd_plan.scenario import load_question, of_one_service

    target = Target.checked(output, form, lang, quiet)
    loaded = load_question(scenario, changes or ())

    from pdd_plan.cli.files import command_line
    from pdd_plan.cli.planning import Settings, progress
    from pdd_plan.studies.planning import plan_scenario
    from pdd_plan.studies.services import plan_question

    settings = Settings(time_limit, solver, seed)
    command = command_line("optimize", [scenario], set=changes, **settings.words(), why=why)
    options = settings.options(loaded, command)
    with progress(quiet) as show:
        answer: AnyPlan
        if why:
            from pdd_plan.cli.sweep_output import local_runner
            from pdd_plan.studies.why import explained

            one = of_one_service(loaded, "optimize --why")
            plan = plan_scenario(one, replace(options, progress=show))
            runner = local_runner(jobs, show, "why:")
            answer = explained(plan, one, scenario, options, runner, changes or ())
        else:
            answer = plan_question(loaded, replace(options, progress=show))
    target.deliver(answer)
    leave(answer)
