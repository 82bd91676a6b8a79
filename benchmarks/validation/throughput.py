"""Published throughputs of DeepSeek-V3 beside what the shipped defaults predict.

The sources are tuned best cases of their authors, the defaults a middle of public runs, so
predictions tend to lie below them.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

from benchmarks.validation.document import Claim, signed
from pdd_plan.roofline import EngineShape, RooflineTimes
from tests.roofline.engines import times_of

COMPUTED_SHARE = 1 - 0.563
"""Of the input tokens of DeepSeek's day, 56.3 % came from the cache and were not computed."""


def engine(chip: str, chips: int, tensor: int = 1, **formats: str | None) -> RooflineTimes:
    """Times of DeepSeek-V3 on an engine with experts over all its chips."""
    shape = EngineShape(chips, tensor, chips // tensor, chips)
    return times_of(chip, "deepseek-v3", shape, None, "sglang", **formats)


def prefill_rate(times: RooflineTimes, length: float) -> float:
    """Return the tokens per second and chip with every server busy."""
    seconds = float(times.prefill_s(length, length))
    return times.prefill_servers * length / seconds / times.shape.chips


def decode_rate(times: RooflineTimes, per_chip: float, context: float) -> float:
    """Return the tokens per second and chip with so many requests on each."""
    return per_chip / float(times.decode_step_s(per_chip * times.shape.chips, context))


POINTS: dict[str, tuple[str, Callable[[], float]]] = {
    "deepseek_h800_prefill": (
        "DeepSeek's day: prefill, 32 H800, computed tokens",
        lambda: 8 * prefill_rate(engine("h800", 32), 4096),
    ),
    "deepseek_h800_decode": (
        "DeepSeek's day: decode, 144 H800 (the published figure has MTP)",
        lambda: 8 * decode_rate(engine("h800", 144), 88, 4989),
    ),
    "sglang_h100_prefill_2k": (
        "SGLang on 96 H100: prefill of 2K",
        lambda: 8 * prefill_rate(engine("h100", 32), 2000),
    ),
    "sglang_h100_prefill_4k": (
        "SGLang on 96 H100: prefill of 4K",
        lambda: 8 * prefill_rate(engine("h100", 32), 4096),
    ),
    "sglang_h100_decode_2k": (
        "SGLang on 96 H100: decode",
        lambda: 8 * decode_rate(engine("h100", 72), 256, 2050),
    ),
    "sglang_gb200_prefill_2k_fp8": (
        "SGLang on GB200: prefill of 2K, fp8, per chip",
        lambda: prefill_rate(engine("gb200", 8), 2000),
    ),
    "sglang_gb200_decode_2k_fp8": (
        "SGLang on GB200: decode, fp8, per chip",
        lambda: decode_rate(engine("gb200", 48, kv_cache="fp8"), 768, 2100),
    ),
    "sglang_gb200_prefill_2k_fp4": (
        "SGLang on GB200: prefill of 2K, fp4 experts, per chip",
        lambda: prefill_rate(engine("gb200", 8, experts="nvfp4"), 2000),
    ),
    "sglang_gb200_decode_2k_fp4": (
        "SGLang on GB200: decode, fp4 experts, per chip",
        lambda: decode_rate(engine("gb200", 48, experts="nvfp4", kv_cache="fp8"), 768, 2100),
    ),
    "sglang_h20_prefill_4k": (
        "SGLang on H20: prefill of 4K",
        lambda: 8 * prefill_rate(engine("h20", 8, tensor=8), 4096),
    ),
    "sglang_h20_decode_4k": (
        "SGLang on H20: decode, 48 requests a chip",
        lambda: 8 * decode_rate(engine("h20", 16), 48, 4096),
    ),
}
"""Title and prediction [tokens/s, a node of 8 chips unless it says per chip] by published point."""


def published_points(data: Path) -> dict[str, float]:
    """Return the published figures by their names.

    Parameters
    ----------
    data : Path
        Folder of public data.
    """
    with (data / "measured" / "points.csv").open(encoding="utf-8") as file:
        return {row["id"]: float(row["value"]) for row in csv.DictReader(file)}


def published_rate(points: dict[str, float], name: str) -> float:
    """Return what was published of a point, in tokens that were computed."""
    share = COMPUTED_SHARE if name == "deepseek_h800_prefill" else 1.0
    return points[name] * share


def claims(data: Path) -> list[Claim]:
    """Return the throughputs beside the published ones."""
    points = published_points(data)
    found = []
    for name, (title, predict) in POINTS.items():
        stated, predicted = published_rate(points, name), predict()
        found.append(
            Claim(
                title,
                f"{stated:,.0f} tok/s",
                f"{predicted:,.0f} tok/s",
                signed(predicted / stated - 1.0, 0),
                "nothing (shipped default efficiencies)",
            )
        )
    return found
