"""``pdd-plan trace``: what is in a trace, and its table of request types."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pdd_plan.cli.options import DebugOption, QuietOption
from pdd_plan.cli.profiles import TableFormat, TableFormatOption

EPILOG = "Example:  pdd-plan trace conversation.jsonl.gz -o workload.csv"


class TraceFormat(StrEnum):
    """Formats of traces."""

    mooncake = "mooncake"
    azure = "azure"
    claude_code = "claude_code"
    csv = "csv"
    jsonl = "jsonl"


def trace(
    file: Annotated[
        str,
        typer.Argument(
            metavar="TRACE", show_default=False, help="Trace; may be compressed (.gz, .zst)."
        ),
    ],
    kind: Annotated[
        TraceFormat | None,
        typer.Option("--trace-format", show_default=False, help="Format; found by default."),
    ] = None,
    form: TableFormatOption = TableFormat.console,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE.csv",
            show_default=False,
            help="Write the request types there, for workload.trace with format: atoms.",
        ),
    ] = None,
    max_atoms: Annotated[
        int, typer.Option("--max-atoms", metavar="N", min=1, help="Most request types.")
    ] = 600,
    window: Annotated[
        float,
        typer.Option("--window", metavar="SECONDS", min=1e-3, help="Time scale of the burstiness."),
    ] = 10.0,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="Seed of what the trace leaves open.")
    ] = 0,
    quiet: QuietOption = False,
    debug: DebugOption = False,  # noqa: ARG001 - read from the context
) -> None:
    """Tell what is in a trace: rate, burstiness, lengths and the skew of hit rates."""
    from pdd_plan.cli.deliver import check_file
    from pdd_plan.cli.errors import note
    from pdd_plan.cli.files import existing_file
    from pdd_plan.cli.tables import print_tables
    from pdd_plan.cli.trace_tables import trace_tables, write_workload
    from pdd_plan.workload import read_trace

    check_file(output)
    found = read_trace(existing_file(file, "trace"), kind.value if kind else None, seed=seed)
    tables, subtitle = trace_tables(found, window)
    notes = list(found.notes)
    if output is not None:
        notes.append(write_workload(found, output, max_atoms))
    print_tables(Path(file).name, subtitle, tables, form.value)
    if not quiet:
        for line in notes:
            note(f"note: {line}")
