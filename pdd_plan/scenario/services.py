"""Several services on one fleet: each has its own model, traffic and limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field, PrivateAttr

from pdd_plan.errors import InputError, Issue
from pdd_plan.scenario.check_routing import chip_terms
from pdd_plan.scenario.lines import MAX_LEVELS, Bandwidth, Link
from pdd_plan.scenario.messages import Fault
from pdd_plan.scenario.parts import Parts
from pdd_plan.scenario.quantity import Name
from pdd_plan.scenario.schema import Fleet, Scenario, Service
from pdd_plan.scenario.source import SourceMap
from pdd_plan.scenario.walk import fields_of
from pdd_plan.units import format_quantity

SERVICE_KEYS = frozenset(fields_of(Service))
"""Keys that every service has of its own."""

PARTS_OF_ONE_SIZE = 10
"""Parts that a line of one size is divided in where it names no step."""


class SharedScenario(Fleet):
    """Several services that share sites, chips and lines, instead of one model and workload."""

    services: dict[Name, Service] = Field(
        min_length=1,
        description="Services by name. Each has engines of its own; chips, power and bandwidth "
        "of lines go to one service or another. The reserved parts of a line are whole steps.",
        examples=["{chat: {model: ..., precision: ..., workload: ..., slo: ...}}"],
    )
    objective: Literal["cost_per_token"] = Field(
        default="cost_per_token", description="Least cost of all services together."
    )
    _scenarios: dict[str, Scenario] = PrivateAttr(default_factory=dict)

    @property
    def scenarios(self) -> Mapping[str, Scenario]:
        """Each service as a scenario of its own, with the whole fleet at its disposal.

        The sizes of its lines are the parts that can be reserved for it.
        """
        return self._scenarios


def line_step_bytes_per_s(link: Link) -> float:
    """Return the step in which bandwidth of a line is reserved for services [bytes/s]."""
    size = link.bandwidth
    return size.step_bytes_per_s or size.max_bytes_per_s / PARTS_OF_ONE_SIZE


def service_data(data: Mapping[str, Any], service: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain data of one service alone on the fleet.

    Parameters
    ----------
    data : Mapping[str, Any]
        Plain data of the shared scenario.
    service : Mapping[str, Any]
        Its entry below ``services``.
    """
    return {key: value for key, value in data.items() if key != "services"} | dict(service)


def attach_scenarios(
    shared: SharedScenario, data: Mapping[str, Any], context: dict[str, Any], source: SourceMap
) -> None:
    """Give a valid shared scenario its source, and a scenario to every service.

    Parameters
    ----------
    shared : SharedScenario
        Valid.
    data : Mapping[str, Any]
        The data it was made of.
    context : dict
        Validation context with the ``currency``.
    source : SourceMap
        Of the file.
    """
    shared._source = source
    links = tuple(_divided(link) for link in shared.links)
    for name in shared.services:
        alone = service_data(data, data["services"][name])
        alone["name"] = f"{shared.name}: {name}"
        scenario = Scenario.model_validate(alone, context=context)
        scenario = scenario.model_copy(update={"links": links})
        scenario._source = _source_of(source, name)
        shared._scenarios[name] = scenario


def _divided(link: Link) -> Link:
    """The line as one service sees it: its sizes are the parts that can be reserved."""
    step = line_step_bytes_per_s(link)
    size = Bandwidth.model_construct(
        min_bytes_per_s=step,
        max_bytes_per_s=link.bandwidth.max_bytes_per_s,
        step_bytes_per_s=step,
    )
    return link.model_copy(update={"bandwidth": size})


def _source_of(source: SourceMap, name: str) -> SourceMap:
    """The source of one service: its keys stand as if they were at the top of the file."""
    prefix = f"services.{name}."

    def inner(paths: Mapping[str, Any]) -> dict[str, Any]:
        own = {p.removeprefix(prefix): v for p, v in paths.items() if p.startswith(prefix)}
        return {p: v for p, v in paths.items() if not p.startswith("services.")} | own

    lines = inner(source.lines)
    for key in SERVICE_KEYS:
        lines.setdefault(key, source.line_of(prefix[:-1]))
    return replace(source, lines=lines, overrides=inner(source.overrides))


