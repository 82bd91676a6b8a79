"""The published table of single site, cross site and relay, from a fit of its unknown inputs."""

from __future__ import annotations

import pytest

from benchmarks.validation import relay_table, shared_line
from benchmarks.validation.relay_table import Fleets, Unknowns, percentiles


@pytest.fixture(scope="module")
def fleets() -> Fleets:
    return Fleets()


@pytest.fixture(scope="module")
def given(fleets) -> Unknowns:
    return relay_table.fit(fleets)


@pytest.mark.long
def test_the_single_site_is_met(fleets, given):
    """Three inputs, four figures: P50, P90, P99 and the load at which P90 is 10 s."""
    table = percentiles(fleets.same_site(given, given.home_rate_per_s))
    assert table == pytest.approx(relay_table.SAME_SITE, rel=0.02)
    assert percentiles(fleets.same_site(given, 9.0))[1] == pytest.approx(10.0, rel=0.02)


@pytest.mark.long
def test_what_was_not_fitted_is_near(fleets, given):
    """P50 and P99 of the two fleets that decode elsewhere, and the goodput by whole engines."""
    relay = percentiles(fleets.with_relay(given, given.away_rate_per_s))
    cross = percentiles(fleets.cross_site(given))
    assert relay[0] == pytest.approx(relay_table.RELAY[0], rel=0.10)
    assert relay[2] == pytest.approx(relay_table.RELAY[2], rel=0.15)
    assert cross[0] == pytest.approx(relay_table.CROSS_SITE[0], rel=0.08)
    assert cross[2] == pytest.approx(relay_table.CROSS_SITE[2], rel=0.12)
    assert relay_table.goodput_with_relay(fleets, given) == pytest.approx(11.5, rel=0.03)


@pytest.mark.long
def test_fitted_inputs_make_sense(given):
    """No more cache than "several GB", loads below capacity, and little prefill lost to waiting."""
    assert 0.5 < given.kv_bytes_per_token * 65_536 / 2**30 < 5.0
    assert given.away_engines > relay_table.HOME_ENGINES
    assert 0.9 < given.left < 1.0
    assert given.home_rate_per_s >= 9.0


def test_goodput_per_cost_follows_from_goodput_and_cost():
    for less, more in zip(relay_table.COST_LESS, relay_table.BCR_MORE, strict=True):
        ratio = relay_table.GOODPUT[1] / relay_table.GOODPUT[0]
        assert ratio / (1.0 - less) - 1.0 == pytest.approx(more, abs=0.001)


def test_uneven_hit_rates_make_most_transfers_short_on_a_full_line():
    """The direction of the published microbenchmark: the median falls to a third or less."""
    spread, load = shared_line.fit()
    uniform = shared_line.line_times_s("uniform", spread, load)
    skewed = shared_line.line_times_s("skewed", spread, load)
    assert uniform == pytest.approx(shared_line.UNIFORM, rel=0.02)
    assert skewed["P50"] < uniform["P50"] / 3.0
    assert 0.98 < load < 1.0
