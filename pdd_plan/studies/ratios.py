"""The fleet of most requests per cost, over all rates that can be carried."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

from pdd_plan.fleet.problem import Candidate
from pdd_plan.optimizer.search import OPTIMAL_GAP
from pdd_plan.studies.rates import LOWEST, PRECISION, SEARCH_SHARE, RateResult, Rates, scaled

FIRST_SLICE_S = 1.5
"""Time of one search at a rate, where several are to come [s]; doubled where it was too short."""

SLICE_SHARE = 1.0 / 40.0
"""The same, as a share of the time limit, where that is more."""

WIDE = 1.05
"""A span of rates is split at its geometric middle while its ends are further apart than this."""

POINT = 1e-6
"""Spans of rates shorter than this, relatively, are points."""


@dataclass(order=True)
class _Span:
    """Rates in (low, high], none of which a fleet cheaper than ``usd_per_hour`` carries.

    ``tries`` counts searches that ended for lack of time; ``stair`` tells that the cheapest fleet
    for rates up to ``low`` is known, so that costs jump just above.
    """

    key: float
    low: float
    high: float
    usd_per_hour: float
    tries: int = 0
    stair: bool = False

    @property
    def most(self) -> float:
        """Bound on the requests per cost of any fleet at these rates."""
        return -self.key


class _Ratio:
    """State of the search for the most requests per cost."""

    def __init__(self, rates: Rates) -> None:
        self.rates = rates
        self.best: Candidate | None = None
        self.value = self.reached = self.closed = 0.0
        self.lower_usd = math.inf
        self.spans: list[_Span] = []
        self.slice_s = max(FIRST_SLICE_S, SLICE_SHARE * rates.options.time_limit_s)

    def push(
        self, low: float, high: float, usd_per_hour: float, tries: int = 0, *, stair: bool = False
    ) -> None:
        """Keep a span whose fleets may be better than the best one, and is not a point."""
        if high <= low:
            return
        most = high / usd_per_hour if usd_per_hour > 0.0 else math.inf
        if most > self.value * (1.0 + PRECISION) and high > low * (1.0 + POINT):
            heapq.heappush(self.spans, _Span(-most, low, high, usd_per_hour, tries, stair))
        else:
            self.closed = max(self.closed, most)

    def offer(self, candidate: Candidate, rate: float, lower_usd: float) -> float:
        """Keep a fleet if it is the best so far; return the rate that it carries."""
        reach = max(rate, self.rates.reach_of(candidate))
        usd = candidate.usd_per_hour(self.rates.problem)
        if usd > 0.0 and reach / usd > self.value:
            self.best, self.value, self.reached = candidate, reach / usd, reach
            self.lower_usd = lower_usd
            self.rates.tell(f"{self.value:.4g} req/s per unit of cost at {reach:.4g} req/s")
        return reach

    def split(self, span: _Span) -> None:
        """Search at a rate inside a span, and put back what is left of it."""
        rate = self._rate(span)
        answer = self.rates.ask(rate, first=False, limit_s=self.slice_s * 2**span.tries)
        lower = max(answer.lower_usd_per_hour, span.usd_per_hour)
        learned = answer.impossible or lower > span.usd_per_hour
        if answer.candidate is not None:
            reach = self.offer(answer.candidate, rate, lower)
            usd = answer.candidate.usd_per_hour(self.rates.problem)
            if usd > 0.0 and lower >= usd * (1.0 - OPTIMAL_GAP):
                self.closed = max(self.closed, min(reach, span.high) / lower)
                self.push(reach, span.high, lower, stair=True)
            else:
                self.push(rate, span.high, lower, span.tries + 1)
        elif not answer.impossible:
            self.push(rate, span.high, lower, span.tries + 1)
        self.push(span.low, rate, span.usd_per_hour, span.tries + (not learned))

    def _rate(self, span: _Span) -> float:
        """Rate to search at: just above a stair, or in the geometric middle.

        Rates that are beaten even at the bound on their cost are passed over.
        """
        low = max(span.low, self.value * (1.0 + 0.5 * PRECISION) * span.usd_per_hour)
        if low <= 0.0:
            return 0.5 * span.high
        if span.stair or span.high <= WIDE * low:
            return min(max(low, span.low * (1.0 + POINT)), span.high)
        return math.sqrt(low * span.high)


def best_ratio(rates: Rates, least_per_s: float = 0.0) -> RateResult:
    """Find the fleet of most requests per cost, over all rates that can be carried.

    Parameters
    ----------
    rates : Rates
        Problem, budget and time limit.
    least_per_s : float
        Least rate that the fleet must carry [requests/s].

    Returns
    -------
    RateResult
        With ``value`` and ``bound`` in requests/s per currency/h.

    Notes
    -----
    Branch and bound over rates. On a span (a, b] the ratio is at most b over a bound on C(a),
    since costs do not fall with the rate. The span of the largest such bound is searched next:
    the fleet found at a rate m inside carries up to its own goodput g, and costs are then known
    on all of (m, g]. The search ends where no span can beat the best fleet by the precision, or
    with the time; the bound is the largest of any span.
    """
    state = _Ratio(rates)
    most = rates.upper_bound()
    least = max(least_per_s, LOWEST * most)
    if most <= 0.0 or least > most:
        return rates.result(None, 0.0, 0.0, 0.0, math.inf)
    limit_s = SEARCH_SHARE * rates.options.time_limit_s
    first = rates.ask(least, first=True, limit_s=limit_s)
    if first.impossible:
        return rates.result(None, 0.0, 0.0, 0.0, math.inf)
    if first.candidate is not None:
        state.offer(first.candidate, least, rates.least_usd_per_hour())
    state.push(least, most, rates.least_usd_per_hour())
    while state.spans and rates.left_s() > 0.0:
        span = heapq.heappop(state.spans)
        if span.most <= state.value * (1.0 + PRECISION):
            state.closed = max(state.closed, span.most)
            continue
        state.split(span)
    left = max((span.most for span in state.spans), default=0.0)
    fleet = scaled(state.best, state.reached) if state.best is not None else None
    return rates.result(fleet, state.reached, state.value, max(left, state.closed), state.lower_usd)
