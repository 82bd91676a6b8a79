"""``pdd-plan profiles``: chips, models and links at hand, each number with its source."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from pdd_plan.cli.options import DebugOption

app = typer.Typer(
    help="Show and check the profiles of chips, models and links.",
    epilog="Example:  pdd-plan profiles show h20",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class Kind(StrEnum):
    """Kinds of profiles."""

    chips = "chips"
    models = "models"
    links = "links"


class TableFormat(StrEnum):
    """Forms of a table."""

    console = "console"
    md = "md"
    csv = "csv"
    json = "json"


TableFormatOption = Annotated[TableFormat, typer.Option("--format", "-f", help="Form.")]


@app.command("list", epilog="Example:  pdd-plan profiles list chips --format md")
def list_(
    kind: Annotated[
        Kind | None, typer.Argument(show_default=False, help="Kind; all by default.")
    ] = None,
    form: TableFormatOption = TableFormat.console,
    debug: DebugOption = False,  # noqa: ARG001 - read from the context
) -> None:
    """List the profiles that ship with the package."""
    from pdd_plan.cli.profile_tables import listing
    from pdd_plan.cli.tables import print_tables

    kinds = [kind] if kind is not None else list(Kind)
    tables = [listing(one.value) for one in kinds]
    print_tables("profiles", "what ships with the package", tables, form.value)


@app.command(
    "show",
    epilog="Example:  pdd-plan profiles show h20",
    short_help="Show every number of a profile with its source.",
)
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE",
            show_default=False,
            help="Chip, model or link; or the file of a profile, or a Hugging Face config.json.",
        ),
    ],
    form: TableFormatOption = TableFormat.console,
    debug: DebugOption = False,  # noqa: ARG001 - read from the context
) -> None:
    """Show every number of a profile with its source, date and confidence."""
    from pdd_plan.cli.profile_tables import details
    from pdd_plan.cli.tables import print_tables

    subtitle, tables = details(name)
    print_tables(name, subtitle, tables, form.value)


@app.command("check", epilog="Example:  pdd-plan profiles check my-chip.yaml")
def check(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...", show_default=False, help="Profiles of your own, besides all."
        ),
    ] = None,
    debug: DebugOption = False,  # noqa: ARG001 - read from the context
) -> None:
    """Check that profiles are complete and every number has a source."""
    from pdd_plan.catalog import check_profiles, chip_names, link_names, model_names
    from pdd_plan.errors import InputError

    issues = check_profiles(files or ())
    if issues:
        raise InputError(issues)
    counts = {"chips": chip_names(), "models": model_names(), "links": link_names()}
    shipped = ", ".join(f"{len(names)} {kind}" for kind, names in counts.items())
    typer.echo(f"{shipped}, {len(files or ())} of your own: no fault found")
