"""Checks of user regions against sites and limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from pdd_plan.scenario.distributions import SHARE_TOLERANCE
from pdd_plan.scenario.messages import Fault
from pdd_plan.scenario.parts import Parts
from pdd_plan.units import nearest


def check_users(parts: Parts) -> Iterator[Fault]:
    """Yield faults of regions: shares, distances to sites, limits on unknown regions."""
    total = math.fsum(region.share for region in parts.users.values())
    if parts.users_complete and parts.users and abs(total - 1) > SHARE_TOLERANCE:
        yield (
            "users",
            f"users: shares sum to {total:.6g}, not 1",
            f"change the shares by {1 - total:+.6g} in all",
        )
    for name, region in parts.users.items():
        for site in region.rtt_s:
            if parts.site_names and site not in parts.site_names:
                path = f"users.{name}.rtt.{site}"
                yield path, f"{path}: {site} is not a site", _mend(site, parts.site_names)
        missing = [site for site in parts.site_names if site not in region.rtt_s]
        if missing:
            path = f"users.{name}.rtt"
            yield (
                path,
                f"{path} says nothing of {', '.join(missing)}",
                f"add {missing[0]}: 30 ms, the round-trip time between these users and the site",
            )
    for name in parts.slo.regions if parts.slo is not None else ():
        if name not in parts.users and parts.users_complete:
            path = f"slo.regions.{name}"
            mend = f"add users: {{{name}: {{share: 100 %, rtt: …}}}}"
            yield (
                path,
                f"{path}: there are no users of that name",
                _mend(name, parts.users) if parts.users else mend,
            )


def _mend(name: str, known: Iterable[str]) -> str:
    near = nearest(name, list(known))
    return f"did you mean {near}?" if near else f"known are {', '.join(known)}"
