"""What a calibration found, as its report and its profile need it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import numpy as np

from pdd_plan.fleet.measured_runs import RunsOfChip
from pdd_plan.roofline.calibration import Calibration
from pdd_plan.roofline.identification import Doubt


@dataclass(frozen=True)
class Kept:
    """A parameter that stays at its default.

    Attributes
    ----------
    name : str
        ``name`` or ``name.framework``, as in `pdd_plan.roofline.Efficiencies`.
    value : float
        The default, in SI.
    doubt : Doubt or None
        Why the points cannot tell it; None where they could.
    """

    name: str
    value: float
    doubt: Doubt | None


@dataclass(frozen=True)
class Calibrated:
    """A calibration of one chip under one framework for the model of a scenario.

    Attributes
    ----------
    scenario : str
        Name of the scenario.
    precision : str
        Number formats, for people.
    file, sha256 : str
        Table of measurements, and the hash of its content.
    chip_runs : RunsOfChip
        What was measured.
    calibration : Calibration
        What was fitted.
    kept : tuple of Kept
        Parameters that stay at their default because the user said so.
    profile : str
        File of the profile, relative to the scenario; what a scenario names.
    places : tuple of str
        Keys of the scenario under which the line belongs; empty for its top level.
    names_framework : bool
        Whether the scenario plans with the framework that was measured.
    command : str
        Command line that gives it again.
    tool_version, date : str
        Of this tool, and the day (ISO).
    """

    scenario: str
    precision: str
    file: str
    sha256: str
    chip_runs: RunsOfChip
    calibration: Calibration
    kept: tuple[Kept, ...]
    profile: str
    places: tuple[str, ...]
    names_framework: bool
    command: str
    tool_version: str
    date: str

    @property
    def line(self) -> str:
        """Line to paste into the scenario."""
        plain = re.fullmatch(r"[\w./-]*[A-Za-z_./-][\w./-]*", self.profile) is not None
        name = self.profile if plain else json.dumps(self.profile, ensure_ascii=False)
        return f"efficiencies: {{file: {name}}}"

    @property
    def framework_line(self) -> str:
        """Line to paste beside it; empty where the scenario names the framework already."""
        return "" if self.names_framework else f"serving.framework: {self.chip_runs.framework}"

    def median_errors(self) -> dict[str, tuple[float, float, float]]:
        """Return the median size of errors by measure: before, after, left out.

        Returns
        -------
        dict
            ``tpot`` and ``ttft``, where measured, to fractions of the measured time; the last is
            NaN where no point was left out.
        """
        found = {}
        parts = (
            self.calibration.default_errors,
            self.calibration.errors,
            self.calibration.left_out_errors,
        )
        for column, name in enumerate(("tpot", "ttft")):
            sizes = [np.abs(np.expm1(part[:, column])) for part in parts]
            if np.isfinite(sizes[1]).any():
                before, after, left = (
                    float(np.nanmedian(size)) if np.isfinite(size).any() else float("nan")
                    for size in sizes
                )
                found[name] = (before, after, left)
        return found
