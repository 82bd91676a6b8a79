"""One engine's constants: a model's operators laid over the chips of a shape.

Each field may be a number (one engine) or an array (many engines at once, as the fit uses), so
the formulas of `passes` serve both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from pdd_plan.catalog.chips import ChipProfile
from pdd_plan.errors import InputError, Issue
from pdd_plan.roofline.engine_shape import EngineShape
from pdd_plan.roofline.memory import ACTIVATION_BYTES, cache_split, weight_bytes_per_chip
from pdd_plan.roofline.operators import FloatArray, IndexArray, OperatorCounts

DISPATCH_BYTES = 1.0  # expert dispatch quantizes to fp8 (DeepEP, DeepSeek-V3 report section 3.2)
Number = float | FloatArray


def peak_flop_per_s(flop_per_s: Mapping[str, float], storage_dtype: str) -> tuple[str, float]:
    """Return (compute type, peak flop/s) of a product with weights of `storage_dtype`.

    Weights are multiplied in their own type where the chip lists a peak for it that beats bf16,
    else they are expanded to the next wider type listed (weight-only quantization). int4 has no
    matrix unit on any chip in the catalog and is expanded to bf16.

    Raises
    ------
    InputError
        If the chip lists no type wide enough.
    """
    wider = {
        "bf16": ("bf16",),
        "fp16": ("bf16",),
        "fp8": ("fp8", "bf16"),
        "int8": ("int8", "bf16"),
        "fp4": ("fp4", "bf16"),
        "nvfp4": ("fp4", "bf16"),
        "mxfp4": ("fp4", "bf16"),
        "int4": ("bf16",),
    }[storage_dtype]
    found = [(dtype, flop_per_s[dtype]) for dtype in wider if flop_per_s.get(dtype)]
    if not found:
        listed = ", ".join(sorted(flop_per_s)) or "none"
        raise InputError(
            Issue(
                f"chip has no peak for {' or '.join(wider)}, needed by {storage_dtype} weights "
                f"(listed: {listed})",
                path="flop_per_s",
                help="add the data-sheet figure to the chip profile",
            )
        )
    return max(found, key=lambda pair: pair[1])


@dataclass(frozen=True)
class EngineConstants:
    """Numbers of one engine (or arrays over engines) at data-sheet speed.

    Attributes
    ----------
    chips, tensor_parallel, data_parallel : number
        Shape of the engine.
    experts, experts_per_token : number
        Routed experts per layer and per token; 0 for dense models.
    linear_quantized_s, linear_bf16_s : number
        Chip-seconds per token at peak of dense products, by compute type [s].
    expert_quantized_s, expert_bf16_s : number
        The same for routed experts [s].
    moe : number
        1 for mixture-of-experts models, else 0.
    shared_read_s : number
        Time to read the non-expert weights of one chip at full bandwidth [s].
    expert_read_s : number
        Time to read all routed experts of one chip at full bandwidth [s].
    bytes_read_s : number
        Seconds per byte of cache that one chip reads, sharding included, so that
        bytes of one request times batch / data_parallel times this is time [s/byte].
    bf16_flop_s : number
        Chip-seconds per bf16 flop at peak [s/flop].
    launches : number
        Kernel launches per pass.
    collective_rounds : number
        Collectives per pass times log2 of the chips in them.
    scaleup_s_per_token : number
        Scale-up time per token of the whole engine's pass at line rate [s].
    small_reduce : number
        Factor on the scale-up bytes of a decode step: small messages go by one-shot all-reduce,
        (n-1) times the message instead of 2 (n-1)/n, up to four chips; 2 beyond.
    nic_s_per_token : number
        Scale-out time per token of the whole engine's pass at line rate [s]; 0 inside a domain.
    """

    chips: Number
    tensor_parallel: Number
    data_parallel: Number
    experts: Number
    experts_per_token: Number
    linear_quantized_s: Number
    linear_bf16_s: Number
    expert_quantized_s: Number
    expert_bf16_s: Number
    moe: Number
    shared_read_s: Number
    expert_read_s: Number
    bytes_read_s: Number
    bf16_flop_s: Number
    launches: Number
    collective_rounds: Number
    scaleup_s_per_token: Number
    small_reduce: Number
    nic_s_per_token: Number

    @classmethod
    def stack(cls, engines: list[EngineConstants]) -> EngineConstants:
        """Return constants whose fields are arrays over `engines`."""
        return cls(
            **{
                item.name: np.array([getattr(engine, item.name) for engine in engines], dtype=float)
                for item in fields(cls)
            }
        )

    def take(self, rows: IndexArray) -> EngineConstants:
        """Return the constants of some rows of a stack."""
        return EngineConstants(
            **{item.name: getattr(self, item.name)[rows] for item in fields(EngineConstants)}
        )


def engine_constants(
    chip: ChipProfile, counts: OperatorCounts, shape: EngineShape
) -> EngineConstants:
    """Lay a model over the chips of one engine.

    Parameters
    ----------
    chip : ChipProfile
        Data-sheet figures.
    counts : OperatorCounts
        Model at a precision.
    shape : EngineShape
        Chips and parallelism.

    Returns
    -------
    EngineConstants
        Scalars for this engine.

    Raises
    ------
    InputError
        If the chip lists no peak for a type that is needed.
    """
    seconds = {"linear_bf16": 0.0, "linear_quantized": 0.0}
    seconds |= {"expert_bf16": 0.0, "expert_quantized": 0.0}
    for group in counts.linear:
        dtype, peak = peak_flop_per_s(chip.flop_per_s, group.storage_dtype)
        kind = "expert" if group.name == "experts" else "linear"
        kind += "_bf16" if dtype == "bf16" else "_quantized"
        seconds[kind] += 2.0 * group.active_weights / peak
    bf16_s = 1.0 / peak_flop_per_s(chip.flop_per_s, "bf16")[1]
    seconds["linear_bf16"] += counts.fixed_flop_per_token * bf16_s
    held = weight_bytes_per_chip(counts, shape, chip.scaleup_domain_chips)
    shared = sum(size for name, size in held.items() if name not in ("experts", "embedding"))
    scaleup_s, nic_s, rounds = _collectives(chip, counts, shape)
    return EngineConstants(
        chips=float(shape.chips),
        tensor_parallel=float(shape.tensor_parallel),
        data_parallel=float(shape.data_parallel),
        experts=float(counts.experts),
        experts_per_token=float(counts.experts_per_token),
        linear_quantized_s=seconds["linear_quantized"],
        linear_bf16_s=seconds["linear_bf16"],
        expert_quantized_s=seconds["expert_quantized"],
        expert_bf16_s=seconds["expert_bf16"],
        moe=float(counts.is_moe),
        shared_read_s=shared / chip.memory_bytes_per_s,
        expert_read_s=held.get("experts", 0.0) / chip.memory_bytes_per_s,
        bytes_read_s=1.0 / (cache_split(counts, shape.tensor_parallel) * chip.memory_bytes_per_s),
        bf16_flop_s=bf16_s,
        launches=counts.layers * counts.kernels_per_layer,
        collective_rounds=rounds,
        scaleup_s_per_token=scaleup_s,
        small_reduce=max(1.0, min(shape.chips, 4) / 2.0) if not nic_s else 1.0,
        nic_s_per_token=nic_s,
    )


def _collectives(
    chip: ChipProfile, counts: OperatorCounts, shape: EngineShape
) -> tuple[float, float, float]:
    """Return (scale-up s/token, NIC s/token, collective rounds) at line rate.

    Tensor parallelism in a scale-up domain: two all-reduces a layer of the hidden vector, ring
    volume 2 (n-1)/n, over the tokens of one attention rank. With attention data parallelism:
    one all-reduce inside the rank, then dispatch (fp8) and combine (bf16) of each token to the
    distinct chips its experts lie on. Across domains the same, to distinct domains by NIC and
    inside them by scale-up.
    """
    n = shape.chips
    if n == 1:
        return 0.0, 0.0, 0.0
    hidden = counts.hidden_size
    near = min(n, chip.scaleup_domain_chips)
    tp = shape.tensor_parallel
    if n <= near and (shape.data_parallel == 1 or not counts.is_moe):
        volume = 2.0 * counts.layers * hidden * ACTIVATION_BYTES * 2.0 * (n - 1) / n
        scaleup = volume / shape.data_parallel / chip.scaleup_bytes_per_s
        return scaleup, 0.0, 2.0 * counts.layers * math.log2(n)
    if n > near and not chip.nic_bytes_per_s:
        raise InputError(
            Issue(f"chip {chip.name} names no NIC bandwidth, needed beyond {near} chips")
        )
    reduced = counts.layers * hidden * ACTIVATION_BYTES * 2.0 * (tp - 1) / tp
    moved = counts.moe_layers * hidden * (DISPATCH_BYTES + ACTIVATION_BYTES)
    local = moved * _distinct_others(near, counts.experts_per_token) / n
    remote = moved * _distinct_others(n / near, counts.experts_per_token) / n
    rounds = counts.layers * math.log2(tp) + 2.0 * counts.moe_layers * math.log2(n)
    return (
        (reduced / shape.data_parallel + local) / chip.scaleup_bytes_per_s,
        remote / (chip.nic_bytes_per_s or math.inf),
        rounds,
    )


def _distinct_others(places: float, experts_per_token: int) -> float:
    """Return how many places other than its own a token's experts lie in, on average."""
    distinct = places * (1.0 - (1.0 - 1.0 / places) ** experts_per_token)
    return distinct * (places - 1.0) / places
