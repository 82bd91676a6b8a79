"""The validation report as a whole: which parts it has, and how it begins and ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.validation.agreement import grid_section, random_section
from benchmarks.validation.document import Section

Report = Callable[[str], None]

INTRODUCTION = """# Validation

What `pdd-plan` predicts, beside what a simulation that shares none of its queueing formulas
shows, beside real traces replayed, and beside published results. Written by

    python -m benchmarks.validation

from this repository and, for traces and measurements, the folder of public data that
`PDD_PLAN_SHARED_DATA` names. Nothing here is tuned to the comparison; where a published result
leaves an input open, the table says what was fitted."""


def write_report(
    *, plans: int, jobs: int, out: Path, kept: Path, only: Sequence[str] | None, report: Report
) -> None:
    """Run all comparisons and write the report with its charts.

    Parameters
    ----------
    plans : int
        Random fleets to simulate.
    jobs : int
        Simulations at a time.
    out : Path
        Folder of the report; charts go to its folder ``images``.
    kept : Path
        Where simulations are kept.
    only : sequence of str, optional
        Names of the parts to write.
    report : callable
        Told what is done.
    """
    parts: dict[str, Callable[[], Section | None]] = {
        "random": lambda: random_section(plans, kept, jobs, report),
        "grid": lambda: grid_section(kept, jobs, report),
    }
    sections = []
    for name, make in parts.items():
        if only and name not in only:
            continue
        report(f"--- {name}")
        section = make()
        if section is not None:
            sections.append(section)
    images = out / "images"
    images.mkdir(parents=True, exist_ok=True)
    for section in sections:
        for file, drawn in section.charts.items():
            (images / file).write_text(drawn, encoding="utf-8")
    (out / "validation.md").write_text(_text(sections), encoding="utf-8")


def _text(sections: Sequence[Section]) -> str:
    overview = [f"- {line}." for section in sections for line in section.summary]
    limits = [f"- {line}" for section in sections for line in section.limits]
    parts = [INTRODUCTION, "## In short", "\n".join(overview)]
    for section in sections:
        parts += [f"## {section.title}", section.body]
    if limits:
        parts += ["## Where the model is off, and why", "\n".join(limits)]
    return "\n\n".join(parts) + "\n"
