"""Search a random fleet in a process of its own, and say how long it took and what it proved."""

from __future__ import annotations

import multiprocessing
import resource
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from benchmarks.measured import RSS_BYTES
from benchmarks.optimizer.fleets import Size, random_fleet


@dataclass(frozen=True)
class Outcome:
    """What one search reached.

    Attributes
    ----------
    status : str
        As in a plan: optimal, feasible, infeasible or unknown.
    gap : float
        (cost - bound) / cost; infinite without a plan, 0 where none is proven to exist.
    first_s, total_s : float
        Processor time from the scenario to the first plan, and to the end [s]; infinite without a
        plan.
    memory_mib : float
        Largest resident memory of the process [MiB].
    """

    status: str
    gap: float
    first_s: float
    total_s: float
    memory_mib: float


def measure(size: Size, seed: int, limit_s: float) -> Outcome:
    """Search one fleet in a fresh process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_search, size, seed, limit_s).result()


def _search(size: Size, seed: int, limit_s: float) -> Outcome:
    from pdd_plan.fleet.build import build_problem
    from pdd_plan.optimizer.search import SearchOptions, search

    scenario = random_fleet(seed, size)
    started = time.process_time()
    plans: list[float] = []
    problem = build_problem(scenario).problem
    options = SearchOptions(
        time_limit_s=limit_s,
        progress=lambda _: plans.append(time.process_time() - started),
        clock=time.process_time,
    )
    result = search(problem, options)
    none = result.status == "infeasible"
    return Outcome(
        result.status,
        0.0 if none else result.certificate.gap,
        plans[0] if plans else float("inf"),
        time.process_time() - started,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_BYTES / 2**20,
    )


def spread(values: Sequence[float], digits: int = 1, unit: str = "") -> str:
    """Median and largest of some values, as text for a table."""
    median, most = statistics.median(values), max(values)
    return f"{median:.{digits}f}{unit} / {most:.{digits}f}{unit}"


def proven(outcomes: Sequence[Outcome]) -> int:
    """How many searches ended with a proof: of an optimum, or that there is no plan."""
    return sum(one.status in ("optimal", "infeasible") for one in outcomes)
