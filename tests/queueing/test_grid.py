"""Laws on the time grid: mass and mean kept, quantiles of known laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from service_laws import agent, exponential

from pdd_plan.queueing import (
    TimeGrid,
    cdf_of,
    convolve_masses,
    masses_of_survival,
    mean_of,
    mixture_cdf,
    mixture_quantile,
    point_masses,
    quantile_of,
    residual_masses,
    sample_quantile,
)

times = st.lists(st.floats(0.0, 9.0), min_size=1, max_size=30)


@settings(max_examples=60, deadline=None)
@given(times, st.floats(0.01, 1.0))
def test_points_keep_mass_and_mean(values: list[float], step_s: float) -> None:
    grid = TimeGrid(step_s, int(9.0 / step_s) + 3)
    weights = np.full(len(values), 1.0 / len(values))
    pmf = point_masses(values, weights, grid)
    assert pmf.min() >= 0.0
    assert pmf.sum() == pytest.approx(1.0, abs=1e-12)
    assert float(mean_of(pmf, grid)) == pytest.approx(np.mean(values), abs=1e-9)


def test_points_beyond_the_end_are_left_out() -> None:
    pmf = point_masses([0.5, 7.0], [0.75, 0.25], TimeGrid(0.1, 20))
    assert pmf.sum() == pytest.approx(0.75)


def test_residual_of_a_fixed_time_is_uniform() -> None:
    grid = TimeGrid(0.01, 151)
    pmf = residual_masses([1.0], [1.0], grid)
    np.testing.assert_allclose(cdf_of(pmf)[:100], grid.times_s[:100], atol=1e-12)
    assert pmf[102:].max() == 0.0


@pytest.mark.parametrize("step_s", [0.003, 0.05, 0.4])
def test_residual_keeps_mass_and_mean_at_any_step(step_s: float) -> None:
    service, share = agent(0.08, 4.0, 0.15)
    grid = TimeGrid(step_s, int(service.max() / step_s) + 3)
    pmf = residual_masses(service, share, grid)
    assert pmf.sum() == pytest.approx(1.0, abs=1e-9)
    mean = share @ service**2 / (2.0 * (share @ service))
    assert float(mean_of(pmf, grid)) == pytest.approx(mean, rel=1e-9)


def test_residual_of_the_exponential_is_itself() -> None:
    service, share = exponential()
    grid = TimeGrid(0.01, 2000)
    quantiles = quantile_of(residual_masses(service, share, grid), [0.5, 0.9, 0.99], grid)
    np.testing.assert_allclose(quantiles, np.log([2.0, 10.0, 100.0]), rtol=1e-3)


def test_law_from_its_survival_function_has_its_quantiles() -> None:
    grid = TimeGrid(0.02, 1000)
    survival = 0.6 * np.exp(-0.7 * (grid.times_s + 0.5 * grid.step_s))  # mass 0.4 at 0
    pmf = masses_of_survival(survival)
    assert float(quantile_of(pmf, 0.2, grid)) == 0.0
    expected = np.log(0.6 / (1.0 - np.array([0.5, 0.9, 0.99]))) / 0.7
    np.testing.assert_allclose(quantile_of(pmf, [0.5, 0.9, 0.99], grid), expected, atol=1e-4)
    np.testing.assert_allclose(cdf_of(pmf), 1.0 - 0.6 * np.exp(-0.7 * grid.times_s), atol=1e-4)


def test_quantile_beyond_the_grid_is_infinite() -> None:
    grid = TimeGrid(0.1, 10)
    assert np.isinf(quantile_of(0.5 * point_masses([0.2], [1.0], grid), 0.9, grid))
    with pytest.raises(ValueError, match="between 0 and 1"):
        quantile_of(np.ones(10) / 10, 1.2, grid)


def test_sums_do_not_wrap_round() -> None:
    rng = np.random.default_rng(3)
    laws = [rng.dirichlet(np.ones(50)) for _ in range(3)]
    direct = np.convolve(np.convolve(laws[0], laws[1]), laws[2])[:50]
    np.testing.assert_allclose(convolve_masses(laws), direct, atol=1e-14)
    np.testing.assert_array_equal(convolve_masses(laws[:1]), laws[0])


def test_mixture_is_the_weighted_mean_of_distribution_functions() -> None:
    grid = TimeGrid(0.1, 100)
    laws = np.stack([point_masses([2.0], [1.0], grid), point_masses([6.0], [1.0], grid)])
    cdf = mixture_cdf(laws, [0.3, 0.7])
    assert cdf[[10, 40, 80]] == pytest.approx([0.0, 0.3, 1.0])
    assert float(mixture_quantile(laws, [0.3, 0.7], 0.25, grid)) == pytest.approx(2.0, abs=0.1)


def test_sample_quantile_of_equal_weights_is_the_midrank_rule() -> None:
    values = np.array([5.0, 1.0, 3.0, 2.0])
    expected = np.quantile(values, [0.2, 0.5, 0.8], method="hazen")
    np.testing.assert_allclose(sample_quantile(values, np.ones(4), [0.2, 0.5, 0.8]), expected)
    with pytest.raises(ValueError, match="not all 0"):
        sample_quantile(values, np.zeros(4), 0.5)


@pytest.mark.parametrize(("step_s", "size"), [(0.0, 10), (np.inf, 10), (0.1, 1)])
def test_a_grid_must_be_one(step_s: float, size: int) -> None:
    with pytest.raises(ValueError, match="grid"):
        TimeGrid(step_s, size)
