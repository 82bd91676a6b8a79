"""What a search for several services answers."""

from __future__ import annotations

from dataclasses import dataclass

from pdd_plan.fleet.problem import Candidate, FloatArray
from pdd_plan.optimizer.results import proven_status, relative_gap


@dataclass(frozen=True)
class SharedResult:
    """Outcome of a search for all services together.

    Attributes
    ----------
    candidates : tuple of Candidate or None
        One a service; None where none were found.
    usd_per_hour : float
        Cost of all; infinite without candidates [currency/h].
    lower_bound_usd_per_hour : float
        No plan costs less; infinite where there is none.
    prices : ndarray, shape (rows,)
        What a chip, a watt or a step of a line is worth beyond its price, at the best bound.
    columns, searches, nodes : int
        Plans of single services found, searches for them, and allocations looked at.
    alone : tuple of bool
        Whether each service has a plan with the whole fleet to itself, as far as was found.
    solve_time_s : float
        Time it took [s].
    """

    candidates: tuple[Candidate, ...] | None
    usd_per_hour: float
    lower_bound_usd_per_hour: float
    prices: FloatArray
    columns: int
    searches: int
    nodes: int
    alone: tuple[bool, ...]
    solve_time_s: float

    @property
    def gap(self) -> float:
        """(cost - bound) / cost; infinite without a plan."""
        return relative_gap(self.usd_per_hour, self.lower_bound_usd_per_hour)

    @property
    def status(self) -> str:
        """``optimal``, ``feasible``, ``infeasible`` (proven) or ``unknown``."""
        found = self.candidates is not None
        return proven_status(self.gap, self.lower_bound_usd_per_hour, found=found)
