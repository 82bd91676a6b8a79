"""The program ``pdd-plan``: its commands, and the one place where errors end."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pdd_plan import __version__
from pdd_plan.cli import (
    compare,
    evaluate,
    init,
    optimize,
    profiles,
    report,
    schema,
    trace,
)
from pdd_plan.cli.errors import fail
from pdd_plan.cli.options import DEBUG

EPILOG = "Example:  pdd-plan optimize quickstart"


class Commands(TyperGroup):
    """The commands in the order of a session, with errors turned into text and exit codes."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the command names as registered, not sorted."""
        return list(self.commands)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; whatever it raises ends here."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except (typer.Exit, typer.Abort):
            raise
        except (Exception, KeyboardInterrupt) as error:
            if hasattr(error, "show") and hasattr(error, "exit_code"):  # a usage error of typer
                raise
            fail(error, debug=ctx.meta.get(DEBUG, False))
        return result


app = typer.Typer(
    cls=Commands,
    name="pdd-plan",
    help="Plan LLM inference fleets that split prefill and decode over several data centers: "
    "which chips, how many, at which sites, over which lines, at the least cost per token "
    "while the service levels hold.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pdd-plan {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Take the options that stand before a command."""


app.command(
    "optimize", epilog=optimize.EPILOG, short_help="Plan the cheapest fleet that keeps every limit."
)(optimize.optimize)
app.command("evaluate", epilog=evaluate.EPILOG, short_help="Score a given fleet under a scenario.")(
    evaluate.evaluate
)
app.command(
    "compare",
    epilog=compare.EPILOG,
    short_help="Put scenarios, what-ifs and saved plans side by side.",
)(compare.compare)
app.command(
    "trace", epilog=trace.EPILOG, short_help="Tell what is in a trace, write its request types."
)(trace.trace)
app.command("report", epilog=report.EPILOG, short_help="Show a saved plan again, in any form.")(
    report.report
)
app.add_typer(profiles.app, name="profiles")
app.command("init", epilog=init.EPILOG, short_help="Write a commented scenario to start from.")(
    init.init
)
app.command(
    "schema", epilog=schema.EPILOG, short_help="Print the JSON Schema of a scenario or a plan."
)(schema.schema)


def main() -> None:
    """Run the program with the arguments of the process."""
    app(prog_name="pdd-plan")
