"""Checks of the losses to tolerate against sites, lines, limits and what is planned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pdd_plan.scenario.messages import Fault
from pdd_plan.scenario.parts import Parts
from pdd_plan.scenario.tolerate import ANY, NONE, Tolerate
from pdd_plan.units import format_quantity, nearest


def check_tolerate(parts: Parts) -> Iterator[Fault]:
    """Yield faults of `tolerate`: unknown names, stricter limits, plans that cannot have it."""
    tolerate = parts.tolerate
    if tolerate is None:
        return
    if parts.site_names:
        yield from _check_name("site", tolerate.site, parts.site_names)
    lines = list(parts.link_names.values())
    yield from _check_name("line", tolerate.line, lines)
    yield from _check_limits(parts, tolerate)
    if tolerate.nothing:
        return
    if parts.objective != "cost_per_token":
        yield (
            "tolerate",
            f"tolerate is planned for the least cost only, but objective = {parts.objective}",
            "remove tolerate, or set objective: cost_per_token",
        )
    if parts.tie_break is not None:
        yield (
            "tie_break",
            f"tie_break = {parts.tie_break} does not go with tolerate",
            "remove one of them",
        )
    if parts.routing is not None and parts.routing.between == "prefill":
        yield (
            "tolerate",
            "tolerate does not go with routing.between = prefill",
            "remove one of them",
        )


def _check_name(key: str, name: str, known: Sequence[str]) -> Iterator[Fault]:
    if name in (ANY, NONE) or name in known:
        return
    near = nearest(name, [*known, ANY, NONE])
    options = f"write {ANY}, {NONE}, or one of {', '.join(known)}" if known else f"write {NONE}"
    yield (
        f"tolerate.{key}",
        f"tolerate.{key} = {name} is no {key}",
        f"did you mean {near}?" if near else options,
    )


def _check_limits(parts: Parts, tolerate: Tolerate) -> Iterator[Fault]:
    given = tolerate.slo.limits
    if given and tolerate.nothing:
        yield (
            "tolerate.slo",
            "tolerate.slo limits what users see with something lost, but nothing is tolerated",
            "add engines: 1 per pool, site: any or line: any, or remove tolerate.slo",
        )
    normal = {one.key: one for one in parts.slo.limits} if parts.slo is not None else {}
    for limit in given:
        usual = normal.get(limit.key)
        if usual is not None and limit.limit_s < usual.limit_s:
            dimension = "time_per_token" if limit.metric == "tpot" else "time"
            lost, whole = (format_quantity(x.limit_s, dimension) for x in (limit, usual))
            yield (
                f"tolerate.slo.{limit.key}",
                f"tolerate.slo.{limit.key} = {lost} is stricter than slo.{limit.key} = {whole}, "
                "which holds with nothing lost",
                f"set it to {whole} or more",
            )
