"""Calibration: efficiencies of one model on one chip from the user's own measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pdd_plan.errors import InputError, Issue
from pdd_plan.roofline.efficiencies import Efficiencies
from pdd_plan.roofline.fit import Fitted, fit_efficiencies
from pdd_plan.roofline.operators import FloatArray
from pdd_plan.roofline.runs import MeasuredRun, RunArrays

CALIBRATION_PRIOR_SD = 0.5  # how far one model on one chip strays from the shared values
OFFSET_SHRINK = 0.9  # share of a median offset that is taken over
IDENTIFIED = 0.7  # a parameter that keeps more of its prior's variance stays at its default
FEWEST_POINTS = 5  # below, only an offset is fitted
_MEASURE_WEIGHTS = np.array([1.0, 0.5])


@dataclass(frozen=True)
class Calibration:
    """Efficiencies fitted to measurements, with how far to trust them.

    Attributes
    ----------
    efficiencies : Efficiencies
        Base with the identified parameters replaced.
    fitted : Fitted
        All parameters tried, with uncertainty and share of prior.
    identified, unidentified : tuple of str
        Parameters taken over, and those that the points cannot tell.
    tpot_offset, ttft_offset : float
        Factors to multiply predictions with, from the residuals' median; 1 where fitted.
    errors : ndarray
        Log ratios of predicted to measured (TPOT, TTFT) after calibration, one row per point.
    left_out_errors : ndarray
        The same with each point predicted from a fit to all others.
    """

    efficiencies: Efficiencies
    fitted: Fitted
    identified: tuple[str, ...]
    unidentified: tuple[str, ...]
    tpot_offset: float
    ttft_offset: float
    errors: FloatArray
    left_out_errors: FloatArray

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Return the 80 % range of each identified parameter."""
        out = {}
        for name, log, sd in zip(
            self.fitted.names, self.fitted.log_values, self.fitted.log_sd, strict=True
        ):
            if name in self.identified:
                out[name] = (
                    float(np.exp(log - 1.2816 * sd)),
                    float(np.exp(log + 1.2816 * sd)),
                )
        return out


def calibration_names(runs: Sequence[MeasuredRun]) -> tuple[str, ...]:
    """Return the parameters that runs of their kind can depend on."""
    phases = {run.phase for run in runs}
    moe = any(run.model.is_moe for run in runs)
    names = ["compute", "memory", "kernel_s"]
    if phases - {"prefill"}:
        names.append("request_step_s")
    if moe and "serving" in phases:
        names.append("compute_moe")
    if moe and "prefill" in phases:
        names.append("dedicated_prefill")
    if any(run.shape.chips > 1 for run in runs):
        names += ["link", "collective_s"]
    if "serving" in phases:
        names.append("arrival_steps")
    for framework in sorted({run.framework for run in runs}):
        if "serving" in phases:
            names.append(f"host_s.{framework}")
        if framework != "trtllm" and phases - {"prefill"}:
            names.append(f"decode_factor.{framework}")
        if any(run.checked_tokens > 1.0 for run in runs if run.framework == framework):
            names.append(f"accepted_tokens.{framework}")
    return tuple(names)


def calibrate(
    runs: Sequence[MeasuredRun],
    base: Efficiencies | None = None,
    leave_one_out: bool = True,
    prior_sd: float = CALIBRATION_PRIOR_SD,
) -> Calibration:
    """Fit efficiencies to measured runs of one model, chip, framework and precision.

    Five points or more refit the parameters around the base values; fewer give only an offset
    for TPOT and one for TTFT.

    Parameters
    ----------
    runs : sequence of MeasuredRun
        Measurements, spread over concurrency and input length.
    base : Efficiencies or None
        Centers of the priors; None takes the shipped defaults.
    leave_one_out : bool
        Whether to predict each point from a fit to the others (one fit per point).
    prior_sd : float
        Standard deviation of each parameter's logarithm around the base.

    Returns
    -------
    Calibration
        Fitted efficiencies with uncertainty, residuals and left-out errors.

    Raises
    ------
    InputError
        If there is no point with a measured TPOT or TTFT.
    """
    start = base if base is not None else Efficiencies.default()
    arrays = RunArrays.from_runs(list(runs)) if runs else None
    if arrays is None or not np.isfinite(arrays.measured).any():
        raise InputError(
            Issue("no measured TPOT or TTFT to calibrate with", help="give at least one row")
        )
    names = calibration_names(runs)
    fitted = _fit(arrays, start, names, prior_sd)
    identified = tuple(
        name
        for name, share in zip(names, fitted.prior_share, strict=True)
        if share <= IDENTIFIED and len(runs) >= FEWEST_POINTS
    )
    efficiencies = _fit(arrays, start, identified, prior_sd).efficiencies if identified else start
    offsets = np.ones(2)
    if not identified:
        offsets = _offsets(arrays, start)
    errors = arrays.predict_logs(efficiencies) + np.log(offsets) - arrays.measured
    left_out = np.full(errors.shape, np.nan)
    if leave_one_out and identified and len(runs) > FEWEST_POINTS:
        left_out = _left_out(arrays, lambda kept: _fit(kept, start, identified, prior_sd))
    return Calibration(
        efficiencies=efficiencies,
        fitted=fitted,
        identified=identified,
        unidentified=tuple(name for name in names if name not in identified),
        tpot_offset=float(offsets[0]),
        ttft_offset=float(offsets[1]),
        errors=errors,
        left_out_errors=left_out,
    )


def _fit(arrays: RunArrays, start: Efficiencies, names: tuple[str, ...], prior_sd: float) -> Fitted:
    return fit_efficiencies(
        arrays.predict_logs, arrays.measured, start, names, _MEASURE_WEIGHTS, prior_sd
    )


def _offsets(arrays: RunArrays, start: Efficiencies) -> FloatArray:
    """Return the factors that take most of the median error off (TPOT, TTFT)."""
    errors = arrays.measured - arrays.predict_logs(start)
    out = np.ones(2)
    for column in range(2):
        known = errors[np.isfinite(errors[:, column]), column]
        if known.size:
            out[column] = np.exp(OFFSET_SHRINK * np.median(known))
    return out


def _left_out(arrays: RunArrays, fit: Callable[[RunArrays], Fitted]) -> FloatArray:
    count = len(arrays.concurrency)
    errors = np.full((count, 2), np.nan)
    for point in range(count):
        others = np.flatnonzero(np.arange(count) != point)
        fitted = fit(arrays.take(others))
        one = arrays.take(np.array([point], dtype=np.intp))
        errors[point] = (one.predict_logs(fitted.efficiencies) - one.measured)[0]
    return errors
