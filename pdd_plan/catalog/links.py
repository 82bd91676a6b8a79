"""Link profiles: scale-up networks, RDMA adapters and wide-area lines, with sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pdd_plan.catalog.documents import Reader, nearest, read_yaml
from pdd_plan.catalog.provenance import PriceQuote, Sourced
from pdd_plan.catalog.resources import link_profiles, profile_names
from pdd_plan.errors import InputError, Issue

LINK_CLASSES: Final = ("scale-up", "rdma", "wan")
"""Inside one scale-up domain; inside one site; between sites."""

_FIELDS: Final = {
    "bandwidth": ("bytes_per_s", "bytes_per_s"),
    "domain": ("domain_chips", "chips"),
    "rtt": ("rtt_s", "second"),
    "efficiency": ("efficiency", "ratio"),
    "connection_cap": ("connection_cap_bytes_per_s", "bytes_per_s"),
}
_KEYS: Final = ("kind", "name", "title", "class", *_FIELDS, "prices", "notes")


@dataclass(frozen=True)
class LinkProfile:
    """One class of link; all numbers SI, None where no source states them.

    Attributes
    ----------
    name, title : str
        Lower-case id, and the name for people.
    link_class : str
        ``scale-up`` and ``rdma`` (figures per chip), ``wan`` (per line).
    bytes_per_s : float or None
        Bandwidth [bytes/s], one direction.
    domain_chips : int or None
        Chips that a scale-up network joins.
    rtt_s : float or None
        Round-trip time [s].
    efficiency : float or None
        Measured share of line rate that payload gets.
    connection_cap_bytes_per_s : float or None
        Most that one connection gets [bytes/s].
    facts : Mapping[str, Sourced]
        Provenance by field name.
    prices : tuple of PriceQuote
        Known quotes, to look at; never used as a default.
    notes : tuple of str
        Remarks to show to users.
    """

    name: str
    title: str
    link_class: str
    bytes_per_s: float | None
    domain_chips: int | None
    rtt_s: float | None
    efficiency: float | None
    connection_cap_bytes_per_s: float | None
    facts: Mapping[str, Sourced]
    prices: tuple[PriceQuote, ...] = ()
    notes: tuple[str, ...] = ()


def link_names() -> list[str]:
    """Return the names of all link profiles that ship with the package, sorted."""
    return profile_names(link_profiles())


def load_link(name_or_path: str | Path) -> LinkProfile:
    """Load a link class by name or by path of a YAML profile.

    Parameters
    ----------
    name_or_path : str or Path
        Such as ``wavelength-100g`` or ``my-line.yaml``.

    Returns
    -------
    LinkProfile

    Raises
    ------
    InputError
        If the link is unknown (with the nearest match) or its profile is malformed.
    """
    name = str(name_or_path)
    if name.endswith((".yaml", ".yml")):
        return _parse(Path(name), name)
    key = name.strip().lower().replace("_", "-").replace(" ", "-")
    if key not in link_names():
        hint = nearest(key, link_names()) or "known links: " + ", ".join(link_names())
        raise InputError(Issue(f"unknown link '{name}'", help=hint))
    return _shipped(key)


@lru_cache(maxsize=64)
def _shipped(name: str) -> LinkProfile:
    return _parse(link_profiles() / f"{name}.yaml", f"hardware_profiles/links/{name}.yaml")


def _parse(path: Path, shown: str) -> LinkProfile:
    reader = Reader(read_yaml(path, shown))
    data = reader.root(_KEYS)
    if data.get("kind") != "link":
        reader.fault((), f"kind = '{data.get('kind')}' is no link profile", "kind: link")
    link_class = reader.text(("class",), data.get("class"), LINK_CLASSES)
    facts = {
        field: reader.sourced((key,), data[key], quantity)
        for key, (field, quantity) in _FIELDS.items()
        if data.get(key) is not None
    }
    if "efficiency" in facts and facts["efficiency"].si > 1:
        reader.fault(("efficiency",), f"efficiency = {facts['efficiency'].si:g} is above 1")
    prices, notes = reader.prices(data), reader.texts("notes", data)
    reader.finish()
    numbers = {name: fact.si for name, fact in facts.items()}
    domain = numbers.get("domain_chips")
    name = str(data.get("name", path.stem)).lower()
    return LinkProfile(
        name=name,
        title=str(data.get("title", name)),
        link_class=link_class,
        bytes_per_s=numbers.get("bytes_per_s"),
        domain_chips=None if domain is None else int(domain),
        rtt_s=numbers.get("rtt_s"),
        efficiency=numbers.get("efficiency"),
        connection_cap_bytes_per_s=numbers.get("connection_cap_bytes_per_s"),
        facts=MappingProxyType(facts),
        prices=prices,
        notes=notes,
    )
