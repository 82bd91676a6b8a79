"""From a scenario's workload section to atoms and arrivals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pdd_plan.errors import InputError
from pdd_plan.workload.arrivals import index_of_dispersion, mean_rate_per_s, rescale_trace
from pdd_plan.workload.atoms import Atoms, Workload, summarize
from pdd_plan.workload.atoms_table import read_atoms_csv
from pdd_plan.workload.compression import compress, compression_error
from pdd_plan.workload.given import hit_distribution, token_distribution
from pdd_plan.workload.mean_hit_rate import with_mean_hit_rate
from pdd_plan.workload.mixture import FINE, RequestType, mixture_sample
from pdd_plan.workload.requests import RawTrace
from pdd_plan.workload.trace_mix import hit_provenance, trace_atoms, with_hit_rates
from pdd_plan.workload.traces import read_trace

if TYPE_CHECKING:
    from pdd_plan.scenario.schema import Scenario

MEAN_TOLERANCE = 1e-3
"""Relative error of a work term above which compression is warned about."""

FEW_REQUESTS = 1000
"""Requests below which a P99 rests on fewer than ten of them, which is warned about."""


def build_workload(scenario: Scenario) -> Workload:
    """Return the request mix and the arrivals that a scenario describes.

    Parameters
    ----------
    scenario : Scenario
        As loaded; paths are relative to its file.

    Returns
    -------
    Workload
        With ``arrival_rate_per_s`` 0 where none is given and none is needed (objective goodput
        or bcr).

    Raises
    ------
    InputError
        With the place in the scenario or the trace.
    """
    section = scenario.workload
    names = section.class_names
    if section.trace is not None and section.trace.format == "atoms":
        return _from_table(scenario)
    if section.trace is not None:
        return _from_trace(scenario)
    if section.mixture is not None:
        types = [
            RequestType(
                part.share,
                token_distribution(part.input_tokens),
                token_distribution(part.output_tokens),
                hit_distribution(part.hit_rate),
                part.hit_length_correlation,
                names.index(part.name) if names else 0,
            )
            for part in section.mixture
        ]
        sample = mixture_sample(types, FINE * section.max_atoms, section.decode_hit_fraction)
        return _given(scenario, sample, "mixture of distributions", ("workload.mixture",))
    classes = section.classes or ()
    length = np.array([kind.input_tokens for kind in classes])
    prefill = np.array([kind.cached_tokens for kind in classes])
    decode = np.array(
        [
            kind.cached_tokens * section.decode_hit_fraction
            if kind.cached_decode_tokens is None
            else kind.cached_decode_tokens
            for kind in classes
        ]
    )
    atoms = Atoms.from_columns(
        length,
        np.minimum(prefill, length - 1),
        [kind.output_tokens for kind in classes],
        [kind.share for kind in classes],
        np.minimum(decode, length - 1),
        [names.index(kind.name) if names else 0 for kind in classes],
    )
    source = f"{len(classes)} request class{'es' if len(classes) > 1 else ''}"
    return _given(scenario, atoms, source, ("workload.classes",))


def at_rate(workload: Workload, scenario: Scenario) -> Workload:
    """Return a workload at the rate that a scenario asks for.

    Parameters
    ----------
    workload : Workload
        Of a scenario with the same requests; its types are kept.
    scenario : Scenario
        With its own rate, or none to leave it, and limits, which set the time scale of the
        burstiness of a trace.

    Returns
    -------
    Workload
        As `build_workload` makes it, but for what its summary tells.
    """
    section = scenario.workload
    rate = section.rate_per_s or workload.arrival_rate_per_s
    scv = workload.arrival_scv
    if workload.raw is not None and section.trace is not None and rate > 0.0:
        scv, _ = _burstiness(scenario, rescale_trace(workload.raw, rate, section.trace.seed))
    return replace(workload, arrival_rate_per_s=rate, arrival_scv=scv)


def _from_trace(scenario: Scenario) -> Workload:
    section = scenario.workload
    spec = section.trace
    assert spec is not None
    trace = read_trace(_resolve(scenario, spec.path), spec.format, seed=spec.seed)
    trace_rate = mean_rate_per_s(trace.arrival_s)
    if trace.time_in_session_s is not None:
        trace_rate = None
    rate = section.rate_per_s or trace_rate
    if rate is None and scenario.objective == "cost_per_token":
        raise _problem(
            scenario,
            "workload.trace",
            f"the trace {spec.path} has no arrival rate of its own: all requests arrive at once",
            "add a rate to the workload, such as rate: 10 req/s",
        )
    if rate is not None:
        trace = rescale_trace(trace, rate, spec.seed)
    provenance = [f"{spec.format} trace {spec.path}, {len(trace)} requests"]
    warnings = list(trace.notes)
    if trace.cached_tokens is None:
        if spec.hit_rate is None:
            raise _problem(
                scenario,
                "workload.trace.hit_rate",
                f"the trace {spec.path} does not record cached prefixes",
                "add hit_rate to the trace, such as hit_rate: {distribution: skew, share: 75 %, "
                "at_least: 95 %, mean: 90 %}, or hit_rate: 0 for none",
            )
        requests, trace = with_hit_rates(
            trace, hit_distribution(spec.hit_rate), section.max_atoms, spec.seed
        )
        provenance.append("hit rates as the scenario gives them, independent of the lengths")
    elif spec.hit_rate is not None:
        raise _problem(
            scenario,
            "workload.trace.hit_rate",
            f"the trace {spec.path} records cached prefixes of its own",
            "remove hit_rate",
        )
    else:
        requests = trace_atoms(trace)
        provenance.append(hit_provenance(trace))
    if len(trace) < FEW_REQUESTS:
        warnings.append(f"only {len(trace)} requests: high percentiles rest on few of them")
    requests = _at_mean(scenario, _at_decode(requests, section.decode_hit_fraction))
    atoms = compress(requests, section.max_atoms)
    warnings.extend(_compression_warning(requests, atoms))
    scv, scv_source = _burstiness(scenario, trace)
    summary = summarize(
        requests,
        arrival_rate_per_s=rate or 0.0,
        arrival_scv=scv,
        arrival_scv_source=scv_source,
        compressed_atoms=len(atoms),
        requests=len(trace),
        span_s=trace.span_s,
        trace_rate_per_s=trace_rate,
        blocks_reused_share=trace.reused_block_share,
        provenance=tuple(provenance),
        warnings=tuple(warnings),
    )
    source = f"{spec.format} trace {spec.path}"
    raw = trace if section.mean_hit_rate is None else None
    order_matters = raw is not None and _order_matters(scenario, trace)
    return Workload(atoms, rate or 0.0, scv, summary, source, raw, order_matters)


def _from_table(scenario: Scenario) -> Workload:
    section = scenario.workload
    spec = section.trace
    assert spec is not None
    table = read_atoms_csv(_resolve(scenario, spec.path))
    atoms = _at_decode(table.atoms, section.decode_hit_fraction)
    provenance = (f"atoms table {spec.path}", *table.provenance)
    return _given(scenario, atoms, f"atoms table {spec.path}", provenance, table.notes)


def _given(
    scenario: Scenario,
    full: Atoms,
    source: str,
    provenance: tuple[str, ...],
    warnings: tuple[str, ...] = (),
) -> Workload:
    """Return the workload of request types that come without arrivals."""
    section = scenario.workload
    rate = section.rate_per_s
    if rate is None and scenario.objective == "cost_per_token":
        raise _problem(
            scenario,
            "workload",
            "the workload has no arrival rate",
            "add a rate, such as rate: 10 req/s",
        )
    scv, scv_source = section.arrival_scv, "scenario"
    if scv is None:
        scv, scv_source = 1.0, "Poisson arrivals assumed"
    full = _at_mean(scenario, full)
    atoms = compress(full, section.max_atoms)
    summary = summarize(
        full,
        arrival_rate_per_s=rate or 0.0,
        arrival_scv=scv,
        arrival_scv_source=scv_source,
        compressed_atoms=len(atoms),
        provenance=provenance,
        warnings=(*warnings, *_compression_warning(full, atoms)),
    )
    return Workload(atoms, rate or 0.0, scv, summary, source, classes=section.class_names)


def _compression_warning(full: Atoms, atoms: Atoms) -> tuple[str, ...]:
    error = compression_error(full, atoms).worst_mean
    if error <= MEAN_TOLERANCE:
        return ()
    return (f"{len(atoms)} atoms miss a work term of the traffic by {error:.1%}: raise max_atoms",)


def _at_decode(atoms: Atoms, fraction: float) -> Atoms:
    if fraction == 1.0:
        return atoms
    return replace(atoms, cached_decode_tokens=atoms.cached_decode_tokens * fraction)


def _at_mean(scenario: Scenario, atoms: Atoms) -> Atoms:
    mean = scenario.workload.mean_hit_rate
    if mean is None:
        return atoms
    try:
        return with_mean_hit_rate(atoms, mean)
    except ValueError as error:
        raise _problem(
            scenario,
            "workload.mean_hit_rate",
            f"workload.mean_hit_rate = {mean:g} cannot be had from this workload",
            f"{error}, since every request misses at least one token",
        ) from None


def _order_matters(scenario: Scenario, trace: RawTrace) -> bool:
    """Whether waits follow the trace: its times are recorded and no burstiness is given.

    Where the starts of sessions are drawn, so is the order; and streams of many sessions that
    start at random are nearly Poisson.
    """
    given = scenario.workload.arrival_scv is not None
    return not given and trace.time_in_session_s is None


def _burstiness(scenario: Scenario, trace: RawTrace) -> tuple[float, str]:
    """Return the burstiness of a trace at the time scale of its service levels."""
    given = scenario.workload.arrival_scv
    if given is not None:
        return given, "scenario"
    limits = [limit.limit_s for limit in scenario.slo.limits if limit.metric == "ttft"]
    if not limits:
        return 1.0, "Poisson arrivals assumed: no limit on TTFT gives a time scale"
    window = max(limits)
    try:
        value = index_of_dispersion(trace.arrival_s, window)
    except ValueError:
        return (
            1.0,
            f"Poisson arrivals assumed: the trace is shorter than two windows of {window:g} s",
        )
    said = f"dispersion of arrivals in windows of {window:g} s, the longest limit on TTFT"
    if _order_matters(scenario, trace):
        said += "; waits for prefill follow the order and the times of the trace"
    return value, said


def _resolve(scenario: Scenario, path: str) -> Path:
    return scenario.source.folder / path


def _problem(scenario: Scenario, path: str, message: str, mend: str) -> InputError:
    return InputError(scenario.source.issue(path, message, mend))
