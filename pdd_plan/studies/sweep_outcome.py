"""What a sweep keeps of each plan: one flat record of plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self

from pdd_plan.fleet.plan import Baseline, Plan, Pool
from pdd_plan.fleet.shared_plan import AnyPlan, SharedBaseline, SharedPlan
from pdd_plan.studies.service_outcome import ServiceOutcome, service_record, services_of_record

Status = Literal["optimal", "feasible", "infeasible", "input_error", "solver_failed", "error"]
Value = str | bool | int | float | None

PLANNED = ("optimal", "feasible")
"""States in which a point has a plan."""
TRIED_AGAIN = ("solver_failed", "error")
"""States that a resumed sweep does not take over but tries again."""
SAME_COST = 1e-6
"""Relative difference up to which costs count as equal."""
BASELINES = ("single_site", "cross_site", "pdd", "aggregated")
ROLES = ("prefill", "relay", "decode")
MIXED = "mixed"
"""Kind of fleet of several services whose fleets are not all of one kind."""


@dataclass(frozen=True)
class Outcome:
    """The record of one point. Money is in the scenario's currency; what does not exist is None.

    Of several services it holds what they cost and take together, and below `services` what each
    does; times, routing and goodput are each service's own.

    Attributes
    ----------
    status : str
        ``optimal``, ``feasible`` (the search ran out of time), ``infeasible`` (no fleet keeps the
        limits), ``input_error`` (the scenario of this point is wrong), ``solver_failed`` or
        ``error`` (a bug, or a worker that died).
    reason : str or None
        Why there is no plan.
    usd_per_million_output_tokens, usd_per_million_output_tokens_at_goodput : float or None
        At the demand, and at the largest load that the fleet carries within its limits.
    ttft_p50_s, ttft_p90_s, ttft_p99_s, tpot_mean_s, tpot_p90_s : float or None
        Predicted times [s].
    architecture : str or None
        Kind of fleet; of several services the one that all have, or ``mixed``.
    threshold : float or None
        Of the routing, in the unit of `routing_by`.
    relay_request_fraction, relay_token_fraction, rld_chip_fraction : float or None
        What the relay takes of requests, output tokens and chips.
    line_gbps : float or None
        Sum of the lines bought [Gbit/s].
    fleet : str or None
        Every pool as ``site role chip engines x chips``.
    gap : float or None
        Proven distance from the optimum.
    single_site_*, cross_site_*, pdd_*, aggregated_* : float or None
        The best fleet of each kind for the same point: cost per million output tokens at the
        demand and at goodput, P90 TTFT [s], BCR.
    services : tuple of ServiceOutcome
        The part of each of several services; none for a scenario of one.
    """

    status: Status
    reason: str | None = None
    scenario_sha256: str | None = None
    currency: str | None = None
    usd_per_hour: float | None = None
    chips_usd_per_hour: float | None = None
    links_usd_per_hour: float | None = None
    usd_per_million_output_tokens: float | None = None
    usd_per_million_total_tokens: float | None = None
    usd_per_million_output_tokens_at_goodput: float | None = None
    ttft_p50_s: float | None = None
    ttft_p90_s: float | None = None
    ttft_p99_s: float | None = None
    tpot_mean_s: float | None = None
    tpot_p90_s: float | None = None
    limits_met: bool | None = None
    demand_requests_per_s: float | None = None
    goodput_requests_per_s: float | None = None
    goodput_output_tokens_per_s: float | None = None
    bcr: float | None = None
    bcr_reference: str | None = None
    architecture: str | None = None
    routing_by: str | None = None
    threshold: float | None = None
    relay_request_fraction: float | None = None
    relay_token_fraction: float | None = None
    rld_chip_fraction: float | None = None
    chips: int | None = None
    prefill_chips: int | None = None
    relay_chips: int | None = None
    decode_chips: int | None = None
    line_gbps: float | None = None
    fleet: str | None = None
    lower_bound_usd_per_hour: float | None = None
    gap: float | None = None
    single_site_usd_per_million_output_tokens: float | None = None
    single_site_usd_per_million_output_tokens_at_goodput: float | None = None
    single_site_ttft_p90_s: float | None = None
    single_site_bcr: float | None = None
    cross_site_usd_per_million_output_tokens: float | None = None
    cross_site_usd_per_million_output_tokens_at_goodput: float | None = None
    cross_site_ttft_p90_s: float | None = None
    cross_site_bcr: float | None = None
    pdd_usd_per_million_output_tokens: float | None = None
    pdd_usd_per_million_output_tokens_at_goodput: float | None = None
    pdd_ttft_p90_s: float | None = None
    pdd_bcr: float | None = None
    aggregated_usd_per_million_output_tokens: float | None = None
    aggregated_usd_per_million_output_tokens_at_goodput: float | None = None
    aggregated_ttft_p90_s: float | None = None
    aggregated_bcr: float | None = None
    services: tuple[ServiceOutcome, ...] = ()

    @property
    def planned(self) -> bool:
        """Whether the point has a plan."""
        return self.status in PLANNED

    @property
    def kinds(self) -> tuple[str | None, ...]:
        """Kinds of fleet: of each service, or of the one."""
        return tuple(one.architecture for one in self.services) or (self.architecture,)

    def record(self, services: Iterable[str] = ()) -> dict[str, Value]:
        """Return the values by their keys, in order.

        Parameters
        ----------
        services : iterable of str
            Services that have keys even where there is no plan.
        """
        own = asdict(self)
        return {key: own[key] for key in COLUMNS} | service_record(self.services, services)

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the outcome that `record` made.

        Raises
        ------
        TypeError
            If the keys are not those of an outcome.
        """
        values = dict(record)
        services = services_of_record(values)
        return cls(**values, services=services)


