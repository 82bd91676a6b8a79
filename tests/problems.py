"""Random planning problems with agent-like traffic, each with a stable candidate.

Used by the cross-checks of the analytic model against simulation and by the optimizer's tests
against enumeration. Nothing here calls the analytic model: engine counts are set from offered
work alone, so a fault of the model cannot hide in the choice of cases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pdd_plan.fleet.problem import (
    Candidate,
    LaneOption,
    Limit,
    PoolOption,
    Problem,
    ServingOptions,
    SiteNetwork,
)
from pdd_plan.workload.atoms import Atoms

FloatArray = NDArray[np.float64]
GBPS = 1e9 / 8


@dataclass(frozen=True)
class ProblemOptions:
    """Shape of a random problem.

    Attributes
    ----------
    prefill_sites, decode_sites : int
        Numbers of sites; every pair of them is a lane.
    chips : int
        Kinds of chips per site and role.
    atoms : tuple of int
        Smallest and largest number of atoms.
    rate_per_s : tuple of float
        Range of the arrival rate [requests/s], at the mean prefill time of 0.3-0.9 s.
    thresholds : int
        Candidate thresholds, 0 and 1 included.
    link_price : {"normal", "dear"}
        Dear lines cost 8 times as much, so that relaying pays.
    levels, gbps_per_level : int, float
        Bandwidth levels of each lane.
    max_engines : int
        Most engines of one pool option.
    load : tuple of float
        Range of the utilization that the candidate's prefill and lines are sized for.
    relay : bool
        Whether the candidate relays a part of the requests.
    local : bool
        Let the first prefill site decode as well, over RDMA and without relay.
    connections : int or None
        Connection pool of every line.
    connection_cap_gbps : float
        Rate cap of a connection.
    limits : bool
        Set service-level limits (TTFT P90 and mean TPOT).
    serving : ServingOptions
    arrival_scv : float
    """

    prefill_sites: int = 1
    decode_sites: int = 1
    chips: int = 1
    atoms: tuple[int, int] = (50, 200)
    rate_per_s: tuple[float, float] = (3.0, 15.0)
    thresholds: int = 6
    link_price: Literal["normal", "dear"] = "normal"
    levels: int = 10
    gbps_per_level: float = 10.0
    max_engines: int = 40
    load: tuple[float, float] = (0.4, 0.9)
    relay: bool = True
    local: bool = False
    connections: int | None = None
    connection_cap_gbps: float = math.inf
    limits: bool = True
    serving: ServingOptions = field(default_factory=ServingOptions)
    arrival_scv: float = 1.0


SMALL = ProblemOptions(atoms=(30, 50), rate_per_s=(1.0, 4.0), max_engines=7, levels=6, thresholds=5)
"""Small enough to enumerate every candidate."""


def agent_atoms(rng: np.random.Generator, count: int) -> Atoms:
    """Agent traffic: most requests extend a cached prefix, some arrive cold.

    Prompt lengths are log-normal with a median of 24 thousand tokens, outputs with a median of
    300; a share of 70-85 % hits 93-99.8 % of its prompt, the rest anything below.
    """
    length = np.clip(rng.lognormal(math.log(24e3), 0.9, count), 500, 160e3).round()
    warm = rng.random(count) < rng.uniform(0.70, 0.85)
    hit = np.where(warm, rng.uniform(0.93, 0.998, count), rng.beta(1.0, 1.2, count) * 0.93)
    cached_decode = np.minimum((hit * length).round(), length - 1)
    lost = np.where(rng.random(count) < 0.1, rng.uniform(0.5, 1.0, count), 1.0)
    cached_prefill = np.floor(cached_decode * lost)
    output = np.clip(rng.lognormal(math.log(300), 0.8, count), 8, 4000).round()
    weight = rng.dirichlet(np.full(count, 3.0))
    return Atoms.from_columns(length, cached_prefill, output, weight, cached_decode)


def prefill_seconds(atoms: Atoms, tokens_per_s: float) -> FloatArray:
    """Time of a prefill pass: fixed part, linear layers, causal attention on the context."""
    uncached, length = atoms.uncached_tokens, atoms.input_tokens
    attention = uncached * (length - uncached / 2) / (400e3 * tokens_per_s)
    return np.asarray(0.02 + uncached / tokens_per_s + attention, dtype=np.float64)


def random_problem(seed: int, options: ProblemOptions | None = None) -> tuple[Problem, Candidate]:
    """Draw a problem and a candidate whose every queue is stable.

    Parameters
    ----------
    seed : int
        Same seed and options, same problem.
    options : ProblemOptions, optional

    Returns
    -------
    tuple of Problem and Candidate
        Utilization of prefill and lines at most ``options.load[1]``, decode slots at most 75 %
        filled on average, relay slots at most 60 %; engine counts may reach
        ``options.max_engines``, in which case the arrival rate is lowered to fit.
    """
    options = options or ProblemOptions()
    rng = np.random.default_rng(seed)
    atoms = agent_atoms(rng, int(rng.integers(options.atoms[0], options.atoms[1] + 1)))
    kv_per_token = rng.uniform(35e3, 75e3)
    thresholds = _thresholds(atoms, options.thresholds)
    pools = _pools(rng, atoms, options)
    problem = Problem(
        name=f"random-{seed}",
        atoms=atoms,
        arrival_rate_per_s=float(rng.uniform(*options.rate_per_s)),
        thresholds=thresholds,
        relay_from=np.searchsorted(thresholds, atoms.hit_fraction, side="right").astype(np.int64),
        slot_waits=(0.001, 0.01, 0.03),
        kv_bytes=kv_per_token * atoms.input_tokens,
        transfer_bytes=kv_per_token * atoms.missing_tokens,
        pools=pools,
        lanes=_lanes(rng, options),
        networks={pool.site: SiteNetwork(50e9, 2e-5) for pool in pools},
        stock={
            (pool.site, pool.chip): 3 * pool.chips_per_engine * options.max_engines
            for pool in pools
        },
        limits=_limits(rng) if options.limits else (),
        serving=options.serving,
        arrival_scv=options.arrival_scv,
    )
    return _sized(rng, problem, options)


def _thresholds(atoms: Atoms, count: int) -> FloatArray:
    order = np.argsort(atoms.hit_fraction)
    cumulative = np.cumsum(atoms.weight[order])
    shares = np.linspace(0.0, 0.6, count)[1:-1]
    inner = atoms.hit_fraction[order][np.searchsorted(cumulative, shares)]
    return np.unique(np.concatenate([[0.0], inner, [1.0]]))


def _pools(
    rng: np.random.Generator, atoms: Atoms, options: ProblemOptions
) -> tuple[PoolOption, ...]:
    pools: list[PoolOption] = []
    for site in range(options.prefill_sites):
        for chip in range(options.chips):
            speed = rng.uniform(0.7, 1.4)
            price = 8 * rng.uniform(2.0, 4.0) * speed**0.8
            name = f"gpu-{chip}"
            pools.append(
                PoolOption(
                    f"prefill-{site}",
                    "prefill",
                    name,
                    "tp8",
                    8,
                    price,
                    options.max_engines,
                    service_s=prefill_seconds(atoms, 16e3 * speed),
                )
            )
            pools.append(
                _batching(rng, f"prefill-{site}", "relay", name, price, speed, options.max_engines)
            )
    for site in range(options.decode_sites):
        for chip in range(options.chips):
            speed = rng.uniform(0.8, 1.3)
            price = 8 * rng.uniform(1.0, 2.0) * speed**0.8
            name = f"mem-{chip}"
            pools.append(
                _batching(rng, f"decode-{site}", "decode", name, price, speed, options.max_engines)
            )
    if options.local:
        pools.append(_batching(rng, "prefill-0", "decode", "gpu-0", 24.0, 1.0, options.max_engines))
    return tuple(pools)


def _batching(
    rng: np.random.Generator,
    site: str,
    role: Literal["relay", "decode"],
    chip: str,
    price: float,
    speed: float,
    max_engines: int,
) -> PoolOption:
    slots = int(rng.integers(24, 97))
    batch = np.arange(1, slots + 1)
    step = (rng.uniform(0.012, 0.022) + rng.uniform(1.5e-4, 4e-4) * batch) / speed
    return PoolOption(
        site, role, chip, "dp8", 8, price, max_engines,
        step_s=step,
        extend_fixed_s=float(rng.uniform(0.02, 0.06)) if role == "decode" else 0.0,
        extend_per_token_s=float(rng.uniform(5e-5, 2e-4)) if role == "decode" else 0.0,
    )  # fmt: skip


def _lanes(rng: np.random.Generator, options: ProblemOptions) -> tuple[LaneOption, ...]:
    price = 1.1 * (8.0 if options.link_price == "dear" else 1.0)  # per Gbps and hour
    gbps = options.gbps_per_level * np.arange(1, options.levels + 1)
    lanes = [
        LaneOption(
            f"prefill-{i}",
            f"decode-{j}",
            gbps * GBPS,
            gbps * price * rng.uniform(0.8, 1.25),
            rtt_s=float(rng.uniform(0.004, 0.05)),
            overhead_s=float(rng.uniform(0.0, 0.02)),
            connection_cap_bytes_per_s=options.connection_cap_gbps * GBPS,
            connections=options.connections,
        )
        for i in range(options.prefill_sites)
        for j in range(options.decode_sites)
    ]
    if options.local:
        lanes.append(
            LaneOption(
                "prefill-0", "prefill-0", np.array([50e9]), np.zeros(1), efficiency=1.0, local=True
            )
        )
    return tuple(lanes)


def _limits(rng: np.random.Generator) -> tuple[Limit, ...]:
    ttft = Limit("ttft", 90.0, float(rng.uniform(5.0, 12.0)), "ttft_p90")
    return (ttft, Limit("tpot", 0.0, float(rng.uniform(0.035, 0.06)), "tpot_mean"))


def _sized(
    rng: np.random.Generator, problem: Problem, options: ProblemOptions
) -> tuple[Problem, Candidate]:
    """Set counts and levels from offered work; lower the rate until all of them fit."""
    relaying = options.relay and problem.thresholds.size > 2
    threshold = int(rng.integers(1, problem.thresholds.size - 1)) if relaying else 0
    shares = rng.dirichlet(np.full(len(problem.lanes), 4.0))
    if len(shares) > 1:
        shares = np.maximum((shares * problem.load_steps).round(), 1)
        shares /= shares.sum()
    target = float(rng.uniform(*options.load))
    rate = problem.arrival_rate_per_s
    while True:
        candidate = _counts(problem, rate, threshold, shares, target)
        if candidate is not None:
            break
        rate *= 0.8
    scaled = Problem(**{**_fields(problem), "arrival_rate_per_s": rate})
    return scaled, candidate


def _fields(problem: Problem) -> dict[str, object]:
    return {name: getattr(problem, name) for name in problem.__dataclass_fields__}


def _counts(
    problem: Problem, rate: float, threshold: int, shares: FloatArray, target: float
) -> Candidate | None:
    """Counts for a target utilization, or None where a bound is in the way."""
    flows = rate * shares
    levels: list[int] = []
    transfer_s = np.zeros(len(problem.lanes))
    mean_bytes = problem.atoms.mean(problem.transfer_bytes)
    for index, lane in enumerate(problem.lanes):
        usable = lane.bytes_per_s * lane.efficiency
        fits = np.flatnonzero(flows[index] * mean_bytes <= target * usable)
        if lane.local:
            fits = np.zeros(1, dtype=np.int64)
        if fits.size == 0:
            return None
        level = int(fits[0])
        levels.append(level)
        load = flows[index] * mean_bytes / usable[level]
        relayed_bytes = problem.atoms.mean(problem.transfer_bytes * problem.relayed(threshold))
        alone = relayed_bytes / min(usable[level], lane.connection_cap_bytes_per_s)
        transfer_s[index] = 0.0 if lane.local else alone / (1 - load)
    engines = [0] * len(problem.pools)
    for site in problem.prefill_sites:
        here = [i for i, lane in enumerate(problem.lanes) if lane.source == site]
        load = float(flows[here].sum())
        _prefill_counts(problem, site, load, target, engines)
        busy = float(np.dot(flows[here], transfer_s[here]))
        for index in problem.pool_indices(site, "relay"):
            options = len(problem.pool_indices(site, "relay"))
            if busy > 0:
                slots = problem.pools[index].slots
                engines[index] = math.ceil((busy / options + 1.0) / (0.6 * slots))
    for site in problem.decode_sites:
        here = [i for i, lane in enumerate(problem.lanes) if lane.target == site]
        _decode_counts(problem, site, float(flows[here].sum()), engines)
    for count, pool in zip(engines, problem.pools, strict=True):
        if count > pool.max_engines:
            return None
    return Candidate(threshold, 0.01, tuple(engines), tuple(levels), tuple(flows.tolist()))


def _prefill_counts(
    problem: Problem, site: str, load: float, target: float, engines: list[int]
) -> None:
    options = problem.pool_indices(site, "prefill")
    for index in options:
        work = load / len(options) * problem.atoms.mean(problem.pools[index].service_s)
        engines[index] = math.ceil(work / (target * problem.pools[index].servers_per_engine))


def _decode_counts(problem: Problem, site: str, load: float, engines: list[int]) -> None:
    options = problem.pool_indices(site, "decode")
    tokens_per_s = load / len(options) * problem.atoms.mean(problem.atoms.output_tokens)
    for index in options:
        pool = problem.pools[index]
        filled = max(1, int(0.75 * pool.slots))
        engines[index] = math.ceil(tokens_per_s * pool.step_s[filled - 1] / filled)
