"""A fixed fleet under draws of the uncertain inputs: which limits hold, and at what cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pdd_plan.errors import InputError, UnstableQueueError
from pdd_plan.fleet.evaluate import Evaluation, evaluate
from pdd_plan.fleet.plan import Plan
from pdd_plan.fleet.plan_uncertainty import LimitRisk, Probability, Risk, Spread
from pdd_plan.fleet.problem import FloatArray
from pdd_plan.scenario.policy import SloLimit
from pdd_plan.scenario.uncertainty import INTERVAL
from pdd_plan.studies.figures import cost_of, finite
from pdd_plan.studies.given import candidate_of_plan
from pdd_plan.studies.uncertain_draws import Draws, UnbuildableError, Variants

SLACK = 1e-9
"""Relative excess over a limit that is a rounding error, as in `LimitResult.met`."""
CHUNK = 20
"""Draws that a worker takes at a time."""
NEVER_BROKEN_LATER = ("stock", "power")
"""Kinds of the planning rule that no limit on latency covers."""


@dataclass(frozen=True)
class Outcome:
    """What one draw does to a fleet.

    Attributes
    ----------
    usd_per_hour, usd_per_million_output_tokens : float
        Cost, at the drawn prices and demand.
    ttft_p90_s : float
        P90 TTFT [s]; infinite where the load cannot be carried.
    predicted_s : tuple of float
        What is predicted of each limit [s], likewise.
    over_limit : tuple of float
        What is predicted over the limit; one that holds is at most 1.
    fits : bool
        The scenario of the draw has the fleet's engines, stock and power.
    """

    usd_per_hour: float
    usd_per_million_output_tokens: float
    ttft_p90_s: float
    predicted_s: tuple[float, ...]
    over_limit: tuple[float, ...]
    fits: bool = True

    @property
    def stable(self) -> bool:
        """Whether the load can be carried."""
        return math.isfinite(self.ttft_p90_s)

    @property
    def strain(self) -> float:
        """How hard the draw is: the largest of all times over their limits, or infinite."""
        return max(self.over_limit, default=self.ttft_p90_s) if self.stable else math.inf

    @property
    def holds(self) -> bool:
        """Whether every limit holds."""
        return self.fits and self.stable and all(map(self.met, range(len(self.over_limit))))

    def met(self, limit: int) -> bool:
        """Whether a limit, by its number, holds."""
        return self.fits and self.over_limit[limit] <= 1.0 + SLACK


def outcome_of_draw(variants: Variants, changes: tuple[str, ...], plan: Plan) -> Outcome:
    """Evaluate the fleet of a plan in one variant of its scenario.

    Raises
    ------
    InputError
        If the draw is no scenario.
    """
    lost = ((math.inf,) * variants.limit_count,) * 2
    missing = Outcome(math.nan, math.nan, math.inf, *lost, fits=False)
    try:
        scenario, built = variants.built(changes)
    except UnbuildableError:
        return missing
    try:
        problem, candidate = candidate_of_plan(scenario, built, plan)
    except InputError:  # a shape of the fleet does not fit any more
        return missing
    chips = candidate.chips_usd_per_hour(problem)
    cost = cost_of(problem, chips, candidate.lines_usd_per_hour(problem), 0.0)
    money = cost.usd_per_hour, cost.usd_per_million_output_tokens
    try:
        seen = evaluate(problem, candidate)
    except UnstableQueueError:
        return Outcome(*money, math.inf, *lost)
    return Outcome(
        *money,
        seen.ttft.quantile(0.9),
        tuple(one.predicted_s for one in seen.limits),
        tuple(one.predicted_s / one.limit.limit_s for one in seen.limits),
        _fits(seen),
    )


def _fits(seen: Evaluation) -> bool:
    return not any(one.kind in NEVER_BROKEN_LATER for one in seen.check.violations)


def _chunk(variants: Variants, draws: Draws, plan: Plan) -> list[Outcome]:
    return [outcome_of_draw(variants, draws.changes(i), plan) for i in range(len(draws))]


@dataclass(frozen=True)
class Judge:
    """Evaluates fleets under draws, in several processes where asked to.

    Attributes
    ----------
    variants : Variants
        Of the scenario.
    jobs : int
        Processes.
    progress : callable, optional
        Told a share from 0 to 1.
    """

    variants: Variants
    jobs: int = 1
    progress: Callable[..., None] | None = None

    def outcomes(self, draws: Draws, plan: Plan, said: str = "") -> list[Outcome]:
        """Return the outcome of every draw, in order."""
        found = self.until(draws, plan, len(draws), said)
        assert len(found) == len(draws)
        return found

    def until(self, draws: Draws, plan: Plan, most: int, said: str = "") -> list[Outcome]:
        """Return the outcomes of draws in order, up to where more than `most` miss a limit."""
        found: list[Outcome] = []
        missed = 0
        for part in self._parts(draws, plan):
            found += part
            missed += sum(not one.holds for one in part)
            if missed > most:
                break
            if self.progress is not None and said:
                self.progress(said, len(found) / len(draws))
        return found

    def _parts(self, draws: Draws, plan: Plan) -> Iterator[list[Outcome]]:
        starts = range(0, len(draws), CHUNK)
        calls = [(self.variants, draws.part(start, start + CHUNK), plan) for start in starts]
        if self.jobs == 1 or len(calls) < 2:
            yield from (_chunk(*call) for call in calls)
            return
        from joblib import Parallel, delayed, parallel_config

        from pdd_plan.studies.sweep_workers import interrupts_held

        # In waves: whoever has seen enough stops between them. To stop within one would end the
        # workers, and new ones take seconds to start.
        for start in range(0, len(calls), self.jobs):
            wave = calls[start : start + self.jobs]
            with parallel_config("loky", inner_max_num_threads=1), interrupts_held():
                found = Parallel(self.jobs, batch_size=1)(delayed(_chunk)(*call) for call in wave)
            yield from found


def probability(successes: int, trials: int) -> Probability:
    """Return a probability with its interval after Clopper and Pearson [1]_.

    Parameters
    ----------
    successes, trials : int
        Of independent trials; at least one.

    Notes
    -----
    The interval is exact for independent draws: it covers the true probability with at least
    `INTERVAL`. Draws of a Latin hypercube estimate no worse than as many less one independent
    draws [2]_, so for them it is on the safe side.

    References
    ----------
    .. [1] C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in
       the case of the binomial", Biometrika 26 (1934) 404-413.
    .. [2] A. B. Owen, "Monte Carlo variance of scrambled net quadrature", SIAM Journal on
       Numerical Analysis 34 (1997) 1884-1910.
    """
    from scipy.special import betaincinv

    tail = (1.0 - INTERVAL) / 2.0
    missed = trials - successes
    low = float(betaincinv(successes, missed + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, missed, 1.0 - tail)) if missed else 1.0
    return Probability(estimate=successes / trials, low=low, high=high)


def risk_of(outcomes: Sequence[Outcome], limits: Sequence[SloLimit], sampling: str) -> Risk:
    """Put the outcomes of draws together.

    Parameters
    ----------
    outcomes : sequence of Outcome
        Of one fleet, one a draw.
    limits : sequence of SloLimit
        The scenario's.
    sampling : str
        How the draws were made.
    """
    count = len(outcomes)
    rows = [
        LimitRisk(
            metric=limit.metric,
            percentile=limit.probability or None,
            limit=limit.limit_s,
            holds=probability(sum(one.met(i) for one in outcomes), count),
            predicted=spread_of([one.predicted_s[i] for one in outcomes]),
        )
        for i, limit in enumerate(limits)
    ]
    return Risk(
        draws=count,
        sampling=sampling,
        holds=probability(sum(one.holds for one in outcomes), count),
        unstable_fraction=sum(not one.stable for one in outcomes) / count,
        limits=tuple(rows),
        usd_per_hour=spread_of([one.usd_per_hour for one in outcomes]),
        usd_per_million_output_tokens=spread_of(
            [one.usd_per_million_output_tokens for one in outcomes]
        ),
        ttft_p90_s=spread_of([one.ttft_p90_s for one in outcomes]),
    )


def spread_of(values: Sequence[float]) -> Spread:
    """Return quantiles and mean; what is infinite or unknown counts as above everything else."""
    given = np.array(values, dtype=np.float64)
    ranked: FloatArray = np.sort(np.where(np.isnan(given), np.inf, given))

    def at(share: float) -> float | None:
        # The smallest value that at least this share of the draws does not exceed.
        return finite(ranked[max(math.ceil(share * ranked.size - 1e-9), 1) - 1])

    mean = finite(math.fsum(ranked) / ranked.size)
    return Spread(p5=at(0.05), p50=at(0.5), p90=at(0.9), p95=at(0.95), mean=mean)
