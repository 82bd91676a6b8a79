"""Efficiencies: how far below the data sheet the hardware runs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from pdd_plan.scenario.quantity import (
    Microseconds,
    Milliseconds,
    PositiveShare,
    Quantity,
    Section,
)

Framework = Literal["vllm", "sglang", "trtllm"]


class Efficiencies(Section):
    """How far below the data sheet the hardware runs; anything left out keeps its default."""

    file: str | None = Field(
        default=None,
        min_length=1,
        description="YAML file with efficiencies under these keys, relative to the scenario; "
        "the keys beside it take precedence.",
    )
    compute: PositiveShare | None = Field(
        default=None, description="Share of the peak that dense matrix products reach."
    )
    compute_moe: Annotated[float, Quantity("factor", "1", gt=0, le=10)] | None = Field(
        default=None, description="Factor on `compute` for mixture-of-experts models."
    )
    dedicated_prefill: Annotated[float, Quantity("factor", "1", gt=0, le=10)] | None = Field(
        default=None,
        description="Factor on `compute_moe` for engines that do nothing but prefill.",
    )
    compute_bf16: Annotated[float, Quantity("factor", "1", gt=0, le=10)] | None = Field(
        default=None, description="Factor on `compute` for products in bf16."
    )
    memory: PositiveShare | None = Field(
        default=None, description="Share of the memory bandwidth that reads reach."
    )
    link: PositiveShare | None = Field(
        default=None, description="Share of the scale-up bandwidth that collectives reach."
    )
    nic: PositiveShare | None = Field(
        default=None, description="Share of the NIC bandwidth reached between nodes."
    )
    kernel_s: Microseconds | None = Field(
        default=None, alias="kernel", description="Launch and tail time of one kernel."
    )
    collective_s: Microseconds | None = Field(
        default=None, alias="collective", description="Latency of one collective, times log2 chips."
    )
    request_step_s: Microseconds | None = Field(
        default=None, alias="request_step", description="Host time per request and decode step."
    )
    decode_factor: dict[Framework, Annotated[float, Quantity("factor", "1", gt=0, le=100)]] = Field(
        default_factory=dict, description="Factor on the decode step by framework."
    )
    host_s: dict[Framework, Milliseconds] = Field(
        default_factory=dict, alias="host", description="Host time per request by framework."
    )
    arrival_steps: Annotated[float, Quantity("factor", "1", ge=0, le=1000)] | None = Field(
        default=None, description="Decode steps between arrival and first token at the client."
    )

    def changes(self) -> dict[str, Any]:
        """Return what is given, by attribute name, in SI; without `file`."""
        given = self.model_dump(exclude={"file"}, exclude_none=True)
        return {key: value for key, value in given.items() if value != {}}
