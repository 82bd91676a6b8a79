"""Measured runs of engines, as arrays the fit can predict at once.

Phases: *serving*, prefill and decode on the same engine at a fixed concurrency; *prefill*, one
prompt at a time on an engine that does nothing else; *decode*, steps at a fixed batch;
*throughput*, serving of which only the output rate is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from pdd_plan.catalog.chips import ChipProfile
from pdd_plan.catalog.models import ModelProfile
from pdd_plan.roofline.aggregated import (
    WAVE_SHARE,
    AggregatedLoad,
    AggregatedResult,
    HostTimes,
    closed_loop,
)
from pdd_plan.roofline.constants import EngineConstants, engine_constants
from pdd_plan.roofline.counts import Precision, operator_counts
from pdd_plan.roofline.efficiencies import FRAMEWORKS, Efficiencies
from pdd_plan.roofline.engine_shape import EngineShape
from pdd_plan.roofline.memory import engine_cache_bytes, request_cache_bytes
from pdd_plan.roofline.operators import (
    FloatArray,
    IndexArray,
    decode_attention_flop,
    decode_cache_bytes,
    prefill_attention_flop,
    prefix_read_bytes,
)
from pdd_plan.roofline.passes import decode_step, prefill_alone

PHASES = ("serving", "prefill", "decode", "throughput")


@dataclass(frozen=True)
class MeasuredRun:
    """One measurement of an engine.

    Attributes
    ----------
    chip, model, precision, shape
        What ran where.
    framework : str
        One of `FRAMEWORKS`.
    input_tokens, output_tokens : float
        Mean lengths [tokens].
    concurrency : float
        Requests in flight; in the decode phase the batch.
    ttft_s, tpot_s : float
        Measured means; NaN where not measured [s]. In the prefill phase `ttft_s` is the time of
        one prompt, in the decode phase `tpot_s` the time of one step, in the throughput phase
        `tpot_s` is the concurrency over the output tokens per second.
    phase : str
        One of `PHASES`.
    cached_tokens : float
        Prefix of the input that is in the cache [tokens].
    memory_fraction : float
        Share of device memory that the framework may use.
    max_running : float
        Most requests the framework runs at once.
    wait_steps : float
        Decode steps that the scheduler holds a new request back on average.
    checked_tokens : float
        Tokens checked per step; above 1 means speculation.
    wave_share : float
        Share of requests that arrive in the benchmark's first wave.
    """

    chip: ChipProfile
    model: ModelProfile
    precision: Precision
    shape: EngineShape
    framework: str
    input_tokens: float
    output_tokens: float
    concurrency: float
    ttft_s: float = float("nan")
    tpot_s: float = float("nan")
    phase: str = "serving"
    cached_tokens: float = 0.0
    memory_fraction: float = 0.9
    max_running: float = float("inf")
    wait_steps: float = 0.0
    checked_tokens: float = 1.0
    wave_share: float = WAVE_SHARE


@dataclass(frozen=True)
class RunArrays:
    """Measured runs as arrays over runs, at data-sheet speed.

    Attributes
    ----------
    engine : EngineConstants
        Stack of engines.
    load : AggregatedLoad
        Mean request of each run.
    concurrency, wait_steps, checked_tokens, wave_share : ndarray
        As in `MeasuredRun`.
    framework, phase : ndarray of int
        Index into `FRAMEWORKS` and `PHASES`.
    measured : ndarray
        Logarithms of (TPOT, TTFT), one row per run.
    """

    engine: EngineConstants
    load: AggregatedLoad
    concurrency: FloatArray
    wait_steps: FloatArray
    checked_tokens: FloatArray
    wave_share: FloatArray
    framework: IndexArray
    phase: IndexArray
    measured: FloatArray

    @classmethod
    def from_runs(cls, runs: Sequence[MeasuredRun]) -> RunArrays:
        """Build the arrays of some runs."""
        pairs = [_engine_and_load(run) for run in runs]
        load = {
            item.name: np.array([getattr(pair[1], item.name) for pair in pairs], dtype=float)
            for item in fields(AggregatedLoad)
        }
        with np.errstate(divide="ignore"):
            measured = np.log(np.array([[run.tpot_s, run.ttft_s] for run in runs]))
        return cls(
            engine=EngineConstants.stack([pair[0] for pair in pairs]),
            load=AggregatedLoad(**load),
            concurrency=np.array([run.concurrency for run in runs]),
            wait_steps=np.array([run.wait_steps for run in runs]),
            checked_tokens=np.array([run.checked_tokens for run in runs]),
            wave_share=np.array([run.wave_share for run in runs]),
            framework=np.array([FRAMEWORKS.index(run.framework) for run in runs]),
            phase=np.array([PHASES.index(run.phase) for run in runs]),
            measured=measured,
        )

    def take(self, rows: IndexArray) -> RunArrays:
        """Return some runs, by index."""
        load = {item.name: getattr(self.load, item.name)[rows] for item in fields(AggregatedLoad)}
        return RunArrays(
            engine=self.engine.take(rows),
            load=AggregatedLoad(**load),
            concurrency=self.concurrency[rows],
            wait_steps=self.wait_steps[rows],
            checked_tokens=self.checked_tokens[rows],
            wave_share=self.wave_share[rows],
            framework=self.framework[rows],
            phase=self.phase[rows],
            measured=self.measured[rows],
        )

    def predict(self, efficiencies: Efficiencies) -> AggregatedResult:
        """Return the latencies that efficiencies give, over runs."""
        by_name = {
            field: np.array([getattr(efficiencies, field)[name] for name in FRAMEWORKS])
            for field in ("decode_factor", "host_s", "accepted_tokens")
        }
        speculative = self.checked_tokens > 1.0
        accepted = by_name["accepted_tokens"][self.framework]
        more = speculative * efficiencies.speculative_host_s
        host = HostTimes(
            decode_factor=by_name["decode_factor"][self.framework],
            host_s=by_name["host_s"][self.framework] + more,
            wait_steps=self.wait_steps,
            checked_tokens=self.checked_tokens,
            accepted_tokens=np.where(speculative, accepted, 1.0),
        )
        return closed_loop(
            self.engine, self.load, self.concurrency, efficiencies, host, self.wave_share
        )

    def predict_logs(self, efficiencies: Efficiencies) -> FloatArray:
        """Return logarithms of predicted (TPOT, TTFT), one row per run, by its phase."""
        result = self.predict(efficiencies)
        predicted = np.stack([result.tpot_s, result.ttft_s], axis=1)
        if self.phase.any():
            alone = prefill_alone(
                self.engine,
                self.load.uncached_tokens,
                self.load.prefill_flop,
                self.load.prefix_bytes,
                efficiencies,
                dedicated=True,
            )
            factor = np.array([efficiencies.decode_factor[name] for name in FRAMEWORKS])
            step = decode_step(
                self.engine,
                self.concurrency,
                self.load.cache_bytes,
                self.load.attention_flop,
                efficiencies,
                factor[self.framework],
            )
            prefill, decode, rate = (self.phase == number for number in (1, 2, 3))
            predicted[prefill, 1] = np.asarray(alone.total_s)[prefill]
            predicted[decode, 0] = np.asarray(step.total_s)[decode]
            tokens_per_s = result.requests_per_s * self.load.output_tokens
            predicted[rate, 0] = self.concurrency[rate] / tokens_per_s[rate]
        return np.asarray(np.log(predicted))


def _engine_and_load(run: MeasuredRun) -> tuple[EngineConstants, AggregatedLoad]:
    counts = operator_counts(run.model, run.precision)
    context = run.input_tokens + run.output_tokens / 2.0
    room = engine_cache_bytes(run.chip, counts, run.shape, run.memory_fraction)
    request = request_cache_bytes(counts, run.input_tokens + run.output_tokens)
    uncached = run.input_tokens - run.cached_tokens
    load = AggregatedLoad(
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        uncached_tokens=uncached,
        prefill_flop=float(prefill_attention_flop(counts.spans, uncached, run.input_tokens)),
        prefix_bytes=float(prefix_read_bytes(counts.spans, uncached, run.input_tokens)),
        cache_bytes=decode_cache_bytes(counts, context),
        attention_flop=decode_attention_flop(counts, context),
        slots=min(run.max_running, max(1.0, room / request)),
    )
    return engine_constants(run.chip, counts, run.shape), load
