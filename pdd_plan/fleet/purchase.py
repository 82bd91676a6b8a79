"""On what terms chips are had: contracts that are paid in any case, and whole nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ChipKey = tuple[str, str]
"""A site and a kind of chip."""


@dataclass(frozen=True)
class ChipTerms:
    """Terms for the chips of one kind at a site.

    Attributes
    ----------
    usd_per_chip_hour : float
        Price of a chip that is paid [currency/h].
    kept : int
        Chips that stay: they are paid whether used or not.
    node : int
        Chips are had in multiples of this many; divides ``kept``.
    """

    usd_per_chip_hour: float
    kept: int = 0
    node: int = 1

    @property
    def kept_usd_per_hour(self) -> float:
        """Price of the chips that stay [currency/h]."""
        return self.kept * self.usd_per_chip_hour

    def paid(self, used: int) -> int:
        """Chips that are paid where some are used."""
        return max(self.kept, -(-used // self.node) * self.node)

    def paid_beyond(self, used: NDArray[np.float64]) -> NDArray[np.float64]:
        """Chips that are paid beyond those that stay, by chips used."""
        whole = np.ceil(used / self.node * (1.0 - 1e-12)) * self.node
        return np.asarray(np.maximum(whole - self.kept, 0.0))


def paid_chips(
    terms: Mapping[ChipKey, ChipTerms], used: Mapping[ChipKey, int]
) -> dict[ChipKey, int]:
    """Chips that are paid by site and kind, under contract as well."""
    paid = {key: count for key, count in used.items() if key not in terms}
    return paid | {key: one.paid(used.get(key, 0)) for key, one in terms.items()}


def idle_usd_per_hour(terms: Mapping[ChipKey, ChipTerms], used: Mapping[ChipKey, int]) -> float:
    """Price of chips that are paid but not used [currency/h]."""
    return sum(
        (one.paid(used.get(key, 0)) - used.get(key, 0)) * one.usd_per_chip_hour
        for key, one in terms.items()
    )
