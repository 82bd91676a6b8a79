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
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from pdd_plan.errors import InputError, Issue

SCHEMA_VERSION = 1

Status = Literal["optimal", "feasible", "infeasible"]
Architecture = Literal["single_site", "cross_site", "pdd"]
RouteBy = Literal["hit_rate", "uncached_tokens", "transfer_bytes"]
Role = Literal["prefill", "relay", "decode"]


ROUNDING = 1e-9
"""Amounts this far out of bounds are rounding errors of sums, and are set to the bound."""


def _plain(value: Any) -> Any:
    """Turn a NumPy scalar into the Python number it stands for."""
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value


def _unrounded(value: Any) -> Any:
    value = _plain(value)
    return 0.0 if isinstance(value, float) and -ROUNDING <= value < 0 else value


def _unrounded_fraction(value: Any) -> Any:
    value = _unrounded(value)
    return 1.0 if isinstance(value, float) and 1 < value <= 1 + ROUNDING else value


Number = Annotated[float, BeforeValidator(_plain)]
Positive = Annotated[float, Field(ge=0), BeforeValidator(_unrounded)]
Fraction = Annotated[float, Field(ge=0, le=1), BeforeValidator(_unrounded_fraction)]
Count = Annotated[int, Field(ge=0), BeforeValidator(_plain)]


class PlanModel(BaseModel):
    """Base of all parts of a plan: frozen, strict, finite numbers, no unknown keys."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        json_schema_serialization_defaults_required=True,
    )


class ScenarioId(PlanModel):
    """Which scenario the plan answers: its name, and the SHA-256 of everything that went in."""

    name: str
    sha256: str


class Percentiles(PlanModel):
    """Percentiles of one duration [s]; null beyond the evaluated horizon."""

    p50: Positive | None
    p90: Positive | None
    p95: Positive | None
    p99: Positive | None
    mean: Positive | None = None


class Cost(PlanModel):
    """Cost per hour and per million tokens, in the plan's currency; at demand unless named."""

    usd_per_hour: Positive
    chips_usd_per_hour: Positive
    links_usd_per_hour: Positive
    usd_per_million_output_tokens: Positive = Field(description="At the demand.")
    usd_per_million_total_tokens: Positive = Field(description="Input and output, at the demand.")
    usd_per_million_output_tokens_at_goodput: Positive | None = None
    usd_per_million_total_tokens_at_goodput: Positive | None = None


class SloResult(PlanModel):
    """One service level objective, what the plan is predicted to reach, and whether that is met."""

    metric: Literal["ttft", "tpot", "handoff_gap", "e2e"]
    percentile: Fraction | None = Field(description="0.9 for P90; null where the mean is limited.")
    limit: Positive = Field(description="Seconds.")
    predicted: Positive | None = Field(description="Seconds; null beyond the evaluated horizon.")
    met: bool
    fraction_within: Fraction | None = Field(None, description="Requests within the limit.")
    period: str | None = Field(None, description="Traffic period that the row is about.")


class Latency(PlanModel):
    """Latency percentiles [s], over all requests and by route."""

    ttft_s: Percentiles
    ttft_direct_s: Percentiles | None = Field(description="Null where nothing goes direct.")
    ttft_relay_s: Percentiles | None = Field(description="Null where nothing is relayed.")
    tpot_s: Percentiles
    handoff_gap_s: Percentiles | None = Field(description="Null where nothing is relayed.")
    e2e_s: Percentiles | None = None


class Routing(PlanModel):
    """Who goes which way, and what share of requests, tokens and chips the relay takes."""

    by: RouteBy
    threshold: Positive | None = Field(
        description="Relayed: hit rate below it, or uncached tokens or transfer bytes above it; "
        "null where no threshold applies."
    )
    relay_request_fraction: Fraction
    relay_token_fraction: Fraction = Field(description="Output tokens made by relay engines.")
    main_decode_token_fraction: Fraction
    rld_chip_fraction: Fraction = Field(description="Chips of relay pools over chips of all pools.")
    slot_wait: Fraction | None = Field(
        None, description="Largest share of requests that may wait for a decode slot."
    )


