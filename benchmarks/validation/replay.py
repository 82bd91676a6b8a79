"""Real traces replayed request by request, beside the prediction from their request mix."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.pages import table
from benchmarks.validation import charts
from benchmarks.validation.document import Section, image, seconds, signed
from pdd_plan.fleet.build import build_problem
from pdd_plan.fleet.evaluate import Evaluation, evaluate
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.scenario import load_scenario
from pdd_plan.simulation import RequestStream, SimulationOptions, replay_stream, simulate_trace
from pdd_plan.simulation.measures import SimulationResult
from pdd_plan.workload import Atoms, build_workload

FloatArray = NDArray[np.float64]
Report = Callable[[str], None]

TOLERANCE = 0.10
"""Accepted relative error of P90."""

SHUFFLES = 8
"""Replays with the sizes in random order, to see what chance does in a trace of this length."""

USUAL_LOAD = 0.82
"""Load of prefill up to which the prediction must hold."""

LOADS = (0.5, 0.65, 0.75, 0.8, 0.85)
"""Loads of prefill that engine counts come nearest to."""

SCENARIO = """
schema_version: 1
name: replay
model: {model}
precision: {{weights: fp8, kv_cache: {cache}}}
workload:
  trace: {{path: {path}, format: {format}, seed: {seed}}}
  rate: {rate} req/s
slo: {{ttft_p90: 5 s}}
sites:
  home:
    roles: [prefill, relay]
    chips: {{h200: {{available: 9999, price: 4 USD/h}}}}
  away:
    roles: [decode]
    chips: {{h20: {{available: 9999, price: 1 USD/h}}}}
links:
  - {{from: home, to: away, bandwidth: {{min: 10 Gbps, max: 800 Gbps, step: 10 Gbps}},
      price: 800 USD/Gbps/month, rtt: 28 ms}}
