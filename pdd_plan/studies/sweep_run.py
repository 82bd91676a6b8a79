"""Runs the points of a sweep: known ones from the journal, the others by workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pdd_plan.studies.sweep_journal import Journal
from pdd_plan.studies.sweep_outcome import Outcome
from pdd_plan.studies.sweep_points import Point
from pdd_plan.studies.sweep_workers import LocalWorkers, Workers, plan_point

if TYPE_CHECKING:
    from pdd_plan.studies.sweep_workers import Planner


@dataclass(frozen=True)
class Progress:
    """How far a sweep is.

    Attributes
    ----------
    done, total : int
        Points; the total may grow where later points depend on earlier ones.
    without_plan : int
        Points of those done that have no plan.
    left_s : float or None
        Time left at the speed so far [s]; None while nothing is known.
    """

    done: int
    total: int
    without_plan: int
    left_s: float | None


class Runner:
    """Runs points and keeps their outcomes.

    Parameters
    ----------
    workers : Workers, optional
        What plans the points; by default one process a core.
    journal : Journal, optional
        Holds what is known, gets what is found.
    progress : callable, optional
        Told after every point.
    planner : callable
        Makes the plan of a point.

    Attributes
    ----------
    done, reused, errors : int
        Points with an outcome, how many of them the journal knew, and how many ended in an error.
    """

    def __init__(
        self,
        workers: Workers | None = None,
        journal: Journal | None = None,
        progress: Callable[[Progress], None] | None = None,
        planner: Planner = plan_point,
    ) -> None:
        self._workers = workers or LocalWorkers()
        self._journal = journal
        self._progress = progress
        self._planner = planner
        self._known: dict[str, Outcome] = dict(journal.known) if journal else {}
        self._started = time.monotonic()
        self._total = self._fresh = self._without = 0
        self.done = self.reused = self.errors = 0

    def run(self, points: Sequence[Point]) -> tuple[Outcome, ...]:
        """Return the outcomes of points, in their order; equal points are planned once.

        Raises
        ------
        InputError
            If the journal cannot be written.
        KeyboardInterrupt
            As the user pressed it; what is done is in the journal.
        """
        todo = {p.key: p for p in points if p.outcome is None and p.key not in self._known}
        self._total += len(points)
        for point in points:
            if point.key not in todo:
                self.reused += point.outcome is None
                self._count(point.outcome or self._known[point.key])
        self._tell()
        tasks = {key: point.task for key, point in todo.items()}
        for key, outcome, seconds in self._workers.outcomes(tasks, self._planner):
            self._known[key] = outcome
            if self._journal is not None:
                self._journal.add(key, todo[key].changes, outcome, seconds)
            self._fresh += 1
            for _ in range(sum(1 for point in points if point.key == key)):
                self._count(outcome)
            self._tell()
        return tuple(p.outcome or self._known[p.key] for p in points)

    def _count(self, outcome: Outcome) -> None:
        self.done += 1
        self._without += not outcome.planned
        self.errors += outcome.status == "error"

    def _tell(self) -> None:
        if self._progress is not None:
            left = self._total - self.done
            elapsed = time.monotonic() - self._started
            left_s = elapsed / self._fresh * left if self._fresh else None
            self._progress(Progress(self.done, self._total, self._without, left_s))
