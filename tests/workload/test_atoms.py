"""Atoms hold only request mixes that can be; the summary counts what is there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdd_plan.workload import Atoms, summarize
from pdd_plan.workload.statistics import share_at_least, weighted_histogram, weighted_quantile


def atoms(**changes):
    columns = {
        "input_tokens": [100.0, 200.0],
        "cached_prefill_tokens": [50.0, 190.0],
        "cached_decode_tokens": [40.0, 180.0],
        "output_tokens": [10.0, 20.0],
        "weight": [0.25, 0.75],
    }
    return Atoms(**(columns | changes))


def test_derived_columns():
    table = atoms()
    assert table.uncached_tokens.tolist() == [50, 10]
    assert table.missing_tokens.tolist() == [60, 20]
    assert table.hit_fraction.tolist() == [0.4, 0.9]
    assert table.prefill_hit_fraction.tolist() == [0.5, 0.95]
    assert table.mean(table.uncached_tokens) == 0.25 * 50 + 0.75 * 10
    assert len(table) == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"weight": [0.5, 0.6]}, "sum to 1"),
        ({"weight": [0.0, 1.0]}, "positive"),
        ({"weight": [-0.5, 1.5]}, "positive"),
        ({"input_tokens": [100.0, np.nan]}, "finite"),
        ({"input_tokens": [100.0]}, "values"),
        ({"input_tokens": [0.5, 200.0]}, "at least 1"),
        ({"output_tokens": [0.0, 20.0]}, "at least 1"),
        ({"cached_prefill_tokens": [101.0, 0.0]}, "between 0 and input_tokens"),
        ({"cached_decode_tokens": [-1.0, 0.0]}, "between 0 and input_tokens"),
        ({"input_tokens": [], "weight": []}, "non-empty"),
    ],
)
def test_impossible_atoms_are_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        atoms(**changes)


def test_columns_cannot_be_changed_from_outside():
    weight = np.array([0.25, 0.75])
    table = atoms(weight=weight)
    weight[0] = 0.9
    assert table.weight[0] == 0.25
    with pytest.raises(ValueError, match="read-only"):
        table.weight[0] = 0.5


def test_from_columns_scales_weights_sorts_by_hit_rate_and_drops_empty_rows():
    table = Atoms.from_columns([100, 200, 50], [90, 0, 0], [5, 6, 7], weight=[3, 1, 0])
    assert table.input_tokens.tolist() == [200, 100]
    assert table.weight.tolist() == [0.25, 0.75]
    assert table.cached_decode_tokens.tolist() == [0, 90]


@given(
    st.lists(
        st.tuples(st.integers(1, 10**6), st.floats(0, 1), st.integers(1, 999), st.integers(1, 50)),
        min_size=1,
        max_size=30,
    )
)
def test_weights_sum_to_one_and_order_does_not_matter(rows):
    length, share, output, weight = (np.array(column, float) for column in zip(*rows, strict=True))
    cached = np.floor(length * share)
    table = Atoms.from_columns(length, cached, output, weight)
    assert abs(table.weight.sum() - 1) < 1e-12
    assert np.all(np.diff(table.hit_fraction) >= 0)
    back = slice(None, None, -1)
    again = Atoms.from_columns(length[back], cached[back], output[back], weight[back])
    for name in ("input_tokens", "cached_prefill_tokens", "output_tokens", "weight"):
        assert np.allclose(getattr(table, name), getattr(again, name), rtol=1e-12)


def test_weighted_quantile_is_the_inverse_of_the_distribution_function():
    # P(X <= 1) = 0.5, P(X <= 2) = 0.9, P(X <= 3) = 1.
    result = weighted_quantile([3, 1, 2], [0.1, 0.5, 0.4], [0.0, 0.5, 0.51, 0.9, 0.901, 1.0])
    assert result.tolist() == [1, 1, 2, 2, 3, 3]


def test_equal_weights_give_order_statistics():
    values = np.random.default_rng(3).normal(size=1000)
    got = weighted_quantile(values, np.full(1000, 7.0), [0.5, 0.9, 0.99])
    assert got.tolist() == np.sort(values)[[499, 899, 989]].tolist()


def test_shares_forgive_rounding_at_the_level():
    # 0.95 of 20,313.7 tokens, divided by the length again, is 0.95 less one rounding.
    lengths = np.linspace(20000, 21000, 777)
    hits = (0.95 * lengths) / lengths
    assert np.any(hits < 0.95)
    assert share_at_least(hits, np.ones(777), 0.95) == 1.0
    assert weighted_histogram(hits, np.ones(777), (0, 0.95, 0.97, 1)) == (0, 1, 0)


def test_histogram_bins_are_closed_below():
    shares = weighted_histogram([0, 0.1, 0.5, 1.0], [1, 2, 3, 4], (0, 0.1, 0.5, 1.0))
    assert shares == (0.1, 0.2, 0.7)


def test_summary_counts():
    table = Atoms.from_columns([100, 200, 400], [95, 150, 0], [10, 20, 30], [2, 1, 1])
    summary = summarize(
        table, arrival_rate_per_s=3.0, arrival_scv=1.0, arrival_scv_source="", requests=4
    )
    assert summary.share_hit_95 == 0.5
    assert summary.mean_hit_rate == pytest.approx(0.5 * 0.95 + 0.25 * 0.75, rel=1e-12)
    assert summary.token_hit_rate == pytest.approx((0.5 * 95 + 0.25 * 150) / 200, rel=1e-12)
    assert summary.missing_tokens.mean == pytest.approx(0.5 * 5 + 0.25 * 50 + 0.25 * 400)
    assert summary.missing_tokens.p50 == 5
    assert summary.missing_tokens.p90 == summary.missing_tokens.largest == 400
    assert sum(summary.hit_bin_shares) == pytest.approx(1)
    assert len(summary.hit_bin_edges) == len(summary.hit_bin_shares) + 1
    assert (summary.requests, summary.atoms) == (4, 3)
