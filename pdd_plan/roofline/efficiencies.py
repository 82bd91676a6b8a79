"""Efficiencies: how far below the data sheet chips and frameworks run, with provenance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from pdd_plan.errors import InputError, Issue

DEFAULTS_FILE = "efficiencies.yaml"
FRAMEWORKS = ("trtllm", "vllm", "sglang")
BY_FRAMEWORK = ("decode_factor", "host_s", "accepted_tokens")


@dataclass(frozen=True)
class Efficiencies:
    """Shared parameters of the pass-time formulas.

    Attributes
    ----------
    compute : float
        Share of the data-sheet peak that dense fp8 and fp4 matrix products reach.
    compute_moe : float
        Factor on `compute` for the prefill of mixture-of-experts models.
    dedicated_prefill : float
        Factor on `compute_moe` for engines that do nothing but prefill: whole batches of prompts
        give each expert more tokens than chunks between decode steps do.
    compute_bf16 : float
        Factor on `compute` for matrix products in bf16.
    memory : float
        Share of the memory bandwidth that reads reach.
    link : float
        Share of the one-way scale-up bandwidth that collectives reach.
    nic : float
        Share of the NIC bandwidth that dispatch and combine between nodes reach.
    kernel_s : float
        Launch and tail time of one kernel [s].
    collective_s : float
        Latency of one collective, times log2 of its chips [s].
    request_step_s : float
        Host time per request and decode step [s].
    roofline_exponent : float
        p of (memory^p + compute^p)^(1/p), the overlap of reading and computing.
    decode_factor : mapping
        Factor on the decode step by framework; TensorRT-LLM is 1.
    host_s : mapping
        Host time per request by framework, part of TTFT but not of chip occupancy [s].
    arrival_steps : float
        Decode steps between a request's arrival and its first token at the client.
    accepted_tokens : mapping
        Tokens per decode step with speculation, by framework.
    speculative_host_s : float
        More host time per request with speculation [s].
    source : str
        Where the values come from.
    date : str
        When they were fitted or published, ISO date.
    ranges : mapping
        Plausible range (low, high) per fitted value, by attribute name.
    """

    compute: float
    compute_moe: float
    dedicated_prefill: float
    compute_bf16: float
    memory: float
    link: float
    nic: float
    kernel_s: float
    collective_s: float
    request_step_s: float
    roofline_exponent: float
    decode_factor: Mapping[str, float]
    host_s: Mapping[str, float]
    arrival_steps: float
    accepted_tokens: Mapping[str, float]
    speculative_host_s: float
    source: str = "user"
    date: str = ""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse values that no hardware can have."""
        issues = []
        shares = ("compute", "memory", "link", "nic")
        for name in shares:
            value = getattr(self, name)
            if not 0.0 < value <= 1.0:
                issues.append(
                    Issue(
                        f"efficiency {name} = {value:g} is not in (0, 1]",
                        path=name,
                        help="give the share of the data-sheet value that is reached, such as 0.6",
                    )
                )
        for name in ("compute_moe", "dedicated_prefill", "compute_bf16", "roofline_exponent"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                issues.append(Issue(f"efficiency {name} = {value:g} is not positive", path=name))
        moe = self.compute_moe * max(1.0, self.dedicated_prefill)
        if self.compute * max(1.0, self.compute_bf16) * max(1.0, moe) > 1.0:
            issues.append(
                Issue(
                    f"efficiency compute = {self.compute:g} times its factors exceeds the peak",
                    path="compute",
                    help=f"compute_bf16 is {self.compute_bf16:g}: keep the product at 1 or less",
                )
            )
        if issues:
            raise InputError(issues)

    @classmethod
    def default(cls) -> Efficiencies:
        """Return the shipped defaults, fitted to public measurements."""
        return _shipped()

    @classmethod
    def from_file(cls, path: str | Path) -> Efficiencies:
        """Read efficiencies from a YAML file; keys that are missing keep their default.

        Raises
        ------
        InputError
            If the file cannot be read, has unknown keys, or a value is impossible.
        """
        file = Path(path)
        try:
            document = yaml.safe_load(file.read_text(encoding="utf-8"))
        except (OSError, yaml.YAMLError) as error:
            raise InputError(Issue(f"cannot read efficiencies: {error}", file=str(path))) from error
        if not isinstance(document, dict):
            raise InputError(Issue("efficiencies file is not a mapping", file=str(path)))
        return replace_from_mapping(cls.default(), document, str(path))

    def for_framework(self, framework: str | None) -> tuple[float, float]:
        """Return (decode factor, host time [s]) of a framework.

        None stands for an unnamed framework: the geometric mean of those known.

        Raises
        ------
        InputError
            If the framework is not known.
        """
        if framework is None:
            return _geometric_mean(self.decode_factor), _geometric_mean(self.host_s)
        if framework not in self.decode_factor:
            known = ", ".join(sorted(self.decode_factor))
            raise InputError(Issue(f'framework "{framework}" is not known', help=f"known: {known}"))
        return self.decode_factor[framework], self.host_s.get(framework, 0.0)


def replace_from_mapping(
    base: Efficiencies, document: Mapping[str, Any], file: str = ""
) -> Efficiencies:
    """Return `base` with the values of a YAML mapping put in.

    A value is a number, a mapping by framework, or a mapping with ``value`` and optional
    ``low`` and ``high``. A new value without these has no range, whatever the old one had.

    Raises
    ------
    InputError
        For unknown keys or values that are not numbers.
    """
    names = {item.name for item in fields(Efficiencies)} - {"ranges"}
    changes: dict[str, Any] = {}
    ranges = dict(base.ranges)
    issues = []
    for key, entry in document.items():
        if key not in names:
            issues.append(
                Issue(
                    f'unknown efficiency "{key}"',
                    path=str(key),
                    file=file,
                    help=f"known: {', '.join(sorted(names))}",
                )
            )
        elif key in ("source", "date"):
            changes[key] = str(entry)
        elif key in BY_FRAMEWORK:
            merged = dict(getattr(base, key))
            for framework, item in dict(entry).items():
                merged[framework] = _number(item, f"{key}.{framework}", ranges)
            changes[key] = merged
        else:
            changes[key] = _number(entry, key, ranges)
    if issues:
        raise InputError(issues)
    return replace(base, **changes, ranges=ranges)


def _number(entry: Any, name: str, ranges: dict[str, tuple[float, float]]) -> float:
    ranges.pop(name, None)
    if isinstance(entry, Mapping):
        if "low" in entry and "high" in entry:
            ranges[name] = (float(entry["low"]), float(entry["high"]))
        entry = entry.get("value")
    try:
        return float(entry)
    except (TypeError, ValueError):
        raise InputError(
            Issue(f"efficiency {name} = {entry!r} is not a number", path=name)
        ) from None


def _geometric_mean(values: Mapping[str, float]) -> float:
    if not values or min(values.values()) <= 0.0:
        return sum(values.values()) / len(values) if values else 0.0
    return math.exp(sum(math.log(value) for value in values.values()) / len(values))


@cache
def _shipped() -> Efficiencies:
    text = (resources.files(__package__) / DEFAULTS_FILE).read_text(encoding="utf-8")
    document = yaml.safe_load(text)
    ranges: dict[str, tuple[float, float]] = {}
    plain: dict[str, Any] = {}
    for key, entry in document.items():
        if key in ("source", "date"):
            plain[key] = str(entry)
        elif key in BY_FRAMEWORK:
            plain[key] = {
                name: _number(item, f"{key}.{name}", ranges) for name, item in entry.items()
            }
        else:
            plain[key] = _number(entry, key, ranges)
    return Efficiencies(**plain, ranges=ranges)
