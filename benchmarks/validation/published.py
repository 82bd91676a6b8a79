"""Published results beside what the model says of them."""

from __future__ import annotations

from pathlib import Path

from benchmarks.validation import (
    mixed_chips,
    production_day,
    relay_table,
    remote_prefill,
    shared_line,
    throughput,
)
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
        *relay_table.claims(),
        *shared_line.claims(),
    ]
    return Section(
        "Predicted against published",
        "\n\n".join([INTRODUCTION, claims_table(claims)]),
        summary=(
            "Published results: DeepSeek's day and its cost within 0.1 %, Melange's example and "
            "the engines of prefill as a service exactly; of the PDD table P50 within 8 % and P99 "
            "within 15 % where they were not fitted",
        ),
        limits=(
            "**Tuned best cases.** Published throughputs of SGLang on GB200 and H20 are up to "
            "twice, prefill on H20 nearly three times, what the shipped efficiencies say: they "
            "are the middle of public runs and do not know these kernels. Calibrate such engines.",
            "**P99 of the PDD table.** Every predicted P99 is higher than the published one, by "
            "up to 14 %. Waits of a queue in steady state have an exponential tail; the published "
            "tails are lighter, as those of a run that ends before rare pile-ups are over.",
            "**The microbenchmark of the 20 Gbps line.** A line that explains the uniform run is "
            "99.6 % full. The skewed run at the same load then has a heavier tail, since its "
            "transfers are more uneven; published is a lighter one. A line that full forgets its "
            "past only after half an hour, and the length of the runs is not published: the steady "
            "state of the model is not what they saw. The ratio of the medians asks for hit rates "
            "near 98.6 % among those of 95 % and more, where an even spread has 97.5 %.",
        ),
    )
