"""A sweep as its reports see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pdd_plan.report.sweep_crossings import Crossing, Curve, crossings
from pdd_plan.report.tidy import Value

KINDS = ("single_site", "cross_site", "pdd")
"""Kinds of fleet that a plan can be."""
KINDS_OF_SERVICES = (*KINDS, "mixed")
"""Kinds that the fleets of several services can be together."""
BASELINES = (*KINDS, "aggregated")
"""Fleets that it is held against."""
COST = "usd_per_million_output_tokens"
LIMIT = "slo.ttft_p90"
"""Path of the limit that a front sweeps."""


@dataclass(frozen=True)
class Varied:
    """One varied path.

    Attributes
    ----------
    path : str
        Dotted path of the scenario.
    texts : tuple of str
        Its value at every step of its axis, as written.
    unit : str
        Unit of `numbers`; empty for bare numbers.
    numbers : tuple of float or None
        The values as numbers, where all are numbers.
    """

    path: str
    texts: tuple[str, ...]
    unit: str = ""
    numbers: tuple[float, ...] | None = None

    @property
    def key(self) -> str:
        """Heading of its column: the path, with the unit of the numbers below it."""
        return f"{self.path} [{self.unit}]" if self.numbers and self.unit else self.path

    def value(self, step: int) -> str | float:
        """Return the value at a step, as a number where it is one."""
        return self.numbers[step] if self.numbers else self.texts[step]


@dataclass(frozen=True)
class SweepAxis:
    """One axis: a path, or several that advance together."""

    varied: tuple[Varied, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What each step is called."""
        return tuple(
            ", ".join(texts) for texts in zip(*(v.texts for v in self.varied), strict=True)
        )

    @property
    def numbers(self) -> tuple[float, ...] | None:
        """Numbers of the first path, where they tell the steps apart."""
        found = self.varied[0].numbers
        return found if found is not None and len(set(found)) == len(found) else None

    @property
    def unit(self) -> str:
        """Unit of `numbers`."""
        return self.varied[0].unit if self.numbers is not None else ""

    @property
    def is_limit(self) -> bool:
        """Whether the axis is that of the limit on P90 TTFT."""
        return LIMIT in (item.path for item in self.varied)

    def place(self, step: int) -> float:
        """Return where a step stands: its number, or its place in the order."""
        return self.numbers[step] if self.numbers is not None else float(step)


@dataclass(frozen=True)
class SweepRow:
    """One point.

    Attributes
    ----------
    steps : tuple of int
        Step of every axis.
    changes : tuple of str
        Overrides that give the point to ``pdd-plan optimize``.
    record : mapping
        Its outcome by key.
    on_front : bool or None
        Whether it is on its front; None where no front was looked for.
    """

    steps: tuple[int, ...]
    changes: tuple[str, ...]
    record: Mapping[str, Value]
    on_front: bool | None = None

    @property
    def planned(self) -> bool:
        """Whether the point has a plan."""
        return self.record["status"] in ("optimal", "feasible")

    def amount(self, key: str) -> float | None:
        """Return a value that is a number, or None."""
        value = self.record.get(key)
        return float(value) if isinstance(value, int | float) else None


@dataclass(frozen=True)
class SweepReport:
    """All points of a sweep, in the order of its grid.

    Attributes
    ----------
    scenario : str
        Name of the scenario.
    axes : tuple of SweepAxis
        What was varied.
    rows : tuple of SweepRow
        A row a point.
    command : str
        The command that gives the sweep again.
    tool_version : str
        Of this tool.
    services : tuple of str
        Names of the services; none for a scenario of one.
    warnings : tuple of str
        What to know before trusting the points.
    """

    scenario: str
    axes: tuple[SweepAxis, ...]
    rows: tuple[SweepRow, ...]
    command: str = ""
    tool_version: str = ""
    services: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def currency(self) -> str:
        """Currency of all money; that of the first plan where points differ in it."""
        return next((str(r.record["currency"]) for r in self.rows if r.record["currency"]), "USD")

    @property
    def is_front(self) -> bool:
        """Whether a front was looked for."""
        return any(row.on_front is not None for row in self.rows)

    @property
    def any_plan(self) -> bool:
        """Whether at least one point has a plan."""
        return any(row.planned for row in self.rows)

    def of_service(self, name: str) -> SweepReport:
        """Return the points with the figures of one service, under the keys of a sweep of one.

        Parameters
        ----------
        name : str
            One of `services`.
        """
        prefix = f"services.{name}."
        rows = []
        for row in self.rows:
            own = {
                key.removeprefix(prefix): value
                for key, value in row.record.items()
                if key.startswith(prefix)
            }
            common = {key: row.record[key] for key in ("status", "currency")}
            rows.append(replace(row, record={"service": name, **common, **own}))
        return replace(self, rows=tuple(rows), services=())

    def curve(self, key: str) -> Curve:
        """Return a value along the only axis, None where a point with a plan has none.

        Parameters
        ----------
        key : str
            Column of the outcome.
        """
        axis = self.axes[0]
        pairs = ((axis.place(r.steps[0]), r.amount(key)) for r in self.rows if r.planned)
        return tuple(sorted(pairs, key=lambda pair: pair[0]))

    @property
    def crossings(self) -> tuple[Crossing, ...]:
        """Where the cost per token of two kinds of fleet changes places; none but for one axis."""
        if len(self.axes) != 1 or self.axes[0].numbers is None or self.is_front:
            return ()
        return crossings({name: self.curve(f"{name}_{COST}") for name in BASELINES})


@dataclass(frozen=True)
class Slice:
    """The points of two axes along one of them, at one value of the other.

    Attributes
    ----------
    held : Varied
        Path that is held at a value, the first of its axis.
    step : int
        Its step.
    report : SweepReport
        The points, over the other axis alone.
    """

    held: Varied
    step: int
    report: SweepReport


def middle_slices(report: SweepReport) -> tuple[Slice, ...]:
    """Return a sweep over two axes along each of them, at the middle value of the other.

    Parameters
    ----------
    report : SweepReport
        Any; only two axes of numbers that are no front have slices.

    Returns
    -------
    tuple of Slice
        One for each axis of three values or more.
    """
    if len(report.axes) != 2 or report.is_front:
        return ()
    found = []
    for along, across in ((0, 1), (1, 0)):
        axis, other = report.axes[along], report.axes[across]
        if axis.numbers is None or len(axis.numbers) < 3:
            continue
        order = sorted(range(len(other.names)), key=other.place)
        step = order[len(order) // 2]
        rows = tuple(
            replace(row, steps=(row.steps[along],))
            for row in report.rows
            if row.steps[across] == step
        )
        found.append(Slice(other.varied[0], step, replace(report, axes=(axis,), rows=rows)))
    return tuple(found)
