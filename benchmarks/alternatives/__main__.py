"""`python -m benchmarks.alternatives`: pdd-plan beside what one would use instead.

Prints a section for `docs/benchmarks.md`; with `--write` it is put there. Every contender runs in a
process of its own, one after the other, several times in turn, so that all share what else the
machine does; medians are shown. NVIDIA's aiconfigurator is installed into a virtual environment
that is removed again (`--aiconfigurator PYTHON` takes one that has it); without a network it is
left out.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.alternatives import aiconfigurator
from benchmarks.alternatives.document import TITLE, section
from benchmarks.alternatives.running import contend, load
from benchmarks.measured import Measured
from benchmarks.pages import BENCHMARKS, put_section

ATOMS = (20, 50, 100, 200, 500, 1000, 2000)
Run = Callable[[], tuple[Measured, dict[str, Any]]]


@dataclass(frozen=True)
class Entry:
    """Medians over the runs of one contender, and its answer."""

    name: str
    wall_s: float
    cpu_s: float
    rss_bytes: float
    search_s: float
    answer: dict[str, Any]


def main() -> None:
    """Run everything and print the section."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.alternatives")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each contender")
    parser.add_argument("--aiconfigurator", metavar="PYTHON", help="interpreter that has it")
    parser.add_argument(
        "--write", action="store_true", help=f"put the section into {BENCHMARKS.name}"
    )
    options = parser.parse_args()
    before, missing = load(), ""
    own: dict[str, Run] = {
        "pdd-plan": partial(contend, "planned-one-site"),
        "every fleet evaluated": partial(contend, "enumerated-one-site"),
        "every fleet simulated": partial(contend, "simulated-one-site"),
    }
    try:
        with aiconfigurator.environment(options.aiconfigurator) as python:
            name = f"aiconfigurator {aiconfigurator.VERSION}"
            runs: dict[str, Run] = {name: partial(aiconfigurator.run, python), **own}
            one = entries(runs, options.repeat)
    except aiconfigurator.UnavailableError as error:
        missing = f"aiconfigurator {aiconfigurator.VERSION} was left out: {error}"
        note(missing)
        one = entries(own, options.repeat)
    two = entries(
        {
            "pdd-plan": partial(contend, "planned-two-sites"),
            "fleets evaluated, cheapest first": partial(contend, "enumerated-two-sites"),
            "simulation-driven descent": partial(contend, "simulated-two-sites"),
        },
        options.repeat,
    )
    growth = entries(
        {str(atoms): partial(contend, "planned-two-sites", str(atoms)) for atoms in ATOMS},
        options.repeat,
    )
    text = section(one, two, growth, before, missing, options.repeat)
    print(f"{TITLE}\n\n{text}\n")
    if options.write:
        put_section(BENCHMARKS, TITLE, text)


def entries(runs: dict[str, Run], repeat: int) -> list[Entry]:
    """Run every contender in turn, over and over, and take medians."""
    seen: dict[str, list[tuple[Measured, dict[str, Any]]]] = {name: [] for name in runs}
    for number in range(repeat):
        for name, run in runs.items():
            note(f"run {number + 1} of {repeat}: {name}")
            seen[name].append(run())
    return [
        Entry(
            name,
            _median([one.wall_s for one, _ in found]),
            _median([one.cpu_s for one, _ in found]),
            _median([one.rss_bytes for one, _ in found]),
            _median([answer["search_s"] for _, answer in found]),
            _answer([answer for _, answer in found]),
        )
        for name, found in seen.items()
    ]


def _answer(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the answer, which is the same in every run but for its speeds: their medians."""
    speeds = [one["evaluations_per_s"] for one in answers if "evaluations_per_s" in one]
    return answers[0] | ({"evaluations_per_s": _median(speeds)} if speeds else {})


def _median(values: Sequence[float]) -> float:
    return float(statistics.median(values))


def note(text: str) -> None:
    """Tell on stderr what is being done."""
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