"""


@dataclass(frozen=True)
class TraceKind:
    """A public trace, and what serves it here.

    Attributes
    ----------
    title, file, format : str
    model, cache : str
        Model, and data type of its KV cache.
    seen_per_s, fresh_per_s : tuple of float
        Rates that it is stretched to [requests/s]: looked at while the model was made, and not.
    seeds : tuple of int
        Draws of what the trace leaves open, the starts of sessions, that are replayed. The
        prediction is made from another one.
    """

    title: str
    file: str
    format: str
    model: str
    cache: str
    seen_per_s: tuple[float, ...]
    fresh_per_s: tuple[float, ...]
    seeds: tuple[int, ...]


TRACES = (
    TraceKind(
        "Mooncake conversation", "mooncake_fast25_conversation.jsonl.gz", "mooncake",
        "deepseek-v3", "bf16", (3.4, 10.0, 40.0), (5.0, 15.0, 30.0), (0,),
    ),
    TraceKind(
        "Claude Code sessions", "claude_code_weka_rle.jsonl.gz", "claude_code",
        "deepseek-v4-pro", "fp8", (20.0, 60.0), (50.0, 80.0), tuple(range(1, 25)),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Replay:
    """One fleet under one trace: prediction, replays by draw, replays in random order."""

    kind: TraceKind
    rate_per_s: float
    engines: str
    load: float
    predicted: Evaluation
    plain: Evaluation
    replays: tuple[SimulationResult, ...]
    shuffled_p90_s: tuple[float, ...]

    def replayed_s(self, name: str) -> float:
        """Mean over draws of a percentile of TTFT, such as ``p90`` [s]."""
        return float(np.mean([getattr(one.ttft_s, name).mean for one in self.replays]))

    def error(self, name: str, of: Evaluation | None = None) -> float:
        """Relative error of a predicted percentile, such as ``p90``."""
        quantile = (of or self.predicted).ttft.quantile(float(name[1:]) / 100.0)
        return quantile / self.replayed_s(name) - 1.0


def replay_section(data: Path | None, report: Report) -> Section | None:
    """Replay the public traces; None where their folder is absent."""
    if data is None:
        return None
    found: list[Replay] = []
    for kind in TRACES:
        for rate in kind.seen_per_s + kind.fresh_per_s:
            found.extend(replays(kind, rate, data))
            report(f"{kind.title} at {rate:g} req/s")
    usual = [one for one in found if one.load <= USUAL_LOAD]
    near = [one for one in usual if abs(one.error("p90")) <= TOLERANCE]
    worst = max(usual, key=lambda one: abs(one.error("p90")))
    summary = (
        f"Raw traces replayed at loads up to {USUAL_LOAD}: P90 of TTFT within 10 % in {len(near)} "
        f"of {len(usual)} fleets; the largest error is {signed(worst.error('p90'))} "
        f"({worst.kind.title}, {worst.rate_per_s:g} req/s, load {worst.load:.2f})",
    )
    return Section("Real traces replayed", _body(found), _charts(found), summary, _limits(found))


def replays(kind: TraceKind, rate: float, data: Path, shuffles: int = SHUFFLES) -> Iterator[Replay]:
    """Predict and replay fleets of several sizes under a trace at a rate.

    Parameters
    ----------
    kind : TraceKind
    rate : float
        Requests a second that the trace is stretched to.
    data : Path
        Folder of public data.
    shuffles : int
        Replays with the sizes in random order.
    """
    problem = _problems(kind, rate, 0, data)[0]
    drawn = [_problems(kind, rate, seed, data) for seed in kind.seeds]
    for pool, count in _counts(problem):
        candidate = _fleet(problem, pool, count)
        streams = [replay_stream(p, candidate, exact, arrival) for p, exact, arrival in drawn]
        predicted = evaluate(problem, candidate)
        option = problem.pools[pool]
        yield Replay(
            kind,
            rate,
            f"{count} x {option.chips_per_engine} {option.chip}",
            predicted.pools[pool].utilization,
            predicted,
            evaluate(replace(problem.without_record(), arrival_scv=1.0), candidate),
            tuple(_run(problem, candidate, stream) for stream in streams),
            tuple(_shuffled(problem, candidate, streams[0], shuffles)),
        )


def _problems(
    kind: TraceKind, rate: float, seed: int, data: Path
) -> tuple[Problem, Problem, FloatArray]:
    """Problem of the compressed trace, the same of every request, and the arrivals."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "replay.yaml"
        text = SCENARIO.format(
            model=kind.model,
            cache=kind.cache,
            path=data / "traces" / kind.file,
            format=kind.format,
            seed=seed,
            rate=rate,
        )
        path.write_text(text, encoding="utf-8")
        scenario = load_scenario(path)
        workload = build_workload(scenario)
        trace = workload.raw
        assert trace is not None
        assert trace.cached_tokens is not None
        each = Atoms(
            trace.input_tokens,
            trace.cached_tokens,
            trace.cached_tokens,
            trace.output_tokens,
            np.full(len(trace), 1.0 / len(trace)),
        )
        problem = build_problem(scenario, workload).problem
        exact = build_problem(scenario, replace(workload, atoms=each)).problem
    return problem, exact, trace.arrival_s


def _counts(problem: Problem) -> Iterator[tuple[int, int]]:
    """The prefill option with the fastest pass, and the counts of engines nearest to the loads."""
    atoms, rate = problem.atoms, problem.arrival_rate_per_s
    options = problem.pool_indices("home", "prefill")
    pool = min(
        options,
        key=lambda i: (
            atoms.mean(problem.pools[i].service_s),
            problem.pools[i].servers_per_engine,
        ),
    )
    option = problem.pools[pool]
    work = rate * atoms.mean(option.service_s) / option.servers_per_engine
    counts = {max(round(work / load), math.ceil(work / 0.9)) for load in LOADS}
    for count in sorted(counts, reverse=True):
        yield pool, count


def _fleet(problem: Problem, pool: int, count: int) -> Candidate:
    """Engines and line from offered work alone, without relay."""
    rate, lane, atoms = problem.arrival_rate_per_s, problem.lanes[0], problem.atoms
    engines = [0] * len(problem.pools)
    engines[pool] = count
    decode = max(problem.pool_indices(lane.target, "decode"), key=lambda i: problem.pools[i].slots)
    option = problem.pools[decode]
    batch = max(int(0.6 * option.slots), 1)
    tokens_per_s = rate * atoms.mean(atoms.output_tokens)
    engines[decode] = math.ceil(tokens_per_s * option.step_s[batch - 1] / batch)
    usable = lane.bytes_per_s * lane.efficiency
    level = int(np.flatnonzero(rate * atoms.mean(problem.transfer_bytes) <= 0.6 * usable)[0])
    others = len(problem.lanes) - 1
    return Candidate(0, 0.01, tuple(engines), (level, *[-1] * others), (rate, *[0.0] * others))


