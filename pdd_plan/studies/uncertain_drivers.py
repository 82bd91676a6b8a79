"""Which uncertain input drives which outcome: rank correlations, and histograms of draws."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pdd_plan.fleet.plan_traffic import Histogram
from pdd_plan.fleet.plan_uncertainty import Driver
from pdd_plan.fleet.problem import FloatArray
from pdd_plan.scenario.policy import SloLimit
from pdd_plan.studies.uncertain_draws import Draws
from pdd_plan.studies.uncertain_risk import Outcome

COST = "cost_per_token"
BINS = 30
"""Bins of the histogram of P90 TTFT."""
SHOWN = 0.98
"""Share of the finite draws that the histogram reaches to, at least."""


def drivers_of(
    draws: Draws, outcomes: Sequence[Outcome], limits: Sequence[SloLimit]
) -> tuple[Driver, ...]:
    """Return the rank correlation of every input with every outcome.

    Parameters
    ----------
    draws : Draws
        As evaluated.
    outcomes : sequence of Outcome
        One a draw; an unstable draw ranks above all others.
    limits : sequence of SloLimit
        The scenario's; without any, P90 TTFT stands for them.
    """
    seen: dict[str, list[float]] = {COST: [one.usd_per_million_output_tokens for one in outcomes]}
    for i, limit in enumerate(limits):
        seen[f"slo.{limit.key}"] = [one.predicted_s[i] for one in outcomes]
    if not limits:
        seen["ttft_p90"] = [one.ttft_p90_s for one in outcomes]
    return tuple(
        Driver(
            path=one.path,
            outcome=name,
            rank_correlation=rank_correlation(draws.values[:, column], np.array(values)),
        )
        for name, values in seen.items()
        for column, one in enumerate(draws.inputs)
    )


def rank_correlation(first: FloatArray, second: FloatArray) -> float:
    """Return Spearman's rank correlation; 0 where either is constant.

    Parameters
    ----------
    first, second : array
        Of one shape; equal values share their mean rank, and NaN counts as infinite.
    """
    a, b = _ranks(first), _ranks(second)
    a, b = a - a.mean(), b - b.mean()
    size = math.sqrt(float(a @ a) * float(b @ b))
    return min(max(float(a @ b) / size, -1.0), 1.0) if size > 0.0 else 0.0


def _ranks(values: FloatArray) -> FloatArray:
    _, place, counts = np.unique(
        np.where(np.isnan(values), np.inf, values), return_inverse=True, return_counts=True
    )
    ends = np.cumsum(counts)
    ranks: FloatArray = ends - 0.5 * (counts - 1.0)
    return ranks[place]


def ttft_histogram(outcomes: Sequence[Outcome], limit_s: float | None) -> tuple[Histogram, float]:
    """Return the histogram of P90 TTFT, and the share of draws beyond it.

    Parameters
    ----------
    outcomes : sequence of Outcome
        One a draw, at least one of them stable.
    limit_s : float or None
        A limit on it that the histogram must reach [s].
    """
    times = np.sort([one.ttft_p90_s for one in outcomes if one.stable])
    top = float(times[math.ceil(SHOWN * times.size) - 1])
    if limit_s is not None:
        top = max(top, min(float(times[-1]), 1.5 * limit_s))
    low = float(times[0])
    if top <= low:  # every draw alike
        low, top = 0.95 * low, 1.05 * top
    counts, edges = np.histogram(times, BINS, (low, top))
    weights = counts / len(outcomes)
    histogram = Histogram(edges=tuple(edges.tolist()), weights=tuple(weights.tolist()))
    return histogram, max(0.0, 1.0 - float(weights.sum()))
