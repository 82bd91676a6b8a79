"""Traces, prefix caches, request mixes: what arrives, as a weighted sample.

Everything that arrives is reduced to `Atoms`: prompt length, cached prefix at either end, output
length, weight. `build_workload` makes them from what a scenario says.
"""

from pdd_plan.workload.arrivals import index_of_dispersion
from pdd_plan.workload.atoms import Atoms, Workload, WorkloadSummary, summarize
from pdd_plan.workload.atoms_table import read_atoms_csv, write_atoms_csv
from pdd_plan.workload.build import at_rate, build_workload
from pdd_plan.workload.compression import CompressionError, compress, compression_error
from pdd_plan.workload.prefix_cache import (
    ReuseProfile,
    cached_tokens,
    hit_rate_curve,
    reuse_profile,
)
from pdd_plan.workload.requests import BlockRuns, RawTrace
from pdd_plan.workload.routing import (
    RoutingBy,
    relay_from,
    relayed,
    routing_values,
    threshold_candidates,
)
from pdd_plan.workload.trace_mix import trace_atoms, trace_reuse_profile
from pdd_plan.workload.traces import read_trace

__all__ = [
    "Atoms",
    "BlockRuns",
    "CompressionError",
    "RawTrace",
    "ReuseProfile",
    "RoutingBy",
    "Workload",
    "WorkloadSummary",
    "at_rate",
    "build_workload",
    "cached_tokens",
    "compress",
    "compression_error",
    "hit_rate_curve",
    "index_of_dispersion",
    "read_atoms_csv",
    "read_trace",
    "relay_from",
    "relayed",
    "reuse_profile",
    "routing_values",
    "summarize",
    "threshold_candidates",
    "trace_atoms",
    "trace_reuse_profile",
    "write_atoms_csv",
]
