"""Llama-3.1-8B in bf16 on one H100, in a few lines that share nothing with the package.

Published configuration: 32 layers, hidden size 4096, 32 query and 8 key-value heads of 128,
intermediate size 14336, vocabulary 128256. H100 SXM: 989 dense bf16 TFLOP/s, 3.35 TB/s.
"""

from __future__ import annotations

from dataclasses import dataclass

LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD, WIDE, VOCABULARY = 32, 4096, 32, 8, 128, 14336, 128256
WEIGHTS = (
    LAYERS * (2 * HIDDEN * HIDDEN + 2 * HIDDEN * KV_HEADS * HEAD + 3 * HIDDEN * WIDE)
    + HIDDEN * VOCABULARY
)
KV_BYTES = 2 * 2 * LAYERS * KV_HEADS * HEAD
PEAK_FLOP_PER_S, BYTES_PER_S = 989e12, 3.35e12
KERNELS = 10 * LAYERS


@dataclass(frozen=True)
class Roofline:
    """Efficiencies in the terms of docs/theory.md; bf16 products reach 1.3 times `compute`."""

    compute: float = 0.42
    memory: float = 0.71
    kernel_s: float = 6.5e-6
    request_step_s: float = 3e-5

    def prefill_s(self, tokens: float) -> float:
        flop = 2 * WEIGHTS * tokens / 1.3 + LAYERS * 4 * HEADS * HEAD * tokens * tokens / 2
        compute = flop / PEAK_FLOP_PER_S / self.compute
        return max(compute, 2 * WEIGHTS / BYTES_PER_S / self.memory) + KERNELS * self.kernel_s

    def step_s(self, batch: float, context: float) -> float:
        read = (2 * WEIGHTS + batch * context * KV_BYTES) / BYTES_PER_S / self.memory
        flop = batch * (2 * WEIGHTS / 1.3 + LAYERS * 4 * HEADS * HEAD * context)
        compute = flop / PEAK_FLOP_PER_S / self.compute
        overlapped = (read**1.5 + compute**1.5) ** (1 / 1.5)
        return overlapped + KERNELS * self.kernel_s + self.request_step_s * batch
