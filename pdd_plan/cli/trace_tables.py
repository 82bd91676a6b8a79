"""A trace as tables, and as a workload file."""

from __future__ import annotations

from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np

from pdd_plan.cli.tables import Listing
from pdd_plan.errors import InputError, Issue
from pdd_plan.report.digits import MISSING, number, significant
from pdd_plan.report.tidy import Tidy, Value
from pdd_plan.workload import Atoms, RawTrace, index_of_dispersion
from pdd_plan.workload.arrivals import mean_rate_per_s
from pdd_plan.workload.statistics import Spread, share_at_least, spread, weighted_histogram
from pdd_plan.workload.tabulate import tabulate
from pdd_plan.workload.trace_mix import trace_atoms
from pdd_plan.workload.traces import TraceFormat

EDGES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99, 1.0)
"""Edges of the bins of hit rates that are shown, finer where agent traffic is."""


def trace_tables(trace: RawTrace, window_s: float) -> tuple[list[Listing], str]:
    """Return the tables that describe a trace, and one line about it.

    Parameters
    ----------
    trace : RawTrace
        As read.
    window_s : float
        Time scale of the burstiness [s].
    """
    count = len(trace)
    weight = np.full(count, 1 / count)
    lengths = {"input tokens": trace.input_tokens, "output tokens": trace.output_tokens}
    if trace.cached_tokens is not None:
        lengths["uncached tokens"] = trace.input_tokens - trace.cached_tokens
    spreads = {name: spread(values, weight) for name, values in lengths.items()}
    tables = [_arrivals(trace, window_s), _spreads(spreads)]
    if trace.cached_tokens is not None:
        tables.append(_hits(trace_atoms(trace)))
    return tables, f"{trace.format} trace, {number(count, 0)} requests"


def write_workload(trace: RawTrace, output: Path, max_atoms: int) -> str:
    """Write the request types of a trace, and say what was written.

    Parameters
    ----------
    trace : RawTrace
        As read.
    output : Path
        File to write.
    max_atoms : int
        Most request types.

    Returns
    -------
    str
        A note for the user.

    Raises
    ------
    InputError
        If the trace records no cached prefixes.
    """
    if trace.cached_tokens is None:
        raise InputError(
            Issue(
                f"{trace.path} records no cached prefixes, so its request types are not known",
                help="plan from the trace itself: workload.trace with its format and a hit_rate",
            )
        )
    atoms = tabulate(trace.path, output, cast(TraceFormat, trace.format), max_atoms)
    return f"wrote {output}: {len(atoms)} request types, for workload.trace with format: atoms"


def _arrivals(trace: RawTrace, window_s: float) -> Listing:
    published = trace.time_in_session_s is None
    rate = mean_rate_per_s(trace.arrival_s) if published else None
    try:
        scv = index_of_dispersion(trace.arrival_s, window_s) if published else None
    except ValueError:
        scv = None
    sessions = None if trace.session is None else int(np.unique(trace.session).size)
    values: list[tuple[str, str, Value, str]] = [
        ("requests", "Requests", len(trace), number(len(trace), 0)),
        ("sessions", "Sessions", sessions, MISSING if sessions is None else number(sessions, 0)),
        (
            "span_s",
            "Span",
            trace.span_s if published else None,
            f"{significant(trace.span_s, 4)} s" if published else "not published",
        ),
        (
            "arrival_rate_per_s",
            "Mean rate",
            rate,
            f"{significant(rate, 4)} req/s" if rate is not None else "not published",
        ),
        (
            "arrival_scv",
            f"Burstiness over {window_s:g} s (Poisson: 1)",
            scv,
            significant(scv, 3),
        ),
        (
            "reused_block_share",
            "Prompt blocks seen before",
            trace.reused_block_share,
            MISSING if trace.reused_block_share is None else _share(trace.reused_block_share),
        ),
    ]
    shown = tuple((label, text) for _, label, _, text in values if text != MISSING)
    rows = tuple((key, value) for key, _, value, _ in values)
    tidy = Tidy("arrivals", ("fact", "value"), rows)
    return Listing("Requests", ("", "Value"), shown, tidy, frozenset({1}))


def _spreads(spreads: dict[str, Spread]) -> Listing:
    keys = ("mean", "p50", "p90", "p99", "largest")
    rows = []
    shown = []
    for name, one in spreads.items():
        values = [asdict(one)[key] for key in keys]
        rows.append((name.replace(" ", "_"), *values))
        shown.append((name.capitalize(), *(number(value, 0) for value in values)))
    labels = ("Length", "Mean", "P50", "P90", "P99", "Largest")
    tidy = Tidy("lengths", ("quantity", *keys), tuple(rows))
    return Listing("Lengths", labels, tuple(shown), tidy, frozenset(range(1, 6)))


def _hits(atoms: Atoms) -> Listing:
    hit, weight = atoms.hit_fraction, atoms.weight
    shares = weighted_histogram(hit, weight, EDGES)
    edges = list(pairwise(EDGES))
    shown = [
        (f"{100 * low:.0f} to {100 * high:.0f} %", _share(share), "#" * round(40 * share))
        for (low, high), share in zip(edges, shares, strict=True)
    ]
    tokens = atoms.mean(atoms.cached_decode_tokens) / atoms.mean(atoms.input_tokens)
    means = (
        ("mean over requests", atoms.mean(hit)),
        ("over all prompt tokens", tokens),
        ("requests at 95 % or more", share_at_least(hit, weight, 0.95)),
    )
    shown += [(name, _share(value), "") for name, value in means]
    rows: list[tuple[Value, ...]] = [
        (low, high, share) for (low, high), share in zip(edges, shares, strict=True)
    ]
    tidy = Tidy("hit_rates", ("hit_rate_from", "hit_rate_to", "share"), tuple(rows))
    labels = ("Hit rate", "Requests", "")
    return Listing("Hit rates, unlimited cache", labels, tuple(shown), tidy, frozenset({1}))


def _share(fraction: float) -> str:
    return f"{100 * fraction:.1f} %"
