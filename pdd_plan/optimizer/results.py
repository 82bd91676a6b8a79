"""What a search is asked and what it answers: options, scope, certificate, result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.optimizer.solver import SolverName

OPTIMAL_GAP = 1e-6
"""Relative gap up to which a plan is called optimal."""


@dataclass(frozen=True)
class SearchOptions:
    """How long and with what to search.

    Attributes
    ----------
    time_limit_s : float
        Time limit [s].
    solver : {"highs", "cbc"}
        MILP solver.
    progress : callable, optional
        Told in words what was found.
    first_feasible : bool
        Stop at the first candidate that keeps the rule: asks only whether there is one.
    below_usd_per_hour : float
        Only candidates cheaper than this count: a budget, or the cost of a known plan.
    clock : callable
        Clock of the time limit [s]; `time.process_time` leaves out what other programs take.
    """

    time_limit_s: float = 60.0
    solver: SolverName = "highs"
    progress: Callable[[str], None] | None = None
    first_feasible: bool = False
    below_usd_per_hour: float = float("inf")
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True)
class Scope:
    """Which part of a problem to search.

    Attributes
    ----------
    lanes : frozenset of int or None
        Lanes that may be opened; None for all that a plan may use.
    thresholds : tuple of int or None
        Indices of thresholds to try; None for all that a plan may use.
    """

    lanes: frozenset[int] | None = None
    thresholds: tuple[int, ...] | None = None

    def lanes_of(self, problem: Problem) -> frozenset[int]:
        """Lanes that may be opened."""
        if self.lanes is not None:
            return self.lanes
        return frozenset(i for i, lane in enumerate(problem.lanes) if not lane.baseline_only)

    def thresholds_of(self, problem: Problem) -> tuple[int, ...]:
        """Thresholds to try: one where no open lane can relay, since all are then alike."""
        if self.thresholds is not None:
            return self.thresholds
        allowed = problem.plan_thresholds
        relays = any(not problem.lanes[i].local for i in self.lanes_of(problem))
        return allowed if relays else allowed[:1]


@dataclass(frozen=True)
class Certificate:
    """How good the answer is proven to be.

    Attributes
    ----------
    lower_bound_usd_per_hour : float
        Bound on the cost of any candidate; infinite where none exists that counts.
    gap : float
        (cost - bound) / cost; infinite without a plan.
    cuts : int
        Coupling rows over all nodes.
    evaluations : int
        Candidates checked.
    nodes, nodes_solved : int
        Pairs of threshold and slot wait, and how many of them needed the MILP.
    """

    lower_bound_usd_per_hour: float
    gap: float
    cuts: int
    evaluations: int
    nodes: int
    nodes_solved: int
    solver: str
    solve_time_s: float


@dataclass(frozen=True)
class SearchResult:
    """Outcome of a search; ``candidate`` is None where none was found."""

    candidate: Candidate | None
    usd_per_hour: float
    certificate: Certificate

    @property
    def status(self) -> str:
        """``optimal``, ``feasible``, ``infeasible`` (proven) or ``unknown``."""
        certificate = self.certificate
        found = self.candidate is not None
        return proven_status(certificate.gap, certificate.lower_bound_usd_per_hour, found=found)


def relative_gap(usd_per_hour: float, lower_bound: float) -> float:
    """(cost - bound) / cost; infinite without a plan, whose cost then is, and 0 for a free one."""
    if usd_per_hour == float("inf"):
        return float("inf")
    return max(0.0, 1.0 - lower_bound / usd_per_hour) if usd_per_hour > 0.0 else 0.0


def proven_status(gap: float, lower_bound: float, *, found: bool) -> str:
    """``optimal`` or ``feasible`` where a plan was found, else ``infeasible`` or ``unknown``."""
    if not found:
        return "infeasible" if lower_bound == float("inf") else "unknown"
    return "optimal" if gap <= OPTIMAL_GAP else "feasible"
