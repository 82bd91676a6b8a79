"""Checks of routing between prefill sites against sites, lines and limits."""

from __future__ import annotations

from collections.abc import Iterator

from pdd_plan.scenario.messages import Fault
from pdd_plan.scenario.parts import Parts

WHO = "routing.between = prefill"


def check_prefill_routing(parts: Parts) -> Iterator[Fault]:
    """Yield faults of `routing.between: prefill`: one home site, one line into it, no relay."""
    routing = parts.routing
    if routing is None or routing.between != "prefill":
        return
    if routing.by == "hit_rate":
        yield (
            "routing.by",
            "routing.by = hit_rate, but between prefill sites requests are routed by size",
            "set by: uncached_tokens",
        )
    for name in parts.slo.classes if parts.slo is not None else ():
        yield (
            f"slo.classes.{name}",
            f"slo.classes.{name} limits one traffic class, which {WHO} does not plan apart",
            "remove slo.classes",
        )
    for limit in parts.slo.limits if parts.slo is not None else ():
        if limit.metric == "handoff_gap":
            yield (
                f"slo.{limit.key}",
                f"slo.{limit.key} limits the hand-off from a relay, which {WHO} does without",
                f"remove {limit.key}",
            )
    if parts.users:
        yield "users", f"users are not planned with {WHO}", "remove users"
    for path in chip_terms(parts):
        yield path, f"{path} is not planned with {WHO}", "remove it"
    if parts.complete:
        yield from _check_places(parts)


def chip_terms(parts: Parts) -> Iterator[str]:
    """Yield paths of contracts, whole nodes and limits on the chips of a site."""
    for name, site in parts.sites.items():
        terms = {f"chips.{c}.min": o.min > 0 for c, o in site.chips.items()}
        terms |= {f"chips.{c}.node": o.node > 1 for c, o in site.chips.items()}
        terms["max_chips"] = site.max_chips is not None
        yield from (f"sites.{name}.{key}" for key, given in terms.items() if given)


def _check_places(parts: Parts) -> Iterator[Fault]:
    for name, site in parts.sites.items():
        if "relay" in site.roles:
            yield (
                f"sites.{name}.roles",
                f"sites.{name}.roles has relay, which {WHO} does without",
                "remove relay from the roles",
            )
    homes = [name for name, site in parts.sites.items() if "decode" in site.roles]
    if len(homes) > 1:
        yield (
            f"sites.{homes[1]}.roles",
            f"{' and '.join(homes)} decode, but {WHO} plans one home site",
            f"keep decode at {homes[0]} only",
        )
        return
    if homes and "prefill" not in parts.sites[homes[0]].roles:
        yield (
            f"sites.{homes[0]}.roles",
            f"sites.{homes[0]}.roles has no prefill, so {WHO} has nothing to choose between",
            f"add prefill to the roles of {homes[0]}, or remove routing.between",
        )
    into = [i for i, link in parts.links.items() if link.to_site in homes]
    if len(into) != 1 and homes:
        yield (
            f"links.{into[1]}" if into else "links",
            f"{len(into)} lines lead to {homes[0]}, but {WHO} plans one remote prefill site",
            f"keep one line to {homes[0]}"
            if into
            else f"add a line from a prefill site to {homes[0]}",
        )