class Pool(PlanModel):
    """Engines of one shape on one chip at one site in one role."""

    site: str
    role: Role
    chip: str
    shape: str
    engines: Count
    chips: Count
    utilization: Positive = Field(description="Offered work over capacity; stable below 1.")
    bound_by: str = Field(description="compute, memory, network or overhead.")
    usd_per_hour: Positive
    usd_per_chip_hour: Positive | None = None
    chips_available: Count | None = Field(None, description="Chips of this type at the site.")
    request_fraction: Fraction | None = Field(None, description="Requests that this pool serves.")
    slots_per_engine: Count | None = Field(None, description="Requests one engine holds at most.")
    kv_memory_utilization: Fraction | None = None


class PlanLink(PlanModel):
    """One line between sites, as bought."""

    from_site: str = Field(alias="from")
    to_site: str = Field(alias="to")
    gbps: Positive
    utilization: Positive
    usd_per_hour: Positive
    max_gbps: Positive | None = Field(None, description="Most that can be bought.")


class Lane(PlanModel):
    """Share of the demand from one prefill site to one decode site."""

    from_site: str = Field(alias="from")
    to_site: str = Field(alias="to")
    share: Fraction
    threshold: Positive | None = Field(None, description="Where it differs from the routing's.")


class Goodput(PlanModel):
    """Largest load that still meets every SLO on the plan's fleet."""

    requests_per_s: Positive
    output_tokens_per_s: Positive
    limited_by: str | None = Field(None, description="What gives first, such as slo.ttft_p90.")


class Demand(PlanModel):
    """The load that the scenario asks for."""

    requests_per_s: Positive
    output_tokens_per_s: Positive
    input_tokens_per_s: Positive


class Failure(PlanModel):
    """One limit that cannot be kept even with everything at its maximum."""

    what: str = Field(description="Such as slo.ttft_p90.")
    best: Positive | None = Field(description="Best that is possible; null where unbounded.")
    limit: Positive
    unit: str


class Change(PlanModel):
    """One change of the scenario, as text and as the value to set."""

    change: str
    path: str
    value: str | int | float | None


class Infeasibility(PlanModel):
    """Why there is no plan, and the smallest single changes each of which makes one."""

    reason: str
    failures: tuple[Failure, ...] = ()
    smallest_changes: tuple[Change, ...] = ()


class Baseline(PlanModel):
    """The best plan of a simpler kind, by the same optimizer and the same model."""

    name: str
    status: Status
    cost: Cost | None
    latency: Latency | None
    goodput: Goodput | None
    bcr: Positive | None = Field(description="Goodput per cost, relative to `bcr_reference`.")
    pools: tuple[Pool, ...]
    links: tuple[PlanLink, ...] = ()
    lanes: tuple[Lane, ...] = ()
    routing: Routing | None = None
    gap: Positive | None = None
    reason: str | None = Field(None, description="Why it is infeasible.")


class Certificate(PlanModel):
    """How good the plan is proven to be, and how that was found out."""

    lower_bound_usd_per_hour: Positive | None
    gap: Positive | None = Field(description="(cost - bound) / cost; null where not proven.")
    cuts: Count
    evaluations: Count
    solver: str
    solve_time_s: Positive
    model: str = Field("", description="What the proof covers, in words.")
    objective: str = "cost_per_token"
    objective_value: Number | None = None
    objective_bound: Number | None = None
    thresholds: Count | None = Field(None, description="Thresholds tried.")
    flow_steps: Count | None = Field(None, description="Steps that lane shares move in.")
    time_limit_s: Positive | None = None
    recomputed_usd_per_hour: Positive | None = Field(
        None, description="Cost summed again from counts and prices, without the solver."
    )
    recomputed_slo_met: bool | None = None


