"""Solve a PuLP model with HiGHS or CBC, and say honestly what the answer is worth."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pulp

from pdd_plan.errors import SolverError

SolverName = Literal["highs", "cbc"]

RELATIVE_GAP = 1e-7
"""Relative gap at which a solve ends; below the gap at which a plan is called optimal."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of one solve.

    Attributes
    ----------
    solved : bool
        The model was solved to the end: an optimum or proven infeasible.
    feasible : bool
        Variables hold a solution.
    bound : float
        Valid lower bound on the objective; infinite where proven infeasible.
    """

    solved: bool
    feasible: bool
    bound: float


def solve(
    model: pulp.LpProblem,
    solver: SolverName,
    time_limit_s: float,
    known_bound: float,
    *,
    relaxed: bool = False,
) -> Outcome:
    """Solve a minimization model.

    Parameters
    ----------
    model : pulp.LpProblem
        Model; its variables take the values of the solution.
    solver : {"highs", "cbc"}
        Solver.
    time_limit_s : float
        Time limit [s].
    known_bound : float
        Lower bound known beforehand.
    relaxed : bool
        Let whole numbers be broken: the linear relaxation.

    Returns
    -------
    Outcome
        What was reached.

    Raises
    ------
    SolverError
        If the solver is missing, or fails for a reason other than infeasibility or time.

    Notes
    -----
    PuLP calls a HiGHS solve that ran out of time "Optimal", so the status is read off HiGHS
    itself.
    """
    if solver == "highs":
        return _highs(model, time_limit_s, known_bound, whole=not relaxed)
    return _cbc(model, time_limit_s, known_bound, whole=not relaxed)


@contextmanager
def _silent() -> Iterator[None]:
    """Keep the process's standard output clean: HiGHS prints a banner with all messages off."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        with Path(os.devnull).open("w") as sink:
            os.dup2(sink.fileno(), 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _highs(
    model: pulp.LpProblem, time_limit_s: float, known_bound: float, *, whole: bool
) -> Outcome:
    import highspy

    kinds = highspy.HighsModelStatus
    # A solution that presolve has put just outside a tolerance is found within it without.
    for presolve in ("choose", "off"):
        command = pulp.HiGHS(
            mip=whole,
            msg=False,
            threads=1,
            timeLimit=max(time_limit_s, 0.01),
            gapRel=RELATIVE_GAP,
            presolve=presolve,
        )
        if not command.available():
            raise SolverError("HiGHS is not installed: pip install highspy")
        try:
            with _silent():
                model.solve(command)
        except pulp.PulpSolverError as error:
            raise SolverError(f"HiGHS failed: {error}") from error
        highs = model.solverModel
        status = highs.getModelStatus()
        if status != kinds.kSolveError:
            break
    if status in (kinds.kInfeasible, kinds.kUnboundedOrInfeasible):
        return Outcome(solved=True, feasible=False, bound=float("inf"))
    info = highs.getInfo()
    if status == kinds.kOptimal:
        objective = float(info.objective_function_value)
        bound = float(info.mip_dual_bound) if whole and model.isMIP() else objective
        return Outcome(solved=True, feasible=True, bound=max(bound, known_bound))
    if status in (kinds.kTimeLimit, kinds.kInterrupt, kinds.kIterationLimit):
        bound = float(info.mip_dual_bound) if whole and model.isMIP() else known_bound
        feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        return Outcome(solved=False, feasible=feasible, bound=max(bound, known_bound))
    raise SolverError(f"HiGHS stopped with status {highs.modelStatusToString(status)}")


def _cbc(model: pulp.LpProblem, time_limit_s: float, known_bound: float, *, whole: bool) -> Outcome:
    command = pulp.PULP_CBC_CMD(
        mip=whole, msg=False, threads=1, timeLimit=max(time_limit_s, 0.01), gapRel=RELATIVE_GAP
    )
    if not command.available():
        raise SolverError("CBC is not available here; use --solver highs")
    try:
        model.solve(command)
    except pulp.PulpSolverError as error:
        raise SolverError(f"CBC failed: {error}") from error
    if model.status == pulp.LpStatusInfeasible:
        return Outcome(solved=True, feasible=False, bound=float("inf"))
    if model.sol_status == pulp.LpSolutionOptimal:
        objective = float(pulp.value(model.objective) or 0.0)
        return Outcome(True, True, max(objective * (1.0 - RELATIVE_GAP), known_bound))
    if model.sol_status == pulp.LpSolutionIntegerFeasible:
        return Outcome(solved=False, feasible=True, bound=known_bound)
    return Outcome(solved=False, feasible=False, bound=known_bound)
