"""Checks of the files that a scenario names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pdd_plan.scenario.messages import Fault
from pdd_plan.scenario.parts import Parts
from pdd_plan.units import nearest


def check_file(parts: Parts, path: str, file: str) -> Iterator[Fault]:
    """Yield what is wrong with a file that a scenario names.

    Parameters
    ----------
    parts : Parts
        Says where relative paths start.
    path : str
        Dotted path of the key.
    file : str
        The file as written.
    """
    target = parts.folder / file
    if target.is_file():
        try:
            with target.open("rb") as stream:
                empty = not stream.read(1)
        except OSError as error:
            yield path, f"{path} = {file} cannot be read: {error.strerror}", "check its permissions"
            return
        if empty:
            yield path, f"{path} = {file} is empty", "name a file with content"
        return
    if target.is_dir():
        yield path, f"{path} = {file} is a folder", "name a file in it"
        return
    yield path, f"{path} = {file} does not exist", near_file(target)


def near_file(target: Path) -> str:
    """Return help for a file that is not there; endings do not count for likeness."""
    folder = target.parent
    if not folder.is_dir():
        return f"there is no folder {folder}; paths start at the scenario's folder"
    stems = {path.name.partition(".")[0]: path for path in sorted(folder.iterdir())}
    near = nearest(target.name.partition(".")[0], stems)
    return f"did you mean {stems[near]}?" if near else "paths start at the scenario's folder"


def check_measured_files(parts: Parts) -> Iterator[Fault]:
    """Yield faults of files of efficiencies and of measured tables."""
    files = {} if parts.efficiencies is None else {"efficiencies": parts.efficiencies.file}
    for (site, chip), offer in parts.offers.items():
        if offer.efficiencies is not None:
            files[f"sites.{site}.chips.{chip}.efficiencies"] = offer.efficiencies.file
    for i, engine in parts.engines.items():
        for key in ("efficiencies", "prefill_table", "decode_table"):
            section = getattr(engine, key)
            if section is not None:
                files[f"engines.{i}.{key}"] = section.file
    for path, file in files.items():
        if file is not None:
            yield from check_file(parts, f"{path}.file", file)
