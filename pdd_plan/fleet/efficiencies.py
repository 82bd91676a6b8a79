"""Efficiencies of a scenario's engines: the defaults, and over them what the scenario gives."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from pdd_plan.roofline.efficiencies import Efficiencies, replace_from_mapping
from pdd_plan.scenario.efficiencies import Efficiencies as Section
from pdd_plan.scenario.files import content_hash
from pdd_plan.scenario.schema import Scenario


def scenario_efficiencies(scenario: Scenario, *own: Section | None) -> Efficiencies:
    """Return the efficiencies of an engine: the defaults, over them what the scenario gives.

    Parameters
    ----------
    scenario : Scenario
        Its section `efficiencies` counts for every engine.
    *own : Efficiencies or None
        Sections of the engine's chip and shape, the last one first.

    Raises
    ------
    InputError
        If a file of efficiencies cannot be read, or a value is impossible.
    """
    result = Efficiencies.default()
    for section in (scenario.efficiencies, *own):
        if section is None:
            continue
        if section.file is not None:
            result = file_efficiencies(scenario.source.folder / section.file)
        changes = section.changes()
        if changes:
            result = replace_from_mapping(result, {**changes, "source": "scenario"})
    return result


def file_efficiencies(path: Path) -> Efficiencies:
    """Return the efficiencies of a file, which is read again only where it has changed.

    Parameters
    ----------
    path : Path
        As for `Efficiencies.from_file`.

    Raises
    ------
    InputError
        As `Efficiencies.from_file`.
    """
    return _read(path, content_hash(path))


@lru_cache(maxsize=64)
def _read(path: Path, _content: str) -> Efficiencies:
    return Efficiencies.from_file(path)
