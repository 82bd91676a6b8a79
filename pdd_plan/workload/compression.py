"""Many requests to few atoms, with every work term kept.

A best-first regression tree: it starts from a few groups, bands of hit rate and narrow ones
around the percentiles, and again and again splits the group that costs most accuracy, along the
quantity that costs most in it, at the point that leaves the least within-group variance. Each
group becomes one atom at its weighted mean, so the means of prompt, uncached, missing and output
tokens are kept to rounding; second moments lose the variance within groups, which is what the
splitting drives down.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pdd_plan.workload.atoms import Atoms
from pdd_plan.workload.statistics import EQUAL, weighted_quantile

FloatArray = NDArray[np.float64]

HIT_BANDS: tuple[float, ...] = (0.5, 0.8, 0.9, 0.95, 0.99)
"""Hit rates that no atom straddles, so that shares on either side are exact."""

NARROW = 0.005
"""Relative half width of the groups around P50, P90 and P99 of the uncached and the missing
tokens: nothing is averaged across their edges, so percentiles are kept to this much."""

_PERCENTILES = (0.5, 0.9, 0.99)


@dataclass(frozen=True)
class CompressionError:
    """Relative error of what the atoms were to keep.

    Attributes
    ----------
    means : dict
        Relative error of each mean: U, U^2, L U, M (missing), M^2, L, L O, O.
    percentiles : dict
        Relative error of P50, P90 and P99 of U and of M, keys such as ``"uncached p90"``.
    """

    means: dict[str, float]
    percentiles: dict[str, float]

    @property
    def worst_mean(self) -> float:
        """Largest relative error of a mean."""
        return max(self.means.values())


def compress(requests: Atoms, max_atoms: int = 1000) -> Atoms:
    """Replace many requests by at most `max_atoms` atoms.

    Parameters
    ----------
    requests : Atoms
        One atom a request, or any weighted sample.
    max_atoms : int
        Largest number of atoms in the answer, at least 1 for each traffic class. A small number
        gives up the narrow groups at the percentiles, a very small one the bands of hit rate.

    Returns
    -------
    Atoms
        Equal requests merged and nothing else changed where that suffices, otherwise groups at
        their weighted means. The order of the requests does not matter.

    Raises
    ------
    ValueError
        If `max_atoms` is below the number of classes.
    """
    classes = np.unique(requests.kind).size
    if max_atoms < classes:
        raise ValueError(f"max_atoms must be at least {classes}, one a class, got {max_atoms}")
    columns, kind, weight = _merge_equal(requests)
    if weight.size <= max_atoms:
        return Atoms.from_columns(columns[0], columns[1], columns[3], weight, columns[2], kind)
    groups = _grow(
        _features(columns, weight), weight, _bands(columns, kind, weight, max_atoms), max_atoms
    )
    order = np.concatenate(groups)
    starts = np.cumsum([0, *(members.size for members in groups[:-1])])
    mass = np.add.reduceat(weight[order], starts)
    length, prefill, decode, output = (
        _group_means(column[order], weight[order], mass, starts) for column in columns
    )
    # A mean prefix may exceed a mean prompt by one unit in the last place, no more.
    prefill, decode = np.minimum(prefill, length), np.minimum(decode, length)
    return Atoms.from_columns(length, prefill, output, mass, decode, kind[order[starts]])


def _group_means(
    values: FloatArray, weight: FloatArray, mass: FloatArray, starts: NDArray[np.intp]
) -> FloatArray:
    """Return weighted means of consecutive groups, exact where all values of one are equal."""
    mean = np.add.reduceat(weight * values, starts) / mass
    least, most = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    return np.clip(mean, least, most)


def compression_error(requests: Atoms, atoms: Atoms) -> CompressionError:
    """Compare atoms with the requests they stand for.

    Parameters
    ----------
    requests, atoms : Atoms
        The full sample and its compressed form.

    Returns
    -------
    CompressionError
        Absolute values of relative errors; where the full sample has 0, the error is the
        compressed value itself.
    """
    full, short = _work_terms(requests), _work_terms(atoms)
    percentiles: dict[str, float] = {}
    for name in ("uncached", "missing"):
        before = weighted_quantile(
            getattr(requests, f"{name}_tokens"), requests.weight, _PERCENTILES
        )
        after = weighted_quantile(getattr(atoms, f"{name}_tokens"), atoms.weight, _PERCENTILES)
        for p, x, y in zip(_PERCENTILES, before.tolist(), after.tolist(), strict=True):
            percentiles[f"{name} p{round(100 * p)}"] = _relative(x, y)
    return CompressionError({k: _relative(full[k], short[k]) for k in full}, percentiles)


def _relative(reference: float, value: float) -> float:
    return abs(value - reference) / (abs(reference) if reference else 1.0)


def _work_terms(atoms: Atoms) -> dict[str, float]:
    length, output = atoms.input_tokens, atoms.output_tokens
    uncached, missing = atoms.uncached_tokens, atoms.missing_tokens
    return {
        "uncached": atoms.mean(uncached),
        "uncached^2": atoms.mean(uncached**2),
        "input*uncached": atoms.mean(length * uncached),
        "missing": atoms.mean(missing),
        "missing^2": atoms.mean(missing**2),
        "input": atoms.mean(length),
        "input*output": atoms.mean(length * output),
        "output": atoms.mean(output),
    }


def _merge_equal(
    requests: Atoms,
) -> tuple[tuple[FloatArray, ...], NDArray[np.int64], FloatArray]:
    """Return (L, cached P, cached D, O), class and weight of distinct requests, in fixed order."""
    table = (
        requests.input_tokens,
        requests.cached_prefill_tokens,
        requests.cached_decode_tokens,
        requests.output_tokens,
    )
    order = np.lexsort((requests.weight, requests.kind, *table[::-1]))
    rows, kind = [column[order] for column in table], requests.kind[order]
    fresh = np.zeros(order.size, dtype=bool)
    fresh[0] = True
    for column in (*rows, kind):
        fresh[1:] |= column[1:] != column[:-1]
    starts = np.flatnonzero(fresh)
    weight = np.add.reduceat(requests.weight[order], starts)
    return tuple(column[starts] for column in rows), kind[starts], weight


def _features(columns: tuple[FloatArray, ...], weight: FloatArray) -> FloatArray:
    """Return the quantities to be kept, scaled so that their variances add up to a loss.

    Tokens are divided by their root mean square, so that a variance is the relative error of a
    second moment. Prompt length counts the more, the less it goes with the uncached tokens, as
    the mean of the product L U is then small against its parts. Scores -log(1 - F) of the
    uncached and missing tokens give the tails their resolution, where percentiles are read.
    The factors were chosen on the Mooncake, Claude Code and synthetic traces of the tests: 500
    atoms keep every work term of each to 1e-3.
    """
    length, prefill, decode, output = columns
    uncached, missing = length - prefill, length - decode
    size = {
        name: float(np.sqrt(np.average(x**2, weights=weight)))
        for name, x in (("L", length), ("U", uncached), ("M", missing), ("O", output))
    }
    product = float(np.average(length * uncached, weights=weight))
    length_factor = size["L"] * size["U"] / product if product > 0 else 1.0
    rows = [
        np.sqrt(factor) * x / max(size[name], 1e-300)
        for name, x, factor in (
            ("U", uncached, 4.0),
            ("M", missing, 4.0),
            ("L", length, length_factor),
            ("O", output, 0.1),
        )
    ]
    rows.append(0.1 * (1 - decode / length))
    rows.extend(0.1 * _tail_score(x, weight) for x in (uncached, missing))
    return np.stack(rows)


def _tail_score(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Return -log(1 - F) at the middle of each value's probability, F the distribution."""
    distinct, index = np.unique(values, return_inverse=True)
    mass = np.bincount(index, weights=weight, minlength=distinct.size) / weight.sum()
    middle = np.minimum(np.cumsum(mass) - mass / 2, 1 - 1e-9)
    score: FloatArray = -np.log1p(-middle)[index]
    return score


