"""States of the lanes: bandwidth level and flow in steps, with the work that each brings.

A lane is closed or in one state. What a state costs, and what it asks of relay and decode at every
threshold, are plain numbers, computed once for a search by the planning rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pdd_plan.fleet.lanes import StateKey
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import BoolArray, FloatArray, Problem

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class States:
    """Lane states at one threshold, as parallel arrays of shape (states,), ordered by lane.

    Attributes
    ----------
    row : ndarray of int
        Number of the state in the tables, the same at every threshold.
    lane, level, steps : ndarray of int
        Lane, bandwidth level and flow in steps (1 or more).
    usd_per_hour : ndarray
        Price of the line.
    decode_work_per_s : ndarray
        Work at the decode site, as an equivalent request rate.
    relay_erlang : ndarray
        Relay slots kept busy.
    """

    row: IntArray
    lane: IntArray
    level: IntArray
    steps: IntArray
    usd_per_hour: FloatArray
    decode_work_per_s: FloatArray
    relay_erlang: FloatArray

    @property
    def size(self) -> int:
        """Number of states."""
        return int(self.lane.size)

    def where(self, mask: BoolArray | IntArray) -> States:
        """The states that a mask holds for, or at some positions."""
        return States(*(getattr(self, field.name)[mask] for field in fields(self)))

    @cached_property
    def by_lane(self) -> dict[int, IntArray]:
        """Positions of the states of each lane that has any."""
        starts = np.flatnonzero(np.diff(self.lane, prepend=-1))
        groups = np.split(np.arange(self.size), starts[1:]) if self.size else []
        return {int(self.lane[at[0]]): at for at in groups}


class StateTables:
    """States of all lanes of a search, at every threshold.

    Parameters
    ----------
    model : PathModel
        Rule of the problem.
    lanes : iterable of int
        Lanes that may be opened.
    """

    def __init__(self, model: PathModel, lanes: Iterable[int]) -> None:
        self.problem: Problem = model.problem
        self._model = model
        self._margins: dict[int, FloatArray] = {}
        self.step_per_s = self.problem.arrival_rate_per_s / self.problem.load_steps
        open_lanes = sorted(lanes)
        total = self.problem.load_steps
        steps = [total] if len(open_lanes) == 1 else list(range(1, total + 1))
        rows: list[tuple[int, int, int]] = []
        loads = []
        for lane in open_lanes:
            levels = range(self.problem.lanes[lane].bytes_per_s.size)
            keys = [(level, s * self.step_per_s) for level in levels for s in steps]
            options = [(lane, level, count) for level in levels for count in steps]
            for option, load in zip(options, model.lanes.loads(lane, keys), strict=True):
                if load is not None:
                    rows.append(option)
                    loads.append(load)
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        count = self.problem.thresholds.size
        self._lane, self._level, self._steps = table.T
        prices = [self.problem.lanes[lane].usd_per_hour[level] for lane, level, _ in rows]
        self._usd = np.array(prices, dtype=np.float64)
        self._work = np.array([load.decode_work_per_s for load in loads]).reshape(-1, count)
        self._erlang = np.array([load.relay_erlang for load in loads]).reshape(-1, count)
        self._ok = np.array([load.handoff_ok for load in loads], bool).reshape(-1, count)

    def at(self, threshold_index: int) -> States:
        """States that line, relay and hand-off allow at a threshold."""
        erlang = self._erlang[:, threshold_index]
        use = np.isfinite(erlang) & self._ok[:, threshold_index]
        return States(
            np.flatnonzero(use),
            self._lane[use],
            self._level[use],
            self._steps[use],
            self._usd[use],
            self._work[use, threshold_index],
            erlang[use],
        )

    def margins(self, lane: int) -> FloatArray:
        """Largest slot wait at which idle prefill keeps the limits, shape (states, thresholds).

        By states of a lane in the tables; above it no number of engines does.
        """
        if lane not in self._margins:
            at = np.flatnonzero(self._lane == lane)
            keys = [self.key(lane, int(self._level[i]), int(self._steps[i]))[1:] for i in at]
            margins = np.full((at.size, self._work.shape[1]), -np.inf)
            for pool in self.problem.pool_indices(self.problem.lanes[lane].source, "prefill"):
                margins = np.maximum(margins, self._model.rules.idle_margins(pool, lane, keys))
            self._margins[lane] = margins
        return self._margins[lane]

    def hopeless(
        self, states: States, lane: int, threshold_index: int, slot_wait: float
    ) -> BoolArray:
        """Which states of a lane no number of prefill engines can serve."""
        at = states.by_lane[lane]
        first = int(np.argmax(self._lane == lane))
        return np.asarray(self.margins(lane)[states.row[at] - first, threshold_index] < slot_wait)

    def key(self, lane: int, level: int, steps: int) -> StateKey:
        """Key of a state in the path model."""
        return (lane, level, steps * self.step_per_s)

    def least_erlang(self, site: str) -> float:
        """Least relay work of a step of flow out of a site if every request were relayed."""
        erlang = self._erlang[:, -1]
        here = np.isin(self._lane, self._lanes_of("source", site))
        here &= np.isfinite(erlang) & (erlang > 0.0)
        return float((erlang[here] / self._steps[here]).min()) if here.any() else 0.0

    def least_work_per_s(self, site: str) -> float:
        """Least decode work of a step of flow into a site at the threshold of most work."""
        here = np.isin(self._lane, self._lanes_of("target", site))
        if not here.any():
            return 0.0
        return float((self._work[here].max(axis=1) / self._steps[here]).min())

    def _lanes_of(self, end: str, site: str) -> list[int]:
        return [i for i, lane in enumerate(self.problem.lanes) if getattr(lane, end) == site]
