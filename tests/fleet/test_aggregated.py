"""Aggregated engines: limits in which the answer is known, and the search for the fewest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pdd_plan.fleet.aggregated import CHUNK_TOKENS, cheapest_aggregated
from pdd_plan.fleet.problem import Limit, Problem
from tests.problems import ProblemOptions, random_problem


def local_problem(seed: int = 0) -> Problem:
    """A problem in which one engine kind stands at home in both roles."""
    problem, _ = random_problem(seed, ProblemOptions(local=True))
    home = tuple(
        replace(pool, shape="tp8", usd_per_engine_hour=30.0)
        for pool in problem.pools
        if pool.site == "prefill-0" and pool.role in ("prefill", "decode")
    )
    return replace(problem, pools=home, lanes=tuple(x for x in problem.lanes if x.local))


def test_an_almost_idle_fleet_takes_the_bare_times() -> None:
    """No queue and a batch of one: the pass, one step a chunk, and the first step."""
    problem = replace(local_problem(), arrival_rate_per_s=1e-6)
    fleet = cheapest_aggregated(problem)
    assert fleet is not None
    assert fleet.engines == 1
    atoms = problem.atoms
    step_s = float(fleet.decode.step_s[0])
    chunks = np.ceil(np.maximum(atoms.uncached_tokens, 1.0) / CHUNK_TOKENS)
    first = fleet.decode.first_token_steps * step_s + fleet.prefill.host_s
    mean = float(atoms.weight @ (fleet.prefill.service_s + chunks * step_s)) + first
    assert fleet.ttft.mean == pytest.approx(mean, rel=2e-3)
    assert fleet.tpot.mean == pytest.approx(step_s, rel=2e-3)


@pytest.mark.parametrize("seed", range(4))
def test_one_engine_fewer_misses_a_limit(seed: int) -> None:
    problem = local_problem(seed)
    fleet = cheapest_aggregated(problem)
    assert fleet is not None
    assert fleet.goodput_per_s >= problem.arrival_rate_per_s
    pools = tuple(replace(pool, max_engines=fleet.engines - 1) for pool in problem.pools)
    assert cheapest_aggregated(replace(problem, pools=pools)) is None


def test_more_load_takes_more_engines_and_a_tighter_limit_too() -> None:
    problem = local_problem(1)
    rates = [problem.arrival_rate_per_s * factor for factor in (0.5, 1.0, 2.0)]
    counts = []
    for rate in rates:
        fleet = cheapest_aggregated(replace(problem, arrival_rate_per_s=rate))
        assert fleet is not None
        counts.append(fleet.engines)
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]
    limits = tuple(
        replace(x, limit_s=0.6 * x.limit_s) if x.metric == "tpot" else x for x in problem.limits
    )
    tighter = cheapest_aggregated(replace(problem, limits=limits))
    assert tighter is None or tighter.engines >= counts[1]


def test_prefill_slows_decode_and_decode_slows_prefill() -> None:
    """Apart, both are faster than together at the same load and count."""
    problem = local_problem(2)
    fleet = cheapest_aggregated(problem)
    assert fleet is not None
    work = problem.arrival_rate_per_s * float(problem.atoms.weight @ fleet.prefill.service_s)
    apart = work / (fleet.engines * fleet.prefill.servers_per_engine)
    assert fleet.utilization > apart
    assert fleet.tpot.mean > float(fleet.decode.step_s[0])


def test_a_class_has_its_own_limit() -> None:
    """A limit that the long prompts cannot keep rules a fleet out; on all requests it does not."""
    problem = replace(local_problem(), arrival_rate_per_s=1e-6)
    fleet = cheapest_aggregated(problem)
    assert fleet is not None
    atoms = problem.atoms
    kind = (atoms.uncached_tokens >= np.quantile(atoms.uncached_tokens, 0.97)).astype(np.int64)
    limit_s = 1.05 * fleet.ttft.quantile(0.9)
    limit = Limit("ttft", 90.0, limit_s, "ttft_p90")
    split = replace(problem, atoms=replace(atoms, kind=kind), classes=("usual", "long"))
    assert cheapest_aggregated(replace(split, limits=(limit,))) is not None
    for name, possible in (("usual", True), ("long", False)):
        found = cheapest_aggregated(replace(split, limits=(replace(limit, traffic=name),)))
        assert (found is not None) == possible
