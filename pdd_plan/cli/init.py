"""``pdd-plan init``: a commented scenario to start from."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from pdd_plan.cli.options import DebugOption, QuietOption

EPILOG = "Example:  pdd-plan init agent-fleet.yaml"


def init(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File to write; one that exists is kept.")
    ] = Path("scenario.yaml"),
    source: Annotated[
        str, typer.Option("--from", metavar="NAME", help="Shipped scenario to copy.")
    ] = "quickstart",
    quiet: QuietOption = False,
    debug: DebugOption = False,  # noqa: ARG001 - read from the context
) -> None:
    """Write a commented scenario to start from: a copy of a shipped one."""
    from pdd_plan.cli.deliver import text_out
    from pdd_plan.cli.errors import note
    from pdd_plan.cli.files import shipped_scenario
    from pdd_plan.errors import InputError, Issue

    origin = shipped_scenario(source)
    text = origin.read_text(encoding="utf-8")
    named = f"name: {json.dumps(file.stem, ensure_ascii=False)}"  # quoted: "7" is text
    pairs = [(file, re.sub(r"(?m)^name: .*$", lambda _: named, text, count=1))]
    pairs += [
        (file.parent / used, (origin.parent / used).read_text(encoding="utf-8"))
        for used in re.findall(r"\bpath: ([\w./-]+)", text)
    ]
    for place, _ in pairs:
        if place.exists():
            mend = "name another file, or remove it first"
            if place.is_dir():
                mend = f"it is a folder: name a file in it, such as {place / 'scenario.yaml'}"
            raise InputError(Issue(f"{place} exists and is kept", help=mend))
    for place, content in reversed(pairs):
        if place is not file:
            place.parent.mkdir(parents=True, exist_ok=True)
        text_out(content, place)
    if not quiet:
        note(f"wrote {file}; plan it with: pdd-plan optimize {file}")
