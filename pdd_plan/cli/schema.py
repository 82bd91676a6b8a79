"""``pdd-plan schema``: the JSON Schema of scenarios and plans."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pdd_plan.cli.options import DebugOption

EPILOG = "Example:  pdd-plan schema scenario -o scenario.schema.json"


class What(StrEnum):
    """What can be described: two documents as JSON Schema, or all scenario keys as Markdown."""

    scenario = "scenario"
    plan = "plan"
    reference = "reference"


def schema(
    what: Annotated[
        What,
        typer.Argument(
            help="JSON Schema of a scenario or a plan, or all scenario keys as Markdown."
        ),
    ] = What.scenario,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", show_default=False, help="File to write."),
    ] = None,
    debug: DebugOption = False,  # noqa: ARG001 - read from the context
) -> None:
    """Print the JSON Schema of a scenario or a plan, or all keys of a scenario."""
    from pdd_plan.cli.deliver import text_out

    text_out(_text(what), output)


def _text(what: What) -> str:
    import json

    if what is What.reference:
        from pdd_plan.scenario.reference import reference_markdown

        return reference_markdown()
    if what is What.plan:
        from pdd_plan.fleet.shared_plan import any_plan_json_schema as described
    else:
        from pdd_plan.scenario.json_schema import scenario_json_schema as described
    return json.dumps(described(), indent=2, ensure_ascii=False) + "\n"
