"""Several services on one fleet: what they share, and what each takes of it.

A service is a problem of its own. What couples them are *rows*: chips of a type at a site, power
of a site, and bandwidth of a line in steps. A line is divided in parts that are reserved for
services, as traffic engineering does, so that no service can slow another; a line is paid for
once, by its size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.build import BuiltProblem, build_problem
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, FloatArray, LaneOption, PoolOption, Problem
from pdd_plan.scenario.services import SharedScenario, line_step_bytes_per_s, naming

SLACK = 1e-9
"""Relative slack of sums of power."""


@dataclass(frozen=True)
class SharedLine:
    """A line of which services reserve parts.

    Attributes
    ----------
    lane : int
        Position among the lanes of every service.
    label : str
        Name for people: ``from-to``.
    step_bytes_per_s : float
        Parts are multiples of it [bytes/s].
    min_steps, max_steps : int
        Sizes that can be had, in steps.
    usd_per_step_hour, usd_per_hour : float
        Price of a step, and of the line as a whole while it is used [currency/h].
    """

    lane: int
    label: str
    step_bytes_per_s: float
    min_steps: int
    max_steps: int
    usd_per_step_hour: float
    usd_per_hour: float

    def size_steps(self, reserved: float) -> float:
        """Size that is bought for so many reserved steps."""
        return max(reserved, self.min_steps) if reserved else 0

    def steps_of(self, bytes_per_s: FloatArray) -> FloatArray:
        """Bandwidths in steps; those of a plan that was given need not be whole."""
        return np.asarray(np.round(bytes_per_s / self.step_bytes_per_s, 6))

    def price_per_hour(self, reserved: float) -> float:
        """Price of the line with so many reserved steps [currency/h]."""
        if not reserved:
            return 0.0
        return self.usd_per_hour + self.usd_per_step_hour * self.size_steps(reserved)


@dataclass(frozen=True)
class Row:
    """Something of which there is only so much for all services together.

    Attributes
    ----------
    kind : {"chips", "power", "line"}
        What it is.
    site, chip : str
        Where, and which chip; the label of a line stands as its site.
    capacity : float
        Chips, watts, or steps of the line.
    lane : int
        Position of the line among the lanes of every service; -1 for the others.
    """

    kind: Literal["chips", "power", "line"]
    site: str
    chip: str
    capacity: float
    lane: int = -1

    @property
    def whole(self) -> bool:
        """Whether it is counted in whole numbers."""
        return self.kind != "power"

    @property
    def label(self) -> str:
        """Name for people."""
        if self.kind == "chips":
            return f"{self.chip} at {self.site}"
        return f"power at {self.site}" if self.kind == "power" else f"line {self.site}"

    def per_engine(self, pool: PoolOption) -> float:
        """What an engine takes of it: chips or watts; 0 of a line, and elsewhere."""
        if self.kind == "line" or pool.site != self.site or self.chip not in (pool.chip, ""):
            return 0.0
        return pool.chips_per_engine if self.kind == "chips" else pool.watts_per_engine


@dataclass(frozen=True)
class SharedProblem:
    """Problems of services that share a fleet.

    Attributes
    ----------
    names : tuple of str
        Services.
    problems : tuple of Problem
        Each with the whole fleet at its disposal; all have the same lanes, stock and power.
    lines : tuple of SharedLine
        Lines that can be reserved in parts.
    """

    names: tuple[str, ...]
    problems: tuple[Problem, ...]
    lines: tuple[SharedLine, ...]

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """What the services compete for: chips, power, lines."""
        one = self.problems[0]
        chips = [Row("chips", site, chip, n) for (site, chip), n in one.stock.items()]
        power = [Row("power", site, "", watts) for site, watts in one.site_watts.items()]
        lines = [Row("line", x.label, "", x.max_steps, x.lane) for x in self.lines]
        return (*chips, *power, *lines)

    @cached_property
    def capacities(self) -> FloatArray:
        """Capacity of every row, shape (rows,)."""
        return np.array([row.capacity for row in self.rows], dtype=np.float64)

    @cached_property
    def line_rows(self) -> tuple[int, ...]:
        """Rows of the lines, in their order."""
        return tuple(i for i, row in enumerate(self.rows) if row.kind == "line")

    @cached_property
    def slacks(self) -> FloatArray:
        """By how much a sum may be above each row's capacity: rounding of power only."""
        return np.array([0.0 if row.whole else SLACK * row.capacity for row in self.rows])

    def use(self, service: int, candidate: Candidate) -> FloatArray:
        """What a candidate of a service takes of every row, shape (rows,)."""
        problem = self.problems[service]
        taken = []
        for row in self.rows:
            if row.kind == "line":
                taken.append(self._steps(service, candidate, row.lane))
                continue
            pairs = zip(candidate.engines, problem.pools, strict=True)
            taken.append(sum(n * row.per_engine(pool) for n, pool in pairs))
        return np.array(taken, dtype=np.float64)

    def _steps(self, service: int, candidate: Candidate, lane: int) -> float:
        line = next(line for line in self.lines if line.lane == lane)
        level = candidate.levels[lane]
        sizes = self.problems[service].lanes[lane].bytes_per_s
        return float(line.steps_of(sizes)[level]) if level >= 0 else 0.0

    def lines_usd_per_hour(self, reserved: FloatArray) -> float:
        """Price of all lines, from what is taken of every row [currency/h]."""
        pairs = zip(self.lines, self.line_rows, strict=True)
        return sum(line.price_per_hour(float(reserved[row])) for line, row in pairs)

    def usd_per_hour(self, candidates: Sequence[Candidate]) -> float:
        """Price of one candidate a service together [currency/h]."""
        total = sum(self.use(i, candidate) for i, candidate in enumerate(candidates))
        chips = sum(
            candidate.chips_usd_per_hour(problem)
            for candidate, problem in zip(candidates, self.problems, strict=True)
        )
        return chips + self.lines_usd_per_hour(np.asarray(total))

    @property
    def most_usd_per_hour(self) -> float:
        """Price of everything there is: no plan costs more [currency/h]."""
        dearest: dict[tuple[str, str], float] = {}
        for problem in self.problems:
            for pool in problem.pools:
                price = pool.usd_per_engine_hour / pool.chips_per_engine
                key = (pool.site, pool.chip)
                dearest[key] = max(dearest.get(key, 0.0), price)
        stock = self.problems[0].stock
        chips = sum(price * stock[key] for key, price in dearest.items())
        return chips + sum(line.price_per_hour(line.max_steps) for line in self.lines)

    def within(self, service: int, ceilings: FloatArray) -> Problem:
        """The problem of a service that may take only so much of every row.

        Parameters
        ----------
        service : int
            Position of the service.
        ceilings : ndarray, shape (rows,)
            Most it may take. A line of which it may take nothing keeps its smallest size: leave
            it to the scope of the search.
        """
        problem = self.problems[service]
        stock, watts = dict(problem.stock), dict(problem.site_watts)
        lanes = list(problem.lanes)
        for row, most in zip(self.rows, ceilings.tolist(), strict=True):
            if row.kind == "chips":
                stock[row.site, row.chip] = int(most)
            elif row.kind == "power":
                watts[row.site] = most
            else:
                lanes[row.lane] = _first_levels(lanes[row.lane], max(int(most), 1))
        pools = tuple(
            replace(
                pool,
                max_engines=min(
                    pool.max_engines, stock[pool.site, pool.chip] // pool.chips_per_engine
                ),
            )
            for pool in problem.pools
        )
        return replace(problem, pools=pools, stock=stock, site_watts=watts, lanes=tuple(lanes))

    def priced(self, problem: Problem, prices: FloatArray, openings: FloatArray) -> Problem:
        """The problem with prices of rows on top of chips, and lines at these prices alone.

        Parameters
        ----------
        problem : Problem
            Of a service.
        prices : ndarray, shape (rows,)
            Price of a chip and a watt beside its own, and of a step of a line [currency/h].
        openings : ndarray, shape (lines,)
            Price of using a line at all [currency/h].
        """
        pools = tuple(
            replace(
                pool,
                usd_per_engine_hour=pool.usd_per_engine_hour
                + sum(
                    float(price) * row.per_engine(pool)
                    for row, price in zip(self.rows, prices, strict=True)
                ),
            )
            for pool in problem.pools
        )
        lanes = list(problem.lanes)
        for line, row, opening in zip(self.lines, self.line_rows, openings, strict=True):
            lane = lanes[line.lane]
            steps = line.steps_of(lane.bytes_per_s)
            lanes[line.lane] = replace(lane, usd_per_hour=opening + prices[row] * steps)
        return replace(problem, pools=pools, lanes=tuple(lanes))


