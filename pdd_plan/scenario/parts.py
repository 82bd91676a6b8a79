"""The parts of a scenario that are valid by themselves, so that checks go on where others fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from pdd_plan.scenario.efficiencies import Efficiencies
from pdd_plan.scenario.lines import Link
from pdd_plan.scenario.machines import EngineSpec
from pdd_plan.scenario.model_numbers import ModelNumbers
from pdd_plan.scenario.places import ChipOffer, Site, UserRegion
from pdd_plan.scenario.policy import Routing, Slo
from pdd_plan.scenario.quantity import Section
from pdd_plan.scenario.schema import Scenario
from pdd_plan.scenario.tolerate import Tolerate
from pdd_plan.scenario.traffic import Workload

S = TypeVar("S", bound=Section)


@dataclass
class Parts:
    """What of a scenario is valid; everything else is None or left out.

    Attributes
    ----------
    sites : dict[str, Site]
        Valid sites.
    offers : dict[tuple[str, str], ChipOffer]
        Valid chip entries by site and chip.
    offer_names : list[tuple[str, str]]
        Site and chip of all entries, valid or not.
    bare_offers : set[tuple[str, str]]
        Invalid entries that are meant to be a catalog chip.
    site_names : list[str]
        Names of all sites.
    link_ends : dict[int, tuple[str, str]]
        Where each line starts and ends, of invalid lines too.
    links, engines : dict[int, Link], dict[int, EngineSpec]
        Valid ones by position.
    folder : Path
        Where relative paths start.
    engine_count : int
        Number of shapes, valid or not.
    complete : bool
        Whether every site and line is valid, so that what is missing can be judged.
    """

    model: str | ModelNumbers | None = None
    workload: Workload | None = None
    slo: Slo | None = None
    routing: Routing | None = None
    tolerate: Tolerate | None = None
    efficiencies: Efficiencies | None = None
    sites: dict[str, Site] = field(default_factory=dict)
    offers: dict[tuple[str, str], ChipOffer] = field(default_factory=dict)
    offer_names: list[tuple[str, str]] = field(default_factory=list)
    bare_offers: set[tuple[str, str]] = field(default_factory=set)
    site_names: list[str] = field(default_factory=list)
    link_ends: dict[int, tuple[str, str]] = field(default_factory=dict)
    link_names: dict[int, str] = field(default_factory=dict)
    links: dict[int, Link] = field(default_factory=dict)
    engines: dict[int, EngineSpec] = field(default_factory=dict)
    priced_chips: list[str] = field(default_factory=list)
    objective: str = "cost_per_token"
    tie_break: str | None = None
    users: dict[str, UserRegion] = field(default_factory=dict)
    users_complete: bool = False
    engine_count: int = 0
    folder: Path = Path()
    complete: bool = False

    @classmethod
    def of_scenario(cls, scenario: Scenario, folder: Path) -> Parts:
        """Return the parts of a valid scenario: all of them."""
        sites = scenario.sites
        offers = {(s, c): o for s, site in sites.items() for c, o in site.chips.items()}
        engines = () if isinstance(scenario.engines, str) else scenario.engines
        return cls(
            model=scenario.model,
            workload=scenario.workload,
            slo=scenario.slo,
            routing=scenario.routing,
            tolerate=scenario.tolerate,
            efficiencies=scenario.efficiencies,
            sites=dict(sites),
            offers=offers,
            offer_names=list(offers),
            site_names=list(sites),
            links=dict(enumerate(scenario.links)),
            link_ends={i: (x.from_site, x.to_site) for i, x in enumerate(scenario.links)},
            link_names={i: x.name for i, x in enumerate(scenario.links)},
            engines=dict(enumerate(engines)),
            priced_chips=list(scenario.prices),
            objective=scenario.objective,
            tie_break=scenario.tie_break,
            users=dict(scenario.users),
            users_complete=True,
            engine_count=len(engines),
            folder=folder,
            complete=True,
        )

    @classmethod
    def of_data(cls, data: Mapping[str, Any], context: dict[str, Any], folder: Path) -> Parts:
        """Return the valid parts of plain data.

        Parameters
        ----------
        data : Mapping[str, Any]
            Plain data of a scenario.
        context : dict[str, Any]
            Validation context with the ``currency``.
        folder : Path
            Where relative paths start.
        """

        def part(section: type[S], value: Any) -> S | None:
            try:
                return section.model_validate(value, context=context)
            except ValidationError:
                return None

        def valid_keys(section: type[S], value: Any) -> dict[str, Any]:
            pairs = _mapping(value).items()
            return {key: item for key, item in pairs if part(section, {key: item}) is not None}

        parts = cls(
            workload=part(Workload, data.get("workload")),
            slo=part(Slo, data.get("slo")),
            routing=part(Routing, data.get("routing", {})),
            tolerate=part(Tolerate, valid_keys(Tolerate, data.get("tolerate"))),
            efficiencies=part(Efficiencies, data.get("efficiencies", {})),
            objective=str(data.get("objective", "cost_per_token")),
            tie_break=data.get("tie_break"),
            priced_chips=list(_mapping(data.get("prices"))),
            folder=folder,
        )
        model = data.get("model")
        parts.model = part(ModelNumbers, model) if isinstance(model, dict) else None
        if isinstance(model, str) and model:
            parts.model = model
        for name, value in _mapping(data.get("sites")).items():
            parts.site_names.append(name)
            site = part(Site, value)
            if site is not None:
                parts.sites[name] = site
            for chip, offer_data in _mapping(_mapping(value).get("chips")).items():
                parts.offer_names.append((name, chip))
                offer = part(ChipOffer, offer_data)
                if offer is not None:
                    parts.offers[name, chip] = offer
                elif not {"relative_to", "profile"} & set(_mapping(offer_data)):
                    parts.bare_offers.add((name, chip))
        parts.links = _valid(data.get("links"), lambda value: part(Link, value))
        parts.engines = _valid(data.get("engines"), lambda value: part(EngineSpec, value))
        engines = data.get("engines")
        parts.engine_count = len(engines) if isinstance(engines, list) else 0
        links = data.get("links", [])
        for i, link in enumerate(links if isinstance(links, list) else ()):
            ends = _mapping(link).get("from"), _mapping(link).get("to")
            parts.link_ends[i] = (str(ends[0] or ""), str(ends[1] or ""))
            name = _mapping(link).get("name") or "-".join(parts.link_ends[i])
            parts.link_names[i] = str(name)
        users = _mapping(data.get("users"))
        regions = {name: part(UserRegion, value) for name, value in users.items()}
        parts.users = {name: region for name, region in regions.items() if region is not None}
        parts.users_complete = len(parts.users) == len(users)
        parts.complete = (
            len(parts.sites) == len(parts.site_names) > 0
            and isinstance(links, list)
            and len(parts.links) == len(links)
        )
        return parts


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _valid(value: Any, read: Any) -> dict[int, Any]:
    items = value if isinstance(value, list) else []
    found = {i: read(item) for i, item in enumerate(items)}
    return {i: item for i, item in found.items() if item is not None}
