"""Why a plan is as it is: what each change of its scenario would do, and what pays up to where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pdd_plan.fleet.plan import BreakEven, Plan, Sensitivity
from pdd_plan.scenario.schema import Scenario
from pdd_plan.studies.break_even import break_even
from pdd_plan.studies.break_even_rules import asked_about
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.rounds import Question, answer_all
from pdd_plan.studies.sensitivity import sensitivity
from pdd_plan.studies.sweep_points import Maker
from pdd_plan.studies.sweep_run import Runner

T = TypeVar("T")


def explained(
    plan: Plan,
    scenario: Scenario,
    file: str | Path,
    options: PlanOptions,
    runner: Runner,
    changes: Sequence[str] = (),
) -> Plan:
    """Add to a plan what single changes of its scenario would do, and where things cease to pay.

    Parameters
    ----------
    plan : Plan
        As planned.
    scenario : Scenario
        As loaded from `file` with `changes`.
    file : str or Path
        Scenario file, or the name of a shipped one.
    options : PlanOptions
        As the plan was made with.
    runner : Runner
        Where the other plans are made.
    changes : sequence of str
        Overrides that the plan was made with.

    Returns
    -------
    Plan
        With more in ``sensitivity``, and with ``break_even`` where the objective is the cost per
        token at the demand and prefill is not shared by size; an infeasible plan as it is.
    """
    if plan.status == "infeasible":
        return plan
    asked = asked_about(scenario, plan) if compares_costs(scenario) else ()
    questions: list[Question[tuple[Sensitivity, ...]] | Question[tuple[BreakEven, ...]]] = [
        sensitivity(scenario, plan),
        *(break_even(one) for one in asked),
    ]
    found = [item for items in answers(questions, file, options, runner, changes) for item in items]
    changed = tuple(item for item in found if isinstance(item, Sensitivity))
    pays = tuple(item for item in found if isinstance(item, BreakEven))
    return plan.model_copy(
        update={"sensitivity": (*plan.sensitivity, *changed), "break_even": pays}
    )


def answers(
    questions: Sequence[Question[T]],
    file: str | Path,
    options: PlanOptions,
    runner: Runner,
    changes: Sequence[str],
) -> tuple[T, ...]:
    """Answer questions about a scenario by plans without the simpler fleets beside them.

    Parameters
    ----------
    questions : sequence of generators
        As for `pdd_plan.studies.rounds.answer_all`.
    file, options, runner, changes
        As for `explained`.
    """
    alone = replace(options, whole=False, command="")
    return answer_all(questions, Maker(file, tuple(changes), lambda _: alone), runner)


def compares_costs(scenario: Scenario) -> bool:
    """Whether fleets of a scenario are chosen by their cost at one demand."""
    return scenario.objective == "cost_per_token" and scenario.routing.between == "decode"
