"""The published example of Melange: chips of two kinds for requests of four sizes.

github.com/tyler-griggs/melange-release, melange/config/example.json at commit ebba701, and the
output that its README (commit d46ab43) shows: two input sizes by two output sizes, 30 req/s.
"""

from __future__ import annotations

from benchmarks.validation.document import Claim, signed
from pdd_plan.optimizer.class_chips import ChipKind, assign_classes

CLASSES = ("short, short", "short, long", "long, short", "long, long")
A10G = ChipKind("A10G", 1.01, dict(zip(CLASSES, (2.0, 1.0, 5.0, 2.0), strict=True)))
A100 = ChipKind("A100-80GB", 3.67, dict(zip(CLASSES, (20.0, 20.0, 40.0, 20.0), strict=True)))
RATES = dict(zip(CLASSES, (30 * 0.2, 30 * 0.1, 30 * 0.5, 30 * 0.2), strict=True))
USD_PER_HOUR = 6.70


def claims() -> list[Claim]:
    """Return the assignment in whole classes beside the published one."""
    best = assign_classes(RATES, [A10G, A100], slices=1)
    assert best is not None
    counts = " + ".join(f"{count} {name}" for name, count in best.chips.items())
    return [
        Claim(
            "Melange's example: chips for 30 req/s",
            "3 A10G + 1 A100-80GB",
            counts,
            "none" if best.chips == {"A10G": 3, "A100-80GB": 1} else "**other chips**",
            "nothing",
        ),
        Claim(
            "Melange's example: cost",
            f"${USD_PER_HOUR:.2f}/h",
            f"${best.usd_per_hour:.2f}/h",
            signed(best.usd_per_hour / USD_PER_HOUR - 1.0),
            "nothing",
        ),
    ]
