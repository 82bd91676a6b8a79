"""The public silicon sample, cleaned and joined with chip and model profiles."""

from __future__ import annotations

import csv
import gzip
import math
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.silicon.settings import Configuration, Settings, settings
from pdd_plan.catalog import load_chip, load_model

SAMPLE = "measured/inferencex_sample.csv.gz"

# DeepSeek-R1 and -V3 rows are largely the same runs under two names: one model.
MODELS = {
    "deepseek-ai/DeepSeek-R1": "deepseek-v3",
    "deepseek-ai/DeepSeek-V3": "deepseek-v3",
    "nvidia/DeepSeek-R1-NVFP4": "deepseek-v3",
    "nvidia/DeepSeek-V3.1-NVFP4": "deepseek-v3",
    "meta-llama/Llama-3.1-70B": "llama-3.1-70b",
    "meta-llama/Llama-3.1-8B-Instruct": "llama-3.1-8b",
    "nvidia/Llama-3.1-8B-Instruct-FP8": "llama-3.1-8b",
    "openai/gpt-oss-120b": "gpt-oss-120b",
    "Qwen/Qwen3-32B": "qwen3-32b",
    "nvidia/Qwen3-32B-NVFP4": "qwen3-32b",
    "Qwen/Qwen3-235B-A22B-FP8": "qwen3-235b-a22b",
    "Qwen/Qwen3.5-397B-A17B": "qwen3.5-397b-a17b",
    "MiniMaxAI/MiniMax-M2.5": "minimax-m2.5",
    "moonshotai/Kimi-K2.5": "kimi-k2.5",
}
CHIPS = {"h100_sxm": "h100", "h200_sxm": "h200", "b200_sxm": "b200", "gb200": "gb200"}

# Batches that ran speculative decoding without saying so. TensorRT-LLM: found by their TPOT
# (42 matching pairs of configurations: 1.60 times as fast, TTFT 1.23 times as slow). The scripts
# with the suffix `_mtp` date from the same weeks.
SPECULATIVE_DATES = ("2026-01-14", "2026-01-28", "2026-02-05", "2026-02-06")

# InferenceX draws lengths uniformly between 80 and 100 % of the nominal one.
MEAN_LENGTH = {"InferenceX": 0.9, "NVIDIA AIConfigurator run": 1.0}


# What does not make two rows different configurations.
_IGNORED = frozenset(
    {"id", "origin", "measured", "wip", "model_path", "backend_version", "chips_agg"}
    | {"gemm_quant_mode", "moe_quant_mode", "parallelism_note", "moe_tp_size", "batch_size"}
    | {"ttft_ms", "tpot_ms"}
)


@dataclass(frozen=True)
class Formats:
    """Number formats of a run, as `operator_counts` takes them."""

    weights: str
    experts: str | None
    kv_cache: str


@dataclass(frozen=True)
class Run:
    """One aggregated run: configuration and measured latencies."""

    model: str
    chip: str
    framework: str
    formats: Formats
    precision: str
    origin: str
    measured: str
    version: str
    input_tokens: float
    output_tokens: float
    concurrency: float
    tensor_parallel: int
    data_parallel: int
    expert_parallel: int
    speculative: bool
    settings: Settings
    single_wave: bool
    ttft_s: float
    tpot_s: float

    @property
    def group(self) -> tuple[str, str]:
        """Model and chip, the unit that is held out."""
        return self.model, self.chip

    @property
    def chips(self) -> int:
        """Chips of the engine."""
        return self.tensor_parallel * self.data_parallel


