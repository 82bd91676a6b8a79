"""Fleets that survive any one loss, made cheaper as long as they still do.

Every fleet is put to the planning rule directly, with nothing lost and with each thing lost, so an
answer is right whatever way led to it. It is not proven to be the cheapest: for that there is a
bound from elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pdd_plan.fleet.outages import Outage
from pdd_plan.fleet.problem import Candidate
from pdd_plan.fleet.survival import Survival

BIGGEST_STEP = 4
"""Engines that are added at once in the hope that more can be left out elsewhere."""


@dataclass(frozen=True)
class Part:
    """A pool option, or the size of a line."""

    kind: Literal["engines", "line"]
    index: int


@dataclass(frozen=True)
class Removal:
    """One engine or one size of a line less, and what would then not be survived.

    Attributes
    ----------
    part : Part
        What is made smaller.
    saved_usd_per_hour : float
        What that would save.
    fails : tuple of Outage or None
        What is then not survived; None for limits with nothing lost, or with spare engines out.
    """

    part: Part
    saved_usd_per_hour: float
    fails: tuple[Outage | None, ...]


def union(fleets: Sequence[Candidate]) -> Candidate:
    """The fleet that has what any of several fleets has; the setting is that of the first."""
    engines = tuple(max(counts) for counts in zip(*(f.engines for f in fleets), strict=True))
    levels = tuple(max(sizes) for sizes in zip(*(f.levels for f in fleets), strict=True))
    return replace(fleets[0], engines=engines, levels=levels)


class Cheaper:
    """Makes a fleet cheaper that survives, within a time.

    Parameters
    ----------
    survival : Survival
        What must hold.
    deadline : float
        On the clock of `time.monotonic` [s].
    progress : callable, optional
        Told in words of every cheaper fleet.
    """

    def __init__(
        self, survival: Survival, deadline: float, progress: Callable[..., None] | None = None
    ) -> None:
        self.survival = survival
        self.problem = survival.model.problem
        self.deadline = deadline
        self.progress = progress

    def improve(self, fleet: Candidate) -> Candidate:
        """Leave out what is not needed, then exchange parts, as long as that saves."""
        best = self.prune(fleet)
        helped = True
        while helped and self._time():
            helped = False
            for part in self._parts():
                trial = self._exchanged(best, part)
                if trial is not None:
                    best, helped = trial, True
                    if self.progress is not None:
                        cost = best.usd_per_hour(self.problem)
                        self.progress(f"plan that survives at {cost:.2f} per hour")
        return best

    def prune(self, fleet: Candidate, last: Part | None = None, biggest: int = 0) -> Candidate:
        """Leave out engines and bandwidth as long as everything is survived.

        Parameters
        ----------
        fleet : Candidate
            Survives.
        last : Part, optional
            Made smaller only after everything else.
        biggest : int
            Most engines or sizes to leave out at once; 0 for no limit.
        """
        changed = True
        while changed and self._time():
            changed = False
            for part in self._by_saving(fleet, last):
                size = self._size(fleet, part)
                size = min(size, biggest) if biggest else size
                while size and self._time():
                    kept = self.survival.holds(self._resized(fleet, part, -size))
                    if kept is None:
                        size //= 2
                    else:
                        fleet, changed = kept, True
                        size = min(size, self._size(fleet, part))
        return fleet

    def removals(self, fleet: Candidate) -> Iterator[Removal]:
        """Every way to leave out one engine or one size of a line, and what then fails."""
        for part in self._in_use(fleet):
            smaller = self._resized(fleet, part, -1)
            yield Removal(part, self._saving(fleet, part), self.survival.failing(smaller))

    def _exchanged(self, fleet: Candidate, part: Part) -> Candidate | None:
        """A cheaper fleet with more of one part and less of others; None where there is none."""
        cost = fleet.usd_per_hour(self.problem)
        step = 1
        while step <= BIGGEST_STEP and self._time():
            larger = self._resized(fleet, part, step)
            if self._room(larger, part):
                trial = self.prune(larger, part, 2 * step)
                if trial.usd_per_hour(self.problem) < cost * (1.0 - 1e-9):
                    return trial
            step *= 2
        return None

    def _parts(self) -> Iterator[Part]:
        for index, pool in enumerate(self.problem.pools):
            if min(pool.max_engines, self._stock(index)) > 0:
                yield Part("engines", index)
        for index, lane in enumerate(self.problem.lanes):
            if not lane.local:
                yield Part("line", index)

    def _by_saving(self, fleet: Candidate, last: Part | None) -> list[Part]:
        """Parts in use, those that save most first, and one after all others."""
        parts = self._in_use(fleet)
        return sorted(parts, key=lambda part: (part == last, -self._saving(fleet, part)))

    def _stock(self, index: int) -> int:
        pool = self.problem.pools[index]
        return self.problem.stock[pool.site, pool.chip] // pool.chips_per_engine

    def _in_use(self, fleet: Candidate) -> list[Part]:
        return [part for part in self._parts() if self._size(fleet, part)]

    def _size(self, fleet: Candidate, part: Part) -> int:
        if part.kind == "engines":
            return fleet.engines[part.index]
        return fleet.levels[part.index] + 1

    def _saving(self, fleet: Candidate, part: Part) -> float:
        smaller = self._resized(fleet, part, -1)
        return fleet.usd_per_hour(self.problem) - smaller.usd_per_hour(self.problem)

    def _resized(self, fleet: Candidate, part: Part, by: int) -> Candidate:
        """A fleet with more or less of a part; a pool below its least number is left out."""
        if part.kind == "line":
            levels = list(fleet.levels)
            levels[part.index] += by
            return replace(fleet, levels=tuple(levels))
        engines = list(fleet.engines)
        count = engines[part.index] + by
        least = self.problem.pools[part.index].min_engines
        engines[part.index] = count if count >= least else (0 if by < 0 else least)
        return replace(fleet, engines=tuple(engines))

    def _room(self, fleet: Candidate, part: Part) -> bool:
        if part.kind == "line":
            return fleet.levels[part.index] < self.problem.lanes[part.index].bytes_per_s.size
        return fleet.engines[part.index] <= self.problem.pools[part.index].max_engines

    def _time(self) -> bool:
        return time.monotonic() < self.deadline
