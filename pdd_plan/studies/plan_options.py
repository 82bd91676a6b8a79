"""How to plan: time, solver and who is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pdd_plan.optimizer.search import SearchOptions


@dataclass(frozen=True)
class PlanOptions:
    """How to plan.

    Attributes
    ----------
    time_limit_s : float
        Time limit of the search for the plan [s]; each baseline gets as much again at most.
    solver : {"highs", "cbc"}
        MILP solver.
    seed : int
        Seed of random choices; planning makes none.
    jobs : int
        Processes; one plan uses one.
    progress : callable, optional
        Told in words what is being done.
    command : str
        Command line that makes the plan again.
    whole : bool
        Plan simpler fleets beside it and, where there is no plan, look for what would mend that.
    """

    time_limit_s: float = 60.0
    solver: Literal["highs", "cbc"] = "highs"
    seed: int = 0
    jobs: int = 1
    progress: Callable[..., None] | None = None
    command: str = ""
    whole: bool = True

    def search_options(self) -> SearchOptions:
        """The options of the optimizer."""
        return SearchOptions(self.time_limit_s, self.solver, self.progress)

    def tell(self, text: str) -> None:
        """Say what is being done, where somebody listens."""
        if self.progress is not None:
            self.progress(text)
