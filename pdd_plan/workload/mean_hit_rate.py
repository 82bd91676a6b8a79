"""A request mix whose mean hit rate is set: what is missed grows or shrinks in proportion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pdd_plan.workload.atoms import Atoms, FloatArray

_STEPS = 200
"""Halvings of the factor; each gains a bit, so that fewer than 100 leave nothing to gain."""


def with_mean_hit_rate(atoms: Atoms, mean: float) -> Atoms:
    """Scale the missed part of every prompt so that the mean hit rate takes a given value.

    One factor applies to all requests and to both caches, that of the prefill site and that of
    main decode, so that requests keep their order by hit rate. No request misses more than its
    prompt, nor less than one token.

    Parameters
    ----------
    atoms : Atoms
        Request mix.
    mean : float
        Wanted mean over requests of the hit rate at main decode, 0 to 1.

    Returns
    -------
    Atoms
        With prompts, outputs and weights as they were.

    Raises
    ------
    ValueError
        If no factor gives that mean; the message tells the range that is possible.
    """
    length = atoms.input_tokens

    def missed(tokens: FloatArray, factor: float) -> FloatArray:
        return np.minimum(np.maximum(tokens * factor, 1.0), length)

    def mean_at(factor: float) -> float:
        return 1.0 - atoms.mean(missed(atoms.missing_tokens, factor) / length)

    low, high = 0.0, float(np.max(length / np.maximum(atoms.missing_tokens, 1e-9)))
    least, most = mean_at(high), mean_at(low)
    if not least <= mean <= most:
        raise ValueError(f"mean hit rates from {least:.4g} to {most:.4g} are possible")
    for _ in range(_STEPS):
        middle = 0.5 * (low + high) if low == 0.0 else float(np.sqrt(low * high))
        if mean_at(middle) >= mean:
            low = middle
        else:
            high = middle
    return replace(
        atoms,
        cached_prefill_tokens=length - missed(atoms.uncached_tokens, low),
        cached_decode_tokens=length - missed(atoms.missing_tokens, low),
    )
