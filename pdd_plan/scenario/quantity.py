"""Field types of the scenario: quantities with unit and bounds, strict frozen sections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from pdd_plan.units import DIMENSIONS, QuantityError, parse_quantity, show_value, to_si

NAME_PATTERN = r"^\w[\w -]{0,63}$"
"""Names of sites and chips: letters, digits, ``_``, ``-`` and spaces."""


class Section(BaseModel):
    """Base of all parts of a scenario: strict, frozen, no unknown keys."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", defer_build=True)


def problem(message: str, help: str, key: str = "") -> PydanticCustomError:  # noqa: A002
    """Return an error to raise from a validator.

    Parameters
    ----------
    message : str
        What is wrong; follows ``<path> = `` or, where it starts with a colon, the path.
    help : str
        What to change.
    key : str
        Key below the validated value that is to blame, dotted; empty for the value itself.
    """
    context = {"message": message, "help": help, "key": key}
    return PydanticCustomError("scenario", "{message}", context)


def number_text(number: float) -> str:
    """Write a bound: ``0.5``, ``4,096``, ``1e9``."""
    return (
        f"{number:.6g}".replace("e+0", "e").replace("e+", "e")
        if abs(number) >= 1e9
        else (f"{number:,.12g}")
    )


@dataclass(frozen=True)
class Quantity:
    """Annotation of a number with a unit; bounds are in `unit`, the parsed number in SI.

    Attributes
    ----------
    dimension : str
        Key of `pdd_plan.units.DIMENSIONS`.
    unit : str
        Unit of a bare number; ``USD`` in it stands for the scenario's currency.
    gt, ge, lt, le : float or None
        Bounds (exclusive, inclusive).
    in_unit : bool
        Store the number in `unit` instead of SI.
    """

    dimension: str
    unit: str
    gt: float | None = None
    ge: float | None = None
    lt: float | None = None
    le: float | None = None
    in_unit: bool = False

    def __get_pydantic_core_schema__(self, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        """Validate with `parse_quantity` and the bounds."""
        return core_schema.with_info_plain_validator_function(self.validate)

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, __: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Accept a number in the bounds, or text with a unit."""
        return self.json_schema()

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the written form, with the unit as an annotation."""
        text = {"type": "string"}  # `scenario_json_schema` adds the units
        number = {"type": "number"} | self._json_bounds()
        return {"anyOf": [number, text], "x-unit": self.unit, "x-dimension": self.dimension}

    def _json_bounds(self) -> dict[str, float]:
        names = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum"}
        names["le"] = "maximum"
        return {json: getattr(self, k) for k, json in names.items() if getattr(self, k) is not None}

    def validate(self, value: Any, info: core_schema.ValidationInfo) -> float:
        """Read a value and check its bounds; the context may hold the ``currency``."""
        if value is None:
            title = DIMENSIONS[self.dimension].title
            raise problem(f" is empty; {title} is wanted", f"write for example {self.example()}")
        currency = (info.context or {}).get("currency", "USD")
        unit = self.unit.replace("USD", currency)
        try:
            number = parse_quantity(value, self.dimension, unit, currency)
        except QuantityError as error:
            issue = error.issues[0]
            raise problem(issue.message, issue.help) from None
        in_unit = number / to_si(1.0, unit, self.dimension, currency)
        self._check(in_unit, value, unit)
        return in_unit if self.in_unit else number

    def _check(self, number: float, value: Any, unit: str) -> None:
        tail = "" if unit == "1" else f" {unit}"
        for words, bound in self._broken(number):
            shown = value if isinstance(value, str) else f"{show_value(value)}{tail}"
            raise problem(
                f"{shown} must be {words} {number_text(bound)}{tail}", self._mend(number, unit)
            )

    def _broken(self, number: float) -> Iterator[tuple[str, float]]:
        """Yield the bounds that a number in `unit` breaks, with the word for each."""
        slack = 1e-12
        if self.gt is not None and number <= self.gt:
            yield "above", self.gt
        if self.ge is not None and number < self.ge - slack * abs(self.ge):
            yield "at least", self.ge
        if self.lt is not None and number >= self.lt:
            yield "below", self.lt
        if self.le is not None and number > self.le + slack * abs(self.le):
            yield "at most", self.le

    def allows(self, number: float) -> bool:
        """Return whether a number in `unit` lies within the bounds."""
        return not any(self._broken(number))

    def _mend(self, number: float, unit: str) -> str:
        if self.dimension == "fraction" and 2 <= number <= 100:
            return f"write {number / 100:g}, or {number:g} % with the sign"
        text = f"allowed is {self.bounds()}, for example {self.example()}"
        return text.replace(self.unit, unit)

    def example(self) -> str:
        """Return a value with a unit, for help texts."""
        example = DIMENSIONS[self.dimension].example
        return example if self.unit == "1" or example.endswith(self.unit) else f"10 {self.unit}"

    def bounds(self) -> str:
        """Return the bounds as text, such as ``> 0 and ≤ 100 Gbps``; empty without any."""
        tail = "" if self.unit == "1" else f" {self.unit}"
        pairs = ((">", self.gt), (">=", self.ge), ("<", self.lt), ("<=", self.le))
        found = [f"{sign} {number_text(bound)}" for sign, bound in pairs if bound is not None]
        return " and ".join(found) + (tail if found else "")


@dataclass(frozen=True)
class AlsoWritten:
    """Annotation of a field that has a short form; used for the JSON Schema only.

    Attributes
    ----------
    short : Quantity, "item", "count" or "text"
        A quantity, one item instead of a list, a whole number from 1, or text.
    """

    short: Quantity | Literal["item", "count", "text"]

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Accept the short form beside the full one."""
        full = handler(schema)
        forms = full.get("anyOf", [full])
        if isinstance(self.short, Quantity):
            return {"anyOf": [self.short.json_schema(), *forms]}
        if self.short == "count":
            return {"anyOf": [{"type": "integer", "minimum": 1}, *forms]}
        if self.short == "text":
            return {"anyOf": [*forms, {"type": "string"}]}
        items = [form["items"] for form in forms if "items" in form]
        return {"anyOf": [*items, *forms]}


def once(value: Any) -> Any:
    """Refuse a list that names something twice; to be used before it becomes a set."""
    if isinstance(value, list):
        for i, item in enumerate(value):
            if item in value[:i]:
                raise problem(f"{show_value(item)} is there twice", "name it once", str(i))
    return value


Name = Annotated[str, Field(pattern=NAME_PATTERN)]
Seconds = Annotated[float, Quantity("time", "s", ge=0, le=1e5)]
PositiveSeconds = Annotated[float, Quantity("time", "s", gt=0, le=1e5)]
Milliseconds = Annotated[float, Quantity("time", "ms", ge=0, le=1e5)]
Microseconds = Annotated[float, Quantity("time", "us", ge=0, le=1e7)]
TokenTime = Annotated[float, Quantity("time_per_token", "s", gt=0, le=1e5)]
LineRate = Annotated[float, Quantity("bandwidth", "Gbps", gt=0, le=1e6)]
Share = Annotated[float, Quantity("fraction", "1", ge=0, le=1)]
PositiveShare = Annotated[float, Quantity("fraction", "1", gt=0, le=1)]
OpenShare = Annotated[float, Quantity("fraction", "1", gt=0, lt=1)]
Tokens = Annotated[float, Quantity("tokens", "tokens", ge=0, le=1e9)]
PositiveTokens = Annotated[float, Quantity("tokens", "tokens", ge=1, le=1e9)]
HourlyPrice = Annotated[float, Quantity("price", "USD/h", ge=0, le=1e7)]
Memory = Annotated[float, Quantity("bytes", "GiB", gt=0, le=1e7)]
Factor = Annotated[float, Quantity("factor", "1", gt=0, le=1000)]
