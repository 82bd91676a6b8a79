"""Writes the shipped default efficiencies from a fit to the whole sample."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import pdd_plan.roofline
from benchmarks.silicon.validate import PARAMETERS, Sample, Score
from pdd_plan.roofline import Efficiencies
from pdd_plan.roofline.efficiencies import BY_FRAMEWORK, DEFAULTS_FILE
from pdd_plan.roofline.fit import get_value

ORDER = [
    "compute",
    "compute_moe",
    "dedicated_prefill",
    "compute_bf16",
    "memory",
    "link",
    "nic",
    "kernel_s",
    "collective_s",
    "request_step_s",
    "roofline_exponent",
    "decode_factor",
    "host_s",
    "arrival_steps",
    "accepted_tokens",
    "speculative_host_s",
]
NOTES = {
    "dedicated_prefill": "fitted to the disaggregated runs of the sample",
    "compute_bf16": "set: bf16 products reach a larger share of their lower peak",
    "nic": "set: DeepEP's published 43 to 46 of 50 GB/s between nodes",
    "roofline_exponent": "set before the fit",
}


def bootstrap(sample: Sample, draws: int, seed: int) -> dict[str, tuple[float, float]]:
    """Return the 10-90 % range of each parameter over resampled groups."""
    rng = np.random.default_rng(seed)
    groups = sorted(set(sample.groups))
    values = []
    for _ in range(draws):
        drawn = rng.choice(len(groups), len(groups))
        index = np.concatenate(
            [np.flatnonzero(sample.rows([groups[position]])) for position in drawn]
        )
        values.append(list(sample.fit_index(index).values().values()))
    low, high = np.percentile(np.array(values), [10, 90], axis=0)
    return {name: (float(a), float(b)) for name, a, b in zip(PARAMETERS, low, high, strict=True)}


def render(
    efficiencies: Efficiencies,
    ranges: dict[str, tuple[float, float]],
    score: Score,
    rows: int,
    date: str,
) -> str:
    """Return the YAML of the defaults."""
    lines = [
        "# Efficiencies shared by all chips, models and frameworks, fitted to public measurements.",
        "# Written by `python -m benchmarks.silicon --write`; low and high are the 10-90 % range",
        "# over resampled (model, chip) groups. Held out by whole groups, the median error is",
        f"# {score.tpot_median:.1f} % on TPOT and {score.ttft_median:.1f} % on TTFT.",
        f'source: "fit to {rows} public runs (InferenceX and NVIDIA, Oct 2025 to Apr 2026); '
        f'held-out median error TPOT {score.tpot_median:.1f} %, TTFT {score.ttft_median:.1f} %"',
        f'date: "{date}"',
    ]
    for field in ORDER:
        note = f"  # {NOTES[field]}" if field in NOTES else ""
        if field in BY_FRAMEWORK:
            lines.append(f"{field}:{note}")
            for framework in getattr(efficiencies, field):
                name = f"{field}.{framework}"
                lines.append(f"  {framework}: {_entry(efficiencies, name, ranges)}")
        else:
            lines.append(f"{field}: {_entry(efficiencies, field, ranges)}{note}")
    return "\n".join(lines) + "\n"


def _entry(efficiencies: Efficiencies, name: str, ranges: dict[str, tuple[float, float]]) -> str:
    value = _number(get_value(efficiencies, name))
    if name not in ranges:
        return value
    low, high = (_number(one) for one in ranges[name])
    return f"{{value: {value}, low: {low}, high: {high}}}"


def _number(value: float) -> str:
    """Return a YAML float with three digits (PyYAML needs a point before an exponent)."""
    if value >= 1e-3:
        return f"{value:.3g}"
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}e{exponent}"


def write(text: str) -> Path:
    """Write the defaults into the package."""
    path = Path(pdd_plan.roofline.__file__).parent / DEFAULTS_FILE
    path.write_text(text, encoding="utf-8")
    return path
