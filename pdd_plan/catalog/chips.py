"""Chip profiles: peaks, memory and interconnect of one chip, each number with its source."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from pdd_plan.catalog.documents import Reader, nearest, read_yaml
from pdd_plan.catalog.provenance import CONFIDENCES, PriceQuote, Sourced
from pdd_plan.catalog.resources import hardware_profiles, profile_names
from pdd_plan.errors import InputError, Issue

COMPUTE_TYPES: Final = ("bf16", "fp8", "int8", "fp4")
"""Number formats for which a profile may give a dense peak rate."""

_FIELDS: Final = {
    "memory": ("memory_bytes", "bytes"),
    "memory_bandwidth": ("memory_bytes_per_s", "bytes_per_s"),
    "scaleup": ("scaleup_bytes_per_s", "bytes_per_s"),
    "scaleup_domain": ("scaleup_domain_chips", "chips"),
    "chips_per_node": ("chips_per_node", "chips"),
    "nic": ("nic_bytes_per_s", "bytes_per_s"),
    "tdp": ("tdp_w", "watt"),
}
PROFILE_KEYS: Final = {
    **{field: key for key, (field, _) in _FIELDS.items()},
    **{f"flop_per_s.{kind}": f"compute.{kind}" for kind in COMPUTE_TYPES},
}
"""Key in a profile by the name under which `ChipProfile.facts` has its provenance."""
_OPTIONAL: Final = ("nic", "tdp")
_KEYS: Final = (
    "kind",
    "name",
    "title",
    "aliases",
    "compute",
    *_FIELDS,
    "relative_to",
    "prefill",
    "decode",
    "prices",
    "notes",
)


@dataclass(frozen=True)
class RelativeChip:
    """Speed of a chip as a multiple of another's, the form in which anonymous chips are published.

    Attributes
    ----------
    to : str
        Name of the chip it is relative to.
    prefill, decode : float
        Speed ratios: 2.1 makes a pass 2.1 times faster, so its time is divided by 2.1.
    source, date, confidence : str
        Provenance of the ratios, as in `Sourced`.
    """

    to: str
    prefill: float
    decode: float
    source: str
    date: str = ""
    confidence: str = "user"


@dataclass(frozen=True)
class ChipProfile:
    """One accelerator chip; all numbers SI.

    Attributes
    ----------
    name, title : str
        Lower-case id used in scenarios, and the name for people.
    flop_per_s : Mapping[str, float]
        Dense peak rate [flop/s] by compute type (``bf16``, ``fp8``, ``int8``, ``fp4``).
    memory_bytes : float
        Device memory [bytes]. Makers' "GB" of GPU modules are GiB to within 2 %.
    memory_bytes_per_s : float
        Peak memory bandwidth [bytes/s].
    scaleup_bytes_per_s : float
        Scale-up bandwidth of one chip [bytes/s], one direction.
    scaleup_domain_chips, chips_per_node : int
        Chips joined by the scale-up network; chips in one host.
    nic_bytes_per_s : float or None
        Scale-out network of one chip [bytes/s], one direction.
    tdp_w : float or None
        Power limit of the chip or board [W].
    facts : Mapping[str, Sourced]
        Provenance by field name; peaks as ``flop_per_s.bf16``.
    prices : tuple of PriceQuote
        Known quotes, to look at; never used as a default.
    relative : RelativeChip or None
        Set if speed is stated relative to another chip; then the numbers above are taken over
        from it, with low confidence, unless the profile gives its own.
    aliases, notes : tuple of str
        Further names; remarks to show to users.
    """

    name: str
    title: str
    flop_per_s: Mapping[str, float]
    memory_bytes: float
    memory_bytes_per_s: float
    scaleup_bytes_per_s: float
    scaleup_domain_chips: int
    chips_per_node: int
    nic_bytes_per_s: float | None
    tdp_w: float | None
    facts: Mapping[str, Sourced]
    prices: tuple[PriceQuote, ...] = ()
    relative: RelativeChip | None = None
    aliases: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def peak_flop_per_s(self, weight_format: str) -> float:
        """Return the dense peak rate at which matrices of a weight format are multiplied.

        A format without hardware support runs at the bf16 peak, since its weights are widened
        first: fp8 on A100, any 4-bit format on Hopper, int4 everywhere.

        Parameters
        ----------
        weight_format : str
            A key of `pdd_plan.catalog.WEIGHT_BYTES`, such as ``fp8`` or ``mxfp4``.

        Returns
        -------
        float
            Peak rate [flop/s].

        Raises
        ------
        InputError
            If the profile knows neither that format's peak nor the one of bf16.
        """
        native = {"fp16": "bf16", "nvfp4": "fp4", "mxfp4": "fp4", "int4": "bf16"}
        compute = native.get(weight_format, weight_format)
        rate = self.flop_per_s.get(compute, self.flop_per_s.get("bf16"))
        if rate is None:
            raise InputError(
                Issue(
                    f"chip {self.name} has no known peak for {weight_format} or bf16",
                    help=f"known: {', '.join(self.flop_per_s)}; give compute.bf16 in a profile "
                    "of your own and name its file as the chip",
                )
            )
        return rate

    def low_confidence(self) -> tuple[str, ...]:
        """Return the names of the numbers that rest on press, estimates or assumptions."""
        names = [name for name, fact in self.facts.items() if fact.confidence == "low"]
        if self.relative is not None and self.relative.confidence == "low":
            names.append("relative")
        return tuple(names)


def chip_names() -> list[str]:
    """Return the names of all chip profiles that ship with the package, sorted."""
    return profile_names(hardware_profiles())


def load_chip(name_or_path: str | Path) -> ChipProfile:
    """Load a chip by name, alias or path of a YAML profile.

    Parameters
    ----------
    name_or_path : str or Path
        Such as ``h200``, ``H200-SXM`` or ``my-chip.yaml``; case does not matter for names.

    Returns
    -------
    ChipProfile

    Raises
    ------
    InputError
        If the chip is unknown (with the nearest match) or its profile is malformed (with every
        fault at its line).
    """
    return _load(str(name_or_path), ())


def absolute_chip(chip: ChipProfile) -> tuple[ChipProfile, float, float]:
    """Follow a relative chip down to the chip with numbers of its own.

    Parameters
    ----------
    chip : ChipProfile

    Returns
    -------
    base : ChipProfile
        Chip whose pass times are to be computed; `chip` itself if it is not relative.
    prefill_speed, decode_speed : float
        Products of the ratios on the way; divide the base's times by these.
    """
    prefill = decode = 1.0
    while chip.relative is not None:
        prefill, decode = prefill * chip.relative.prefill, decode * chip.relative.decode
        chip = load_chip(chip.relative.to)
    return chip, prefill, decode


@lru_cache(maxsize=256)
def _shipped(name: str, seen: tuple[str, ...]) -> ChipProfile:
    return _parse(hardware_profiles() / f"{name}.yaml", f"hardware_profiles/{name}.yaml", seen)


def _load(name: str, seen: tuple[str, ...]) -> ChipProfile:
    if name.endswith((".yaml", ".yml")):
        return _parse(Path(name), name, seen)
    key = name.strip().lower().replace("_", "-").replace(" ", "-")
    names = chip_names()
    if key in names:
        return _shipped(key, seen)
    aliases = _aliases()
    if key in aliases:
        return _shipped(aliases[key], seen)
    hint = nearest(key, [*names, *aliases]) or "known chips: " + ", ".join(names)
    raise InputError(Issue(f"unknown chip '{name}'", help=hint))


@lru_cache(maxsize=1)
def _aliases() -> Mapping[str, str]:
    folder, result = hardware_profiles(), {}
    for name in chip_names():
        data = read_yaml(folder / f"{name}.yaml").data
        for alias in data.get("aliases") or ():
            result[str(alias).lower()] = name
    return MappingProxyType(result)


def _parse(path: Path, shown: str, seen: tuple[str, ...]) -> ChipProfile:
    reader = Reader(read_yaml(path, shown))
    data = reader.root(_KEYS)
    if data.get("kind", "chip") != "chip":
        reader.fault(("kind",), f"kind = '{data['kind']}' is no chip profile", "kind: chip")
    name = str(data.get("name", path.stem)).lower()
    relative = _relative(reader, data, path.parent)
    own = name if path.parent == hardware_profiles() else str(path.resolve())
    base = _base(reader, relative, (*seen, own)) if relative is not None else None
    peaks, facts = _facts(reader, data, base)
    prices = reader.prices(data, per="chip-hour")
    aliases, notes = reader.texts("aliases", data), reader.texts("notes", data)
    reader.finish()
    numbers = {field: facts[field].si if field in facts else None for field, _ in _FIELDS.values()}
    return ChipProfile(
        name=name,
        title=str(data.get("title", name)),
        flop_per_s=MappingProxyType(peaks),
        memory_bytes=numbers["memory_bytes"] or math.nan,
        memory_bytes_per_s=numbers["memory_bytes_per_s"] or math.nan,
        scaleup_bytes_per_s=numbers["scaleup_bytes_per_s"] or math.nan,
        scaleup_domain_chips=int(numbers["scaleup_domain_chips"] or 0),
        chips_per_node=int(numbers["chips_per_node"] or 0),
        nic_bytes_per_s=numbers["nic_bytes_per_s"],
        tdp_w=numbers["tdp_w"],
        facts=MappingProxyType(facts),
        prices=prices,
        relative=relative,
        aliases=aliases,
        notes=notes,
    )


def _facts(
    reader: Reader, data: dict[str, Any], base: ChipProfile | None
) -> tuple[dict[str, float], dict[str, Sourced]]:
    """Return peak rates by compute type and the provenance of every number."""
    facts: dict[str, Sourced] = {}
    if base is not None:
        facts = {
            key: replace(
                fact, source=f"taken over from {base.name}: {fact.source}", confidence="low"
            )
            for key, fact in base.facts.items()
        }
    complete = base is not None or "relative_to" in data
    if not complete and "compute" not in data:
        reader.fault((), "compute is missing", "such as compute: {bf16: 989 TFLOP/s}")
    if "compute" in data:
        compute = reader.mapping(("compute",), data["compute"], COMPUTE_TYPES)
        for kind, value in compute.items():
            if kind in COMPUTE_TYPES:
                fact = reader.sourced(("compute", kind), value, "flop_per_s")
                facts[f"flop_per_s.{kind}"] = fact
    for key, (field, quantity) in _FIELDS.items():
        if data.get(key) is not None:
            facts[field] = reader.sourced((key,), data[key], quantity)
            if quantity == "chips" and facts[field].value % 1:
                reader.fault((key,), f"{key} = {facts[field].value:g} must be a whole number")
        elif not complete and key not in _OPTIONAL:
            reader.fault((), f"{key} is missing", f"a chip profile gives {', '.join(_FIELDS)}")
    peaks = {
        kind: facts[f"flop_per_s.{kind}"].si
        for kind in COMPUTE_TYPES
        if f"flop_per_s.{kind}" in facts
    }
    return peaks, facts


def _relative(reader: Reader, data: dict[str, Any], folder: Path) -> RelativeChip | None:
    if "relative_to" not in data:
        for key in ("prefill", "decode"):
            if key in data:
                reader.fault((key,), f"{key} needs relative_to", "relative_to: h100")
        return None
    ratios = {}
    for key in ("prefill", "decode"):
        if key not in data:
            reader.fault(("relative_to",), f"{key} is missing", f"{key}: 1.0")
            ratios[key] = Sourced(math.nan, "x", "", "", "user")
        else:
            ratios[key] = reader.sourced((key,), data[key], "ratio")
    prefill, decode = ratios["prefill"], ratios["decode"]
    to = reader.text(("relative_to",), data["relative_to"])
    if to.endswith((".yaml", ".yml")):
        to = str((folder / to).resolve())
    return RelativeChip(
        to=to,
        prefill=prefill.si,
        decode=decode.si,
        source=prefill.source,
        date=prefill.date,
        confidence=max(prefill.confidence, decode.confidence, key=CONFIDENCES.index),
    )


def _base(reader: Reader, relative: RelativeChip, seen: tuple[str, ...]) -> ChipProfile | None:
    if relative.to in seen or relative.to.lower() in seen:
        chain = " > ".join((*seen, relative.to))
        reader.fault(("relative_to",), f"a chip is relative to itself: {chain}")
        return None
    try:
        return _load(relative.to, seen)
    except InputError as error:
        issue = error.issues[0]
        reader.fault(("relative_to",), issue.message, issue.help)
        return None
