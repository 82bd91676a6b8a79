"""Whether a problem's stock and lines could be stable at all: a cheap necessary condition."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from pdd_plan.fleet.problem import PoolOption, Problem, Role
from pdd_plan.fleet.slots import SlotPool, token_demand


def shortfall(problem: Problem) -> str:
    """Say which resource falls short of the demand however it is used; empty where none does.

    Parameters
    ----------
    problem : Problem
        What to plan.

    Returns
    -------
    str
        Such as "prefill engines of the whole stock do 40 req/s, the demand is 1,000 req/s".

    Notes
    -----
    Every chip counts for the role looked at, engines run at full utilization, and lines carry
    their largest bandwidth: only necessary conditions, so an empty answer proves nothing.
    """
    demand = problem.arrival_rate_per_s * problem.peak_multiplier
    roles: tuple[Role, ...] = ("prefill", "decode")
    for role in roles:
        most = _most_per_s(problem, role)
        if most < demand:
            return (
                f"the whole stock could {role} {most:.4g} req/s at most, and the demand is "
                f"{demand:.4g} req/s"
            )
    if any(lane.local and not lane.baseline_only for lane in problem.lanes):
        return ""
    size = float(problem.atoms.weight @ problem.transfer_bytes)
    lines = sum(
        float(lane.bytes_per_s[-1]) * lane.efficiency for lane in problem.lanes if not lane.local
    )
    if size * demand > lines:
        return (
            f"all lines at their largest carry {lines * 8e-9:.4g} Gbps, and the KV cache of "
            f"{demand:.4g} req/s takes {size * demand * 8e-9:.4g} Gbps"
        )
    return ""


def stable_rate_per_s(problem: Problem) -> float:
    """Bound on the arrival rate that the stock can carry at multiplier 1 [requests/s]."""
    roles: tuple[Role, ...] = ("prefill", "decode")
    return min(_most_per_s(problem, role) for role in roles) / problem.peak_multiplier


def _most_per_s(problem: Problem, role: Role) -> float:
    """Largest request rate of a role if it had all chips."""
    tokens = token_demand(problem)
    by_stock: dict[tuple[str, str], float] = defaultdict(float)
    for pool in problem.pools:
        if pool.role == role:
            rate = _rate_per_chip(problem, pool, SlotPool(pool, tokens))
            key = (pool.site, pool.chip)
            by_stock[key] = max(by_stock[key], rate)
    return float(sum(rate * problem.stock[key] for key, rate in by_stock.items()))


def _rate_per_chip(problem: Problem, pool: PoolOption, slots: SlotPool) -> float:
    if pool.role == "prefill":
        mean_s = float(problem.atoms.weight @ pool.service_s)
        return pool.servers_per_engine / mean_s / pool.chips_per_engine
    if not pool.slots:
        return 0.0
    # A chain's mean rate is within that of its mean batch; the full batch bounds them all.
    full = np.arange(1, pool.slots + 1) / pool.step_s
    return float(full.max()) / slots.demand.mean_output_tokens / pool.chips_per_engine
