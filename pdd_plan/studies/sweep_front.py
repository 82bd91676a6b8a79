"""The front of cost against P90 TTFT: the limit is swept, and every step of the cost looked for.

The least cost never falls when the limit is tightened, so between two limits of equal cost there
is nothing to look for. Where the cost differs, the limits are halved in ratio until they are close
(epsilon-constraint method; Haimes, Lasdon, Wismer, 1971).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from pdd_plan.errors import InputError
from pdd_plan.scenario import Scenario, SharedScenario
from pdd_plan.studies.left_out import left_out
from pdd_plan.studies.sweep import Row, SweepResult, sweep
from pdd_plan.studies.sweep_axes import Axis
from pdd_plan.studies.sweep_outcome import SAME_COST, Outcome
from pdd_plan.studies.sweep_points import (
    Maker,
    OptionsOf,
    Point,
    changes_at,
    first_question,
    scenario_name,
)
from pdd_plan.studies.sweep_run import Runner

LIMIT = "slo.ttft_p90"
"""Path of the limit that is swept."""
LOOSEST_S = 1e5
"""The largest limit that a scenario may have [s]: as good as none."""
TIGHTEST_S = 1e-3
"""A limit that no plan keeps, or from which on there is nothing left to gain [s]."""
FIRST_RATIO = 4.0
"""Ratio of the limits that are tried first."""
FIRST_SIDE = 2
"""How many of them are tried on either side of the middle."""
RESOLUTION = 1.03
"""Limits closer than this ratio are not parted further."""
MOST_LIMITS = 48
"""Limits of one front."""


@dataclass
class _Curve:
    """Points of one front: one limit each, everything else equal."""

    steps: tuple[int, ...]
    own: tuple[str, ...]
    points: dict[float, tuple[Point, Outcome | None]] = field(default_factory=dict)

    def add(self, maker: Maker, limit_s: float) -> Point:
        """Take a limit up, to be planned."""
        point = maker.point(self.steps, (*self.own, f"{LIMIT}={_text(limit_s)}"))
        self.points[limit_s] = point, None
        return point

    def gaps(self) -> list[float]:
        """Return the limits to try next: between neighbors whose cost differs."""
        found = []
        limits = sorted(self.points)
        for low, high in pairwise(limits):
            if high / low > RESOLUTION and _differ(self.points[low][1], self.points[high][1]):
                drop = _drop(self.points[low][1], self.points[high][1])
                found.append((-drop, low, (low * high) ** 0.5))
        room = max(0, MOST_LIMITS - len(self.points))
        return [_rounded(limit) for _, _, limit in sorted(found)[:room]]


def _text(limit_s: float) -> str:
    return f"{limit_s:.4g} s" if limit_s < 1e4 else f"{limit_s:.0f} s"


def _rounded(limit_s: float) -> float:
    return float(f"{limit_s:.4g}")


def _cost(outcome: Outcome | None) -> float | None:
    return outcome.usd_per_hour if outcome is not None and outcome.planned else None


def _differ(tight: Outcome | None, loose: Outcome | None) -> bool:
    first, second = _cost(tight), _cost(loose)
    if first is None or second is None:
        return first is not second
    return abs(first - second) > SAME_COST * max(first, second)


def _drop(tight: Outcome | None, loose: Outcome | None) -> float:
    """Return how much cheaper the looser limit is; where the tighter has no plan, as much again."""
    first, second = _cost(tight), _cost(loose)
    if first is None or second is None:
        return second if second is not None else 0.0
    return first - second


def front(
    file: str | Path,
    axes: Sequence[Axis],
    options_of: OptionsOf,
    runner: Runner,
    changes: Sequence[str] = (),
) -> SweepResult:
    """Find the front of cost against P90 TTFT for every point of a grid.

    Parameters
    ----------
    file : str or Path
        Scenario file, or the name of a shipped scenario.
    axes : sequence of Axis
        What else is varied, a front each; may be empty. Where ``slo.ttft_p90`` is among them, its
        values are the limits to try, and no others are.
    options_of : callable
        Gives the planner's options for a scenario.
    runner : Runner
        Where and how points run.
    changes : sequence of str
        Overrides ``path=value`` that every point has.

    Returns
    -------
    SweepResult
        With a last axis of the limits tried, and each row marked as being on its front or not.

    Raises
    ------
    InputError
        If an axis is wrong, with every issue, before anything is planned, or the scenario has
        several services.
    """
    if any(LIMIT in axis.paths for axis in axes):
        result = sweep(file, axes, options_of, runner, changes)
        return replace(result, rows=_marked(result.rows, _others(axes)))
    maker = Maker(file, tuple(changes), options_of)
    given = maker.points(axes)
    _require_one_service(given)
    curves = [_Curve(point.steps, changes_at(axes, point.steps)) for point in given]
    middle = _middle(given)
    todo = [(curve, limit) for curve in curves for limit in _first_limits(middle)]
    while todo:
        points = [curve.add(maker, limit) for curve, limit in todo]
        for (curve, limit), point, outcome in zip(todo, points, runner.run(points), strict=True):
            curve.points[limit] = point, outcome
        todo = [(curve, limit) for curve in curves for limit in curve.gaps()]
    limits = sorted({limit for curve in curves for limit in curve.points})
    rows = [
        Row((*curve.steps, limits.index(limit)), point.changes, outcome)
        for curve in curves
        for limit, (point, outcome) in sorted(curve.points.items())
        if outcome is not None
    ]
    last = Axis((LIMIT,), tuple((_text(limit),) for limit in limits))
    marked = _marked(rows, tuple(range(len(axes))))
    warnings = left_out(first_question(given))
    return SweepResult(scenario_name(given), (*axes, last), marked, warnings=warnings)


def _require_one_service(points: Sequence[Point]) -> None:
    """Refuse services: each has a P90 TTFT of its own."""
    question = first_question(points)
    if not isinstance(question, SharedScenario):
        return
    limit = f"services.{next(iter(question.services))}.{LIMIT}"
    raise InputError(
        question.source.issue(
            "services",
            f"{question.name} has several services, each with a P90 TTFT of its own, but a front "
            "has one",
            f'vary the limit of a service: --vary "{limit}=1 s,2 s,4 s" without --pareto',
        )
    )


def _others(axes: Sequence[Axis]) -> tuple[int, ...]:
    """Return the numbers of the axes that are not the limit's."""
    return tuple(index for index, axis in enumerate(axes) if LIMIT not in axis.paths)


