"""Fleets whose prediction is compared with simulation: drawn at random, and a grid of one thing.

Nothing here calls the analytic model; counts and bandwidths follow from offered work alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pdd_plan.fleet.problem import (
    Candidate,
    LaneOption,
    PoolOption,
    Problem,
    ServingOptions,
    SiteNetwork,
)
from pdd_plan.workload.atoms import Atoms
from tests.problems import ProblemOptions, agent_atoms, prefill_seconds, random_problem

FloatArray = NDArray[np.float64]
Handoff = Literal["one_shot", "catch_up"]

KV_BYTES_PER_TOKEN = 50e3
"""KV cache of a token in the grid [bytes]: a large model with compressed attention."""


@dataclass(frozen=True)
class Case:
    """A fleet to predict and to simulate.

    Attributes
    ----------
    name : str
    group : str
        What it has in common with others.
    problem : Problem
    candidate : Candidate
    features : mapping of str to str
        What sets it apart, for tables.
    requests : int
        Requests of one replication.
    """

    name: str
    group: str
    problem: Problem
    candidate: Candidate
    features: dict[str, str] = field(default_factory=dict)
    requests: int = 80_000


KINDS: tuple[tuple[str, ProblemOptions], ...] = (
    ("one site each", ProblemOptions()),
    ("2 x 2 sites, 2 chips", ProblemOptions(prefill_sites=2, decode_sites=2, chips=2)),
    ("2 chips, larger", ProblemOptions(chips=2, rate_per_s=(8.0, 40.0))),
    ("high load", ProblemOptions(rate_per_s=(20.0, 60.0), load=(0.6, 0.9))),
    ("no relay", ProblemOptions(relay=False, rate_per_s=(5.0, 30.0))),
    ("capped connections", ProblemOptions(connection_cap_gbps=5.0)),
    ("connection pool", ProblemOptions(connections=8, rate_per_s=(8.0, 30.0))),
    ("bursty arrivals", ProblemOptions(arrival_scv=2.5, rate_per_s=(5.0, 30.0))),
    ("separate queues", ProblemOptions(serving=ServingOptions(dispatch="random"))),
    ("decode at home too", ProblemOptions(local=True, decode_sites=2, rate_per_s=(8.0, 30.0))),
)
"""Kinds of random fleets; they go round by seed, the hand-off alternates within each kind."""

FIRST_SEED = 1000
"""Seeds of the random fleets; tests use others."""


def random_cases(count: int) -> Iterator[Case]:
    """Yield random feasible fleets at loads up to 0.9.

    Parameters
    ----------
    count : int
        How many.
    """
    for index in range(count):
        seed = FIRST_SEED + index
        group, options = KINDS[index % len(KINDS)]
        handoff: Handoff = "one_shot" if (index // len(KINDS)) % 2 else "catch_up"
        problem, candidate = random_problem(seed, options)
        serving = replace(problem.serving, handoff=handoff)
        problem = replace(problem, serving=serving)
        features = {"kind": group, "hand-off": handoff if options.relay else "none"}
        yield Case(str(seed), group, problem, candidate, features)


Skew = Literal["even", "agent", "strong"]


@dataclass(frozen=True)
class GridPoint:
    """One setting of the grid; the values are those of the middle of it."""

    load: float = 0.8
    engines: int = 8
    line_load: float = 0.6
    skew: Skew = "agent"
    arrival_scv: float = 1.0
    handoff: Handoff = "one_shot"


def grid_cases() -> Iterator[Case]:
    """Yield the grid: load by engines, skew by line load, burstiness by engines, hand-off."""
    for engines in (1, 4, 16, 64):
        for load in (0.3, 0.5, 0.7, 0.8, 0.9, 0.95):
            point = GridPoint(load=load, engines=engines)
            yield grid_case("load", point, f"{engines}", f"{load:g}")
    for skew in ("even", "agent", "strong"):
        for line_load in (0.3, 0.5, 0.7, 0.85, 0.95):
            point = GridPoint(skew=skew, line_load=line_load, load=0.7)
            yield grid_case("skew", point, skew, f"{line_load:g}")
    for engines in (2, 8, 32):
        for scv in (0.5, 1.5, 2.5, 5.0):
            point = GridPoint(engines=engines, arrival_scv=scv)
            yield grid_case("bursts", point, f"{engines}", f"{scv:g}")
    for handoff in ("one_shot", "catch_up"):
        for line_load in (0.5, 0.7, 0.9):
            point = GridPoint(handoff=handoff, line_load=line_load, load=0.7)
            yield grid_case("handoff", point, handoff, f"{line_load:g}")


def grid_case(group: str, point: GridPoint, row: str, column: str) -> Case:
    """Return one fleet of the grid.

    Parameters
    ----------
    group : str
        Which of the tables it belongs to.
    point : GridPoint
        Its setting.
    row, column : str
        Its place in the table.
    """
    atoms = _atoms(point.skew)
    service = prefill_seconds(atoms, 16e3)
    rate = point.load * point.engines / float(atoms.weight @ service)
    sent = KV_BYTES_PER_TOKEN * atoms.missing_tokens
    line = rate * float(atoms.weight @ sent) / (0.9 * point.line_load)
    step = 0.016 + 2.5e-4 * np.arange(1, 65)
    tokens_per_s = rate * float(atoms.weight @ atoms.output_tokens)
    decode = math.ceil(tokens_per_s * step[43] / 44)  # some 44 of 64 slots filled
    busy = 0.5 * rate * float(sent.max()) / (0.9 * line * (1 - point.line_load))
    relay = max(1, math.ceil((busy + 4) / (0.6 * 64)))
    order = np.argsort(atoms.hit_fraction)
    at = np.searchsorted(np.cumsum(atoms.weight[order]), 0.3)
    thresholds = np.array([0.0, float(atoms.hit_fraction[order][at]), 1.0])
    pools = (
        PoolOption("home", "prefill", "gpu", "tp8", 8, 20.0, 999, service_s=service),
        PoolOption("home", "relay", "gpu", "dp8", 8, 20.0, 999, step_s=step),
        PoolOption("away", "decode", "mem", "dp8", 8, 10.0, 999, step_s=step,
                   extend_fixed_s=0.04, extend_per_token_s=1e-4),
    )  # fmt: skip
    problem = Problem(
        name=f"{group}-{row}-{column}",
        atoms=atoms,
        arrival_rate_per_s=rate,
        thresholds=thresholds,
        relay_from=np.searchsorted(thresholds, atoms.hit_fraction, side="right").astype(np.int64),
        slot_waits=(0.01,),
        kv_bytes=KV_BYTES_PER_TOKEN * atoms.input_tokens,
        transfer_bytes=sent,
        pools=pools,
        lanes=(LaneOption("home", "away", np.array([line]), np.zeros(1), rtt_s=0.02),),
        networks={"home": SiteNetwork(50e9, 2e-5), "away": SiteNetwork(50e9, 2e-5)},
        stock={("home", "gpu"): 99999, ("away", "mem"): 99999},
        limits=(),
        serving=ServingOptions(handoff=point.handoff),
        arrival_scv=point.arrival_scv,
    )
    candidate = Candidate(1, 0.01, (point.engines, relay, decode), (0,), (rate,))
    features = {"row": row, "column": column}
    long = point.load > 0.85 or point.line_load > 0.85 or point.arrival_scv > 2
    return Case(problem.name, group, problem, candidate, features, 250_000 if long else 80_000)


def _atoms(skew: Skew) -> Atoms:
    """Request types with hit rates that are much alike, like agents', or nearly all or nothing."""
    rng = np.random.default_rng(7)
    if skew == "agent":
        return agent_atoms(rng, 150)
    count = 150
    length = np.clip(rng.lognormal(math.log(24e3), 0.5, count), 2e3, 100e3).round()
    if skew == "even":
        hit = rng.uniform(0.7, 0.8, count)
    else:
        hit = np.where(np.arange(count) < 0.9 * count, 0.995, rng.uniform(0.0, 0.1, count))
    output = np.clip(rng.lognormal(math.log(300), 0.8, count), 8, 4000).round()
    cached = np.floor(hit * length)
    return Atoms.from_columns(length, cached, output, np.full(count, 1.0 / count))
