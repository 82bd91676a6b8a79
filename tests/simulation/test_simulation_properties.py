"""What must hold whatever the numbers: order, conservation, Little's law, repeatability."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from stations import fleet, poisson, requests, send

import pdd_plan.simulation
from pdd_plan.errors import InputError
from pdd_plan.fleet.problem import Limit, ServingOptions
from pdd_plan.simulation import SimulationOptions, simulate
from pdd_plan.simulation import compiled as compiled_module
from pdd_plan.simulation.loop import run
from pdd_plan.simulation.measures import Estimate, weighted_percentiles
from pdd_plan.simulation.plant import build_plant
from pdd_plan.simulation.routes import draw_routes
from pdd_plan.simulation.stream import RequestTypes, sample_stream
from pdd_plan.simulation.world import build_world
from tests.problems import ProblemOptions, random_problem

SHORT = SimulationOptions(requests=4_000, replications=2)
KINDS = {
    "as it comes": (ProblemOptions(), {}),
    "many sites": (ProblemOptions(prefill_sites=2, decode_sites=2, chips=2, local=True), {}),
    "layerwise": (
        ProblemOptions(serving=ServingOptions(streaming="layerwise", layers=60)),
        {"reserve": "on_arrival"},
    ),
    "random, few connections": (
        ProblemOptions(
            serving=ServingOptions(dispatch="random", first_token_from="prefill"),  # noqa: S106
            connections=2,
        ),
        {"handoff": "one_shot"},
    ),
    "dropped": (ProblemOptions(serving=ServingOptions(relay_end="drop")), {}),
    "step by step": (ProblemOptions(arrival_scv=3.0), {"decoding": "stepwise"}),
}


def drained(seed, kind, count=3_000, memory_of_mean=None):
    """The request table of a run that went on until nothing was left to do."""
    problem_options, changes = KINDS[kind]
    problem, candidate = random_problem(seed, problem_options)
    if memory_of_mean is not None:
        room = max(memory_of_mean * problem.atoms.mean(problem.kv_bytes), problem.kv_bytes.max())
        pools = tuple(replace(p, kv_capacity_bytes=room) for p in problem.pools)
        problem = replace(problem, pools=pools)
    options = SimulationOptions(**changes)
    plant = build_plant(problem, candidate, options)
    rng = np.random.default_rng(seed)
    types = RequestTypes.of_atoms(problem, candidate.threshold_index)
    rate = problem.arrival_rate_per_s
    stream = sample_stream(rng, problem, types, count, rate, problem.arrival_scv)
    routes = draw_routes(rng, plant, count)
    world = build_world(plant, stream, routes, range(count), drain=True)
    run(world, -1)
    return world, stream, problem


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("memory_of_mean", [None, 8.0])
def test_every_request_ends_in_order_and_everything_is_given_back(kind, memory_of_mean):
    world, stream, _ = drained(3, kind, memory_of_mean=memory_of_mean)
    rows = world.requests
    first_from_prefill = kind == "random, few connections"
    assert np.isfinite(rows["finish_s"]).all()
    assert np.isfinite(rows["first_token_s"]).all()
    assert (rows["prefill_start_s"] >= rows["arrival_s"]).all()
    assert (rows["prefill_end_s"] >= rows["prefill_start_s"]).all()
    arrived = rows["dropped"] == 0
    assert (rows["transfer_end_s"] >= rows["transfer_start_s"])[arrived].all()
    if not first_from_prefill:
        assert (rows["first_token_s"] > rows["prefill_end_s"]).all()
    assert (rows["finish_s"] >= rows["first_token_s"] - 1e-9).all()
    assert (rows["relay_tokens"] <= rows["tokens"]).all()
    assert (rows["relay_tokens"][rows["relayed"] == 0] == 0).all()
    # nothing is left anywhere
    assert world.control[0]["events"] == 0
    for name in ("active", "held", "waiting", "stalled"):
        assert (world.stations[name] == 0).all(), name
    assert (world.stations["root"] == -1).all()
    assert (world.engines["busy_servers"] == 0).all()
    np.testing.assert_allclose(world.engines["held_bytes"], 0.0, atol=1.0)
    assert (world.queues["waiting"] == 0).all()
    # the line carried exactly the bytes that were to be sent
    lines = world.stations["kind"] == 1
    links = world.lanes["link"][rows["lane"]]
    sent = stream.types.transfer_bytes[stream.kind][links >= 0].sum()
    if arrived.all():
        assert world.stations["work"][lines].sum() == pytest.approx(sent, rel=1e-9)
    else:
        assert kind == "dropped"
        kept = (links >= 0) & arrived
        least = stream.types.transfer_bytes[stream.kind][kept].sum()
        assert least < world.stations["work"][lines].sum() < sent


@pytest.mark.parametrize("kind", ["as it comes", "random, few connections"])
def test_prefill_serves_in_order_of_arrival(kind):
    world, _, _ = drained(5, kind)
    rows = world.requests
    for queue in np.unique(rows["queue"]):
        starts = rows["prefill_start_s"][rows["queue"] == queue]
        assert (np.diff(starts) >= 0).all()


def test_less_memory_never_makes_prefill_faster():
    free, _, _ = drained(7, "as it comes")
    tight, _, _ = drained(7, "as it comes", memory_of_mean=3.0)
    waits = [w.requests["prefill_start_s"] - w.requests["arrival_s"] for w in (free, tight)]
    assert (waits[1] >= waits[0] - 1e-9).all()
    assert waits[1].mean() > 1.05 * waits[0].mean()


@pytest.mark.parametrize("decoding", ["fluid", "stepwise"])
def test_little_holds_at_every_station(decoding):
    # number = rate * time, from integrals over time on one side, requests on the other
    problem, candidate = random_problem(4)
    options = SimulationOptions(requests=60_000, replications=1, decoding=decoding)
    result = simulate(problem, candidate, options, keep_samples=True)
    times = result.samples[0]
    rate = result.throughput_requests_per_s.mean
    use = result.uses
    prefill = use["prefill-0 prefill gpu-0 tp8"]
    pool = problem.pools[0]
    mean_service = problem.atoms.mean(pool.service_s)
    assert prefill.waiting.mean == pytest.approx(rate * times["prefill"].mean(), rel=0.05)
    assert prefill.active.mean == pytest.approx(rate * mean_service, rel=0.05)
    line = use["prefill-0-decode-0"]
    delay = problem.lanes[0].rtt_s / 2 + problem.lanes[0].overhead_s
    assert line.active.mean == pytest.approx(rate * (times["transfer_s"].mean() - delay), rel=0.05)
    # a slot of main decode is held from before the transfer to the last token
    decode = use["decode-0 decode mem-0 dp8"]
    began = times["prefill"] + times["decode_slot"]
    ended_there = times["relay_tokens"] < times["output_tokens"]
    kinds = times["e2e_s"] - began
    held = kinds[ended_there].mean() - mean_service
    assert decode.held.mean == pytest.approx(rate * held, rel=0.08)


def test_same_seed_same_numbers_whatever_the_jobs():
    problem, candidate = random_problem(1, KINDS["many sites"][0])
    one = simulate(problem, candidate, replace(SHORT, jobs=1))
    two = simulate(problem, candidate, replace(SHORT, jobs=2))
    other = simulate(problem, candidate, replace(SHORT, seed=1))
    assert one.ttft_s == two.ttft_s
    assert one.uses == two.uses
    assert one.ttft_s != other.ttft_s


def test_progress_reaches_one_and_never_falls():
    problem, candidate = random_problem(1)
    seen = []
    simulate(problem, candidate, replace(SHORT, jobs=1), progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)
    assert len(seen) >= 20


@pytest.mark.parametrize("jobs", [1, 2])
def test_interrupt_stops_all_runs_soon(jobs):
    problem, candidate = random_problem(1)
    calls = []

    def interrupt(share):
        calls.append(share)
        if len(calls) == 3:
            raise KeyboardInterrupt

    options = replace(SHORT, replications=8, jobs=jobs)
    with pytest.raises(KeyboardInterrupt):
        simulate(problem, candidate, options, progress=interrupt)
    assert len(calls) < 80  # of 160: the runs under way may end, the others never start


def test_routes_take_the_shares_of_the_candidate():
    problem, candidate = random_problem(2, KINDS["many sites"][0])
    plant = build_plant(problem, candidate, SHORT)
    routes = draw_routes(np.random.default_rng(0), plant, 200_000)
    shares = np.bincount(routes["lane"], minlength=len(problem.lanes)) / 200_000
    flows = np.array(candidate.flows_per_s)
    np.testing.assert_allclose(shares, flows / flows.sum(), atol=0.005)
    # pools of a site are loaded equally by default, as told otherwise
    site = problem.pool_indices("prefill-1", "prefill")
    capacity = np.array(
        [candidate.engines[i] / problem.atoms.mean(problem.pools[i].service_s) for i in site]
    )
    counts = np.array([(routes["pool"] == i).sum() for i in site])
    np.testing.assert_allclose(counts / counts.sum(), capacity / capacity.sum(), atol=0.01)
    told = draw_routes(np.random.default_rng(0), plant, 50_000, {site[0]: 3.0, site[1]: 1.0})
    counts = np.array([(told["pool"] == i).sum() for i in site])
    assert counts[0] / counts.sum() == pytest.approx(0.75, abs=0.01)


def test_periods_are_mixed_by_their_share_of_the_traffic():
    problem, candidate = random_problem(6, ProblemOptions(load=(0.6, 0.65)))
    options = SimulationOptions(requests=40_000, replications=2)
    day = replace(
        problem,
        period_multipliers=np.array([1.0, 0.4]),
        period_weights=np.array([0.3, 0.7]),
        limits=(Limit("ttft", 90.0, 2.0, "ttft_p90"),),
    )
    quiet = replace(candidate, flows_per_s=tuple(0.4 * f for f in candidate.flows_per_s))
    limits = {"limits": day.limits}
    busy_alone = simulate(replace(problem, **limits), candidate, options)
    quiet_alone = simulate(replace(problem, **limits), quiet, options)
    mixed = simulate(day, candidate, options)
    for name in ("mean",):
        expected = 0.3 * getattr(busy_alone.ttft_s, name).mean
        expected += 0.7 * getattr(quiet_alone.ttft_s, name).mean
        assert getattr(mixed.ttft_s, name).mean == pytest.approx(expected, rel=0.05)
    share = 0.3 * busy_alone.within["ttft_p90"].mean + 0.7 * quiet_alone.within["ttft_p90"].mean
    assert mixed.within["ttft_p90"].mean == pytest.approx(share, abs=0.01)
    # over time, the quiet period lasts longer than its share of the traffic
    label = problem.pools[0].label
    peak, low = (r.uses[label].utilization.mean for r in (busy_alone, quiet_alone))
    lasts = np.array([0.3 / 1.0, 0.7 / 0.4])
    expected = float(lasts @ [peak, low] / lasts.sum())
    assert mixed.uses[label].utilization.mean == pytest.approx(expected, rel=0.05)


def test_overload_shows_as_full_use_and_growing_waits():
    rng = np.random.default_rng(0)
    stream = requests(poisson(rng, 20_000, 1.5), service_s=1.0)
    result = send(fleet(), stream)
    assert result.uses["a prefill x s"].utilization.mean == pytest.approx(1.0, abs=0.01)
    waits = result.samples[0]["prefill"]
    assert waits[-1_000:].mean() > 5 * waits[:1_000].mean()


def test_interval_is_that_of_students_t():
    # t(3, 0.975) = 3.182446 from the table; sample 1, 2, 3, 4 has s = 1.290994
    found = Estimate.of([1.0, 2.0, 3.0, 4.0])
    assert found.mean == 2.5
    assert found.half_width == pytest.approx(3.182446 * 1.290994 / 2, rel=1e-5)
    assert np.isnan(Estimate.of([1.0]).half_width)
    assert np.isnan(Estimate.of([]).mean)


def test_intervals_cover_the_truth_as_often_as_they_say():
    # M/M/1 at 0.5: the mean wait is 1; 90 % intervals of 4 replications, 40 of them
    covered = 0
    plant = fleet()
    for trial in range(40):
        means = []
        for part in range(4):
            rng = np.random.default_rng([trial, part])
            arrivals = poisson(rng, 2_000, 0.5)
            stream = requests(arrivals, service_s=rng.exponential(1.0, 2_000))
            means.append(float(send(plant, stream).samples[0]["prefill"].mean()))
        found = Estimate.of(means, 0.9)
        covered += abs(found.mean - 1.0) <= found.half_width
    # binomial(40, 0.9): below 30 has probability 0.0015
    assert covered >= 30


def test_weighted_percentiles_repeat_a_value_as_often_as_it_weighs():
    values = np.array([3.0, 1.0, 2.0])
    assert weighted_percentiles(values, np.ones(3), [50.0]) == pytest.approx([2.0])
    many = np.repeat(np.arange(1000.0), 3)
    twice = weighted_percentiles(np.arange(1000.0), np.full(1000, 2.0) + np.eye(1000)[0], [90.0])
    assert twice == pytest.approx(np.percentile(many, [90.0]), abs=1.0)


# --- independence and compilation ----------------------------------------------------------------


def test_simulation_shares_nothing_with_the_model_but_the_problem():
    folder = Path(pdd_plan.simulation.__file__).parent
    allowed = {"pdd_plan.errors", "pdd_plan.fleet.problem"}
    allowed |= {"pdd_plan.workload.requests", "pdd_plan.workload.routing"}  # trace replay
    for source in folder.glob("*.py"):
        for node in ast.walk(ast.parse(source.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [a.name for a in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                if name and name.startswith("pdd_plan"):
                    assert name in allowed or name.startswith("pdd_plan.simulation"), source


def test_package_itself_loads_without_numba():
    code = "import sys, pdd_plan.simulation; sys.exit('numba' in sys.modules)"
    root = Path(pdd_plan.__file__).parent.parent
    env = {**os.environ, "PYTHONPATH": str(root)}
    assert subprocess.run([sys.executable, "-c", code], env=env, check=False).returncode == 0


PLAIN = """
import sys
sys.path[:0] = {paths!r}
from dataclasses import astuple
from tests.problems import random_problem
from pdd_plan.simulation import SimulationOptions, simulate
from pdd_plan.simulation.compiled import COMPILED
r = simulate(*random_problem(2), SimulationOptions(requests=400, replications=2))
print(COMPILED, repr(r.ttft_s.p90.mean), repr(r.handoff_gap_s.mean.mean))
"""


def test_plain_python_gives_the_same_numbers():
    paths = [str(Path(__file__).parent.parent.parent)]
    printed = []
    for disabled in ("0", "1"):
        found = subprocess.run(
            [sys.executable, "-c", PLAIN.format(paths=paths)],
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled},
            capture_output=True,
            text=True,
            check=True,
        )
        printed.append(found.stdout.split())
    assert printed[0][0] == "True"
    assert printed[1][0] == "False"
    compiled, plain = ([float(x) for x in row[1:]] for row in printed)
    assert compiled == pytest.approx(plain, rel=1e-9)


def test_long_runs_without_numba_are_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr(compiled_module, "COMPILED", False)
    with pytest.raises(InputError) as raised:
        simulate(*random_problem(1), SimulationOptions(requests=200_000))
    assert "pdd-plan[sim]" in raised.value.issues[0].help


@pytest.mark.long
def test_speed_of_one_core():
    problem, candidate = random_problem(4, ProblemOptions(rate_per_s=(10.0, 15.0)))
    options = SimulationOptions(requests=200_000, replications=2, jobs=1)
    simulate(problem, candidate, replace(options, requests=1_000))
    assert simulate(problem, candidate, options).simulated_per_s > 20_000
