"""Candidates of several services, and each one's part as a plan of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from pdd_plan.fleet.evaluate import evaluate
from pdd_plan.fleet.goodput import goodput
from pdd_plan.fleet.plan import Plan
from pdd_plan.fleet.problem import Candidate, FloatArray, Problem
from pdd_plan.fleet.shared import BuiltServices, SharedProblem
from pdd_plan.scenario.services import SharedScenario
from pdd_plan.studies.assemble import assemble_plan
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.scored import Scored


@dataclass(frozen=True)
class SharedScored:
    """Candidates of all services that fit together.

    Attributes
    ----------
    name : str
        Of the baseline, or ``plan``.
    status : str
        ``optimal``, ``feasible`` or ``infeasible``.
    services : BuiltServices
        Whose candidates they are.
    candidates : tuple of Candidate or None
        One a service.
    gap : float or None
        Proven.
    reason : str
        Why there are none.
    """

    name: str
    status: str
    services: BuiltServices
    candidates: tuple[Candidate, ...] | None
    gap: float | None = None
    reason: str = ""


def service_plans(
    scenario: SharedScenario,
    main: SharedScored,
    baselines: Iterable[SharedScored],
    options: PlanOptions,
) -> dict[str, Plan]:
    """Each service's part of the answer as a plan of its own, lines at its share of their price."""
    services = main.services
    scored = _scored(main)
    simpler = [
        tuple(replace(one, name=baseline.name) for one in scored)
        if baseline.candidates is main.candidates  # the plan itself is the best of its kind
        else _scored(baseline)
        for baseline in baselines
    ]
    out = {}
    for position, name in enumerate(services.problem.names):
        own = scored[position]
        assert own.problem is not None
        built = replace(services.built[name], problem=own.problem)
        out[name] = assemble_plan(
            scenario.scenarios[name],
            built,
            services.models[position].revised(own.problem),
            own,
            tuple(one[position] for one in simpler),
            options,
            None,
        )
    return out


def _scored(shared: SharedScored) -> tuple[Scored, ...]:
    """Each service's candidate with its evaluation, lines priced by reserved share."""
    services = shared.services
    problem = services.problem
    if shared.candidates is None:
        refused = Scored(shared.name, "infeasible", None, None, None, None, shared.reason)
        return (refused,) * len(problem.problems)
    uses = [problem.use(i, candidate) for i, candidate in enumerate(shared.candidates)]
    reserved = np.asarray(sum(uses))
    out = []
    for position, candidate in enumerate(shared.candidates):
        priced = _at_shares(problem, position, reserved)
        model = services.models[position].revised(priced)
        out.append(
            Scored(
                shared.name,
                shared.status,
                candidate,
                evaluate(priced, candidate, model),
                goodput(priced, candidate, model),
                None,
                problem=priced,
            )
        )
    return tuple(out)


def _at_shares(problem: SharedProblem, service: int, reserved: FloatArray) -> Problem:
    """The problem of a service with lines at the price of the part it reserves."""
    prices = np.zeros(len(problem.rows))
    for line, row in zip(problem.lines, problem.line_rows, strict=True):
        steps = float(reserved[row])
        prices[row] = line.price_per_hour(steps) / steps if steps else line.usd_per_step_hour
    return problem.priced(problem.problems[service], prices, np.zeros(len(problem.lines)))
