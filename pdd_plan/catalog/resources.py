"""Finds the profile folders, in a source checkout and in an installed wheel alike."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pdd_plan.errors import InputError, Issue

_PACKAGE = Path(__file__).resolve().parent.parent


@cache
def hardware_profiles() -> Path:
    """Return the folder of chip and link profiles.

    Returns
    -------
    Path
        ``hardware_profiles`` beside the package in a checkout, else inside the wheel.

    Raises
    ------
    InputError
        If neither exists, which means a broken installation.
    """
    for folder in (_PACKAGE.parent / "hardware_profiles", _PACKAGE / "data" / "hardware_profiles"):
        if (folder / "h100.yaml").is_file():
            return folder
    raise InputError(
        Issue(
            "no hardware profiles found beside the package or inside it",
            help="install pdd-plan again",
        )
    )


def link_profiles() -> Path:
    """Return the folder of link profiles inside `hardware_profiles`."""
    return hardware_profiles() / "links"


def model_profiles() -> Path:
    """Return the folder of built-in model profiles, part of the package."""
    return Path(__file__).resolve().parent / "models"


def profile_names(folder: Path) -> list[str]:
    """Return the sorted names of the YAML profiles in a folder, without reading them."""
    return sorted(path.stem for path in folder.glob("*.yaml"))
