"""What single changes of a scenario do to its plan, found by planning each anew."""

from __future__ import annotations

from dataclasses import replace

from pdd_plan.fleet.plan import Plan, Sensitivity
from pdd_plan.scenario.schema import Scenario
from pdd_plan.studies.probes import Probe, probes_of
from pdd_plan.studies.rounds import Question
from pdd_plan.studies.sweep_outcome import Outcome, outcome_of

_WORDS = {
    "price": "price of {subject}",
    "limit": "limit {subject}",
    "stock": "stock of {subject}",
    "bandwidth": "line {subject}",
    "rate": "arrival rate",
    "hit_rate": "mean hit rate",
    "budget": "budget",
}
MOVES = {
    "cost_per_token": "usd_per_million_output_tokens",
    "goodput": "goodput_requests_per_s",
    "bcr": "usd_per_million_output_tokens_at_goodput",
}
"""What changes are measured by, for each objective: a key of an outcome."""


def sensitivity(scenario: Scenario, plan: Plan) -> Question[tuple[Sensitivity, ...]]:
    """Ask for a plan of every change around a plan, and hold each against it.

    Parameters
    ----------
    scenario : Scenario
        What was planned.
    plan : Plan
        Its plan.

    Yields
    ------
    sequence of tuple of str
        Overrides of the scenarios to plan.

    Returns
    -------
    tuple of Sensitivity
        An entry for every change, those without a plan included.
    """
    probes = probes_of(scenario, plan)
    outcomes = yield [(probe.change,) for probe in probes]
    own, objective = outcome_of(plan), scenario.objective
    return tuple(
        _entry(probe, _not_worse(probe, outcome, own, objective), own, objective)
        for probe, outcome in zip(probes, outcomes, strict=True)
    )


def _not_worse(probe: Probe, outcome: Outcome, own: Outcome, objective: str) -> Outcome:
    """The plan itself where a change that only allows more led to a worse one, or to none.

    That happens where the search ran out of time; its bound holds for the plan, too.
    """
    if not probe.relaxes:
        return outcome
    before, after = _measure(own, objective), _measure(outcome, objective)
    if before is None or outcome.status == "input_error":
        return outcome
    if after is None:
        return replace(own, gap=None)
    worse = before / after if objective == "goodput" else after / before
    if worse <= 1.0:
        return outcome
    gap = None if outcome.gap is None else 1.0 - (1.0 - outcome.gap) * worse
    return replace(own, gap=gap if gap is None else max(gap, 0.0))


def _entry(probe: Probe, outcome: Outcome, own: Outcome, objective: str) -> Sensitivity:
    what = _WORDS[probe.kind].format(subject=probe.subject)
    before, after = _measure(own, objective), _measure(outcome, objective)
    relative = after / before - 1.0 if before and after is not None else None
    return Sensitivity(
        change=f"{what} {probe.value} instead of {probe.now}",
        path=probe.path,
        value=probe.value,
        feasible=outcome.planned,
        usd_per_hour=outcome.usd_per_hour,
        ttft_p90_s=outcome.ttft_p90_s,
        effect="" if outcome.planned else outcome.reason or outcome.status,
        kind=probe.kind,
        subject=probe.subject,
        from_value=probe.now,
        step=probe.step,
        direction="up" if probe.sign > 0 else "down",
        relative_change=relative,
        goodput_requests_per_s=outcome.goodput_requests_per_s,
        same_fleet=_fleet(outcome) == _fleet(own) if outcome.planned else None,
        gap=outcome.gap,
        within_gap=_within_gap(relative, own.gap, outcome.gap, objective),
    )


def _fleet(outcome: Outcome) -> tuple[object, ...]:
    return outcome.fleet, outcome.line_gbps, outcome.relay_request_fraction


def _measure(outcome: Outcome, objective: str) -> float | None:
    value: float | None = getattr(outcome, MOVES[objective])
    return value


def _within_gap(
    relative: float | None, before: float | None, after: float | None, objective: str
) -> bool | None:
    """Whether the proofs leave open in which direction the optimum moves.

    An optimum of cost lies between (1 - gap) and 1 times what was found, one of goodput between 1
    and 1 / (1 - gap) times; so does the ratio of the two optima, to either side.
    """
    if relative is None or before is None or after is None:
        return None
    if max(before, after) <= 1e-6:
        return False
    shrink_before, shrink_after = 1.0 - min(before, 1.0), 1.0 - min(after, 1.0)
    ratio = 1.0 + relative
    if objective == "goodput":
        return ratio * shrink_before <= 1.0 and ratio >= shrink_after
    return ratio * shrink_after <= 1.0 and ratio >= shrink_before
