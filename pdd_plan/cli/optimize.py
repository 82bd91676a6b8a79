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
    from pdd_plan.scenario import Scenario

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
    from pdd_plan.scenario import SharedScenario, load_question, of_one_service

    target = Target.checked(output, form, lang, quiet)
    loaded = load_question(scenario, changes or ())

    from pdd_plan.cli.files import command_line
    from pdd_plan.cli.planning import Settings, progress
    from pdd_plan.studies.planning import plan_scenario
    from pdd_plan.studies.services import plan_services
    from pdd_plan.studies.uncertain import plan_with_risk

    settings = Settings(time_limit, solver, seed)
    command = command_line("optimize", [scenario], set=changes, **settings.words(), why=why)
    options = settings.options(loaded, command)
    with progress(quiet) as show:
        answer: AnyPlan
        if why:
            from pdd_plan.cli.sweep_output import local_runner
            from pdd_plan.studies.left_out import warned
            from pdd_plan.studies.why import explained

            one = of_one_service(loaded, "optimize --why")
            _require_certain(one)
            plan = plan_scenario(one, replace(options, progress=show))
            runner = local_runner(jobs, show, "why:")
            plan = explained(plan, one, scenario, options, runner, changes or ())
            answer = warned(plan, one)
        elif isinstance(loaded, SharedScenario):
            answer = plan_services(loaded, replace(options, progress=show))
        else:
            own = replace(options, jobs=_jobs(loaded, jobs), progress=show)
            answer = plan_with_risk(loaded, own)
    target.deliver(answer)
    leave(answer)


def _require_certain(scenario: Scenario) -> None:
    """Refuse to explain a fleet that is not the cheapest for the values as written."""
    from pdd_plan.errors import InputError

    if scenario.uncertainty is not None and scenario.uncertainty.confidence is not None:
        raise InputError(
            scenario.source.issue(
                "uncertainty.confidence",
                "--why explains the cheapest plan for the values as written, but "
                "uncertainty.confidence asks for another",
                "add --set uncertainty.confidence=null, or leave --why out",
            )
        )


def _jobs(scenario: Scenario, jobs: int | None) -> int:
    """Return the processes for draws: as given, or one a core where there are draws."""
    if jobs is not None or scenario.uncertainty is None:
        return jobs or 1
    from pdd_plan.studies.sweep_workers import cores

    return cores()
