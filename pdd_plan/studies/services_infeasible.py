"""Why services have no plan together: which service, or which of the things they share."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.plan import Change, Failure, Infeasibility
from pdd_plan.fleet.problem import FloatArray
from pdd_plan.fleet.shared import BuiltServices, SharedProblem
from pdd_plan.optimizer.search import search
from pdd_plan.optimizer.shared import search_shared
from pdd_plan.optimizer.shared_results import SharedResult
from pdd_plan.scenario.services import SharedScenario, at_service
from pdd_plan.studies.infeasible import explain_infeasible, with_stock
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.services_capacity import path_of, unit_of
from pdd_plan.studies.trials import EXPLAIN_S, MOST_TIMES

TRIAL_S = 10.0
"""Time of one trial at most [s]."""


def explain_shared(
    scenario: SharedScenario,
    services: BuiltServices,
    result: SharedResult,
    options: PlanOptions,
) -> Infeasibility:
    """Say which service has no plan at all, or what there is too little of for all together.

    Parameters
    ----------
    scenario : SharedScenario
        As loaded.
    services : BuiltServices
        Their problems, proven to have no plan together.
    result : SharedResult
        What the search found.
    options : PlanOptions
        Solver and progress.

    Returns
    -------
    Infeasibility
        Reason, what falls short, and single changes each of which makes a plan.
    """
    options.tell("looking for the smallest change that makes it feasible")
    refused = [n for n, ok in zip(services.problem.names, result.alone, strict=True) if not ok]
    if refused:
        return _of_services(scenario, services, refused, options)
    trial = _Trials(services, options)
    short = trial.shortfalls(result.prices)
    return Infeasibility(
        reason=_reason(services.problem, result, [text for _, text, _ in short]),
        failures=tuple(failure for _, _, failure in short),
        smallest_changes=trial.changes(result, [(index, failure) for index, _, failure in short]),
    )


def _of_services(
    scenario: SharedScenario, services: BuiltServices, refused: list[str], options: PlanOptions
) -> Infeasibility:
    """Why services have no plan even with the whole fleet to themselves."""
    reasons, failures, changes = [], [], []
    for name in refused:
        alone = scenario.scenarios[name]
        why = explain_infeasible(alone, services.built[name], options.search_options())
        reasons.append(f"service {name} has no plan even with the whole fleet: {why.reason}")
        failures += [one.model_copy(update={"what": f"{name}: {one.what}"}) for one in why.failures]
        changes += [
            one.model_copy(
                update={"change": f"{name}: {one.change}", "path": at_service(name, one.path)}
            )
            for one in why.smallest_changes
        ]
    # With several services refused, no single change makes a plan of all.
    single = tuple(changes) if len(refused) == 1 else ()
    return Infeasibility(
        reason="; ".join(reasons), failures=tuple(failures), smallest_changes=single
    )


def _reason(problem: SharedProblem, result: SharedResult, short: list[str]) -> str:
    names = ", ".join(problem.names[:-1]) + f" and {problem.names[-1]}"
    if not short:
        rows = [row.label for row, price in zip(problem.rows, result.prices, strict=True) if price]
        short = [f"what one could do without of {' and '.join(rows)} is not enough for the others"]
    return f"{names} each have a plan alone, but not together: {'; '.join(short)}"


@dataclass
class _Trials:
    """Trials with more of what is shared, by the same search as the plan's, within a time."""

    services: BuiltServices
    options: PlanOptions
    deadline: float = 0.0

    def __post_init__(self) -> None:
        self.deadline = time.monotonic() + EXPLAIN_S

    def left_s(self) -> float:
        return min(self.deadline - time.monotonic(), TRIAL_S)

    def shortfalls(self, prices: FloatArray) -> list[tuple[int, str, Failure]]:
        """Rows with a price of which services need more than there is, whatever else they take."""
        problem = self.services.problem
        out = []
        for index in np.flatnonzero(prices > 0.0).tolist():
            row = problem.rows[index]
            least = [self._least(service, index) for service in range(len(problem.names))]
            if sum(least) <= row.capacity * (1.0 + 1e-6) + 1e-6:
                continue
            scale, unit = unit_of(problem, row)
            needs = ", ".join(
                f"{name} at least {amount * scale:g}"
                for name, amount in zip(problem.names, least, strict=True)
            )
            text = f"{row.label}: {needs}, and there are {row.capacity * scale:g} {unit}"
            failure = Failure(
                what=row.label, best=sum(least) * scale, limit=row.capacity * scale, unit=unit
            )
            out.append((index, text, failure))
        return out

    def _least(self, service: int, row: int) -> float:
        """Bound on what a service takes of a row, however dear its plan is."""
        problem = self.services.problem
        if self.left_s() <= 0.0:
            return 0.0
        own = problem.problems[service]
        # All that money can buy counts for less than half a unit of the row.
        scale = 0.5 / problem.most_usd_per_hour
        cheap = tuple(
            replace(pool, usd_per_engine_hour=scale * pool.usd_per_engine_hour)
            for pool in own.pools
        )
        prices = np.zeros(len(problem.rows))
        prices[row] = 1.0
        priced = problem.priced(replace(own, pools=cheap), prices, np.zeros(len(problem.lines)))
        limits = replace(self.options.search_options(), time_limit_s=self.left_s(), progress=None)
        result = search(priced, limits, self.services.models[service].revised(priced))
        bound = result.certificate.lower_bound_usd_per_hour
        if not math.isfinite(bound):
            return 0.0
        least = max(bound - 0.5, 0.0)
        return float(math.ceil(least - 1e-6)) if problem.rows[row].whole else least

    def changes(self, result: SharedResult, short: list[tuple[int, Failure]]) -> tuple[Change, ...]:
        """The least more of single rows, found by bisection, with which there is a plan."""
        problem = self.services.problem
        starts = {index: failure.best for index, failure in short}
        rows = [i for i in np.argsort(-result.prices).tolist() if result.prices[i] > 0.0]
        found = []
        for index in dict.fromkeys([*starts, *rows]):
            row = problem.rows[index]
            scale, _ = unit_of(problem, row)
            start = (starts.get(index) or row.capacity * scale) / scale
            most = self._smallest(index, row.capacity, start)
            if most is not None:
                found.append((most / max(row.capacity, 1.0), _change(problem, index, most)))
        return tuple(change for _, change in sorted(found, key=lambda pair: pair[0]))

    def _smallest(self, index: int, low: float, high: float) -> float | None:
        """Smallest capacity of a row with a plan, to a few percent, above one without."""
        while not self._feasible(index, high):
            low, high = high, 2.0 * high
            if high > MOST_TIMES * low or self.left_s() <= 0.0:
                return None
        while high - low > max(0.02 * high, 1.0) and self.left_s() > 0.0:
            middle = float(round((low + high) / 2.0))
            low, high = (low, middle) if self._feasible(index, middle) else (middle, high)
        return high

    def _feasible(self, index: int, most: float) -> bool:
        """Whether a plan of all services is found with so much of a row."""
        if self.left_s() <= 0.0:
            return False
        problem = _with_more(self.services.problem, index, most)
        if problem.rows[index].kind == "line":
            models = [PathModel(one) for one in problem.problems]
        else:
            pairs = zip(self.services.models, problem.problems, strict=True)
            models = [model.revised(one) for model, one in pairs]
        limits = replace(
            self.options.search_options(),
            time_limit_s=self.left_s(),
            progress=None,
            first_feasible=True,
        )
        return search_shared(problem, models, limits).candidates is not None


