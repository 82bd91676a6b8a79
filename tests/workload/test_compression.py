"""Compression keeps every work term; on real traces and on synthetic skewed requests."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdd_plan.workload import Atoms, compress, compression_error, trace_atoms
from pdd_plan.workload.compression import HIT_BANDS
from pdd_plan.workload.statistics import share_at_least

COLUMNS = ("input_tokens", "cached_prefill_tokens", "cached_decode_tokens", "output_tokens")


def skewed(count, seed=0, decode=1.0):
    """Agent-like requests: long prompts, most hit 95 % or more, a tail that misses all."""
    rng = np.random.default_rng(seed)
    length = np.ceil(rng.lognormal(10.5, 1.0, count))
    high = rng.random(count) < 0.8
    hit = np.where(high, 1 - 0.05 * rng.beta(1, 3, count), rng.beta(1.0, 1.0, count) * 0.95)
    hit[rng.random(count) < 0.03] = 0.0
    cached = np.minimum(np.floor(hit * length), length - 1)
    output = np.ceil(rng.lognormal(5.5, 1.2, count))
    return Atoms.from_columns(length, cached, output, cached_decode_tokens=cached * decode)


def check_kept(requests, max_atoms):
    atoms = compress(requests, max_atoms)
    error = compression_error(requests, atoms)
    assert len(atoms) <= max_atoms
    for name in ("uncached", "missing", "input", "output"):
        assert error.means[name] < 1e-12, name
    assert error.worst_mean <= 1e-3
    assert max(error.percentiles.values()) <= 0.01
    for level in HIT_BANDS:
        before = share_at_least(requests.hit_fraction, requests.weight, level)
        after = share_at_least(atoms.hit_fraction, atoms.weight, level)
        assert after == pytest.approx(before, abs=1e-9)


@pytest.mark.parametrize("max_atoms", [500, 1000, 4000])
@pytest.mark.parametrize("decode", [1.0, 0.7])
def test_synthetic_requests(max_atoms, decode):
    check_kept(skewed(20000, decode=decode), max_atoms)


@pytest.mark.parametrize("max_atoms", [500, 1000, 2000])
def test_mooncake_conversation(mooncake, max_atoms):
    check_kept(trace_atoms(mooncake), max_atoms)


def test_claude_code(claude_code):
    check_kept(trace_atoms(claude_code), 600)


def test_few_distinct_requests_are_kept_as_they_are():
    requests = Atoms.from_columns([10, 20, 10], [1, 2, 1], [5, 6, 5])
    atoms = compress(requests, 2)
    assert atoms.input_tokens.tolist() == [10, 20]
    assert atoms.weight == pytest.approx([2 / 3, 1 / 3])
    assert compression_error(requests, atoms).worst_mean == 0


def test_one_atom_is_the_mean_request():
    requests = skewed(500)
    (atom,) = [compress(requests, 1)]
    assert len(atom) == 1
    for name in COLUMNS:
        assert getattr(atom, name)[0] == pytest.approx(requests.mean(getattr(requests, name)))


def test_no_atoms_are_refused():
    with pytest.raises(ValueError, match="at least 1"):
        compress(skewed(10), 0)


def test_more_atoms_come_closer():
    requests = skewed(20000)
    errors = [
        compression_error(requests, compress(requests, n)).means["uncached^2"]
        for n in (50, 200, 800, 3200)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0] / 20


def test_the_error_is_measured():
    requests = Atoms.from_columns([100, 300], [0, 0], [10, 10])
    # One atom of 200 tokens for 100 and 300: second moment 40,000 for 50,000.
    error = compression_error(requests, compress(requests, 1))
    assert error.means["uncached^2"] == pytest.approx(0.2)
    assert error.percentiles["uncached p90"] == pytest.approx(1 / 3)


@settings(deadline=None, max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 10**6),
            st.floats(0, 1),
            st.floats(0, 1),
            st.integers(1, 10**4),
            st.integers(1, 5),
        ),
        min_size=1,
        max_size=120,
    ),
    st.integers(1, 60),
    st.randoms(use_true_random=False),
)
def test_properties_of_any_compression(rows, max_atoms, random):
    def table(some):
        length, share, part, output, weight = (np.array(c, float) for c in zip(*some, strict=True))
        cached = np.floor(length * share)
        return Atoms.from_columns(length, cached, output, weight, np.floor(cached * part))

    requests = table(rows)
    atoms = compress(requests, max_atoms)
    assert len(atoms) <= max_atoms
    assert atoms.weight.sum() == pytest.approx(1, abs=1e-12)
    assert np.all(atoms.cached_prefill_tokens <= atoms.input_tokens)
    for name in COLUMNS:
        mean = requests.mean(getattr(requests, name))
        assert atoms.mean(getattr(atoms, name)) == pytest.approx(mean, rel=1e-9, abs=1e-9)
        assert getattr(atoms, name).min() >= getattr(requests, name).min() * (1 - 1e-12)
        assert getattr(atoms, name).max() <= getattr(requests, name).max() * (1 + 1e-12)
    random.shuffle(rows)
    again = compress(table(rows), max_atoms)
    for name in (*COLUMNS, "weight"):
        assert np.allclose(getattr(again, name), getattr(atoms, name), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("max_atoms", [2, 60, 500])
def test_classes_are_never_merged(max_atoms):
    """Every class keeps its share, means and, with enough atoms, its percentiles."""
    rng = np.random.default_rng(3)
    full = skewed(5000, seed=4)
    kind = rng.integers(0, 2, len(full))
    requests = Atoms.from_columns(
        *(getattr(full, name) for name in ("input_tokens", "cached_prefill_tokens")),
        full.output_tokens,
        full.weight,
        full.cached_decode_tokens,
        kind,
    )
    atoms = compress(requests, max_atoms)
    assert len(atoms) <= max_atoms
    for number in (0, 1):
        before, after = requests.kind == number, atoms.kind == number
        share = requests.weight[before].sum()
        assert atoms.weight[after].sum() == pytest.approx(share, rel=1e-9)
        for name in COLUMNS:
            mean = requests.weight[before] @ getattr(requests, name)[before]
            assert atoms.weight[after] @ getattr(atoms, name)[after] == pytest.approx(mean)


def test_equal_requests_of_two_classes_stay_apart():
    atoms = compress(Atoms.from_columns([5, 5, 5], [1, 1, 1], [2, 2, 2], kind=[1, 0, 1]), 10)
    assert atoms.kind.tolist() == [0, 1]
    assert atoms.weight == pytest.approx([1 / 3, 2 / 3])
    with pytest.raises(ValueError, match="at least 2"):
        compress(Atoms.from_columns([5, 5], [1, 1], [2, 2], kind=[0, 1]), 1)