COLUMNS = tuple(field.name for field in fields(Outcome) if field.name != "services")
"""Keys of an outcome, in order; those of services follow."""


def outcome_of(plan: AnyPlan) -> Outcome:
    """Return the record of a plan.

    Parameters
    ----------
    plan : Plan or SharedPlan
        Whatever its status.

    Returns
    -------
    Outcome
    """
    values = _common(plan)
    if isinstance(plan, SharedPlan):
        return Outcome(**values | _of_services(plan))
    return Outcome(**values | _of_one(plan))


def _common(plan: AnyPlan) -> dict[str, Any]:
    """Return what plans of one service and of several have in common."""
    values: dict[str, Any] = {
        "status": plan.status,
        "reason": plan.infeasibility.reason if plan.infeasibility is not None else None,
        "scenario_sha256": plan.scenario.sha256,
        "currency": plan.currency,
    }
    values |= _some(plan.cost, _COST)
    values |= _some(plan.certificate, ("lower_bound_usd_per_hour", "gap"))
    if plan.demand is not None:
        values["demand_requests_per_s"] = plan.demand.requests_per_s
    for base in plan.baselines:
        values |= _baseline(base)
    return values


def _of_services(plan: SharedPlan) -> dict[str, Any]:
    """Return what several services take together, and the part of each."""
    if plan.cost is None:
        return {}
    parts = {name: _common(own) | _of_one(own) for name, own in plan.services.items()}
    kinds = {own.architecture for own in plan.services.values()}
    fleets = [f"{name}: {values['fleet']}" for name, values in parts.items()]
    return {
        "limits_met": plan.slo_met,
        "architecture": kinds.pop() if len(kinds) == 1 else MIXED,
        **_chips([pool for own in plan.services.values() for pool in own.pools]),
        "line_gbps": float(sum(link.gbps for link in plan.links)),
        "fleet": " | ".join(fleets),
        "services": tuple(ServiceOutcome.of(name, values) for name, values in parts.items()),
    }


def _of_one(plan: Plan) -> dict[str, Any]:
    """Return what only the plan of one service has."""
    values: dict[str, Any] = {
        "architecture": plan.architecture,
        "bcr": plan.bcr,
        "bcr_reference": plan.bcr_reference,
        "limits_met": all(item.met for item in plan.slo) if plan.slo else None,
    }
    values |= _some(plan.routing, _ROUTING)
    if plan.goodput is not None:
        values["goodput_requests_per_s"] = plan.goodput.requests_per_s
        values["goodput_output_tokens_per_s"] = plan.goodput.output_tokens_per_s
    if plan.latency is not None:
        ttft, tpot = plan.latency.ttft_s, plan.latency.tpot_s
        values |= {"ttft_p50_s": ttft.p50, "ttft_p90_s": ttft.p90, "ttft_p99_s": ttft.p99}
        values |= {"tpot_mean_s": tpot.mean, "tpot_p90_s": tpot.p90}
    if plan.routing is not None:
        values["routing_by"] = plan.routing.by
    if plan.cost is not None:
        values |= _chips(plan.pools)
        values["line_gbps"] = float(sum(link.gbps for link in plan.links))
        values["fleet"] = _fleet(plan.pools)
    return values


_COST = (
    "usd_per_hour",
    "chips_usd_per_hour",
    "links_usd_per_hour",
    "usd_per_million_output_tokens",
    "usd_per_million_total_tokens",
    "usd_per_million_output_tokens_at_goodput",
)
_ROUTING = (
    "threshold",
    "relay_request_fraction",
    "relay_token_fraction",
    "rld_chip_fraction",
)
_PER_TOKEN = ("usd_per_million_output_tokens", "usd_per_million_output_tokens_at_goodput")


def _some(part: object, keys: Iterable[str]) -> dict[str, Any]:
    return {key: getattr(part, key) for key in keys} if part is not None else {}


def _chips(pools: Sequence[Pool]) -> dict[str, int]:
    by_role = {role: sum(p.chips for p in pools if p.role == role) for role in ROLES}
    return {
        "chips": sum(by_role.values()),
        **{f"{role}_chips": chips for role, chips in by_role.items()},
    }


def _fleet(pools: Sequence[Pool]) -> str:
    said = [
        f"{p.site} {p.role} {p.chip} {p.engines} x {p.chips // max(p.engines, 1)}" for p in pools
    ]
    return "; ".join(said)


def _baseline(base: Baseline | SharedBaseline) -> dict[str, Any]:
    if base.name not in BASELINES:
        return {}
    values = {f"{base.name}_{key}": value for key, value in _some(base.cost, _PER_TOKEN).items()}
    if isinstance(base, SharedBaseline):
        return values
    values[f"{base.name}_bcr"] = base.bcr
    if base.latency is not None:
        values[f"{base.name}_ttft_p90_s"] = base.latency.ttft_s.p90
    return values
