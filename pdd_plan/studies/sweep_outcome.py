"""What a sweep keeps of each plan: one flat record of plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self

from pdd_plan.fleet.plan import Baseline, Plan

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


@dataclass(frozen=True)
class Outcome:
    """The record of one point. Money is in the scenario's currency; what does not exist is None.

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

    @property
    def planned(self) -> bool:
        """Whether the point has a plan."""
        return self.status in PLANNED

    def record(self) -> dict[str, Value]:
        """Return the values by their keys, in order."""
        return asdict(self)

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the outcome that `record` made.

        Raises
        ------
        TypeError
            If the keys are not those of an outcome.
        """
        return cls(**record)


COLUMNS = tuple(field.name for field in fields(Outcome))
"""Keys of an outcome, in order."""


def outcome_of(plan: Plan) -> Outcome:
    """Return the record of a plan.

    Parameters
    ----------
    plan : Plan
        Whatever its status.

    Returns
    -------
    Outcome
    """
    values: dict[str, Any] = {
        "status": plan.status,
        "reason": plan.infeasibility.reason if plan.infeasibility is not None else None,
        "scenario_sha256": plan.scenario.sha256,
        "currency": plan.currency,
        "architecture": plan.architecture,
        "bcr": plan.bcr,
        "bcr_reference": plan.bcr_reference,
        "limits_met": all(item.met for item in plan.slo) if plan.slo else None,
    }
    values |= _some(plan.cost, _COST)
    values |= _some(plan.routing, _ROUTING)
    values |= _some(plan.certificate, ("lower_bound_usd_per_hour", "gap"))
    if plan.demand is not None:
        values["demand_requests_per_s"] = plan.demand.requests_per_s
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
        values |= _fleet(plan)
    for base in plan.baselines:
        values |= _baseline(base)
    return Outcome(**values)


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


def _fleet(plan: Plan) -> dict[str, Any]:
    by_role = {role: sum(p.chips for p in plan.pools if p.role == role) for role in ROLES}
    pools = [
        f"{p.site} {p.role} {p.chip} {p.engines} x {p.chips // max(p.engines, 1)}"
        for p in plan.pools
    ]
    return {
        "chips": sum(by_role.values()),
        "line_gbps": float(sum(link.gbps for link in plan.links)),
        "fleet": "; ".join(pools),
        **{f"{role}_chips": chips for role, chips in by_role.items()},
    }


def _baseline(base: Baseline) -> dict[str, Any]:
    if base.name not in BASELINES:
        return {}
    values = {f"{base.name}_{key}": value for key, value in _some(base.cost, _PER_TOKEN).items()}
    values[f"{base.name}_bcr"] = base.bcr
    if base.latency is not None:
        values[f"{base.name}_ttft_p90_s"] = base.latency.ttft_s.p90
    return values