def _with_more(problem: SharedProblem, index: int, most: float) -> SharedProblem:
    """The shared problem with so much of one row; steps of lines that are new cost as others."""
    row = problem.rows[index]
    if row.kind == "chips":
        key = (row.site, row.chip)
        problems = [with_stock(one, key, int(most)) for one in problem.problems]
    elif row.kind == "power":
        problems = [
            replace(one, site_watts={**one.site_watts, row.site: most}) for one in problem.problems
        ]
    else:
        line = next(line for line in problem.lines if line.lane == row.lane)
        sizes = line.step_bytes_per_s * np.arange(1.0, round(most) + 1.0)
        wider = replace(line, max_steps=round(most))
        lines = tuple(wider if one is line else one for one in problem.lines)
        problems = []
        for one in problem.problems:
            lanes = list(one.lanes)
            prices = np.full(sizes.size, line.usd_per_hour)
            lanes[row.lane] = replace(lanes[row.lane], bytes_per_s=sizes, usd_per_hour=prices)
            problems.append(replace(one, lanes=tuple(lanes)))
        return replace(problem, problems=tuple(problems), lines=lines)
    return replace(problem, problems=tuple(problems))


def _change(problem: SharedProblem, index: int, most: float) -> Change:
    row = problem.rows[index]
    scale, unit = unit_of(problem, row)
    amount, before = most * scale, row.capacity * scale
    if row.kind == "chips":
        text = f"{amount - before:g} more {row.label} ({amount:g} instead of {before:g})"
        return Change(change=text, path=path_of(row), value=int(most))
    text = f"{row.label}: {amount:g} {unit} instead of {before:g}"
    if row.kind == "power":
        return Change(change=text, path=path_of(row), value=f"{amount:g} kW")
    return Change(change=text, path=f"links.{row.lane}.bandwidth.max", value=f"{amount:g} Gbps")
