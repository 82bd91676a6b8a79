"""Continuous batching and slot pools: textbook special cases, limits, step-by-step simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from queue_simulators import multi_server_waits, poisson_gaps, stepwise_batching

from pdd_plan.errors import UnstableQueueError
from pdd_plan.queueing import (
    batching_capacity,
    continuous_batching,
    erlang_c,
    largest_slot_load,
    slot_pool,
)


def affine(fixed_s: float, per_request_s: float, slots: int) -> np.ndarray:
    return fixed_s + per_request_s * np.arange(1, slots + 1)


@pytest.mark.parametrize(("engines", "slots", "load"), [(1, 5, 3.0), (3, 4, 10.0), (8, 32, 240.0)])
def test_steps_that_never_grow_give_erlang_c(engines: int, slots: int, load: float) -> None:
    tokens, step = 200.0, np.full(slots, 0.02)
    arrivals = load / (tokens * 0.02)
    result = continuous_batching(arrivals, tokens, step, engines, slots)
    total = engines * slots
    wait = float(erlang_c(total, load))
    assert result.probability_wait == pytest.approx(wait, rel=1e-10)
    assert result.mean_step_s == pytest.approx(0.02, rel=1e-10)
    assert result.mean_active == pytest.approx(load, rel=1e-10)
    assert result.mean_wait_s == pytest.approx(wait * 4.0 / (total - load), rel=1e-10)
    assert result.utilization == pytest.approx(load / total)


def test_steps_proportional_to_the_batch_give_one_shared_server() -> None:
    # t(n) = a n: the engine makes 1/a tokens a second, so N is that of M/M/1
    arrivals, tokens, slots = 0.4, 100.0, 12
    result = continuous_batching(arrivals, tokens, affine(0.0, 0.02, slots), 1, slots)
    load = arrivals * tokens * 0.02
    assert result.utilization == pytest.approx(load)
    assert result.probability_wait == pytest.approx(load**slots, rel=1e-10)
    n = np.arange(4000)
    active = float(np.minimum(n, slots) @ ((1.0 - load) * load**n))
    assert result.mean_active == pytest.approx(active, rel=1e-10)


@settings(max_examples=50, deadline=None)
@given(st.floats(0.05, 0.98), st.integers(1, 6), st.integers(1, 40), st.floats(0.0, 5.0))
def test_little_and_the_law_of_steps_agree(
    load: float, engines: int, slots: int, reserved_s: float
) -> None:
    step = affine(0.01, 0.001, slots)
    full = engines * slots / (150.0 * step[-1] + reserved_s)
    arrivals = 0.9 * load * full
    result = continuous_batching(arrivals, 150.0, step, engines, slots, reserved_s)
    # token-weighted mean of the step = E[active] / (λ E[O])
    mean = float(result.step_values_s @ result.step_weights)
    assert result.mean_step_s == pytest.approx(mean, rel=1e-9)
    assert result.step_weights.sum() == pytest.approx(1.0)
    assert step[0] * (1 - 1e-12) <= result.mean_step_s <= step[-1] * (1 + 1e-12)
    assert 0.0 <= result.probability_wait <= 1.0
    assert result.step_quantile_s(0.5) <= result.step_quantile_s(0.99)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.integers(2, 30), st.floats(0.0, 4.0))
def test_every_measure_grows_with_the_load(engines: int, slots: int, reserved_s: float) -> None:
    step = affine(0.01, 0.001, slots)
    full = engines * slots / (150.0 * step[-1] + reserved_s)
    results = [
        continuous_batching(part * full, 150.0, step, engines, slots, reserved_s)
        for part in (0.1, 0.3, 0.6, 0.85, 0.95)
    ]
    for name in ("utilization", "mean_step_s", "probability_wait", "mean_active", "mean_wait_s"):
        values = np.array([getattr(result, name) for result in results])
        assert np.all(np.diff(values) >= -1e-12 * values[1:])


@settings(max_examples=20, deadline=None)
@given(st.floats(1e-3, 1e3), st.floats(0.1, 0.95))
def test_the_unit_of_time_does_not_matter(factor: float, load: float) -> None:
    step = affine(0.01, 0.001, 16)
    arrivals = load * 16 / (150.0 * step[-1])
    one = continuous_batching(arrivals, 150.0, step, 1, 16)
    other = continuous_batching(arrivals / factor, 150.0, step * factor, 1, 16)
    assert other.mean_step_s == pytest.approx(factor * one.mean_step_s, rel=1e-9)
    assert other.mean_wait_s == pytest.approx(factor * one.mean_wait_s, rel=1e-9)
    assert other.probability_wait == pytest.approx(one.probability_wait, rel=1e-9)


@pytest.mark.parametrize("reserved_s", [0.5, 6.0])
def test_reserved_slots_with_constant_steps_give_erlang_c(reserved_s: float) -> None:
    # time in the slot is reserved + O t whatever the others do
    step = np.full(8, 0.02)
    arrivals, hold = 3.0, 100 * 0.02 + reserved_s
    slots = 8 * int(np.ceil(1.15 * arrivals * hold / 8))
    result = continuous_batching(arrivals, 100.0, step, slots // 8, 8, reserved_s)
    assert result.probability_wait == pytest.approx(float(erlang_c(slots, arrivals * hold)))
    assert result.mean_reserved == pytest.approx(arrivals * reserved_s)
    assert result.mean_active == pytest.approx(arrivals * 2.0)


def test_a_tiny_reservation_changes_nothing() -> None:
    step = affine(0.01, 0.001, 16)
    without = continuous_batching(5.0, 150.0, step, 2, 16)
    tiny = continuous_batching(5.0, 150.0, step, 2, 16, reserved_s=1e-9)
    assert tiny.mean_step_s == pytest.approx(without.mean_step_s, rel=1e-6)
    assert tiny.probability_wait == pytest.approx(without.probability_wait, rel=1e-5)


def test_hundred_thousand_slots_do_not_overflow() -> None:
    step = affine(0.015, 1e-5, 1000)
    for load in (0.2, 0.9, 0.9999):
        arrivals = load * 100_000 / (300.0 * step[-1])
        result = continuous_batching(arrivals, 300.0, step, 100, 1000)
        assert np.isfinite(result.mean_step_s)
        # many requests: the mean batch n solves n = λ O t(n)
        batch = arrivals * 3.0 * 0.015 / (1.0 - arrivals * 3.0 * 1e-5)
        if load < 0.99:
            assert result.mean_step_s == pytest.approx(0.015 + 1e-5 * batch, rel=1e-4)
        reserved = continuous_batching(0.5 * arrivals, 300.0, step, 100, 1000, reserved_s=1.0)
        assert np.isfinite(reserved.mean_step_s)


SIMULATED = [(1, 16, 0.5), (1, 16, 0.85), (3, 12, 0.7), (2, 24, 0.93)]


@pytest.mark.parametrize(("engines", "slots", "load"), SIMULATED)
def test_time_per_token_against_simulation(engines: int, slots: int, load: float) -> None:
    check_against_simulation(engines, slots, load, "geometric", count=6000, mean_tokens=60)


@pytest.mark.long
@pytest.mark.parametrize(("engines", "slots"), [(1, 16), (1, 64), (4, 32)])
@pytest.mark.parametrize("load", [0.3, 0.5, 0.7, 0.85, 0.95])
@pytest.mark.parametrize("law", ["geometric", "fixed", "uneven"])
def test_time_per_token_against_long_simulation(
    engines: int, slots: int, load: float, law: str
) -> None:
    check_against_simulation(engines, slots, load, law, count=25_000, mean_tokens=150)


def check_against_simulation(
    engines: int, slots: int, load: float, law: str, count: int, mean_tokens: int
) -> None:
    """Within 1.5 % beyond two standard errors."""
    step = affine(0.015, 0.0005, slots)
    arrivals = load * engines * slots / (mean_tokens * step[-1])
    steps, waits = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        if law == "geometric":
            tokens = rng.geometric(1.0 / mean_tokens, count)
        elif law == "fixed":
            tokens = np.full(count, mean_tokens)
        else:  # SCV 2
            wide = np.sqrt(np.log(3.0))
            tokens = np.maximum(rng.lognormal(np.log(mean_tokens) - wide**2 / 2, wide, count), 1.0)
            tokens = tokens.round().astype(int)
        # the load of the run is exactly the one asked for
        gaps = poisson_gaps(arrivals * mean_tokens / tokens.mean(), count, seed)
        mean_step, waiting = stepwise_batching(gaps, tokens, step, engines)
        steps.append(mean_step)
        waits.append(waiting)
    result = continuous_batching(arrivals, float(mean_tokens), step, engines, slots)
    simulated, error = np.mean(steps), np.std(steps, ddof=1) / np.sqrt(3)
    assert abs(result.mean_step_s - simulated) < 0.015 * simulated + 2.0 * error
    if law == "geometric":
        spread = np.std(waits, ddof=1) / np.sqrt(3)
        assert abs(result.probability_wait - np.mean(waits)) < 0.02 + 3.0 * spread


def test_reserved_slots_against_simulation() -> None:
    engines, slots, reserved_s, mean_tokens, count = 2, 12, 1.2, 60, 8000
    step = affine(0.015, 0.0005, slots)
    arrivals = 8.0
    runs = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        gaps = rng.exponential(1.0 / arrivals, count)
        tokens = rng.geometric(1.0 / mean_tokens, count)
        runs.append(stepwise_batching(gaps, tokens, step, engines, reserved_s))
    simulated, error = np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1) / np.sqrt(3)
    result = continuous_batching(arrivals, float(mean_tokens), step, engines, slots, reserved_s)
    assert abs(result.mean_step_s - simulated[0]) < 0.015 * simulated[0] + 2.0 * error[0]
    assert abs(result.probability_wait - simulated[1]) < 0.03 + 3.0 * error[1]


@pytest.mark.parametrize(
    "limits",
    [
        {"tpot_limit_s": 0.03},
        {"tpot_limit_s": 0.03, "tpot_probability": 0.9},
        {"wait_probability": 0.01},
        {"tpot_limit_s": 0.03, "wait_probability": 1e-3},
        {},
    ],
)
@pytest.mark.parametrize("reserved_s", [0.0, 2.0])
@pytest.mark.parametrize(("engines", "slots"), [(1, 8), (4, 40)])
def test_capacity_is_where_a_limit_starts_to_break(
    limits: dict, reserved_s: float, engines: int, slots: int
) -> None:
    step = affine(0.015, 0.0005, slots)
    capacity = batching_capacity(150.0, step, engines, slots, reserved_s=reserved_s, **limits)

    def kept(arrivals: float) -> bool:
        try:
            result = continuous_batching(arrivals, 150.0, step, engines, slots, reserved_s)
        except UnstableQueueError:
            return False
        good = result.probability_wait <= limits.get("wait_probability", 1.0)
        if "tpot_probability" in limits:
            in_time = result.step_weights[result.step_values_s <= 0.03].sum()
            return good and in_time >= limits["tpot_probability"]
        return good and result.mean_step_s <= limits.get("tpot_limit_s", np.inf)

    assert capacity > 0.0
    assert kept(capacity * (1.0 - 1e-7))
    assert not kept(capacity * (1.0 + 1e-7))


def test_capacity_with_a_limit_below_the_first_step_is_none() -> None:
    assert batching_capacity(150.0, affine(0.02, 0.001, 8), 2, 8, tpot_limit_s=0.02) == 0.0


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"arrival_rate_per_s": 1e3}, UnstableQueueError),
        ({"arrival_rate_per_s": 0.0}, ValueError),
        ({"mean_output_tokens": 0.0}, ValueError),
        ({"step_s": [0.01, -0.02, 0.03, 0.04]}, ValueError),
        ({"step_s": [0.01]}, ValueError),
        ({"engines": 0}, ValueError),
        ({"slots_per_engine": 0}, ValueError),
        ({"reserved_s": -1.0}, ValueError),
        ({"output_scv": -1.0}, ValueError),
    ],
)
def test_arguments_out_of_range_are_refused(change: dict, error: type) -> None:
    arguments = {
        "arrival_rate_per_s": 1.0, "mean_output_tokens": 50.0,
        "step_s": [0.01, 0.02, 0.03, 0.04], "engines": 2, "slots_per_engine": 4,
    }  # fmt: skip
    continuous_batching(**arguments)
    with pytest.raises(error):
        continuous_batching(**(arguments | change))


def test_slot_pool_is_erlang_c_with_the_spread_of_residencies() -> None:
    plain = slot_pool(4.0, 2.0, 10)
    assert plain.probability_wait == pytest.approx(float(erlang_c(10, 8.0)))
    assert plain.mean_wait_s == pytest.approx(plain.probability_wait * 2.0 / (10 - 8.0))
    one = slot_pool(0.35, 2.0, 1, residency_scv=3.0)  # Pollaczek-Khinchine
    assert one.mean_wait_s == pytest.approx(0.7 * 2.0 * (1.0 + 3.0) / 2.0 / (1.0 - 0.7))
    with pytest.raises(UnstableQueueError):
        slot_pool(5.0, 2.0, 10)
    with pytest.raises(ValueError, match="slot"):
        slot_pool(1.0, 1.0, 0)


def test_slot_pool_against_simulation() -> None:
    rng = np.random.default_rng(5)
    count, slots = 200_000, 6
    waits = multi_server_waits(
        rng.exponential(1.0 / 4.5, count), rng.gamma(0.5, 2.0, count), slots
    )  # residency: mean 1, SCV 2
    result = slot_pool(4.5, 1.0, slots, residency_scv=2.0)
    assert result.probability_wait == pytest.approx((waits > 0).mean(), rel=0.06)
    assert result.mean_wait_s == pytest.approx(waits.mean(), rel=0.1)


@pytest.mark.parametrize(("slots", "share"), [(1, 0.3), (12, 0.01), (200, 1e-3)])
def test_largest_slot_load_is_the_inverse_of_erlang_c(slots: int, share: float) -> None:
    assert float(erlang_c(slots, largest_slot_load(slots, share))) == pytest.approx(share, rel=1e-6)
    assert largest_slot_load(0, share) == 0.0
