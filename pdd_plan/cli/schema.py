"""``pdd-plan schema``: the JSON Schema of scenarios and plans."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pdd_plan.cli.options import DebugOption

EPILOG = "Example:  pdd-plan schema scenario -o scenario.schema.json"


class What(StrEnum):
    """Documents that have a schema."""

    scenario = "scenario"
    plan = "plan"


def schema(
    what: Annotated[What, typer.Argument(help="Document to describe.")] = What.scenario,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", show_default=False, help="File to write."),
    ] = None,
    debug: DebugOption = False,  # noqa: ARG001 - read from the context
) -> None:
    """Print the JSON Schema of a scenario or a plan, for editors and other tools."""
    import json

    from pdd_plan.cli.deliver import text_out

    text_out(json.dumps(_schema(what), indent=2, ensure_ascii=False) + "\n", output)


def _schema(what: What) -> dict[str, object]:
    if what is What.plan:
        from pdd_plan.fleet.plan import plan_json_schema

        return plan_json_schema()
    from pdd_plan.scenario import scenario_json_schema

    return scenario_json_schema()