def _first_levels(lane: LaneOption, count: int) -> LaneOption:
    return replace(
        lane, bytes_per_s=lane.bytes_per_s[:count], usd_per_hour=lane.usd_per_hour[:count]
    )


@dataclass(frozen=True)
class BuiltServices:
    """A shared problem with what was found out on the way, by service."""

    problem: SharedProblem
    built: Mapping[str, BuiltProblem]
    models: tuple[PathModel, ...]


def build_shared(scenario: SharedScenario) -> BuiltServices:
    """Build the problems of all services of a scenario.

    Parameters
    ----------
    scenario : SharedScenario
        As loaded.

    Returns
    -------
    BuiltServices

    Raises
    ------
    InputError
        What is wrong with any service, all together.
    """
    built: dict[str, BuiltProblem] = {}
    issues: list[Issue] = []
    for name, alone in scenario.scenarios.items():
        try:
            with naming(name):
                built[name] = build_problem(alone)
        except InputError as error:
            issues += error.issues
    if issues:
        raise InputError(dict.fromkeys(issues))
    problems = tuple(one.problem for one in built.values())
    shared = SharedProblem(tuple(built), problems, _lines(scenario))
    return BuiltServices(shared, built, tuple(PathModel(problem) for problem in problems))


def _lines(scenario: SharedScenario) -> tuple[SharedLine, ...]:
    out = []
    for lane, link in enumerate(scenario.links):
        step = line_step_bytes_per_s(link)
        fixed = link.usd_per_hour or 0.0
        out.append(
            SharedLine(
                lane=lane,
                label=link.name,
                step_bytes_per_s=step,
                min_steps=round(link.bandwidth.min_bytes_per_s / step),
                max_steps=round(link.bandwidth.max_bytes_per_s / step),
                usd_per_step_hour=link.price_per_hour(step) - fixed,
                usd_per_hour=fixed,
            )
        )
    return tuple(out)
