"""Calibration: efficiencies of one model on one chip from the user's own measurements."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pdd_plan.errors import InputError, Issue
from pdd_plan.roofline.efficiencies import Efficiencies
from pdd_plan.roofline.fit import (
    LOSS_SCALE,
    UPPER,
    Fitted,
    fit_efficiencies,
    get_value,
    sensitivities,
)
from pdd_plan.roofline.identification import Doubt, doubts
from pdd_plan.roofline.operators import FloatArray
from pdd_plan.roofline.runs import MeasuredRun, RunArrays

CALIBRATION_PRIOR_SD = 0.5  # how far one model on one chip strays from the shared values
FEWEST_POINTS = 3  # below, nothing can be told from scatter
LEAST_SCATTER = 0.02  # two runs of one point differ by a percent or two
RANGE = (0.1, 0.9)  # stated range of a fitted value, as probabilities
LEFT_OUT_FITS = 40  # with more points than this, several are left out at a time
_MEASURE_WEIGHTS = np.array([1.0, 0.5])
_MEDIAN_OF_NORMAL = 0.6745  # median |x| of a standard normal


@dataclass(frozen=True)
class FittedValue:
    """One fitted parameter.

    Attributes
    ----------
    name : str
        ``name`` or ``name.framework``, as in `Efficiencies`.
    value, low, high : float
        Fitted value, and the range that holds the true one with 80 % confidence; shares end at
        what hardware reaches.
    default : float
        Value without calibration.
    """

    name: str
    value: float
    low: float
    high: float
    default: float


@dataclass(frozen=True)
class Calibration:
    """Efficiencies fitted to measurements, with how far to trust them.

    Attributes
    ----------
    efficiencies : Efficiencies
        Base with the fitted parameters replaced, and their ranges.
    values : tuple of FittedValue
        What was fitted.
    doubts : tuple of Doubt
        Parameters that the points cannot tell, each with the reason; at their default.
    scatter : float
        Standard deviation of log TPOT about the fit, outliers aside; that of TTFT is twice it.
    default_errors : ndarray, shape (points, 2)
        Log ratios of predicted to measured (TPOT, TTFT) with the base; NaN where not measured.
    errors : ndarray, shape (points, 2)
        The same after calibration.
    left_out_errors : ndarray, shape (points, 2)
        The same with each point predicted from a fit to the others.
    """

    efficiencies: Efficiencies
    values: tuple[FittedValue, ...]
    doubts: tuple[Doubt, ...]
    scatter: float
    default_errors: FloatArray
    errors: FloatArray
    left_out_errors: FloatArray

    @property
    def outliers(self) -> NDArray[np.bool_]:
        """Measurements more than four standard deviations from the fit."""
        return np.asarray(np.abs(self.errors) * _MEASURE_WEIGHTS > 4.0 * self.scatter)


def calibration_names(runs: Sequence[MeasuredRun]) -> tuple[str, ...]:
    """Return the parameters that runs of their kind can depend on.

    The framework's factor on the decode step is none of them: with one framework, it would only
    scale memory and launch times.
    """
    phases = {run.phase for run in runs}
    served = phases & {"serving", "throughput"}
    moe = any(run.model.is_moe for run in runs)
    names = ["compute", "memory", "kernel_s"]
    if phases - {"prefill"}:
        names.append("request_step_s")
    if moe and served:
        names.append("compute_moe")
    if moe and "prefill" in phases:
        names.append("dedicated_prefill")
    if any(run.shape.chips > 1 for run in runs):
        names += ["link", "collective_s"]
    if served:
        names.append("arrival_steps")
    for framework in sorted({run.framework for run in runs}):
        if served:
            names.append(f"host_s.{framework}")
        if any(run.checked_tokens > 1.0 for run in runs if run.framework == framework):
            names.append(f"accepted_tokens.{framework}")
    return tuple(names)


def calibrate(
    runs: Sequence[MeasuredRun],
    base: Efficiencies | None = None,
    keep: Collection[str] = (),
    leave_one_out: bool = True,
) -> Calibration:
    """Fit efficiencies to measured runs of one model, chip, framework and precision.

    A robust fit with weak priors around the base. Its scatter is estimated from the residuals;
    parameters that the points alone do not tell (`pdd_plan.roofline.identification`) stay at the
    base value, and the others are fitted again.

    Parameters
    ----------
    runs : sequence of MeasuredRun
        Measurements, spread over concurrency and input length.
    base : Efficiencies or None
        Centers of the priors; None takes the shipped defaults.
    keep : collection of str
        Parameters that stay at the base value, told or not.
    leave_one_out : bool
        Whether to predict each point from a fit to the others (one fit per point).

    Returns
    -------
    Calibration
        Fitted efficiencies with uncertainty, residuals and left-out errors.

    Raises
    ------
    InputError
        If fewer than three points have a measured TPOT or TTFT, several frameworks are mixed, or
        every parameter is to be kept.
    """
    start = base if base is not None else Efficiencies.default()
    arrays = _usable(runs)
    default_errors = arrays.predict_logs(start) - arrays.measured
    names = tuple(name for name in calibration_names(runs) if name not in keep)
    if not names:
        raise InputError(Issue("every parameter is kept: nothing is left to fit", "--keep"))
    own = replace(start, decode_factor={**start.decode_factor, runs[0].framework: 1.0})
    first = _Fit(own if "memory" in names else start)(arrays, names, LOSS_SCALE)
    scatter = _scatter(arrays, first)
    slopes = sensitivities(arrays.predict_logs, first.efficiencies, names)
    rows = np.isfinite(arrays.measured)
    deviations = np.broadcast_to(scatter / _MEASURE_WEIGHTS, rows.shape)[rows]
    found = doubts(runs, names, slopes[rows], deviations)
    told = tuple(name for name in names if name not in {doubt.name for doubt in found})
    if "memory" in told:  # which then holds all that the framework's factor would
        start = own
    fit = _Fit(start)
    best = fit(arrays, told, scatter)
    for _ in range(2):
        scatter = _scatter(arrays, best)
        best = fit(arrays, told, scatter, best.log_values)
    values = _values(arrays, best, start)
    left_out = np.full(arrays.measured.shape, np.nan)
    if leave_one_out and told:
        left_out = _left_out(arrays, lambda kept: fit(kept, told, scatter, best.log_values))
    ranges = {one.name: (one.low, one.high) for one in values}
    return Calibration(
        efficiencies=replace(best.efficiencies, ranges=ranges),
        values=values,
        doubts=found,
        scatter=scatter,
        default_errors=default_errors,
        errors=arrays.predict_logs(best.efficiencies) - arrays.measured,
        left_out_errors=left_out,
    )


def _usable(runs: Sequence[MeasuredRun]) -> RunArrays:
    measured = [run for run in runs if np.isfinite(run.tpot_s) or np.isfinite(run.ttft_s)]
    if len(measured) < FEWEST_POINTS:
        raise InputError(
            Issue(
                f"{len(measured)} measured point{'s are' if len(measured) != 1 else ' is'} too few "
                "to fit to",
                help=f"give {FEWEST_POINTS} or more, at different lengths and batches",
            )
        )
    frameworks = sorted({run.framework for run in runs})
    if len(frameworks) > 1:
        raise InputError(
            Issue(
                f"points of {' and '.join(frameworks)} are mixed",
                help="calibrate each framework by itself",
            )
        )
    return RunArrays.from_runs(runs)


@dataclass(frozen=True)
class _Fit:
    """Fits parameters around start values to points."""

    start: Efficiencies

    def __call__(
        self,
        arrays: RunArrays,
        names: tuple[str, ...],
        scatter: float,
        initial: FloatArray | None = None,
    ) -> Fitted:
        if not names:
            empty = np.empty(0)
            return Fitted(self.start, (), empty, empty, empty)
        return fit_efficiencies(
            arrays.predict_logs,
            arrays.measured,
            self.start,
            names,
            _MEASURE_WEIGHTS,
            CALIBRATION_PRIOR_SD,
            scatter,
            initial,
        )


def _freedom(arrays: RunArrays, fitted: Fitted) -> tuple[int, float]:
    """Return the number of measurements and how many of them the fit leaves free."""
    count = int(np.isfinite(arrays.measured).sum())
    return count, max(1.0, count - float(np.sum(1.0 - fitted.prior_share)))


def _scatter(arrays: RunArrays, fitted: Fitted) -> float:
    """Return the standard deviation of weighted log ratios from their median, outliers aside."""
    errors = (arrays.predict_logs(fitted.efficiencies) - arrays.measured) * _MEASURE_WEIGHTS
    size = float(np.median(np.abs(errors[np.isfinite(errors)]))) / _MEDIAN_OF_NORMAL
    count, free = _freedom(arrays, fitted)
    return max(LEAST_SCATTER, size * float(np.sqrt(count / free)))


def _values(arrays: RunArrays, fitted: Fitted, start: Efficiencies) -> tuple[FittedValue, ...]:
    """Return fitted values with ranges of Student's t, since the scatter is estimated too."""
    from scipy.special import stdtrit

    _, free = _freedom(arrays, fitted)
    low, high = (float(stdtrit(free, probability)) for probability in RANGE)
    return tuple(
        FittedValue(
            name,
            float(np.exp(log)),
            float(np.exp(log + low * sd)),
            min(float(np.exp(log + high * sd)), UPPER.get(name, np.inf)),
            get_value(start, name),
        )
        for name, log, sd in zip(fitted.names, fitted.log_values, fitted.log_sd, strict=True)
    )


def _left_out(arrays: RunArrays, fit: Callable[[RunArrays], Fitted]) -> FloatArray:
    count = len(arrays.concurrency)
    errors = np.full((count, 2), np.nan)
    group = np.arange(count) % min(count, LEFT_OUT_FITS)
    for number in range(int(group.max()) + 1):
        out = np.flatnonzero(group == number)
        fitted = fit(arrays.take(np.flatnonzero(group != number)))
        rest = arrays.take(out)
        errors[out] = rest.predict_logs(fitted.efficiencies) - rest.measured
    return errors
