"""The requests of a trace as a request mix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pdd_plan.workload.atoms import Atoms
from pdd_plan.workload.blocks import reorder_blocks
from pdd_plan.workload.compression import compress
from pdd_plan.workload.distributions import Distribution, complement
from pdd_plan.workload.prefix_cache import ReuseProfile, reuse_profile
from pdd_plan.workload.quadrature import quadrature
from pdd_plan.workload.requests import RawTrace

_HIT_BINS = 16


def with_hit_rates(
    trace: RawTrace, hit_rate: Distribution, max_atoms: int, seed: int = 0
) -> tuple[Atoms, RawTrace]:
    """Give hit rates to a trace that records none, independent of its lengths.

    Parameters
    ----------
    trace : RawTrace
        Without cached tokens.
    hit_rate : Distribution
        On [0, 1].
    max_atoms : int
        Length pairs are compressed to so many before they meet the hit rates.
    seed : int
        Which request of the replay gets which hit rate.

    Returns
    -------
    atoms : Atoms
        Every length pair with every point of the hit rates, no random numbers.
    trace : RawTrace
        With one hit rate a request, whole tokens, evenly drawn over its quantiles.
    """
    length, output = trace.input_tokens, trace.output_tokens
    pairs = compress(Atoms.from_columns(length, np.zeros(length.size), output), max_atoms)
    missed, hit_weight = quadrature(complement(hit_rate), _HIT_BINS)
    hit = 1 - missed
    atom_length = np.repeat(pairs.input_tokens, hit.size)
    atoms = Atoms.from_columns(
        atom_length,
        np.minimum(np.tile(hit, len(pairs)) * atom_length, atom_length - 1),
        np.repeat(pairs.output_tokens, hit.size),
        np.outer(pairs.weight, hit_weight).ravel(),
    )
    count = length.size
    rank = np.random.default_rng(seed).permutation(count)
    drawn = np.floor(hit_rate.quantile((rank + 0.5) / count) * length)
    return atoms, replace(trace, cached_tokens=np.minimum(drawn, length - 1))


def trace_atoms(trace: RawTrace) -> Atoms:
    """Return every request of a trace as an atom, hits alike at both ends.

    Parameters
    ----------
    trace : RawTrace
        With cached tokens.

    Returns
    -------
    Atoms
        In ascending order of hit rate, all of the same weight.

    Raises
    ------
    ValueError
        If the trace records no cached tokens.
    """
    if trace.cached_tokens is None:
        raise ValueError("the trace records no cached tokens")
    return Atoms.from_columns(trace.input_tokens, trace.cached_tokens, trace.output_tokens)


def trace_reuse_profile(trace: RawTrace, warmup_windows: int = 1) -> ReuseProfile:
    """Pass once over a trace and note how long ago each leading block was used.

    Sessions that were laid around a circle are unrolled: the stream is repeated, each time with
    fresh sessions that go on where they were cut, and only the last repetition is kept. A block
    last used more than `warmup_windows` periods ago counts as never seen.

    Parameters
    ----------
    trace : RawTrace
        With blocks.
    warmup_windows : int
        Repetitions before the one that counts, for traces with `window_s`; at least 0.

    Returns
    -------
    ReuseProfile
        One row set a request, in the order of the trace.

    Raises
    ------
    ValueError
        If the trace has no blocks.
    """
    if trace.blocks is None:
        raise ValueError("the trace has no blocks")
    if trace.window_s is None or trace.session is None or trace.time_in_session_s is None:
        return reuse_profile(trace.blocks, trace.arrival_s, trace.session)
    requests, repeats = len(trace), warmup_windows + 1
    late = trace.time_in_session_s - trace.arrival_s
    wraps = np.maximum(np.ceil(late / trace.window_s), 0).astype(np.int64)
    blocks = reorder_blocks(trace.blocks, np.tile(np.arange(requests), repeats))
    window = np.repeat(np.arange(repeats), requests)
    # A session that wrapped w times began w windows earlier.
    life = window - np.tile(wraps, repeats)
    _, space = np.unique(
        np.stack((np.tile(trace.session, repeats), life)), axis=1, return_inverse=True
    )
    arrival = np.tile(trace.arrival_s, repeats) + window * trace.window_s
    profile = reuse_profile(blocks, arrival, space)
    first = requests * warmup_windows
    kept = profile.request >= first
    return replace(
        profile,
        request=profile.request[kept] - first,
        blocks=profile.blocks[kept],
        depth=profile.depth[kept],
        depth_before=profile.depth_before[kept],
        age_s=profile.age_s[kept],
        age_before_s=profile.age_before_s[kept],
        request_blocks=profile.request_blocks[first:],
    )


def hit_provenance(trace: RawTrace) -> str:
    """Say where the cached prefixes of a trace come from.

    Parameters
    ----------
    trace : RawTrace
        With cached tokens.

    Returns
    -------
    str
    """
    if trace.blocks is None:
        return "cached tokens as the trace records them"
    where = "in the session" if trace.session is not None else "in the trace"
    size = trace.blocks.block_tokens
    return (
        f"cached tokens: longest prefix of whole {size}-token blocks seen earlier {where} "
        "(unlimited cache, an upper bound)"
    )
