"""Aggregated engines: prefill and decode on the same chips, as most fleets run today.

A baseline to compare plans with. An engine works in passes; a pass holds one token of every request
in the batch and, while a prompt is prefilled, a chunk of it (chunked prefill).

- Prefill slows decode: of each second a share phi = rate * E[S] / servers is prefill, so a token
  takes t(B) / (1 - phi), and the batch is what Little's law says with that.
- Decode slows prefill: a prompt of n chunks takes its own time and n decode steps.
- A prompt waits for a free prefill server of any engine, first come, first served (M/G/c).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pdd_plan.errors import UnstableQueueError
from pdd_plan.fleet.laws import Law, law_of_points, law_of_sum, mixture
from pdd_plan.fleet.problem import FloatArray, Limit, PoolOption, Problem
from pdd_plan.fleet.purchase import idle_usd_per_hour, paid_chips
from pdd_plan.queueing import (
    BatchingResult,
    TimeGrid,
    continuous_batching,
    waiting_time_pmf,
)

CHUNK_TOKENS = 8192.0
"""Tokens of a prompt that one pass takes; activations are reserved for as many."""

PRECISION = 1e-3
"""Relative precision of the goodput."""


@dataclass(frozen=True)
class AggregatedFleet:
    """Cheapest fleet of aggregated engines at one site.

    Attributes
    ----------
    prefill, decode : PoolOption
        The same engine seen in both roles.
    engines : int
        Number of engines.
    usd_per_hour : float
        Price of the engines, and of chips that are paid but not used [currency/h].
    ttft, tpot : Law
        Predicted latencies.
    utilization : float
        Busy share of prefill servers, decode steps in between included.
    goodput_per_s : float
        Largest rate that keeps every limit [requests/s, at multiplier 1].
    """

    prefill: PoolOption
    decode: PoolOption
    engines: int
    usd_per_hour: float
    ttft: Law
    tpot: Law
    utilization: float
    goodput_per_s: float


@dataclass(frozen=True)
class _State:
    ttft: Law
    ttft_of_part: Mapping[tuple[str, str], Law]
    tpot: Law
    utilization: float
    batching: BatchingResult

    def keeps(self, limits: tuple[Limit, ...], slot_wait: float) -> bool:
        """Whether every limit on TTFT and TPOT holds, and few requests wait for a slot."""
        if self.batching.probability_wait > slot_wait:
            return False
        for limit in limits:
            ttft = self.ttft_of_part[limit.traffic, limit.region]
            law = ttft if limit.metric == "ttft" else self.tpot
            if law.at_limit(limit) > limit.limit_s:
                return False
        return True


def cheapest_aggregated(problem: Problem) -> AggregatedFleet | None:
    """Find the cheapest fleet of aggregated engines of one kind at one prefill site.

    Parameters
    ----------
    problem : Problem
        What is planned; limits on TTFT and TPOT count.

    Returns
    -------
    AggregatedFleet or None
        None where no fleet within stock keeps the limits.
    """
    best: AggregatedFleet | None = None
    for prefill, decode in _engine_kinds(problem):
        most = prefill.max_engines
        if best is not None:
            most = min(most, int(best.usd_per_hour / max(prefill.usd_per_engine_hour, 1e-12)))
        count = _fewest(problem, prefill, decode, most)
        if count is None:
            continue
        usd = _fleet_usd(problem, prefill, count)
        if usd is not None and (best is None or usd < best.usd_per_hour):
            state = _state(problem, prefill, decode, count, problem.arrival_rate_per_s)
            assert state is not None
            reached = _goodput(problem, prefill, decode, count)
            best = AggregatedFleet(
                prefill,
                decode,
                count,
                usd,
                state.ttft,
                state.tpot,
                state.utilization,
                reached,
            )
    return best


def _fleet_usd(problem: Problem, pool: PoolOption, engines: int) -> float | None:
    """Price of engines and of chips paid beside them; None where the site has no room."""
    used = {(pool.site, pool.chip): engines * pool.chips_per_engine}
    paid = paid_chips(problem.terms, used)
    for site, most in problem.site_chips.items():
        if sum(count for key, count in paid.items() if key[0] == site) > most:
            return None
    return engines * pool.usd_per_engine_hour + idle_usd_per_hour(problem.terms, used)


def _engine_kinds(problem: Problem) -> list[tuple[PoolOption, PoolOption]]:
    """Pairs of prefill and decode option that are the same engine."""
    decodes = {(p.site, p.chip, p.shape): p for p in problem.pools if p.role == "decode"}
    return [
        (p, decodes[p.site, p.chip, p.shape])
        for p in problem.pools
        if p.role == "prefill" and (p.site, p.chip, p.shape) in decodes
    ]


def _limits(problem: Problem) -> tuple[Limit, ...]:
    return problem.limits_of("ttft") + problem.limits_of("tpot")


def _keeps(
    problem: Problem, prefill: PoolOption, decode: PoolOption, engines: int, rate_per_s: float
) -> bool:
    state = _state(problem, prefill, decode, engines, rate_per_s)
    return state is not None and state.keeps(_limits(problem), max(problem.slot_waits))


def _fewest(problem: Problem, prefill: PoolOption, decode: PoolOption, most: int) -> int | None:
    """Fewest engines that keep the limits at the demand, by doubling and bisection."""
    rate = problem.arrival_rate_per_s
    high = 1
    while not _keeps(problem, prefill, decode, high, rate):
        if high >= most:
            return None
        high = min(2 * high, most)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if _keeps(problem, prefill, decode, middle, rate):
            high = middle
        else:
            low = middle
    return high if high <= most else None


def _goodput(problem: Problem, prefill: PoolOption, decode: PoolOption, engines: int) -> float:
    low, high = problem.arrival_rate_per_s, 2.0 * problem.arrival_rate_per_s
    while _keeps(problem, prefill, decode, engines, high):
        low, high = high, 2.0 * high
    while high - low > PRECISION * high:
        middle = 0.5 * (low + high)
        if _keeps(problem, prefill, decode, engines, middle):
            low = middle
        else:
            high = middle
    return low


def _state(
    problem: Problem, prefill: PoolOption, decode: PoolOption, engines: int, rate_per_s: float
) -> _State | None:
    """Steady state at the peak of the day, or None where there is none."""
    atoms = problem.atoms
    rate = rate_per_s * problem.peak_multiplier
    servers = engines * prefill.servers_per_engine
    share = rate * float(atoms.weight @ prefill.service_s) / servers
    if share >= 1.0 or not decode.slots:
        return None
    mean_tokens = float(atoms.weight @ atoms.output_tokens)
    try:
        batching = continuous_batching(
            rate, mean_tokens, decode.step_s / (1.0 - share), engines, decode.slots
        )
        between_s = batching.mean_step_s * (1.0 - share)
        chunks = np.ceil(np.maximum(atoms.uncached_tokens, 1.0) / CHUNK_TOKENS)
        service_s = prefill.service_s + chunks * between_s
        first_s = prefill.host_s + decode.first_token_steps * batching.mean_step_s
        known_s = service_s + first_s
        names = dict.fromkeys(("", *(limit.traffic for limit in problem.limits)))
        by_class = {name: _ttft(problem, service_s, known_s, name, servers, rate) for name in names}
    except UnstableQueueError:
        return None
    use = rate * float(atoms.weight @ service_s) / servers
    tpot = law_of_points(batching.step_values_s, batching.step_weights)
    parts = [("", ""), *((limit.traffic, limit.region) for limit in problem.limits)]
    ttft = {part: _seen(problem, prefill.site, by_class[part[0]], part[1]) for part in parts}
    return _State(ttft["", ""], ttft, tpot, use, batching)


def _seen(problem: Problem, site: str, law: Law, region: str) -> Law:
    """Law as users see it, who send requests to a site and get tokens from it."""
    if not problem.regions:
        return law
    delays = [one.rtt_s[site] for one in problem.regions]
    pairs = zip(problem.region_shares(region).tolist(), delays, strict=True)
    return mixture([(share, law.later(delay_s)) for share, delay_s in pairs if share > 0.0])


def _ttft(
    problem: Problem,
    service_s: FloatArray,
    known_s: FloatArray,
    traffic: str,
    servers: int,
    rate_per_s: float,
) -> Law:
    """Time to first token of the requests of a class or all; all of them wait for each other."""
    weight = problem.atoms.weight
    if traffic:
        weight = problem.class_weights[problem.classes.index(traffic)]

    def wait_on(grid: TimeGrid) -> list[FloatArray]:
        return [
            waiting_time_pmf(
                service_s,
                problem.atoms.weight,
                servers,
                rate_per_s,
                grid,
                arrival_scv=problem.arrival_scv,
            )
        ]

    return law_of_sum(known_s, weight, wait_on)
