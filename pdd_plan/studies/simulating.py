"""A plan's predictions against a discrete-event simulation of the same fleet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.build import build_problem
from pdd_plan.fleet.evaluate import Evaluation, evaluate
from pdd_plan.fleet.laws import Law
from pdd_plan.fleet.plan import Plan
from pdd_plan.fleet.problem import Problem
from pdd_plan.fleet.shared_plan import AnyPlan, SharedPlan
from pdd_plan.scenario import Question, Scenario
from pdd_plan.scenario.policy import Metric
from pdd_plan.scenario.services import naming
from pdd_plan.simulation import SimulationOptions, simulate
from pdd_plan.simulation.measures import Estimate, SimulationResult, Summary
from pdd_plan.studies.given import candidate_of_plan
from pdd_plan.studies.services import require_same_services

PERCENTILES = (50.0, 90.0, 95.0, 99.0)


@dataclass(frozen=True)
class Comparison:
    """One figure, predicted and simulated.

    Attributes
    ----------
    what : str
        Such as ``TTFT P90``.
    unit : str
        ``s`` or ``1``.
    predicted : float
        By the analytic model.
    simulated, half_width : float
        Mean over replications, and the half-width of its confidence interval.
    limit : float or None
        Service level of that figure.
    """

    what: str
    unit: str
    predicted: float
    simulated: float
    half_width: float
    limit: float | None = None

    @property
    def difference(self) -> float:
        """Predicted over simulated, less 1."""
        return self.predicted / self.simulated - 1.0 if self.simulated else 0.0

    @property
    def missed(self) -> bool:
        """Whether the simulation misses the limit by more than its confidence interval."""
        return self.limit is not None and self.simulated - self.half_width > self.limit


@dataclass(frozen=True)
class SimulationReport:
    """Predictions of a plan beside what its simulation measured.

    Attributes
    ----------
    rows : tuple of Comparison
        Latencies, uses and shares.
    result : SimulationResult
        Everything measured.
    """

    rows: tuple[Comparison, ...]
    result: SimulationResult

    @property
    def missed(self) -> tuple[Comparison, ...]:
        """Rows whose limit the simulation misses."""
        return tuple(row for row in self.rows if row.missed)


def simulate_any(
    question: Question,
    plan: AnyPlan,
    options: SimulationOptions,
    progress: Callable[[float], None] | None = None,
) -> dict[str, SimulationReport]:
    """Simulate the fleet of one service, or of each of several: no service slows another.

    Parameters
    ----------
    question : Scenario or SharedScenario
        As loaded.
    plan : Plan or SharedPlan
        Of the same kind.
    options, progress
        As for `simulate_plan`.

    Returns
    -------
    dict of str to SimulationReport
        By service; of one service under an empty name.

    Raises
    ------
    InputError
        As `simulate_plan` does, or if the services are not those of the scenario.
    UnstableQueueError
        If a fleet cannot carry its load.
    """
    if isinstance(question, Scenario):
        assert isinstance(plan, Plan)
        return {"": simulate_plan(question, plan, options, progress)}
    assert isinstance(plan, SharedPlan)
    require_same_services(question, plan)
    reports = {}
    for name, alone in question.scenarios.items():
        with naming(name):
            reports[name] = simulate_plan(alone, plan.services[name], options, progress)
    return reports


def simulate_plan(
    scenario: Scenario,
    plan: Plan,
    options: SimulationOptions,
    progress: Callable[[float], None] | None = None,
) -> SimulationReport:
    """Simulate the fleet of a plan under a scenario, and predict it afresh.

    Parameters
    ----------
    scenario : Scenario
        As loaded.
    plan : Plan
        Fleet: its pools, links, lanes and threshold.
    options : SimulationOptions
        Length, replications, seed.
    progress : callable, optional
        Told the share done.

    Returns
    -------
    SimulationReport

    Raises
    ------
    InputError
        If the plan does not fit the scenario, is overloaded, or numba is not installed.
    UnstableQueueError
        If the fleet cannot carry the load.
    """
    built = build_problem(scenario)
    problem, candidate = candidate_of_plan(scenario, built, plan)
    problem = problem.without_record()  # predict what is simulated: arrivals drawn by two moments
    evaluation = evaluate(problem, candidate)
    try:
        result = simulate(problem, candidate, options, progress=progress)
    except ModuleNotFoundError as error:
        if error.name != "numba":
            raise
        raise InputError(
            Issue("simulation needs numba, which is not installed", help="pip install numba")
        ) from error
    return SimulationReport(_rows(problem, evaluation, result), result)


def _rows(
    problem: Problem, predicted: Evaluation, measured: SimulationResult
) -> tuple[Comparison, ...]:
    limits: dict[tuple[str, float], float] = {
        (one.metric, one.percentile): one.limit_s for one in problem.limits if not one.on_part
    }
    routes = measured.ttft_by_route_s
    metrics: list[tuple[str, str, Law | None, Summary | None]] = [
        ("TTFT", "ttft", predicted.ttft, measured.ttft_s),
        ("TTFT direct", "", predicted.ttft_direct, routes.get("direct")),
        ("TTFT relay", "", predicted.ttft_relay, routes.get("relay")),
        ("TPOT", "tpot", predicted.tpot, measured.tpot_s),
        ("end to end", "e2e", predicted.e2e, measured.e2e_s),
    ]
    rows = []
    for name, key, law, summary in metrics:
        if law is None or summary is None or summary.count == 0:
            continue
        chosen = PERCENTILES if name == "TTFT" else (50.0, 90.0)
        if name == "TPOT":
            chosen = (0.0, 90.0)
        for percentile in chosen:
            limit = limits.get((key, percentile))
            rows.append(_percentile_row(name, law, summary, percentile, limit))
    rows += _group_rows(problem, predicted, measured)
    rows.append(
        _row(
            "relayed requests",
            "1",
            predicted.relay_request_fraction,
            measured.relay_request_fraction,
        )
    )
    for index, state in predicted.pools.items():
        use = measured.uses.get(problem.pools[index].label)
        if use is not None:
            label = f"use of {problem.pools[index].label}"
            measured_use = use.utilization
            if problem.pools[index].role == "relay":  # busy slots, not tokens of full batches
                slots = Estimate(use.held.mean / use.capacity, use.held.half_width / use.capacity)
                measured_use = slots
            rows.append(_row(label, "1", state.utilization, measured_use))
    for lane, share in zip(problem.lanes, predicted.lane_utilization, strict=True):
        use = measured.uses.get(lane.label)
        if use is not None and share > 0.0:
            rows.append(_row(f"use of line {lane.label}", "1", share, use.utilization))
    return tuple(rows)


TITLES: dict[Metric, str] = {
    "ttft": "TTFT",
    "tpot": "TPOT",
    "handoff_gap": "gap at the hand-off",
    "e2e": "end to end",
}

GROUP_FIGURES: tuple[tuple[Metric, float], ...] = (
    ("ttft", 50.0),
    ("ttft", 90.0),
    ("ttft", 99.0),
    ("tpot", 90.0),
    ("e2e", 90.0),
)
"""Figures of each traffic class and region, beside those that are limited."""


def _group_rows(
    problem: Problem, predicted: Evaluation, measured: SimulationResult
) -> list[Comparison]:
    """Latencies of traffic classes and of regions, and what their limits are about."""
    limits = {
        (one.traffic, one.region, one.metric, one.percentile): one.limit_s for one in problem.limits
    }
    groups = [
        (name, "", group, measured.by_class_s[name]) for name, group in predicted.by_class.items()
    ]
    groups += [
        ("", name, group, measured.by_region_s[name]) for name, group in predicted.by_region.items()
    ]
    rows = []
    for traffic, region, group, summaries in groups:
        limited = [(m, p) for of, at, m, p in limits if (of, at) == (traffic, region)]
        for metric, percentile in dict.fromkeys((*GROUP_FIGURES, *limited)):
            law: Law | None = getattr(group, metric)
            summary = summaries[metric]
            if law is None or summary.count == 0:
                continue
            name = f"{traffic or region or 'others'}: {TITLES[metric]}"
            limit = limits.get((traffic, region, metric, percentile))
            rows.append(_percentile_row(name, law, summary, percentile, limit))
    return rows


def _percentile_row(
    name: str, law: Law, summary: Summary, percentile: float, limit: float | None
) -> Comparison:
    """A percentile of a time, or its mean, which is percentile 0."""
    value = law.mean if percentile == 0.0 else law.quantile(percentile / 100.0)
    text = "mean" if percentile == 0.0 else f"P{percentile:g}"
    return _row(f"{name} {text}", "s", value, summary.percentile(percentile), limit)


def _row(
    what: str, unit: str, predicted: float, measured: Estimate, limit: float | None = None
) -> Comparison:
    return Comparison(what, unit, predicted, measured.mean, measured.half_width, limit)
