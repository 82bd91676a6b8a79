"""Request mixes by formula: shares, means and percentiles against exact values."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pdd_plan.errors import InputError
from pdd_plan.workload.distributions import Constant, LogNormal, Uniform
from pdd_plan.workload.mixture import (
    RequestType,
    hit_skew,
    interval,
    mixture_atoms,
    mixture_sample,
)
from pdd_plan.workload.quadrature import quadrature
from pdd_plan.workload.statistics import share_at_least, weighted_quantile

PUBLISHED = hit_skew(share=0.75, threshold=0.95, mean=0.9)


@settings(deadline=None)
@given(st.floats(0.01, 0.99), st.floats(0.05, 0.99), st.floats(0.001, 0.999))
def test_any_feasible_skew_has_its_share_and_mean(share, threshold, position):
    least, most = share * threshold, share + (1 - share) * threshold
    mean = least + position * (most - least)
    assume(least < mean < most)
    law = hit_skew(share, threshold, mean)
    points, weights = quadrature(law, 60)
    assert points @ weights == pytest.approx(mean, rel=1e-4)
    assert share_at_least(points, weights, threshold) == pytest.approx(share, abs=1e-6)
    assert points.min() >= 0
    assert points.max() <= 1


@pytest.mark.parametrize("mean", [0.7, 0.99, 0.7125, 0.9875])
def test_impossible_skew_names_the_possible_range(mean):
    with pytest.raises(InputError, match=r"between 0\.7125 and 0\.9875") as caught:
        hit_skew(0.75, 0.95, mean)
    assert "0.85" in caught.value.issues[0].help


@pytest.mark.parametrize(("share", "mean"), [(0.0, 0.5), (1.0, 0.97)])
def test_skew_with_one_side_only(share, mean):
    points, weights = quadrature(hit_skew(share, 0.95, mean), 40)
    assert points @ weights == pytest.approx(mean)
    assert share_at_least(points, weights, 0.95) == share


def test_intervals():
    assert interval(3, 3) == Constant(3)
    assert interval(0.85, 0.95) == Uniform(0.85, 0.95)
    assert interval(0.0, 1.0, 0.5) == Uniform(0.0, 1.0)
    with pytest.raises(InputError, match="wrong order"):
        interval(2, 1)
    with pytest.raises(InputError, match="between 0 and 1"):
        interval(0, 1, 1.0)


def exact_percentiles(lengths, hits, points):
    """Percentiles of the uncached tokens by a dense deterministic lattice of all pairs."""
    u = (np.arange(2_000_001) + 0.5) / 2_000_001
    length = lengths.quantile(u)
    hit = hits.quantile((u * 1_618_033.988749895) % 1)
    return np.quantile(np.maximum(length * (1 - hit), 1), points)


def test_published_skew_keeps_means_moments_and_percentiles():
    lengths = LogNormal(9.9, 1.0, 128, 131072)
    kind = RequestType(1.0, lengths, LogNormal(5.7, 0.8, 16, 4000), PUBLISHED)
    atoms = mixture_atoms([kind], 1000)
    assert len(atoms) <= 1000
    assert atoms.weight.sum() == pytest.approx(1)
    assert share_at_least(atoms.hit_fraction, atoms.weight, 0.95) == pytest.approx(0.75, abs=1e-9)
    # Independent factors: the means are products of one-dimensional integrals.
    length, w_length = quadrature(lengths, 400)
    hit, w_hit = quadrature(PUBLISHED, 400)
    output, w_output = quadrature(kind.output_tokens, 400)
    miss, miss2 = (1 - hit) @ w_hit, (1 - hit) ** 2 @ w_hit
    uncached = atoms.uncached_tokens
    assert atoms.mean(uncached) == pytest.approx(length @ w_length * miss, rel=1e-3)
    assert atoms.mean(uncached**2) == pytest.approx(length**2 @ w_length * miss2, rel=1e-3)
    assert atoms.mean(atoms.input_tokens * uncached) == pytest.approx(
        length**2 @ w_length * miss, rel=1e-3
    )
    assert atoms.mean(atoms.output_tokens) == pytest.approx(output @ w_output, rel=1e-3)
    got = weighted_quantile(uncached, atoms.weight, (0.5, 0.9, 0.99))
    assert got == pytest.approx(exact_percentiles(lengths, PUBLISHED, (0.5, 0.9, 0.99)), rel=0.01)


def test_constant_lengths_need_few_atoms():
    kind = RequestType(1.0, Constant(65536), Constant(300), Constant(0.9))
    atoms = mixture_atoms([kind])
    assert len(atoms) == 1
    assert atoms.uncached_tokens[0] == pytest.approx(6553.6)


def test_whole_prompts_cached_leave_one_token():
    atoms = mixture_atoms([RequestType(1.0, Constant(100), Constant(5), Constant(1.0))])
    assert atoms.uncached_tokens.tolist() == [1.0]
    assert atoms.missing_tokens.tolist() == [1.0]


def test_decode_may_hold_less():
    kind = RequestType(1.0, Constant(1000), Constant(5), Constant(0.8))
    atoms = mixture_atoms([kind], decode_hit_fraction=0.5)
    assert (atoms.uncached_tokens[0], atoms.missing_tokens[0]) == (200, 600)


def test_types_keep_their_shares():
    types = [
        RequestType(0.3, Uniform(1000, 2000), Constant(100), Uniform(0.1, 0.2)),
        RequestType(0.7, Uniform(5000, 9000), Constant(200), Uniform(0.9, 0.99)),
    ]
    atoms = mixture_atoms(types, 500)
    short = atoms.input_tokens < 3000
    assert atoms.weight[short].sum() == pytest.approx(0.3)
    assert np.all(atoms.output_tokens[short] == pytest.approx(100))
    assert atoms.mean(atoms.input_tokens) == pytest.approx(0.3 * 1500 + 0.7 * 7000, rel=1e-9)


def test_shares_that_do_not_sum_to_one_are_refused():
    kind = RequestType(0.6, Constant(10), Constant(5), Constant(0.5))
    with pytest.raises(InputError, match=r"sum to 0\.6"):
        mixture_atoms([kind])


def test_lengths_below_one_token_are_refused():
    with pytest.raises(InputError, match="at least 1 token"):
        mixture_atoms([RequestType(1.0, Uniform(0.2, 5), Constant(5), Constant(0.5))])


@pytest.mark.parametrize("correlation", [-0.8, 0.6])
def test_correlation_of_length_and_hit_rate(correlation):
    kind = RequestType(
        1.0, LogNormal(9.0, 0.8, 100, 100000), Constant(100), Uniform(0, 0.95), correlation
    )
    sample = mixture_sample([kind], 40000)
    ranks = []
    for values in (sample.input_tokens, sample.hit_fraction):
        order = np.argsort(values)
        rank = np.empty(order.size)
        rank[order] = np.cumsum(sample.weight[order]) - sample.weight[order] / 2
        ranks.append(rank - 0.5)
    spearman = 12 * sample.mean(ranks[0] * ranks[1])
    # Rank correlation of a Gaussian copula: (6/pi) asin(r/2) (Kruskal 1958).
    assert spearman == pytest.approx(6 / np.pi * np.arcsin(correlation / 2), abs=0.01)
    # Both marginals stay what they are.
    points, weights = quadrature(kind.input_tokens, 200)
    assert sample.mean(sample.input_tokens) == pytest.approx(points @ weights, rel=5e-3)
    assert sample.mean(sample.hit_fraction) == pytest.approx(0.475, rel=5e-3)


@pytest.mark.parametrize("max_atoms", [1, 2, 5, 30, 200])
def test_few_atoms_keep_the_means(max_atoms):
    kind = RequestType(1.0, LogNormal(9.9, 1.0, 128, 131072), Uniform(10, 500), PUBLISHED)
    atoms = mixture_atoms([kind], max_atoms)
    assert len(atoms) <= max_atoms
    assert atoms.mean(atoms.uncached_tokens) == pytest.approx(2755.6, rel=0.01)
    assert atoms.mean(atoms.output_tokens) == pytest.approx(255)
