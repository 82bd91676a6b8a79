"""The validation report as a whole: which parts it has, and how it begins and ends.

Every part that was made is kept beside the simulations, so a run of one part renews that part and
leaves the others in the report.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.pages import table
from benchmarks.validation.agreement import grid_section, random_section
from benchmarks.validation.document import Section
from benchmarks.validation.published import published_section
from benchmarks.validation.replay import replay_section
from benchmarks.validation.silicon import silicon_section
from tests.conftest import shared_data

Report = Callable[[str], None]

PARTS = ("random", "grid", "replay", "published", "silicon")
"""Names of the parts, in the order of the report."""

INTRODUCTION = """# Validation

What `pdd-plan` predicts, beside what a simulation that shares none of its queueing formulas
shows, beside real traces replayed, beside published results and beside measured runs. Written by

    python -m benchmarks.validation

from this repository and, for traces and measurements, the folder of public data that
`PDD_PLAN_SHARED_DATA` names. Nothing here is tuned to the comparison; where a published result
leaves an input open, the table says what was fitted."""


def write_report(
    *, plans: int, jobs: int, out: Path, kept: Path, only: Sequence[str] | None, report: Report
) -> None:
    """Run comparisons and write the report with its charts.

    Parameters
    ----------
    plans : int
        Random fleets to simulate.
    jobs : int
        Simulations at a time.
    out : Path
        Folder of the report; charts go to its folder ``images``.
    kept : Path
        Where simulations and parts are kept.
    only : sequence of str, optional
        Parts to make anew; all by default. Other parts are taken as kept.
    report : callable
        Told what is done.
    """
    data = shared_data()
    makers: dict[str, Callable[[], Section | None]] = {
        "random": lambda: random_section(plans, kept, jobs, report),
        "grid": lambda: grid_section(kept, jobs, report),
        "replay": lambda: replay_section(data, report),
        "published": lambda: published_section(data),
        "silicon": lambda: silicon_section(data),
    }
    for name in only or PARTS:
        report(f"--- {name}")
        start = time.monotonic()
        section = makers[name]()
        if section is None:
            report(f"{name}: left out, no public data (set PDD_PLAN_SHARED_DATA)")
            continue
        _keep(kept, name, section, time.monotonic() - start)
    images = out / "images"
    images.mkdir(parents=True, exist_ok=True)
    parts = _parts(kept)
    for section, _ in parts.values():
        for file, drawn in section.charts.items():
            (images / file).write_text(drawn, encoding="utf-8")
    (out / "validation.md").write_text(_text(parts), encoding="utf-8")


def _keep(kept: Path, name: str, section: Section, seconds: float) -> None:
    folder = kept / "parts"
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"seconds": seconds, **asdict(section)})
    (folder / f"{name}.json").write_text(text, encoding="utf-8")


def _parts(kept: Path) -> dict[str, tuple[Section, float]]:
    """Return every part that is kept, in order, and how long it took [s]."""
    found = {}
    for name in PARTS:
        path = kept / "parts" / f"{name}.json"
        if path.is_file():
            values = json.loads(path.read_text(encoding="utf-8"))
            seconds = values.pop("seconds")
            values["summary"], values["limits"] = tuple(values["summary"]), tuple(values["limits"])
            found[name] = (Section(**values), float(seconds))
    return found


def _text(parts: Mapping[str, tuple[Section, float]]) -> str:
    sections = [section for section, _ in parts.values()]
    overview = [f"- {line}." for section in sections for line in section.summary]
    limits = [f"- {line}" for section in sections for line in section.limits]
    pieces = [INTRODUCTION, "## In short", "\n".join(overview)]
    for section in sections:
        pieces += [f"## {section.title}", section.body]
    if limits:
        pieces += ["## Where the model is off, and why", "\n".join(limits)]
    rows = [
        (f"`--only {name}`", section.title, f"{max(seconds / 60.0, 0.1):.1f} min")
        for name, (section, seconds) in parts.items()
    ]
    pieces += [
        "## How long it takes",
        "Without the simulations of random fleets and of the grid, which are run once and kept "
        "as long as neither the fleets nor the code of the simulation change.",
        table(("part", "", "took"), rows, "llr"),
    ]
    return "\n\n".join(pieces) + "\n"
