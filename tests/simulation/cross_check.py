"""Predictions beside simulation: what differs by more than its tolerance."""

from __future__ import annotations

from dataclasses import dataclass

from pdd_plan.fleet.evaluate import Evaluation
from pdd_plan.simulation import SimulationResult
from pdd_plan.simulation.measures import Estimate

TOLERANCES = {"ttft_p50": 0.08, "ttft_p90": 0.05, "ttft_p99": 0.10, "tpot_mean": 0.02}
"""Relative errors that are accepted, beyond the simulation's own confidence interval."""


@dataclass(frozen=True)
class Difference:
    """One figure of one plan."""

    what: str
    predicted: float
    simulated: Estimate

    @property
    def relative(self) -> float:
        return self.predicted / self.simulated.mean - 1.0

    @property
    def excess(self) -> float:
        """Relative error beyond the confidence interval."""
        error = abs(self.predicted - self.simulated.mean) - self.simulated.half_width
        return max(error, 0.0) / self.simulated.mean

    @property
    def too_large(self) -> bool:
        return self.excess > TOLERANCES[self.what]

    def __str__(self) -> str:
        interval = self.simulated.half_width / self.simulated.mean
        return (
            f"{self.what} predicted {self.predicted:.4g} s, simulated "
            f"{self.simulated.mean:.4g} s ± {interval:.1%} ({self.relative:+.1%})"
        )


def differences(predicted: Evaluation, simulated: SimulationResult) -> dict[str, Difference]:
    """All compared figures by name."""
    pairs = {
        "ttft_p50": (predicted.ttft.quantile(0.5), simulated.ttft_s.p50),
        "ttft_p90": (predicted.ttft.quantile(0.9), simulated.ttft_s.p90),
        "ttft_p99": (predicted.ttft.quantile(0.99), simulated.ttft_s.p99),
        "tpot_mean": (predicted.tpot.mean, simulated.tpot_s.mean),
    }
    return {what: Difference(what, *pair) for what, pair in pairs.items()}
