"""Services searched one at a time, at prices on what they share; answers and plans are kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, FloatArray
from pdd_plan.fleet.shared import SharedProblem
from pdd_plan.fleet.stability import shortfall
from pdd_plan.optimizer.search import Scope, SearchOptions, search
from pdd_plan.optimizer.shared_branch import Allocation
from pdd_plan.optimizer.shared_master import Column, Prices


@dataclass(frozen=True)
class Answer:
    """What a search for one service said: its bound, and a plan unless there is none.

    Attributes
    ----------
    prices : bytes
        Prices at which it was asked, as a key.
    ceilings : ndarray, shape (rows,)
        Most that it was told it may take.
    bound : float
        No plan within the ceilings costs less at the prices [currency/h].
    column : Column or None
        The best that was found.
    """

    prices: bytes
    ceilings: FloatArray
    bound: float
    column: Column | None


class SingleSearches:
    """Searches for single services against one clock, and all that they found.

    Attributes
    ----------
    columns : list of Column
        Plans of single services, each once, in the order in which they were found.
    searches : int
        Searches that were run rather than remembered.
    """

    def __init__(
        self,
        problem: SharedProblem,
        models: Sequence[PathModel],
        options: SearchOptions,
        scopes: Sequence[Scope],
    ) -> None:
        self.problem = problem
        self.models = models
        self.options = options
        self.lanes = [
            scope.lanes_of(one) for scope, one in zip(scopes, problem.problems, strict=True)
        ]
        self.scopes = scopes
        self.started = time.monotonic()
        self.services = range(len(problem.problems))
        self.columns: list[Column] = []
        self.answers: list[list[Answer]] = [[] for _ in self.services]
        self.searches = 0

    def elapsed_s(self) -> float:
        """Time since the start [s]."""
        return time.monotonic() - self.started

    def left_s(self) -> float:
        """Time that is left of the limit [s]."""
        return self.options.time_limit_s - self.elapsed_s()

    def tell(self, text: str) -> None:
        """Say in words what was found, where somebody listens."""
        if self.options.progress is not None:
            self.options.progress(text)

    def ask(self, service: int, prices: Prices, ceilings: FloatArray) -> Answer:
        """The best plan of a service at prices, within ceilings; remembered."""
        key = prices.rows.tobytes() + prices.openings[service].tobytes()
        for known in self.answers[service]:
            if known.prices != key or not (ceilings <= known.ceilings).all():
                continue
            if known.column is None or self.fits(known.column.use, ceilings):
                return known
        answer = self._search(service, prices, ceilings, key)
        self.answers[service].append(answer)
        return answer

    def _search(self, service: int, prices: Prices, ceilings: FloatArray, key: bytes) -> Answer:
        problem = self.problem.priced(
            self.problem.within(service, ceilings), prices.rows, prices.openings[service]
        )
        rows = zip(self.problem.lines, self.problem.line_rows, strict=True)
        closed = {line.lane for line, row in rows if ceilings[row] < 1.0}
        if shortfall(problem):
            return Answer(key, ceilings, float("inf"), None)
        self.searches += 1
        result = search(
            problem,
            replace(
                self.options,
                time_limit_s=max(self.left_s(), 0.1),
                progress=None,
                first_feasible=False,
            ),
            self.models[service].revised(problem),
            Scope(self.lanes[service] - closed, self.scopes[service].thresholds),
        )
        bound = result.certificate.lower_bound_usd_per_hour
        if result.candidate is None:
            return Answer(key, ceilings, bound, None)
        column = self._column(service, result.candidate)
        return Answer(key, ceilings, bound, column)

    def _column(self, service: int, candidate: Candidate) -> Column:
        for known in self.columns:
            if known.service == service and known.candidate == candidate:
                return known
        column = Column(
            service,
            candidate,
            candidate.chips_usd_per_hour(self.problem.problems[service]),
            self.problem.use(service, candidate),
        )
        self.columns.append(column)
        return column

    def fits(self, use: FloatArray, ceilings: FloatArray) -> bool:
        """Whether what is taken is within ceilings."""
        return bool((use <= ceilings + self.problem.slacks).all())

    def own_prices(self) -> Prices:
        """Prices at which services pay for lines what these cost, shared among all."""
        rows = np.zeros(len(self.problem.rows))
        openings = np.zeros((len(self.services), len(self.problem.lines)))
        for i, (line, row) in enumerate(
            zip(self.problem.lines, self.problem.line_rows, strict=True)
        ):
            rows[row] = line.usd_per_step_hour
            openings[:, i] = line.usd_per_hour / len(self.services)
        return Prices(rows, openings)

    def within(self, allocation: Allocation) -> list[Column]:
        """Known columns within an allocation."""
        ceilings = [allocation.ceilings(service) for service in self.services]
        return [c for c in self.columns if self.fits(c.use, ceilings[c.service])]
