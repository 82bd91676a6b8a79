"""What users see of a fleet with one part of it lost: ``evaluate --fail``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pdd_plan.errors import UnstableQueueError
from pdd_plan.fleet.evaluate import Evaluation, evaluate
from pdd_plan.fleet.goodput import GoodputResult, goodput
from pdd_plan.fleet.outages import Outage, after_outage, usable_lanes, why_no_lane
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.plan import OutageResult
from pdd_plan.fleet.problem import Candidate, Limit, Problem
from pdd_plan.fleet.rerouting import reroute, share_out
from pdd_plan.studies.figures import finite, goodput_of
from pdd_plan.studies.fleet_parts import lanes_of
from pdd_plan.studies.traffic_parts import latency_of, slo_of

Rerouting = Literal["none", "shares", "threshold", "shares_and_threshold"]


def outage_model(model: PathModel, limits: tuple[Limit, ...]) -> PathModel:
    """The rule that what is left of a fleet is judged by.

    Parameters
    ----------
    model : PathModel
        Rule of the problem.
    limits : tuple of Limit
        Limits to keep with a part lost.

    Returns
    -------
    PathModel
        Least numbers of engines are for the whole fleet, so what is left may have fewer.
    """
    problem = model.problem
    free = all(pool.min_engines == 1 for pool in problem.pools)
    if free and limits == problem.limits:
        return model
    pools = tuple(replace(pool, min_engines=1) for pool in problem.pools)
    return PathModel(replace(problem, pools=pools, limits=limits))


def outage_result(
    model: PathModel, whole: Candidate, outage: Outage, setting: Candidate | None = None
) -> OutageResult:
    """Predict what users see with one thing lost.

    Parameters
    ----------
    model : PathModel
        As of `outage_model`.
    whole : Candidate
        The fleet with nothing lost.
    outage : Outage
        What is lost.
    setting : Candidate, optional
        What is left with shares and threshold that are known to do.

    Returns
    -------
    OutageResult
        With that setting. Without one: with shares of the lanes that are left in proportion, at
        the threshold as it was, where that keeps every limit; otherwise shares and threshold are
        set anew, if that does better.
    """
    problem = model.problem
    left = after_outage(problem, whole, outage)
    lanes = usable_lanes(problem, left, outage)
    lost = min(outage.engines, whole.engines[outage.pool]) if outage.kind == "engines" else None
    if not lanes:
        return OutageResult(
            outage=outage.label,
            kind=outage.kind,
            name=outage.name,
            engines_lost=lost,
            status="no_way_left",
            reason=why_no_lane(problem, left),
        )
    seen = _best(model, left, lanes) if setting is None else _seen(model, setting)
    return OutageResult(
        outage=outage.label,
        kind=outage.kind,
        name=outage.name,
        engines_lost=lost,
        status="kept" if seen.kept else "missed" if seen.evaluation else "overloaded",
        reason=seen.reason,
        rerouting=_rerouting(whole, seen.setting),
        threshold=finite(float(problem.thresholds[seen.setting.threshold_index])),
        lanes=lanes_of(problem, seen.setting),
        slo=slo_of(seen.evaluation),
        latency=latency_of(seen.evaluation),
        goodput=goodput_of(problem, seen.goodput),
    )


@dataclass(frozen=True)
class _Seen:
    """What is left with a setting of the router, and what users see of it.

    Without an evaluation, and with the reason, where some queue has no end.
    """

    setting: Candidate
    evaluation: Evaluation | None
    reason: str
    goodput: GoodputResult

    @property
    def limits_kept(self) -> int:
        """How many limits are kept."""
        return sum(one.met for one in self.evaluation.limits) if self.evaluation else 0

    @property
    def kept(self) -> bool:
        """Whether every limit is."""
        return self.evaluation is not None and self.limits_kept == len(self.evaluation.limits)

    @property
    def rank(self) -> tuple[bool, int, float]:
        """The more the better: carries the demand, limits kept, goodput."""
        return self.evaluation is not None, self.limits_kept, self.goodput.requests_per_s


def _seen(model: PathModel, setting: Candidate) -> _Seen:
    """Predict a setting with the full model."""
    reached = goodput(model.problem, setting, model)
    try:
        return _Seen(setting, evaluate(model.problem, setting, model), "", reached)
    except UnstableQueueError as error:
        return _Seen(setting, None, str(error), reached)


def _best(model: PathModel, left: Candidate, lanes: tuple[int, ...]) -> _Seen:
    """Shares in proportion where they keep every limit, else those that miss and lose least."""
    first = _seen(model, share_out(model.problem, left, lanes))
    if first.kept:
        return first
    other = _seen(model, reroute(model, left, lanes))
    return other if other.rank > first.rank else first


def _rerouting(whole: Candidate, chosen: Candidate) -> Rerouting:
    shares = not np.allclose(whole.flows_per_s, chosen.flows_per_s, rtol=1e-6, atol=1e-9)
    if whole.threshold_index == chosen.threshold_index:
        return "shares" if shares else "none"
    return "shares_and_threshold" if shares else "threshold"


def pool_outages(problem: Problem, whole: Candidate, engines: int) -> tuple[Outage, ...]:
    """The loss of so many engines of every pool in use, one pool at a time."""
    return tuple(
        Outage("engines", pool_name(problem, whole, index), index, engines)
        for index, count in enumerate(whole.engines)
        if count
    )


def pool_name(problem: Problem, whole: Candidate, index: int) -> str:
    """Name of a pool in use: ``site/role``, with chip and shape where there are several."""
    pool = problem.pools[index]
    same = [i for i in problem.pool_indices(pool.site, pool.role) if whole.engines[i]]
    name = f"{pool.site}/{pool.role}"
    return name if len(same) < 2 else f"{name}/{pool.chip} {pool.shape}"
