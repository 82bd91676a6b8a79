"""The shape of one engine: its chips and how a model is split over them."""

from __future__ import annotations

from dataclasses import dataclass

from pdd_plan.errors import InputError, Issue


@dataclass(frozen=True)
class EngineShape:
    """How one engine (model replica) uses its chips.

    Attributes
    ----------
    chips : int
        Chips of the engine, tensor_parallel x data_parallel.
    tensor_parallel : int
        Chips that split each attention head group and matrix between them.
    data_parallel : int
        Attention ranks that hold different requests (attention data parallelism); each is a
        server of the prefill queue.
    expert_parallel : int
        Chips over which routed experts are spread whole; 1 for dense models.
    """

    chips: int
    tensor_parallel: int = 1
    data_parallel: int = 1
    expert_parallel: int = 1

    def __post_init__(self) -> None:
        """Refuse degrees that do not multiply to the chips."""
        degrees = (self.chips, self.tensor_parallel, self.data_parallel, self.expert_parallel)
        if min(degrees) < 1:
            raise InputError(Issue(f"engine shape {degrees} has a degree below 1"))
        if self.tensor_parallel * self.data_parallel != self.chips:
            raise InputError(
                Issue(
                    f"tensor_parallel {self.tensor_parallel} x data_parallel "
                    f"{self.data_parallel} is not the {self.chips} chips of the engine",
                    help=f"data_parallel {max(1, self.chips // self.tensor_parallel)} would fit",
                )
            )
        if self.expert_parallel > self.chips:
            raise InputError(
                Issue(
                    f"expert_parallel {self.expert_parallel} exceeds the {self.chips} chips "
                    "of the engine"
                )
            )

    @property
    def label(self) -> str:
        """Short name such as ``tp8``, ``dp8`` or ``tp8-dp4``."""
        if self.data_parallel == 1:
            return f"tp{self.tensor_parallel}"
        if self.tensor_parallel == 1:
            return f"dp{self.data_parallel}"
        return f"tp{self.tensor_parallel}-dp{self.data_parallel}"


@dataclass(frozen=True)
class RejectedShape:
    """A shape that is no candidate, and why, as a sentence with numbers."""

    shape: EngineShape
    reason: str
