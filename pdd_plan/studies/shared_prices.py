"""Prices shared out among losses, so that fleets for each of them bound one that survives all."""

from __future__ import annotations

from dataclasses import replace

from pdd_plan.fleet.outages import Outage
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.optimizer.search import Scope

Ends = frozenset[tuple[str, str]]
"""Roles with sites, and lines, that requests can reach."""

NOBODY = -1
"""Number of the payer where no loss pays: the fleet that loses nothing."""


def shared_prices(problem: Problem, outages: tuple[Outage, ...]) -> list[Problem]:
    """The problem for each loss, with the prices of the parts that it is the one to need.

    Parameters
    ----------
    problem : Problem
        With the whole prices.
    outages : tuple of Outage
        Sites and lines, one of which at a time may be lost.

    Returns
    -------
    list of Problem
        One for each loss, and one for the fleet that loses nothing. A pool of engines is paid for
        by the losses after which it can be reached and another site of its role cannot, in equal
        shares; a line by those that leave it and not another. What no loss needs in this way is
        paid for with nothing lost. For every part the shares add up to its price.
        Chips that are paid but not used are left out.
    """
    ends = [_reached(problem, outage) for outage in outages]
    every = _reached(problem, None)
    pools = [_payers((pool.role, pool.site), ends, every) for pool in problem.pools]
    lines = [_payers(("line", lane.label), ends, every) for lane in problem.lanes]
    return [
        replace(
            problem,
            terms={},
            pools=tuple(
                replace(pool, usd_per_engine_hour=pool.usd_per_engine_hour * _share(by, number))
                for pool, by in zip(problem.pools, pools, strict=True)
            ),
            lanes=tuple(
                replace(lane, usd_per_hour=lane.usd_per_hour * _share(by, number))
                for lane, by in zip(problem.lanes, lines, strict=True)
            ),
        )
        for number in (*range(len(ends)), NOBODY)
    ]


def paid_part(problem: Problem, fleet: Candidate) -> Candidate:
    """What of a fleet has a price; the rest is paid for by other losses."""
    engines = tuple(
        count if pool.usd_per_engine_hour > 0.0 else 0
        for count, pool in zip(fleet.engines, problem.pools, strict=True)
    )
    levels = tuple(
        level if level >= 0 and lane.usd_per_hour[level] > 0.0 else -1
        for level, lane in zip(fleet.levels, problem.lanes, strict=True)
    )
    return replace(fleet, engines=engines, levels=levels)


def _reached(problem: Problem, outage: Outage | None) -> Ends:
    """Sites by role, and lines, that some lane leads over once something is lost."""
    reached: set[tuple[str, str]] = set()
    for index in Scope().lanes_of(problem):
        lane = problem.lanes[index]
        if outage is None or not outage.takes_lane(lane):
            ends = (("prefill", lane.source), ("relay", lane.source), ("decode", lane.target))
            reached |= {*ends, ("line", lane.label)}
    return frozenset(reached)


def _payers(part: tuple[str, str], ends: list[Ends], every: Ends) -> list[int]:
    """Numbers of the losses that pay for a part."""
    like = {other for other in every if other[0] == part[0]}
    found = [i for i, reached in enumerate(ends) if part in reached and not like <= reached]
    return found or [NOBODY]


def _share(payers: list[int], number: int) -> float:
    return payers.count(number) / len(payers)
