"""The plan: the answer of an optimization or an evaluation, as stable JSON for other tools.

Keys, their order and their meaning are a contract; new keys may be added within a schema
version, none is renamed or removed. Times are seconds, bandwidths Gbit/s (1e9 bit/s), money is
in the plan's ``currency`` although the keys say ``usd``, and fractions lie between 0 and 1. A
number that does not exist (no relayed request, a percentile beyond the evaluated horizon) is
``null``, never 0 or infinity. A plan holds no date and no absolute path, so that the same input
gives the same text.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError, model_validator

from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.plan_fleet import Baseline, Cost, Lane, PaidChips, PlanLink, Pool, Routing
from pdd_plan.fleet.plan_model import Architecture, NonNegative, PlanModel, Role, RouteBy, Status
from pdd_plan.fleet.plan_reasons import (
    Assumption,
    Binding,
    BreakEven,
    Certificate,
    Change,
    Failure,
    FrontPoint,
    Infeasibility,
    RejectedShape,
    ScenarioId,
    Sensitivity,
    TieBreak,
)
from pdd_plan.fleet.plan_resilience import OutageBound, OutageResult, Resilience, Tolerated
from pdd_plan.fleet.plan_traffic import (
    Demand,
    Goodput,
    Handoff,
    Histogram,
    Latency,
    Percentiles,
    SloResult,
    TrafficGroup,
    TtftDistribution,
    WorkloadFacts,
)
from pdd_plan.fleet.plan_uncertainty import Uncertainty

__all__ = [
    "SCHEMA_VERSION",
    "Architecture",
    "Assumption",
    "Baseline",
    "Binding",
    "BreakEven",
    "Certificate",
    "Change",
    "Cost",
    "Demand",
    "Failure",
    "FrontPoint",
    "Goodput",
    "Handoff",
    "Histogram",
    "Infeasibility",
    "Lane",
    "Latency",
    "OutageBound",
    "OutageResult",
    "PaidChips",
    "Percentiles",
    "Plan",
    "PlanLink",
    "PlanModel",
    "Pool",
    "RejectedShape",
    "Resilience",
    "Role",
    "RouteBy",
    "Routing",
    "ScenarioId",
    "Sensitivity",
    "SloResult",
    "Status",
    "TieBreak",
    "Tolerated",
    "TrafficGroup",
    "TtftDistribution",
    "Uncertainty",
    "WorkloadFacts",
    "load_plan",
    "parse_plan",
    "plan_json_schema",
]

SCHEMA_VERSION = 1

M = TypeVar("M", bound=PlanModel)


class Plan(PlanModel):
    """The answer to a scenario: a fleet, what it does, and how sure that is."""

    schema_version: Literal[1]
    tool_version: str
    scenario: ScenarioId
    status: Status
    cost: Cost | None = Field(description="Null where infeasible.")
    slo: tuple[SloResult, ...]
    latency: Latency | None
    routing: Routing | None
    pools: tuple[Pool, ...]
    links: tuple[PlanLink, ...]
    lanes: tuple[Lane, ...]
    goodput: Goodput | None
    baselines: tuple[Baseline, ...]
    bcr: NonNegative | None = Field(description="Goodput per cost, relative to `bcr_reference`.")
    certificate: Certificate | None = Field(description="Null where nothing was optimized.")
    sensitivity: tuple[Sensitivity, ...]
    binding: tuple[Binding, ...]
    warnings: tuple[str, ...]
    assumptions: tuple[Assumption, ...]
    bcr_reference: str | None = Field(None, description="Name of the baseline whose BCR is 1.")
    architecture: Architecture | None = None
    currency: str = "USD"
    command: str = Field("", description="The command that gives this plan again.")
    model: str = ""
    precision: str = ""
    demand: Demand | None = None
    infeasibility: Infeasibility | None = None
    rejected_shapes: tuple[RejectedShape, ...] = ()
    workload: WorkloadFacts | None = None
    handoff: Handoff | None = None
    ttft_distribution: TtftDistribution | None = None
    front: tuple[FrontPoint, ...] = ()
    resilience: Resilience | None = Field(
        None, description="Null where nothing is tolerated and no loss was asked about."
    )
    break_even: tuple[BreakEven, ...] = ()
    classes: tuple[TrafficGroup, ...] = Field((), description="By traffic class.")
    regions: tuple[TrafficGroup, ...] = Field((), description="By region of users.")
    paid_chips: tuple[PaidChips, ...] = Field(
        (), description="Where chips are paid under contract or in whole nodes."
    )
    uncertainty: Uncertainty | None = Field(
        None, description="Null where the scenario names no uncertain inputs."
    )

    @model_validator(mode="after")
    def _whole(self) -> Plan:
        if self.status == "infeasible":
            if self.infeasibility is None:
                raise ValueError("an infeasible plan must say why in 'infeasibility'")
        elif None in (self.cost, self.latency, self.routing, self.demand):
            raise ValueError("cost, latency, routing and demand are needed unless infeasible")
        return self

    @property
    def slo_met(self) -> bool:
        """Whether every limit is kept."""
        return all(limit.met for limit in self.slo)

    @property
    def holds(self) -> bool:
        """Whether there is a fleet that keeps every limit.

        So it does with each part lost that was asked about, and with the confidence asked for.
        """
        return (
            self.status != "infeasible"
            and self.slo_met
            and (self.resilience is None or self.resilience.kept)
            and (self.uncertainty is None or self.uncertainty.confident)
        )

    def to_json(self) -> str:
        """Return the plan as indented JSON, keys in the order of the contract."""
        return json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"


def plan_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) that every written plan obeys."""
    schema = Plan.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def load_plan(path: str | Path) -> Plan:
    """Read a plan that this tool wrote.

    Parameters
    ----------
    path : str or Path
        File with the JSON of one plan.

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        If the file cannot be read, is no JSON, is of another schema version, or does not follow
        the contract; every offending key is an issue of its own.
    """
    return parse_plan(plan_text(path), str(path))


