"""What a sweep keeps of each of several services, beside what it keeps of all together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

PREFIX = "services."
"""Beginning of the keys of services; their names, which hold no dot, follow."""


@dataclass(frozen=True)
class ServiceOutcome:
    """The part of one service in the outcome of a point; keys as in an outcome of one service.

    Attributes
    ----------
    name : str
        Of the service.
    usd_per_hour : float or None
        Its chips, and its share of the lines.
    line_gbps : float or None
        Sum of the parts of lines that are reserved for it [Gbit/s].
    """

    name: str
    usd_per_hour: float | None = None
    usd_per_million_output_tokens: float | None = None
    ttft_p50_s: float | None = None
    ttft_p90_s: float | None = None
    ttft_p99_s: float | None = None
    tpot_mean_s: float | None = None
    tpot_p90_s: float | None = None
    limits_met: bool | None = None
    demand_requests_per_s: float | None = None
    goodput_requests_per_s: float | None = None
    architecture: str | None = None
    routing_by: str | None = None
    threshold: float | None = None
    relay_request_fraction: float | None = None
    relay_token_fraction: float | None = None
    chips: int | None = None
    prefill_chips: int | None = None
    relay_chips: int | None = None
    decode_chips: int | None = None
    line_gbps: float | None = None
    fleet: str | None = None

    @classmethod
    def of(cls, name: str, values: Mapping[str, Any]) -> Self:
        """Return the part of a service.

        Parameters
        ----------
        name : str
            Of the service.
        values : mapping
            The outcome of its plan by key; keys that are not kept are passed over.
        """
        return cls(name, **{key: values[key] for key in SERVICE_COLUMNS if key in values})


SERVICE_COLUMNS = tuple(field.name for field in fields(ServiceOutcome) if field.name != "name")
"""Keys of a service's part, in order."""


def service_record(services: Iterable[ServiceOutcome], names: Iterable[str]) -> dict[str, Any]:
    """Return the parts of services as flat values, keyed such as ``services.chat.usd_per_hour``.

    Parameters
    ----------
    services : iterable of ServiceOutcome
        What is known.
    names : iterable of str
        Services that have their keys in any case, before the others.
    """
    parts = {name: ServiceOutcome(name) for name in names}
    parts |= {part.name: part for part in services}
    return {
        f"{PREFIX}{name}.{key}": value
        for name, part in parts.items()
        for key, value in asdict(part).items()
        if key != "name"
    }


def services_of_record(record: dict[str, Any]) -> tuple[ServiceOutcome, ...]:
    """Take out of a record what `service_record` put into it.

    Raises
    ------
    TypeError
        If the keys are not those of services.
    """
    parts: dict[str, dict[str, Any]] = {}
    for path in [key for key in record if key.startswith(PREFIX)]:
        name, _, key = path.removeprefix(PREFIX).partition(".")
        parts.setdefault(name, {})[key] = record.pop(path)
    return tuple(ServiceOutcome(name, **values) for name, values in parts.items())
