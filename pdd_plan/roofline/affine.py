"""Affine form of a decode step over the batch, and the batch that a latency limit allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pdd_plan.roofline.operators import FloatArray
from pdd_plan.roofline.times import EngineTimes


@dataclass(frozen=True)
class AffineStep:
    """Decode step as t(B) = intercept + slope B.

    Attributes
    ----------
    intercept_s, slope_s : float
        Step without requests, and time per request [s].
    max_relative_error : float
        Largest |t_affine / t - 1| over the batches fitted.
    """

    intercept_s: float
    slope_s: float
    max_relative_error: float

    def step_s(self, batch: FloatArray | float) -> FloatArray:
        """Return the affine step time [s]."""
        return np.asarray(self.intercept_s + self.slope_s * np.asarray(batch, dtype=np.float64))


def fit_affine_step(times: EngineTimes, context_tokens: float, max_batch: int) -> AffineStep:
    """Return the affine step with the least maximal relative error over batches 1 to `max_batch`.

    Parameters
    ----------
    times : EngineTimes
        Engine.
    context_tokens : float
        Mean context of the pool [tokens].
    max_batch : int
        Largest batch.

    Returns
    -------
    AffineStep
        With its error; exact where the step is affine (weights and cache reads alone), a secant
        for mixture-of-experts models.

    Raises
    ------
    ValueError
        If `max_batch` is below 1.
    """
    if max_batch < 1:
        raise ValueError(f"max_batch = {max_batch} is below 1")
    batch = _sample(max_batch)
    seconds = times.decode_step_s(batch, context_tokens)
    if batch.size == 1:
        return AffineStep(float(seconds[0]), 0.0, 0.0)
    intercept, slope = _minimax_line(batch, seconds)
    error = float(np.max(np.abs((intercept + slope * batch) / seconds - 1.0)))
    return AffineStep(intercept, slope, error)


def max_batch_under(
    times: EngineTimes, context_tokens: float, limit_s: float, batch_limit: int
) -> int:
    """Return the largest batch whose decode step stays within a limit; 0 if none does.

    Parameters
    ----------
    times : EngineTimes
        Engine; its step must not fall with the batch.
    context_tokens : float
        Mean context [tokens].
    limit_s : float
        Longest step allowed, such as the TPOT limit [s].
    batch_limit : int
        Largest batch that memory or configuration allows.
    """
    low, high = 0, batch_limit
    while low < high:
        middle = (low + high + 1) // 2
        if float(times.decode_step_s(middle, context_tokens)) <= limit_s:
            low = middle
        else:
            high = middle - 1
    return low


def max_batch_in_memory(times: EngineTimes, request_bytes: float) -> int:
    """Return how many requests of `request_bytes` cache fit on one engine at once.

    Whole requests per attention rank, since a request's cache lies on one rank.
    """
    if request_bytes <= 0.0:
        raise ValueError(f"request_bytes = {request_bytes} is not positive")
    per_rank = times.kv_capacity_bytes / times.prefill_servers / request_bytes
    return max(0, int(per_rank)) * times.prefill_servers


def _sample(max_batch: int) -> FloatArray:
    if max_batch <= 512:
        return np.arange(1, max_batch + 1, dtype=np.float64)
    return np.unique(np.round(np.geomspace(1, max_batch, 512)))


def _minimax_line(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Return the line with the least maximal relative error, by single exchange (Remez)."""
    chosen = np.array([0, x.size // 2, x.size - 1]) if x.size > 2 else np.array([0, 1, 1])
    if x.size == 2:
        slope = (y[1] - y[0]) / (x[1] - x[0])
        return float(y[0] - slope * x[0]), float(slope)
    line = np.zeros(2)
    for _ in range(60):
        sign = np.array([1.0, -1.0, 1.0])
        matrix = np.column_stack([np.ones(3), x[chosen], sign * y[chosen]])
        solved = np.linalg.solve(matrix, y[chosen])
        line = solved[:2]
        residual = (line[0] + line[1] * x) / y - 1.0
        worst = int(np.argmax(np.abs(residual)))
        if abs(residual[worst]) <= abs(solved[2]) * (1.0 + 1e-9) + 1e-14:
            break
        chosen = _exchange(chosen, worst, residual)
    return float(line[0]), float(line[1])


def _exchange(chosen: np.ndarray, worst: int, residual: FloatArray) -> np.ndarray:
    """Put the worst point in the reference such that residual signs still alternate."""
    best = chosen
    best_level = -1.0
    for leave in range(3):
        trial = np.sort(np.append(np.delete(chosen, leave), worst))
        signs = np.sign(residual[trial])
        level = float(np.min(np.abs(residual[trial])))
        if (
            len(set(trial.tolist())) == 3
            and signs[0] == signs[2] != signs[1]
            and level > best_level
        ):
            best, best_level = trial, level
    return best