def _middle(points: Sequence[Point]) -> float:
    """Return the limit that the scenario has, or 4 s, from which the search goes both ways."""
    for point in points:
        question = point.scenario() if point.task else None
        if isinstance(question, Scenario) and question.slo.ttft_p90 is not None:
            return float(question.slo.ttft_p90)
    return 4.0


def _first_limits(middle_s: float) -> list[float]:
    steps = range(-FIRST_SIDE, FIRST_SIDE + 1)
    inner = [_rounded(middle_s * FIRST_RATIO**step) for step in steps]
    return [TIGHTEST_S, *(limit for limit in inner if TIGHTEST_S < limit < LOOSEST_S), LOOSEST_S]


def _marked(rows: Sequence[Row], others: Sequence[int]) -> tuple[Row, ...]:
    """Mark the rows that no other of the same curve beats in cost and P90 TTFT."""
    curves: dict[tuple[int, ...], list[int]] = {}
    for index, row in enumerate(rows):
        curves.setdefault(tuple(row.steps[k] for k in others), []).append(index)
    kept: set[int] = set()
    for members in curves.values():
        kept |= nondominated({index: rows[index].outcome for index in members})
    return tuple(
        Row(row.steps, row.changes, row.outcome, index in kept) for index, row in enumerate(rows)
    )


def nondominated(outcomes: dict[int, Outcome]) -> set[int]:
    """Return the keys of the outcomes that none other beats.

    Parameters
    ----------
    outcomes : dict of int to Outcome
        Those without a plan or without a P90 TTFT are left out.

    Returns
    -------
    set of int
        Of outcomes equal in both cost and P90 TTFT the first is kept.
    """
    known = [
        (outcome.ttft_p90_s, outcome.usd_per_hour, key)
        for key, outcome in outcomes.items()
        if outcome.planned and outcome.ttft_p90_s is not None and outcome.usd_per_hour is not None
    ]
    kept, best = set(), float("inf")
    for _, cost, key in sorted(known):
        if cost < best * (1.0 - SAME_COST):
            kept.add(key)
            best = cost
    return kept
