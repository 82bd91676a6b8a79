"""Model profiles: the numbers of an architecture that serving costs depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pdd_plan.catalog.attention import KV_BYTES, Array, Attention
from pdd_plan.catalog.documents import nearest
from pdd_plan.errors import InputError, Issue

WEIGHT_BYTES: Final = {
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "nvfp4": 0.5625,
    "fp4": 0.5625,
    "mxfp4": 0.53125,
    "int4": 0.53125,
}
"""Bytes per weight by format, scales included (16 elements a scale for nvfp4, 32 for the rest)."""

_FOUR_BIT: Final = ("nvfp4", "fp4", "mxfp4", "int4")


@dataclass(frozen=True)
class LayerGroup:
    """Layers of one shape.

    Attributes
    ----------
    count : int
        How many layers of the model have this shape.
    attention : Attention
        Attention of one such layer.
    dense_params : float
        Weights of one layer used by every token beside attention: dense MLP, shared experts,
        router.
    expert_params : float
        Weights of one routed expert; 0 without experts.
    experts, experts_per_token : int
        Routed experts of one layer, and how many of them a token uses.
    """

    count: int
    attention: Attention
    dense_params: float
    expert_params: float = 0.0
    experts: int = 0
    experts_per_token: int = 0


@dataclass(frozen=True)
class WeightSplit:
    """Weights by part, in counts or in bytes as the method that made it says.

    Attributes
    ----------
    attention, dense, experts, head, embedding : float
        Attention; dense MLP, shared experts and routers; all routed experts; output head;
        input embedding (0 if it is the head itself).
    """

    attention: float
    dense: float
    experts: float
    head: float
    embedding: float

    @property
    def total(self) -> float:
        """Sum of all parts."""
        return self.attention + self.dense + self.experts + self.head + self.embedding


@dataclass(frozen=True)
class ModelProfile:
    """Architecture of a language model in the numbers that serving depends on.

    Multi-token-prediction layers, vision towers, norms and biases are left out.

    Attributes
    ----------
    name, title : str
        Lower-case id, and the published name.
    groups : tuple of LayerGroup
        Layers, grouped by shape.
    hidden_size, vocab_size : int
        Width of the residual stream, and rows of embedding and head.
    tied_embeddings : bool
        Whether the head is the input embedding.
    kernels_per_layer : int
        Kernels launched per layer, for the fixed time of a pass.
    max_context_tokens : int or None
        Longest context the publisher states.
    source, date, confidence : str
        Provenance of the numbers, as in `Sourced`.
    notes : tuple of str
        Remarks to show to users.
    explicit : Mapping[str, float]
        Numbers given outright, which replace what the layers would give
        (``kv_bytes_per_token``, ``kv_bytes_fixed``).
    """

    name: str
    title: str
    groups: tuple[LayerGroup, ...]
    hidden_size: int
    vocab_size: int
    tied_embeddings: bool
    kernels_per_layer: int
    max_context_tokens: int | None
    source: str
    date: str
    confidence: str
    notes: tuple[str, ...] = ()
    explicit: Mapping[str, float] | None = None

    def _sum(self, values: Any) -> Any:
        return sum(group.count * value for group, value in zip(self.groups, values, strict=True))

    @property
    def layers(self) -> int:
        """Number of layers."""
        return sum(group.count for group in self.groups)

    @property
    def is_moe(self) -> bool:
        """Whether any layer has routed experts."""
        return any(group.experts for group in self.groups)

    @property
    def is_mla(self) -> bool:
        """Whether the growing cache is a latent shared by all heads (MLA, DeepSeek V4)."""
        return any(group.attention.latent for group in self.groups)

    @property
    def kv_heads(self) -> int:
        """Heads over which tensor parallelism can split the cache; 1 for a shared latent."""
        return min((g.attention.kv_heads for g in self.groups if g.attention.spans), default=1)

    @property
    def experts(self) -> int:
        """Routed experts of an expert layer, 0 without."""
        return max(group.experts for group in self.groups)

    @property
    def experts_per_token(self) -> int:
        """Routed experts that a token uses in an expert layer, 0 without."""
        return max(group.experts_per_token for group in self.groups)

    @property
    def weights(self) -> WeightSplit:
        """Weight counts by part, all layers."""
        head = float(self.vocab_size * self.hidden_size)
        return WeightSplit(
            attention=self._sum(g.attention.params for g in self.groups),
            dense=self._sum(g.dense_params for g in self.groups),
            experts=self._sum(g.experts * g.expert_params for g in self.groups),
            head=head,
            embedding=0.0 if self.tied_embeddings else head,
        )

    @property
    def active_expert_params(self) -> float:
        """Weights of the routed experts that one token uses, all layers."""
        return float(self._sum(g.experts_per_token * g.expert_params for g in self.groups))

    @property
    def total_params(self) -> float:
        """All weights."""
        return self.weights.total

    @property
    def active_params(self) -> float:
        """Weights that one token is multiplied with: no input embedding, which is a look-up."""
        parts = self.weights
        return parts.total - parts.experts - parts.embedding + self.active_expert_params

    def weight_bytes(self, weights: str, experts: str | None = None) -> float:
        """Return the bytes of all weights, head and embedding included.

        Parameters
        ----------
        weights, experts : str
            As in `weight_split_bytes`.

        Returns
        -------
        float
            Bytes over the whole model, not divided by parallelism.
        """
        return self.weight_split_bytes(weights, experts).total

    def weight_split_bytes(self, weights: str, experts: str | None = None) -> WeightSplit:
        """Return the bytes of each part of the weights.

        Parameters
        ----------
        weights : str
            A key of `WEIGHT_BYTES`.
        experts : str, optional
            Format of the routed experts if it differs. A 4-bit `weights` on a model with
            experts means 4-bit experts and the rest in bf16, as such checkpoints are made.

        Returns
        -------
        WeightSplit
            Bytes; head and embedding stay in bf16.

        Raises
        ------
        InputError
            If a format is unknown.
        """
        linear, expert = self.weight_formats(weights, experts)
        parts, width = self.weights, WEIGHT_BYTES[linear]
        return WeightSplit(
            attention=parts.attention * width,
            dense=parts.dense * width,
            experts=parts.experts * WEIGHT_BYTES[expert],
            head=parts.head * WEIGHT_BYTES["bf16"],
            embedding=parts.embedding * WEIGHT_BYTES["bf16"],
        )

    def weight_formats(self, weights: str, experts: str | None = None) -> tuple[str, str]:
        """Return the formats of the linear layers and of the routed experts.

        Raises
        ------
        InputError
            If a format is unknown.
        """
        for name in (weights, experts or weights):
            _known("weight format", name, WEIGHT_BYTES)
        if experts is None:
            experts = weights
            if self.is_moe and weights in _FOUR_BIT:
                weights = "bf16"
        return weights, experts

    def kv_bytes_per_token(self, kv_dtype: str, index_dtype: str | None = None) -> float:
        """Return the cache bytes that each token of context takes.

        Parameters
        ----------
        kv_dtype : str
            A key of `KV_BYTES`.
        index_dtype : str, optional
            Format of the keys of a sparse attention's indexer, if another.

        Returns
        -------
        float
            Bytes per token over all layers, not divided by tensor parallelism.

        Raises
        ------
        InputError
            If a format is unknown.
        """
        _known("KV cache format", kv_dtype, KV_BYTES)
        if self.explicit and "kv_bytes_per_token" in self.explicit:
            return self.explicit["kv_bytes_per_token"]
        values = (g.attention.kv_bytes_per_token(kv_dtype, index_dtype) for g in self.groups)
        return float(self._sum(values))

    def kv_bytes_fixed(self, kv_dtype: str) -> float:
        """Return the constant cache bytes of a request: full windows and recurrent states.

        Short convolution states of linear layers (about 3 % of the recurrent state) are left out.
        """
        _known("KV cache format", kv_dtype, KV_BYTES)
        if self.explicit and "kv_bytes_fixed" in self.explicit:
            return self.explicit["kv_bytes_fixed"]
        windows = self._sum(g.attention.window_bytes(kv_dtype) for g in self.groups)
        return float(windows + self.state_bytes)

    @property
    def state_bytes(self) -> float:
        """Recurrent states of one request [bytes], a part of `kv_bytes_fixed`."""
        return float(self._sum(g.attention.state_bytes for g in self.groups))

    def kv_shards(self, tensor_parallel: int) -> int:
        """Return over how many ranks tensor parallelism splits the cache (1 for a latent)."""
        return 1 if self.is_mla else min(tensor_parallel, self.kv_heads)

    def kv_copies(self, tensor_parallel: int) -> float:
        """Return how many copies of the cache the ranks of one engine hold together."""
        return tensor_parallel / self.kv_shards(tensor_parallel)

    def prefill_attention_flop(
        self, new_tokens: npt.ArrayLike, context_tokens: npt.ArrayLike
    ) -> Array:
        """Return attention's operations in a pass over the last tokens of a context [flop].

        Parameters
        ----------
        new_tokens, context_tokens : array_like
            Uncached tokens, and all tokens of the prompt including them; broadcast together.
        """
        parts = (g.attention.prefill_flop(new_tokens, context_tokens) for g in self.groups)
        return np.asarray(self._sum(parts), dtype=np.float64)

    def decode_attention_flop(self, context_tokens: npt.ArrayLike) -> Array:
        """Return attention's operations for one decoded token at a context length [flop]."""
        parts = (g.attention.decode_flop(context_tokens) for g in self.groups)
        return np.asarray(self._sum(parts), dtype=np.float64)

    def decode_read_bytes(self, context_tokens: npt.ArrayLike, kv_dtype: str) -> Array:
        """Return the cache bytes that one decoded token moves, all layers, one copy.

        Less than what is stored where attention is sparse: only the chosen entries and the
        indexer's keys are read.
        """
        _known("KV cache format", kv_dtype, KV_BYTES)
        if self.explicit and "kv_bytes_per_token" in self.explicit:
            entries = self.groups[0].attention.spans[0].entries(context_tokens)
            return self.explicit["kv_bytes_per_token"] * entries + self.explicit["kv_bytes_fixed"]
        parts = (g.attention.decode_read_bytes(context_tokens, kv_dtype) for g in self.groups)
        return np.asarray(self._sum(parts), dtype=np.float64)

    def decode_flop_per_token(self, context_tokens: npt.ArrayLike) -> Array:
        """Return all operations of one decoded token: 2 per active weight, plus attention."""
        attention = self.decode_attention_flop(context_tokens)
        return np.asarray(2.0 * self.active_params + attention, dtype=np.float64)


def _known(what: str, name: str, table: Mapping[str, float]) -> None:
    if name not in table:
        hint = nearest(name, table) or "one of: " + ", ".join(table)
        raise InputError(Issue(f"unknown {what} '{name}'", help=hint))
