"""Profiles as plain rows for people, and a check of all profiles at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from pdd_plan.catalog.attention import Attention
from pdd_plan.catalog.chips import ChipProfile, chip_names, load_chip
from pdd_plan.catalog.links import LinkProfile, link_names, load_link
from pdd_plan.catalog.model_files import load_model, model_names
from pdd_plan.catalog.models import ModelProfile
from pdd_plan.catalog.provenance import PriceQuote, Sourced
from pdd_plan.errors import InputError, Issue

_LABELS: Final = {
    "flop_per_s.bf16": "dense peak, bf16",
    "flop_per_s.fp8": "dense peak, fp8",
    "flop_per_s.int8": "dense peak, int8",
    "flop_per_s.fp4": "dense peak, fp4",
    "memory_bytes": "memory",
    "memory_bytes_per_s": "memory bandwidth",
    "scaleup_bytes_per_s": "scale-up bandwidth, one way",
    "scaleup_domain_chips": "scale-up domain",
    "chips_per_node": "chips per node",
    "nic_bytes_per_s": "network, one way",
    "tdp_w": "power limit",
    "bytes_per_s": "bandwidth, one way",
    "domain_chips": "scale-up domain",
    "rtt_s": "round trip",
    "efficiency": "efficiency",
    "connection_cap_bytes_per_s": "most per connection",
}


@dataclass(frozen=True)
class ProfileRow:
    """One line of a profile as shown to people.

    Attributes
    ----------
    label : str
        What the number is.
    value, unit : str
        The number as its source states it, and its unit.
    source, date, confidence : str
        Provenance, as in `Sourced`.
    """

    label: str
    value: str
    unit: str
    source: str
    date: str
    confidence: str


def describe_chip(name: str | Path) -> list[ProfileRow]:
    """Return the rows of a chip profile.

    Parameters
    ----------
    name : str or Path
        As for `load_chip`.

    Raises
    ------
    InputError
        If the chip is unknown or its profile malformed.
    """
    chip = load_chip(name)
    rows = [ProfileRow("name", chip.title, "", "", "", "")]
    if chip.relative is not None:
        base = chip.relative
        for label, ratio in (("prefill", base.prefill), ("decode", base.decode)):
            text = f"{label} speed relative to {base.to}"
            rows.append(
                ProfileRow(text, f"{ratio:g}", "x", base.source, base.date, base.confidence)
            )
    rows += [_fact_row(key, fact) for key, fact in chip.facts.items()]
    rows += [_price_row(quote) for quote in chip.prices]
    return rows + [ProfileRow("note", note, "", "", "", "") for note in chip.notes]


def describe_link(name: str | Path) -> list[ProfileRow]:
    """Return the rows of a link profile.

    Parameters
    ----------
    name : str or Path
        As for `load_link`.

    Raises
    ------
    InputError
        If the link is unknown or its profile malformed.
    """
    link = load_link(name)
    rows = [
        ProfileRow("name", link.title, "", "", "", ""),
        ProfileRow("class", link.link_class, "", "", "", ""),
    ]
    rows += [_fact_row(key, fact) for key, fact in link.facts.items()]
    rows += [_price_row(quote) for quote in link.prices]
    return rows + [ProfileRow("note", note, "", "", "", "") for note in link.notes]


def describe_model(name: str | Path) -> list[ProfileRow]:
    """Return the rows of a model profile.

    Parameters
    ----------
    name : str or Path
        As for `load_model`.

    Raises
    ------
    InputError
        If the model is unknown or its file malformed.
    """
    model = load_model(name)
    parts, billion = model.weights, 1e9
    counts: dict[str, int] = {}
    for group in model.groups:
        kind = _kind(group.attention)
        counts[kind] = counts.get(kind, 0) + group.count
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    values: list[tuple[str, str, str]] = [
        ("name", model.title, ""),
        ("layers", str(model.layers), ""),
        ("attention", kinds, "layers"),
        ("hidden size", str(model.hidden_size), ""),
        ("vocabulary", str(model.vocab_size), "tokens"),
        ("weights in all", f"{model.total_params / billion:.1f}", "billion"),
        ("weights used by a token", f"{model.active_params / billion:.2f}", "billion"),
        ("of these attention", f"{parts.attention / billion:.2f}", "billion"),
        ("of these dense and shared", f"{parts.dense / billion:.2f}", "billion"),
        ("routed experts in all", f"{parts.experts / billion:.2f}", "billion"),
        ("experts used / per layer", f"{model.experts_per_token} / {model.experts}", ""),
        ("KV cache, bf16", f"{model.kv_bytes_per_token('bf16'):.0f}", "bytes/token"),
        ("KV cache, fp8", f"{model.kv_bytes_per_token('fp8'):.0f}", "bytes/token"),
        ("constant state, bf16", f"{model.kv_bytes_fixed('bf16') / 2**20:.1f}", "MiB/request"),
        ("KV heads", "one latent" if model.is_mla else str(model.kv_heads), ""),
        ("kernels per layer", str(model.kernels_per_layer), ""),
        ("longest context", str(model.max_context_tokens or "not stated"), "tokens"),
    ]
    rows = [
        ProfileRow(label, value, unit, model.source, model.date, model.confidence)
        for label, value, unit in values
    ]
    return rows + [ProfileRow("note", note, "", "", "", "") for note in model.notes]


def _kind(attention: Attention) -> str:
    words = sorted({span.kind for span in attention.spans} - {"index"})
    return f"{attention.kind} ({' + '.join(words)})" if words else attention.kind


def _fact_row(key: str, fact: Sourced) -> ProfileRow:
    label = _LABELS.get(key, key)
    return ProfileRow(label, f"{fact.value:g}", fact.unit, fact.source, fact.date, fact.confidence)


def _price_row(quote: PriceQuote) -> ProfileRow:
    value = f"{quote.low:g}"
    if quote.high != quote.low:
        value += f" to {quote.high:g}"
    unit = f"{quote.currency}/{quote.per}"
    label = f"price seen: {quote.kind}"
    return ProfileRow(label, value, unit, quote.source, quote.as_of, quote.confidence)


def check_profiles(files: Iterable[str | Path] = ()) -> list[Issue]:
    """Load every profile that ships, and the given files, and return all that is wrong.

    Parameters
    ----------
    files : iterable of str or Path
        Further profiles; their ``kind`` (chip, link, model) says how to read them.

    Returns
    -------
    list of Issue
        Empty if all is well.
    """
    issues: list[Issue] = []
    for name in chip_names():
        issues += _attempt(_check_chip, load_chip, name)
    for name in link_names():
        issues += _attempt(_check_name, load_link, name)
    for name in model_names():
        issues += _attempt(_check_model, load_model, name)
    for file in files:
        issues += _check_file(Path(file))
    return issues


_Profile = TypeVar("_Profile")


def _attempt(
    check: Callable[[_Profile, str], list[Issue]],
    load: Callable[[str], _Profile],
    name: str,
    expected: str | None = None,
) -> list[Issue]:
    """Load and check one profile; a malformed one gives its issues."""
    try:
        return check(load(name), name if expected is None else expected)
    except InputError as error:
        return list(error.issues)


def _check_file(path: Path) -> list[Issue]:
    kind = "model" if path.suffix == ".json" or path.is_dir() else _kind_of(path)
    if kind == "link":
        return _attempt(_check_name, load_link, str(path), "")
    if kind == "model":
        return _attempt(_check_model, load_model, str(path), "")
    return _attempt(_check_chip, load_chip, str(path), "")


def _kind_of(path: Path) -> str:
    """Return the kind that a YAML profile states, ``chip`` where it states or is none."""
    try:
        head = re.search(r"^kind:\s*(\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    except (OSError, UnicodeDecodeError):
        return "chip"
    return head[1] if head else "chip"


def _check_name(profile: ChipProfile | LinkProfile | ModelProfile, name: str) -> list[Issue]:
    if name and profile.name != name:
        return [Issue(f"profile '{profile.name}' is kept in a file named {name}.yaml", "name")]
    return []


def _check_chip(chip: ChipProfile, name: str) -> list[Issue]:
    """Return doubts about a chip: sparse peaks taken for dense ones, odd dates, wrong name."""
    issues = _check_name(chip, name)
    peaks = chip.flop_per_s
    for low, high, most in (("bf16", "fp8", 2.1), ("fp8", "fp4", 3.2)):
        if low in peaks and high in peaks and not 1.0 <= peaks[high] / peaks[low] <= most:
            ratio = peaks[high] / peaks[low]
            message = f"{chip.name}: {high} peak is {ratio:.2g} times the {low} peak"
            issues.append(Issue(message, f"compute.{high}", help="give dense peaks, not sparse"))
    for key, fact in chip.facts.items():
        if fact.confidence != "user" and not re.fullmatch(r"\d{4}(-\d\d){0,2}", fact.date):
            issues.append(Issue(f"{chip.name}: {key} has date '{fact.date}'", key))
    return issues


def _check_model(model: ModelProfile, name: str) -> list[Issue]:
    issues = _check_name(model, name)
    if model.active_params > model.total_params:
        issues.append(Issue(f"{model.name}: more weights active than there are"))
    if model.kv_bytes_per_token("bf16") <= 0:
        issues.append(Issue(f"{model.name}: no KV cache"))
    return issues
