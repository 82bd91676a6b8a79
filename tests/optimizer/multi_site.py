"""Random problems of several sites at both ends, small enough to look at every candidate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pdd_plan.fleet.problem import Limit, Problem
from tests.problems import ProblemOptions, random_problem


def multi_site_problem(seed: int) -> Problem:
    """Two or three prefill sites, two to four decode sites, two or three chip types.

    Few engines, line sizes, thresholds and flow steps; lines that cost; stock that often is too
    little for one site alone. Some sites have a power limit, some engines come in pairs at least,
    some prefill sites decode as well, some problems limit the gap at the hand-off or have a day of
    two periods.
    """
    rng = np.random.default_rng([seed, 2026])
    local = rng.random() < 0.3
    options = ProblemOptions(
        prefill_sites=int(rng.integers(2, 4)),
        decode_sites=int(rng.integers(2, 4 if local else 5)),
        chips=int(rng.integers(2, 4)),
        atoms=(20, 30),
        rate_per_s=(1.5, 9.0),
        thresholds=4,
        link_price="dear" if rng.random() < 0.7 else "normal",
        levels=2,
        gbps_per_level=float(rng.uniform(2.0, 6.0)),
        max_engines=3,
        local=local,
    )
    problem, _ = random_problem(seed, options)
    large = len(problem.lanes) > 8
    watts, gap, day = rng.random(3) < (0.3, 0.2, 0.2)
    pools = tuple(
        replace(
            pool,
            max_engines=int(rng.integers(1, 4)),
            min_engines=2 if rng.random() < 0.1 else 1,
            watts_per_engine=float(rng.uniform(4e3, 8e3)) if watts else 0.0,
        )
        for pool in problem.pools
    )
    sites = dict.fromkeys(pool.site for pool in pools)
    return replace(
        problem,
        pools=pools,
        lanes=tuple(
            replace(one, usd_per_hour=one.usd_per_hour * rng.uniform(0.5, 4.0))
            for one in problem.lanes
        ),
        stock={key: 8 * int(rng.integers(2, 6)) for key in problem.stock},
        site_watts={site: float(rng.uniform(1e4, 5e4)) for site in sites} if watts else {},
        slot_waits=(0.01,) if large else (0.002, 0.03),
        limits=(*problem.limits, Limit("handoff_gap", 90.0, 0.1, "gap")) if gap else problem.limits,
        period_multipliers=np.array([0.6, 1.0]) if day else np.ones(1),
        period_weights=np.array([0.4, 0.6]) if day else np.ones(1),
        load_steps=3,
    )