def at_service(name: str, path: str) -> str:
    """Return where in the file a path of a service's scenario stands."""
    return f"services.{name}.{path}" if path.partition(".")[0] in SERVICE_KEYS else path


def beside_services(path: str, services: Any) -> tuple[str, str] | None:
    """Return what is wrong with a path of a key that each service has, and what would mend it.

    Parameters
    ----------
    path : str
        Dotted path from the top of the scenario.
    services : object
        What stands below ``services``.

    Returns
    -------
    tuple of (message, help) or None
        None for any other path.
    """
    key = path.partition(".")[0]
    if key not in SERVICE_KEYS:
        return None
    name = next(iter(services), "chat") if isinstance(services, Mapping) else "chat"
    return (
        f"{key} is not in the scenario: each service has its own",
        f"name the service: services.{name}.{path}",
    )


@contextmanager
def naming(service: str) -> Iterator[None]:
    """Say in every input error raised within which service it is about.

    Parameters
    ----------
    service : str
        Its name.

    Raises
    ------
    InputError
        In place of the one raised within.
    """
    try:
        yield
    except InputError as error:
        raise InputError(_named(issue, service) for issue in error.issues) from error


def _named(issue: Issue, service: str) -> Issue:
    own = issue.path.partition(".")[0] in SERVICE_KEYS or not issue.path
    message = f"service {service}: {issue.message}" if own else issue.message
    return replace(issue, message=message, path=at_service(service, issue.path))


def fault_of_service(name: str, fault: Fault) -> Fault:
    """Return a fault of a service's scenario as one of the file."""
    path, message, mend = fault
    place = at_service(name, path)
    if place == path:
        return fault
    if message.startswith(path):
        return place, place + message.removeprefix(path), mend
    return place, f"service {name}: {message}", mend


def check_shared(name: str, parts: Parts) -> list[Fault]:
    """Return what a service among others cannot do: some routing, some sizes of lines.

    Parameters
    ----------
    name : str
        Of the service.
    parts : Parts
        Valid parts of its scenario.

    Returns
    -------
    list of (path, message, help)
    """
    faults = []
    if parts.routing is not None and parts.routing.between == "prefill":
        path = f"services.{name}.routing.between"
        mend = "leave it out, or write a scenario of its own for this service"
        faults.append((path, f"{path} = prefill is planned for one service alone", mend))
    mend = "remove it"
    faults += [(p, f"{p} is not planned for several services", mend) for p in chip_terms(parts)]
    for i, link in parts.links.items():
        faults += _size_faults(f"links.{i}.bandwidth", link)
    return faults


def _size_faults(path: str, link: Link) -> list[Fault]:
    """Return why services cannot reserve parts of a line, if they cannot."""
    step, most = line_step_bytes_per_s(link), link.bandwidth.max_bytes_per_s
    part = format_quantity(step, "bandwidth")
    if most / step > MAX_LEVELS * (1.0 + 1e-9):
        said = format_quantity(most, "bandwidth")
        return [
            (
                path,
                f"{path}: {said} in steps of {part} makes {most / step:.0f} parts to reserve; at "
                f"most {MAX_LEVELS} are allowed",
                f"use step: {format_quantity(most / 20, 'bandwidth')}",
            )
        ]
    faults = []
    for key, size in (("min", link.bandwidth.min_bytes_per_s), ("max", most)):
        if abs(size / step - round(size / step)) > 1e-6:
            said = format_quantity(size, "bandwidth")
            near = format_quantity(max(round(size / step), 1) * step, "bandwidth")
            faults.append(
                (
                    path,
                    f"{path}: {key} = {said} is no multiple of step = {part}, in which services "
                    "reserve their parts",
                    f"use {key}: {near}, or another step",
                )
            )
    return faults


def top_level_fault(fault: Fault, services: Any) -> Fault:
    """Say of a key of services that stands at the top of the file where it belongs."""
    path, message, mend = fault
    if not message.startswith("unknown key ") or "." in path:
        return fault
    if path in SERVICE_KEYS:
        name = next(iter(services), "chat") if isinstance(services, dict) else "chat"
        return (
            path,
            f"{path} stands beside services, but each service has its own",
            f"move it below them, such as services.{name}.{path}",
        )
    if path in fields_of(Scenario):
        return path, f"{path} is for one service: several are planned at least cost", "remove it"
    return path, message, mend
