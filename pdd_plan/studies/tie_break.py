"""Of all plans of the least cost, the one with the least percentile of TTFT."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from pdd_plan.fleet.check import check
from pdd_plan.fleet.evaluate import evaluate
from pdd_plan.fleet.problem import Candidate, Limit, Problem
from pdd_plan.optimizer.search import OPTIMAL_GAP, SearchOptions, search

PRECISION = 0.01
"""Relative width of the interval in which the least promise is left."""

MOST_TIMES = 64.0
"""A promise beyond this many times the prediction is not looked for."""


@dataclass(frozen=True)
class TieBreak:
    """The plan chosen among those of one cost, and how far that is proven.

    Attributes
    ----------
    candidate : Candidate
        Plan of the least predicted percentile among all that were found.
    key : str
        Such as ``ttft_p90``.
    value_s : float
        Its predicted percentile [s], by the full model.
    excluded_s : float
        By the planning rule no plan of this cost promises less than this [s].
    promised_s : float
        Least limit that some plan of this cost is found to keep by the planning rule [s].
    plans : int
        Plans of this cost that were compared.
    """

    candidate: Candidate
    key: str
    value_s: float
    excluded_s: float
    promised_s: float
    plans: int


def break_tie(
    problem: Problem, candidate: Candidate, key: str, options: SearchOptions
) -> TieBreak | None:
    """Look for plans that cost no more than a given one and have a lower percentile of TTFT.

    Parameters
    ----------
    problem : Problem
        What is planned.
    candidate : Candidate
        Plan of the least cost.
    key : str
        Percentile that decides, such as ``ttft_p90``.
    options : SearchOptions
        Solver, and the time for all searches together.

    Returns
    -------
    TieBreak or None
        None where the given plan promises no percentile at all.

    Notes
    -----
    A bisection over limits on that percentile: each step asks the search whether any plan of this
    cost keeps the limit by the planning rule. Found plans are compared by the full model, which
    predicts less than the rule promises.
    """
    percentile = float(key.removeprefix("ttft_p"))
    deadline = time.monotonic() + options.time_limit_s
    cost = candidate.usd_per_hour(problem) * (1.0 + OPTIMAL_GAP)
    options = replace(options, first_feasible=True, below_usd_per_hour=cost, progress=None)
    value = _predicted(problem, candidate, percentile)
    promised = _promised(problem, candidate, key, percentile, value)
    if promised is None:
        return None
    best, excluded, plans = candidate, 0.0, 1
    while promised - excluded > PRECISION * promised:
        left_s = deadline - time.monotonic()
        if left_s <= 0.0:
            break
        limit_s = 0.5 * (excluded + promised)
        trial = _with_limit(problem, key, percentile, limit_s)
        found = search(trial, replace(options, time_limit_s=left_s))
        if found.status == "unknown":
            break
        if found.candidate is None:
            excluded = limit_s
            continue
        promised, plans = limit_s, plans + 1
        predicted = _predicted(problem, found.candidate, percentile)
        if predicted < value:
            best, value = found.candidate, predicted
    return TieBreak(best, key, value, excluded, promised, plans)


def _predicted(problem: Problem, candidate: Candidate, percentile: float) -> float:
    return evaluate(problem, candidate).ttft.quantile(percentile / 100.0)


def _with_limit(problem: Problem, key: str, percentile: float, limit_s: float) -> Problem:
    """The problem with a limit on the percentile, in place of its own where it has one."""
    others = tuple(limit for limit in problem.limits if limit.key != key)
    return replace(problem, limits=(*others, Limit("ttft", percentile, limit_s, key)))


def _promised(
    problem: Problem, candidate: Candidate, key: str, percentile: float, start_s: float
) -> float | None:
    """A limit that a plan keeps by the planning rule: its own, or a multiple of the prediction."""
    own = [limit.limit_s for limit in problem.limits if limit.key == key]
    if own:
        return own[0]
    limit_s = start_s
    while limit_s <= MOST_TIMES * start_s:
        if check(_with_limit(problem, key, percentile, limit_s), candidate).ok:
            return limit_s
        limit_s *= 1.5
    return None
