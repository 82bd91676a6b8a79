"""The scenario: what a user writes in one YAML file, as strict frozen types in SI units.

Attribute names carry units; the keys in the file are the aliases. Every number may be written
with its unit (``"20 Gbps"``) or bare, in the unit that its field documents.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, PrivateAttr, Tag

from pdd_plan.scenario.efficiencies import Efficiencies
from pdd_plan.scenario.lines import Link
from pdd_plan.scenario.machines import EngineSpec, Precision
from pdd_plan.scenario.model_numbers import ModelNumbers
from pdd_plan.scenario.places import Site, UserRegion
from pdd_plan.scenario.policy import Optimizer, Routing, Serving, Slo
from pdd_plan.scenario.quantity import HourlyPrice, Name, Section
from pdd_plan.scenario.source import SourceMap
from pdd_plan.scenario.tolerate import Tolerate
from pdd_plan.scenario.traffic import Workload
from pdd_plan.scenario.uncertainty import Uncertainty

SCHEMA_VERSION = 1


def _kind(value: Any) -> str:
    if isinstance(value, dict | ModelNumbers):
        return "numbers"
    return "specs" if isinstance(value, list | tuple) else "text"


class Fleet(Section):
    """What is there to plan with: sites with chips, lines between them, prices."""

    schema_version: int = Field(
        ge=SCHEMA_VERSION,
        le=SCHEMA_VERSION,
        description="Version of this format.",
        examples=[SCHEMA_VERSION],
    )
    name: str = Field(
        min_length=1, max_length=200, description="Name for reports.", examples=["agent-fleet"]
    )
    description: str = Field(default="", description="Remarks for readers.")
    currency: str = Field(
        default="USD", pattern=r"^[A-Z]{3}$", description="Currency of every price, three letters."
    )
    sites: dict[Name, Site] = Field(
        min_length=1,
        description="Data centers by name.",
        examples=["{beijing: {roles: [prefill, decode], chips: {...}}}"],
    )
    links: tuple[Link, ...] = Field(default=(), strict=False, description="Lines between sites.")
    prices: dict[str, HourlyPrice] = Field(
        default_factory=dict,
        description="Prices by chip, for every site whose chip entry has none of its own.",
    )
    optimizer: Optimizer = Field(default_factory=Optimizer, description="How the plan is searched.")
    _source: SourceMap = PrivateAttr(default_factory=SourceMap)

    @property
    def source(self) -> SourceMap:
        """Where the values were written."""
        return self._source


class Service(Section):
    """One model with its traffic and limits, on engines of its own."""

    model: Annotated[
        Annotated[str, Field(min_length=1), Tag("text")] | Annotated[ModelNumbers, Tag("numbers")],
        Discriminator(_kind),
    ] = Field(
        description="Built-in name, path of a Hugging Face `config.json` relative to the scenario, "
        "or a mapping of numbers.",
        examples=["deepseek-v3"],
    )
    precision: Precision = Field(
        description="Number formats.", examples=["{weights: fp8, kv_cache: bf16}"]
    )
    workload: Workload = Field(
        description="Requests to serve.",
        examples=["{trace: {path: requests.csv, format: csv}}"],
    )
    slo: Slo = Field(
        description="Service levels to keep.", examples=["{ttft_p90: 10 s, tpot_p90: 60 ms}"]
    )
    engines: Annotated[
        Annotated[Literal["auto"], Tag("text")]
        | Annotated[tuple[EngineSpec, ...], Field(strict=False, min_length=1), Tag("specs")],
        Discriminator(_kind),
    ] = Field(
        default="auto", description="`auto`: shapes that fit the memory; or a list of shapes."
    )
    efficiencies: Efficiencies = Field(
        default_factory=Efficiencies, description="Efficiencies of all engines."
    )
    serving: Serving = Field(default_factory=Serving, description="How engines serve.")
    routing: Routing = Field(default_factory=Routing, description="Direct or through the relay.")


class Scenario(Service, Fleet):
    """A planning question: traffic, service levels, sites, chips, lines and prices."""

    users: dict[Name, UserRegion] = Field(
        default_factory=dict,
        description="Regions of users with their latency to the sites, which counts to TTFT and "
        "to the time to the last token; none: users are beside every site.",
    )
    tolerate: Tolerate = Field(
        default_factory=Tolerate,
        description="Losses that the plan survives, any one of them at a time.",
        examples=["{engines: 1 per pool, site: any, line: any}"],
    )
    objective: Literal["cost_per_token", "goodput", "bcr"] = Field(
        default="cost_per_token",
        description="Least cost at the demand, most goodput of the inventory or budget, or most "
        "goodput per cost.",
    )
    budget_usd_per_hour: HourlyPrice | None = Field(
        default=None,
        alias="budget",
        description="Most to spend: a limit with any objective; none: no limit.",
    )
    tie_break: Literal["ttft_p50", "ttft_p90", "ttft_p95", "ttft_p99"] | None = Field(
        default=None,
        description="With objective `cost_per_token`: of all plans of the least cost, the one with "
        "the least of this; none: any of them.",
    )
    uncertainty: Uncertainty | None = Field(
        default=None, description="Values that are not known for sure; none: all are."
    )
