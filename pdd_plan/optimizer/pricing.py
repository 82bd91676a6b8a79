"""Prices that bounds are made of, where chips are paid whether used or not.

Chips of a kind cost ``max(kept, used)`` times their price, or more where they come in whole nodes.
That is not additive over roles, but for any share s from 0 to 1 it is at least ``(1 - s) * kept``
plus ``s * used`` times the price, which is. Bounds use s = 0 (chips are free once the contract is
paid) or s = 1 (every chip used is paid), whichever fits a known plan; both hold for any plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pdd_plan.fleet.problem import Problem
from pdd_plan.fleet.purchase import ChipKey


@dataclass(frozen=True)
class Pricing:
    """What bounds count a chip as, and what they count in any case.

    Attributes
    ----------
    free : frozenset of (site, chip)
        Kinds whose contract is counted in any case, and whose chips are then free.
    usd_by_site : mapping of str to float
        What is counted in any case at each site [currency/h].
    """

    free: frozenset[ChipKey]
    usd_by_site: Mapping[str, float]

    @property
    def usd_per_hour(self) -> float:
        """What is counted in any case at all sites [currency/h]."""
        return sum(self.usd_by_site.values())

    @classmethod
    def of(
        cls, problem: Problem, lanes: Iterable[int], used: Mapping[ChipKey, int] | None = None
    ) -> Pricing:
        """Pricing that fits a plan.

        Parameters
        ----------
        problem : Problem
            What to plan.
        lanes : iterable of int
            Lanes that may be opened.
        used : mapping of (site, chip) to int, optional
            Chips of a known plan; every contract is free by default.
        """
        ends = [(problem.lanes[i].source, problem.lanes[i].target) for i in lanes]
        sites = {site for pair in ends for site in pair}
        free = frozenset(
            key
            for key, terms in problem.terms.items()
            if terms.kept > 0
            and (
                used is None
                or key[0] not in sites
                or terms.kept >= problem.stock[key]
                or used.get(key, 0) <= terms.kept
            )
        )
        usd: dict[str, float] = {}
        for key in free:
            usd[key[0]] = usd.get(key[0], 0.0) + problem.terms[key].kept_usd_per_hour
        return cls(free, usd)
