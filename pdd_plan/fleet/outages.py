"""What is left of a fleet when engines, a site or a line are lost, and which lanes still work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from pdd_plan.fleet.problem import Candidate, LaneOption, Problem, Role

OutageKind = Literal["engines", "site", "line"]


@dataclass(frozen=True)
class Outage:
    """One thing that is lost; several at once are not looked at.

    Attributes
    ----------
    kind : {"engines", "site", "line"}
        What is lost.
    name : str
        Site, line (``from-to``), or pool (``site/role``, with chip and shape where it takes them
        to tell pools apart).
    pool : int
        Engines: index of the pool option.
    engines : int
        Engines: how many of them; a pool of fewer is lost altogether.
    """

    kind: OutageKind
    name: str
    pool: int = -1
    engines: int = 0

    @property
    def label(self) -> str:
        """How the outage is written after ``--fail``: ``line:beijing-shanghai``."""
        return f"{self.kind}:{self.name}"

    def takes_lane(self, lane: LaneOption) -> bool:
        """Whether a lane is lost with it: its line, or a site at one of its ends."""
        if self.kind == "line":
            return not lane.local and lane.label == self.name
        return self.kind == "site" and self.name in (lane.source, lane.target)


def after_outage(problem: Problem, candidate: Candidate, outage: Outage) -> Candidate:
    """What is left of a fleet; requests of lost lanes are not sent elsewhere yet.

    Parameters
    ----------
    problem : Problem
        What was planned.
    candidate : Candidate
        The whole fleet.
    outage : Outage
        What is lost.

    Returns
    -------
    Candidate
        With the lost engines gone, lost lanes closed and their flows 0.
    """
    engines = [
        0 if outage.kind == "site" and pool.site == outage.name else count
        for count, pool in zip(candidate.engines, problem.pools, strict=True)
    ]
    if outage.kind == "engines":
        engines[outage.pool] = max(engines[outage.pool] - outage.engines, 0)
    lost = [outage.takes_lane(lane) for lane in problem.lanes]
    levels = [-1 if gone else level for gone, level in zip(lost, candidate.levels, strict=True)]
    flows = [0.0 if gone else f for gone, f in zip(lost, candidate.flows_per_s, strict=True)]
    return replace(
        candidate, engines=tuple(engines), levels=tuple(levels), flows_per_s=tuple(flows)
    )


def usable_lanes(
    problem: Problem, candidate: Candidate, outage: Outage | None = None
) -> tuple[int, ...]:
    """Lanes that a fleet can send requests over.

    Parameters
    ----------
    problem : Problem
        What was planned.
    candidate : Candidate
        The fleet, or what is left of it.
    outage : Outage, optional
        What was lost, where the candidate is what is left: RDMA inside a site that is lost has no
        line that would be closed.

    Returns
    -------
    tuple of int
        Lanes with a line, or inside a site, with prefill engines at the start and decode engines
        at the end. A lane that only a baseline may use counts where it is in use.
    """
    return tuple(
        index
        for index, lane in enumerate(problem.lanes)
        if (candidate.levels[index] >= 0 or (lane.local and not lane.baseline_only))
        and not (outage is not None and outage.takes_lane(lane))
        and engines_at(problem, candidate, lane.source, "prefill")
        and engines_at(problem, candidate, lane.target, "decode")
    )


def engines_at(problem: Problem, candidate: Candidate, site: str, role: Role) -> int:
    """Engines of a candidate at a site in a role."""
    return sum(candidate.engines[i] for i in problem.pool_indices(site, role))


def why_no_lane(problem: Problem, candidate: Candidate) -> str:
    """Say why no lane of what is left of a fleet can be used."""
    roles: tuple[Role, ...] = ("prefill", "decode")
    for role in roles:
        sites = dict.fromkeys(pool.site for pool in problem.pools if pool.role == role)
        if not any(engines_at(problem, candidate, site, role) for site in sites):
            return f"no {role} engine is left"
    return "no line leads from the prefill engines that are left to decode engines that are left"


def open_lane(lane: LaneOption, level: int) -> int:
    """Level of a lane once requests are sent over it: RDMA inside a site needs no buying."""
    return 0 if lane.local and level < 0 else level
