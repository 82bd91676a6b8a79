"""Plans over a grid of what-ifs: hundreds of points, in parallel, resumable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pdd_plan.errors import InputError, Issue
from pdd_plan.studies.left_out import left_out
from pdd_plan.studies.sweep_axes import Axis
from pdd_plan.studies.sweep_outcome import Outcome
from pdd_plan.studies.sweep_points import (
    Maker,
    OptionsOf,
    first_question,
    scenario_name,
    service_names,
)
from pdd_plan.studies.sweep_run import Runner


@dataclass(frozen=True)
class Row:
    """One point of a sweep and what came of it.

    Attributes
    ----------
    steps : tuple of int
        Step of every axis.
    changes : tuple of str
        Overrides that give this point to ``pdd-plan optimize``.
    outcome : Outcome
        Plan in short, or why there is none.
    on_front : bool or None
        Whether no other point of its curve costs less and is as fast; None where no front is
        looked for.
    """

    steps: tuple[int, ...]
    changes: tuple[str, ...]
    outcome: Outcome
    on_front: bool | None = None


@dataclass(frozen=True)
class SweepResult:
    """All points of a sweep.

    Attributes
    ----------
    scenario : str
        Name of the scenario.
    axes : tuple of Axis
        What was varied.
    rows : tuple of Row
        In the order of the grid, the last axis running fastest.
    services : tuple of str
        Names of the services; none for a scenario of one.
    warnings : tuple of str
        What the scenario says and the sweep passes over.
    """

    scenario: str
    axes: tuple[Axis, ...]
    rows: tuple[Row, ...]
    services: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def any_plan(self) -> bool:
        """Whether at least one point has a plan."""
        return any(row.outcome.planned for row in self.rows)


def sweep(
    file: str | Path,
    axes: Sequence[Axis],
    options_of: OptionsOf,
    runner: Runner,
    changes: Sequence[str] = (),
) -> SweepResult:
    """Plan every point of a grid.

    Parameters
    ----------
    file : str or Path
        Scenario file, or the name of a shipped scenario.
    axes : sequence of Axis
        At least one, from `parse_axes`.
    options_of : callable
        Gives the planner's options for a scenario.
    runner : Runner
        Where and how points run.
    changes : sequence of str
        Overrides ``path=value`` that every point has.

    Returns
    -------
    SweepResult
        A row for every point, those without a plan included.

    Raises
    ------
    InputError
        If an axis is wrong, with every issue, before anything is planned.
    """
    if not axes:
        raise InputError(
            Issue(
                "nothing is varied",
                path="--vary",
                help='add for example --vary "slo.ttft_p90=2 s,4 s,8 s", or --pareto',
            )
        )
    maker = Maker(file, tuple(changes), options_of)
    points = maker.points(axes)
    outcomes = runner.run(points)
    rows = (
        Row(point.steps, point.changes, outcome)
        for point, outcome in zip(points, outcomes, strict=True)
    )
    parts = (part.name for outcome in outcomes for part in outcome.services)
    services = tuple(dict.fromkeys((*service_names(points), *parts)))
    warnings = left_out(first_question(points))
    return SweepResult(scenario_name(points), tuple(axes), tuple(rows), services, warnings)
