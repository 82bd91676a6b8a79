"""Request mixes given by formula or by classes, turned into atoms without random numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pdd_plan.errors import InputError, Issue
from pdd_plan.workload.atoms import Atoms
from pdd_plan.workload.compression import compress
from pdd_plan.workload.distributions import (
    Constant,
    Distribution,
    Mixture,
    TruncatedExponential,
    Uniform,
    complement,
)
from pdd_plan.workload.quadrature import quadrature

FloatArray = NDArray[np.float64]

SHARE_TOLERANCE = 1e-6
"""How far shares may be from 1 in sum before that is an error."""

FINE = 32
"""Points of the product rule for each atom it is compressed to."""


@dataclass(frozen=True)
class RequestType:
    """A part of the traffic with its own lengths and hit rates.

    Attributes
    ----------
    share : float
        Share of requests, positive.
    input_tokens, output_tokens : Distribution
        Lengths [tokens].
    hit_rate : Distribution
        Hit rate at the prefill site, 0 to 1.
    hit_length_correlation : float
        Correlation of the normal scores of hit rate and prompt length (Gaussian copula),
        -1 < r < 1. 0 is independent.
    kind : int
        Traffic class.
    """

    share: float
    input_tokens: Distribution
    output_tokens: Distribution
    hit_rate: Distribution
    hit_length_correlation: float = 0.0
    kind: int = 0


def hit_skew(share: float, threshold: float, mean: float) -> Distribution:
    """Return hit rates of which a share lies at or above a threshold, with a given mean.

    The two parts, [threshold, 1] and [0, threshold), are as even as their means allow: the upper
    one is uniform, the lower one the distribution of largest entropy with the mean that is left
    to it. Where a uniform upper part does not leave a feasible mean to the lower one, the upper
    one is tilted just as far as is needed to put the lower part at its nearest even shape.

    Parameters
    ----------
    share : float
        Share of requests at or above `threshold`, 0 to 1.
    threshold : float
        Hit rate, strictly between 0 and 1.
    mean : float
        Mean hit rate over all requests.

    Returns
    -------
    Distribution
        On [0, 1].

    Raises
    ------
    InputError
        If no hit rates have that share and that mean.

    Examples
    --------
    >>> rates = hit_skew(share=0.75, threshold=0.95, mean=0.9)
    >>> points, weights = quadrature(rates, 64)
    >>> round(float(points @ weights), 6), round(float(weights[points >= 0.95].sum()), 6)
    (0.9, 0.75)
    """
    if not 0 < threshold < 1 or not 0 <= share <= 1:
        raise InputError("hit-rate skew needs 0 < threshold < 1 and 0 <= share <= 1")
    least, most = share * threshold, share + (1 - share) * threshold
    slack = 1e-9 * (most - least)
    if not least + slack < mean < most - slack:
        raise InputError(
            Issue(
                f"mean hit rate {mean:g} cannot be: {share:.0%} of requests at or above "
                f"{threshold:.0%} give a mean between {least:.4g} and {most:.4g}",
                help=f"use a mean hit rate such as {(least + most) / 2:.3g}",
            )
        )
    if share == 0.0:
        return interval(0.0, threshold, mean)
    if share == 1.0:
        return interval(threshold, 1.0, mean)
    upper_mean = (threshold + 1) / 2
    lower_mean = (mean - share * upper_mean) / (1 - share)
    if not 0 < lower_mean < threshold:
        lower_mean = threshold * (0.05 if lower_mean <= 0 else 0.95)
        upper_mean = (mean - (1 - share) * lower_mean) / share
        if not threshold < upper_mean < 1:
            # Both parts share the same relative position, which always lies inside.
            position = (mean - least) / (most - least)
            lower_mean = position * threshold
            upper_mean = threshold + position * (1 - threshold)
    return Mixture(
        (1 - share, share),
        (interval(0.0, threshold, lower_mean), interval(threshold, 1.0, upper_mean)),
    )


def interval(low: float, high: float, mean: float | None = None) -> Distribution:
    """Return the most even distribution between two values, with a mean if given.

    Parameters
    ----------
    low, high : float
        Bounds; equal bounds are one value.
    mean : float, optional
        Strictly between the bounds; the middle by default.

    Returns
    -------
    Distribution
        Constant, uniform or truncated exponential.

    Raises
    ------
    InputError
        If the bounds are in the wrong order or the mean lies outside.
    """
    if low > high:
        raise InputError(f"range from {low:g} to {high:g} is in the wrong order")
    if low == high:
        if mean is not None and mean != low:
            raise InputError(f"mean {mean:g} of the single value {low:g}")
        return Constant(low)
    if mean is None or math.isclose(mean, (low + high) / 2, rel_tol=1e-12):
        return Uniform(low, high)
    if not low < mean < high:
        raise InputError(f"mean {mean:g} must lie between {low:g} and {high:g}")
    return TruncatedExponential(low, high, mean)


def mixture_sample(
    types: Sequence[RequestType], points: int, decode_hit_fraction: float = 1.0
) -> Atoms:
    """Return a fine weighted sample of a request mix given by distributions.

    Parameters
    ----------
    types : sequence of RequestType
        Parts of the traffic; their shares sum to 1.
    points : int
        About how many request types to make.
    decode_hit_fraction : float
        Part of the prefill site's cached prefix that main decode also holds, 0 to 1.

    Returns
    -------
    Atoms
        At least one token of every prompt is computed: a hit rate of 1 leaves one token, as
        serving engines do.

    Raises
    ------
    InputError
        If the shares do not sum to 1, or a length is below one token.
    """
    total = math.fsum(kind.share for kind in types)
    if abs(total - 1) > SHARE_TOLERANCE:
        raise InputError(Issue(f"shares sum to {total:g}, not 1", help="make the shares sum to 1"))
    parts = [_product(kind, max(points // len(types), 1)) for kind in types]
    length, hit, output, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    if length.min() < 1 or output.min() < 1:
        raise InputError("prompt and output lengths must be at least 1 token")
    cached = np.minimum(hit * length, length - 1)
    kind = np.repeat([kind.kind for kind in types], [part[0].size for part in parts])
    return Atoms.from_columns(length, cached, output, weight, cached * decode_hit_fraction, kind)


def mixture_atoms(
    types: Sequence[RequestType], max_atoms: int = 1000, decode_hit_fraction: float = 1.0
) -> Atoms:
    """Return the atoms of a request mix given by distributions.

    Parameters
    ----------
    types, decode_hit_fraction
        As in `mixture_sample`.
    max_atoms : int
        Largest number of atoms.

    Returns
    -------
    Atoms
        A fine sample, compressed.

    Raises
    ------
    InputError
        As `mixture_sample`.
    """
    return compress(mixture_sample(types, FINE * max_atoms, decode_hit_fraction), max_atoms)


def _product(kind: RequestType, points: int) -> tuple[FloatArray, ...]:
    """Return (L, h, O, weight) of one request type as a product of one-dimensional rules."""
    output_bins, other_bins = _bins(kind, points)
    output, output_weight = quadrature(kind.output_tokens, output_bins)
    if kind.hit_length_correlation == 0:
        length, length_weight = quadrature(kind.input_tokens, other_bins)
        # Bins are finer in the upper tail, which is where requests that miss belong.
        missed, hit_weight = quadrature(complement(kind.hit_rate), other_bins)
        hit = 1 - missed
        pair_length, pair_hit = (grid.ravel() for grid in np.meshgrid(length, hit, indexing="ij"))
        pair_weight = np.outer(length_weight, hit_weight).ravel()
    else:
        pair_length, pair_hit, pair_weight = _copula(kind, 4 * other_bins)
    count = output.size
    return (
        np.repeat(pair_length, count),
        np.repeat(pair_hit, count),
        np.tile(output, pair_length.size),
        kind.share * np.outer(pair_weight, output_weight).ravel(),
    )


def _bins(kind: RequestType, points: int) -> tuple[int, int]:
    """Return bins for the output and for each of length and hit rate, two points a bin."""
    output_bins = 1 if isinstance(kind.output_tokens, Constant) or points < 2000 else 4
    left = points / (1 if isinstance(kind.output_tokens, Constant) else 2 * output_bins)
    free = sum(not isinstance(d, Constant) for d in (kind.input_tokens, kind.hit_rate))
    bins = int(left ** (1 / max(free, 1)) / 2)
    return output_bins, max(bins, 1)


def _copula(kind: RequestType, steps: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return (L, h, weight) of a Gaussian copula on a grid of cell middles."""
    from scipy.special import ndtr, ndtri

    middle = (np.arange(steps) + 0.5) / steps
    score = ndtri(middle)
    r = kind.hit_length_correlation
    other = ndtr(r * score[:, None] + math.sqrt(1 - r * r) * score[None, :])
    length = kind.input_tokens.quantile(other.ravel())
    hit = kind.hit_rate.quantile(np.repeat(middle, steps))
    return length, hit, np.full(steps * steps, 1 / steps**2)
