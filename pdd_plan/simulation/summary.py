"""Add up replications and periods to one result."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pdd_plan.fleet.problem import FloatArray, Limit, Metric, Problem
from pdd_plan.simulation.measures import (
    Estimate,
    Sample,
    SimulationResult,
    StationUse,
    Summary,
    summarize,
)
from pdd_plan.simulation.observe import Observation
from pdd_plan.simulation.options import SimulationOptions
from pdd_plan.simulation.plant import Plant

Run = Sequence[tuple[float, Observation, float]]
"""One replication: weight of the period, observation, seconds of computing, by period."""

Choice = Callable[[dict[str, FloatArray]], np.ndarray]

METRICS: tuple[Metric, ...] = ("ttft", "tpot", "handoff_gap", "e2e")
ROUTES = ("direct", "relay", "local")
WAITS = ("prefill", "decode_slot", "connection", "relay_slot")


def result_of(
    plant: Plant, runs: Sequence[Run], options: SimulationOptions, *, keep_samples: bool = False
) -> SimulationResult:
    """Add all replications up to one result.

    Parameters
    ----------
    plant : Plant
    runs : sequence of runs
        One a replication, each with its periods.
    options : SimulationOptions
    keep_samples : bool

    Returns
    -------
    SimulationResult
    """
    level = options.confidence

    def summary(name: str, choose: Choice | None = None) -> Summary:
        return summarize([_sample(run, name, choose) for run in runs], level)

    def estimate(value: Callable[[Run], float]) -> Estimate:
        return Estimate.of([value(run) for run in runs], level)

    seconds = sum(part[2] for run in runs for part in run)
    measured = sum(part[1].times["ttft_s"].size for part in runs[0])
    simulated = measured * len(runs) / max(1.0 - options.warmup_fraction, 1e-9)
    return SimulationResult(
        ttft_s=summary("ttft_s"),
        ttft_by_route_s=_by_route(summary),
        ttft_by_path_s=_by_path(runs, summary),
        tpot_s=summary("tpot_s"),
        tpot_of_tokens_s=estimate(_tpot_of_tokens),
        e2e_s=summary("e2e_s"),
        handoff_gap_s=summary("handoff_gap_s"),
        waits_s={name: summary(name) for name in WAITS},
        wait_probabilities={
            name: estimate(lambda run, name=name: 1.0 - _sample(run, name).share_within(0.0))  # type: ignore[misc]
            for name in WAITS
        },
        transfer_s=summary("transfer_s"),
        by_class_s={
            name: {metric: summary(f"{metric}_s", _having("traffic", kind)) for metric in METRICS}
            for kind, name in enumerate(plant.problem.classes)
        },
        by_region_s={
            one.name: {m: summary(f"{m}_s", _having("region", number)) for m in METRICS}
            for number, one in enumerate(plant.problem.regions)
        },
        within={
            limit.key: estimate(
                lambda run, limit=limit: _sample(  # type: ignore[misc]
                    run, f"{limit.metric}_s", _choice_of(plant.problem, limit)
                ).share_within(limit.limit_s)
            )
            for limit in plant.problem.limits
        },
        uses=_uses(runs, level),
        relay_request_fraction=estimate(lambda run: _mean(run, "relayed")),
        relay_token_fraction=estimate(
            lambda run: _mean(run, "relay_tokens") / _mean(run, "output_tokens")
        ),
        ended_on_relay_fraction=estimate(_ended_on_relay),
        recompute_s=estimate(_recompute_s),
        throughput_requests_per_s=estimate(lambda run: _rate(run, None)),
        throughput_tokens_per_s=estimate(lambda run: _rate(run, "output_tokens")),
        requests=measured,
        replications=len(runs),
        seconds=seconds,
        simulated_per_s=simulated / max(seconds, 1e-9),
        samples=tuple(_columns(run) for run in runs) if keep_samples else None,
    )


def _having(name: str, value: int) -> Choice:
    """Choose the requests of a traffic class or region."""
    return lambda times: times[name] == value


def _choice_of(problem: Problem, limit: Limit) -> Choice | None:
    """Choose the requests that a limit is about."""
    if limit.traffic:
        return _having("traffic", problem.classes.index(limit.traffic))
    if limit.region:
        names = [region.name for region in problem.regions]
        return _having("region", names.index(limit.region))
    return None


def _sample(run: Run, name: str, choose: Choice | None = None) -> Sample:
    parts = []
    for weight, seen, _ in run:
        values = seen.times[name]
        here = np.isfinite(values)
        if choose is not None:
            here &= choose(seen.times)
        share = weight / values.size
        parts.append(Sample(values[here], np.full(int(here.sum()), share)))
    return Sample.joined(parts)


def _columns(run: Run) -> dict[str, FloatArray]:
    names = run[0][1].times
    return {name: np.concatenate([seen.times[name] for _, seen, _ in run]) for name in names}


def _mean(run: Run, name: str) -> float:
    weights = sum(weight for weight, _, _ in run)
    return sum(weight * float(seen.times[name].mean()) for weight, seen, _ in run) / weights


def _by_route(summary: Callable[..., Summary]) -> dict[str, Summary]:
    found = {}
    for number, route in enumerate(ROUTES):
        result = summary("ttft_s", lambda times, number=number: times["route"] == number)
        if result.count:
            found[route] = result
    return found


def _by_path(
    runs: Sequence[Run], summary: Callable[..., Summary]
) -> dict[tuple[int, int], Summary]:
    pairs = {
        (int(lane), int(pool))
        for run in runs
        for _, seen, _ in run
        for lane, pool in np.unique(
            np.column_stack([seen.times["lane"], seen.times["pool"]]), axis=0
        )
    }
    return {
        (lane, pool): summary(
            "ttft_s",
            lambda t, lane=lane, pool=pool: (t["lane"] == lane) & (t["pool"] == pool),
        )
        for lane, pool in sorted(pairs)
    }


def _tpot_of_tokens(run: Run) -> float:
    spent = tokens = 0.0
    for weight, seen, _ in run:
        times = seen.times
        gaps = np.maximum(times["output_tokens"] - 1.0, 0.0)
        spent += weight * float(np.nansum(times["tpot_s"] * gaps)) / gaps.size
        tokens += weight * float(gaps.sum()) / gaps.size
    return spent / tokens if tokens > 0.0 else float("nan")


def _ended_on_relay(run: Run) -> float:
    relayed = ended = 0.0
    for weight, seen, _ in run:
        times = seen.times
        here = times["relayed"] > 0.0
        all_made = times["relay_tokens"] >= times["output_tokens"] - 0.5
        relayed += weight * float(here.mean())
        ended += weight * float((here & all_made).mean())
    return ended / relayed if relayed > 0.0 else float("nan")


def _rate(run: Run, name: str | None) -> float:
    amount = span_s = 0.0
    for weight, seen, _ in run:
        count = seen.times["ttft_s"].size
        total = float(count) if name is None else float(seen.times[name].sum())
        amount += weight * total / count
        span_s += weight * seen.span_s / count
    return amount / span_s if span_s > 0.0 else float("nan")


def _recompute_s(run: Run) -> float:
    spent = requests = 0.0
    for weight, seen, _ in run:
        count = seen.times["ttft_s"].size
        spent += weight * seen.recomputing * seen.span_s / count
        requests += weight
    return spent / requests


def _uses(runs: Sequence[Run], level: float) -> dict[str, StationUse]:
    """Averages over time: periods count by how long they last, share of requests over rate."""
    uses = {}
    for label, first in runs[0][0][1].uses.items():
        rows = []
        for run in runs:
            lasts = np.array([w * s.span_s / s.times["ttft_s"].size for w, s, _ in run])
            values = np.array([seen.uses[label][:4] for _, seen, _ in run])
            total = float(lasts.sum())
            rows.append(lasts @ values / total if total > 0.0 else np.full(4, np.nan))
        columns = np.stack(rows).T
        used, active, held, waiting = (Estimate.of(c, level) for c in columns)
        uses[label] = StationUse(used, active, held, waiting, first[4])
    return uses