def _bands(
    columns: tuple[FloatArray, ...],
    kind: NDArray[np.int64],
    weight: FloatArray,
    max_atoms: int,
) -> list[NDArray[np.intp]]:
    """Return the groups to start from: bands of hit rate by class, narrow ones at percentiles."""
    length, prefill, decode, _ = columns
    hit_edges = np.asarray(HIT_BANDS) * (1 - EQUAL)
    count = hit_edges.size + 1
    band = kind * count + np.searchsorted(hit_edges, decode / length, side="right")
    _, band = np.unique(band, return_inverse=True)
    for tokens in (length - prefill, length - decode):
        center = weighted_quantile(tokens, weight, _PERCENTILES)
        edges = np.unique(np.concatenate((center * (1 - NARROW), center * (1 + NARROW))))
        finer = band * (edges.size + 1) + np.searchsorted(edges, tokens, side="right")
        _, finer = np.unique(finer, return_inverse=True)
        if 4 * (finer.max() + 1) <= max_atoms:
            band = finer
    if band.max() + 1 > max_atoms:
        band = kind
    return [np.flatnonzero(band == k) for k in np.unique(band).tolist()]


def _grow(
    features: FloatArray, weight: FloatArray, groups: list[NDArray[np.intp]], max_atoms: int
) -> list[NDArray[np.intp]]:
    """Split groups, the most costly first, until there are `max_atoms`."""
    heap: list[tuple[float, int, int]] = []
    done: list[NDArray[np.intp] | None] = []

    def add(members: NDArray[np.intp]) -> None:
        if members.size > 1:
            w, x = weight[members], features[:, members]
            centered = x - (np.einsum("fm,m->f", x, w) / w.sum())[:, None]
            loss = np.einsum("fm,fm,m->f", centered, centered, w)
            heapq.heappush(heap, (-float(loss.sum()), len(done), int(np.argmax(loss))))
        done.append(members)

    for members in groups:
        add(members)
    count = len(groups)
    while heap and count < max_atoms:
        loss, index, axis = heapq.heappop(heap)
        chosen = done[index]
        if chosen is None or loss >= 0:
            continue
        left, right = _split(features[axis], weight, chosen)
        if left.size == 0 or right.size == 0:
            continue
        done[index] = None
        add(left)
        add(right)
        count += 1
    return [members for members in done if members is not None]


def _split(
    feature: FloatArray, weight: FloatArray, members: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Cut a group in two where the variance of the feature within the parts is least."""
    x = feature[members]
    order = np.argsort(x, kind="stable")
    x, w = x[order], weight[members][order]
    mass = np.cumsum(w)
    first = np.cumsum(w * (x - x[0]))
    left_mass, right_mass = mass[:-1], mass[-1] - mass[:-1]
    # Least variance within = most variance between the two means.
    gap = first[:-1] / left_mass - (first[-1] - first[:-1]) / np.maximum(right_mass, 1e-300)
    gain = np.where(x[1:] > x[:-1], left_mass * right_mass * gap**2, -1.0)
    if gain.size == 0 or gain.max() < 0:
        return members, members[:0]
    cut = int(np.argmax(gain)) + 1
    ordered = members[order]
    return np.sort(ordered[:cut]), np.sort(ordered[cut:])
