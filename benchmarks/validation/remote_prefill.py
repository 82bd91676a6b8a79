"""The published case study of prefill as a service, on the scenario that ships.

R. Qin et al., "Prefill-as-a-Service", arXiv:2604.15039 (2026), tables 5 and 6: long prompts go to a
remote cluster of compute-dense chips. The scenario names which of its inputs are published.
"""

from __future__ import annotations

import numpy as np

from benchmarks.validation.document import Claim, signed
from pdd_plan.fleet.laws import Law
from pdd_plan.fleet.size_evaluation import evaluate_by_size
from pdd_plan.fleet.size_routing import SizeFleet, converging_rate_per_s, service_at_mean_s
from pdd_plan.optimizer.size_routing import SizeGoal, best_by_size, candidate_at
from tests.optimizer.size_scenarios import published_fleet

HOME_TOKENS_PER_S, OUTPUT_TOKENS = 800.0, 1024.0
THRESHOLD = 19_400.0
FITTED = "time of home engines by length (by the authors' throughputs and latencies)"


def at_mean(fleet: SizeFleet, mask: np.ndarray, *, remote: bool) -> float:
    """Prefill time of the mean prompt of some requests [s], as the paper takes it."""
    role_site = fleet.line.source if remote else fleet.line.target
    (pool,) = fleet.problem.pool_indices(role_site, "prefill")
    atoms = fleet.problem.atoms
    return service_at_mean_s(
        atoms.uncached_tokens[mask],
        atoms.weight[mask],
        fleet.problem.pools[pool].service_s[mask],
    )


def idle_ttft(fleet: SizeFleet, threshold_tokens: float) -> Law:
    """Law of TTFT of an idle fleet.

    Parameters
    ----------
    threshold_tokens : float
        Uncached tokens above which a prompt goes away, by the nearest candidate; infinity for
        none, 0 for all.
    """
    values = fleet.problem.thresholds  # descending, from infinity
    index = 0
    if threshold_tokens < np.inf:
        index = 1 + int(np.argmin(np.abs(values[1:] - threshold_tokens)))
    (choice,) = fleet.choices()
    candidate = candidate_at(fleet, index, 0.0, [3] * len(fleet.problem.pools), 0, 1.0)
    return evaluate_by_size(fleet, candidate, choice, idle=True).ttft


def claims() -> list[Claim]:
    """Return throughputs, latencies and the plan beside the published ones."""
    fleet = published_fleet()
    atoms = fleet.problem.atoms
    everything = np.ones(len(atoms), dtype=bool)
    homogeneous = converging_rate_per_s(
        [1.0],
        [9 / at_mean(fleet, everything, remote=False)],
        3 * HOME_TOKENS_PER_S / OUTPUT_TOKENS,
    )
    plan = best_by_size(fleet, SizeGoal("goodput")).plan
    assert plan is not None
    pools = zip(fleet.problem.pools, plan.candidate.engines, strict=True)
    counts = [f"{n} {pool.site} {pool.role}" for pool, n in pools if n]
    expected = ["3 home prefill", "5 home decode", "4 remote prefill"]
    threshold = float(fleet.problem.thresholds[plan.candidate.threshold_index])
    sent = fleet.sent(plan.candidate.threshold_index)
    size = fleet.problem.transfer_bytes
    gbps = plan.rate_per_s * float(atoms.weight[sent] @ size[sent]) * 8e-9
    rows = [
        ("9 P + 3 D home engines, throughput", 2.11, homogeneous, "req/s", FITTED),
        ("the same, mean TTFT", 4.44, idle_ttft(fleet, np.inf).mean, "s", FITTED),
        ("all prefill remote, mean TTFT", 1.74, idle_ttft(fleet, 0.0).mean, "s", "nothing"),
        ("by size, mean TTFT", 2.22, idle_ttft(fleet, THRESHOLD).mean, "s", FITTED),
        ("best threshold", THRESHOLD, threshold, "tokens", FITTED),
        ("throughput by size", 3.24, plan.rate_per_s, "req/s", FITTED),
        ("egress", 13.0, gbps, "Gbps", FITTED),
    ]
    return [
        Claim(
            "Prefill as a service: engines",
            ", ".join(expected),
            ", ".join(counts),
            "none" if sorted(counts) == sorted(expected) else "**other counts**",
            FITTED,
        ),
        *(
            Claim(
                f"Prefill as a service: {what}",
                f"{stated:,g} {unit}",
                f"{predicted:,.0f} {unit}" if unit == "tokens" else f"{predicted:.2f} {unit}",
                signed(predicted / stated - 1.0),
                fitted,
            )
            for what, stated, predicted, unit, fitted in rows
        ),
    ]
