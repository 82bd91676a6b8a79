"""Draws of a scenario's uncertain inputs, and the scenarios that they make."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.build import BuiltProblem, build_problem
from pdd_plan.fleet.efficiencies import scenario_efficiencies
from pdd_plan.fleet.problem import FloatArray
from pdd_plan.roofline.fit import get_value
from pdd_plan.scenario import Scenario, scenario_from_data
from pdd_plan.scenario.efficiencies import Efficiencies
from pdd_plan.scenario.spread import Spread
from pdd_plan.scenario.traffic import Workload as WorkloadSection
from pdd_plan.scenario.uncertain import UncertainValue, uncertain_values
from pdd_plan.scenario.walk import key_of, quantity_at
from pdd_plan.units import to_si
from pdd_plan.workload import Workload, at_rate, build_workload


def inputs_of(scenario: Scenario) -> tuple[UncertainValue, ...]:
    """Return every uncertain input of a scenario: those it lists, and fitted efficiencies.

    Parameters
    ----------
    scenario : Scenario
        With a section `uncertainty`.

    Raises
    ------
    InputError
        If nothing is left that is uncertain.
    """
    assert scenario.uncertainty is not None
    listed = uncertain_values(scenario)
    if scenario.uncertainty.efficiencies is None:
        return listed
    known = {value.path for value in listed}
    fitted = tuple(value for value in _fitted(scenario) if value.path not in known)
    if not listed and not fitted:
        raise InputError(
            scenario.source.issue(
                "uncertainty.efficiencies",
                "uncertainty.efficiencies = fitted, but every efficiency with a known range is "
                "set by the scenario",
                "list those that are uncertain under uncertainty.inputs",
            )
        )
    return listed + fitted


def _fitted(scenario: Scenario) -> Iterator[UncertainValue]:
    """Yield the efficiencies that have a range from their fit and that the scenario uses."""
    framework = scenario.serving.framework
    efficiencies = scenario_efficiencies(scenario)
    for name, (low, high) in efficiencies.ranges.items():
        field, _, owner = name.partition(".")
        if field not in Efficiencies.model_fields or (owner and framework not in (None, owner)):
            continue
        key = key_of(field, Efficiencies.model_fields[field])
        path = ("efficiencies", key, owner) if owner else ("efficiencies", key)
        quantity = quantity_at(Scenario, path, None)
        assert quantity is not None
        center = get_value(efficiencies, name)
        size = to_si(1.0, quantity.unit, quantity.dimension)
        spread = Spread("range", low / size, high / size, center / size)
        yield UncertainValue(".".join(path), quantity.unit, spread, center / size)


@dataclass(frozen=True)
class Draws:
    """Values of the uncertain inputs, one row a draw.

    Attributes
    ----------
    inputs : tuple of UncertainValue
        What the columns are.
    values : array
        Of shape (draws, inputs), in the units of the inputs.
    sampling : str
        ``latin_hypercube`` or ``independent``.
    """

    inputs: tuple[UncertainValue, ...]
    values: FloatArray
    sampling: str

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def changes(self, index: int) -> tuple[str, ...]:
        """Return the overrides that make one draw of the scenario."""
        row = self.values[index].tolist()
        return tuple(one.change(value) for one, value in zip(self.inputs, row, strict=True))

    def part(self, start: int, stop: int) -> Draws:
        """Return the draws from `start` up to `stop`."""
        return replace(self, values=self.values[start:stop])


def hypercube_draws(inputs: tuple[UncertainValue, ...], count: int, seed: int) -> Draws:
    """Draw by a Latin hypercube: every input takes each of `count` equal strata once.

    Parameters
    ----------
    inputs : tuple of UncertainValue
        Independent of each other.
    count : int
        Draws.
    seed : int
        Of the random numbers.

    References
    ----------
    .. [1] M. D. McKay, R. J. Beckman, W. J. Conover, "A comparison of three methods for selecting
       values of input variables", Technometrics 21 (1979) 239-245.
    """
    from scipy.stats import qmc  # takes a second to import

    cube = qmc.LatinHypercube(len(inputs), seed=np.random.default_rng(seed)).random(count)
    return Draws(inputs, _values(inputs, cube), "latin_hypercube")


def independent_draws(
    inputs: tuple[UncertainValue, ...], count: int, seed: int, stream: int
) -> Draws:
    """Draw independently; draws of different streams share nothing.

    Parameters
    ----------
    inputs, count, seed
        As for `hypercube_draws`.
    stream : int
        Number of the stream, from 1.
    """
    uniform = np.random.default_rng([seed, stream]).random((count, len(inputs)))
    return Draws(inputs, _values(inputs, uniform), "independent")


def at_levels(inputs: tuple[UncertainValue, ...], levels: FloatArray) -> Draws:
    """Return the one draw with each input at its quantile of a level in [0, 1]."""
    return Draws(inputs, _values(inputs, levels[np.newaxis, :]), "quantiles")


def _values(inputs: tuple[UncertainValue, ...], cube: FloatArray) -> FloatArray:
    return np.column_stack([one.spread.quantile(cube[:, i]) for i, one in enumerate(inputs)])


class UnbuildableError(InputError):
    """A draw makes a scenario of which no problem can be built."""


class Variants:
    """Makes variants of a scenario and builds their problems.

    Parameters
    ----------
    scenario : Scenario
        As loaded, with a section `uncertainty`, which the variants leave out.

    Attributes
    ----------
    limit_count : int
        Limits of the scenario, and so of every variant.

    Notes
    -----
    Where a variant asks for the same requests at another rate, their types are not built again.
    Problems are kept in the process that built them, since fleets are judged by the same draws.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._data = {k: v for k, v in scenario.source.data.items() if k != "uncertainty"}
        self._file = scenario.source.file
        self._own = scenario.source.sha256
        self.limit_count = len(scenario.slo.limits)
        self._requests = _requests(scenario)
        self._workload = _lighter(build_workload(scenario))

    def scenario(self, changes: tuple[str, ...]) -> Scenario:
        """Return the scenario with overrides.

        Raises
        ------
        InputError
            If values that are right one by one do not go together.
        """
        try:
            return scenario_from_data(self._data, changes, self._file)
        except InputError as error:
            values = ", ".join(changes)
            raise InputError(
                Issue(
                    f"a draw of the uncertain inputs is no scenario: {issue.message}",
                    "uncertainty.inputs",
                    self._file,
                    0,
                    f"narrow the ranges; the draw was {values}",
                )
                for issue in error.issues
            ) from error

    def built(self, changes: tuple[str, ...]) -> tuple[Scenario, BuiltProblem]:
        """Return the scenario with overrides, and its problem.

        Raises
        ------
        InputError
            As `scenario` does.
        UnbuildableError
            If no problem can be built of it, as where no engine fits any more.
        """
        key = (self._own, changes)
        if key not in _BUILT:
            scenario = self.scenario(changes)
            if len(_BUILT) >= MOST_BUILT:
                _BUILT.clear()
            try:
                built = build_problem(scenario, self._workload_of(scenario))
            except InputError as error:
                raise UnbuildableError(error.issues) from error
            _BUILT[key] = scenario, built
        return _BUILT[key]

    def _workload_of(self, scenario: Scenario) -> Workload:
        if _requests(scenario) != self._requests:
            return build_workload(scenario)
        return at_rate(self._workload, scenario)


def _lighter(workload: Workload) -> Workload:
    """Leave out the blocks of a trace, which take long to hand to a worker."""
    raw = workload.raw
    return workload if raw is None else replace(workload, raw=replace(raw, blocks=None))


_BUILT: dict[tuple[str, tuple[str, ...]], tuple[Scenario, BuiltProblem]] = {}
MOST_BUILT = 500
"""Problems that a process keeps; one takes half a megabyte or so."""


def _requests(scenario: Scenario) -> WorkloadSection:
    """Return what decides the types of requests."""
    return scenario.workload.model_copy(update={"rate_per_s": None})
