"""What is to be lost, as users write it: ``site:shanghai``, ``line:a-b``, ``engines:1``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.outages import Outage
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.scenario.places import ROLES
from pdd_plan.scenario.schema import Scenario
from pdd_plan.studies.outages import pool_name, pool_outages
from pdd_plan.units import nearest

OPTION = "--fail"
FORMS = "write site:NAME, line:FROM-TO, engines:SITE/ROLE or engines:NUMBER"


@dataclass(frozen=True)
class OutageSpec:
    """One loss as asked for; pools are known only once there is a plan.

    Attributes
    ----------
    kind : {"site", "line", "pool", "engines"}
        What is lost; ``pool`` is one engine of each pool at a site in a role.
    name : str
        Site, line or ``site/role``.
    engines : int
        Engines lost of a pool.
    """

    kind: str
    name: str
    engines: int = 0


def parse_outages(scenario: Scenario, texts: Sequence[str]) -> tuple[OutageSpec, ...]:
    """Read what is to be lost, and check every name against a scenario.

    Parameters
    ----------
    scenario : Scenario
        As loaded.
    texts : sequence of str
        As given with ``--fail``.

    Raises
    ------
    InputError
        With an issue for each text that names nothing of the scenario.
    """
    issues: list[Issue] = []
    specs: list[OutageSpec] = []
    for text in texts:
        try:
            specs.append(_parse(scenario, text))
        except InputError as error:
            issues += error.issues
    if issues:
        raise InputError(issues)
    return tuple(dict.fromkeys(specs))


def _parse(scenario: Scenario, text: str) -> OutageSpec:
    kind, colon, name = (part.strip() for part in text.partition(":"))
    lines = [link.name for link in scenario.links]
    if not colon or not name:
        near = [
            f"{k}:{text.strip()}"
            for k, known in (("site", scenario.sites), ("line", lines))
            if text.strip() in known
        ]
        raise _wrong(text, "does not say what is lost", f"did you mean {near[0]}?" if near else "")
    if kind == "site":
        return OutageSpec("site", _known(text, "site", name, scenario.sites))
    if kind == "line":
        return OutageSpec("line", _known(text, "line", name, lines))
    if kind == "engines":
        return _engines(scenario, text, name)
    close = nearest(kind, ("site", "line", "engines"))
    mend = f"did you mean {close}:{name}?" if close else ""
    raise _wrong(text, f"begins with {kind}, which is nothing that can be lost", mend)


def _engines(scenario: Scenario, text: str, name: str) -> OutageSpec:
    site, slash, role = name.partition("/")
    if slash:
        known = _known(text, "site", site, scenario.sites)
        roles = [one for one in ROLES if one in scenario.sites[known].roles]
        return OutageSpec("pool", f"{known}/{_known(text, f'role of {known}', role, roles)}", 1)
    if not name.isascii() or not name.isdecimal():
        if name in scenario.sites:
            roles = [one for one in ROLES if one in scenario.sites[name].roles]
            mend = " or ".join(f"engines:{name}/{role}" for role in roles)
            raise _wrong(text, "names a site, but no role there", f"write {mend}")
        raise _wrong(text, "is neither a number of engines nor SITE/ROLE")
    if int(name) < 1:
        raise _wrong(text, "loses no engine", "write engines:1 or more")
    return OutageSpec("engines", "", int(name))


def _known(text: str, what: str, name: str, known: Iterable[str]) -> str:
    names = list(known)
    if name in names:
        return name
    near = nearest(name, names)
    options = f"known: {', '.join(names)}" if names else "the scenario has none"
    raise _wrong(text, f"names no {what}", f"did you mean {near}?" if near else options)


def _wrong(text: str, words: str, mend: str = "") -> InputError:
    return InputError(Issue(f"{OPTION} {text} {words}", path=OPTION, help=mend or FORMS))


def outages_of(
    problem: Problem, whole: Candidate, specs: Sequence[OutageSpec]
) -> tuple[Outage, ...]:
    """The single outages of a fleet that are asked for, in order, none twice.

    Raises
    ------
    InputError
        If a pool is named that the fleet does not have.
    """
    found: list[Outage] = []
    for spec in specs:
        if spec.kind == "engines":
            found += pool_outages(problem, whole, spec.engines)
        elif spec.kind == "pool":
            found += _of_pool(problem, whole, spec)
        elif spec.kind == "site":
            found.append(Outage("site", spec.name))
        else:
            found.append(Outage("line", spec.name))
    return tuple(dict.fromkeys(found))


def _of_pool(problem: Problem, whole: Candidate, spec: OutageSpec) -> list[Outage]:
    every = pool_outages(problem, whole, spec.engines)
    site, _, role = spec.name.partition("/")
    found = [
        one
        for one in every
        if (problem.pools[one.pool].site, problem.pools[one.pool].role) == (site, role)
    ]
    if not found:
        pools = ", ".join(pool_name(problem, whole, one.pool) for one in every)
        text = f"engines:{spec.name}"
        raise _wrong(text, f"names no pool: the plan has no {role} engines at {site}", pools)
    return found
