"""Every station against the formulas of textbooks.

Samples are of fixed seed and long; tolerances are some standard errors, found from batches of the
sample itself where not stated otherwise.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from stations import column, fleet, poisson, requests, send

from pdd_plan.fleet.problem import ServingOptions
from pdd_plan.simulation.stream import interarrival_s

COUNT = 100_000
RANDOM = ServingOptions(dispatch="random")


def mean_within(values, expected, *, errors=4.5, batches=40):
    """Assert a mean within some standard errors of batch means, and that they are small."""
    batch = values[: values.size // batches * batches].reshape(batches, -1).mean(axis=1)
    error = batch.std(ddof=1) / math.sqrt(batches)
    assert abs(values.mean() - expected) < errors * error, (values.mean(), expected, error)
    assert error < 0.08 * abs(expected), "the sample is too short to tell"


def erlang_c(servers: int, load: float) -> float:
    """P(wait) in M/M/c, straight from the sum in the textbook."""
    terms = [load**k / math.factorial(k) for k in range(servers)]
    last = load**servers / math.factorial(servers) * servers / (servers - load)
    return last / (sum(terms) + last)


# --- prefill -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("engines", "servers", "rho"), [(1, 1, 0.7), (4, 1, 0.8), (2, 3, 0.8)])
def test_exponential_service_waits_as_in_mmc(engines, servers, rho):
    rng = np.random.default_rng(1)
    c = engines * servers
    stream = requests(poisson(rng, COUNT, rho * c), service_s=rng.exponential(1.0, COUNT))
    result = send(fleet(engines=(engines, 1, 1), servers=servers), stream)
    waiting = erlang_c(c, rho * c)
    waits = column(result, "prefill")
    mean_within((waits > 0).astype(float), waiting)
    mean_within(waits, waiting / (c * (1 - rho)))
    # P(W > t) = C exp(-c (1 - rho) t)
    t = 1.0 / (c * (1 - rho))
    mean_within((waits > t).astype(float), waiting * math.exp(-1))


def test_constant_service_waits_as_in_md1():
    rng = np.random.default_rng(2)
    stream = requests(poisson(rng, COUNT, 0.8), service_s=1.0)
    mean_within(column(send(fleet(), stream), "prefill"), 0.8 / (2 * 0.2))


def test_two_sizes_wait_as_pollaczek_and_khinchine_say():
    rng = np.random.default_rng(3)
    service = np.where(rng.random(COUNT) < 0.1, 5.0, 0.5)
    mean, square = 0.1 * 5 + 0.9 * 0.5, 0.1 * 25 + 0.9 * 0.25
    rate = 0.7 / mean
    stream = requests(poisson(rng, COUNT, rate), service_s=service)
    mean_within(column(send(fleet(), stream), "prefill"), rate * square / (2 * 0.3))


def test_random_dispatch_makes_each_engine_its_own_queue():
    rng = np.random.default_rng(4)
    stream = requests(poisson(rng, COUNT, 0.7 * 4), service_s=rng.exponential(1.0, COUNT))
    result = send(fleet(engines=(4, 1, 1), serving=RANDOM), stream)
    mean_within(column(result, "prefill"), 0.7 / 0.3)


@pytest.mark.parametrize("scv", [0.25, 1.0, 4.0])
def test_renewal_arrivals_have_mean_and_variation(scv):
    gaps = interarrival_s(np.random.default_rng(5), 400_000, 2.0, scv)
    assert gaps.mean() == pytest.approx(0.5, rel=0.01)
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(scv, rel=0.03)
    assert np.all(interarrival_s(np.random.default_rng(5), 3, 2.0, 0.0) == 0.5)


def test_bursty_arrivals_wait_as_in_gim1():
    # GI/M/1: the wait is that of M/M/1 at sigma, the root of sigma = A*(mu (1 - sigma))
    rate, scv = 0.7, 4.0
    short = 0.5 * (1 + math.sqrt((scv - 1) / (scv + 1)))
    phases = ((short, 2 * short * rate), (1 - short, 2 * (1 - short) * rate))

    def transform(s: float) -> float:
        return sum(p * speed / (speed + s) for p, speed in phases)

    sigma = brentq(lambda x: transform(1 - x) - x, 1e-6, 1 - 1e-6)
    rng = np.random.default_rng(6)
    arrivals = np.cumsum(interarrival_s(rng, COUNT, rate, scv))
    waits = column(
        send(fleet(), requests(arrivals, service_s=rng.exponential(1.0, COUNT))), "prefill"
    )
    mean_within((waits > 0).astype(float), sigma)
    mean_within(waits, sigma / (1 - sigma), errors=5)


# --- line ----------------------------------------------------------------------------------------


MANY_SLOTS = {"step_s": np.full(100_000, 1e-12)}
"""Slots are reserved before the transfer; here none is ever waited for."""


def line_load(seed, rho, sizes=(0.5, 5.0), share=0.1):
    rng = np.random.default_rng(seed)
    size = np.where(rng.random(COUNT) < share, sizes[1], sizes[0])
    rate = rho / (share * sizes[1] + (1 - share) * sizes[0])
    return rng, size, rate


def test_line_shares_as_in_mg1_ps():
    # mean sojourn x / (1 - rho) whatever the law of sizes
    rng, size, rate = line_load(7, 0.7)
    stream = requests(poisson(rng, COUNT, rate), transfer_bytes=size)
    times = column(send(fleet(**MANY_SLOTS), stream), "transfer_s")
    for x in (0.5, 5.0):
        mean_within(times[size == x], x / 0.3)


def test_capped_connections_share_as_in_mgm_ps():
    # cap 1/4 of the line: x_r (1 + C(m, m rho) / (m (1 - rho)))
    rng, size, rate = line_load(8, 0.8)
    stream = requests(poisson(rng, COUNT, rate), transfer_bytes=size)
    plant = fleet(connection_cap_bytes_per_s=0.25, **MANY_SLOTS)
    times = column(send(plant, stream), "transfer_s")
    stretch = 1 + erlang_c(4, 3.2) / (4 * 0.2)
    for x in (0.5, 5.0):
        mean_within(times[size == x], 4 * x * stretch)


def test_one_connection_at_a_time_is_first_come_first_served():
    rng, size, rate = line_load(9, 0.7)
    stream = requests(poisson(rng, COUNT, rate), transfer_bytes=size)
    result = send(fleet(connections=1, **MANY_SLOTS), stream)
    square = 0.1 * 25 + 0.9 * 0.25
    mean_within(column(result, "connection"), rate * square / (2 * 0.3))
    np.testing.assert_allclose(column(result, "transfer_s"), size, rtol=1e-6, atol=1e-9)


def test_connection_pool_of_exponential_sizes_keeps_the_mean_of_mm1():
    # limited sharing serves at full rate at all times: for exponential sizes the number present
    # is that of M/M/1 whatever the limit
    rng = np.random.default_rng(10)
    stream = requests(poisson(rng, COUNT, 0.8), transfer_bytes=rng.exponential(1.0, COUNT))
    result = send(fleet(connections=3, **MANY_SLOTS), stream)
    mean_within(column(result, "connection") + column(result, "transfer_s"), 1 / 0.2)
    use = result.uses["a-b"]
    assert use.utilization.mean == pytest.approx(0.8, rel=0.02)
    assert use.held.mean <= 3.0


# --- slots ---------------------------------------------------------------------------------------


def test_slots_of_constant_speed_wait_as_in_mmc():
    # steps of 1 s whatever the batch, geometric token counts: close to exponential holding
    rng = np.random.default_rng(11)
    mean_tokens, slots, rho = 400.0, 6, 0.8
    tokens = rng.geometric(1 / mean_tokens, COUNT)
    rate = rho * slots / mean_tokens
    result = send(
        fleet(engines=(1, 1, 2), step_s=[1.0] * (slots // 2)),
        requests(poisson(rng, COUNT, rate), output_tokens=tokens),
    )
    waiting = erlang_c(slots, rho * slots)
    mean_within((column(result, "decode_slot") > 0).astype(float), waiting)
    mean_within(column(result, "decode_slot"), waiting * mean_tokens / (slots * (1 - rho)))


def birth_death_mean(rate, tokens, step, engines):
    """Mean number in a batch system with unlimited slots, by the balance equations."""
    weights, weight = [1.0], 1.0
    for n in range(1, 4000):
        weight *= rate * tokens * step(max(n / engines, 1.0)) / n
        weights.append(weight)
        if n > 10 and weight < 1e-14 * max(weights):
            break
    mass = np.array(weights)
    return float(mass @ np.arange(mass.size) / mass.sum())


@pytest.mark.parametrize("engines", [1, 3])
@pytest.mark.parametrize("law", ["constant", "uneven"])
def test_batch_dependent_steps_are_insensitive_to_the_law_of_outputs(engines, law):
    # product form: the mean number depends on the mean output alone
    rng = np.random.default_rng(12)
    if law == "constant":
        tokens = np.full(COUNT, 100.0)
    else:
        tokens = np.where(rng.random(COUNT) < 0.1, 460.0, 60.0)
    steps = 0.02 + 0.002 * np.arange(1, 401)
    rate = engines * 3.5
    result = send(
        fleet(engines=(1, 1, engines), step_s=steps),
        requests(poisson(rng, COUNT, rate), output_tokens=tokens),
    )
    number = birth_death_mean(rate, 100.0, lambda b: 0.02 + 0.002 * b, engines)
    mean_within(column(result, "e2e_s"), number / rate)
    assert result.uses["b decode x s"].active.mean == pytest.approx(number, rel=0.03)
    assert result.tpot_of_tokens_s.mean == pytest.approx(number / rate / 100.0, rel=0.02)


def test_stepwise_batching_agrees_with_fluid_on_the_time_of_a_token():
    rng = np.random.default_rng(13)
    tokens = rng.geometric(1 / 200, 40_000)
    steps = 0.02 + 0.0005 * np.arange(1, 65)
    arrivals = poisson(rng, tokens.size, 20.0)
    plant = fleet(engines=(1, 1, 4), step_s=steps)
    stream = requests(arrivals, output_tokens=tokens)
    fluid = send(plant, stream, decoding="fluid")
    steps_ = send(plant, stream, decoding="stepwise")
    assert steps_.tpot_of_tokens_s.mean == pytest.approx(fluid.tpot_of_tokens_s.mean, rel=0.01)
    # a step under way has half its length left on average
    late = steps_.ttft_s.mean.mean - fluid.ttft_s.mean.mean
    assert late == pytest.approx(0.5 * fluid.tpot_of_tokens_s.mean, rel=0.15)


def test_relay_slots_wait_as_in_mmc():
    # an endless line: every request ends on the relay
    rng = np.random.default_rng(14)
    mean_tokens, slots, rho = 300.0, 5, 0.7
    tokens = rng.geometric(1 / mean_tokens, 100_000)
    rate = rho * slots / mean_tokens
    plant = fleet(relay_step_s=[1.0] * slots, overhead_s=1e9, step_s=[1.0] * 200_000)
    result = send(
        plant, requests(poisson(rng, tokens.size, rate), output_tokens=tokens, relayed=True)
    )
    assert result.ended_on_relay_fraction.mean == 1.0
    assert result.relay_token_fraction.mean == 1.0
    waiting = erlang_c(slots, rho * slots)
    mean_within((column(result, "relay_slot") > 0).astype(float), waiting)


def test_relay_share_under_drop_follows_the_feedback_of_lost_caches():
    # r = r0 / (1 - (1 - r0) e m): of the relayed requests a share e ends on the relay and leaves
    # nothing; a share m has a successor, which then misses and is relayed as well
    rng = np.random.default_rng(15)
    r0, ends, follow = 0.3, 0.6, 0.8
    cold = rng.random(COUNT) < r0
    short = rng.random(COUNT) < ends
    previous = np.where(rng.random(COUNT) < follow, np.arange(COUNT) - 1, -1)
    stream = requests(
        100.0 * np.arange(COUNT),
        transfer_bytes=np.where(cold, 10.0, 0.1),
        kv_bytes=10.0,
        output_tokens=np.where(short, 5, 500),
        relayed=cold,
    )
    types = replace(stream.types, relay_above_bytes=np.full(COUNT, 5.0))
    plant = fleet(
        relay_step_s=[0.1],
        step_s=[0.01],
        serving=ServingOptions(handoff="one_shot", relay_end="drop"),
    )
    result = send(plant, replace(stream, types=types, previous=previous))
    mean_within(column(result, "relayed"), r0 / (1 - (1 - r0) * ends * follow))
    assert result.ended_on_relay_fraction.mean == pytest.approx(ends, abs=0.01)
