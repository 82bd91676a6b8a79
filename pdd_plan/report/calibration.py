"""A calibration for programs: residuals row by row, tidy tables and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pdd_plan.fleet.calibrated import Calibrated
from pdd_plan.fleet.measurements import MeasuredPoint
from pdd_plan.report.tidy import SUMMARY_KEYS, Tidy, Value

MEASURES = ("tpot", "ttft")


@dataclass(frozen=True)
class Residual:
    """One measurement against the fit.

    Attributes
    ----------
    point : MeasuredPoint
        The row that it stands in.
    shape : str
        Engine shape.
    measure : str
        ``ttft``, ``tpot``, ``step`` (decode) or ``throughput`` (seconds per token in flight).
    measured_s, fitted_s : float
        Times [s].
    off, default_off, left_out_off : float or None
        Predicted over measured, less 1: after the fit, with the defaults, and from a fit without
        the point.
    outlier : bool
        More than four standard deviations away.
    """

    point: MeasuredPoint
    shape: str
    measure: str
    measured_s: float
    fitted_s: float
    off: float
    default_off: float
    left_out_off: float | None
    outlier: bool


def residuals(calibrated: Calibrated) -> tuple[Residual, ...]:
    """Return every measurement against the fit, in file order."""
    return tuple(_residuals(calibrated))


def _residuals(calibrated: Calibrated) -> Iterator[Residual]:
    fit = calibrated.calibration
    outliers = fit.outliers
    pairs = zip(calibrated.chip_runs.points, calibrated.chip_runs.runs, strict=True)
    for row, (point, run) in enumerate(pairs):
        for column in (1, 0):
            if math.isnan(fit.errors[row, column]):
                continue
            measured = run.ttft_s if column else run.tpot_s
            off, before, left = (
                float(np.expm1(part[row, column]))
                for part in (fit.errors, fit.default_errors, fit.left_out_errors)
            )
            yield Residual(
                point=point,
                shape=run.shape.label,
                measure={"decode": "step", "throughput": "throughput"}.get(
                    run.phase, MEASURES[column]
                ),
                measured_s=measured,
                fitted_s=measured * (1.0 + off),
                off=off,
                default_off=before,
                left_out_off=None if math.isnan(left) else left,
                outlier=bool(outliers[row, column]),
            )


def calibration_tables(calibrated: Calibrated) -> tuple[Tidy, ...]:
    """Return a calibration as tidy tables."""
    return (_summary(calibrated), _parameters(calibrated), _kept(calibrated), _points(calibrated))


def _summary(calibrated: Calibrated) -> Tidy:
    runs = calibrated.chip_runs
    rows: list[tuple[Value, ...]] = [
        ("calibration", "tool_version", calibrated.tool_version),
        ("calibration", "date", calibrated.date),
        ("calibration", "scenario", calibrated.scenario),
        ("calibration", "chip", runs.chip),
        ("calibration", "model", runs.model),
        ("calibration", "framework", runs.framework),
        ("calibration", "precision", calibrated.precision),
        ("calibration", "points", len(runs.points)),
        ("calibration", "command", calibrated.command),
        ("calibration", "profile", calibrated.profile),
        ("calibration", "line", calibrated.line),
        ("calibration", "places", ", ".join(calibrated.places)),
        ("measurements", "file", calibrated.file),
        ("measurements", "sha256", calibrated.sha256),
        ("errors", "scatter_tpot", calibrated.calibration.scatter),
    ]
    for name, values in calibrated.median_errors().items():
        for what, value in zip(("default", "fitted", "left_out"), values, strict=True):
            rows.append(("errors", f"median_{name}_{what}", None if value != value else value))
    return Tidy("summary", SUMMARY_KEYS, tuple(rows))


def _parameters(calibrated: Calibrated) -> Tidy:
    keys = ("parameter", "value", "low", "high", "default")
    rows = tuple(
        (one.name, one.value, one.low, one.high, one.default)
        for one in calibrated.calibration.values
    )
    return Tidy("parameters", keys, rows)


def _kept(calibrated: Calibrated) -> Tidy:
    rows = tuple(
        (one.name, one.value, one.doubt.reason if one.doubt is not None else None)
        for one in calibrated.kept
    )
    return Tidy("kept", ("parameter", "value", "reason"), rows)


def _points(calibrated: Calibrated) -> Tidy:
    keys = (
        *("line", "phase", "shape", "input_tokens", "cached_tokens", "output_tokens"),
        *("concurrency", "measure", "measured_s", "fitted_s", "off", "default_off"),
        *("left_out_off", "outlier"),
    )
    rows = []
    for one in residuals(calibrated):
        point = one.point
        numbers = (point.input_tokens, point.cached_tokens, point.output_tokens, point.concurrency)
        rows.append(
            (
                point.line,
                point.phase,
                one.shape,
                *(None if math.isnan(number) else number for number in numbers),
                one.measure,
                one.measured_s,
                one.fitted_s,
                one.off,
                one.default_off,
                one.left_out_off,
                one.outlier,
            )
        )
    return Tidy("points", keys, tuple(rows))


def calibration_json(calibrated: Calibrated) -> str:
    """Return a calibration as JSON, indented, with a line end."""
    summary, *tables = calibration_tables(calibrated)
    data: dict[str, object] = {"schema_version": 1}
    for section, key, value in summary.rows:
        part = data.setdefault(str(section), {})
        assert isinstance(part, dict)
        part[str(key)] = value
    for table in tables:
        data[table.name] = [dict(zip(table.keys, row, strict=True)) for row in table.rows]
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
