"""Write the atoms table of a trace, with what a reader needs to know about it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from pdd_plan.errors import InputError
from pdd_plan.workload.atoms import Atoms, summarize
from pdd_plan.workload.atoms_table import write_atoms_csv
from pdd_plan.workload.compression import compress, compression_error
from pdd_plan.workload.trace_mix import hit_provenance, trace_atoms
from pdd_plan.workload.traces import TraceFormat, read_trace


def tabulate(
    path: str | Path,
    output: str | Path,
    format: TraceFormat | None = None,  # noqa: A002
    max_atoms: int = 600,
    notes: Sequence[str] = (),
) -> Atoms:
    """Read a trace, compress its requests, write them as an atoms table.

    Parameters
    ----------
    path : str or Path
        Trace that records cached prefixes.
    output : str or Path
        Table to write.
    format : str, optional
        As in `read_trace`.
    max_atoms : int
        Most rows.
    notes : sequence of str
        Comment lines to put first: origin, license, how it was made.

    Returns
    -------
    Atoms
        What was written.

    Raises
    ------
    InputError
        As `read_trace`, or if the trace records no cached prefixes.
    """
    trace = read_trace(path, format)
    if trace.cached_tokens is None:
        raise InputError(f"{path} records no cached prefixes, so it gives no atoms table")
    requests = trace_atoms(trace)
    atoms = compress(requests, max_atoms)
    error = compression_error(requests, atoms)
    facts = summarize(
        requests,
        arrival_rate_per_s=0.0,
        arrival_scv=1.0,
        arrival_scv_source="",
        requests=len(trace),
    )
    data = Path(path).read_bytes()
    write_atoms_csv(
        atoms,
        output,
        (
            *notes,
            f"Trace: {Path(path).name}, {trace.format}, {len(trace)} requests, "
            f"sha256 {hashlib.sha256(data).hexdigest()}",
            f"{hit_provenance(trace)[0].upper()}{hit_provenance(trace)[1:]}; alike at both ends.",
            f"All requests: {100 * facts.share_hit_95:.2f} % hit 95 % or more, mean hit rate "
            f"{facts.mean_hit_rate:.4f}, by tokens {facts.token_hit_rate:.4f}; means in tokens: "
            f"prompt {facts.input_tokens.mean:.0f}, uncached {facts.uncached_tokens.mean:.0f}, "
            f"output {facts.output_tokens.mean:.0f}.",
            f"{len(atoms)} request types keep the means of those (to rounding) and of U^2, L U, "
            f"M^2, L O to {error.worst_mean:.1e}, the P50, P90 and P99 of uncached and missing "
            f"tokens to {max(error.percentiles.values()):.1e}.",
            "Tokens are means over the requests of a type, so they have fractions; weight is a "
            "share of requests.",
        ),
    )
    return atoms
