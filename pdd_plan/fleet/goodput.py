"""Goodput: the largest load that a fleet carries within every limit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pdd_plan.fleet.check import check
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, Problem

PRECISION = 1e-4
"""Relative precision of the goodput."""

MOST = 1e6
"""Multiple of the demand beyond which the load is not looked for."""


@dataclass(frozen=True)
class GoodputResult:
    """Largest load, and what gives first beyond it.

    Attributes
    ----------
    requests_per_s : float
        Load at multiplier 1 [requests/s]; 0 where the fleet fails at any load.
    limited_by : str
        Kind and place of the part of the planning rule that is broken just above.
    """

    requests_per_s: float
    limited_by: str


def goodput(
    problem: Problem, candidate: Candidate, model: PathModel | None = None
) -> GoodputResult:
    """Largest load of a fleet under the planning rule, at its threshold and lane shares.

    Parameters
    ----------
    problem : Problem
        What was planned.
    candidate : Candidate
        Fleet; its flows give the shares of the lanes.
    model : PathModel, optional
        Path model of the problem, to share its tables.

    Returns
    -------
    GoodputResult
        Load to a relative precision of 1e-4.

    Notes
    -----
    The rule is the one that plans are made by, so a plan carries at least the demand that it was
    made for. Every allowed slot wait is tried and the best is taken: it is a rule of sizing, not
    a property of the fleet.
    """
    model = model or PathModel(problem)
    waits = tuple(dict.fromkeys((candidate.slot_wait, *problem.slot_waits)))
    results = [_largest(problem, replace(candidate, slot_wait=wait), model) for wait in waits]
    return max(results, key=lambda result: result.requests_per_s)


def _largest(problem: Problem, candidate: Candidate, model: PathModel) -> GoodputResult:
    total = sum(candidate.flows_per_s)

    def limited_by(factor: float) -> str:
        flows = tuple(flow * factor for flow in candidate.flows_per_s)
        result = check(problem, replace(candidate, flows_per_s=flows), model, any_flow=True)
        return "" if result.ok else f"{result.violations[0].kind} {result.violations[0].where}"

    if total <= 0.0:
        return GoodputResult(0.0, "flow")
    low, high = 0.0, 1.0
    cause = limited_by(high)
    while not cause and high < MOST:
        low, high = high, high * 1.5
        cause = limited_by(high)
    if not cause:
        return GoodputResult(low * total, "")
    while high - low > PRECISION * high and high > 1e-6:
        middle = 0.5 * (low + high)
        found = limited_by(middle)
        if found:
            high, cause = middle, found
        else:
            low = middle
    return GoodputResult(low * total, cause)
