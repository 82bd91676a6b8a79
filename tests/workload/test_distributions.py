"""Quantile functions against closed forms, quadrature against exact moments."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from pdd_plan.workload.distributions import (
    Constant,
    LogNormal,
    Mixture,
    TruncatedExponential,
    Uniform,
    empirical,
)
from pdd_plan.workload.quadrature import probability_edges, quadrature
from pdd_plan.workload.statistics import weighted_quantile


def log_normal_moment(power, mu, sigma, low, high):
    """Partial moment of the log-normal by integrating its density."""

    def density(z):
        return math.exp(power * (mu + sigma * z) - z * z / 2) / math.sqrt(2 * math.pi)

    start, stop = (math.log(low) - mu) / sigma, (math.log(high) - mu) / sigma
    return integrate.quad(density, start, stop, limit=200)[0]


def test_log_normal_truncated_moments():
    # The published length distribution of the "prefill as a service" table.
    mu, sigma, low, high = 9.90, 1.00, 128, 131072
    points, weights = quadrature(LogNormal(mu, sigma, low, high), 32)
    mass = log_normal_moment(0, mu, sigma, low, high)
    for power in (1, 2, 3):
        exact = log_normal_moment(power, mu, sigma, low, high) / mass
        assert points**power @ weights == pytest.approx(exact, rel=1e-5)
    assert points.min() >= low
    assert points.max() <= high


def test_log_normal_without_bounds_has_its_textbook_median_and_mean():
    law = LogNormal(2.0, 0.5)
    assert law.quantile(np.array([0.5]))[0] == pytest.approx(math.exp(2.0))
    assert law.quantile(np.array([0.841344746]))[0] == pytest.approx(math.exp(2.5), rel=1e-8)
    points, weights = quadrature(law, 64)
    assert points @ weights == pytest.approx(math.exp(2.125), rel=1e-4)


def test_log_normal_far_in_the_upper_tail_keeps_its_digits():
    # Truncated to [mu + 9 sigma, mu + 10 sigma], where 1 - F underflows in double precision.
    law = LogNormal(0.0, 1.0, math.exp(9.0), math.exp(10.0))
    values = law.quantile(np.linspace(0, 1, 101))
    assert values[0] == pytest.approx(math.exp(9.0))
    assert values[-1] == pytest.approx(math.exp(10.0))
    assert np.all(np.diff(values) > 0)


@pytest.mark.parametrize("mean", [0.02, 0.3, 0.4999999, 0.5, 0.5000001, 0.71, 0.98])
def test_truncated_exponential_has_its_mean(mean):
    law = TruncatedExponential(10.0, 20.0, 10 + 10 * mean)
    points, weights = quadrature(law, 64)
    assert points @ weights == pytest.approx(10 + 10 * mean, rel=1e-7)
    assert law.quantile(np.array([0.0, 1.0])) == pytest.approx([10, 20])


def test_truncated_exponential_of_rate_one():
    # Density proportional to exp(x) on [0, 1]: mean 1/(e - 1), median ln((1 + e)/2).
    law = TruncatedExponential(0.0, 1.0, 1 / (math.e - 1))
    assert law.quantile(np.array([0.5]))[0] == pytest.approx(math.log((1 + math.e) / 2), rel=1e-9)


def test_truncated_exponential_refuses_a_mean_outside():
    with pytest.raises(ValueError, match="must lie between"):
        TruncatedExponential(0.0, 1.0, 1.0)


def test_uniform_quadrature_is_exact_to_the_third_moment():
    points, weights = quadrature(Uniform(2.0, 6.0), 1)
    assert points.size == 2
    for power in (1, 2, 3):
        exact = (6 ** (power + 1) - 2 ** (power + 1)) / (4 * (power + 1))
        assert points**power @ weights == pytest.approx(exact, rel=1e-12)


def test_constant_is_one_point():
    points, weights = quadrature(Constant(7.0), 50)
    assert (points.tolist(), weights.tolist()) == ([7.0], [1.0])


def test_histogram_keeps_its_shares():
    law = empirical(((1, 1), (2, 4), (10, 20)), (2, 1, 1))
    points, weights = quadrature(law, 9)
    assert weights[np.isclose(points, 1)].sum() == pytest.approx(0.5)
    assert weights[(points > 1.5) & (points < 5)].sum() == pytest.approx(0.25)
    assert points @ weights == pytest.approx(0.5 * 1 + 0.25 * 3 + 0.25 * 15, rel=1e-12)


def test_histogram_leaves_out_empty_bins():
    assert len(empirical(((1, 2), (2, 3), (3, 4)), (1, 0, 1)).parts) == 2


@given(
    st.lists(st.floats(0.01, 1), min_size=1, max_size=6), st.integers(1, 40), st.floats(0.05, 0.95)
)
def test_quadrature_weights_sum_to_one_and_points_stay_inside(shares, bins, mean):
    total = sum(shares)
    parts = [Uniform(k, k + 1) for k in range(len(shares))]
    parts[0] = TruncatedExponential(0.0, 1.0, mean)
    law = Mixture(tuple(s / total for s in shares), tuple(parts))
    points, weights = quadrature(law, bins)
    assert weights.sum() == pytest.approx(1, rel=1e-9)
    assert np.all(weights > 0)
    assert points.min() >= 0
    assert points.max() <= len(shares)
    exact = sum(s / total * (k + 0.5) for k, s in enumerate(shares))
    exact += shares[0] / total * (mean - 0.5)
    assert points @ weights == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 40])
def test_probability_edges_rise_from_zero_to_one(bins):
    edges = probability_edges(bins, (0.25, 0.999))
    assert edges[0] == 0
    assert edges[-1] == 1
    assert np.all(np.diff(edges) > 0)
    assert np.isclose(edges, 0.25).any()
    assert edges.size <= bins + 3


def test_percentiles_of_a_fine_rule():
    law = LogNormal(9.0, 0.8, 100, 200000)
    points, weights = quadrature(law, 100)
    got = weighted_quantile(points, weights, (0.5, 0.9, 0.99))
    assert got == pytest.approx(law.quantile(np.array([0.5, 0.9, 0.99])), rel=0.02)
