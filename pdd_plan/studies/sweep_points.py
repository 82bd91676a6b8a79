"""The points of a sweep: a scenario each, checked before the first is planned."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pdd_plan
from pdd_plan.errors import InputError, Issue
from pdd_plan.studies.sweep_axes import Axis, grid
from pdd_plan.studies.sweep_outcome import Outcome

if TYPE_CHECKING:
    from pdd_plan.scenario import Question
    from pdd_plan.studies.plan_options import PlanOptions

OptionsOf = Callable[["Question"], "PlanOptions"]


@dataclass(frozen=True)
class Point:
    """One point of a grid.

    Attributes
    ----------
    steps : tuple of int
        Step of every axis.
    changes : tuple of str
        All overrides of the scenario.
    key : str
        SHA-256 of everything that decides the outcome: scenario with overrides and files, options
        of the planner, version of this tool. Empty where the scenario is wrong.
    task : bytes
        Scenario and options, pickled for a worker.
    outcome : Outcome or None
        Known without planning where the scenario is wrong.
    """

    steps: tuple[int, ...]
    changes: tuple[str, ...]
    key: str = ""
    task: bytes = b""
    outcome: Outcome | None = None

    def scenario(self) -> Question:
        """Return the scenario of a point that has a task."""
        scenario: Question = pickle.loads(self.task)[0]  # noqa: S301 - made by this program
        return scenario


@dataclass(frozen=True)
class Maker:
    """Makes points of one scenario.

    Attributes
    ----------
    file : Path or str
        Scenario file, or the name of a shipped one.
    changes : tuple of str
        Overrides that all points have.
    options_of : callable
        Gives the planner's options for a scenario.
    """

    file: Path | str
    changes: tuple[str, ...]
    options_of: OptionsOf

    def point(self, steps: tuple[int, ...], own: Sequence[str]) -> Point:
        """Return the point with these overrides after the common ones."""
        changes = (*self.changes, *own)
        loaded = self._load(own)
        if not isinstance(loaded, tuple):
            options = replace(self.options_of(loaded), progress=None)
            task = pickle.dumps((loaded, options))
            return Point(steps, changes, point_key(loaded, options), task)
        reason = "; ".join(dict.fromkeys(issue.message for issue in loaded))
        return Point(steps, changes, outcome=Outcome("input_error", reason))

    def points(self, axes: Sequence[Axis]) -> tuple[Point, ...]:
        """Return the points of a grid, the last axis running fastest.

        Raises
        ------
        InputError
            If a value of an axis is wrong by itself: the scenario cannot be read with it alone, nor
            in any point of the grid. Every such value is told. Wrong combinations are points.
        """
        found = []
        reached: set[tuple[int, int]] = set()
        for steps in grid(axes):
            point = self.point(steps, changes_at(axes, steps))
            found.append(point)
            if point.outcome is None:
                reached |= set(enumerate(steps))
        issues: dict[tuple[str, str], Issue] = {}
        if not axes:  # the scenario as written is the only point
            loaded = self._load(())
            issues |= {(x.message, x.path): x for x in loaded} if isinstance(loaded, tuple) else {}
        for number, axis in enumerate(axes):
            for step in range(len(axis.values)):
                if (number, step) not in reached:
                    for issue in self._issues(axis, step):
                        issues.setdefault((issue.message, issue.path), issue)
        if issues:
            raise InputError(issues.values())
        return tuple(found)

    def _issues(self, axis: Axis, step: int) -> list[Issue]:
        """Return what is wrong with one value of an axis alone."""
        own = axis.changes(step)
        loaded = self._load(own)
        if not isinstance(loaded, tuple):
            return []
        option = "--vary" if len(axis.paths) == 1 else "--zip"
        places = {f"--set {change}": f"{option} {change}" for change in own}
        return [replace(issue, file=places.get(issue.file, issue.file)) for issue in loaded]

    def _load(self, own: Sequence[str]) -> Question | tuple[Issue, ...]:
        from pdd_plan.scenario import load_question

        try:
            return load_question(self.file, (*self.changes, *own))
        except InputError as error:
            return error.issues


def changes_at(axes: Sequence[Axis], steps: Sequence[int]) -> tuple[str, ...]:
    """Return the overrides of all axes at their steps."""
    pairs = zip(axes, steps, strict=True)
    return tuple(change for axis, step in pairs for change in axis.changes(step))


def scenario_name(points: Iterable[Point]) -> str:
    """Return the name of the scenario that points are of; empty where all are wrong."""
    first = first_question(points)
    return first.name if first is not None else ""


def service_names(points: Iterable[Point]) -> tuple[str, ...]:
    """Return the services of the scenario that points are of; none for a scenario of one."""
    from pdd_plan.scenario import SharedScenario

    first = first_question(points)
    return tuple(first.services) if isinstance(first, SharedScenario) else ()


def first_question(points: Iterable[Point]) -> Question | None:
    """Return the scenario of the first point that has one; None where all are wrong."""
    return next((point.scenario() for point in points if point.task), None)


def point_key(scenario: Question, options: PlanOptions) -> str:
    """Return the SHA-256 of all that decides the outcome of a point.

    Parameters
    ----------
    scenario : Scenario or SharedScenario
        With overrides; its own hash covers the files that it names.
    options : PlanOptions
        Solver, time limit, seed and whether simpler fleets are planned too count; processes and
        progress do not.
    """
    parts: list[object] = [
        pdd_plan.__version__,
        scenario.source.sha256,
        options.solver,
        options.time_limit_s,
        options.seed,
        *([] if options.whole else ["plan alone"]),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
