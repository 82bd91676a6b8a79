"""The plan of several services on one fleet: totals, what is shared, and each service's plan.

Keys follow the same contract as those of :mod:`pdd_plan.fleet.plan`; below ``services`` stands
each service's plan in that form. A service pays for its chips, and for the share of a line that
its reserved part has in all reserved parts, so the services' costs add up to the total.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator
from pydantic.json_schema import models_json_schema

from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.plan import (
    Binding,
    Certificate,
    Cost,
    Demand,
    Infeasibility,
    Plan,
    PlanModel,
    ScenarioId,
    Status,
    parsed,
    plan_data,
    plan_text,
)
from pdd_plan.fleet.plan_model import Count, NonNegative


class SharedStock(PlanModel):
    """Chips of one type at a site: how many there are, and who uses them."""

    site: str
    chip: str
    available: Count
    used: Count
    by_service: dict[str, Count]
    usd_per_hour: NonNegative = Field(description="Of the chips in use.")
    worth_usd_per_chip_hour: NonNegative | None = Field(
        None,
        description="What one chip more would save, by the prices of the proof: an estimate, "
        "since engines come whole. Null where nothing was optimized.",
    )


class SharedPower(PlanModel):
    """Power of a site: how much there is, and who uses it."""

    site: str
    available_w: NonNegative
    used_w: NonNegative
    by_service: dict[str, NonNegative]
    worth_usd_per_kw_hour: NonNegative | None = Field(
        None, description="What one kilowatt more would save, likewise."
    )


class SharedLink(PlanModel):
    """A line that is used, as bought, and the parts of it that are reserved for services."""

    from_site: str = Field(alias="from")
    to_site: str = Field(alias="to")
    gbps: NonNegative
    reserved_gbps: NonNegative = Field(description="Sum of the parts.")
    max_gbps: NonNegative = Field(description="Most that can be bought.")
    by_service: dict[str, NonNegative] = Field(description="Reserved parts [Gbit/s].")
    usd_per_hour: NonNegative
    worth_usd_per_gbps_hour: NonNegative | None = Field(
        None,
        description="What one Gbit/s above the largest size would save beyond its price, likewise.",
    )


class SharedBaseline(PlanModel):
    """All services by a simpler kind of fleet, at least cost together."""

    name: str
    status: Status
    cost: Cost | None
    gap: NonNegative | None = None
    reason: str | None = Field(None, description="Why there is none.")


class SharedPlan(PlanModel):
    """The answer to a scenario of several services."""

    schema_version: Literal[1]
    tool_version: str
    scenario: ScenarioId
    status: Status
    cost: Cost | None = Field(description="Of all services together; null where infeasible.")
    demand: Demand | None = Field(description="Of all services together.")
    services: dict[str, Plan] = Field(
        description="Plan of each service; its certificate is the one above. Where infeasible, "
        "of the services that have no plan even with the whole fleet."
    )
    stock: tuple[SharedStock, ...]
    power: tuple[SharedPower, ...]
    links: tuple[SharedLink, ...]
    baselines: tuple[SharedBaseline, ...]
    certificate: Certificate | None = Field(description="Null where nothing was optimized.")
    binding: tuple[Binding, ...] = Field(description="Shared limits that are reached.")
    warnings: tuple[str, ...]
    currency: str = "USD"
    command: str = Field("", description="The command that gives this plan again.")
    infeasibility: Infeasibility | None = None

    @model_validator(mode="after")
    def _complete(self) -> SharedPlan:
        if self.status == "infeasible":
            if self.infeasibility is None:
                raise ValueError("an infeasible plan must say why in 'infeasibility'")
        elif None in (self.cost, self.demand) or not self.services:
            raise ValueError("cost, demand and services are needed unless infeasible")
        return self

    @property
    def slo_met(self) -> bool:
        """Whether every service keeps its limits."""
        return all(limit.met for plan in self.services.values() for limit in plan.slo)

    @property
    def fits(self) -> bool:
        """Whether the services take no more than there is; a plan that was given may not fit."""
        return (
            all(stock.used <= stock.available for stock in self.stock)
            and all(power.used_w <= power.available_w * (1.0 + 1e-9) for power in self.power)
            and all(link.reserved_gbps <= link.max_gbps * (1.0 + 1e-9) for link in self.links)
        )

    @property
    def holds(self) -> bool:
        """Whether there are fleets on which every service keeps its limits, and that fit."""
        return self.status != "infeasible" and self.slo_met and self.fits

    def to_json(self) -> str:
        """Return the plan as indented JSON, keys in the order of the contract."""
        return json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"


AnyPlan = Plan | SharedPlan
"""What a plan file holds: of one service, or of several."""


def load_any_plan(path: str | Path) -> AnyPlan:
    """Read a plan of one service or of several that this tool wrote.

    Parameters
    ----------
    path : str or Path
        File with the JSON of one plan.

    Returns
    -------
    Plan or SharedPlan

    Raises
    ------
    InputError
        As `pdd_plan.fleet.plan.load_plan` does.
    """
    text = plan_text(path)
    if "services" in plan_data(text, str(path)):
        return parsed(SharedPlan, text, str(path))
    return parsed(Plan, text, str(path))


def load_shared_plan(path: str | Path) -> SharedPlan:
    """Read a plan of several services that this tool wrote; raises as `load_any_plan` does."""
    plan = load_any_plan(path)
    if isinstance(plan, SharedPlan):
        return plan
    raise InputError(
        Issue(
            "the plan is of one service, and the scenario has several",
            file=str(path),
            help="give a plan of this scenario, or a scenario without services",
        )
    )


def any_plan_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) that every written plan obeys, in either form."""
    _, schema = models_json_schema([(Plan, "serialization"), (SharedPlan, "serialization")])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pdd-plan plan",
        "if": {"required": ["services"]},
        "then": {"$ref": "#/$defs/SharedPlan"},
        "else": {"$ref": "#/$defs/Plan"},
        **schema,
    }
