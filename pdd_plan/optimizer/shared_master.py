"""Choose one plan a service among those known, under what the services share.

The linear relaxation gives prices for what is scarce; the whole program gives the best choice.
Services may go without a plan at a penalty, so that there always is a solution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pulp

from pdd_plan.fleet.problem import Candidate, FloatArray
from pdd_plan.fleet.shared import SharedProblem
from pdd_plan.optimizer.solver import SolverName, solve


@dataclass(frozen=True)
class Column:
    """A plan of one service.

    Attributes
    ----------
    service : int
        Position of the service.
    usd_per_hour : float
        Price of its chips; lines are priced together [currency/h].
    use : ndarray, shape (rows,)
        What it takes of every row.
    """

    service: int
    candidate: Candidate
    usd_per_hour: float
    use: FloatArray


@dataclass(frozen=True)
class Prices:
    """Prices of what is shared.

    Attributes
    ----------
    rows : ndarray, shape (rows,)
        Of a chip and a watt on top of their own price, and of a step of a line [currency/h].
    openings : ndarray, shape (services, lines)
        Of using a line at all [currency/h].
    """

    rows: FloatArray
    openings: FloatArray

    def towards(self, other: Prices, share: float) -> Prices:
        """Prices a share of the way to others."""
        return Prices(
            self.rows + share * (other.rows - self.rows),
            self.openings + share * (other.openings - self.openings),
        )


@dataclass(frozen=True)
class Choice:
    """A solution: how much of each column, and of no plan at all.

    Attributes
    ----------
    value : float
        Cost with penalties [currency/h].
    weights : ndarray, shape (columns,)
        Share of each column; sums to 1 for a service that has a plan.
    missing : float
        Services without a plan.
    lines_open : ndarray, shape (lines,)
        Share to which each line is open.
    prices : Prices or None
        Of the linear relaxation.
    """

    value: float
    weights: FloatArray
    missing: float
    lines_open: FloatArray
    prices: Prices | None


def choose(
    problem: SharedProblem,
    columns: Sequence[Column],
    *,
    penalty: float,
    forced_open: Sequence[bool],
    solver: SolverName,
    time_limit_s: float,
    whole: bool,
) -> Choice | None:
    """Choose among columns at least cost.

    Parameters
    ----------
    problem : SharedProblem
        What is shared.
    columns : sequence of Column
        Known plans.
    penalty : float
        Cost of a service without a plan [currency/h].
    forced_open : sequence of bool
        Lines that are paid for in any case.
    solver : {"highs", "cbc"}
        Solver.
    time_limit_s : float
        Time limit [s].
    whole : bool
        One plan a service; else shares of plans, and prices.

    Returns
    -------
    Choice or None
        None where the time did not suffice.
    """
    model = pulp.LpProblem("shared", pulp.LpMinimize)
    kind = "Integer" if whole else "Continuous"
    services, lines = range(len(problem.problems)), range(len(problem.lines))

    def variable(name: str, least: int, most: int | None, cat: str) -> pulp.LpVariable:
        return model.add_variable(name, lowBound=least, upBound=most, cat=cat)

    shares = [variable(f"x{i}", 0, 1, kind) for i in range(len(columns))]
    missing = [variable(f"a{k}", 0, 1, "Continuous") for k in services]
    opened = [variable(f"y{i}", int(forced_open[i]), 1, kind) for i in lines]
    sizes = [variable(f"t{i}", 0, None, "Continuous") for i in lines]
    objective = [(x, c.usd_per_hour) for x, c in zip(shares, columns, strict=True)]
    objective += [(a, penalty) for a in missing]
    objective += [(y, line.usd_per_hour) for y, line in zip(opened, problem.lines, strict=True)]
    objective += [(t, line.usd_per_step_hour) for t, line in zip(sizes, problem.lines, strict=True)]
    model += pulp.LpAffineExpression(objective)
    for k in services:
        own = [(x, 1) for x, c in zip(shares, columns, strict=True) if c.service == k]
        model += pulp.LpAffineExpression([*own, (missing[k], 1)]) == 1
    limits: dict[str, pulp.LpConstraint] = {}
    for row, capacity in enumerate(problem.capacities.tolist()):
        taken = [(x, float(c.use[row])) for x, c in zip(shares, columns, strict=True) if c.use[row]]
        if row in problem.line_rows:
            size = sizes[problem.line_rows.index(row)]
            limits[f"r{row}"] = pulp.LpAffineExpression([*taken, (size, -1)]) <= 0
        elif taken:
            limits[f"r{row}"] = pulp.LpAffineExpression(taken) <= capacity
    for i, (line, row) in enumerate(zip(problem.lines, problem.line_rows, strict=True)):
        model += sizes[i] <= line.max_steps * opened[i]
        model += sizes[i] >= line.min_steps * opened[i]
        for k in services:
            users = [
                (x, 1)
                for x, c in zip(shares, columns, strict=True)
                if c.service == k and c.use[row]
            ]
            if users:
                limits[f"o{k}_{i}"] = pulp.LpAffineExpression([*users, (opened[i], -1)]) <= 0
    for name, limit in limits.items():
        model += limit, name
    outcome = solve(model, solver, time_limit_s, 0.0, relaxed=not whole)
    if not (outcome.feasible and outcome.solved):
        return None
    return Choice(
        value=float(pulp.value(model.objective)),
        weights=np.array([x.value() for x in shares]),
        missing=sum(a.value() for a in missing),
        lines_open=np.array([y.value() for y in opened]),
        prices=None if whole else _prices(problem, limits),
    )


def _prices(problem: SharedProblem, limits: Mapping[str, pulp.LpConstraint]) -> Prices:
    def price(name: str) -> float:
        row = limits.get(name)
        return max(0.0, -float(row.pi)) if row is not None else 0.0

    rows = np.array([price(f"r{row}") for row in range(len(problem.rows))])
    services, lines = len(problem.problems), len(problem.lines)
    openings = [[price(f"o{k}_{i}") for i in range(lines)] for k in range(services)]
    return Prices(rows, np.array(openings).reshape(services, lines))
