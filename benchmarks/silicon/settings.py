"""Launch settings of the InferenceX runs, as its public benchmark scripts state them.

The sample does not carry these settings, but the scripts that produced it are public: repository
SemiAnalysisAI/InferenceX, `benchmarks/single_node/<model>_<precision>_<chip>[_trt][_mtp].sh` and,
before December 2025, `benchmarks/70b_*`, `gptoss_*`, `dsr1_*`; changes with their dates in
`perf-changelog.yaml`. Read 2026-11-29. Only settings that change a prediction are noted:

- format of the KV cache (`--kv-cache-dtype`, `kv_cache_config.dtype`; left out means bf16);
- steps between polls for new requests (SGLang `--scheduler-recv-interval`);
- steps that new requests are held back to be prefilled together (TensorRT-LLM
  `batch_wait_timeout_iters`, and with attention data parallelism
  `attention_dp_config.timeout_iters`);
- the largest number of running requests (`--max-running-requests`);
- tokens checked per step with speculation (MTP layers + 1).

Runs of NVIDIA's own validation have no public scripts; nothing is assumed for them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Configuration:
    """What a row says about its run (see `data.Run`)."""

    model: str
    chip: str
    framework: str
    precision: str
    measured: str
    nominal_input: int
    nominal_output: int
    concurrency: float
    tensor_parallel: int
    data_parallel: int
    expert_parallel: int


@dataclass(frozen=True)
class Settings:
    """Launch settings that the row itself does not carry.

    Attributes
    ----------
    kv_cache : str
        Format of the cache.
    wait_steps : float
        Mean decode steps that a new request is held back by the scheduler.
    max_running : float
        Most requests running at once.
    checked_tokens : float
        Tokens checked per step; 1 without speculation.
    """

    kv_cache: str
    wait_steps: float = 0.0
    max_running: float = math.inf
    checked_tokens: float = 1.0


def settings(run: Configuration, speculative: bool) -> Settings:
    """Return the launch settings of an InferenceX run."""
    return Settings(
        kv_cache=_kv_cache(run),
        wait_steps=_wait_steps(run),
        max_running=_max_running(run, speculative),
        checked_tokens=_checked_tokens(run, speculative),
    )


def _kv_cache(run: Configuration) -> str:
    if run.model == "deepseek-v3":
        return "bf16" if (run.framework, run.chip) == ("sglang", "h200") else "fp8"
    if run.model == "llama-3.1-70b":
        return "fp8"
    if run.model == "gpt-oss-120b":
        if run.chip != "b200":
            return "bf16"
        # pull requests 110 (TensorRT-LLM) and 273 (vLLM, December 2025)
        return "bf16" if run.framework == "vllm" and run.measured < "2025-12" else "fp8"
    if run.model == "kimi-k2.5":
        # pull request 1047 added fp8 for the NVFP4 checkpoint, April 2026
        return "fp8" if run.precision == "fp4" and run.measured >= "2026-04-16" else "bf16"
    if run.model == "qwen3.5-397b-a17b":
        return "bf16" if run.precision == "bf16" else "fp8"
    return "bf16"  # MiniMax-M2.5: never set in the period of the sample


def _wait_steps(run: Configuration) -> float:
    if run.framework == "sglang" and run.chip == "b200":
        few = run.concurrency < 16
        if run.model == "deepseek-v3" and run.precision == "fp8" and run.tensor_parallel == 4:
            few = True
        if run.model == "qwen3.5-397b-a17b" and run.precision == "fp4":
            few = False
        return (10.0 if few else 30.0) / 2.0
    if run.framework != "trtllm":
        return 0.0
    if run.data_parallel > 1 and run.model == "deepseek-v3":
        return held_back(60.0, run)
    square = run.nominal_input == run.nominal_output == 1024
    if run.model == "llama-3.1-70b" and square and run.tensor_parallel < 8:
        return held_back(20.0, run)
    delayed = run.model == "deepseek-v3" and run.precision == "fp8" and run.chip == "b200"
    if delayed and square and run.concurrency >= 64 and run.measured >= "2026-01-20":
        return held_back(40.0, run)
    return 0.0


def held_back(timeout_steps: float, run: Configuration) -> float:
    """Return the mean wait where the first arrival starts a timer and later ones join it.

    With a arrivals expected during the timer, the mean over the group is
    timeout (1 + a / 2) / (1 + a).
    """
    joining = timeout_steps * run.concurrency / run.nominal_output
    return timeout_steps * (1.0 + joining / 2.0) / (1.0 + joining)


def _max_running(run: Configuration, speculative: bool) -> float:
    if run.framework != "sglang":
        return math.inf
    if run.model == "deepseek-v3" and run.chip == "b200":
        if speculative:
            return 512.0
        if run.precision == "fp8":
            return 32.0 if run.tensor_parallel == 4 else 128.0
        return 256.0
    if run.model == "deepseek-v3":
        return 512.0 if run.nominal_input == run.nominal_output else 256.0
    return max(128.0, run.concurrency) if run.precision == "fp4" else 128.0


def _checked_tokens(run: Configuration, speculative: bool) -> float:
    if not speculative:
        return 1.0
    if run.framework == "trtllm":
        return 2.0 if run.data_parallel > 1 else 4.0
    return 3.0 if run.model == "deepseek-v3" else 4.0
