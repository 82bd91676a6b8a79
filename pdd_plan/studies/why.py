"""Why a plan is as it is: what each change of its scenario would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pdd_plan.fleet.plan import Plan
from pdd_plan.scenario.schema import Scenario
from pdd_plan.studies.planning import PlanOptions
from pdd_plan.studies.rounds import answer_all
from pdd_plan.studies.sensitivity import sensitivity
from pdd_plan.studies.sweep_points import Maker
from pdd_plan.studies.sweep_run import Runner


def explained(
    plan: Plan,
    scenario: Scenario,
    file: str | Path,
    options: PlanOptions,
    runner: Runner,
    changes: Sequence[str] = (),
) -> Plan:
    """Add to a plan what single changes of its scenario would do.

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
        With more in ``sensitivity``; an infeasible plan as it is.
    """
    if plan.status == "infeasible":
        return plan
    alone = replace(options, whole=False, command="")
    maker = Maker(file, tuple(changes), lambda _: alone)
    (found,) = answer_all([sensitivity(scenario, plan)], maker, runner)
    return plan.model_copy(update={"sensitivity": (*plan.sensitivity, *found)})
