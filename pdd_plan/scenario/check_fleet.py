"""Checks of sites and lines against each other."""

from __future__ import annotations

from collections.abc import Iterator

from pdd_plan.scenario.messages import Fault
from pdd_plan.scenario.parts import Parts
from pdd_plan.scenario.places import Role
from pdd_plan.units import nearest


def check_sites(parts: Parts) -> Iterator[Fault]:
    """Yield faults of roles and inventory."""
    for name, site in parts.sites.items():
        if "relay" in site.roles and "prefill" not in site.roles:
            yield (
                f"sites.{name}.roles",
                f"sites.{name}.roles has relay without prefill; a relay takes over inside the site "
                "where prefill ran",
                f"add prefill to the roles of {name}, or remove relay",
            )
    if not parts.complete:
        return
    needed: tuple[Role, ...] = ("prefill", "decode")
    for role in needed:
        holders = [name for name, site in parts.sites.items() if role in site.roles]
        if not holders:
            yield (
                "sites",
                f"sites has no site with the role {role}",
                f"add {role} to the roles of a site",
            )
        elif not any(o.available for n in holders for o in parts.sites[n].chips.values()):
            path = f"sites.{holders[0]}.chips"
            yield (
                path,
                f"{path} has 0 chips available for {role}"
                + (", and so has every other site of that role" if len(holders) > 1 else ""),
                "set available to the number of chips, for example available: 64",
            )


def check_links(parts: Parts) -> Iterator[Fault]:
    """Yield faults of lines: ends, roles, repeats, sites that no line reaches."""
    seen: dict[str, int] = {}
    for i, ends in parts.link_ends.items():
        yield from _check_end(parts, i, "from", ends[0], "prefill")
        yield from _check_end(parts, i, "to", ends[1], "decode")
        name = parts.link_names[i]
        if name in seen and all(ends):
            other = seen[name]
            if name == "-".join(ends) and parts.link_ends[other] == ends:
                yield (
                    f"links.{i}",
                    f"links.{i} repeats links.{other}, from {ends[0]} to {ends[1]}",
                    "keep one line and give it the bandwidth of both, or give each a name",
                )
            else:
                yield (
                    f"links.{i}.name",
                    f"links.{i}.name = {name} is the name of links.{other}",
                    "give every line a name of its own",
                )
        seen.setdefault(name, i)
    ends_known = all(name in parts.sites for ends in parts.link_ends.values() for name in ends)
    if parts.complete and ends_known and _held(parts, "prefill") and _held(parts, "decode"):
        yield from _check_reach(parts)


def _held(parts: Parts, role: str) -> bool:
    """Return whether some site has a role; where none has, that is the fault to name."""
    return not parts.complete or any(role in site.roles for site in parts.sites.values())


def _check_end(parts: Parts, i: int, key: str, name: str, role: str) -> Iterator[Fault]:
    path = f"links.{i}.{key}"
    if not name or not parts.site_names:
        return
    if name not in parts.site_names:
        near = nearest(name, parts.site_names)
        known = f"sites are {', '.join(parts.site_names)}"
        yield (
            path,
            f"{path} = {name} is not a site",
            f"did you mean {near}?" if near else known,
        )
    elif name in parts.sites and role not in parts.sites[name].roles and _held(parts, role):
        yield (
            path,
            f"{path} = {name} has no role {role}; lines lead from prefill to decode",
            f"add {role} to sites.{name}.roles, or change the line",
        )


def _check_reach(parts: Parts) -> Iterator[Fault]:
    left = {link.from_site for link in parts.links.values()}
    reached = {link.to_site for link in parts.links.values()}
    for name, site in parts.sites.items():
        if "prefill" in site.roles and "decode" in site.roles:
            continue
        if "prefill" in site.roles and name not in left:
            yield (
                f"sites.{name}",
                f"sites.{name} prefills, but no line leads from it to a site that decodes",
                f"add a line with from: {name}, or add decode to its roles",
            )
        if "decode" in site.roles and name not in reached:
            yield (
                f"sites.{name}",
                f"sites.{name} decodes, but no line leads to it from a site that prefills",
                f"add a line with to: {name}, or add prefill to its roles",
            )
