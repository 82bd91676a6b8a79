"""Thresholds: which side requests fall on, and which ones are worth trying."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdd_plan.workload import (
    Atoms,
    relay_from,
    relayed,
    routing_values,
    threshold_candidates,
)

TABLE = Atoms.from_columns(
    [1000, 1000, 1000, 2000],
    [100, 500, 960, 1900],
    [10, 10, 10, 10],
    cached_decode_tokens=[0, 500, 950, 1800],
)
PROPERTIES = ("hit_rate", "uncached_tokens", "transfer_bytes")


def test_what_requests_are_routed_by():
    assert sorted(routing_values(TABLE, "hit_rate")) == [0, 0.5, 0.9, 0.95]
    assert sorted(routing_values(TABLE, "uncached_tokens")) == [40, 100, 500, 900]
    sent = routing_values(TABLE, "transfer_bytes", kv_bytes_per_token=10.0, kv_bytes_fixed=7.0)
    assert sorted(sent) == [507, 2007, 5007, 10007]
    with pytest.raises(ValueError, match="kv_bytes_per_token"):
        routing_values(TABLE, "transfer_bytes")
    with pytest.raises(ValueError, match="unknown"):
        routing_values(TABLE, "luck")


@pytest.mark.parametrize(
    ("by", "threshold", "expected"),
    [
        ("hit_rate", 0.0, [False, False, False]),
        ("hit_rate", 0.5, [True, False, False]),
        ("hit_rate", 0.95, [True, True, False]),
        ("hit_rate", 1.0, [True, True, True]),
        ("uncached_tokens", math.inf, [False, False, False]),
        ("uncached_tokens", 0.95, [False, False, False]),
        ("uncached_tokens", 0.5, [False, False, True]),
        ("uncached_tokens", 0.0, [True, True, True]),
        ("transfer_bytes", 0.1, [False, True, True]),
    ],
)
def test_the_threshold_itself_goes_direct(by, threshold, expected):
    values = np.array([0.1, 0.5, 0.95])
    assert relayed(values, by, threshold).tolist() == expected


def test_always_relay_takes_even_prompts_cached_whole():
    assert relayed([1.0], "hit_rate", 1.0).tolist() == [True]
    assert relayed([0.0], "uncached_tokens", 0.0).tolist() == [True]
    assert relayed([0.0], "hit_rate", 0.0).tolist() == [False]


def test_rounding_does_not_relay_what_equals_the_threshold():
    length = np.linspace(20000, 21000, 777)
    assert not relayed(0.95 * length / length, "hit_rate", 0.95).any()
    assert not relayed(length - 0.95 * length, "uncached_tokens", 1050.0 + 1e-8).any()


def test_the_first_threshold_that_relays():
    assert relay_from([0.0, 0.5, 0.93, 1.0], "hit_rate", [0, 0.5, 0.9, 1]).tolist() == [1, 2, 3, 3]
    assert relay_from([0.0, 0.5, 0.93], "hit_rate", [0, 0.9]).tolist() == [1, 1, 2]
    levels = [math.inf, 500, 100, 0]
    assert relay_from([900, 500, 100, 1], "uncached_tokens", levels).tolist() == [1, 2, 3, 3]
    with pytest.raises(ValueError, match="from never relay"):
        relay_from([0.5], "hit_rate", [1, 0])
    with pytest.raises(ValueError, match="from never relay"):
        relay_from([5.0], "uncached_tokens", [0, math.inf])


def test_few_requests_give_every_cut_with_short_numbers():
    assert threshold_candidates(TABLE, "hit_rate").tolist() == [0, 0.5, 0.9, 0.95, 1]
    assert threshold_candidates(TABLE, "uncached_tokens").tolist() == [math.inf, 500, 100, 40, 0]
    sent = threshold_candidates(TABLE, "transfer_bytes", kv_bytes_per_token=10.0)
    assert sent.tolist() == [math.inf, 5000, 2000, 1000, 0]


@pytest.mark.parametrize("by", PROPERTIES)
def test_the_number_of_thresholds_is_limited(by):
    rng = np.random.default_rng(0)
    length = rng.uniform(1000, 90000, 500)
    atoms = Atoms.from_columns(length, length * rng.beta(5, 1, 500), np.ones(500))
    for most in (1, 2, 3, 7, 20, 600):
        levels = threshold_candidates(atoms, by, most, kv_bytes_per_token=70272.0)
        assert 1 <= levels.size <= most
        if most >= 20:
            assert levels.size >= 0.8 * min(most, 501)
    first, last = threshold_candidates(atoms, by, 2, kv_bytes_per_token=1.0).tolist()
    assert (first, last) == ((0, 1) if by == "hit_rate" else (math.inf, 0))
    with pytest.raises(ValueError, match="at least 1"):
        threshold_candidates(atoms, by, 0, kv_bytes_per_token=1.0)


def test_thresholds_spread_over_requests_and_over_tokens():
    rng = np.random.default_rng(1)
    length = np.full(2000, 50000.0)
    hit = np.where(rng.random(2000) < 0.9, rng.uniform(0.95, 1, 2000), rng.uniform(0, 0.95, 2000))
    atoms = Atoms.from_columns(length, np.floor(length * hit), np.ones(2000))
    levels = threshold_candidates(atoms, "hit_rate", 20)
    # Nine of ten requests lie above 0.95, two of three missing tokens below it.
    assert 5 <= np.sum(levels > 0.95) <= 14
    assert 5 <= np.sum(levels < 0.95) <= 14
    assert all(len(f"{level:.12g}") <= 7 for level in levels)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 10**6), st.floats(0, 1), st.integers(1, 9)),
        min_size=1,
        max_size=40,
    ),
    st.integers(2, 60),
    st.sampled_from(PROPERTIES),
)
def test_any_candidates_nest_and_reach_from_none_to_all(rows, most, by):
    length, share, weight = (np.array(column, float) for column in zip(*rows, strict=True))
    atoms = Atoms.from_columns(length, np.floor(length * share), np.ones(length.size), weight)
    levels = threshold_candidates(atoms, by, most, kv_bytes_per_token=71.0)
    values = routing_values(atoms, by, kv_bytes_per_token=71.0)
    masks = [relayed(values, by, level) for level in levels.tolist()]
    assert not masks[0].any()
    assert masks[-1].all()
    for fewer, more in pairwise(masks):
        assert np.all(more[fewer])
    if levels.size > 2:
        # Every threshold makes a difference, and where there is room, none is left out.
        for fewer, more in pairwise(masks[:-1]):
            assert more.sum() > fewer.sum()
    distinct = np.unique(np.round(values, 9)).size
    if most >= distinct + 1 and np.all(np.diff(np.unique(values)) > 1e-6):
        assert levels.size == distinct + 1
    first = relay_from(values, by, levels)
    for k, mask in enumerate(masks):
        assert ((first <= k) == mask).all()
