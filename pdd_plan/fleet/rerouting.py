"""Send requests over what is left of a fleet, by what a router sets at once: shares and threshold.

Engines stay what they are and where they are, and nothing is bought: only shares of lanes, in the
steps of the planning problem, and the routing threshold are set anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations, product

from pdd_plan.fleet.check import check
from pdd_plan.fleet.outages import open_lane
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, Problem

Strain = tuple[int, int, float]
"""Relays that are missing, other parts of the rule that no load would keep, and the largest work
over capacity of the rest."""

AT_EASE: Strain = (0, 0, 0.0)
"""The planning rule is kept."""


def share_out(problem: Problem, fleet: Candidate, lanes: Sequence[int]) -> Candidate:
    """Send requests of lost lanes over those that are left, in proportion to their shares.

    Parameters
    ----------
    problem : Problem
        What was planned.
    fleet : Candidate
        What is left, with the flows of lost lanes 0.
    lanes : sequence of int
        Lanes that still work, at least one.

    Returns
    -------
    Candidate
        As it was where no flow was lost. Otherwise with flows in steps of the demand over
        ``load_steps``, by largest remainder; evenly where no lane that is left had any flow.
    """
    flows = [f if i in lanes else 0.0 for i, f in enumerate(fleet.flows_per_s)]
    total, rate, steps = sum(flows), problem.arrival_rate_per_s, problem.load_steps
    if total < rate * (1.0 - 1e-9):
        weights = flows if total > 0.0 else [float(i in lanes) for i in range(len(flows))]
        exact = [w / sum(weights) * steps for w in weights]
        whole = [math.floor(x + 1e-9) for x in exact]
        by_rest = sorted(lanes, key=lambda i: whole[i] - exact[i])
        for lane in by_rest[: steps - sum(whole)]:
            whole[lane] += 1
        flows = [n * rate / steps for n in whole]
    return with_flows(problem, fleet, flows)


def with_flows(problem: Problem, fleet: Candidate, flows: Iterable[float]) -> Candidate:
    """A fleet with other flows; lanes inside a site are opened where they carry any."""
    given = tuple(flows)
    levels = tuple(
        open_lane(lane, level) if flow > 0.0 else level
        for lane, level, flow in zip(problem.lanes, fleet.levels, given, strict=True)
    )
    return replace(fleet, flows_per_s=given, levels=levels)


def strain(model: PathModel, candidate: Candidate) -> Strain:
    """How far a candidate is from the planning rule; `AT_EASE` where it keeps it."""
    found = check(model.problem, candidate, model).violations
    stuck = [violation for violation in found if violation.available <= 0.0]
    relays = sum(violation.kind == "relay" for violation in stuck)
    ratios = [v.needed / v.available for v in found if v.available > 0.0]
    return relays, len(stuck) - relays, max(ratios, default=0.0)


def settings_of(problem: Problem, first: Candidate) -> Iterator[tuple[int, float]]:
    """Thresholds that a router may be set to, and slot waits: all but a candidate's own pair."""
    own = (first.threshold_index, first.slot_wait)
    near = sorted(problem.plan_thresholds, key=lambda index: abs(index - first.threshold_index))
    waits = sorted({*problem.slot_waits, first.slot_wait}, key=lambda w: w != first.slot_wait)
    yield from (pair for pair in product(near, waits) if pair != own)


def reroute(model: PathModel, fleet: Candidate, lanes: Sequence[int]) -> Candidate:
    """Set shares and threshold so that what is left of a fleet keeps the planning rule.

    Parameters
    ----------
    model : PathModel
        Rule of the problem, with the limits that are to be kept.
    fleet : Candidate
        What is left, with the flows of lost lanes 0.
    lanes : sequence of int
        Lanes that still work, at least one.

    Returns
    -------
    Candidate
        The first that keeps the rule of: shares in proportion at the threshold as it was, at
        other thresholds, and other shares by moving steps from lane to lane as long as that
        relieves the part that is strained most. Where none does, the least strained.
    """
    start = share_out(model.problem, fleet, lanes)
    tried = [(strain(model, start), start)]
    for threshold, wait in settings_of(model.problem, start):
        if tried[-1][0] == AT_EASE:
            return tried[-1][1]
        trial = replace(start, threshold_index=threshold, slot_wait=wait)
        tried.append((strain(model, trial), trial))
    moved = []
    for _, trial in sorted(tried, key=lambda pair: pair[0]):
        moved.append(move_shares(model.problem, partial(strain, model), trial, lanes))
        if moved[-1][0] == AT_EASE:
            break
    return min(moved, key=lambda pair: pair[0])[1]


def move_shares(
    problem: Problem,
    strain_of: Callable[[Candidate], Strain],
    start: Candidate,
    lanes: Sequence[int],
) -> tuple[Strain, Candidate]:
    """Move flow between lanes, first much and then single steps, while that relieves the strain."""
    best, least = start, strain_of(start)
    size = max(problem.load_steps // 2, 1)
    while size and least != AT_EASE:
        moved = False
        for source, target in permutations(lanes, 2):
            flows = list(best.flows_per_s)
            amount = min(size * problem.arrival_rate_per_s / problem.load_steps, flows[source])
            if amount <= 0.0:
                continue
            rest = flows[source] - amount
            flows[source] = rest if rest > 1e-9 * amount else 0.0
            flows[target] += amount
            trial = with_flows(problem, best, flows)
            found = strain_of(trial)
            if found < least:
                best, least, moved = trial, found, True
        size = size if moved else size // 2
    return least, best
