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
    PlanOption,
    QuietOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    SolverOption,
    TimeLimitOption,
)

FailOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fail",
        metavar="WHAT",
        show_default=False,
        help="Lose site:NAME, line:FROM-TO, engines:SITE/ROLE (one engine of that pool) or "
        "engines:N (N of every pool in turn); may be given again, each is lost by itself.",
    ),
]
EPILOG = "Example:  pdd-plan evaluate quickstart --plan plan.json --set 'workload.rate=12 req/s'"


def evaluate(
    scenario: ScenarioArgument,
    plan: PlanOption = None,
    fail: FailOption = None,
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
    """Score the fleet of a plan, such as today's, under a scenario; nothing is optimized.

    With --fail, also what users see with a part of it lost and requests re-routed. Ends with code
    1 if a limit is missed or the demand is not carried, with everything there or with a part lost.
    """
    from pdd_plan.cli.deliver import Target, leave
    from pdd_plan.cli.files import command_line
    from pdd_plan.cli.planning import Settings, given_or_planned, progress
    from pdd_plan.scenario import SharedScenario, load_question, of_one_service
    from pdd_plan.studies.outage_specs import parse_outages

    target = Target.checked(output, form, lang, quiet)
    loaded = load_question(scenario, changes or ())
    outages = parse_outages(of_one_service(loaded, "--fail"), fail) if fail else ()
    settings = Settings(time_limit, solver, seed, jobs)
    given = given_or_planned(loaded, plan, settings, quiet)

    if plan is None and given.status == "infeasible":
        target.deliver(given)
        leave(given)

    from pdd_plan.fleet.plan import Plan
    from pdd_plan.fleet.shared_plan import AnyPlan, SharedPlan
    from pdd_plan.studies.services import evaluate_services
    from pdd_plan.studies.uncertain import evaluate_with_risk

    command = command_line(
        "evaluate", [scenario], plan=plan, fail=fail, set=changes, **settings.words()
    )
    with progress(quiet) as show:
        options = replace(settings.options(loaded, command), progress=show)
        scored: AnyPlan
        if isinstance(loaded, SharedScenario):
            assert isinstance(given, SharedPlan)
            scored = evaluate_services(loaded, given, options)
        else:
            assert isinstance(given, Plan)
            scored = evaluate_with_risk(loaded, given, options, outages)
    target.deliver(scored)
    leave(scored)
