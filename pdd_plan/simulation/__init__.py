"""Discrete-event simulation of a candidate: the independent check of the analytic model.

It shares the pass times and sizes of a :class:`~pdd_plan.fleet.problem.Problem` with the model and
nothing else. The event loop is compiled with numba, the optional extra ``sim``:

    >>> from pdd_plan.simulation import SimulationOptions, simulate  # doctest: +SKIP
    >>> simulate(problem, candidate, SimulationOptions(requests=100_000))  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdd_plan.simulation.options import SimulationOptions

if TYPE_CHECKING:
    from pdd_plan.simulation.measures import Estimate, SimulationResult, StationUse, Summary
    from pdd_plan.simulation.run import simulate
    from pdd_plan.simulation.stream import RequestStream, RequestTypes
    from pdd_plan.simulation.trace import replay_stream, simulate_trace, trace_stream

__all__ = [
    "Estimate",
    "RequestStream",
    "RequestTypes",
    "SimulationOptions",
    "SimulationResult",
    "StationUse",
    "Summary",
    "replay_stream",
    "simulate",
    "simulate_trace",
    "trace_stream",
]

_HOMES = {
    "simulate": "run",
    "simulate_trace": "trace",
    "replay_stream": "trace",
    "trace_stream": "trace",
    "RequestStream": "stream",
    "RequestTypes": "stream",
}


def __getattr__(name: str) -> Any:
    """Load what needs numba or scipy only when it is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'measures')}"), name)
