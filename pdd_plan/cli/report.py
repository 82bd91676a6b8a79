"""``pdd-plan report``: a saved plan in another form."""

from __future__ import annotations

from typing import Annotated

import typer

from pdd_plan.cli.options import (
    DebugOption,
    FormatOption,
    Language,
    LanguageOption,
    OutputOption,
    QuietOption,
)

EPILOG = "Example:  pdd-plan report plan.json -o plan.md"


def report(
    plan: Annotated[
        str, typer.Argument(metavar="PLAN", show_default=False, help="Saved plan (JSON).")
    ],
    form: FormatOption = None,
    output: OutputOption = None,
    quiet: QuietOption = False,
    debug: DebugOption = False,  # noqa: ARG001 - read from the context
    lang: LanguageOption = Language.en,
) -> None:
    """Show a saved plan again: on the console, as Markdown, CSV, HTML or JSON."""
    from pdd_plan.cli.deliver import Target
    from pdd_plan.cli.files import existing_file
    from pdd_plan.fleet.shared_plan import load_any_plan

    target = Target.checked(output, form, lang, quiet)
    target.deliver(load_any_plan(existing_file(plan, "plan")))
