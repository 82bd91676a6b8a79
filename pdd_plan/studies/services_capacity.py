"""What several services take of what they share: chips, power and lines."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pdd_plan.fleet.plan import Binding, Plan
from pdd_plan.fleet.problem import FloatArray
from pdd_plan.fleet.shared import Row, SharedProblem
from pdd_plan.fleet.shared_plan import SharedLink, SharedPower, SharedStock

BITS_PER_GBIT = 8e-9
"""Gbit/s of one byte/s."""


def _worth(worth: FloatArray | None, row: int, scale: float = 1.0) -> float | None:
    """What one unit of a row more would save, from its price by the proof."""
    return None if worth is None else max(float(worth[row]), 0.0) * scale


def shared_stock(
    problem: SharedProblem,
    uses: Mapping[str, FloatArray],
    plans: Mapping[str, Plan],
    worth: FloatArray | None,
) -> tuple[SharedStock, ...]:
    """Chips of each type at each site: how many there are, who uses them and what one is worth."""
    pools = [pool for plan in plans.values() for pool in plan.pools]
    out = []
    for index, row in enumerate(problem.rows):
        if row.kind != "chips":
            continue
        spent = sum(p.usd_per_hour for p in pools if (p.site, p.chip) == (row.site, row.chip))
        taken = {name: round(float(use[index])) for name, use in uses.items()}
        out.append(
            SharedStock(
                site=row.site,
                chip=row.chip,
                available=int(row.capacity),
                used=sum(taken.values()),
                by_service=taken,
                usd_per_hour=spent,
                worth_usd_per_chip_hour=_worth(worth, index),
            )
        )
    return tuple(out)


def shared_power(
    problem: SharedProblem, uses: Mapping[str, FloatArray], worth: FloatArray | None
) -> tuple[SharedPower, ...]:
    """Power of each site: how much there is, who takes it and what it is worth [W]."""
    return tuple(
        SharedPower(
            site=row.site,
            available_w=row.capacity,
            used_w=float(sum(use[index] for use in uses.values())),
            by_service={name: float(use[index]) for name, use in uses.items()},
            worth_usd_per_kw_hour=_worth(worth, index, 1000.0),
        )
        for index, row in enumerate(problem.rows)
        if row.kind == "power"
    )


def shared_links(
    problem: SharedProblem, uses: Mapping[str, FloatArray], worth: FloatArray | None
) -> tuple[SharedLink, ...]:
    """Lines that are used: size, who reserves how much, price and worth [Gbit/s]."""
    out = []
    for line, row in zip(problem.lines, problem.line_rows, strict=True):
        gbps = line.step_bytes_per_s * BITS_PER_GBIT
        parts = {name: float(use[row]) for name, use in uses.items()}
        steps = sum(parts.values())
        if not steps:
            continue
        lane = problem.problems[0].lanes[line.lane]
        out.append(
            SharedLink(
                from_site=lane.source,
                to_site=lane.target,
                gbps=line.size_steps(steps) * gbps,
                reserved_gbps=steps * gbps,
                max_gbps=line.max_steps * gbps,
                by_service={name: part * gbps for name, part in parts.items()},
                usd_per_hour=line.price_per_hour(steps),
                worth_usd_per_gbps_hour=_worth(worth, row, 1.0 / gbps),
            )
        )
    return tuple(out)


def shared_binding(
    problem: SharedProblem, uses: Mapping[str, FloatArray], worth: FloatArray | None
) -> tuple[Binding, ...]:
    """Shared limits that are reached, or have a price by the proof."""
    total = sum(uses.values(), np.zeros(len(problem.rows)))
    out = []
    for index, row in enumerate(problem.rows):
        used, most = float(total[index]), row.capacity
        priced = worth is not None and worth[index] > 1e-9
        if not (used and (used >= most - problem.slacks[index] or priced)):
            continue
        scale, unit = unit_of(problem, row)
        out.append(Binding(what=path_of(row), value=used * scale, limit=most * scale, unit=unit))
    return tuple(out)


def path_of(row: Row) -> str:
    """Where in a scenario the capacity of a row stands."""
    if row.kind == "chips":
        return f"sites.{row.site}.chips.{row.chip}.available"
    return f"sites.{row.site}.power" if row.kind == "power" else f"link {row.site} bandwidth"


def unit_of(problem: SharedProblem, row: Row) -> tuple[float, str]:
    """Unit for people of a row, and what one of it is in that unit."""
    if row.kind == "chips":
        return 1.0, "chips"
    if row.kind == "power":
        return 1e-3, "kW"
    line = next(line for line in problem.lines if line.lane == row.lane)
    return line.step_bytes_per_s * BITS_PER_GBIT, "Gbps"


def overdrawn(problem: SharedProblem, uses: Mapping[str, FloatArray]) -> tuple[str, ...]:
    """Say of what services take more than there is; a plan that was given may."""
    total = sum(uses.values(), np.zeros(len(problem.rows)))
    out = []
    for row, used, slack in zip(problem.rows, total.tolist(), problem.slacks, strict=True):
        if used > row.capacity + slack:
            scale, unit = unit_of(problem, row)
            out.append(
                f"{row.label}: the services take {used * scale:g} {unit}, and there are "
                f"{row.capacity * scale:g}"
            )
    return tuple(out)