def read_rows(data_dir: Path) -> list[dict[str, str]]:
    """Return the rows of the sample as read, exact repeats dropped.

    A repeat has the same configuration, TTFT and TPOT under another id or model name.
    """
    with gzip.open(data_dir / SAMPLE, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    seen: set[tuple[str, ...]] = set()
    unique = []
    for row in rows:
        key = (*_key(row), row["ttft_ms"], row["tpot_ms"])
        if key not in seen:
            seen.add(key)
            unique.append(row)
    return unique


def aggregated_runs(data_dir: Path) -> tuple[list[Run], list[Run]]:
    """Return (usable, marked as outliers) aggregated runs, each with known chips.

    Left out: chip totals of disaggregated runs, unclear parallelism, engines above 8 chips.
    """
    usable, marked = [], []
    rows = read_rows(data_dir)
    twins = _faster_twins(rows)
    for row in rows:
        if row["mode"] != "agg" or _unclear(row):
            continue
        run = _run(row, twins)
        if run.chips > 8:
            continue
        (marked if _outlier(row, run) else usable).append(run)
    return usable, marked


def without_settings(runs: list[Run]) -> list[Run]:
    """Return runs as one would know them without the launch scripts: no waits, no limits."""
    return [
        replace(run, settings=replace(run.settings, wait_steps=0.0, max_running=math.inf))
        for run in runs
    ]


def _unclear(row: dict[str, str]) -> bool:
    note = row["parallelism_note"]
    return note.startswith(("unclear", "probably"))


def _outlier(row: dict[str, str], run: Run) -> bool:
    """Rows whose concurrency is not that of one engine (see docs/validation)."""
    if row["origin"].startswith("NVIDIA") and row["measured"]:
        return True
    slow = run.model == "gpt-oss-120b" and run.chip == "h100" and run.framework == "vllm"
    return slow and run.concurrency >= 512


def _run(row: dict[str, str], twins: set[tuple[str, ...]]) -> Run:
    model = MODELS[row["model_path"]]
    precision = row["precision"] or ("bf16" if not row["gemm_quant_mode"] else "fp8")
    tensor, data_parallel = _parallelism(row)
    configuration = Configuration(
        model=model,
        chip=CHIPS[row["system"]],
        framework=row["backend"],
        precision=precision,
        measured=row["measured"] or "2026-03",
        nominal_input=int(row["isl"]),
        nominal_output=int(row["osl"]),
        concurrency=float(row["concurrency"] or row["batch_size"]),
        tensor_parallel=tensor,
        data_parallel=data_parallel,
        expert_parallel=max(1, int(row["moe_ep_size"] or 1)),
    )
    public = row["origin"] == "InferenceX"
    speculative = public and _speculative(row, configuration, twins)
    launch = settings(configuration, speculative) if public else Settings(_default_cache(precision))
    scale = MEAN_LENGTH[row["origin"]]
    return Run(
        model=model,
        chip=configuration.chip,
        framework=row["backend"],
        formats=replace(formats(model, precision), kv_cache=launch.kv_cache),
        precision=precision,
        origin=row["origin"],
        measured=row["measured"],
        version=row["backend_version"],
        input_tokens=float(row["isl"]) * scale,
        output_tokens=float(row["osl"]) * scale,
        concurrency=configuration.concurrency,
        tensor_parallel=tensor,
        data_parallel=data_parallel,
        expert_parallel=configuration.expert_parallel,
        speculative=speculative,
        settings=launch,
        single_wave=not public and model == "qwen3-32b" and row["backend"] == "sglang",
        ttft_s=float(row["ttft_ms"]) * 1e-3,
        tpot_s=float(row["tpot_ms"]) * 1e-3,
    )


def _parallelism(row: dict[str, str]) -> tuple[int, int]:
    """Return (tensor, attention data) parallelism.

    NVIDIA's own rows leave attention data parallelism empty and may give tp 1 with several
    experts' chips.
    """
    tensor = int(row["tp_size"])
    if row["attention_dp_size"]:
        return tensor, int(row["attention_dp_size"])
    experts = int(row["moe_tp_size"] or 0) * int(row["moe_ep_size"] or 0)
    return max(tensor, experts), 1


def _default_cache(precision: str) -> str:
    return "bf16" if precision == "bf16" else "fp8"


def _speculative(row: dict[str, str], run: Configuration, twins: set[tuple[str, ...]]) -> bool:
    """Return whether a run used multi-token prediction, which the sample does not say.

    SGLang ran both scripts on the same days: DeepSeek fp8 on B200 with eight-way tensor
    parallelism (of two equal configurations the faster one; only the speculative script allows
    more than 128 running requests), and Qwen3.5 fp8 on B200, where only the speculative one
    uses tp 4 without expert parallelism.
    """
    if run.framework == "trtllm":
        return run.model == "deepseek-v3" and row["measured"] in SPECULATIVE_DATES
    if run.framework != "sglang" or run.chip != "b200" or run.precision != "fp8":
        return False
    if run.model == "qwen3.5-397b-a17b":
        return run.tensor_parallel == 4 and run.expert_parallel == 1
    recent = row["measured"] >= "2026-03"
    if not recent or run.tensor_parallel != 8:
        return False
    return run.concurrency > 128 or (*_key(row), row["tpot_ms"]) in twins


def _key(row: dict[str, str]) -> tuple[str, ...]:
    """Return the configuration of a row, without its measurements and labels."""
    values = [value for name, value in row.items() if name not in _IGNORED]
    return (MODELS[row["model_path"]], *values)


def _faster_twins(rows: list[dict[str, str]]) -> set[tuple[str, ...]]:
    """Return (configuration, TPOT) of the faster of two rows with equal configuration and day."""
    by_key: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in rows:
        by_key.setdefault((*_key(row), row["measured"]), []).append(row)
    faster = set()
    for same in by_key.values():
        if len(same) == 2:
            first, second = sorted(same, key=lambda row: float(row["tpot_ms"]))
            if float(second["tpot_ms"]) > 1.05 * float(first["tpot_ms"]):
                faster.add((*_key(first), first["tpot_ms"]))
    return faster


def formats(model: str, precision: str) -> Formats:
    """Return the formats of a run's precision; 4-bit experts leave the rest of a MoE in bf16.

    The NVFP4 checkpoint of DeepSeek-R1 in use (0528-FP4-v2) also has dense layers and attention's
    output projection in 4 bits, 0.56 of the weights outside the experts: 1.19 bytes a weight on
    average, for which fp8 is the nearest format.
    """
    if model == "deepseek-v3" and precision == "fp4":
        return Formats("fp8", "nvfp4", "fp8")
    cache = "bf16" if precision == "bf16" else "fp8"
    four_bit = "mxfp4" if model == "gpt-oss-120b" else "nvfp4"
    weights = four_bit if precision == "fp4" else precision
    linear, experts = load_model(model).weight_formats(weights)
    return Formats(linear, experts, cache)


__all__ = ["Formats", "Run", "aggregated_runs", "formats", "load_chip", "read_rows", "replace"]
