"""Why no fleet survives what a scenario tolerates."""

from __future__ import annotations

from pdd_plan.fleet.build import BuiltProblem
from pdd_plan.fleet.outages import Outage
from pdd_plan.fleet.plan import Change, Infeasibility
from pdd_plan.fleet.problem import Problem
from pdd_plan.optimizer.search import Scope
from pdd_plan.scenario.schema import Scenario
from pdd_plan.studies.resilience_cases import Case, Cases
from pdd_plan.studies.searching import why_infeasible


def why_not(
    scenario: Scenario, cases: Cases, found: list[Case], built: BuiltProblem
) -> Infeasibility:
    """Say which loss no fleet survives, and why.

    Parameters
    ----------
    scenario : Scenario
        As loaded.
    cases : Cases
        What is to be survived.
    found : list of Case
        Searches for each of it, the last of which found that there is none.
    built : BuiltProblem
        Problem of the scenario.
    """
    problem, last = cases.left.problem, found[-1]
    if last is found[0]:
        return why_infeasible(scenario, built, cases.model, cases.options)
    if last.outage is None:
        less = "an engine" if cases.tolerance.spares == 1 else f"{cases.tolerance.spares} engines"
        reason = f"with {less} less in every pool {_stock_is_short(problem)}"
        return _refusal(reason, "engines", f"spare engines {_dropped(cases.tolerance.spares)}", 0)
    outage = last.outage
    cause = _no_lane(problem, outage) or f"without it {_stock_is_short(problem)}"
    reason = f"no fleet survives the loss of {outage.kind} {outage.name}: {cause}"
    text = f"not to tolerate the loss of a {outage.kind}"
    return _refusal(reason, outage.kind, text, "none")


def over_budget(scenario: Scenario, found: list[Case]) -> Infeasibility:
    """Say that every fleet that survives costs more than the budget."""
    dearest = max(found, key=lambda case: case.lower_usd_per_hour)
    least, unit = dearest.lower_usd_per_hour, f"{scenario.currency}/h"
    without = "" if dearest is found[0] else f" for {dearest.label} alone"
    return Infeasibility(
        reason=f"a fleet that survives costs at least {least:.2f} {unit}{without}, and the budget "
        f"is {scenario.budget_usd_per_hour or 0.0:g} {unit}"
    )


def _refusal(reason: str, key: str, text: str, value: str | int) -> Infeasibility:
    change = Change(change=text, path=f"tolerate.{key}", value=value)
    return Infeasibility(reason=reason, smallest_changes=(change,))


def _dropped(spares: int) -> str:
    return f"of 0 instead of {spares} per pool"


def _stock_is_short(problem: Problem) -> str:
    stock = ", ".join(f"{n} {chip} at {site}" for (site, chip), n in problem.stock.items())
    return (
        f"the stock ({stock}) cannot carry {problem.arrival_rate_per_s:.4g} req/s within the limits"
    )


def _no_lane(problem: Problem, outage: Outage) -> str:
    """Say which role no other site has; empty where lanes are left."""
    lanes = [problem.lanes[i] for i in Scope().lanes_of(problem)]
    if any(not outage.takes_lane(lane) for lane in lanes):
        return ""
    if outage.kind == "site" and all(lane.source == outage.name for lane in lanes):
        return "it is the only site that prefills"
    if outage.kind == "site" and all(lane.target == outage.name for lane in lanes):
        return "it is the only site that decodes"
    return "no other way leads from prefill to decode"