def _run(problem: Problem, candidate: Candidate, stream: RequestStream) -> SimulationResult:
    # Every request counts: leaving the first ones out would change the mix that is predicted.
    options = SimulationOptions(warmup_fraction=0.0, replications=1)
    return simulate_trace(problem, candidate, stream, options, keep_samples=True)


def _shuffled(
    problem: Problem, candidate: Candidate, stream: RequestStream, times: int
) -> Iterator[float]:
    for seed in range(times):
        kind = np.random.default_rng(seed).permutation(stream.kind)
        run = _run(problem, candidate, replace(stream, kind=kind))
        yield run.ttft_s.p90.mean


def _row(one: Replay) -> tuple[str, ...]:
    said = signed(one.error("p90"))
    draws = [run.ttft_s.p90.mean for run in one.replays]
    spread = f" ({min(draws):.3g}-{max(draws):.3g})" if len(draws) > 1 else ""
    fresh = " *" if one.rate_per_s in one.kind.fresh_per_s else ""
    return (
        f"{one.kind.title}, {one.rate_per_s:g} req/s{fresh}",
        one.engines,
        f"{one.load:.2f}",
        seconds(one.predicted.ttft.quantile(0.9)),
        seconds(one.replayed_s("p90")) + spread,
        said if abs(one.error("p90")) <= TOLERANCE else f"**{said}**",
        signed(one.error("p90", one.plain)),
        f"{min(one.shuffled_p90_s):.3g}-{max(one.shuffled_p90_s):.3g} s",
        signed(one.error("p50")),
        signed(one.error("p99")),
    )


def _body(found: list[Replay]) -> str:
    heads = (
        "trace", "prefill engines", "load", "P90 predicted", "P90 replayed", "error",
        "Poisson instead", "P90, sizes shuffled", "error of P50", "of P99",
    )  # fmt: skip
    return "\n\n".join(
        [
            "The model sees a trace as at most 1,000 weighted request types, a rate, and what its "
            "order and times do to a single queue ([theory](theory.md#waiting-for-prefill)). The "
            "replay sends the requests themselves, in their order and at their times, stretched "
            "to the rate. Prefill by the fastest engine shape for the mix, no relay, line at most "
            "0.6 loaded. Session starts of Claude Code are not published: "
            f"{len(TRACES[1].seeds)} draws are replayed, their mean is compared and their range "
            "shown; the prediction knows only the burstiness of one other draw. `Poisson instead` "
            "is the error if arrivals were Poisson. The column after it replays the same times "
            "with the "
            f"sizes in {SHUFFLES} random orders: what chance alone does to a P90 in a trace of "
            "this length. Rates with * were not looked at before the model was finished.",
            table(heads, [_row(one) for one in found], "llrrrrrrrr"),
            image("validation-replay.svg", "Distribution of TTFT, predicted and replayed"),
        ]
    )


def _charts(found: list[Replay]) -> dict[str, str]:
    panels = []
    for kind in TRACES:
        here = [one for one in found if one.kind is kind and one.load <= USUAL_LOAD]
        one = max(here, key=lambda x: x.load)
        samples = one.replays[0].samples
        assert samples is not None
        seen = np.sort(samples[0]["ttft_s"])
        times = np.geomspace(max(seen[0], 1e-2), seen[-1], 160)
        replayed = np.searchsorted(seen, times) / seen.size
        name = f"{kind.title}, {one.rate_per_s:g} req/s, load {one.load:.2f}"
        panels.append((name, times, one.predicted.ttft.curve(times), replayed))
    return {
        "validation-replay.svg": charts.laws(
            "TTFT of real traces", panels, ("predicted", "replayed"), "TTFT, s"
        )
    }


def _limits(found: list[Replay]) -> tuple[str, ...]:
    off = [one for one in found if abs(one.error("p90")) > TOLERANCE]
    if not off:
        return ()
    loads = ", ".join(f"{one.load:.2f}" for one in off)
    return (
        f"**Single traces near full load.** In {len(off)} of {len(found)} replays (loads {loads}) "
        "P90 is off by more than 10 %. What bursts and drifts pile up is found from a single fast "
        "server and spread evenly over the engines; near full load that is rough. For sessions of "
        "unknown start single draws differ by a factor of two there, so no prediction can hold "
        "for each.",
    )
