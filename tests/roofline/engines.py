"""Small builders shared by the roofline tests."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pdd_plan.catalog import load_chip, load_model
from pdd_plan.roofline import Efficiencies, EngineShape, RooflineTimes, operator_counts


@dataclass(frozen=True)
class Formats:
    """Number formats, as `operator_counts` takes them."""

    weights: str = "fp8"
    experts: str | None = None
    kv_cache: str = "bf16"


def counts_of(model: str, **formats: str | None):
    """Operator counts of a catalog model."""
    return operator_counts(load_model(model), Formats(**formats))


def times_of(
    chip: str,
    model: str,
    shape: EngineShape,
    efficiencies: Efficiencies | None = None,
    framework: str | None = "trtllm",
    **formats: str | None,
) -> RooflineTimes:
    """Roofline times of a catalog chip and model."""
    return RooflineTimes(
        load_chip(chip),
        counts_of(model, **formats),
        shape,
        efficiencies or Efficiencies.default(),
        framework,
    )


def ideal() -> Efficiencies:
    """Efficiencies of an ideal machine: data sheet speed and no fixed times."""
    return replace(
        Efficiencies.default(),
        compute=1.0,
        compute_moe=1.0,
        dedicated_prefill=1.0,
        compute_bf16=1.0,
        memory=1.0,
        link=1.0,
        nic=1.0,
        kernel_s=0.0,
        collective_s=0.0,
        request_step_s=0.0,
        roofline_exponent=50.0,
        decode_factor={"trtllm": 1.0, "vllm": 1.0, "sglang": 1.0},
    )
