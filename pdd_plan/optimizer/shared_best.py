"""The best plan of all services so far, and ways to find one that fits together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from pdd_plan.fleet.problem import FloatArray
from pdd_plan.optimizer.shared_master import Column, Prices
from pdd_plan.optimizer.shared_single import SingleSearches

ORDERS = 6
"""Orders of services in which a first plan is looked for."""


class BestTogether:
    """One plan a service that together fit and cost least, among those that were looked at.

    Attributes
    ----------
    columns : tuple of Column or None
        One a service; None before any are found.
    cost : float
        Of all; what everything there is costs before any are found [currency/h].
    """

    def __init__(self, single: SingleSearches) -> None:
        self.single = single
        self.problem = single.problem
        self.services = single.services
        self.most = single.problem.most_usd_per_hour * (1.0 + 1e-9)
        self.columns: tuple[Column, ...] | None = None
        self.cost = self.most

    def offer(self, columns: Sequence[Column]) -> bool:
        """Keep one column a service if together they fit and cost less than the best."""
        total = np.asarray(sum(column.use for column in columns))
        if not self.single.fits(total, self.problem.capacities):
            return False
        cost = sum(c.usd_per_hour for c in columns) + self.problem.lines_usd_per_hour(total)
        if cost >= self.cost * (1.0 - 1e-12):
            return False
        self.columns, self.cost = tuple(columns), cost
        self.single.tell(f"plan at {cost:.2f} per hour")
        return True

    def in_turn(self, prices: Prices) -> None:
        """Plan services one after the other, each with what the ones before left."""
        for order in itertools.islice(itertools.permutations(self.services), ORDERS):
            left = self.problem.capacities.copy()
            columns: dict[int, Column] = {}
            for service in order:
                in_time = self.single.left_s() > 0.0
                column = self.single.ask(service, prices, left).column if in_time else None
                if column is None:
                    break
                columns[service] = column
                left = np.maximum(left - column.use, 0.0)
            if len(columns) == len(self.services):
                self.offer([columns[service] for service in self.services])

    def repair(self) -> None:
        """Plan each service anew with what the others leave, while that makes it cheaper."""
        better = self.columns is not None
        while better and self.single.left_s() > 0.0:
            better = False
            for service in self.services:
                assert self.columns is not None
                others = [c for c in self.columns if c.service != service]
                taken = np.asarray(sum((c.use for c in others), np.zeros(len(self.problem.rows))))
                left = np.maximum(self.problem.capacities - taken, 0.0)
                answer = self.single.ask(service, self._beside(taken), left)
                if answer.column is not None:
                    columns = sorted([*others, answer.column], key=lambda c: c.service)
                    better = self.offer(columns) or better

    def _beside(self, taken: FloatArray) -> Prices:
        """Prices of lines for one service beside others: what is paid already is free."""
        prices = self.single.own_prices()
        for i, (line, row) in enumerate(
            zip(self.problem.lines, self.problem.line_rows, strict=True)
        ):
            prices.openings[:, i] = 0.0 if taken[row] else line.usd_per_hour
        return prices
