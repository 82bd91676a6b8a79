"""Losses that a plan must survive: engines of every pool, any site or line, or a named one."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from pdd_plan.scenario.policy import Limits
from pdd_plan.scenario.quantity import AlsoWritten, Section, problem
from pdd_plan.units import show_value

MOST_ENGINES = 1000
ANY, NONE = "any", "none"


def _engines(value: Any) -> Any:
    """Read ``1 per pool``; whole numbers pass."""
    if not isinstance(value, str):
        return value
    found = re.fullmatch(r"(\d{1,9})(?:\s+per\s+pool)?", value.strip(), re.ASCII)
    if value.strip() == NONE:
        return 0
    if found is None:
        raise problem(
            f"{show_value(value)} is not a number of engines per pool",
            "write engines: 1 per pool, or a whole number",
        )
    return int(found[1])


class Tolerate(Section):
    """What may be lost, one thing at a time, with the limits still kept."""

    engines: Annotated[int, BeforeValidator(_engines), AlsoWritten("text")] = Field(
        default=0,
        ge=0,
        le=MOST_ENGINES,
        description="`1 per pool`, or a number: the limits hold with so many engines less in every "
        "pool in use.",
        examples=["1 per pool"],
    )
    site: str = Field(
        default=NONE,
        min_length=1,
        description="`any`, the name of a site, or `none`: the limits hold with it lost, and every "
        "line from and to it.",
        examples=["any"],
    )
    line: str = Field(
        default=NONE,
        min_length=1,
        description="`any`, the name of a line (`from-to`), or `none`: the limits hold with it "
        "lost.",
        examples=["any"],
    )
    slo: Limits = Field(
        default_factory=Limits,
        description="Limits while something is lost, in place of those of the same name in the "
        "top-level `slo`; the others stay.",
        examples=["{ttft_p90: 20 s}"],
    )

    @property
    def nothing(self) -> bool:
        """Whether nothing needs to be tolerated."""
        return self.engines == 0 and self.site == NONE and self.line == NONE
