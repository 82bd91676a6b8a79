"""Efficiencies written as YAML that `Efficiencies.from_file` reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pdd_plan.roofline.efficiencies import BY_FRAMEWORK, Efficiencies
from pdd_plan.roofline.fit import get_value
from pdd_plan.units import format_quantity

ORDER = (
    *("compute", "compute_moe", "dedicated_prefill", "compute_bf16", "memory", "link", "nic"),
    *("kernel_s", "collective_s", "request_step_s", "roofline_exponent"),
    *("decode_factor", "host_s", "arrival_steps", "accepted_tokens", "speculative_host_s"),
)


def parameter_name(name: str) -> str:
    """Return how a parameter is named in scenarios: ``kernel`` for ``kernel_s``."""
    return name.partition(".")[0].removesuffix("_s")


def parameter_text(name: str, value: float) -> str:
    """Return a parameter's value for people, with its unit where it has one."""
    if name.partition(".")[0].endswith("_s"):
        return format_quantity(value, "time")
    return f"{value:.3g}"


def render_efficiencies(
    efficiencies: Efficiencies,
    only: Collection[str] | None = None,
    header: Sequence[str] = (),
    notes: Mapping[str, str] | None = None,
) -> str:
    """Return efficiencies as YAML, each value with its range where one is known.

    Parameters
    ----------
    efficiencies : Efficiencies
        Values, source, date and ranges.
    only : collection of str or None
        Parameters to write, ``name`` or ``name.framework``; None writes all.
    header : sequence of str
        Comment lines at the top, without the ``#``.
    notes : mapping or None
        Comment behind a parameter, by name.

    Returns
    -------
    str
        YAML text; `Efficiencies.from_file` restores the values to three digits.
    """
    lines = [f"# {line}".rstrip() for line in header]
    lines += [f'source: "{_quoted(efficiencies.source)}"', f'date: "{efficiencies.date}"']
    for field in ORDER:
        names = [field]
        if field in BY_FRAMEWORK:
            names = [f"{field}.{framework}" for framework in getattr(efficiencies, field)]
        names = [name for name in names if only is None or name in only]
        if not names:
            continue
        note = f"  # {notes[field]}" if notes and field in notes else ""
        if field not in BY_FRAMEWORK:
            lines.append(f"{field}: {_entry(efficiencies, field)}{note}")
            continue
        lines.append(f"{field}:{note}")
        for name in names:
            lines.append(f"  {name.partition('.')[2]}: {_entry(efficiencies, name)}")
    return "\n".join(lines) + "\n"


def _entry(efficiencies: Efficiencies, name: str) -> str:
    value = _number(get_value(efficiencies, name))
    if name not in efficiencies.ranges:
        return value
    low, high = (_number(one) for one in efficiencies.ranges[name])
    return f"{{value: {value}, low: {low}, high: {high}}}"


def _number(value: float) -> str:
    """Return a YAML float with three digits (PyYAML needs a point before an exponent)."""
    if value == 0.0 or value >= 1e-3:
        return f"{value:.3g}"
    return f"{value:.2e}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
