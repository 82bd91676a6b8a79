"""Checks of engine shapes against chips, sites and each other."""

from __future__ import annotations

from collections.abc import Iterator

from pdd_plan.scenario.messages import Fault
from pdd_plan.scenario.parts import Parts
from pdd_plan.scenario.places import ROLES
from pdd_plan.units import nearest


def check_engines(parts: Parts) -> Iterator[Fault]:
    """Yield faults of engine shapes: chip, sites, roles, size, repeats, roles left without."""
    faults = [*_check_engine_places(parts), *_check_engine_repeats(parts)]
    yield from faults or _check_engine_roles(parts)


def _check_engine_places(parts: Parts) -> Iterator[Fault]:
    offered = list(dict.fromkeys(chip for _, chip in parts.offer_names))
    for i, engine in parts.engines.items():
        path = f"engines.{i}"
        if offered and engine.chip not in offered:
            near = nearest(engine.chip, offered)
            yield (
                f"{path}.chip",
                f"{path}.chip = {engine.chip} is at no site",
                f"did you mean {near}?" if near else f"chips are {', '.join(offered)}",
            )
            continue
        for name in sorted(engine.sites or ()):
            if name not in parts.site_names:
                near = nearest(name, parts.site_names)
                yield (
                    f"{path}.sites",
                    f"{path}.sites names {name}, which is not a site",
                    f"did you mean {near}?" if near else f"sites are {', '.join(parts.site_names)}",
                )
            elif (name, engine.chip) not in parts.offer_names:
                yield (
                    f"{path}.sites",
                    f"{path}.sites names {name}, which has no {engine.chip}",
                    f"add {engine.chip} to sites.{name}.chips, or remove {name}",
                )
        yield from _check_engine_fits(parts, i)


def _check_engine_repeats(parts: Parts) -> Iterator[Fault]:
    """Yield shapes that a report could not tell apart."""
    everywhere = frozenset(parts.site_names)
    for i, engine in parts.engines.items():
        for j, other in parts.engines.items():
            if j >= i:
                break
            alike = all(
                getattr(engine, key) == getattr(other, key)
                for key in ("chip", "name", "chips", "data_parallel", "expert_parallel")
            )
            sites = (engine.sites or everywhere) & (other.sites or everywhere)
            roles = (engine.roles or frozenset(ROLES)) & (other.roles or frozenset(ROLES))
            if alike and sites and roles:
                yield (
                    f"engines.{i}",
                    f"engines.{i} has chip, size and roles of engines.{j}, and no other name",
                    "give them different names, or remove one",
                )


def _check_engine_roles(parts: Parts) -> Iterator[Fault]:
    """Yield the roles that no shape of the list can take."""
    if not parts.complete or not parts.engines or parts.engine_count != len(parts.engines):
        return
    for role in ("prefill", "decode"):
        takers = [
            engine
            for engine in parts.engines.values()
            if engine.roles is None or role in engine.roles
        ]
        holders = [name for name, site in parts.sites.items() if role in site.roles]
        held = [(name, chip) for name in holders for chip in parts.sites[name].chips]
        if not held or any(
            chip == engine.chip and (engine.sites is None or name in engine.sites)
            for engine in takers
            for name, chip in held
        ):
            continue
        chips = sorted({chip for _, chip in held})
        yield (
            "engines",
            f"engines has no shape for {role} at {', '.join(holders)}",
            f"add a shape of {' or '.join(chips)} with the role {role}",
        )


def _check_engine_fits(parts: Parts, i: int) -> Iterator[Fault]:
    engine, path = parts.engines[i], f"engines.{i}"
    offers = {
        site: offer
        for (site, chip), offer in parts.offers.items()
        if chip == engine.chip and (engine.sites is None or site in engine.sites)
    }
    if not parts.complete or not offers:
        return
    most = max(offer.available for offer in offers.values())
    if engine.chips > most > 0:  # a stock of none leaves its shapes without use
        yield (
            f"{path}.chips",
            f"{path}.chips = {engine.chips} is more than any site has of {engine.chip} ({most})",
            f"use at most {most} chips, or raise available",
        )
    roles = {role for site in offers for role in parts.sites[site].roles}
    if engine.roles is not None and not engine.roles & roles:
        yield (
            f"{path}.roles",
            f"{path}.roles = {', '.join(sorted(engine.roles))}, but the sites with {engine.chip} "
            f"have {', '.join(sorted(roles))}",
            f"use roles: [{', '.join(sorted(roles))}]",
        )
