"""Predict and simulate cases; simulations are kept on disk, since they do not change."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import pdd_plan.simulation
from benchmarks.validation import cases
from benchmarks.validation.cases import Case
from pdd_plan.fleet.evaluate import Evaluation, evaluate
from pdd_plan.simulation import SimulationOptions, SimulationResult, simulate
from pdd_plan.simulation.measures import Estimate
from tests import problems

TOLERANCES = {"TTFT P50": 0.08, "TTFT P90": 0.05, "TTFT P99": 0.10, "TPOT": 0.02}
"""Relative errors that are accepted, beyond the simulation's own confidence interval."""

PROBABILITIES = {"TTFT P50": 0.5, "TTFT P90": 0.9, "TTFT P99": 0.99}

REPLICATIONS = 6


@dataclass(frozen=True)
class Difference:
    """One figure of one case.

    Attributes
    ----------
    figure : str
        Key of `TOLERANCES`.
    predicted_s, simulated_s, half_width_s : float
        Prediction; mean over replications and half-width of its 95 % interval [s].
    shares : tuple of float
        Share of requests up to the simulated value by the prediction, and the share it should
        be; both 0 for a mean.
    """

    figure: str
    predicted_s: float
    simulated_s: float
    half_width_s: float
    shares: tuple[float, float] = (0.0, 0.0)

    @property
    def relative(self) -> float:
        """Predicted over simulated, less 1."""
        return self.predicted_s / self.simulated_s - 1.0

    @property
    def excess(self) -> float:
        """Relative error beyond the confidence interval."""
        error = abs(self.predicted_s - self.simulated_s) - self.half_width_s
        return max(error, 0.0) / self.simulated_s

    @property
    def accepted(self) -> bool:
        """Whether the excess is within the tolerance."""
        return self.excess <= TOLERANCES[self.figure]


@dataclass(frozen=True)
class Outcome:
    """A case with the differences of all figures, by figure, and the uses of its stations.

    `seconds` is what its simulation took when it was run.
    """

    case: Case
    differences: Mapping[str, Difference]
    uses: Mapping[str, float]
    seconds: float


def compare(case: Case, folder: Path, jobs: int = 2) -> Outcome:
    """Predict and simulate one case.

    Parameters
    ----------
    case : Case
    folder : Path
        Where simulations are kept.
    jobs : int
        Replications at a time.

    Returns
    -------
    Outcome
    """
    predicted = evaluate(case.problem, case.candidate)
    loads = _loads(case, predicted)
    options = SimulationOptions(
        requests=case.requests, replications=REPLICATIONS, seed=int(_digest(case.name)[:6], 16)
    )
    measured = _kept(folder, case, options, loads, jobs)
    took_s = measured["seconds"][0]
    return Outcome(case, _differences(predicted, measured), _uses(case, predicted), took_s)


def _loads(case: Case, predicted: Evaluation) -> dict[int, float]:
    """Loads of pools that share a role at a site: the plan's dispatch, which both must follow."""
    problem = case.problem
    places = [(pool.site, pool.role) for pool in problem.pools]
    used = {i for i, count in enumerate(case.candidate.engines) if count > 0}
    return {
        i: float(f"{predicted.pools[i].load_per_s:.3g}")
        for i in used
        if predicted.pools[i].load_per_s > 0.0 and sum(places[j] == places[i] for j in used) > 1
    }


def _uses(case: Case, predicted: Evaluation) -> dict[str, float]:
    """Largest utilization by kind of station."""
    uses = {"line": max(predicted.lane_utilization)}
    for index, pool in predicted.pools.items():
        role = case.problem.pools[index].role
        uses[role] = max(uses.get(role, 0.0), pool.utilization)
    return uses


def _differences(
    predicted: Evaluation, measured: Mapping[str, list[float]]
) -> dict[str, Difference]:
    found = {}
    for figure, probability in PROBABILITIES.items():
        value, half_width = measured[figure]
        shares = (predicted.ttft.cdf(value), probability)
        quantile = predicted.ttft.quantile(probability)
        found[figure] = Difference(figure, quantile, value, half_width, shares)
    found["TPOT"] = Difference("TPOT", predicted.tpot.mean, *measured["TPOT"])
    return found


def _kept(
    folder: Path,
    case: Case,
    options: SimulationOptions,
    loads: Mapping[int, float],
    jobs: int,
) -> dict[str, list[float]]:
    """Simulation of a case, from the folder if it was run there before with the same code."""
    parts = (case.requests, vars(options), sorted(loads.items()), _code())
    path = folder / f"{case.name}-{_digest(repr(parts))}.json"
    if path.is_file():
        kept: dict[str, list[float]] = json.loads(path.read_text(encoding="utf-8"))
        return kept
    options = SimulationOptions(**{**vars(options), "jobs": jobs})
    start = time.monotonic()
    result = simulate(case.problem, case.candidate, options, pool_loads=loads)
    found = {**_figures(result), "seconds": [time.monotonic() - start]}
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found), encoding="utf-8")
    return found


def _figures(result: SimulationResult) -> dict[str, list[float]]:
    ttft = result.ttft_s
    estimates: dict[str, Estimate] = {
        "TTFT P50": ttft.p50,
        "TTFT P90": ttft.p90,
        "TTFT P99": ttft.p99,
        "TPOT": result.tpot_s.mean,
    }
    return {name: [one.mean, one.half_width] for name, one in estimates.items()}


@cache
def _code() -> str:
    """Digest of the source text of the simulation and of what draws the fleets."""
    home = Path(str(pdd_plan.simulation.__file__)).parent
    drawing = [Path(str(module.__file__)) for module in (cases, problems)]
    return _digest(b"".join(path.read_bytes() for path in [*sorted(home.glob("*.py")), *drawing]))


def _digest(data: bytes | str) -> str:
    text = data.encode() if isinstance(data, str) else data
    return hashlib.sha256(text).hexdigest()[:16]


def errors(outcomes: list[Outcome], figure: str) -> np.ndarray:
    """Relative errors of a figure over outcomes, shape (outcomes,)."""
    return np.array([outcome.differences[figure].relative for outcome in outcomes])
