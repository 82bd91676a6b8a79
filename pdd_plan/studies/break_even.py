"""Where something begins or ceases to pay, by bisection on plans made anew."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from pdd_plan.fleet.plan import BreakEven
from pdd_plan.studies.break_even_rules import Asked, Verdict, verdict
from pdd_plan.studies.rounds import Question
from pdd_plan.studies.sweep_outcome import TRIED_AGAIN, Outcome

PRECISION = 0.01
"""Relative distance of the two bounds at which a search ends."""
DOUBLINGS = 10
"""The value is looked for up to 2 ** 10 times the present one, and down to a part as small."""
INSIDE = 7
"""Values tried between two at which the same holds."""
FALLING = (".price", ".fixed_price", ".rtt")
"""Ends of paths of which more is never better: what does not pay does not pay above it either."""


@dataclass
class _Search:
    """What is known of one question: verdicts by value, all with the same plan to compare with."""

    asked: Asked
    precision: float
    without: Outcome | None = None
    found: dict[float, Verdict] = field(default_factory=dict)
    failure: str = ""

    def ask(self, *values: float) -> Generator[list[tuple[str, ...]], tuple[Outcome, ...], bool]:
        """Have the scenario planned at values; False if the planner failed at one."""
        new = [value for value in values if value not in self.found]
        first = bool(self.asked.without) and self.without is None
        asks = [self.asked.at(value) for value in new]
        outcomes = yield [self.asked.without, *asks] if first else asks
        if first:
            self.without, outcomes = outcomes[0], outcomes[1:]
        failed = [one for one in (self.without, *outcomes) if one and one.status in TRIED_AGAIN]
        if failed:
            self.failure = failed[0].reason or failed[0].status
            return False
        for value, outcome in zip(new, outcomes, strict=True):
            if outcome.status != "input_error":  # else beyond what the scenario may hold
                self.found[value] = verdict(self.asked, outcome, self.without)
        return True


def break_even(
    asked: Asked, between: tuple[float, float] | None = None, precision: float = PRECISION
) -> Question[tuple[BreakEven, ...]]:
    """Look for the values at which something begins or ceases to pay.

    From the present value the search doubles its way, up and down where it is not known in which
    direction a change can be; then it halves the interval until its ends are within `precision`.
    Both ends of every answer are planned values: one that pays and one that does not.

    Parameters
    ----------
    asked : Asked
        What is varied, and what is to pay.
    between : tuple of float, optional
        Look between these values only; where both pay, or neither does, at some inside as well.
    precision : float
        Relative distance of the two ends.

    Yields
    ------
    sequence of tuple of str
        Overrides of the scenarios to plan.

    Returns
    -------
    tuple of BreakEven
        One for every direction in which there is a change, by growing value; else one that says
        that there is none.
    """
    search = _Search(asked, precision)
    brackets = yield from _brackets(search, between)
    answers = []
    for inner, outer in brackets:
        bracket = yield from _narrowed(search, inner, outer)
        if bracket is not None:
            answers.append(_answer(search, *bracket))
    if search.failure or not search.found:
        return (_none(search, "unknown"),)
    if not answers:
        pays = next(iter(search.found.values())).pays
        return (_none(search, "always" if pays else "never"),)
    return tuple(sorted(answers, key=lambda answer: answer.pays_at or 0.0))


Brackets = list[tuple[float, float]]
Asking = Generator[list[tuple[str, ...]], tuple[Outcome, ...], Brackets]


def _brackets(search: _Search, between: tuple[float, float] | None) -> Asking:
    """Return pairs of values, the nearer first, between which the verdict changes."""
    asked = search.asked
    if between is not None:
        return (yield from _between(search, *between))
    assert asked.now is not None
    fine = yield from search.ask(asked.now)
    if not fine or asked.now not in search.found or _needed_at_any_price(search):
        return []
    found: Brackets = []
    reached = dict.fromkeys(_ways(search), asked.now)
    for doubling in range(1, DOUBLINGS + 2):
        asks = {way: _outward(asked, way, doubling) for way in reached}
        fine = yield from search.ask(*asks.values())
        if not fine:
            return []
        for way, value in asks.items():
            inner = reached.pop(way)
            if value not in search.found or value == inner:
                continue
            if search.found[value].pays != search.found[asked.now].pays:
                found.append((inner, value))
            else:
                reached[way] = value
        if not reached:
            break
    return found


def _between(search: _Search, low: float, high: float) -> Asking:
    """Return the pair of values, or where they agree those inside of it, that a change is between.

    What is bought in one piece, such as a line, may pay at sizes between two at which it does not.
    """
    fine = yield from search.ask(low, high)
    values = [low, high]
    if fine and not search.asked.is_price and search.found[low].pays == search.found[high].pays:
        values = _spread(low, high)
        fine = yield from search.ask(*values)
    if not fine:
        return []
    return [
        pair
        for pair in pairwise(values)
        if search.found[pair[0]].pays != search.found[pair[1]].pays
    ]


def _spread(low: float, high: float) -> list[float]:
    """Return values from one to another: in ratio where the two are far apart."""
    shares = [number / (INSIDE + 1) for number in range(1, INSIDE + 1)]
    if low > 0 and high > 4 * low:
        return [low, *(low * (high / low) ** share for share in shares), high]
    return [low, *(low + (high - low) * share for share in shares), high]


def _needed_at_any_price(search: _Search) -> bool:
    without = search.without
    return search.asked.is_price and without is not None and without.usd_per_hour is None


def _ways(search: _Search) -> tuple[int, ...]:
    """Return in which directions the verdict can change: -1 down, 1 up."""
    asked = search.asked
    assert asked.now is not None
    if asked.path.endswith(FALLING):
        return (1,) if search.found[asked.now].pays else (-1,)
    return asked.ways


def _outward(asked: Asked, way: int, doubling: int) -> float:
    """Return the next value of a way: the last one down is 0, and shares end at 100 %."""
    now, factor = asked.now or 0.0, 2.0**doubling
    if way > 0 and now * factor >= asked.most:
        return asked.most
    if way > 0:
        return 100.0 - (100.0 - now) / factor if asked.unit == "%" else now * factor
    return now / factor if doubling <= DOUBLINGS else 0.0


def _narrowed(
    search: _Search, inner: float, outer: float
) -> Generator[list[tuple[str, ...]], tuple[Outcome, ...], tuple[float, float] | None]:
    """Return a pair of values as near as wanted, the first with the verdict of `inner`."""
    guessing = search.asked.is_price
    while not _near(inner, outer, search.precision):
        middle = _middle(inner, outer)
        values = [middle]
        guess = _guess(search, inner, outer) if guessing else None
        if guess is not None:
            half = search.precision / 2.2
            values = [guess * (1.0 - half), guess * (1.0 + half)]
        fine = yield from search.ask(*values)
        if not fine:
            return None
        before = abs(outer - inner)
        for value in values:
            if not min(inner, outer) < value < max(inner, outer):
                continue
            if search.found[value].pays == search.found[inner].pays:
                inner = value
            else:
                outer = value
        guessing = search.asked.is_price and abs(outer - inner) <= 0.51 * before
    return inner, outer


def _near(one: float, other: float, precision: float) -> bool:
    return abs(one - other) <= precision * max(abs(one), abs(other))


def _middle(one: float, other: float) -> float:
    """Return the middle, in ratio where the two are far apart."""
    low, high = sorted((one, other))
    return math.sqrt(low * high) if low > 0 and high > 4 * low else (low + high) / 2


def _guess(search: _Search, inner: float, outer: float) -> float | None:
    """Return where the cost reaches that of going without, by the line through what is known.

    The least cost is concave in a price, so that the line through two values that pay does not
    overshoot.
    """
    if search.without is None or search.without.usd_per_hour is None:
        return None
    paying = sorted(value for value, one in search.found.items() if one.pays)[-2:]
    if len(paying) < 2:
        return None
    first, last = (search.found[value].usd_per_hour for value in paying)
    slope = (last - first) / (paying[1] - paying[0])
    if slope <= 0:
        return None
    guess = paying[1] + (search.without.usd_per_hour - last) / slope
    return guess if min(inner, outer) < guess < max(inner, outer) else None


def _answer(search: _Search, inner: float, outer: float) -> BreakEven:
    pays, fails = (inner, outer) if search.found[inner].pays else (outer, inner)
    sure = search.found[pays].sure and search.found[fails].sure
    return _entry(search, "below" if pays < fails else "above", pays, fails, sure)


def _none(search: _Search, word: Literal["always", "never", "unknown"]) -> BreakEven:
    sure = word != "unknown" and all(one.sure for one in search.found.values())
    return _entry(search, word, None, None, sure)


def _entry(
    search: _Search,
    word: Literal["below", "above", "always", "never", "unknown"],
    pays: float | None,
    fails: float | None,
    sure: bool,
) -> BreakEven:
    asked, without = search.asked, search.without
    return BreakEven(
        what=asked.what,
        subject=asked.subject,
        path=asked.path,
        unit=asked.unit,
        now=asked.now,
        pays=word,
        pays_at=pays,
        fails_at=fails,
        tried_from=min(search.found, default=None),
        tried_to=max(search.found, default=None),
        usd_per_hour_without=without.usd_per_hour if without is not None else None,
        possible_without=without.planned if without is not None else None,
        proven=sure,
        reason=search.failure,
    )
