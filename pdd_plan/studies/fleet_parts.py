"""Parts of a plan that say what the fleet is: routing, pools, links, lanes and handoff."""

from __future__ import annotations

from pdd_plan.fleet.evaluate import Evaluation
from pdd_plan.fleet.handoff import handoff_choices
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.plan import Handoff, Lane, PaidChips, PlanLink, Pool, Routing
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.studies.figures import finite, percentiles
from pdd_plan.studies.scored import Scored


def routing_of(problem: Problem, scored: Scored) -> Routing | None:
    """Where requests go, and what share of requests and tokens the relay takes."""
    candidate, evaluation = scored.candidate, scored.evaluation
    if candidate is None or evaluation is None:
        return None
    chips = [n * p.chips_per_engine for n, p in zip(candidate.engines, problem.pools, strict=True)]
    relay = sum(c for c, p in zip(chips, problem.pools, strict=True) if p.role == "relay")
    return Routing(
        by=problem.routing_by,  # type: ignore[arg-type]
        threshold=finite(float(problem.thresholds[candidate.threshold_index])),
        relay_request_fraction=evaluation.relay_request_fraction,
        relay_token_fraction=evaluation.relay_token_fraction,
        main_decode_token_fraction=1.0 - evaluation.relay_token_fraction,
        rld_chip_fraction=relay / sum(chips),
        slot_wait=candidate.slot_wait or None,
        between=problem.routing_between,  # type: ignore[arg-type]
        remote_request_fraction=_remote_share(problem, candidate),
    )


def _remote_share(problem: Problem, candidate: Candidate) -> float | None:
    if problem.routing_between != "prefill":
        return None
    pairs = zip(problem.lanes, candidate.flows_per_s, strict=True)
    return sum(flow for lane, flow in pairs if not lane.local) / sum(candidate.flows_per_s)


def pools_of(problem: Problem, scored: Scored) -> tuple[Pool, ...]:
    """Pools with engines, their use and price."""
    candidate, evaluation = scored.candidate, scored.evaluation
    if candidate is None or evaluation is None:
        return ()
    total = sum(candidate.flows_per_s) * problem.peak_multiplier
    out = []
    for index, (engines, pool) in enumerate(zip(candidate.engines, problem.pools, strict=True)):
        if engines == 0:
            continue
        state = evaluation.pools[index]
        share = None if pool.role == "relay" else min(state.load_per_s / total, 1.0)
        out.append(
            Pool(
                site=pool.site,
                role=pool.role,
                chip=pool.chip,
                shape=pool.shape,
                engines=engines,
                chips=engines * pool.chips_per_engine,
                utilization=state.utilization,
                bound_by=pool.bound_by,
                usd_per_hour=engines * pool.usd_per_engine_hour,
                usd_per_chip_hour=pool.usd_per_engine_hour / pool.chips_per_engine,
                chips_available=problem.stock[pool.site, pool.chip],
                request_fraction=share,
                slots_per_engine=pool.slots or None,
                kv_memory_utilization=state.memory_utilization,
            )
        )
    return tuple(out)


def paid_chips_of(problem: Problem, candidate: Candidate | None) -> tuple[PaidChips, ...]:
    """Chips that are paid under contract or in whole nodes, and how many of them are used."""
    if candidate is None:
        return ()
    used = candidate.chips_used(problem)
    out = []
    for (site, chip), terms in problem.terms.items():
        count = used.get((site, chip), 0)
        paid = terms.paid(count)
        out.append(
            PaidChips(
                site=site,
                chip=chip,
                used=count,
                paid=paid,
                under_contract=terms.kept,
                node=terms.node,
                idle_usd_per_hour=(paid - count) * terms.usd_per_chip_hour,
            )
        )
    return tuple(out)


def links_of(problem: Problem, scored: Scored) -> tuple[PlanLink, ...]:
    """Lines between sites that are rented, their size and use."""
    if scored.candidate is None or scored.evaluation is None:
        return ()
    return tuple(
        PlanLink(
            from_site=lane.source,
            to_site=lane.target,
            name=lane.name or None,
            gbps=float(lane.bytes_per_s[level]) * 8e-9,
            utilization=use,
            usd_per_hour=float(lane.usd_per_hour[level]),
            max_gbps=float(lane.bytes_per_s[-1]) * 8e-9,
            traffic_gbps=use * float(lane.bytes_per_s[level]) * lane.efficiency * 8e-9,
        )
        for lane, level, use in zip(
            problem.lanes,
            scored.candidate.levels,
            scored.evaluation.lane_utilization,
            strict=True,
        )
        if level >= 0 and not lane.local
    )


def lanes_of(problem: Problem, candidate: Candidate | None) -> tuple[Lane, ...]:
    """Share of the requests on each pair of prefill and decode site."""
    if candidate is None:
        return ()
    total = sum(candidate.flows_per_s)
    return tuple(
        Lane(
            from_site=lane.source,
            to_site=lane.target,
            name=lane.name or None,
            share=flow / total,
        )
        for lane, flow in zip(problem.lanes, candidate.flows_per_s, strict=True)
        if flow > 0.0
    )


def _extend_share(
    problem: Problem, candidate: Candidate, evaluation: Evaluation, extend_s: float
) -> float:
    """Share of main decode's engine time that recomputing relayed tokens takes, at the peak."""
    engines = sum(
        n for n, pool in zip(candidate.engines, problem.pools, strict=True) if pool.role == "decode"
    )
    rate = sum(candidate.flows_per_s) * problem.peak_multiplier
    return rate * evaluation.relay_request_fraction * extend_s / engines


def handoff_of(
    model: PathModel, candidate: Candidate | None, evaluation: Evaluation | None
) -> Handoff | None:
    """How streams pass from the relay to main decode, and what other ways would do."""
    problem = model.problem
    if candidate is None or evaluation is None or evaluation.relay_request_fraction <= 0.0:
        return None
    choices = handoff_choices(model, candidate, evaluation.flows)
    tokens = problem.atoms.mean(problem.atoms.output_tokens)
    return Handoff(
        mode=evaluation.handoff_mode,  # type: ignore[arg-type]
        mean_tokens=evaluation.relay_tokens,
        extra_relay_token_fraction=(
            max(choices.extra_relay_tokens, 0.0) * evaluation.relay_request_fraction / tokens
            if choices
            else None
        ),
        extra_main_decode_work_fraction=(
            _extend_share(problem, candidate, evaluation, choices.extend_s) if choices else None
        ),
        one_shot_gap_s=percentiles(choices.one_shot_gap) if choices else None,
        catch_up_gap_s=percentiles(choices.catch_up_gap) if choices else None,
        kv_push_gap_s=percentiles(choices.kv_push_gap) if choices else None,
    )
