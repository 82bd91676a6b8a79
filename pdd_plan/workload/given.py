"""Distributions that a scenario names, as the functions that stand for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pdd_plan.workload.distributions import Constant, Distribution, LogNormal, empirical
from pdd_plan.workload.mixture import hit_skew, interval


def token_distribution(part: Any) -> Distribution:
    """Return the distribution of lengths that a scenario section names.

    Parameters
    ----------
    part : ConstantTokens, RangeTokens, LogNormalTokens or HistogramTokens
        From `pdd_plan.scenario`.

    Returns
    -------
    Distribution
        In tokens.
    """
    if part.distribution == "lognormal":
        high = np.inf if part.max is None else part.max
        return LogNormal(float(np.log(part.median)), part.sigma, part.min, high)
    return hit_distribution(part)


def hit_distribution(part: Any) -> Distribution:
    """Return the distribution of hit rates that a scenario section names.

    Parameters
    ----------
    part : ConstantShare, RangeShare, SkewShare or HistogramShare
        From `pdd_plan.scenario`.

    Returns
    -------
    Distribution
        On [0, 1].
    """
    if part.distribution == "constant":
        return Constant(part.value)
    if part.distribution == "range":
        return interval(part.min, part.max, part.mean)
    if part.distribution == "skew":
        return hit_skew(part.share, part.at_least, part.mean)
    if part.distribution == "histogram":
        edges = tuple((entry.min, entry.max) for entry in part.bins)
        return empirical(edges, tuple(entry.share for entry in part.bins))
    raise ValueError(f"unknown distribution {part.distribution!r}")
