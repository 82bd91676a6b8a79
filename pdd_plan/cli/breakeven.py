"""``pdd-plan breakeven``: the price, limit or distance at which something begins to pay."""

from __future__ import annotations

from enum import Enum
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
    from pdd_plan.scenario import Question

EPILOG = "Example:  pdd-plan breakeven quickstart --of sites.shanghai.chips.h20.price"


class Pays(Enum):
    """What is to pay."""

    chip = "chip"
    line = "line"
    split = "split"
    relay = "relay"


def breakeven(
    scenario: ScenarioArgument,
    of: Annotated[
        str,
        typer.Option(
            "--of",
            metavar="PATH",
            show_default=False,
            help="Value of the scenario to vary, such as links.beijing-shanghai.price.",
        ),
    ],
    pays: Annotated[
        Pays | None,
        typer.Option(
            "--pays",
            show_default=False,
            help="What is to pay: the chip or line that the path belongs to (their default), any "
            "fleet over several sites (split, the default of other paths), or a relay.",
        ),
    ] = None,
    between: Annotated[
        str | None,
        typer.Option(
            "--between",
            metavar="LOW,HIGH",
            show_default=False,
            help="Look between these values; by default outward from the scenario's own.",
        ),
    ] = None,
    precision: Annotated[
        float,
        typer.Option(
            "--precision",
            metavar="PERCENT",
            min=0.01,
            max=50.0,
            help="Distance of the value that pays from the one that does not, in percent.",
        ),
    ] = 1.0,
    changes: SetOption = None,
    form: FormatOption = None,
    output: OutputOption = None,
    time_limit: TimeLimitOption = None,
    solver: SolverOption = None,
    seed: SeedOption = 0,
    jobs: CoresOption = None,
    quiet: QuietOption = False,
    debug: DebugOption = False,  # noqa: ARG001 - read from the context
    lang: LanguageOption = Language.en,
) -> None:
    """Find the value at which a chip, a line, a second site or a relay begins or ceases to pay.

    Plans are made anew at each value; both bounds of the answer are planned values.
    """
    from pdd_plan import __version__
    from pdd_plan.cli.deliver import Target
    from pdd_plan.cli.files import command_line
    from pdd_plan.errors import SolverError
    from pdd_plan.scenario import load_question

    target = Target.checked(output, form, lang, quiet)
    loaded = load_question(scenario, changes or ())
    _require_costs(loaded)
    ends = _ends(between)

    from pdd_plan.cli.planning import Settings, progress
    from pdd_plan.cli.sweep_output import local_runner
    from pdd_plan.report.break_even import BreakEvens
    from pdd_plan.studies.break_even import break_even
    from pdd_plan.studies.break_even_rules import asked_of
    from pdd_plan.studies.left_out import left_out
    from pdd_plan.studies.why import answers

    asked = asked_of(loaded, of, pays.value if pays else None, ends and ends[1])
    span = ends[0] if ends else None
    for value in span or (asked.now,):
        if value is not None:
            load_question(scenario, (*(changes or ()), *asked.at(value)))
    settings = Settings(time_limit, solver, seed)
    words = {"pays": pays and pays.value, "between": between, "set": changes, **settings.words()}
    words["precision"] = None if precision == 1.0 else f"{precision:g}"
    command = command_line("breakeven", [scenario], of=of, **words)
    with progress(quiet) as show:
        question = break_even(asked, span, precision / 100.0)
        runner = local_runner(jobs, show, "break-even:")
        options = settings.options(loaded, command)
        (found,) = answers([question], scenario, options, runner, changes or ())
    if found[0].pays == "unknown":
        raise SolverError(found[0].reason)
    source = loaded.source.sha256
    target.deliver(
        BreakEvens(
            loaded.name, source, loaded.currency, found, command, __version__, left_out(loaded)
        )
    )


def _require_costs(scenario: Question) -> None:
    """Refuse scenarios whose fleets are not chosen by cost at one demand."""
    from pdd_plan.errors import InputError
    from pdd_plan.scenario import SharedScenario
    from pdd_plan.studies.why import compares_costs

    if isinstance(scenario, SharedScenario) or compares_costs(scenario):
        return
    if scenario.objective != "cost_per_token":
        path, said = "objective", f"the objective is {scenario.objective}"
        mend = "add --set objective=cost_per_token, and a rate if the workload has none"
    else:
        path, said = "routing.between", "prefill is shared between sites by size"
        mend = "use --set routing.between=decode"
    message = f"a break-even compares costs at one demand, but {said}"
    raise InputError(scenario.source.issue(path, message, mend))


def _ends(between: str | None) -> tuple[tuple[float, float], str] | None:
    """Return the two values of ``--between`` and their unit."""
    from pdd_plan.errors import InputError, Issue
    from pdd_plan.studies.sweep_axes import scale_of, split_values

    if between is None:
        return None
    parts = split_values(between)
    scale = scale_of(parts)
    if len(parts) != 2 or scale is None:
        message = f'--between "{between}" is not two values of one kind'
    elif not 0 <= scale.numbers[0] < scale.numbers[1]:
        message = f'--between "{between}" does not rise from a value of 0 or more'
    else:
        return (scale.numbers[0], scale.numbers[1]), scale.unit
    raise InputError(Issue(message, "--between", help='write for example --between "1 s,5 s"'))
