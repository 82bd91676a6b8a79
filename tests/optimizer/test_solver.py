"""The solver's answers: what went wrong once is tried another way, and told if it stays."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import highspy
import pulp
import pytest

from pdd_plan.errors import SolverError
from pdd_plan.optimizer.solver import solve


def small_model() -> pulp.LpProblem:
    """Least x + y with 2 x + y of 3 or more, in whole numbers: 2."""
    model = pulp.LpProblem("small", pulp.LpMinimize)
    x, y = (model.add_variable(name, lowBound=0, cat="Integer") for name in "xy")
    model += x + y
    model += 2 * x + y >= 3
    return model


def failing(monkeypatch: pytest.MonkeyPatch, ways: set[str]) -> list[str]:
    """Make HiGHS stop with an error under some settings of presolve; return those tried."""
    tried: list[str] = []

    class Failing(pulp.HiGHS):  # type: ignore[misc]
        def __init__(self, *args: Any, presolve: str, **options: Any) -> None:
            tried.append(presolve)
            self.fails = presolve in ways
            super().__init__(*args, presolve=presolve, **options)

        def actualSolve(self, lp: pulp.LpProblem, **options: Any) -> Any:
            done = super().actualSolve(lp, **options)
            if self.fails:
                status = highspy.HighsModelStatus.kSolveError
                lp.solverModel = SimpleNamespace(
                    getModelStatus=lambda: status,
                    getInfo=lambda: None,
                    modelStatusToString=lambda _: "Solve error",
                )
            return done

    monkeypatch.setattr(pulp, "HiGHS", Failing)
    return tried


def test_an_error_is_tried_again_without_presolve(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = failing(monkeypatch, {"choose"})
    outcome = solve(small_model(), "highs", 10.0, 0.0)
    assert tried == ["choose", "off"]
    assert outcome.solved
    assert outcome.bound == pytest.approx(2.0)


def test_an_error_that_stays_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, {"choose", "off"})
    with pytest.raises(SolverError, match="Solve error"):
        solve(small_model(), "highs", 10.0, 0.0)
