"""What the tests of traffic classes and of user regions look at alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pdd_plan.fleet.evaluate import Evaluation, evaluate
from pdd_plan.fleet.laws import Law
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.simulation import SimulationOptions, SimulationResult, simulate
from pdd_plan.simulation.measures import Summary
from tests.problems import FloatArray, ProblemOptions, random_problem

TOLERANCES = {50.0: 0.08, 90.0: 0.05, 99.0: 0.10}
"""Relative errors of percentiles that are accepted, beyond the interval of the simulation."""


def idle_margins(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Margins of TTFT on idle pools by lane state and threshold: at once, and by every path."""
    model = PathModel(problem)
    keys = [(level, 0.4 * problem.arrival_rate_per_s) for level in (2, 6)]
    limits = problem.limits_of("ttft")
    by_path = [
        [
            min(
                model.attainment(0, 1, 0.0, (0, level, flow), threshold, limit) - limit.probability
                for limit in limits
            )
            for threshold in range(problem.thresholds.size)
        ]
        for level, flow in keys
    ]
    return model.rules.idle_margins(0, 0, keys), np.array(by_path)


def one_shot(seed: int) -> tuple[Problem, Candidate]:
    """A random plan with two decode sites that hands caches over in one shot."""
    problem, candidate = random_problem(seed, ProblemOptions(decode_sites=2))
    return replace(problem, serving=replace(problem.serving, handoff="one_shot")), candidate


def both(problem: Problem, candidate: Candidate, seed: int) -> tuple[Evaluation, SimulationResult]:
    """Prediction and simulation of a plan, with its loads of pools in both."""
    predicted = evaluate(problem, candidate)
    loads = {
        i: load
        for i, load in enumerate(predicted.check.pool_loads)
        if problem.pools[i].role != "relay"
    }
    options = SimulationOptions(requests=100_000, replications=3, seed=seed)
    return predicted, simulate(problem, candidate, options, pool_loads=loads)


def percentiles_off(law: Law, seen: Summary) -> list[float]:
    """Percentiles that differ from those of a simulation by more than is accepted."""
    found = []
    for percentile, tolerance in TOLERANCES.items():
        estimate = seen.percentile(percentile)
        error = abs(law.quantile(percentile / 100) - estimate.mean) - estimate.half_width
        if not error <= tolerance * estimate.mean:
            found.append(percentile)
    return found
