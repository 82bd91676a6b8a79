"""Which parameters measured points can tell, and for the others why not and what would."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pdd_plan.roofline.operators import FloatArray
from pdd_plan.roofline.runs import MeasuredRun

MOST_SD = 0.5  # standard deviation of a logarithm beyond which points tell less than the default
ALIKE = 0.3  # share of the largest standard deviation from which parameters count as alike
SILENT = 0.02  # change of the most sensitive prediction per change of a parameter


@dataclass(frozen=True)
class Doubt:
    """A parameter that the points cannot tell.

    Attributes
    ----------
    name : str
        ``name`` or ``name.framework``.
    effect : float
        Largest change of a prediction's logarithm per change of the parameter's.
    partner : str or None
        Parameter whose effect on these points looks the same; None where none does.
    alike : tuple of (str, float or None)
        Quantities that should differ and have one value at all points; None: at no point.
    measure : str
        What to measure so that the points can tell.
    """

    name: str
    effect: float
    partner: str | None
    alike: tuple[tuple[str, float | None], ...]
    measure: str

    @property
    def silent(self) -> bool:
        """Whether no prediction depends on it."""
        return self.effect < SILENT

    @property
    def reason(self) -> str:
        """Why the points cannot tell it, as half a sentence."""
        if self.silent:
            parts = [
                f"twice its value changes no prediction by more than {100 * self.doubling:.1f} %"
            ]
        elif self.partner is not None:
            named = self.partner.partition(".")[0].removesuffix("_s")
            parts = [f"its effect on these points cannot be told from that of {named}"]
        else:
            parts = ["its effect is small beside the scatter of the points"]
        for what, value in self.alike:
            missing = f"no point has a {what} that counts for it"
            parts.append(missing if value is None else f"all points have {what} {value:,.10g}")
        return "; ".join(parts)

    @property
    def doubling(self) -> float:
        """Largest relative change of a prediction if the parameter were twice as large."""
        return float(2.0**self.effect - 1.0)


@dataclass(frozen=True)
class _Evidence:
    """What tells a parameter: the quantities that must differ, and what to measure."""

    varies: tuple[str, ...]
    measure: str


EVIDENCE = {
    "compute": _Evidence(
        ("input length",), "the prefill of a prompt of 8,000 tokens or more beside a short one"
    ),
    "compute_moe": _Evidence(
        ("input length", "batch"), "serving of long prompts at concurrency 1 and at 16 or more"
    ),
    "dedicated_prefill": _Evidence(
        ("input length",),
        "decode steps at a batch of 256 or more, bound by compute, beside prefill times",
    ),
    "memory": _Evidence(
        ("batch", "context"),
        "decode steps at contexts of 1,000 and 32,000 tokens, batch 32 or more",
    ),
    "kernel_s": _Evidence(("batch",), "a decode step at batch 1 beside one at batch 64"),
    "request_step_s": _Evidence(
        ("batch",), "decode steps at batch 16 and batch 256, at a short context"
    ),
    "link": _Evidence(
        ("chips", "input length"),
        "prefill of long prompts with a tensor parallelism of 1 or 2, and of 8",
    ),
    "collective_s": _Evidence(
        ("chips",), "decode steps at batch 1 with a tensor parallelism of 1 or 2, and of 8"
    ),
    "arrival_steps": _Evidence(
        ("batch",), "the TTFT of short prompts at concurrency 1 and at 64 or more"
    ),
    "host_s": _Evidence(
        ("batch", "input length"), "the TTFT of a short prompt served at concurrency 1"
    ),
    "accepted_tokens": _Evidence(("batch",), "the same points without speculation"),
}


@dataclass(frozen=True)
class _Quantity:
    """What may vary over points of some phases."""

    of: Callable[[MeasuredRun], float]
    phases: tuple[str, ...]


_WITH_DECODE = ("decode", "serving", "throughput")
_WITH_PREFILL = ("prefill", "serving", "throughput")
_QUANTITIES = {
    "input length": _Quantity(lambda run: run.input_tokens, _WITH_PREFILL),
    "context": _Quantity(lambda run: run.input_tokens, _WITH_DECODE),
    "batch": _Quantity(lambda run: run.concurrency, _WITH_DECODE),
    "chips": _Quantity(lambda run: float(run.shape.chips), (*_WITH_DECODE, "prefill")),
}


def doubts(
    runs: Sequence[MeasuredRun], names: Sequence[str], slopes: FloatArray, deviations: FloatArray
) -> tuple[Doubt, ...]:
    """Return the parameters that points cannot tell, by the points alone, without any prior.

    One by one, the least certain parameter is set aside (of several alike, the one with the least
    effect of its own), until the standard deviation of every remaining logarithm is at most 0.5.

    Parameters
    ----------
    runs : sequence of MeasuredRun
        The points.
    names : sequence of str
        Parameters in question.
    slopes : ndarray, shape (measurements, parameters)
        Change of each log prediction with each log parameter.
    deviations : ndarray, shape (measurements,)
        Standard deviation of each measurement's logarithm.

    Returns
    -------
    tuple of Doubt
        In the order of `names`.
    """
    weighted = slopes / deviations[:, None]
    left = list(range(len(names)))
    found: dict[str, Doubt] = {}
    while left:
        deviation = _marginal_sd(weighted[:, left])
        if float(deviation.max()) <= MOST_SD:
            break
        strength = np.linalg.norm(weighted[:, left], axis=0)
        doubtful = np.flatnonzero(deviation > max(MOST_SD, ALIKE * float(deviation.max())))
        weakest = left[int(doubtful[np.argmin(strength[doubtful])])]
        others = [index for index in left if index != weakest]
        found[names[weakest]] = _doubt(runs, names, slopes, weakest, others)
        left = others
    return tuple(found[name] for name in names if name in found)


def _marginal_sd(slopes: FloatArray) -> FloatArray:
    """Return each parameter's standard deviation with all others free; infinite where open."""
    information = slopes.T @ slopes
    ridge = 1e-9 * max(float(np.trace(information)), 1e-300)
    covariance = np.linalg.inv(information + ridge * np.eye(len(information)))
    return np.asarray(np.sqrt(np.diag(covariance)))


def _doubt(
    runs: Sequence[MeasuredRun],
    names: Sequence[str],
    slopes: FloatArray,
    index: int,
    others: Sequence[int],
) -> Doubt:
    evidence = EVIDENCE[names[index].partition(".")[0]]
    partner = _partner(slopes, index, others)
    alike = tuple((what, *_only(runs, what)) for what in evidence.varies if _only(runs, what))
    return Doubt(
        names[index],
        float(np.max(np.abs(slopes[:, index]), initial=0.0)),
        None if partner is None else names[partner],
        alike,
        evidence.measure,
    )


def _only(runs: Sequence[MeasuredRun], what: str) -> tuple[float | None] | tuple[()]:
    """Return the one value that a quantity has at all points, None at none; () where it differs."""
    quantity = _QUANTITIES[what]
    values = {quantity.of(run) for run in runs if run.phase in quantity.phases}
    if len(values) > 1:
        return ()
    return (next(iter(values), None),)


def _partner(slopes: FloatArray, index: int, others: Sequence[int]) -> int | None:
    """Return the parameter whose effect looks most alike, if one makes up for most of it."""
    own = slopes[:, index]
    alike = [
        abs(float(own @ slopes[:, other]))
        / max(float(np.linalg.norm(own) * np.linalg.norm(slopes[:, other])), 1e-300)
        for other in others
    ]
    if not alike or max(alike) < 0.8:
        return None
    return others[int(np.argmax(alike))]
