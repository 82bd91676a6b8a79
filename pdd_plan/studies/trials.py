"""Feasibility of changed problems: how small a change of the scenario makes a plan."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Problem
from pdd_plan.fleet.stability import shortfall
from pdd_plan.optimizer.search import SearchOptions, search

MOST_TIMES = 64.0
"""Changes beyond this many times the present value are not looked for."""

EXPLAIN_S = 20.0
"""Time for all trials together [s]; what is not found by then is left out."""

SAME_TABLES = frozenset({"pools", "stock", "site_watts", "site_chips", "arrival_rate_per_s"})
"""Fields of a problem that leave the times of engines and lanes as they are; of pools, only the
numbers of engines are changed."""

ROUNDS = 6
"""Bisection rounds for a change: about 2 % of the span."""


class Trials:
    """Feasibility of changed problems, by the same search as the plan's."""

    def __init__(self, problem: Problem, options: SearchOptions) -> None:
        self.problem = problem
        self.model = PathModel(problem)
        self.options = replace(options, first_feasible=True)
        self.deadline = time.monotonic() + EXPLAIN_S

    def feasible(self, **changes: object) -> bool:
        """Whether a plan exists with some fields of the problem replaced, if found in time."""
        trial = replace(self.problem, **changes)  # type: ignore[arg-type]
        left_s = self.deadline - time.monotonic()
        if left_s <= 0.0 or shortfall(trial):
            return False
        options = replace(self.options, time_limit_s=min(self.options.time_limit_s, left_s))
        model = self.model.revised(trial) if changes.keys() <= SAME_TABLES else None
        return search(trial, options, model).candidate is not None

    def smallest(self, feasible_at: Callable[[float], bool], start: float = 1.0) -> float | None:
        """Smallest factor above a start at which a change suffices, to a few percent."""
        low, high = start, 2.0 * start
        while not feasible_at(high):
            low, high = high, 4.0 * high
            if high > MOST_TIMES * start:
                return None
        for _ in range(ROUNDS):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if feasible_at(middle) else (middle, high)
        return high
