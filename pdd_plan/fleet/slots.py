"""Relay and decode pools: how much work the slots of some engines can take.

Sizing rule: a pool is stable, every time-per-token limit holds at the load, and at most a stated
share of requests finds all slots taken. Under that rule capacity depends on the pool alone, not
on the lanes that feed it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from pdd_plan.fleet.problem import FloatArray, Limit, PoolOption, Problem
from pdd_plan.queueing import batching_capacity, largest_slot_load

E2E_SHARE = 0.8
"""Share of an end-to-end limit that prefill and tokens may take on idle engines."""


@dataclass(frozen=True)
class TokenDemand:
    """What a decode pool must know of the traffic: tokens a request and limits on token times."""

    mean_output_tokens: float
    limits: tuple[Limit, ...]


def token_demand(problem: Problem) -> TokenDemand:
    """Mean output tokens and the limits on time per output token of a problem."""
    mean = float(problem.atoms.weight @ problem.atoms.output_tokens)
    implied = [implied_step(problem, limit) for limit in problem.limits_of("e2e")]
    limits = problem.limits_of("tpot") + tuple(limit for limit in implied if limit is not None)
    return TokenDemand(mean, limits)


def implied_step(problem: Problem, limit: Limit) -> Limit | None:
    """Limit on the mean time per output token that a limit on end-to-end time implies.

    Returns
    -------
    Limit or None
        None where not even the pass fits.

    Notes
    -----
    An idle prefill engine of the fastest kind, no transfer and tokens at this step use up 80 %
    of the limit; the rest is left to waits and transfers. A rule of sizing: the limit itself is
    then checked as it is.
    """
    services = [p.service_s + p.host_s for p in problem.pools if p.role == "prefill"]
    fastest = np.min(services, axis=0)
    outputs = np.maximum(problem.atoms.output_tokens, 1.0)
    weight = problem.weight_for(limit)
    room = E2E_SHARE * limit.limit_s - fastest
    if limit.percentile == 0:
        step_s = float(weight @ room / (weight @ outputs))
    else:
        steps = room / outputs
        order = np.argsort(-steps)
        enough = int(np.searchsorted(np.cumsum(weight[order]), limit.probability))
        step_s = float(steps[order][min(enough, steps.size - 1)])
    if step_s <= 0.0:
        return None
    return Limit("tpot", 0.0, step_s, limit.key)


@lru_cache(maxsize=65536)
def _decode_capacity(
    steps: tuple[float, ...], engines: int, slot_wait: float, demand: TokenDemand
) -> float:
    capacity = float("inf")
    limits: tuple[Limit | None, ...] = demand.limits or (None,)
    for limit in limits:
        rate = batching_capacity(
            demand.mean_output_tokens,
            np.asarray(steps),
            engines,
            len(steps),
            tpot_limit_s=limit.limit_s if limit else None,
            tpot_probability=(limit.probability or None) if limit else None,
            wait_probability=slot_wait,
        )
        capacity = min(capacity, rate)
    return capacity


@dataclass(frozen=True, eq=False)
class SlotPool:
    """Capacity of one relay or decode pool option by number of engines."""

    pool: PoolOption
    demand: TokenDemand

    @cached_property
    def _steps(self) -> tuple[float, ...]:
        return tuple(self.pool.step_s.tolist())

    @lru_cache(maxsize=4096)  # noqa: B019 - a slot pool lives as long as its problem
    def decode_capacity_per_s(self, engines: int, slot_wait: float) -> float:
        """Largest request rate that the engines decode within every limit [requests/s]."""
        if engines == 0 or not self._steps:
            return 0.0
        return _decode_capacity(self._steps, engines, slot_wait, self.demand)

    @cached_property
    def working_batch(self) -> int:
        """Largest batch whose step meets every limit on the time per token; 0 where none does."""
        bounds = [limit.limit_s for limit in self.demand.limits]
        if not bounds:
            return self.pool.slots
        return int(np.searchsorted(self.pool.step_s, min(bounds) * (1.0 + 1e-12), side="right"))

    @property
    def working_step_s(self) -> float:
        """Step time at the working batch [s]: the longest step of a pool that meets its limits."""
        batch = max(self.working_batch, 1)
        return float(self.pool.step_s[batch - 1]) if self.pool.slots else 0.0

    @property
    def most_per_engine_s(self) -> float:
        """Bound on the request rate of one engine in a pool of any size [requests/s].

        Notes
        -----
        Engines with n requests end n / (O t(n)) a second, concave in n for steps affine in the
        batch; so a mean step within a limit keeps the mean batch within the working batch
        (Jensen), and the rate within that of the working batch.
        """
        if self.working_batch == 0:
            return 0.0
        return self.working_batch / (self.demand.mean_output_tokens * self.working_step_s)

    @property
    def first_token_s(self) -> float:
        """Time from joining the batch to the first token at the client [s]."""
        return self.pool.first_token_steps * self.working_step_s

    def relay_capacity_erlang(self, engines: int, slot_wait: float) -> float:
        """Largest relay work that the engines hold within every limit [busy slots, Erlang].

        Notes
        -----
        M/G/c delay system with the working batch as slots: Erlang C at the capacity equals the
        allowed probability of waiting. Insensitive to the law of the residency to first order.
        """
        return float(self.relay_capacities_erlang(np.array([engines]), slot_wait)[0])

    def relay_capacities_erlang(self, engines: NDArray[np.int64], slot_wait: float) -> FloatArray:
        """Relay work by number of engines, shape (engines,); see `relay_capacity_erlang`."""
        slots = (engines * self.working_batch).tolist()
        return np.array([largest_slot_load(count, slot_wait) for count in slots])
