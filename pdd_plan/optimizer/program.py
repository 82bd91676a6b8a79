"""A PuLP model with rows of one form: a sum of terms is at least a number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import pulp

from pdd_plan.optimizer.solver import Outcome, SolverName, solve

Variable: TypeAlias = pulp.LpVariable
Terms = list[tuple[Variable, float]]


class Program:
    """Variables and rows of a minimization; whole numbers may be broken.

    Parameters
    ----------
    whole : bool
        Keep whole numbers; False makes the linear relaxation.
    """

    def __init__(self, *, whole: bool) -> None:
        self.whole = whole
        self._model = pulp.LpProblem("node", pulp.LpMinimize)
        self._count = 0

    def variable(self, most: float | None = None, *, whole: bool = False) -> Variable:
        """A new variable from 0 on, up to a number if one is given."""
        self._count += 1
        kind = "Integer" if whole and self.whole else "Continuous"
        return self._model.add_variable(f"v{self._count}", lowBound=0, upBound=most, cat=kind)

    def constant(self, value: float) -> Variable:
        """A variable that is always some number."""
        variable = self.variable(value)
        variable.lowBound = value
        return variable

    def at_least(self, terms: Terms, least: float) -> None:
        """Add a row; every variable may be there once."""
        self._model += pulp.LpAffineExpression([t for t in terms if t[1] != 0.0]) >= least

    def equal(self, terms: Terms, value: float) -> None:
        """Add a row that holds with equality; every variable may be there once."""
        self._model += pulp.LpAffineExpression(terms) == value

    def at_most_one(self, variables: Iterable[Variable]) -> None:
        """At most one of some variables is 1."""
        self.at_least([(variable, -1.0) for variable in variables], -1.0)

    def not_all(self, variables: Iterable[Variable]) -> None:
        """One of some variables is 0."""
        terms = [(variable, -1.0) for variable in variables]
        self.at_least(terms, 1.0 - len(terms))

    def minimize(self, terms: Terms) -> None:
        """Set the objective; every variable may be there once."""
        self._model += pulp.LpAffineExpression(terms)

    def solve(self, solver: SolverName, time_limit_s: float, known_bound: float) -> Outcome:
        """Solve; see :func:`pdd_plan.optimizer.solver.solve`."""
        return solve(self._model, solver, time_limit_s, known_bound, relaxed=not self.whole)


def value(variable: Variable) -> float:
    """Value of a variable in the solution."""
    return float(variable.varValue or 0.0)


def reduced_cost(variable: Variable) -> float:
    """What the objective rises by at least for a unit more of a variable at 0."""
    return max(float(variable.dj or 0.0), 0.0)
