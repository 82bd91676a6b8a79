"""Fleets a step smaller or larger than a given one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from pdd_plan.fleet.plan import Plan, PlanLink, Pool
from pdd_plan.scenario import Scenario
from pdd_plan.studies.given import BYTES_PER_GBIT

T = TypeVar("T")


def fleet_key(fleet: Plan) -> object:
    """Return what tells fleets apart."""
    assert fleet.routing is not None
    pools = tuple((p.site, p.role, p.chip, p.shape, p.engines) for p in fleet.pools)
    lines = tuple((line.from_site, line.to_site, line.gbps) for line in fleet.links)
    lanes = tuple((lane.from_site, lane.to_site, lane.share) for lane in fleet.lanes)
    return pools, lines, lanes, fleet.routing.threshold


def smaller_fleets(scenario: Scenario, fleet: Plan) -> Iterator[Plan]:
    """Yield the fleets with one engine or one step of bandwidth less.

    Parameters
    ----------
    scenario : Scenario
        Says how few engines a pool may have, and what bandwidths can be bought.
    fleet : Plan
        Its pools and links are changed; nothing else of it is brought up to date.
    """
    least = scenario.serving.min_engines
    for index, pool in enumerate(fleet.pools):
        if pool.engines > max(getattr(least, pool.role), 1):
            yield fleet.model_copy(update={"pools": _put(fleet.pools, index, _engines(pool, -1))})
    for index, line in enumerate(fleet.links):
        lower = [size for size in _sizes(scenario, line) if size < line.gbps * (1.0 - 1e-9)]
        if lower:
            changed = line.model_copy(update={"gbps": max(lower)})
            yield fleet.model_copy(update={"links": _put(fleet.links, index, changed)})


def larger_fleets(scenario: Scenario, fleet: Plan) -> Iterator[Plan]:
    """Yield the fleets with one engine more, as far as chips are there, or a wider line.

    Parameters
    ----------
    scenario, fleet
        As for `smaller_fleets`.
    """
    for index, pool in enumerate(fleet.pools):
        more = _put(fleet.pools, index, _engines(pool, 1))
        used = sum(one.chips for one in more if (one.site, one.chip) == (pool.site, pool.chip))
        if used <= scenario.sites[pool.site].chips[pool.chip].available:
            yield fleet.model_copy(update={"pools": more})
    for index, line in enumerate(fleet.links):
        higher = [size for size in _sizes(scenario, line) if size > line.gbps * (1.0 + 1e-9)]
        if higher:
            changed = line.model_copy(update={"gbps": min(higher)})
            yield fleet.model_copy(update={"links": _put(fleet.links, index, changed)})


def _sizes(scenario: Scenario, line: PlanLink) -> list[float]:
    """Return the bandwidths that a line can be bought with [Gbit/s]."""
    return [
        size / BYTES_PER_GBIT
        for link in scenario.links
        if (link.from_site, link.to_site) == (line.from_site, line.to_site)
        for size in link.bandwidth.levels()
    ]


def _put(items: tuple[T, ...], index: int, item: T) -> tuple[T, ...]:
    return (*items[:index], item, *items[index + 1 :])


def _engines(pool: Pool, change: int) -> Pool:
    engines = pool.engines + change
    return pool.model_copy(
        update={"engines": engines, "chips": pool.chips // pool.engines * engines}
    )
