"""`python -m benchmarks.speed`: how long the usual things take, and where the time goes.

Prints a Markdown table; with `--write` it is put into ``docs/benchmarks.md``. Times depend on the
machine; the last column gives them as multiples of a fixed piece of numpy work done in the same
run, which moves less from machine to machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence

from benchmarks.measured import PROGRAM, environment, use_one_thread
from benchmarks.pages import BENCHMARKS, put_section, table

TITLE = "## The usual things"
TEXT = """\
`python -m benchmarks.speed`: medians of a few runs each. The last column, multiples of a fixed
piece of numpy work in the same run, moves less between machines than seconds do."""
AFTER = """\
Most of a plan is the search: waiting times by engines and load, and lane states. Importing numpy,
pydantic, SciPy's functions, PuLP and HiGHS takes much of the rest."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed")
    parser.add_argument("--write", action="store_true", help=f"put it into {BENCHMARKS.name}")
    given = parser.parse_args()
    use_one_thread()
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    unit_s = _median(_yardstick, 7)
    times = [
        ("pdd-plan --help", _command("--help")),
        ("pdd-plan optimize quickstart", _command("optimize", "quickstart")),
        *_stages(),
    ]
    rows = [(what, f"{seconds:.4f}", f"{seconds / unit_s:.1f}") for what, seconds in times]
    found = table(("what", "seconds", "multiples of the yardstick"), rows, "lrr")
    yardstick = f"Yardstick: 200 real FFTs of 16,384 points, {unit_s:.4f} s."
    body = "\n\n".join((TEXT, found, yardstick, AFTER))
    print(f"{TITLE}\n\n{body}")
    if given.write:
        put_section(BENCHMARKS, TITLE, body)


def _yardstick() -> None:
    import numpy as np

    values = np.linspace(0.0, 1.0, 16384)
    for _ in range(200):
        np.fft.irfft(np.fft.rfft(values))


def _median(work: Callable[[], object], times: int) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def _command(*arguments: str) -> float:
    def run() -> None:
        command = [*PROGRAM, *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment())  # noqa: S603

    run()  # what Python has not compiled yet, it compiles now
    return _median(run, 5)


def _stages() -> Sequence[tuple[str, float]]:
    """Time the stages of the quickstart's plan, each once, and its evaluation many times."""
    start = time.perf_counter()
    from pdd_plan.fleet.build import build_problem
    from pdd_plan.fleet.evaluate import evaluate
    from pdd_plan.fleet.paths import PathModel
    from pdd_plan.optimizer.search import search
    from pdd_plan.report import render
    from pdd_plan.scenario import load_scenario
    from pdd_plan.studies.planning import plan_scenario

    imported = time.perf_counter()
    scenario = load_scenario("quickstart")
    loaded = time.perf_counter()
    problem = build_problem(scenario).problem
    built = time.perf_counter()
    model = PathModel(problem)
    result = search(problem, model=model)
    searched = time.perf_counter()
    plan = plan_scenario(scenario)
    planned = time.perf_counter()
    render(plan, "console", width=100)
    rendered = time.perf_counter()
    candidate = result.candidate
    assert candidate is not None
    atoms = len(problem.atoms)
    one_s = _median(lambda: evaluate(problem, candidate, model), 21)
    return (
        ("import", imported - start),
        ("load the scenario", loaded - imported),
        ("workload, engines, lanes", built - loaded),
        ("search, with proof", searched - built),
        ("whole plan: build, search, baselines, evaluation", planned - searched),
        ("render for the console", rendered - planned),
        (f"one evaluation, {atoms} atoms", one_s),
    )


if __name__ == "__main__":
    main()
