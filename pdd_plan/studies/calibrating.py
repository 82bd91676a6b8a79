"""A calibration: measured points of a scenario's chip to efficiencies, or why not."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pdd_plan import __version__
from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.calibrated import Calibrated, Kept
from pdd_plan.fleet.measured_runs import RunsOfChip, measured_runs
from pdd_plan.fleet.measurements import read_measurements
from pdd_plan.roofline import Efficiencies
from pdd_plan.roofline.calibration import calibrate, calibration_names
from pdd_plan.roofline.efficiency_files import (
    parameter_name,
    parameter_text,
    render_efficiencies,
)
from pdd_plan.roofline.fit import get_value
from pdd_plan.roofline.identification import Doubt
from pdd_plan.scenario import Scenario
from pdd_plan.scenario.files import content_hash, shipped_folder
from pdd_plan.units import nearest


@dataclass(frozen=True)
class CalibrationOptions:
    """What to calibrate, and how.

    Attributes
    ----------
    chip : str or None
        Chip to take of a table of several.
    keep : tuple of str
        Parameters that stay at their default, by the names of `parameter_name`.
    profile : Path or None
        File of the profile; None takes chip, model and framework.
    command : str
        Command line that gives it again.
    """

    chip: str | None = None
    keep: tuple[str, ...] = ()
    profile: Path | None = None
    command: str = ""


def calibrate_scenario(
    scenario: Scenario, file: Path, options: CalibrationOptions
) -> tuple[Calibrated, Path]:
    """Fit efficiencies to the measured points of one chip of a scenario.

    Parameters
    ----------
    scenario : Scenario
        Gives model, precision and chips.
    file : Path
        Table of measurements.
    options : CalibrationOptions
        Chip, what to keep, where the profile goes.

    Returns
    -------
    Calibrated
        The fit, its errors and the line to paste.
    Path
        Where the profile is to be written.

    Raises
    ------
    InputError
        If the table is wrong, the points cannot tell a parameter that is not to be kept, or the
        profile would replace a file that is none.
    """
    found = measured_runs(scenario, read_measurements(file), options.chip)
    default = Efficiencies.default()
    keep = _kept_names(options.keep, calibration_names(found.runs))
    doubted: dict[str, Doubt] = {}
    try:
        if keep:
            everything = calibrate(found.runs, default, (), leave_one_out=False)
            doubted = {doubt.name: doubt for doubt in everything.doubts}
        result = calibrate(found.runs, default, keep)
    except InputError as error:
        raise InputError(replace(one, file=str(file)) for one in error.issues) from error
    if result.doubts:
        raise InputError(_refusals(result.doubts, default, str(file)))
    place = options.profile or _default_name(found)
    _check_profile(place)
    kept = tuple(Kept(name, get_value(default, name), doubted.get(name)) for name in keep)
    calibrated = Calibrated(
        scenario=scenario.name,
        precision=_precision(scenario),
        file=file.name,
        sha256=content_hash(file),
        chip_runs=found,
        calibration=result,
        kept=kept,
        profile=_from_scenario(place, scenario),
        places=_places(scenario, found.chip),
        names_framework=scenario.serving.framework == found.framework,
        command=options.command,
        tool_version=__version__,
        date=datetime.date.today().isoformat(),
    )
    return calibrated, place


def profile_text(calibrated: Calibrated) -> str:
    """Return a calibration as a file that a scenario names under ``efficiencies.file``.

    Parameters
    ----------
    calibrated : Calibrated
        The calibration.

    Returns
    -------
    str
        YAML with every fitted value, its range, and where it comes from.
    """
    runs, fit = calibrated.chip_runs, calibrated.calibration
    errors = ", ".join(
        f"{name.upper()} {before:.1%} -> {after:.1%} (left out: {left:.1%})"
        for name, (before, after, left) in calibrated.median_errors().items()
    )
    header = [
        f"{runs.chip} under {runs.framework} with {runs.model} in {calibrated.precision}: fitted "
        f"to {len(runs.points)} points",
        f"of {calibrated.file} (SHA-256 {calibrated.sha256[:16]}) by pdd-plan "
        f"{calibrated.tool_version}, {calibrated.date}.",
        f"Median error: {errors}.",
        "low and high hold the true value with 80 % confidence, if the form of the roofline is",
        "right. Parameters that are not listed have the defaults of pdd-plan.",
    ]
    if calibrated.kept:
        header.append("Kept at the default on request:")
    for one in calibrated.kept:
        reason = one.doubt.reason if one.doubt is not None else "kept as asked"
        header.append(f"  {parameter_name(one.name)}: {reason}")
    source = (
        f"calibrated on {len(runs.points)} points of {calibrated.file} "
        f"(SHA-256 {calibrated.sha256[:16]}): {runs.chip}, {runs.model}, {runs.framework}"
    )
    values = replace(fit.efficiencies, source=source, date=calibrated.date)
    fitted = {one.name for one in fit.values}
    only = fitted | {one.name for one in calibrated.kept}
    if "memory" in fitted:
        only.add(f"decode_factor.{runs.framework}")
    notes = {one.name.partition(".")[0]: "default, kept" for one in calibrated.kept}
    return render_efficiencies(values, only, header, notes)


# --- names -------------------------------------------------------------------------------------


def _kept_names(given: Collection[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the parameters that are to be kept, from their short names."""
    by_short = {parameter_name(name): name for name in names}
    issues, found = [], []
    for word in (part.strip() for text in given for part in text.split(",")):
        short = parameter_name(word)
        if short in by_short:
            found.append(by_short[short])
            continue
        near = nearest(short, by_short)
        mend = f"did you mean {near}?" if near else f"these points have {', '.join(by_short)}"
        issues.append(Issue(f"no parameter {word} to keep", "--keep", help=mend))
    if issues:
        raise InputError(issues)
    return tuple(dict.fromkeys(found))


