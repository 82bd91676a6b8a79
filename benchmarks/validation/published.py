"""Published results beside what the model says of them."""

from __future__ import annotations

from pathlib import Path

from benchmarks.validation import mixed_chips, production_day, remote_prefill, throughput
from benchmarks.validation.document import Claim, Section, claims_table

INTRODUCTION = (
    "Each computed by the code that plans, from the inputs that were published. What was not "
    "published was chosen or fitted, and the last column says which."
)


def published_section(data: Path | None) -> Section:
    """Compare with published results; throughputs only where the public data are at hand.

    Parameters
    ----------
    data : Path or None
        Folder of public data.
    """
    claims: list[Claim] = [
        *production_day.claims(),
        *(throughput.claims(data) if data is not None else []),
        *mixed_chips.claims(),
        *remote_prefill.claims(),
    ]
    return Section(
        "Predicted against published",
        "\n\n".join([INTRODUCTION, claims_table(claims)]),
        limits=(
            "**Tuned best cases.** Published throughputs of SGLang on GB200 and H20 are up to "
            "twice, prefill on H20 nearly three times, what the shipped efficiencies say: they "
            "are the middle of public runs and do not know these kernels. Calibrate such engines.",
        ),
    )
