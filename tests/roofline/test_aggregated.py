"""The aggregated engine in a closed loop, against identities and a small simulation."""

from __future__ import annotations

import heapq
from dataclasses import replace

import numpy as np
import pytest

from pdd_plan.catalog import load_chip, load_model
from pdd_plan.roofline import Efficiencies, EngineShape
from pdd_plan.roofline.aggregated import HostTimes, closed_loop
from pdd_plan.roofline.runs import MeasuredRun, RunArrays
from tests.roofline.engines import Formats, ideal, times_of

INPUT, OUTPUT = 2000.0, 300.0


def arrays(concurrency: float, **changes) -> RunArrays:
    run = MeasuredRun(
        load_chip("h200"),
        load_model("llama-3.1-70b"),
        Formats("fp8", None, "fp8"),
        EngineShape(2, 2),
        "trtllm",
        INPUT,
        OUTPUT,
        concurrency,
        wave_share=0.0,
    )
    return RunArrays.from_runs([replace(run, **changes)])


def test_littles_law_holds() -> None:
    """Requests in flight = throughput x time in the system, saturated or not."""
    for concurrency in (1.0, 16.0, 200.0, 1500.0):
        result = arrays(concurrency).predict(Efficiencies.default())
        stay = result.ttft_s + (OUTPUT - 1) * result.tpot_s
        assert result.requests_per_s * stay == pytest.approx(concurrency, rel=1e-9)


def test_token_gap_carries_the_prefill_of_others() -> None:
    """Prefill share of an engine's time = throughput x work of one prefill."""
    result = arrays(32.0).predict(Efficiencies.default())
    in_decode = result.requests_per_s * (OUTPUT - 1) * result.tpot_s
    assert in_decode == pytest.approx(result.active, rel=1e-3)
    run = arrays(32.0)
    bare = times_of("h200", "llama-3.1-70b", EngineShape(2, 2), kv_cache="fp8")
    step = bare.decode_step_s(float(result.active[0]), INPUT + OUTPUT / 2)
    interference = result.requests_per_s * result.prefill_work_s * result.tpot_s
    assert result.tpot_s == pytest.approx(step + interference, rel=1e-3)
    assert run.load.slots.item() > 32


def test_requests_beyond_memory_wait() -> None:
    """With C = 2 N the wait for a slot equals the residence."""
    slots = arrays(1.0).load.slots.item()
    result = arrays(2 * slots).predict(Efficiencies.default())
    full = arrays(slots).predict(Efficiencies.default())
    residence = full.ttft_s + (OUTPUT - 1) * full.tpot_s
    assert result.tpot_s == pytest.approx(full.tpot_s)
    assert result.ttft_s - full.ttft_s == pytest.approx(residence, rel=1e-6)


def test_a_cap_on_running_requests_acts_like_memory() -> None:
    capped = arrays(64.0, max_running=16.0).predict(Efficiencies.default())
    free = arrays(16.0).predict(Efficiencies.default())
    assert capped.tpot_s == pytest.approx(free.tpot_s)
    assert capped.ttft_s.item() > 3 * free.ttft_s.item()


def test_speculation_divides_the_step() -> None:
    eff = Efficiencies.default()
    run = arrays(4.0)
    host = HostTimes(checked_tokens=1.0, accepted_tokens=2.0)
    twice = closed_loop(run.engine, run.load, run.concurrency, eff, host, 0.0)
    once = closed_loop(run.engine, run.load, run.concurrency, eff, HostTimes(), 0.0)
    assert twice.tpot_s.item() < 0.65 * once.tpot_s.item()


def test_waiting_steps_delay_the_first_token_only() -> None:
    now = arrays(8.0).predict(Efficiencies.default())
    later = arrays(8.0, wait_steps=15.0).predict(Efficiencies.default())
    assert (later.ttft_s - now.ttft_s).item() == pytest.approx(15 * later.tpot_s.item(), rel=0.05)
    assert later.tpot_s.item() == pytest.approx(now.tpot_s.item(), rel=0.05)


@pytest.mark.parametrize("concurrency", [2, 8, 24, 64])
def test_closed_loop_against_simulation(concurrency: int) -> None:
    """Step by step: prefill what has arrived, then decode one token for every active request."""
    eff = replace(ideal(), compute=0.6, memory=0.9, kernel_s=4e-6, arrival_steps=1e-9)
    eff = replace(eff, host_s={"trtllm": 0.0, "vllm": 0.0, "sglang": 0.0}, roofline_exponent=1.5)
    run = arrays(float(concurrency))
    result = run.predict(eff)
    times = times_of("h200", "llama-3.1-70b", EngineShape(2, 2), eff, kv_cache="fp8")
    ttft, tpot = _simulate(concurrency, times, float(result.prefill_work_s[0]))
    assert float(result.tpot_s[0]) == pytest.approx(tpot, rel=0.07)
    # A request that arrives in a step waits for its end: half a step that the formula leaves out.
    assert float(result.ttft_s[0]) == pytest.approx(ttft, rel=0.35)


def _simulate(concurrency: int, times, prefill_s: float) -> tuple[float, float]:
    """Mean TTFT and TPOT of an engine that prefills on arrival and decodes in between."""
    rng = np.random.default_rng(7)
    steps = times.decode_step_s(np.arange(1, concurrency + 1), INPUT + OUTPUT / 2)
    clock, waiting = 0.0, [(0.0, index) for index in range(concurrency)]
    heapq.heapify(waiting)
    active: list[list[float]] = []  # first token time, tokens left, tokens in all
    ttft, tpot = [], []
    while len(tpot) < 40 * concurrency:
        while waiting:
            arrived, _ = heapq.heappop(waiting)
            clock = max(clock, arrived) + prefill_s
            ttft.append(clock - arrived)
            length = rng.integers(int(0.8 * OUTPUT), int(1.2 * OUTPUT) + 1)
            active.append([clock, length - 1, length - 1])
        clock += float(steps[len(active) - 1])
        for request in active:
            request[1] -= 1
        for request in [one for one in active if one[1] <= 0]:
            active.remove(request)
            tpot.append((clock - request[0]) / request[2])
            heapq.heappush(waiting, (clock, len(tpot)))
    skip = 10 * concurrency
    return float(np.mean(ttft[skip:])), float(np.mean(tpot[skip:]))
