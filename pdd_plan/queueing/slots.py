"""A pool of slots that requests hold for a time of their own, M/G/c."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from pdd_plan.queueing.erlang import erlang_c


@dataclass(frozen=True)
class SlotPoolResult:
    """Steady state of a pool of slots.

    Attributes
    ----------
    utilization : float
        Mean share of the slots that are taken [1].
    mean_taken : float
        Mean number of slots that are taken.
    probability_wait : float
        Share of requests that find every slot taken [1].
    wait_tail_rate_per_s : float
        Rate of the exponential law of the wait of those [1/s].
    mean_wait_s : float
        Mean wait over all requests [s].
    """

    utilization: float
    mean_taken: float
    probability_wait: float
    wait_tail_rate_per_s: float
    mean_wait_s: float


def slot_pool(
    arrival_rate_per_s: float, mean_residency_s: float, slots: int, residency_scv: float = 1.0
) -> SlotPoolResult:
    """Steady state of slots held for a residency that does not depend on the load.

    Erlang C, and for those who wait the M/M/c wait times (1 + SCV)/2 [1]_: exact for exponential
    residencies, and for one slot in the mean.

    Parameters
    ----------
    arrival_rate_per_s : float
        Requests [1/s], 0 or more.
    mean_residency_s : float
        Mean time a slot is held [s], above 0.
    slots : int
        Number of slots, 1 or more.
    residency_scv : float
        Squared coefficient of variation of the residency [1].

    Returns
    -------
    SlotPoolResult
        Steady state.

    Raises
    ------
    UnstableQueueError
        If all slots together cannot carry the load.
    ValueError
        If an argument is out of its range.

    References
    ----------
    .. [1] A. M. Lee and P. A. Longton, "Queueing processes associated with airline passenger
       check-in", Operational Research Quarterly 10 (1959) 56-71.
    """
    if not mean_residency_s > 0.0:
        raise ValueError(f"the mean residency must be above 0 s, not {mean_residency_s}")
    if slots < 1:
        raise ValueError(f"a pool needs 1 slot or more, not {slots}")
    if not residency_scv >= 0.0:
        raise ValueError(f"residency_scv must be 0 or more, not {residency_scv}")
    load = arrival_rate_per_s * mean_residency_s
    wait = float(erlang_c(slots, load))
    tail_rate = (slots - load) / mean_residency_s / (0.5 * (1.0 + residency_scv))
    return SlotPoolResult(
        utilization=load / slots,
        mean_taken=load,
        probability_wait=wait,
        wait_tail_rate_per_s=tail_rate,
        mean_wait_s=wait / tail_rate,
    )


@lru_cache(maxsize=4096)
def largest_slot_load(slots: int, wait_probability: float) -> float:
    """Largest offered load at which no more than a share of requests waits for a slot.

    Parameters
    ----------
    slots : int
        Number of slots, 0 or more.
    wait_probability : float
        Allowed share P(W > 0) [1], in (0, 1).

    Returns
    -------
    float
        Load in erlangs (arrival rate times residency); Erlang C at it is the allowed share.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    """
    if slots < 0:
        raise ValueError(f"a pool has 0 slots or more, not {slots}")
    if not 0.0 < wait_probability < 1.0:
        raise ValueError(f"wait_probability must lie in (0, 1), not {wait_probability}")
    low, high = 0.0, float(slots)
    for _ in range(60):
        middle = 0.5 * (low + high)
        if middle < slots and float(erlang_c(slots, middle)) <= wait_probability:
            low = middle
        else:
            high = middle
    return low
