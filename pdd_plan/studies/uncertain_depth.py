"""How much harder a scenario a fleet is planned for: the direction, and how far along it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pdd_plan.errors import InputError, UnstableQueueError
from pdd_plan.fleet.evaluate import evaluate
from pdd_plan.fleet.plan import Plan
from pdd_plan.fleet.problem import FloatArray
from pdd_plan.studies.given import candidate_of_plan
from pdd_plan.studies.uncertain_draws import Draws, Variants, at_levels

SIDE = 0.9
"""Quantile at which an input alone is tried, and its complement."""
SLIGHT = 0.02
"""Inputs that count for less than this share of the greatest are not moved."""
LIGHT = 0.5
"""Share of the load at which inputs are weighed, so that no queue is unstable on either side."""
DEEPEST = 4.0
"""Greatest depth that is tried, in standard deviations."""
CLOSE = 0.2
"""Depths this near to each other are not told apart."""


@dataclass
class Depth:
    """Bisection for the least depth whose fleet holds."""

    low: float = 0.0
    high: float | None = None
    best: Plan | None = None
    weights: FloatArray | None = None

    def next(self, confidence: float) -> float | None:
        """Return the depth to try next, or None where the least is known."""
        from scipy.special import ndtri

        if self.high is not None:
            near = self.high - self.low < CLOSE
            return None if near else 0.5 * (self.low + self.high)
        first = max(float(ndtri(confidence)), 0.5)
        depth = first if self.low == 0.0 else 1.4 * self.low
        return None if depth > DEEPEST else depth

    def learn(self, depth: float, fleet: Plan | None, holds: bool) -> None:
        """Note what came of a depth. Where no fleet can do it, less deep is left to try."""
        if fleet is None or holds:
            self.high = depth
            self.best = fleet if holds else self.best
        else:
            self.low = depth

    def reopen(self) -> None:
        """Look deeper again, since the best fleet did not hold."""
        if self.high is not None and self.best is not None:
            self.low, self.high, self.best = self.high, None, None


def adverse_weights(variants: Variants, draws: Draws, fleet: Plan) -> FloatArray:
    """Return how much each input hurts a fleet, with the sign of the side that does.

    Parameters
    ----------
    variants : Variants
        Of the scenario.
    draws : Draws
        Their inputs are.
    fleet : Plan
        That is hurt.

    Returns
    -------
    array
        Of length 1 in all: the direction, in normal scores of the inputs, in which things get
        worse fastest. An input counts with the largest relative change of any utilization or
        limited time between its 10 % and its 90 % quantile, the others at their medians; inputs
        that count for less than `SLIGHT` of the greatest are left where they are.
    """
    count = len(draws.inputs)
    weights = np.zeros(count)
    for index in range(count):
        sides = []
        for level in (1.0 - SIDE, SIDE):
            levels = np.full(count, 0.5)
            levels[index] = level
            sides.append(_strain(variants, at_levels(draws.inputs, levels).changes(0), fleet))
        weights[index] = _rise(*sides)
    weights[np.abs(weights) < SLIGHT * np.abs(weights).max(initial=0.0)] = 0.0
    length = float(np.linalg.norm(weights))
    return weights / length if length > 0.0 else weights


def _rise(low: FloatArray | None, high: FloatArray | None) -> float:
    """Return the greatest relative rise from side to side; 1 where only the low one is possible."""
    if low is None or high is None:
        return float(low is not None) - float(high is not None)
    rises = np.nan_to_num(np.log(high / low), nan=0.0, posinf=1.0, neginf=-1.0)
    return float(rises[np.argmax(np.abs(rises))])


def _strain(variants: Variants, changes: tuple[str, ...], fleet: Plan) -> FloatArray | None:
    """Return utilizations and limited times [s] of a fleet, at a load that it can carry.

    None where it cannot even do that, or cannot be built.
    """
    try:
        problem, candidate = candidate_of_plan(*variants.built(changes), fleet)
        flows = tuple(LIGHT * flow for flow in candidate.flows_per_s)
        seen = evaluate(problem, replace(candidate, flows_per_s=flows))
    except (InputError, UnstableQueueError):
        return None
    uses = [pool.utilization for pool in seen.pools.values()] + list(seen.lane_utilization)
    strain = np.array([*uses, *(one.predicted_s for one in seen.limits)])
    kept: FloatArray = np.where(strain > 0.0, strain, 1.0)  # unused: the same on both sides
    return kept
