"""``pdd-plan calibrate``: efficiencies from measured points, as a profile for scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pdd_plan.cli.options import (
    DebugOption,
    FormatOption,
    Language,
    LanguageOption,
    OutputOption,
    QuietOption,
    ScenarioArgument,
    SetOption,
)

EPILOG = "Example:  pdd-plan calibrate fleet.yaml points.csv -o fit.html"


def _template(wanted: bool) -> None:
    if wanted:
        from pdd_plan.fleet.measurements import TEMPLATE

        typer.echo(TEMPLATE, nl=False)
        raise typer.Exit


def calibrate(
    scenario: ScenarioArgument,
    measurements: Annotated[
        str,
        typer.Argument(
            metavar="MEASUREMENTS",
            show_default=False,
            help="CSV table of measured points; --template prints one to fill in.",
        ),
    ],
    chip: Annotated[
        str | None,
        typer.Option(
            "--chip",
            metavar="NAME",
            show_default=False,
            help="Chip of the scenario to calibrate, where the table has several.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="NAME",
            show_default=False,
            help="Parameter that stays at its default, such as collective; may be given again.",
        ),
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(
            "--profile",
            metavar="FILE.yaml",
            show_default=False,
            help="Profile to write; by default CHIP-MODEL-FRAMEWORK.yaml.",
        ),
    ] = None,
    template: Annotated[  # noqa: ARG001 - acts before anything else
        bool,
        typer.Option(
            "--template",
            callback=_template,
            is_eager=True,
            help="Print a commented table of measurements and stop.",
        ),
    ] = False,
    changes: SetOption = None,
    form: FormatOption = None,
    output: OutputOption = None,
    quiet: QuietOption = False,
    debug: DebugOption = False,  # noqa: ARG001 - read from the context
    lang: LanguageOption = Language.en,
) -> None:
    """Fit efficiencies to measured points, and write them as a profile.

    Prints every fitted value with its range, every residual, and the line to paste into the
    scenario. Refuses where the points cannot tell a parameter, and says what would.
    """
    from pdd_plan.cli.deliver import Target, check_file, text_out
    from pdd_plan.cli.errors import note
    from pdd_plan.cli.files import command_line, existing_file
    from pdd_plan.scenario import load_scenario
    from pdd_plan.studies.calibrating import (
        CalibrationOptions,
        calibrate_scenario,
        profile_text,
    )

    target = Target.checked(output, form, lang, quiet)
    check_file(profile)
    file = existing_file(measurements, "table of measurements")
    words = {"chip": chip, "keep": keep, "profile": profile, "set": changes}
    command = command_line("calibrate", [scenario, measurements], **words)
    options = CalibrationOptions(chip, tuple(keep or ()), profile, command)
    found, place = calibrate_scenario(load_scenario(scenario, changes or ()), file, options)
    text_out(profile_text(found), place)
    target.deliver(found)
    if not quiet:
        note(f"wrote {place}")
