"""Engine times from tables that the user measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pdd_plan.errors import InputError, Issue
from pdd_plan.roofline.interpolation import MonotoneCurve, pooled_increasing
from pdd_plan.roofline.operators import FloatArray
from pdd_plan.roofline.times import Bound, EngineTimes


@dataclass(frozen=True)
class PrefillTable:
    """Measured prefill: tokens computed to seconds, at an empty prefix.

    Attributes
    ----------
    uncached_tokens : tuple of float
        Prompt lengths, increasing [tokens].
    seconds : tuple of float
        Time of each [s].
    valid_tokens : tuple of float or None
        Range in which the table may be used; None means its own first and last length.
    """

    uncached_tokens: tuple[float, ...]
    seconds: tuple[float, ...]
    valid_tokens: tuple[float, float] | None = None


@dataclass(frozen=True)
class DecodeTable:
    """Measured decode step: batch x context to seconds.

    Attributes
    ----------
    batch : tuple of float
        Requests on the engine, increasing.
    context_tokens : tuple of float
        Context lengths, increasing; one entry means that the context does not matter.
    seconds : tuple of tuple of float
        Time of a step, one row per batch and one column per context [s].
    valid_batch, valid_context_tokens : tuple of float or None
        Ranges in which the table may be used; None means its own.
    """

    batch: tuple[float, ...]
    context_tokens: tuple[float, ...]
    seconds: tuple[tuple[float, ...], ...]
    valid_batch: tuple[float, float] | None = None
    valid_context_tokens: tuple[float, float] | None = None


class MeasuredTimes:
    """Times of one engine from measured tables, with a base for what was not measured.

    Parameters
    ----------
    base : EngineTimes
        Source of everything the tables lack: the other phase, floors, memory, and how the prefill
        time grows with a cached prefix (as a ratio, applied to the table).
    prefill : PrefillTable or None
        Measured prefill.
    decode : DecodeTable or None
        Measured decode steps.
    extrapolate : bool
        Whether times outside a table's range may be used (along its end slopes, with a warning);
        otherwise they raise.

    Raises
    ------
    InputError
        If a table is empty, unsorted, or falls by more than 5 % where the load rises.
    """

    def __init__(
        self,
        base: EngineTimes,
        prefill: PrefillTable | None = None,
        decode: DecodeTable | None = None,
        extrapolate: bool = False,
    ) -> None:
        self.base = base
        self.extrapolate = extrapolate
        self.prefill_servers = base.prefill_servers
        self.kv_capacity_bytes = base.kv_capacity_bytes
        self.host_s = base.host_s
        self.first_token_steps = base.first_token_steps
        self._notes: dict[str, None] = {}
        self._prefill_table = prefill
        self._decode_table = decode
        self._prefill_curve = None if prefill is None else self._prefill_from(prefill)
        self._decode_curves = None if decode is None else self._decode_from(decode)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What happened so far: dips pooled, values extrapolated."""
        return (*self.base.warnings, *self._notes)

    def _note(self, text: str) -> None:
        self._notes[text] = None

    def _increasing(self, values: ArrayLike, what: str) -> FloatArray:
        pooled, dip = pooled_increasing(values)
        if dip > 0.0:
            self._note(
                f"measured {what} falls by {100 * dip:.1f} % where the load rises: pooled as noise"
            )
        return pooled

    def _prefill_from(self, table: PrefillTable) -> MonotoneCurve:
        return MonotoneCurve(table.uncached_tokens, self._increasing(table.seconds, "prefill time"))

    def _decode_from(self, table: DecodeTable) -> list[MonotoneCurve]:
        grid = np.asarray(table.seconds, dtype=np.float64)
        if grid.shape != (len(table.batch), len(table.context_tokens)):
            raise InputError(
                Issue(
                    f"decode table has {grid.shape} times for {len(table.batch)} batches x "
                    f"{len(table.context_tokens)} contexts",
                    help="one row per batch, one column per context",
                )
            )
        for row in range(grid.shape[0]):
            grid[row] = self._increasing(grid[row], "decode step")
        return [
            MonotoneCurve(table.batch, self._increasing(grid[:, column], "decode step"))
            for column in range(grid.shape[1])
        ]

    def _check(
        self, curve: MonotoneCurve, at: ArrayLike, valid: tuple[float, float] | None, what: str
    ) -> None:
        low, high = valid if valid is not None else (curve.x[0], curve.x[-1])
        if not curve.outside(at, low, high):
            return
        text = (
            f"{what} from {np.min(at):,.0f} to {np.max(at):,.0f} exceeds the measured range "
            f"{low:,.0f} to {high:,.0f}"
        )
        if not self.extrapolate:
            raise InputError(
                Issue(text, help="measure further points, or allow extrapolation for this table")
            )
        self._note(f"{text}: extrapolated")

    def prefill_s(self, uncached_tokens: ArrayLike, input_tokens: ArrayLike) -> FloatArray:
        """Return seconds to prefill one request alone on one server."""
        if self._prefill_curve is None or self._prefill_table is None:
            return self.base.prefill_s(uncached_tokens, input_tokens)
        uncached = np.asarray(uncached_tokens, dtype=np.float64)
        context = np.asarray(input_tokens, dtype=np.float64)
        self._check(
            self._prefill_curve, uncached, self._prefill_table.valid_tokens, "prefill length"
        )
        seconds = self._prefill_curve(uncached)
        if np.any(context > uncached):
            growth = self.base.prefill_s(uncached, context) / self.base.prefill_s(
                uncached, uncached
            )
            seconds = seconds * growth
        return np.asarray(seconds)

    def decode_step_s(self, batch: ArrayLike, context_tokens: float) -> FloatArray:
        """Return seconds of a decode step with `batch` requests on the engine."""
        if self._decode_curves is None or self._decode_table is None:
            return self.base.decode_step_s(batch, context_tokens)
        table = self._decode_table
        requests = np.asarray(batch, dtype=np.float64)
        self._check(self._decode_curves[0], requests, table.valid_batch, "decode batch")
        columns = np.stack([curve(requests) for curve in self._decode_curves])
        if len(table.context_tokens) == 1:
            return np.asarray(columns[0])
        across = MonotoneCurve(table.context_tokens, columns.reshape(len(columns), -1)[:, 0])
        self._check(across, context_tokens, table.valid_context_tokens, "decode context")
        return self._across_contexts(columns, context_tokens)

    def _across_contexts(self, columns: FloatArray, context_tokens: float) -> FloatArray:
        assert self._decode_table is not None
        contexts = self._decode_table.context_tokens
        flat = columns.reshape(len(contexts), -1)
        values = [
            float(MonotoneCurve(contexts, flat[:, item])(context_tokens))
            for item in range(flat.shape[1])
        ]
        return np.asarray(values).reshape(columns.shape[1:])

    def extend_s(self, tokens: ArrayLike, context_tokens: float) -> FloatArray:
        """Return seconds to recompute the cache of `tokens` that follow `context_tokens`."""
        return self.base.extend_s(tokens, context_tokens)

    def prefill_floor_s(self, uncached_tokens: ArrayLike, input_tokens: ArrayLike) -> FloatArray:
        """Return the physical floor of the base."""
        return self.base.prefill_floor_s(uncached_tokens, input_tokens)

    def decode_floor_s(self, batch: ArrayLike, context_tokens: float) -> FloatArray:
        """Return the physical floor of the base."""
        return self.base.decode_floor_s(batch, context_tokens)

    def prefill_bound_by(self, uncached_tokens: float, input_tokens: float) -> Bound:
        """Return ``measured``, or the base's bound if prefill has no table."""
        if self._prefill_curve is not None:
            return "measured"
        return self.base.prefill_bound_by(uncached_tokens, input_tokens)

    def decode_bound_by(self, batch: float, context_tokens: float) -> Bound:
        """Return ``measured``, or the base's bound if decode has no table."""
        if self._decode_curves is not None:
            return "measured"
        return self.base.decode_bound_by(batch, context_tokens)
