"""Queueing formulas: pure functions of numbers, with no knowledge of scenarios or chips."""

from pdd_plan.queueing.batching import BatchingResult, continuous_batching
from pdd_plan.queueing.batching_capacity import batching_capacity
from pdd_plan.queueing.connection_pool import ConnectionPool, connection_pool, connection_wait_pmf
from pdd_plan.queueing.deterministic import deterministic_wait
from pdd_plan.queueing.distributions import (
    convolve_masses,
    mixture_cdf,
    mixture_quantile,
    sample_quantile,
)
from pdd_plan.queueing.erlang import erlang_b, erlang_b_continuous, erlang_c
from pdd_plan.queueing.grid import (
    TimeGrid,
    cdf_of,
    masses_of_survival,
    mean_of,
    point_masses,
    quantile_of,
    residual_masses,
)
from pdd_plan.queueing.multi_server import (
    wait_probability,
    waiting_time_cdf_table,
    waiting_time_pmf,
)
from pdd_plan.queueing.peakedness import departure_scv, peakedness
from pdd_plan.queueing.processor_sharing import transfer_time_points, transfer_time_table
from pdd_plan.queueing.recorded import RecordedWork, WaitShift, wait_shift
from pdd_plan.queueing.sharing_states import SharingStates, sharing_states
from pdd_plan.queueing.slots import SlotPoolResult, largest_slot_load, slot_pool

__all__ = [
    "BatchingResult",
    "ConnectionPool",
    "RecordedWork",
    "SharingStates",
    "SlotPoolResult",
    "TimeGrid",
    "WaitShift",
    "batching_capacity",
    "cdf_of",
    "connection_pool",
    "connection_wait_pmf",
    "continuous_batching",
    "convolve_masses",
    "departure_scv",
    "deterministic_wait",
    "erlang_b",
    "erlang_b_continuous",
    "erlang_c",
    "largest_slot_load",
    "masses_of_survival",
    "mean_of",
    "mixture_cdf",
    "mixture_quantile",
    "peakedness",
    "point_masses",
    "quantile_of",
    "residual_masses",
    "sample_quantile",
    "sharing_states",
    "slot_pool",
    "transfer_time_points",
    "transfer_time_table",
    "wait_probability",
    "wait_shift",
    "waiting_time_cdf_table",
    "waiting_time_pmf",
]
