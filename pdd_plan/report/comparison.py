"""Several named plans to be shown side by side, and their tidy tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.plan import Plan
from pdd_plan.fleet.shared_plan import AnyPlan, SharedPlan
from pdd_plan.report.tidy import Tidy

P = TypeVar("P", Plan, SharedPlan)


@dataclass(frozen=True)
class Alternatives(Generic[P]):
    """Named plans to be shown side by side, the first being what the others are held against.

    Raises
    ------
    InputError
        If there is none, or two share a name.
    """

    alternatives: tuple[tuple[str, P], ...]
    command: str = ""

    def __post_init__(self) -> None:
        _require_names([name for name, _ in self.alternatives])

    @property
    def plans(self) -> tuple[P, ...]:
        """The plans without their names."""
        return tuple(plan for _, plan in self.alternatives)


class Comparison(Alternatives[Plan]):
    """Plans of one service each."""


class SharedComparison(Alternatives[SharedPlan]):
    """Plans of several services each."""


def _require_names(names: Sequence[str]) -> None:
    if not names:
        raise InputError(Issue("nothing to compare", help="give at least one plan"))
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            Issue(
                f"two alternatives are named {twice[0]!r}",
                help="give each its own name, such as --what-if 'more h20: path=value'",
            )
        )


def comparison_tables(comparison: Comparison) -> tuple[Tidy, ...]:
    """Return a comparison as tidy tables: a row an alternative, and a row a pool and line."""
    cost = (
        "usd_per_hour",
        "usd_per_million_output_tokens",
        "usd_per_million_total_tokens",
        "usd_per_million_output_tokens_at_goodput",
    )
    routing = ("by", "threshold", "relay_request_fraction", "relay_token_fraction")
    times = [("ttft_s", p) for p in ("p50", "p90", "p99")] + [("tpot_s", "p90")]
    keys = (
        *("alternative", "scenario", "sha256", "status", "gap", "architecture", "currency"),
        *cost,
        *(f"{metric.removesuffix('_s')}_{name}_s" for metric, name in times),
        *("slo_met", "demand_requests_per_s", "goodput_requests_per_s", "bcr", "bcr_reference"),
        *routing,
        "chips",
    )
    rows = []
    for name, plan in comparison.alternatives:
        proof, load, made = plan.certificate, plan.demand, plan.goodput
        rows.append(
            (
                *(name, plan.scenario.name, plan.scenario.sha256, plan.status),
                *(proof.gap if proof else None, plan.architecture, plan.currency),
                *(getattr(plan.cost, key, None) for key in cost),
                *(getattr(getattr(plan.latency, m, None), p, None) for m, p in times),
                all(item.met for item in plan.slo) if plan.slo else None,
                load.requests_per_s if load else None,
                made.requests_per_s if made else None,
                *(plan.bcr, plan.bcr_reference),
                *(getattr(plan.routing, key, None) for key in routing),
                sum(pool.chips for pool in plan.pools),
            )
        )
    return (
        Tidy("comparison", keys, tuple(rows)),
        *_part_tables(comparison),
        warnings_table(comparison.alternatives),
    )


def warnings_table(alternatives: Sequence[tuple[str, AnyPlan]]) -> Tidy:
    """Return a row for every warning of an alternative."""
    rows = tuple((name, text) for name, plan in alternatives for text in plan.warnings)
    return Tidy("warnings", ("alternative", "warning"), rows)


def _part_tables(comparison: Comparison) -> tuple[Tidy, Tidy]:
    pool_keys = (
        *("site", "role", "chip", "shape", "engines", "chips", "utilization"),
        *("bound_by", "usd_per_hour"),
    )
    link_keys = ("from", "to", "gbps", "utilization", "usd_per_hour")
    pools, links = [], []
    for name, plan in comparison.alternatives:
        for pool in plan.pools:
            values = pool.model_dump()
            pools.append((name, *(values[key] for key in pool_keys)))
        for link in plan.links:
            values = link.model_dump()
            links.append((name, *(values[key] for key in link_keys)))
    return (
        Tidy("pools", ("alternative", *pool_keys), tuple(pools)),
        Tidy("links", ("alternative", *link_keys), tuple(links)),
    )
