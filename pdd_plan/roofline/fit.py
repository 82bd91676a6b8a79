"""Fit of efficiencies to measured runs, robust and with weak priors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pdd_plan.errors import InputError
from pdd_plan.roofline.efficiencies import BY_FRAMEWORK, Efficiencies
from pdd_plan.roofline.operators import FloatArray

LOSS_SCALE = 0.1  # log ratio beyond which a residual counts linearly (soft L1)
PRIOR_SD = 0.7  # standard deviation of the log-normal prior of each parameter
_IMPOSSIBLE = 1e3  # residual of values that `Efficiencies` refuses
# No share above what hardware shows: matrix products in bf16 (1.3 times `compute`) below the peak,
# reads at most at the 93 % that copy benchmarks reach on HBM.
UPPER = {"compute": 0.76, "memory": 0.93, "link": 1.0, "nic": 1.0}

Predict = Callable[[Efficiencies], FloatArray]
"""Efficiencies -> logarithms of the predicted quantities, any shape."""


@dataclass(frozen=True)
class Fitted:
    """Result of a fit.

    Attributes
    ----------
    efficiencies : Efficiencies
        Start values with the fitted ones put in.
    names : tuple of str
        Fitted parameters, ``name`` or ``name.framework``.
    log_values : ndarray
        Logarithms of the fitted values.
    log_sd : ndarray
        Standard deviation of each logarithm, from the curvature at the optimum.
    prior_share : ndarray
        Variance left of each parameter's prior, 0 to 1: near 1 means that the data do not
        identify it, alone or beside the others.
    """

    efficiencies: Efficiencies
    names: tuple[str, ...]
    log_values: FloatArray
    log_sd: FloatArray
    prior_share: FloatArray

    def values(self) -> dict[str, float]:
        """Return the fitted values by name."""
        return {
            name: float(np.exp(log)) for name, log in zip(self.names, self.log_values, strict=True)
        }


def get_value(efficiencies: Efficiencies, name: str) -> float:
    """Return a parameter by ``name`` or ``name.framework``."""
    field, _, framework = name.partition(".")
    value = getattr(efficiencies, field)
    return float(value[framework] if framework else value)


def with_values(base: Efficiencies, values: Mapping[str, float]) -> Efficiencies:
    """Return `base` with parameters replaced, each by ``name`` or ``name.framework``.

    Raises
    ------
    InputError
        If a value is impossible.
    """
    changes: dict[str, object] = {}
    for name, value in values.items():
        field, _, framework = name.partition(".")
        if field in BY_FRAMEWORK:
            merged = changes.setdefault(field, dict(getattr(base, field)))
            assert isinstance(merged, dict)
            merged[framework] = value
        else:
            changes[field] = value
    return replace(base, **changes)  # type: ignore[arg-type]


def sensitivities(
    predict: Predict, at: Efficiencies, names: Sequence[str], step: float = 0.02
) -> FloatArray:
    """Return by how much predictions change with parameters, both in logarithms.

    Parameters
    ----------
    predict : callable
        Efficiencies to log predictions, any shape.
    at : Efficiencies
        Where the derivatives are taken.
    names : sequence of str
        Parameters, ``name`` or ``name.framework``.
    step : float
        Change of each parameter's logarithm to either side, less where a share would exceed 1.

    Returns
    -------
    ndarray, shape of the predictions + (parameters,)
        d log prediction / d log parameter, by central differences.
    """
    columns = []
    for name in names:
        value = get_value(at, name)
        low = with_values(at, {name: value * np.exp(-step)})
        most = min(value * np.exp(step), UPPER.get(name, np.inf))
        high = with_values(at, {name: most})
        columns.append((predict(high) - predict(low)) / (np.log(most / value) + step))
    return np.stack(columns, axis=-1)


def fit_efficiencies(
    predict: Predict,
    measured: FloatArray,
    start: Efficiencies,
    names: Sequence[str],
    weights: FloatArray | None = None,
    prior_sd: float = PRIOR_SD,
    loss_scale: float = LOSS_SCALE,
    initial: FloatArray | None = None,
) -> Fitted:
    """Fit parameters to logarithms of measurements.

    Minimizes a soft-L1 loss of the weighted log ratios, plus a log-normal prior around the start
    values, by trust-region least squares.

    Parameters
    ----------
    predict : callable
        Efficiencies to log predictions, same shape as `measured`.
    measured : ndarray
        Logarithms of the measurements; NaN entries are left out.
    start : Efficiencies
        Start values and centers of the prior.
    names : sequence of str
        Parameters to fit, ``name`` or ``name.framework``.
    weights : ndarray or None
        Weight of each residual, broadcast to `measured`; None means 1.
    prior_sd : float
        Standard deviation of each parameter's logarithm in the prior.
    loss_scale : float
        Log ratio at which the loss turns from square to linear.
    initial : ndarray or None
        Logarithms at which the search begins; None means at the start values.

    Returns
    -------
    Fitted
        Values with their uncertainty.
    """
    from scipy.optimize import least_squares

    center = np.log([get_value(start, name) for name in names])
    upper = np.array([np.log(UPPER.get(name, np.inf)) for name in names])
    use = np.isfinite(measured)
    weight = np.broadcast_to(1.0 if weights is None else weights, measured.shape)[use]

    def residuals(logs: FloatArray) -> FloatArray:
        beside = (logs - center) / prior_sd
        try:
            tried = with_values(start, dict(zip(names, np.exp(logs), strict=True)))
        except InputError:  # shares and their factors exceed the peak together
            return np.concatenate([np.full(weight.size, _IMPOSSIBLE), beside])
        error = (predict(tried) - measured)[use] * weight / loss_scale
        robust = np.sign(error) * np.sqrt(2.0 * (np.sqrt(1.0 + error**2) - 1.0))
        return np.concatenate([robust, beside])

    inside = np.minimum(center if initial is None else initial, upper - 1e-6)
    solution = least_squares(
        residuals, inside, bounds=(np.full(center.shape, -np.inf), upper), x_scale=0.3, max_nfev=60
    )
    jacobian = np.asarray(solution.jac, dtype=np.float64)
    information = jacobian.T @ jacobian
    covariance = np.linalg.inv(information)
    variance = np.diag(covariance)
    return Fitted(
        efficiencies=with_values(start, dict(zip(names, np.exp(solution.x).tolist(), strict=True))),
        names=tuple(names),
        log_values=solution.x,
        log_sd=np.sqrt(variance),
        prior_share=variance / prior_sd**2,
    )
