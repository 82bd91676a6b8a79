"""The uncertain values of a scenario, resolved: path, unit and distribution in numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from pdd_plan.errors import InputError
from pdd_plan.scenario.messages import Fault
from pdd_plan.scenario.overrides import real_path
from pdd_plan.scenario.quantity import Quantity, number_text
from pdd_plan.scenario.schema import Scenario
from pdd_plan.scenario.spread import Spread
from pdd_plan.scenario.uncertainty import LogNormalInput, UncertainInput, Uncertainty
from pdd_plan.scenario.walk import PathPart, quantity_at
from pdd_plan.units import QuantityError, parse_quantity, to_si

_NUMBERS = ("low", "mode", "mean", "median", "high", "std")
"""Keys of an input in the unit of its path."""


@dataclass(frozen=True)
class UncertainValue:
    """One uncertain value.

    Attributes
    ----------
    path : str
        As for ``--set``.
    unit : str
        Unit that the numbers are in; ``"1"`` for ones.
    spread : Spread
        Its distribution.
    written : float or None
        The scenario's own value; None where it gives none.
    """

    path: str
    unit: str
    spread: Spread
    written: float | None

    def change(self, value: float) -> str:
        """Return the override that sets the value, to all its digits."""
        return f"{self.path}={value!r}"


class _Wrong(Exception):  # noqa: N818 - not an error of the program
    def __init__(self, key: str, message: str, help: str) -> None:  # noqa: A002
        super().__init__(message)
        self.key, self.help = key, help


def uncertain_values(scenario: Scenario) -> tuple[UncertainValue, ...]:
    """Return the uncertain inputs of a scenario that was loaded, and so checked.

    Parameters
    ----------
    scenario : Scenario
        With a section `uncertainty`.
    """
    assert scenario.uncertainty is not None
    data = scenario.source.data
    return tuple(_resolve(one, data, scenario.currency) for one in scenario.uncertainty.inputs)


def check_uncertainty(data: Mapping[str, Any], currency: str) -> Iterator[Fault]:
    """Yield what is wrong with the section `uncertainty` of plain data that fits its schema."""
    if data.get("uncertainty") is None:
        return
    try:
        section = Uncertainty.model_validate(data["uncertainty"], context={"currency": currency})
    except ValidationError:
        return  # told with the schema
    if not section.inputs and section.efficiencies is None:
        message = "uncertainty names nothing that is uncertain"
        yield (
            "uncertainty",
            message,
            "add inputs: [{path: workload.rate, low: 9 req/s, high: 14 req/s}]",
        )
    yield from _check_question(data)
    seen: dict[tuple[PathPart, ...], int] = {}
    for number, item in enumerate(section.inputs):
        where = f"uncertainty.inputs.{number}"
        try:
            _resolve(item, data, currency)
            real = real_path(data, item.path)
        except _Wrong as wrong:
            place = f"{where}.{wrong.key}" if wrong.key else where
            yield place, f"{place}{wrong}", wrong.help
            continue
        if real in seen:
            message = f"{where}.path = {item.path} is uncertain already in entry {seen[real]}"
            yield f"{where}.path", message, "give each value one distribution"
        seen.setdefault(real, number)


def _check_question(data: Mapping[str, Any]) -> Iterator[Fault]:
    objective = data.get("objective", "cost_per_token")
    if objective in ("goodput", "bcr"):
        message = f"uncertainty needs a demand to meet, but objective = {objective} looks for one"
        yield "uncertainty", message, "set objective: cost_per_token and a workload.rate"
    routing = data.get("routing")
    if isinstance(routing, dict) and routing.get("between") == "prefill":
        message = "uncertainty cannot be combined with routing.between = prefill"
        yield "uncertainty", message, "remove the section, or set routing.between: decode"


def _resolve(item: UncertainInput, data: Any, currency: str) -> UncertainValue:
    real, quantity = _place(item.path, data)
    unit = quantity.unit.replace("USD", currency)
    written = _written(real, data, quantity, unit, currency)
    if item.relative and written is None:
        raise _Wrong(
            "relative",
            f": the scenario gives no {item.path} to be relative to",
            f"write {item.path} in the scenario, or give the values themselves",
        )
    numbers = {
        key: _number(key, getattr(item, key), item.relative, quantity, unit, currency)
        for key in _NUMBERS
        if getattr(item, key, None) is not None
    }
    spread = _spread(item, numbers)
    if item.relative and written is not None:
        spread = spread.scaled(written)
    _check_ends(spread, item.path, quantity, unit, numbers)
    return UncertainValue(item.path, unit, spread, written)


def _place(path: str, data: Any) -> tuple[tuple[PathPart, ...], Quantity]:
    """Find what a path of the scenario takes."""
    try:
        real = real_path(data, path)
    except InputError as error:
        raise _Wrong(
            "path", f" = {path}: {error.issues[0].message}", error.issues[0].help
        ) from None
    quantity = quantity_at(Scenario, real, _at(data, real[:-1]))
    if quantity is None:
        raise _Wrong(
            "path",
            f" = {path} takes no quantity that could vary continuously",
            "name a rate, time, price, share or size, such as workload.rate",
        )
    if real[0] == "prices" and not _priced(real[1], data):
        raise _Wrong(
            "path",
            f" = {path} is used by no site: every entry of that chip has a price of its own",
            f"name sites.<site>.chips.{real[1]}.price",
        )
    return real, quantity


def _priced(chip: PathPart, data: Any) -> bool:
    """Return whether a site takes the price of a chip from the common list."""
    sites = data.get("sites")
    offers = [
        site["chips"].get(chip)
        for site in (sites.values() if isinstance(sites, dict) else ())
        if isinstance(site, dict) and isinstance(site.get("chips"), dict)
    ]
    return any(isinstance(offer, dict) and "price" not in offer for offer in offers)


def _at(data: Any, path: tuple[PathPart, ...]) -> Any:
    """Return what is written at a path, or None."""
    for part in path:
        known = isinstance(data, dict) and part in data
        if not known and not (isinstance(data, list) and isinstance(part, int)):
            return None
        data = data[part]
    return data


def _written(
    real: tuple[PathPart, ...], data: Any, quantity: Quantity, unit: str, currency: str
) -> float | None:
    value = _at(data, real)
    try:
        number = parse_quantity(value, quantity.dimension, unit, currency)
    except QuantityError:
        return None  # nothing, or no number: told with the schema
    return number / to_si(1.0, unit, quantity.dimension, currency)


def _number(
    key: str, value: Any, relative: bool, quantity: Quantity, unit: str, currency: str
) -> float:
    """Read a number of an input in the unit of its path, or as a factor."""
    dimension, own = ("factor", "1") if relative else (quantity.dimension, unit)
    try:
        number = parse_quantity(value, dimension, own, currency)
    except QuantityError as error:
        issue = error.issues[0]
        raise _Wrong(key, f" = {issue.message}", issue.help) from None
    return number / to_si(1.0, own, dimension, currency)


def _spread(item: UncertainInput, numbers: Mapping[str, float]) -> Spread:
    kind = item.distribution
    low, high = numbers.get("low", -math.inf), numbers.get("high", math.inf)
    truncated = kind in ("normal", "lognormal")
    if low > high or (truncated and low == high):
        raise _Wrong("low", f" = {item.low} must be below high = {item.high}", "swap low and high")
    center = numbers.get("mode", numbers.get("mean", numbers.get("median", math.nan)))
    if kind == "triangular" and not low <= center <= high:
        message = f" must lie between low = {item.low} and high = {item.high}"
        raise _Wrong("mode", message, "move it between them")
    scale = numbers.get("std", math.nan)
    if isinstance(item, LogNormalInput):
        scale = _number("sigma", item.sigma, True, Quantity("factor", "1"), "1", "USD")
        if center <= 0.0:
            raise _Wrong("median", " must be above 0", "give a positive median")
    if truncated and scale < 0.0:
        key = "std" if kind == "normal" else "sigma"
        raise _Wrong(key, " must not be negative", "write 0 for no spread")
    if truncated and not low <= center <= high:
        key = "mean" if kind == "normal" else "median"
        raise _Wrong(key, " must lie between low and high", "move it between them")
    return Spread(kind, low, high, center, scale)


def _check_ends(
    spread: Spread, path: str, quantity: Quantity, unit: str, given: Mapping[str, float]
) -> None:
    """Refuse a distribution that reaches values which the scenario does not allow."""
    for end, name in zip(spread.ends(), ("low", "high"), strict=True):
        if quantity.allows(end):
            continue
        way = "down" if name == "low" else "up"
        bound = _bound(quantity, name)
        tail = "" if unit == "1" else f" {unit}"
        raise _Wrong(
            name if name in given else "",
            f": the distribution reaches {way} to {end:.4g}{tail}, but {path} must be "
            f"{quantity.bounds().replace(quantity.unit, unit)}",
            f"write {name}: {bound}{tail}, or make the distribution narrower",
        )


def _bound(quantity: Quantity, name: str) -> str:
    """Return the end that is allowed at most."""
    lowest = quantity.gt if quantity.ge is None else quantity.ge
    highest = quantity.lt if quantity.le is None else quantity.le
    bound = lowest if name == "low" else highest
    return "" if bound is None else number_text(bound)
