"""Allocations of what services share, and how to split one that is not settled.

An allocation bounds from both sides how much of a row a service is given. What is given to one
service at least is not there for the others, so both halves of a split rule something out, and a
service is only ever told the most that it may take.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pdd_plan.fleet.problem import FloatArray
from pdd_plan.fleet.shared import SharedProblem
from pdd_plan.optimizer.shared_master import Choice, Column

FRACTION = 1e-6
"""Shares below this are rounding errors of the relaxation."""


@dataclass(frozen=True)
class Allocation:
    """Bounds on what is given to each service of every row.

    Attributes
    ----------
    least, most : ndarray, shape (services, rows)
        Bounds.
    capacities : ndarray, shape (rows,)
        What there is.
    line_rows : tuple of int
        Rows that are lines.
    """

    least: FloatArray
    most: FloatArray
    capacities: FloatArray
    line_rows: tuple[int, ...]

    @classmethod
    def whole(cls, problem: SharedProblem) -> Allocation:
        """Everything may go to every service."""
        count = len(problem.problems)
        least = np.zeros((count, problem.capacities.size))
        most = np.tile(problem.capacities, (count, 1))
        return cls(least, most, problem.capacities, problem.line_rows)

    def ceilings(self, service: int) -> FloatArray:
        """Most that a service may take of every row, shape (rows,)."""
        others = self.least.sum(axis=0) - self.least[service]
        left = np.maximum(self.capacities - others, 0.0)
        return np.asarray(np.minimum(self.most[service], left))

    @property
    def forced_open(self) -> tuple[bool, ...]:
        """Which lines some service is given a part of."""
        return tuple(bool((self.least[:, row] > 0.0).any()) for row in self.line_rows)

    def split(
        self, service: int, row: int, most: float, least: float
    ) -> tuple[Allocation, Allocation]:
        """Two allocations: at most so much for a service, or at least so much."""
        low, high = self.most.copy(), self.least.copy()
        low[service, row], high[service, row] = most, least
        return (
            Allocation(self.least, low, self.capacities, self.line_rows),
            Allocation(high, self.most, self.capacities, self.line_rows),
        )


def branch(
    problem: SharedProblem,
    allocation: Allocation,
    columns: Sequence[Column],
    choice: Choice | None,
) -> tuple[Allocation, ...]:
    """Split an allocation so that the choice is possible in neither half.

    Parameters
    ----------
    problem : SharedProblem
        What is shared.
    allocation : Allocation
        Whose relaxation mixes plans.
    columns : sequence of Column
        Columns within it, of which the choice has the shares.
    choice : Choice or None
        Solution of the relaxation.

    Returns
    -------
    tuple of Allocation
        Two, or none where plans in the mixture all fit together and open the same lines: the
        best of them is then no worse than the mixture.
    """
    if choice is None:
        return ()
    used = [c for c, x in zip(columns, choice.weights, strict=False) if x > FRACTION]
    return _at_conflict(problem, allocation, used) or _at_opening(problem, allocation, used, choice)


def _at_conflict(
    problem: SharedProblem, allocation: Allocation, used: Sequence[Column]
) -> tuple[Allocation, ...]:
    """Split the row that plans in the mixture overdraw most, at the service that varies most."""
    services = range(len(problem.problems))
    best: tuple[float, int, int, float, float] | None = None
    for row, capacity in enumerate(problem.capacities.tolist()):
        tops = []
        for service in services:
            own = [float(c.use[row]) for c in used if c.service == service]
            tops.append(max(own, default=0.0))
        over = sum(tops) - capacity - float(problem.slacks[row])
        if over <= 0.0:
            continue
        for service in services:
            own = [float(c.use[row]) for c in used if c.service == service]
            spread = max(own, default=0.0) - min(own, default=0.0)
            floor = float(allocation.least[service, row])
            if spread <= 0.0 or tops[service] <= floor:
                continue
            score = over / capacity + 1e-3 * spread / capacity
            if best is None or score > best[0]:
                low = max(tops[service] - over, floor)
                best = (score, service, row, low, tops[service])
    if best is None:
        return ()
    _, service, row, low, high = best
    if problem.rows[row].whole:
        # Above the lowest and below the highest of the window, both halves rule plans out.
        most = float(min(max(math.floor((low + high) / 2), math.ceil(low)), math.ceil(high) - 1))
        return allocation.split(service, row, most, most + 1.0)
    middle = (low + high) / 2
    return allocation.split(service, row, middle, middle)


def _at_opening(
    problem: SharedProblem, allocation: Allocation, used: Sequence[Column], choice: Choice
) -> tuple[Allocation, ...]:
    """Split at a line that is partly open: a service keeps off it, or it is paid for whole."""
    for share, row in zip(choice.lines_open.tolist(), problem.line_rows, strict=True):
        if not FRACTION < share < 1.0 - FRACTION:
            continue
        for column in used:
            if column.use[row] and not allocation.least[column.service, row]:
                return allocation.split(column.service, row, 0.0, 1.0)
    return ()