def _refusals(doubts: Sequence[Doubt], default: Efficiencies, file: str) -> list[Issue]:
    """Return one issue a parameter; the last says how to keep the defaults of all."""
    issues = []
    for doubt in doubts:
        short = parameter_name(doubt.name)
        value = parameter_text(doubt.name, get_value(default, doubt.name))
        mend = f"measure {doubt.measure}; or keep its default, {value}, with --keep {short}"
        issues.append(
            Issue(f"the points cannot tell {short}: {doubt.reason}", file=file, help=mend)
        )
    if len(issues) > 1:
        every = ",".join(parameter_name(doubt.name) for doubt in doubts)
        issues[-1] = replace(issues[-1], help=f"{issues[-1].help}; all of these: --keep {every}")
    return issues


def _precision(scenario: Scenario) -> str:
    given = scenario.precision
    experts = f", {given.experts} experts" if given.experts is not None else ""
    return f"{given.weights} weights{experts}, {given.kv_cache} KV cache"


# --- places ------------------------------------------------------------------------------------


def _check_profile(place: Path) -> None:
    """Refuse to replace a file that is no calibration."""
    if not place.is_file():
        return
    text = place.read_text(encoding="utf-8", errors="replace")
    if "calibrated on" not in text:
        raise InputError(
            Issue(
                f"{place} exists and is no profile of a calibration",
                "--profile",
                help="name another file",
            )
        )


def _default_name(found: RunsOfChip) -> Path:
    """Return a name that needs no quotes, whatever chip and model are called."""
    words = (re.sub(r"[^\w.-]+", "-", word) for word in (found.chip, found.model, found.framework))
    return Path("-".join(words) + ".yaml")


def _from_scenario(place: Path, scenario: Scenario) -> str:
    """Return the profile's path as the scenario must name it."""
    folder = scenario.source.folder
    shipped = shipped_folder()
    if shipped is not None and folder.resolve() == shipped.resolve():
        return place.name
    return Path(os.path.relpath(place.resolve(), folder.resolve())).as_posix()


def _places(scenario: Scenario, chip: str) -> tuple[str, ...]:
    """Return where the line belongs: at the top, or with the chip where it is not the only one."""
    if len({name for site in scenario.sites.values() for name in site.chips}) == 1:
        return ()
    return tuple(
        f"sites.{name}.chips.{chip}" for name, site in scenario.sites.items() if chip in site.chips
    )