class Sensitivity(PlanModel):
    """What one change of the plan or the scenario would do."""

    change: str = Field(description="Such as 'one prefill engine fewer'.")
    path: str = Field("", description="Scenario path or pool that is changed.")
    value: str | int | float | None = None
    feasible: bool | None = None
    usd_per_hour: Positive | None = None
    ttft_p90_s: Positive | None = None
    effect: str = Field("", description="In words, such as 'P90 TTFT 11.2 s, limit 10 s'.")


class Binding(PlanModel):
    """A limit that the plan has reached: to relax it could make the plan cheaper."""

    what: str = Field(description="Such as slo.ttft_p90 or sites.beijing.chips.h200.available.")
    value: Number
    limit: Number
    unit: str


class Assumption(PlanModel):
    """A value that the plan rests on and the scenario did not give, with its source."""

    path: str
    value: str | bool | int | float | None
    source: str
    unit: str = ""
    confidence: Literal["high", "medium", "low", "user"] | None = None


class RejectedShape(PlanModel):
    """An engine shape that was no candidate, and why."""

    site: str
    chip: str
    shape: str
    reason: str


class Histogram(PlanModel):
    """Weights of the bins between n + 1 edges; the weights sum to 1."""

    edges: tuple[Number, ...]
    weights: tuple[Fraction, ...]

    @model_validator(mode="after")
    def _one_edge_more(self) -> Histogram:
        if len(self.edges) != len(self.weights) + 1:
            raise ValueError("edges must be one more than weights")
        return self


class WorkloadFacts(PlanModel):
    """What the traffic is like: counts, means and the distribution of hit rates."""

    source: str
    requests: Count | None = None
    atoms: Count
    mean_input_tokens: Positive
    mean_uncached_tokens: Positive
    mean_output_tokens: Positive
    mean_hit_rate: Fraction
    arrival_scv: Positive | None = None
    hit_rate: Histogram | None = None


class Handoff(PlanModel):
    """How main decode takes over from the relay, and what that costs."""

    mode: Literal["one_shot", "catch_up"]
    mean_tokens: Positive | None = Field(None, description="Tokens made before the takeover.")
    extra_relay_token_fraction: Positive | None = None
    extra_main_decode_work_fraction: Positive | None = None
    one_shot_gap_s: Percentiles | None = None
    kv_push_gap_s: Percentiles | None = Field(None, description="KV sent instead of recomputed.")


class TtftDistribution(PlanModel):
    """P(TTFT <= time) over a grid of times, of all requests and by route."""

    time_s: tuple[Positive, ...]
    overall: tuple[Fraction, ...]
    direct: tuple[Fraction, ...] | None = None
    relay: tuple[Fraction, ...] | None = None

    @model_validator(mode="after")
    def _same_lengths(self) -> TtftDistribution:
        for curve in (self.overall, self.direct, self.relay):
            if curve is not None and len(curve) != len(self.time_s):
                raise ValueError("curves must be as long as time_s")
        return self


class FrontPoint(PlanModel):
    """One plan on the front of cost against P90 TTFT."""

    usd_per_hour: Positive
    ttft_p90_s: Positive
    label: str = ""


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
    bcr: Positive | None = Field(description="Goodput per cost, relative to `bcr_reference`.")
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

    @model_validator(mode="after")
    def _whole(self) -> Plan:
        if self.status == "infeasible":
            if self.infeasibility is None:
                raise ValueError("an infeasible plan must say why in 'infeasibility'")
        elif None in (self.cost, self.latency, self.routing, self.demand):
            raise ValueError("cost, latency, routing and demand are needed unless infeasible")
        return self

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
    file = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(
            Issue(
                f"cannot read the plan: {reason}",
                file=file,
                help="give a plan written by "
                "`pdd-plan optimize SCENARIO --format json -o plan.json`",
            )
        ) from error
    return parse_plan(text, file)


def parse_plan(text: str, file: str = "") -> Plan:
    """Parse the JSON text of a plan; `file` names it in errors. Raises as `load_plan` does."""
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
    try:
        return Plan.model_validate_json(text)
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
