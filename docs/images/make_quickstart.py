"""Draw the picture of the README: the report of the quickstart plan, down to its baselines.

Run ``python docs/images/make_quickstart.py`` after a change of the report or of the quickstart.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from pdd_plan.report.render import render
from pdd_plan.scenario import load_scenario
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.planning import plan_scenario

COLUMNS = 96
LAST = "Traffic:"
"""The first heading that is left out."""


def main() -> None:
    """Plan, render, and write the picture beside this file."""
    command = "pdd-plan optimize quickstart"
    plan = plan_scenario(load_scenario("quickstart"), PlanOptions(command=command))
    report = render(plan, "console", COLUMNS, color=True)
    lines = report.splitlines()
    shown = lines[: next(i for i, line in enumerate(lines) if LAST in line)]
    console = Console(record=True, width=COLUMNS + 2, file=io.StringIO(), force_terminal=True)
    console.print(f"[bold]$ {command}[/bold]")
    for line in shown:
        console.print(Text.from_ansi(line), soft_wrap=True)
    svg = console.export_svg(title="pdd-plan", theme=MONOKAI)
    # The font of the reader's system will do; a picture fetches nothing.
    svg = re.sub(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace")
    Path(__file__).with_name("quickstart.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
