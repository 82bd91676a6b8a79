"""Figures of a plan from figures of the model: costs, loads, percentiles."""

from __future__ import annotations

import math

from pdd_plan.fleet.goodput import GoodputResult
from pdd_plan.fleet.laws import Law
from pdd_plan.fleet.plan import Cost, Demand, Goodput, Percentiles
from pdd_plan.fleet.problem import Problem


def demand_of(problem: Problem) -> Demand:
    """Load that the scenario asks for, mean over the day."""
    rate = problem.arrival_rate_per_s * problem.mean_multiplier
    weight = problem.atoms.weight
    return Demand(
        requests_per_s=rate,
        output_tokens_per_s=rate * float(weight @ problem.atoms.output_tokens),
        input_tokens_per_s=rate * float(weight @ problem.atoms.input_tokens),
    )


def cost_of(problem: Problem, chips: float, lines: float, reached_per_s: float) -> Cost:
    """Cost per hour and per token, at the demand and at a goodput.

    Parameters
    ----------
    chips, lines : float
        Price of engines and lines [currency/h].
    reached_per_s : float
        Goodput at multiplier 1 [requests/s].
    """
    load = demand_of(problem)
    output = load.output_tokens_per_s * 3600.0 / 1e6
    total = output + load.input_tokens_per_s * 3600.0 / 1e6
    cost = chips + lines
    # Per token at goodput: the day's profile scaled until its peak is the largest load carried.
    scale = reached_per_s / problem.arrival_rate_per_s
    return Cost(
        usd_per_hour=cost,
        chips_usd_per_hour=chips,
        links_usd_per_hour=lines,
        usd_per_million_output_tokens=cost / output,
        usd_per_million_total_tokens=cost / total,
        usd_per_million_output_tokens_at_goodput=cost / (output * scale) if scale else None,
        usd_per_million_total_tokens_at_goodput=cost / (total * scale) if scale else None,
    )


def finite(value: float) -> float | None:
    """Value, or None where it is infinite or no number."""
    return float(value) if math.isfinite(value) else None


def percentiles(law: Law | None) -> Percentiles | None:
    """Percentiles and mean of a law [s]; None without a law."""
    if law is None:
        return None
    p50, p90, p95, p99 = (finite(law.quantile(p)) for p in (0.5, 0.9, 0.95, 0.99))
    return Percentiles(p50=p50, p90=p90, p95=p95, p99=p99, mean=law.mean)


def goodput_of(problem: Problem, result: GoodputResult | None) -> Goodput | None:
    """Goodput in requests and output tokens, mean over the day."""
    if result is None:
        return None
    rate = result.requests_per_s * problem.mean_multiplier
    tokens = float(problem.atoms.weight @ problem.atoms.output_tokens)
    return Goodput(
        requests_per_s=rate, output_tokens_per_s=rate * tokens, limited_by=result.limited_by or None
    )