def plan_text(path: str | Path) -> str:
    """Read the file of a plan as text; raises as `load_plan` does."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(
            Issue(
                f"cannot read the plan: {reason}",
                file=str(path),
                help="give a plan written by "
                "`pdd-plan optimize SCENARIO --format json -o plan.json`",
            )
        ) from error


def parse_plan(text: str, file: str = "") -> Plan:
    """Parse the JSON text of a plan; `file` names it in errors. Raises as `load_plan` does."""
    if "services" in plan_data(text, file):
        raise InputError(
            Issue(
                "the plan is of several services, and this works on the plan of one",
                file=file,
                path="services",
                line=_line_of(text, ("services",)),
                help="give a plan of a scenario without services",
            )
        )
    return parsed(Plan, text, file)


def plan_data(text: str, file: str) -> dict[str, Any]:
    """Return the plain data of a plan of this schema version; raises as `load_plan` does."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"column {error.colno}: {error.msg}"
        raise InputError(
            Issue(
                f"the plan is not JSON: {where}",
                file=file,
                line=error.lineno,
                help="give the JSON plan, not its console, Markdown, CSV or HTML report",
            )
        ) from error
    _check_version(data, text, file)
    assert isinstance(data, dict)
    return data


def parsed(kind: type[M], text: str, file: str) -> M:
    """Return a plan of a kind from its text; raises as `load_plan` does."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise InputError([_issue(item, text, file) for item in error.errors()]) from error


def _check_version(data: object, text: str, file: str) -> None:
    if not isinstance(data, dict):
        raise InputError(
            Issue(
                "a plan must be a JSON object",
                file=file,
                help="one plan a file; a comparison is given as several files",
            )
        )
    version = data.get("schema_version")
    if version != SCHEMA_VERSION:
        said = "no schema_version" if version is None else f"schema_version = {version!r}"
        raise InputError(
            Issue(
                f"the plan has {said}, this version reads {SCHEMA_VERSION}",
                file=file,
                path="schema_version",
                line=_line_of(text, ("schema_version",)) if version is not None else 0,
                help="plan the scenario again with this version of pdd-plan",
            )
        )


def _issue(item: Any, text: str, file: str) -> Issue:
    path = ".".join(str(part) for part in item["loc"])
    kind, given = item["type"], item.get("input")
    if kind == "missing":
        message, mend = f"{path} is missing", "a written plan always has it; plan again"
    elif kind == "extra_forbidden":
        message, mend = f"{path} is no key of a plan", "remove it, or check its spelling"
    else:
        shown = "" if isinstance(given, (dict, list)) else f" = {json.dumps(given)}"
        message = f"{path or 'plan'}{shown}: {item['msg'].removeprefix('Value error, ')}"
        mend = "see `pdd-plan schema plan`"
    return Issue(message, path=path, file=file, line=_line_of(text, item["loc"]), help=mend)


def _line_of(text: str, location: tuple[str | int, ...]) -> int:
    """Return the line of a key, or of the closest object around it that exists; 0 if unknown."""
    import yaml  # JSON is YAML, whose parser knows the lines; only needed for errors

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return 0
    line = node.start_mark.line if node is not None else -1
    for part in location:
        if isinstance(node, yaml.MappingNode):
            found = [pair for pair in node.value if pair[0].value == part]
            if not found:
                break
            line, node = found[0][0].start_mark.line, found[0][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            if part >= len(node.value):
                break
            node = node.value[part]
            line = node.start_mark.line
        else:
            break
    return int(line) + 1
