"""From the names in a scenario to the profiles of the catalog."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from pdd_plan.catalog import (
    ChipProfile,
    ModelProfile,
    RelativeChip,
    Sourced,
    load_chip,
    load_model,
    model_from_numbers,
)
from pdd_plan.scenario.model_numbers import ModelNumbers
from pdd_plan.scenario.places import ChipOffer


def resolve_model(model: str | ModelNumbers) -> ModelProfile:
    """Return the profile of a scenario's model.

    Parameters
    ----------
    model : str or ModelNumbers
        ``Scenario.model``.

    Returns
    -------
    ModelProfile

    Raises
    ------
    InputError
        If the name, file or numbers describe no model.
    """
    if isinstance(model, str):
        return load_model(model)
    return model_from_numbers(model.numbers(), name=model.name)


def resolve_chip(name: str, offer: ChipOffer) -> ChipProfile:
    """Return the profile of a chip offered at a site, with the offer's own numbers put in.

    Parameters
    ----------
    name : str
        Key under ``chips``.
    offer : ChipOffer
        What the scenario says about it.

    Returns
    -------
    ChipProfile
        Named as in the scenario; a relative chip has the numbers of the chip it refers to.

    Raises
    ------
    InputError
        If the catalog has no such chip, or a profile file is malformed.
    """
    chip = load_chip(offer.relative_to or offer.profile or name)
    if offer.relative_to is not None and offer.prefill is not None and offer.decode is not None:
        speeds = RelativeChip(
            offer.relative_to, offer.prefill, offer.decode, "scenario", confidence="user"
        )
        chip = replace(chip, title=name, relative=speeds, prices=(), aliases=(), notes=())
    facts = dict(chip.facts)
    if offer.memory_bytes is not None:
        facts["memory_bytes"] = Sourced(offer.memory_bytes, "B", "scenario", "", "user")
        chip = replace(chip, memory_bytes=offer.memory_bytes)
    if offer.power_w is not None:
        facts["tdp_w"] = Sourced(offer.power_w, "W", "scenario", "", "user")
        chip = replace(chip, tdp_w=offer.power_w)
    return replace(chip, name=name, facts=MappingProxyType(facts))
