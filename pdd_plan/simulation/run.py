"""Simulate a candidate: replications, periods of the day, and what they add up to."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_EXCEPTION, CancelledError, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np

from pdd_plan.fleet.problem import Candidate, FloatArray, Problem
from pdd_plan.simulation.compiled import require_compiled
from pdd_plan.simulation.loop import run, settle_all
from pdd_plan.simulation.measures import SimulationResult
from pdd_plan.simulation.observe import Observation, Snapshot, observe
from pdd_plan.simulation.options import Progress, SimulationOptions
from pdd_plan.simulation.plant import Plant, build_plant
from pdd_plan.simulation.records import World
from pdd_plan.simulation.routes import draw_routes
from pdd_plan.simulation.stream import RequestStream, RequestTypes, sample_stream
from pdd_plan.simulation.summary import result_of
from pdd_plan.simulation.world import build_world

CHUNKS = 20
"""Parts of a run between which progress is reported."""

Run = list[tuple[float, Observation, float]]
"""One replication: weight of the period, what was seen, seconds of computing, by period."""


@dataclass(frozen=True)
class Period:
    """A part of the day that is simulated on its own, and its share of all requests."""

    multiplier: float
    weight: float


def simulate(
    problem: Problem,
    candidate: Candidate,
    options: SimulationOptions | None = None,
    *,
    pool_loads: Mapping[int, float] | None = None,
    progress: Progress | None = None,
    keep_samples: bool = False,
) -> SimulationResult:
    """Simulate a candidate from its atoms and arrivals, request by request.

    Parameters
    ----------
    problem : Problem
        Only its atoms, pass times, sizes, lanes and rules are used, no result of the model.
    candidate : Candidate
        What to simulate. Nothing checks that it is stable: an overloaded station shows as a
        utilization of 1 and waits that grow with the length of the run.
    options : SimulationOptions, optional
    pool_loads : mapping of int to float, optional
        Relative loads of the pools of a site and role, by index into ``problem.pools``; equal
        utilization by default.
    progress : callable, optional
        Called with the share done.
    keep_samples : bool
        Keep the times of all measured requests in the result.

    Returns
    -------
    SimulationResult

    Raises
    ------
    InputError
        If traffic flows where nothing serves it, a prompt does not fit its engine, or the run
        is long and numba is not installed.
    """
    options = options or SimulationOptions()
    require_compiled(options.requests * options.replications)
    plant = build_plant(problem, candidate, options)
    types = RequestTypes.of_atoms(problem, candidate.threshold_index)
    scv = problem.arrival_scv if options.arrival_scv is None else options.arrival_scv
    if options.arrivals == "poisson":
        scv = 1.0
    periods = _periods(problem)
    total = float(sum(candidate.flows_per_s))

    def replicate(index: int, report: Progress) -> Run:
        parts = []
        for number, period in enumerate(periods):
            rng = np.random.default_rng([options.seed, index, number])
            rate = total * period.multiplier
            measured, count = _lengths(plant, types, rate, options, period.weight)
            stream = sample_stream(rng, problem, types, count, rate, scv)
            seen, seconds = run_stream(rng, plant, stream, measured, pool_loads, report=report)
            parts.append((period.weight, seen, seconds))
        return parts

    runs = all_replications(replicate, options.replications, options.jobs, len(periods), progress)
    return result_of(plant, runs, options, keep_samples=keep_samples)


def _periods(problem: Problem) -> list[Period]:
    pairs = zip(problem.period_multipliers, problem.period_weights, strict=True)
    return [Period(float(m), float(w)) for m, w in pairs if m > 0.0 and w > 0.0]


def _lengths(
    plant: Plant, types: RequestTypes, rate_per_s: float, options: SimulationOptions, share: float
) -> tuple[range, int]:
    """Measured requests of a period, and all requests with those that follow.

    Later requests keep the load up until the last measured one has ended: as many as arrive
    while the longest answer is made at full batches, at most as many as the run has.
    """
    total = max(math.ceil(options.requests * share), min(options.requests, 2_000))
    warm = int(total * options.warmup_fraction)
    slowest = max(float(plant.problem.pools[i].step_s[-1]) for i in plant.slot_pools)
    after = math.ceil(rate_per_s * float(np.max(types.output_tokens)) * slowest)
    return range(warm, total), total + min(max(after, 1_000), total)


def run_stream(
    rng: np.random.Generator,
    plant: Plant,
    stream: RequestStream,
    measured: range,
    pool_loads: Mapping[int, float] | None = None,
    *,
    drain: bool = False,
    report: Progress | None = None,
) -> tuple[Observation, float]:
    """Send requests through a plant once.

    Parameters
    ----------
    rng : Generator
        Draws lanes, pools and queues.
    plant : Plant
    stream : RequestStream
    measured : range
        Requests to observe.
    pool_loads : mapping, optional
        As in `simulate`.
    drain : bool
        Go on until every request has ended, measured or not.
    report : callable, optional
        Called with the share of the arrivals done.

    Returns
    -------
    Observation, float
        What was seen, and the processor time of the event loop [s].
    """
    routes = draw_routes(rng, plant, len(stream), pool_loads)
    world = build_world(plant, stream, routes, measured, drain=drain)
    started = time.thread_time()
    run(world, measured.start)
    begin = _snapshot(world, stream, measured.start)
    for stop in np.linspace(measured.start, measured.stop, CHUNKS + 1)[1:].astype(int):
        run(world, int(stop))
        if report is not None:
            report((int(stop) - measured.start) / len(measured))
    end = _snapshot(world, stream, measured.stop)
    run(world, -1)
    seconds = time.thread_time() - started
    seen = observe(world, plant, routes["pool"], measured, begin, end)
    if stream.types.traffic is not None:
        kinds = stream.kind[measured.start : measured.stop]
        seen.times["traffic"] = stream.types.traffic[kinds].astype(np.float64)
    if plant.problem.regions:
        add_user_delays(rng, plant.problem, seen.times)
    return seen, seconds


def add_user_delays(
    rng: np.random.Generator, problem: Problem, times: dict[str, FloatArray]
) -> None:
    """Draw the region of each request, and add the way between its user and the sites.

    Parameters
    ----------
    rng : Generator
    problem : Problem
        With regions of users.
    times : dict of str to ndarray
        Of the measured requests; TTFT and end-to-end times change, ``region`` is new.

    Notes
    -----
    A request goes to the site that prefills it; tokens come from the site whose engine makes
    them: the prefill site for those of prefill and relay, the decode site for all others.
    """
    lanes = problem.lanes
    shares = np.array([region.share for region in problem.regions])
    region = rng.choice(shares.size, size=times["ttft_s"].size, p=shares / shares.sum())
    lane = times["lane"].astype(np.int64)
    there = np.array([[r.rtt_s[one.source] / 2 for one in lanes] for r in problem.regions])
    back = np.array([[r.rtt_s[one.target] / 2 for one in lanes] for r in problem.regions])
    at_source, at_target = there[region, lane], back[region, lane]
    relayed = times["relayed"] > 0.0
    first_at_source = relayed | (problem.serving.first_token_from == "prefill")
    ended_there = relayed & (times["relay_tokens"] >= times["output_tokens"] - 0.5)
    times["ttft_s"] += at_source + np.where(first_at_source, at_source, at_target)
    times["e2e_s"] += at_source + np.where(ended_there, at_source, at_target)
    times["region"] = region.astype(np.float64)


def _snapshot(world: World, stream: RequestStream, at: int) -> Snapshot:
    now_s = float(stream.arrival_s[min(at, len(stream) - 1)])
    settle_all(world, now_s)
    return Snapshot.of(world, now_s)


def all_replications(
    replicate: Callable[[int, Progress], Run],
    count: int,
    jobs: int,
    periods: int,
    progress: Progress | None,
) -> list[Run]:
    """Run all replications, several at a time; the compiled loop releases the interpreter.

    Parameters
    ----------
    replicate : callable
        Runs the replication of an index, reporting its progress by period.
    count, jobs : int
        Replications, and how many at a time.
    periods : int
        Times that the progress of a replication goes from 0 to 1.
    progress : callable or None

    Returns
    -------
    list
        What `replicate` returned, in order.
    """
    done: dict[int, float] = {}
    lock = threading.Lock()
    stopped = threading.Event()

    def reporter(index: int) -> Progress:
        state = {"finished": 0, "last": 0.0}

        def report(share: float) -> None:
            if stopped.is_set():
                raise CancelledError
            if share < state["last"]:
                state["finished"] += 1
            state["last"] = share
            with lock:
                done[index] = (state["finished"] + share) / periods
                total = sum(done.values()) / count
            if progress is not None:
                progress(min(total, 1.0))

        return report

    if jobs == 1 or count == 1:
        return [replicate(i, reporter(i)) for i in range(count)]
    with ThreadPoolExecutor(max_workers=min(jobs, count)) as pool:
        waiting = [pool.submit(replicate, i, reporter(i)) for i in range(count)]
        try:
            ended, _ = wait(waiting, return_when=FIRST_EXCEPTION)
            for one in ended:
                one.result()  # raises what a run has raised, while others still go on
            return [one.result() for one in waiting]
        except BaseException:  # an interrupt as well: the others stop at their next report
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
