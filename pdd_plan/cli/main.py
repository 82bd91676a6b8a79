"""The program ``pdd-plan``: its commands, and the one place where errors end."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pdd_plan import __version__
from pdd_plan.cli import (
    breakeven,
    calibrate,
    compare,
    evaluate,
    init,
    optimize,
    profiles,
    report,
    schema,
    simulate,
    sweep,
    trace,
)
from pdd_plan.cli.errors import fail
from pdd_plan.cli.options import DEBUG

EPILOG = "Example:  pdd-plan optimize quickstart"


class Commands(TyperGroup):
    """The commands in the order of a session, with errors turned into text and exit codes."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the base class names it
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


def _add(command: Callable[..., None], epilog: str, summary: str) -> None:
    app.command(command.__name__, epilog=epilog, short_help=summary)(command)


_add(optimize.optimize, optimize.EPILOG, "Plan the cheapest fleet that keeps every limit.")
_add(evaluate.evaluate, evaluate.EPILOG, "Score a given fleet under a scenario.")
_add(compare.compare, compare.EPILOG, "Put scenarios, what-ifs and saved plans side by side.")
_add(sweep.sweep, sweep.EPILOG, "Plan a grid of what-ifs, or the cost-latency front.")
_add(breakeven.breakeven, breakeven.EPILOG, "Find the price, limit or distance at which it pays.")
_add(simulate.simulate, simulate.EPILOG, "Check a plan by discrete-event simulation.")
_add(calibrate.calibrate, calibrate.EPILOG, "Fit efficiencies to measured points.")
_add(trace.trace, trace.EPILOG, "Tell what is in a trace, write its request types.")
_add(report.report, report.EPILOG, "Show a saved plan again, in any form.")
app.add_typer(profiles.app, name="profiles")
_add(init.init, init.EPILOG, "Write a commented scenario to start from.")
_add(schema.schema, schema.EPILOG, "Print the JSON Schema of a scenario or a plan.")


def main() -> None:
    """Run the program with the arguments of the process."""
    # Before numpy is loaded: the matrices are small, so threads of linear algebra only get in each
    # other's way; and pydantic need not look through all installed packages for plugins.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Little of what a command makes is ever garbage in a cycle; looking for it takes 5 % of a plan.
    gc.set_threshold(100_000)
    app(prog_name="pdd-plan")
