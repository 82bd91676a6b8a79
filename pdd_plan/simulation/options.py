"""What a simulation run is asked to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Progress = Callable[[float], None]
"""Called with the share of the work that is done, 0 to 1; may come from several threads."""


@dataclass(frozen=True)
class SimulationOptions:
    """Length of a run and the physics that the problem leaves open.

    Attributes
    ----------
    requests : int
        Requests of one replication, warm-up included.
    warmup_fraction : float
        Share of them that fills the empty fleet and is not measured, 0 to below 1.
    replications : int
        Independent runs; confidence intervals need 2 or more.
    seed : int
        Same seed, problem and options, same result, whatever the number of jobs.
    jobs : int
        Replications that run at the same time.
    arrivals : {"scenario", "poisson"}
        Burstiness of the problem, or Poisson whatever the problem says.
    arrival_scv : float or None
        Overrides the problem's squared coefficient of variation of inter-arrival times:
        hyper-exponential with balanced means above 1, gamma below.
    decoding : {"fluid", "stepwise"}
        All active requests of a pool progress at one rate, or each engine runs its own steps.
    reserve : {"before_transfer", "on_arrival"}
        When a request takes its slot at main decode: before its KV cache travels, as engines
        that pull into reserved memory do, or when it has arrived.
    rdma : {"shared", "delay"}
        Whether the transfers out of a prefill engine share its network, or each runs alone.
    extend_stalls : bool
        Whether main decode's recomputing of relayed tokens halts the batch of its engine.
    handoff : {"one_shot", "catch_up"} or None
        Overrides the problem. With "auto", a request catches up if at the moment of its hand-off
        the relay has slots to spare.
    confidence : float
        Level of the intervals.

    Raises
    ------
    ValueError
        If a number is out of its range.
    """

    requests: int = 200_000
    warmup_fraction: float = 0.1
    replications: int = 4
    seed: int = 0
    jobs: int = 2
    arrivals: Literal["scenario", "poisson"] = "scenario"
    arrival_scv: float | None = None
    decoding: Literal["fluid", "stepwise"] = "fluid"
    reserve: Literal["before_transfer", "on_arrival"] = "before_transfer"
    rdma: Literal["shared", "delay"] = "shared"
    extend_stalls: bool = True
    handoff: Literal["one_shot", "catch_up"] | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.requests < 1 or self.replications < 1 or self.jobs < 1:
            raise ValueError("requests, replications and jobs must be 1 or more")
        if not 0.0 <= self.warmup_fraction < 1.0:
            raise ValueError(f"warmup_fraction must be in [0, 1), got {self.warmup_fraction}")
        if not 0.0 < self.confidence < 1.0:
            raise ValueError(f"confidence must be in (0, 1), got {self.confidence}")
        if self.arrival_scv is not None and self.arrival_scv < 0.0:
            raise ValueError(f"arrival_scv must be 0 or more, got {self.arrival_scv}")
