"""A fleet that keeps its limits with a stated confidence, though inputs are uncertain.

The planner is asked for a harder scenario: in normal scores, the inputs are moved from their
medians in the direction in which things get worse fastest, by a distance, the depth. (If one limit
were linear in the scores, a fleet for depth z would hold with probability Phi(z): the first-order
reliability method [1]_.) The least depth whose fleet holds in enough draws is found by bisection,
and engines and bandwidth that those draws do not need are taken away again. Beside it, the plan
for the values as written grows by what mends the most draws for its cost; the cheaper of the two
is taken. None of this proves anything; what counts is that the fleet then holds in draws that the
search has never seen.

References
----------
.. [1] A. M. Hasofer, N. C. Lind, "Exact and invariant second-moment code format", Journal of the
   Engineering Mechanics Division 100 (1974) 111-121.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from pdd_plan.errors import InputError, SolverError
from pdd_plan.fleet.plan import Plan
from pdd_plan.fleet.plan_uncertainty import Risk
from pdd_plan.fleet.problem import FloatArray
from pdd_plan.scenario import Scenario
from pdd_plan.studies.given import candidate_of_plan
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.planning import plan_scenario
from pdd_plan.studies.uncertain_depth import Depth, adverse_weights
from pdd_plan.studies.uncertain_draws import Draws, at_levels, independent_draws
from pdd_plan.studies.uncertain_fleets import fleet_key, larger_fleets, smaller_fleets
from pdd_plan.studies.uncertain_risk import Judge, Outcome, probability, risk_of

SOME = 20
"""Missed draws, about, by which additions to a fleet are chosen."""
MOST_ADDED = 12
"""Engines and steps of bandwidth that are added at most."""
ROUNDS = 3
"""Fleets that are verified at most; each fresh failure asks for fewer misses in the search."""
STRICTER = 0.7
"""Factor on the misses allowed after a failed verification."""


@dataclass(frozen=True)
class Found:
    """What a search came to.

    Attributes
    ----------
    fleet : Plan or None
        The fleet that holds; None where none was found.
    verification : Risk or None
        Of the last fleet that was verified.
    plans, fleets : int
        Plans made and fleets judged.
    """

    fleet: Plan | None
    verification: Risk | None
    plans: int
    fleets: int


@dataclass
class Search:
    """Looks for the cheapest fleet that holds with a confidence.

    Attributes
    ----------
    scenario : Scenario
        With a section `uncertainty` that states the confidence.
    judge : Judge
        Evaluates fleets.
    draws : Draws
        That fleets are chosen by.
    options : PlanOptions
        For plans on the way, and the seed.
    """

    scenario: Scenario
    judge: Judge
    draws: Draws
    options: PlanOptions
    plans: int = 0
    _seen: dict[object, list[Outcome]] = field(default_factory=dict)
    _order: NDArray[np.intp] | None = None
    _hardest_first: Draws | None = None

    def find(self, nominal: Plan) -> Found:
        """Return the fleet that holds, beginning with the plan for the values as written."""
        self._begin(nominal)
        allowed = most_misses(len(self.draws), self._confidence)
        depth, verified = Depth(), None
        for attempt in range(1, ROUNDS + 1):
            fleet: Plan | None = nominal
            if not self._holds(nominal, allowed):
                fleet = self._cheapest(depth, nominal, allowed)
            if fleet is None:
                break
            verified = self._verify(fleet, attempt)
            if verified.holds.low >= self._confidence:
                return Found(fleet, verified, self.plans, len(self._seen))
            allowed = math.floor(STRICTER * allowed)
            depth.reopen()
        return Found(None, verified, self.plans, len(self._seen))

    def outcomes(self, fleet: Plan) -> list[Outcome]:
        """Return the outcomes of a fleet that held, or of the one begun with, in order."""
        assert self._order is not None
        outcomes = self._seen[fleet_key(fleet)]
        return [outcomes[place] for place in np.argsort(self._order)]

    @property
    def _confidence(self) -> float:
        assert self.scenario.uncertainty is not None
        assert self.scenario.uncertainty.confidence is not None
        return self.scenario.uncertainty.confidence

    def _begin(self, nominal: Plan) -> None:
        """Judge the first fleet; from then on its hardest draws come first, to fail early."""
        outcomes = self.judge.outcomes(self.draws, nominal, "evaluating draws")
        self._order = np.argsort([-one.strain for one in outcomes], kind="stable")
        self._hardest_first = replace(self.draws, values=self.draws.values[self._order])
        self._seen[fleet_key(nominal)] = [outcomes[place] for place in self._order]

    def _holds(self, fleet: Plan, allowed: int) -> bool:
        """Whether a fleet misses its limits in no more draws than are allowed."""
        key = fleet_key(fleet)
        if key not in self._seen:
            assert self._hardest_first is not None
            said = "judging a larger fleet"
            self._seen[key] = self.judge.until(self._hardest_first, fleet, allowed, said)
        return sum(not one.holds for one in self._seen[key]) <= allowed

    def _cheapest(self, depth: Depth, nominal: Plan, allowed: int) -> Plan | None:
        """Return the cheaper of a fleet planned for a harder scenario and the first one grown."""
        deep = self._deepen(depth, nominal, allowed)
        if not self.scenario.tolerate.nothing:
            return deep  # an engine that the draws do not need may be there for a loss
        fleet = None if deep is None else self._trim(deep, allowed)
        most = math.inf if fleet is None else self._usd_per_hour(fleet)
        grown = self._grow(nominal, allowed, most)
        return fleet if grown is None else self._trim(grown, allowed)

    def _verify(self, fleet: Plan, attempt: int) -> Risk:
        fresh = independent_draws(self.draws.inputs, len(self.draws), self.options.seed, attempt)
        outcomes = self.judge.outcomes(fresh, fleet, "verifying with other draws")
        return risk_of(outcomes, self.scenario.slo.limits, fresh.sampling)

    # --- harder scenarios ----------------------------------------------------------------------

    def _deepen(self, depth: Depth, nominal: Plan, allowed: int) -> Plan | None:
        """Return the fleet of the least depth that holds; None where no depth does."""
        if depth.weights is None:
            depth.weights = adverse_weights(self.judge.variants, self.draws, nominal)
        if not np.any(depth.weights):
            return None
        while (at := depth.next(self._confidence)) is not None:
            fleet = self._plan_at(depth.weights * at)
            depth.learn(at, fleet, fleet is not None and self._holds(fleet, allowed))
        return depth.best

    def _plan_at(self, scores: FloatArray) -> Plan | None:
        """Plan with every input at its quantile of a normal score; None where no fleet can."""
        from scipy.special import ndtr

        self.options.tell(f"planning for a harder scenario ({self.plans + 1})")
        self.plans += 1
        moved = np.flatnonzero(scores)
        hard = at_levels(tuple(self.draws.inputs[i] for i in moved), ndtr(scores[moved]))
        scenario = self.judge.variants.scenario(hard.changes(0))
        try:
            options = replace(self.options, progress=None, whole=False)
            made = plan_scenario(scenario, options)
        except (InputError, SolverError):  # no number of engines keeps a limit; none in time
            return None
        return None if made.status == "infeasible" else made

    # --- larger and smaller fleets --------------------------------------------------------------

    def _grow(self, fleet: Plan, allowed: int, below: float) -> Plan | None:
        """Add, one by one, what mends the most draws for its cost.

        None where nothing more does at a cost below `below` [currency/h].
        """
        assert self._hardest_first is not None
        missed = sum(not one.holds for one in self._seen[fleet_key(fleet)])
        step = max(missed // SOME, 1)
        some = replace(self._hardest_first, values=self._hardest_first.values[:missed:step])
        mended, cost = 0, self._usd_per_hour(fleet)
        for _ in range(MOST_ADDED):
            if mended and self._holds(fleet, allowed):
                return fleet
            self.options.tell("adding what the draws need")
            best = 0.0
            for one in larger_fleets(self.scenario, fleet):
                more = self._usd_per_hour(one)
                if more >= below:
                    continue
                held = sum(each.holds for each in self.judge.outcomes(some, one))
                worth = (held - mended) / max(more - cost, 1e-9)
                if worth > best:
                    best, chosen = worth, (one, held, more)
            if best == 0.0:
                return None
            fleet, mended, cost = chosen
        return None

    def _trim(self, fleet: Plan, allowed: int) -> Plan:
        """Take away, one by one, what the draws do not need; the dearest first."""
        self.options.tell("taking away what the draws do not need")
        best, best_cost = fleet, self._usd_per_hour(fleet)
        while True:
            smaller = sorted(
                (
                    (self._usd_per_hour(one), number, one)
                    for number, one in enumerate(smaller_fleets(self.scenario, best))
                )
            )
            for cost, _, one in smaller:
                if cost < best_cost and self._holds(one, allowed):
                    best, best_cost = one, cost
                    break
            else:
                return best

    def _usd_per_hour(self, fleet: Plan) -> float:
        """Return the cost of a fleet at the prices as written."""
        problem, candidate = candidate_of_plan(*self.judge.variants.built(()), fleet)
        return candidate.usd_per_hour(problem)


def most_misses(draws: int, confidence: float) -> int:
    """Return in how many draws a fleet may miss and still hold with a confidence.

    Parameters
    ----------
    draws : int
        Number of independent draws.
    confidence : float
        In (0, 1).

    Returns
    -------
    int
        The most misses whose lower bound of the probability is the confidence; -1 where even none
        is too many, so that no fleet can pass.
    """
    most = -1
    while most + 1 <= draws and probability(draws - most - 1, draws).low >= confidence:
        most += 1
    return most
