"""Checks across the parts of a scenario: names that must match, numbers that must agree."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from pdd_plan.catalog import ChipProfile, chip_names, load_chip, load_model, model_from_numbers
from pdd_plan.errors import InputError
from pdd_plan.scenario.check_engines import check_engines
from pdd_plan.scenario.check_files import check_file, check_measured_files, near_file
from pdd_plan.scenario.check_fleet import check_links, check_sites
from pdd_plan.scenario.check_routing import check_prefill_routing
from pdd_plan.scenario.check_tolerate import check_tolerate
from pdd_plan.scenario.check_users import check_users
from pdd_plan.scenario.files import names_file
from pdd_plan.scenario.messages import Fault
from pdd_plan.scenario.parts import Parts
from pdd_plan.scenario.policy import Slo
from pdd_plan.scenario.traffic import Workload
from pdd_plan.units import format_quantity, nearest


def check_parts(parts: Parts) -> list[Fault]:
    """Return everything that does not fit together.

    Parameters
    ----------
    parts : Parts
        Valid parts of a scenario.

    Returns
    -------
    list of (path, message, help)
    """
    checks = (
        _check_model,
        _check_workload,
        _check_slo,
        check_sites,
        check_links,
        check_users,
        check_engines,
        _check_chips,
        _check_prices,
        _check_routing,
        check_prefill_routing,
        check_tolerate,
        _check_goal,
        check_measured_files,
    )
    return [fault for check in checks for fault in check(parts)]


def _check_model(parts: Parts) -> Iterator[Fault]:
    if parts.model is None:
        return
    try:
        if isinstance(parts.model, str):
            load_model(parts.folder / parts.model if names_file(parts.model) else parts.model)
        else:
            model_from_numbers(parts.model.numbers(), name=parts.model.name)
    except InputError as error:
        for issue in error.issues:
            path = f"model.{issue.path}" if issue.path and not issue.file else "model"
            where = f"{issue.file}:{issue.line}: " if issue.file and issue.line else ""
            mend = issue.help or "check the numbers of the model"
            if isinstance(parts.model, str) and names_file(parts.model) and not issue.help:
                mend = near_file(parts.folder / parts.model)
            yield path, f"{path}: {where}{issue.message}", mend


def _check_workload(parts: Parts) -> Iterator[Fault]:
    workload = parts.workload
    if workload is None:
        return
    trace, path = workload.trace, "workload.trace"
    timed = trace is not None and trace.format not in ("claude_code", "atoms")
    if workload.rate_per_s is None and not timed and parts.objective not in ("goodput", "bcr"):
        why = "there is no trace" if trace is None else f"{trace.format} records no arrival times"
        yield (
            "workload.rate",
            f"workload.rate is missing: {why} to take it from",
            "add rate: 12 req/s",
        )
    if trace is None:
        return
    if trace.format == "azure" and trace.hit_rate is None:
        yield (
            f"{path}.hit_rate",
            f"{path}.hit_rate is missing: the azure format records no prefix",
            "add hit_rate: 50 %, or a distribution",
        )
    if trace.format in ("mooncake", "claude_code", "atoms") and trace.hit_rate is not None:
        yield (
            f"{path}.hit_rate",
            f"{path}.hit_rate is given, but the {trace.format} format has its own hits",
            "remove hit_rate",
        )
    yield from check_file(parts, f"{path}.path", trace.path)


def _check_slo(parts: Parts) -> Iterator[Fault]:
    slo = parts.slo
    if slo is None:
        return
    for part in dict.fromkeys((limit.traffic, limit.region) for limit in slo.limits):
        for metric in ("ttft", "tpot", "handoff_gap", "e2e"):
            yield from _falling_limits(slo, metric, part)
    yield from _check_classes(slo, parts.workload)
    if slo.scope == "every_period" and parts.workload is not None and not parts.workload.periods:
        yield (
            "slo.scope",
            "slo.scope = every_period, but workload.periods is empty",
            "add periods: [{hours: 16, multiplier: 1}, {hours: 8, multiplier: 0.5}] to it",
        )


def _check_classes(slo: Slo, workload: Workload | None) -> Iterator[Fault]:
    """Yield limits on traffic classes that the workload does not have."""
    if workload is None:
        return
    known = [name for name in workload.class_names if name]
    for name in slo.classes:
        if name in known:
            continue
        if known:
            near = nearest(name, known)
            mend = f"did you mean {near}?" if near else f"classes are: {', '.join(known)}"
        else:
            mend = "give entries of workload.mixture or workload.classes a name"
        yield (
            f"slo.classes.{name}",
            f"slo.classes.{name}: the workload has no traffic class of that name",
            mend,
        )


def _falling_limits(slo: Slo, metric: str, part: tuple[str, str]) -> Iterator[Fault]:
    limits = [
        x
        for x in slo.limits
        if x.metric == metric and (x.traffic, x.region) == part and x.percentile > 0
    ]
    dimension = "time_per_token" if metric == "tpot" else "time"
    for lower, higher in pairwise(limits):
        if higher.limit_s < lower.limit_s:
            low, high = (format_quantity(x.limit_s, dimension) for x in (lower, higher))
            yield (
                f"slo.{higher.key}",
                f"slo.{higher.key} = {high} is below slo.{lower.key} = {low}, "
                "which then never binds",
                f"set {higher.key} to {low} or more, or remove {lower.key}",
            )


def _check_chips(parts: Parts) -> Iterator[Fault]:
    for site, chip in parts.offer_names:
        path = f"sites.{site}.chips.{chip}"
        offer = parts.offers.get((site, chip))
        if offer is None:
            if (site, chip) in parts.bare_offers:
                yield from _check_name(path, chip)
            continue
        named = "relative_to" if offer.relative_to else "profile" if offer.profile else ""
        where = f"{path}.{named}" if named else path
        if offer.relative_to and len(chain := _chain(parts, site, chip)) > len(set(chain)):
            yield (
                where,
                f"{where}: {chip} is relative to itself: {' > '.join(chain)}",
                "name a catalog chip, such as relative_to: h100",
            )
            continue
        try:
            profile = _profile(parts, site, chip)
        except InputError as error:
            for issue in error.issues:
                place = f"{issue.file}:{issue.line}: " if issue.line else ""
                named_file = offer.profile or offer.relative_to or ""
                missing = names_file(named_file) and not (parts.folder / named_file).is_file()
                mend = near_file(parts.folder / named_file) if missing else _chip_help(issue.help)
                yield where, f"{where}: {place}{issue.message}", mend
            continue
        limited = parts.sites.get(site)
        watts = profile.tdp_w if offer.power_w is None else offer.power_w
        if limited is not None and limited.power_w is not None and watts is None:
            yield (
                path,
                f"sites.{site}.power is limited, but the power of {chip} is not known",
                f"add power: 700 W to {path}",
            )


def _base(parts: Parts, site: str, chip: str) -> tuple[str, str] | None:
    """Return site and chip of the entry that a relative chip compares with; None: the catalog."""
    name = parts.offers[site, chip].relative_to
    places = (site, *parts.site_names)
    return next(((s, name) for s in places if name and (s, name) in parts.offers), None)


def _chain(parts: Parts, site: str, chip: str) -> list[str]:
    """Return the chips along which a relative chip is described, up to a repeat."""
    chain = [chip]
    place: tuple[str, str] | None = (site, chip)
    while place is not None and len(chain) == len(set(chain)):
        place = _base(parts, *place)
        chain += [place[1]] if place is not None else []
    return chain


def _profile(parts: Parts, site: str, chip: str) -> ChipProfile:
    """Return the catalog profile that an entry rests on."""
    base = _base(parts, site, chip)
    if base is not None:
        return _profile(parts, *base)
    offer = parts.offers[site, chip]
    name = offer.relative_to or offer.profile or chip
    return load_chip(parts.folder / name if names_file(name) else name)


def _check_name(path: str, chip: str) -> Iterator[Fault]:
    """Judge the name of an entry that is invalid otherwise."""
    try:
        load_chip(chip)
    except InputError as error:
        yield path, f"{path}: {error.issues[0].message}", _chip_help(error.issues[0].help)


def _chip_help(hint: str) -> str:
    own = "describe it with profile: file.yaml, or relative_to: h100, prefill: 0.8, decode: 1.2"
    return f"{hint}; or {own}" if hint else own


def price_help(chip: str, currency: str) -> str:
    """Return help for a missing price: the quotes that the catalog knows.

    Parameters
    ----------
    chip : str
        Catalog name.
    currency : str
        Currency of the scenario, for the example.
    """
    try:
        quotes = load_chip(chip).prices
    except InputError:
        quotes = ()
    example = f"add price: 3.8 {currency}/h with your own number; prices are never assumed"
    if not quotes:
        return f"{example}; the catalog knows no quote for {chip}"
    shown = [
        f"{q.low:g}" + (f" to {q.high:g}" if q.high != q.low else "") + f" {q.currency}/h "
        f"({q.kind}, {q.as_of}; {q.source})"
        for q in quotes[:3]
    ]
    return f"{example}. Known quotes: " + "; ".join(shown)


def _check_prices(parts: Parts) -> Iterator[Fault]:
    offered = list(dict.fromkeys(chip for _, chip in parts.offer_names))
    for chip in parts.priced_chips:
        if chip in offered or not offered:
            continue
        near = nearest(chip, offered)
        known = f"chips of the sites are {', '.join(offered)}"
        if chip in chip_names():
            known = f"no site has {chip}; {known}"
        yield (
            f"prices.{chip}",
            f"prices.{chip} names a chip that no site has",
            f"did you mean {near}?" if near else known,
        )


def _check_routing(parts: Parts) -> Iterator[Fault]:
    routing = parts.routing
    if routing is None:
        return
    if routing.threshold is not None and routing.thresholds is not None:
        yield (
            "routing.threshold",
            "routing.threshold fixes what routing.thresholds leaves open",
            "keep one of them",
        )
    values = routing.thresholds or ()
    for i, value in enumerate(values):
        if value in values[:i]:
            yield (
                f"routing.thresholds.{i}",
                f"routing.thresholds.{i} = {value:g} is there twice",
                "give each threshold once",
            )


def _check_goal(parts: Parts) -> Iterator[Fault]:
    if parts.tie_break is None:
        return
    if parts.objective != "cost_per_token":
        yield (
            "tie_break",
            f"tie_break = {parts.tie_break} chooses among plans of the least cost, but objective = "
            f"{parts.objective}",
            "remove tie_break, or set objective: cost_per_token",
        )
    elif parts.routing is not None and parts.routing.between == "prefill":
        yield (
            "tie_break",
            f"tie_break = {parts.tie_break} does not go with routing.between = prefill",
            "remove tie_break",
        )
