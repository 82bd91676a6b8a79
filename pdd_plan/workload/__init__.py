"""Traces, prefix caches, request mixes: what arrives, as a weighted sample.

Everything that arrives is reduced to `Atoms`: prompt length, cached prefix at either end, output
length, weight. `build_workload` makes them from what a scenario says.
"""

from pdd_plan.workload.atoms import Atoms, Workload, WorkloadSummary, summarize
from pdd_plan.workload.compress import CompressionError, compress, compression_error

__all__ = [
    "Atoms",
    "CompressionError",
    "Workload",
    "WorkloadSummary",
    "compress",
    "compression_error",
    "summarize",
]
