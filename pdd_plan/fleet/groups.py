"""Latency laws of all requests and of groups of them, mixed from the laws of paths.

Groups are traffic classes, and regions of users. Requests of all regions go over the lanes alike;
what differs is the way between users and sites, a constant that is added on every lane.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pdd_plan.fleet.laws import Law, Route, mixture
from pdd_plan.fleet.problem import Limit, Problem
from pdd_plan.scenario.policy import Metric


@dataclass(frozen=True)
class PathPart:
    """Law of one latency of the requests of one traffic class and region on one path.

    Attributes
    ----------
    metric : {"ttft", "tpot", "handoff_gap", "e2e"}
        Which latency.
    route : {"direct", "relay"} or None
        Way of the requests; None for a law over both.
    kind : int
        Traffic class.
    region : int or None
        Region of users; None for a law that is the same for all.
    weight : float
        Share of all requests.
    law : Law
        Their latency.
    """

    metric: Metric
    route: Route | None
    kind: int
    region: int | None
    weight: float
    law: Law


@dataclass(frozen=True)
class GroupLaws:
    """Latencies of a group of requests.

    Attributes
    ----------
    share : float
        Share of all requests.
    ttft, tpot, e2e : Law
        Time to first token, time per output token, arrival to last token.
    handoff_gap : Law or None
        None where none of the group is relayed.
    """

    share: float
    ttft: Law
    tpot: Law
    e2e: Law
    handoff_gap: Law | None


@dataclass
class PathParts:
    """Laws of paths with weights, to be mixed.

    Parameters
    ----------
    problem : Problem
        Gives the traffic classes and the regions of users.
    """

    problem: Problem
    parts: list[PathPart] = field(default_factory=list)

    def add(
        self, metric: Metric, route: Route | None, lane: int, kind: int, weight: float, law: Law
    ) -> None:
        """Add a law of a lane, as of :meth:`PathLaws.lane`, for users of each region."""
        if route is None:
            self.parts.append(PathPart(metric, None, kind, None, weight, law))
            return
        relayed, last = route == "relay", metric == "e2e"
        delays = self.problem.user_delays_s(lane, relayed=relayed, last=last)
        for region, share in enumerate(self.problem.region_shares()):
            seen = law.later(float(delays[region])) if delays[region] > 0.0 else law
            part = PathPart(metric, route, kind, region, weight * float(share), seen)
            self.parts.append(part)

    def law(
        self,
        metric: Metric,
        kind: int | None = None,
        route: Route | None = None,
        region: int | None = None,
    ) -> Law | None:
        """Mix the laws of one latency, of a class, route and region or of all of them.

        Returns
        -------
        Law or None
            None where there are no such requests.
        """
        chosen = [
            (part.weight, part.law)
            for part in self.parts
            if part.metric == metric
            and kind in (None, part.kind)
            and route in (None, part.route)
            and (region is None or part.region in (None, region))
        ]
        return mixture(chosen) if chosen else None

    def whole(self, metric: Metric, kind: int | None = None, region: int | None = None) -> Law:
        """Mix the laws of a latency that every request has."""
        law = self.law(metric, kind, region=region)
        assert law is not None
        return law

    def law_for(self, limit: Limit) -> Law | None:
        """Law of the latency and the requests that a limit is about."""
        kind = self.problem.classes.index(limit.traffic) if limit.traffic else None
        names = [region.name for region in self.problem.regions]
        region = names.index(limit.region) if limit.region else None
        return self.law(limit.metric, kind, region=region)

    def by_class(self) -> dict[str, GroupLaws]:
        """Latencies of each traffic class by name; empty where there are none."""
        atoms = self.problem.atoms
        return {
            name: self._group(float(atoms.weight[atoms.kind == kind].sum()), kind=kind)
            for kind, name in enumerate(self.problem.classes)
        }

    def by_region(self) -> dict[str, GroupLaws]:
        """Latencies of the users of each region by name; empty where there are none."""
        return {
            region.name: self._group(region.share, region=number)
            for number, region in enumerate(self.problem.regions)
        }

    def _group(self, share: float, kind: int | None = None, region: int | None = None) -> GroupLaws:
        return GroupLaws(
            share=share,
            ttft=self.whole("ttft", kind, region),
            tpot=self.whole("tpot", kind, region),
            e2e=self.whole("e2e", kind, region),
            handoff_gap=self.law("handoff_gap", kind, region=region),
        )
