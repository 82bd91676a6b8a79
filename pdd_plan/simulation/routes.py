"""Which lane, pool and queue each request takes: by chance, in the shares of the candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pdd_plan.fleet.problem import FloatArray
from pdd_plan.simulation.plant import Plant


def equal_utilization(plant: Plant, pools: Sequence[int]) -> FloatArray:
    """Shares that load pools of one role at one site equally.

    Parameters
    ----------
    plant : Plant
    pools : sequence of int
        Indices into the problem's pools.

    Returns
    -------
    ndarray, shape (pools,)
        Sums to 1.
    """
    weight = plant.problem.atoms.weight
    capacity = []
    for index in pools:
        pool, engines = plant.problem.pools[index], plant.candidate.engines[index]
        if pool.role == "prefill":
            rate = pool.servers_per_engine / float(weight @ pool.service_s)
        elif pool.role == "relay":
            rate = float(pool.slots)
        else:
            rate = pool.slots / float(pool.step_s[-1])
        capacity.append(engines * rate)
    shares = np.asarray(capacity)
    return np.asarray(shares / shares.sum())


def _choose(rng: np.random.Generator, shares: FloatArray, count: int) -> np.ndarray:
    cumulative = np.cumsum(shares)
    draws = rng.random(count) * cumulative[-1]
    found = np.searchsorted(cumulative, draws, side="right")
    return np.asarray(np.minimum(found, shares.size - 1), dtype=np.int64)


def draw_routes(
    rng: np.random.Generator,
    plant: Plant,
    count: int,
    pool_loads: Mapping[int, float] | None = None,
) -> dict[str, np.ndarray]:
    """Draw lane, pools and queue of each request.

    Parameters
    ----------
    rng : Generator
    plant : Plant
    count : int
        How many requests.
    pool_loads : mapping of int to float, optional
        Relative load of pools by index into the problem; pools that are left out share by
        equal utilization if none of their site and role is given.

    Returns
    -------
    dict
        Columns ``lane`` and ``pool`` (indices into the problem), ``queue`` (prefill queue),
        ``relay`` and ``decode`` (stations; -1 where the site has no relay).
    """
    flows = np.asarray(plant.candidate.flows_per_s)
    lane = _choose(rng, flows, count)
    routes = {name: np.full(count, -1, dtype=np.int64) for name in ("pool", "relay", "decode")}
    routes["lane"] = lane.astype(np.int64)
    routes["queue"] = np.full(count, -1, dtype=np.int64)
    lanes = plant.problem.lanes
    ends = {
        "prefill": np.array([x.source for x in lanes]),
        "relay": np.array([x.source for x in lanes]),
        "decode": np.array([x.target for x in lanes]),
    }
    for role, sites in ends.items():
        for site in sorted(set(sites.tolist())):
            here = np.flatnonzero((sites == site)[lane])
            pools = plant.pools_at(site, role)
            if not pools or not here.size:
                continue
            chosen = np.asarray(pools)[_choose(rng, _shares(plant, pools, pool_loads), here.size)]
            if role == "prefill":
                routes["pool"][here] = chosen
                routes["queue"][here] = _queues(rng, plant, chosen)
            else:
                routes[role][here] = np.array([plant.slot_pools[i] for i in pools])[
                    np.searchsorted(pools, chosen)
                ]
    return routes


def _shares(
    plant: Plant, pools: Sequence[int], pool_loads: Mapping[int, float] | None
) -> FloatArray:
    if pool_loads and any(i in pool_loads for i in pools):
        loads = np.array([pool_loads.get(i, 0.0) for i in pools])
        if loads.sum() > 0.0:
            return loads
    return equal_utilization(plant, pools)


def _queues(rng: np.random.Generator, plant: Plant, chosen: np.ndarray) -> np.ndarray:
    queue = np.empty(chosen.size, dtype=np.int64)
    for pool in np.unique(chosen):
        here = chosen == pool
        options = plant.queues[int(pool)]
        queue[here] = rng.integers(options.start, options.stop, int(here.sum()))
    return queue
