"""Chips that a scenario offers, resolved against the catalog."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pdd_plan.catalog import ChipProfile, RelativeChip, absolute_chip, load_chip
from pdd_plan.errors import InputError
from pdd_plan.scenario.places import ChipOffer
from pdd_plan.scenario.schema import Scenario


def resolve_chips(scenario: Scenario) -> dict[tuple[str, str], ChipProfile]:
    """Profile of every chip on offer.

    Parameters
    ----------
    scenario : Scenario
        As loaded.

    Returns
    -------
    dict of (site, chip name) to ChipProfile
        Names as the scenario uses them.

    Raises
    ------
    InputError
        If a profile is unknown or malformed, or relative chips form a circle.
    """
    return {
        (site_name, name): _resolve(scenario, site_name, name, ())
        for site_name, site in scenario.sites.items()
        for name in site.chips
    }


def _resolve(scenario: Scenario, site: str, name: str, seen: tuple[str, ...]) -> ChipProfile:
    offer = scenario.sites[site].chips[name]
    path = f"sites.{site}.chips.{name}"
    if name in seen:
        chain = " > ".join((*seen, name))
        issue = scenario.source.issue(
            f"{path}.relative_to", f"chip is relative to itself: {chain}", "name a catalog chip"
        )
        raise InputError(issue)
    if offer.relative_to is not None:
        base = _base(scenario, site, offer.relative_to, (*seen, name))
        return _with_offer(_relative(base, name, offer), name, offer)
    return _with_offer(_load(scenario, offer.profile or name, f"{path}.profile"), name, offer)


def _base(scenario: Scenario, site: str, name: str, seen: tuple[str, ...]) -> ChipProfile:
    """Chip that another one is compared with: of the same site, of any site, or of the catalog."""
    places = [site, *scenario.sites]
    for place in places:
        if name in scenario.sites[place].chips:
            return _resolve(scenario, place, name, seen)
    return _load(scenario, name, f"sites.{site}.chips.{seen[-1]}.relative_to")


def _load(scenario: Scenario, name: str, path: str) -> ChipProfile:
    if name.endswith((".yaml", ".yml")):
        name = str(Path(scenario.source.file).parent / name)
    try:
        return load_chip(name)
    except InputError as error:
        raise InputError(
            issue if issue.file else scenario.source.issue(path, issue.message, issue.help)
            for issue in error.issues
        ) from error


def _relative(base: ChipProfile, name: str, offer: ChipOffer) -> ChipProfile:
    root, prefill, decode = absolute_chip(base)
    ratios = RelativeChip(
        to=root.name,
        prefill=prefill * (offer.prefill or 1.0),
        decode=decode * (offer.decode or 1.0),
        source="scenario",
    )
    return replace(base, name=name, title=name, relative=ratios, prices=(), aliases=())


def _with_offer(chip: ChipProfile, name: str, offer: ChipOffer) -> ChipProfile:
    memory = chip.memory_bytes if offer.memory_bytes is None else offer.memory_bytes
    power = chip.tdp_w if offer.power_w is None else offer.power_w
    return replace(chip, name=name, memory_bytes=memory, tdp_w=power)
