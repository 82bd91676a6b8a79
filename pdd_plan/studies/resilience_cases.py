"""The cheapest fleet for each loss by itself, and what that bounds."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

from pdd_plan.fleet.outages import Outage, OutageKind
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, Limit, Problem
from pdd_plan.fleet.survival import Survival, spare_outage
from pdd_plan.optimizer.search import Scope, SearchOptions, SearchResult
from pdd_plan.scenario.schema import Scenario
from pdd_plan.scenario.tolerate import ANY, NONE
from pdd_plan.studies.outage_specs import OutageSpec
from pdd_plan.studies.outages import outage_model
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.searching import search_plan
from pdd_plan.studies.shared_prices import paid_part, shared_prices
from pdd_plan.studies.spares import plan_spares

SEARCH_SHARE = 0.6
"""Share of the time for the cheapest fleets of each case; the rest is for those that survive."""

BRIEF_SHARE = 0.05
"""Share of the time for one more start."""

NOTHING = "nothing"
"""Name of the case with nothing lost."""


@dataclass(frozen=True)
class Case:
    """The cheapest fleet for one requirement alone, and the bound that it gives.

    Attributes
    ----------
    label : str
        Such as ``nothing``, ``engines:1`` or ``site:south``.
    outage : Outage or None
        Site or line that is lost altogether.
    result : SearchResult
        Cheapest fleet, and bound on the cost of any.
    """

    label: str
    outage: Outage | None
    result: SearchResult

    @property
    def candidate(self) -> Candidate | None:
        """Cheapest fleet found."""
        return self.result.candidate

    @property
    def lower_usd_per_hour(self) -> float:
        """Bound on the cost of any fleet; infinite where there is none [currency/h]."""
        return self.result.certificate.lower_bound_usd_per_hour


@dataclass(frozen=True)
class Tolerance:
    """What a fleet is to survive.

    Attributes
    ----------
    limits : tuple of Limit
        Limits while something is lost.
    spares : int
        Engines that every pool in use can do without.
    outages : tuple of Outage
        Sites and lines, one of which at a time may be lost.
    """

    limits: tuple[Limit, ...]
    spares: int = 0
    outages: tuple[Outage, ...] = ()

    @classmethod
    def of(cls, scenario: Scenario) -> Tolerance:
        """Return what a scenario wants to be survived; limits not named again stay as they are."""
        tolerate = scenario.tolerate
        limits = {limit.key: limit for limit in scenario.slo.limits}
        limits |= {limit.key: limit for limit in tolerate.slo.limits}
        wanted: tuple[tuple[OutageKind, str, list[str]], ...] = (
            ("site", tolerate.site, list(scenario.sites)),
            ("line", tolerate.line, [link.name for link in scenario.links]),
        )
        outages = tuple(
            Outage(kind, one)
            for kind, name, known in wanted
            for one in (known if name == ANY else [] if name == NONE else [name])
        )
        return cls(tuple(limits.values()), tolerate.engines, outages)

    @property
    def specs(self) -> tuple[OutageSpec, ...]:
        """All losses as they are asked for, engines first."""
        pools = (OutageSpec("engines", "", self.spares),) if self.spares else ()
        return (*pools, *(OutageSpec(one.kind, one.name) for one in self.outages))


class Cases:
    """Everything that a fleet must survive, and searches for each of it alone.

    Parameters
    ----------
    model : PathModel
        Rule of the problem.
    tolerance : Tolerance
        What is to be survived.
    options : PlanOptions
        Time limit from now on, solver and progress.
    """

    def __init__(self, model: PathModel, tolerance: Tolerance, options: PlanOptions) -> None:
        self.model = model
        self.tolerance = tolerance
        self.options = options
        self.started = time.monotonic()
        self.left = outage_model(model, tolerance.limits)
        self.survival = Survival(model, self.left, tolerance.spares, tolerance.outages)
        self._searches = 2 + bool(tolerance.spares) + 2 * len(tolerance.outages)
        self.paid: list[Candidate] = []
        """Parts that each loss pays for in the cheapest fleets at shared prices."""

    @property
    def deadline(self) -> float:
        """When the time is over, on the clock of `time.monotonic` [s]."""
        return self.started + self.options.time_limit_s

    def solve(self) -> list[Case]:
        """Cheapest fleets of each case, up to one that no fleet can keep.

        With the same limits, a loss that the usual fleet survives anyway needs no search: what is
        left cannot be cheaper than a fleet that loses nothing.
        """
        found = [self._alone(None)]
        if self.tolerance.spares and math.isfinite(found[0].lower_usd_per_hour):
            found.append(self._spare_case())
        usual = found[-1].candidate if self.model.problem.limits == self.tolerance.limits else None
        for outage in self.tolerance.outages:
            if math.isinf(found[-1].lower_usd_per_hour):
                break
            if usual is not None and self.survival.rerouted(usual, outage) is not None:
                result = replace(found[0].result, candidate=None, usd_per_hour=math.inf)
                found.append(Case(outage.label, outage, result))
            else:
                found.append(self._alone(outage))
        return found

    def lower_bound(self, found: list[Case]) -> float:
        """Bound on the cost of any fleet that survives everything; infinite where there is none.

        Parameters
        ----------
        found : list of Case
            As of `solve`.

        Notes
        -----
        A fleet that survives holds a fleet for each case, so it costs no less than the dearest.
        It costs no less either than those fleets together at prices that are shared out among
        the cases: for each part the shares add up to its price, so none is counted twice.
        """
        bound = max(case.lower_usd_per_hour for case in found)
        if self.tolerance.outages and math.isfinite(bound):
            bound = max(bound, self._together())
        return bound

    def _together(self) -> float:
        """Sum over losses of the least cost without each, at its shares of the prices."""
        self.options.tell("bounding the cost of all losses together")
        *parts, rest = shared_prices(self.left.problem, self.tolerance.outages)
        total = self._rest(rest)
        for trial, outage in zip(parts, self.tolerance.outages, strict=True):
            model, scope = self.left.revised(trial), self.scope_without(outage)
            result = search_plan(trial, self._next_options(), model, scope)
            total += result.certificate.lower_bound_usd_per_hour
            if result.candidate is not None:
                self.survival.suggest(outage, result.candidate)
                self.paid.append(paid_part(trial, result.candidate))
        return total

    def _rest(self, priced: Problem) -> float:
        """Least cost of what no loss pays for, with nothing lost or spare engines out."""
        if self.tolerance.spares:
            model = self.left.revised(priced)
            options = self._next_options().search_options()
            result = plan_spares(model, self.tolerance.spares, options)
        else:
            usual = replace(self.model.problem, pools=priced.pools, lanes=priced.lanes)
            model = self.model.revised(usual)
            result = search_plan(usual, self._next_options(), model)
        if result.candidate is not None:
            self.survival.suggest(None, result.candidate)
            self.paid.append(paid_part(priced, result.candidate))
        return result.certificate.lower_bound_usd_per_hour

    def _next_options(self) -> PlanOptions:
        """Options of the next search: half of the time left for searches, or its even share."""
        whole_s = SEARCH_SHARE * self.options.time_limit_s
        left_s = self.started + whole_s - time.monotonic()
        limit_s = max(0.5 * left_s, whole_s / self._searches)
        return replace(self.options, time_limit_s=limit_s, progress=None)

    def brief_options(self) -> SearchOptions:
        """Options of a search for one more start."""
        left_s = self.deadline - time.monotonic()
        limit_s = max(min(BRIEF_SHARE * self.options.time_limit_s, 0.25 * left_s), 0.1)
        return replace(self.options.search_options(), time_limit_s=limit_s, progress=None)

    def _alone(self, outage: Outage | None) -> Case:
        """The cheapest fleet with nothing lost, or without a site or line altogether."""
        model = self.model if outage is None else self.left
        label = NOTHING if outage is None else outage.label
        self.options.tell(
            "searching for the plan" if outage is None else f"planning without {label}"
        )
        scope = self.scope_without(outage)
        result = search_plan(model.problem, self._next_options(), model, scope)
        if result.candidate is not None:
            self.survival.suggest(outage, result.candidate)
        return Case(label, outage, result)

    def scope_without(self, outage: Outage | None) -> Scope:
        """Lanes that a loss leaves."""
        problem = self.model.problem
        lanes = Scope().lanes_of(problem)
        if outage is not None:
            lanes = frozenset(i for i in lanes if not outage.takes_lane(problem.lanes[i]))
        return Scope(lanes)

    def _spare_case(self) -> Case:
        """The cheapest fleet with spare engines in every pool."""
        self.options.tell("planning with spare engines")
        options = self._next_options().search_options()
        result = plan_spares(self.left, self.tolerance.spares, options)
        if result.candidate is not None:
            self.survival.suggest(None, result.candidate)
        return Case(spare_outage(self.tolerance.spares).label, None, result)
