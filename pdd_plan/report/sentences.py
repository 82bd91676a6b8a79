"""The sentences of a report: routing, load, handoff, and what a change would do."""

from __future__ import annotations

from collections.abc import Iterable

from pdd_plan.fleet.plan import Percentiles, Plan, Sensitivity
from pdd_plan.fleet.shared_plan import AnyPlan
from pdd_plan.report import digits
from pdd_plan.report.blocks import Sentence, Sentences
from pdd_plan.report.digits import clean
from pdd_plan.report.labels import Labels

SAME = 5e-4
"""Relative difference below which costs read as equal."""


def warnings(texts: Iterable[str]) -> Sentences:
    """Return what to know before trusting a report."""
    return Sentences(tuple(Sentence("", clean(text), "bad") for text in texts))


def why(plan: Plan, labels: Labels) -> Sentences:
    """Return what the plan does with requests, what it costs at which load, and why not less."""
    texts = route(plan, labels) + _load(plan, labels) + _handoff(plan, labels)
    for lead, refused in (("why_not_less", True), ("would_change", False)):
        said = [
            f"{clean(item.change)}: {effect_text(item, plan, labels)}"
            for item in plan.sensitivity
            if not item.of_scenario and (item.feasible is False) == refused
        ]
        if said:
            texts.append(Sentence(labels.word(lead), listed(said, labels)))
    return Sentences((*texts, *at_limit(plan, labels)))


def at_limit(plan: AnyPlan, labels: Labels) -> list[Sentence]:
    """Return which limits are reached, if any."""
    if not plan.binding:
        return []
    said = [
        labels.say(
            "binding",
            what=clean(item.what),
            value=digits.significant(item.value, 4),
            limit=digits.significant(item.limit, 6),
            unit=clean(item.unit),
        ).strip()
        for item in plan.binding
    ]
    return [Sentence(labels.word("at_limit"), listed(said, labels))]


def refusals(plan: AnyPlan, labels: Labels) -> Sentences:
    """Return why simpler fleets cannot do it, where one cannot, and what they need not do."""
    reasons: dict[str, list[str]] = {}
    for base in plan.baselines:
        if base.reason:
            reasons.setdefault(clean(base.reason), []).append(labels.name(clean(base.name)))
    texts = [Sentence(labels.say("comma").join(names), reason) for reason, names in reasons.items()]
    undivided = cheaper_undivided(plan)
    if undivided is not None and plan.cost is not None:
        said = labels.say(
            "undivided_pays",
            amount=digits.money(undivided),
            currency=clean(plan.currency),
            share=digits.percent(1.0 - undivided / plan.cost.usd_per_hour),
        )
        texts.append(Sentence(labels.word("aggregated"), said))
    resilience = plan.resilience if isinstance(plan, Plan) else None
    if plan.baselines and resilience is not None and resilience.usd_per_hour is not None:
        texts.append(Sentence("", labels.say("simpler_survive_nothing")))
    return Sentences(tuple(texts))


def cheaper_undivided(plan: AnyPlan) -> float | None:
    """Return the cost per hour of the best aggregated fleet, if it is below the plan's.

    None too where the two are not for the same: a plan for the most goodput, or one that survives
    losses or holds with a confidence, as an aggregated fleet need not.
    """
    if plan.cost is None:
        return None
    proof = plan.certificate
    more = proof is not None and proof.objective != "cost_per_token"
    if isinstance(plan, Plan):
        survives = plan.resilience is not None and plan.resilience.usd_per_hour is not None
        more = more or survives or plan.uncertainty is not None
    costs = [
        base.cost.usd_per_hour
        for base in plan.baselines
        if base.name == "aggregated" and base.cost is not None
    ]
    if more or not costs or costs[0] >= plan.cost.usd_per_hour * (1.0 - SAME):
        return None
    return costs[0]


def threshold_text(plan: Plan, value: float | None) -> str:
    """Write a threshold in the unit of what requests are routed by."""
    if value is None or plan.routing is None:
        return digits.MISSING
    if plan.routing.by == "hit_rate":
        return digits.significant(value, 4)
    if plan.routing.by == "uncached_tokens":
        return digits.number(value, 0)
    return digits.size(value)


def effect_text(item: Sensitivity, plan: Plan, labels: Labels) -> str:
    """Say what a change would do, in the plan's own words where it has any."""
    if item.effect:
        return clean(item.effect)
    said = []
    if item.feasible is False and item.ttft_p90_s is None:
        said.append(labels.say("effect_no"))
    if item.ttft_p90_s is not None:
        said.append(labels.say("effect_p90", p90=digits.seconds(item.ttft_p90_s)))
    if item.usd_per_hour is not None:
        amount, currency = digits.money(item.usd_per_hour), clean(plan.currency)
        said.append(labels.say("effect_cost", amount=amount, currency=currency))
    return ", ".join(said)


def bcr_text(plan: Plan, labels: Labels) -> str:
    """Say the plan's BCR and what it is relative to."""
    bcr = digits.number(plan.bcr, 2)
    if plan.bcr_reference is None:
        return f"{labels.word('bcr')} {bcr}"
    return labels.say("bcr_against", bcr=bcr, name=labels.name(clean(plan.bcr_reference)))


def route(plan: Plan, labels: Labels) -> list[Sentence]:
    """Return which requests go which way."""
    routing = plan.routing
    if routing is None:
        return []
    lead = labels.word("route")
    if routing.between == "prefill" and routing.remote_request_fraction:
        return [Sentence(lead, _by_size(plan, labels))]
    sites = _decode_sites(plan)
    tokens = digits.percent(routing.relay_token_fraction)
    if routing.relay_request_fraction == 0:
        home = bool(plan.lanes) and all(lane.from_site == lane.to_site for lane in plan.lanes)
        key = "route_home" if home else "route_direct"
        return [Sentence(lead, labels.say(key, sites=sites))]
    if routing.relay_request_fraction == 1:
        return [Sentence(lead, labels.say("route_relay", sites=sites, tokens=tokens))]
    said = labels.say(
        "route",
        condition=_condition(plan, labels),
        sites=sites,
        direct=digits.percent(1 - routing.relay_request_fraction),
        relay=digits.percent(routing.relay_request_fraction),
        tokens=tokens,
    )
    texts = [Sentence(lead, said)]
    for lane in plan.lanes:
        if lane.threshold is not None and lane.threshold != routing.threshold:
            own = labels.say(
                "lane_route",
                a=clean(lane.from_site),
                b=clean(lane.to_site),
                share=digits.percent(lane.share),
                value=threshold_text(plan, lane.threshold),
            )
            texts.append(Sentence(lead, own))
    return texts


def _by_size(plan: Plan, labels: Labels) -> str:
    """Say which prompts are prefilled where."""
    assert plan.routing is not None
    assert plan.routing.remote_request_fraction is not None
    away = plan.routing.remote_request_fraction
    home, remote = (
        ", ".join(
            dict.fromkeys(
                clean(lane.from_site)
                for lane in plan.lanes
                if (lane.from_site == lane.to_site) == local
            )
        )
        for local in (True, False)
    )
    gbps = digits.significant(sum(link.traffic_gbps or 0.0 for link in plan.links), 3)
    if not home or plan.routing.threshold is None:
        return labels.say("route_all_remote", remote=remote, gbps=gbps)
    tokens = plan.routing.by == "uncached_tokens"
    return labels.say(
        "route_size",
        condition=labels.say(
            "size_tokens" if tokens else "size_bytes",
            value=threshold_text(plan, plan.routing.threshold),
        ),
        home=home,
        here=digits.percent(1 - away),
        remote=remote,
        away=digits.percent(away),
        gbps=gbps,
    )


def _decode_sites(plan: Plan) -> str:
    sites = [lane.to_site for lane in plan.lanes if lane.share > 0]
    sites = sites or [pool.site for pool in plan.pools if pool.role == "decode"]
    return ", ".join(clean(site) for site in dict.fromkeys(sites))


def _condition(plan: Plan, labels: Labels) -> str:
    assert plan.routing is not None
    if plan.routing.threshold is None:
        return labels.say("no_condition")
    keys = {
        "hit_rate": "at_least",
        "uncached_tokens": "at_most_tokens",
        "transfer_bytes": "at_most_bytes",
    }
    return labels.say(keys[plan.routing.by], value=threshold_text(plan, plan.routing.threshold))


def _load(plan: Plan, labels: Labels) -> list[Sentence]:
    cost = plan.cost
    if cost is None or plan.goodput is None or plan.demand is None:
        return []
    if cost.usd_per_million_output_tokens_at_goodput is None:
        return []
    said = labels.say(
        "load",
        demand=digits.rate(plan.demand.requests_per_s),
        at_demand=digits.money(cost.usd_per_million_output_tokens),
        goodput=digits.rate(plan.goodput.requests_per_s),
        at_goodput=digits.money(cost.usd_per_million_output_tokens_at_goodput),
        currency=clean(plan.currency),
    )
    if plan.bcr and plan.bcr_reference and abs(plan.bcr - 1) >= 5e-4:
        change = 1 / plan.bcr - 1
        more = labels.say(
            "bcr_less" if change < 0 else "bcr_more",
            bcr=digits.number(plan.bcr, 2),
            share=digits.percent(abs(change)),
            name=labels.name(clean(plan.bcr_reference)),
        )
        said = _joined([said, more], labels)
    return [Sentence(labels.word("load"), said)]


def listed(said: list[str], labels: Labels) -> str:
    """Return several statements as one sentence."""
    return labels.say("next").join(said) + labels.say("end")


def _joined(said: list[str], labels: Labels) -> str:
    return labels.say("blank").join(said)


def _handoff(plan: Plan, labels: Labels) -> list[Sentence]:
    handoff, times = plan.handoff, plan.latency
    if handoff is None or times is None or times.handoff_gap_s is None:
        return []
    mode = labels.word(handoff.mode)
    said = [labels.say("handoff", mode=mode, **_three(times.handoff_gap_s))]
    if handoff.mean_tokens is not None:
        tokens = digits.significant(handoff.mean_tokens, 3)
        said.append(labels.say("handoff_tokens", tokens=tokens))
    extra = (handoff.extra_relay_token_fraction, handoff.extra_main_decode_work_fraction)
    if extra != (None, None):
        relay, decode = (digits.percent(value) for value in extra)
        said.append(labels.say("handoff_extra", relay=relay, decode=decode))
    if handoff.kv_push_gap_s is not None:
        said.append(labels.say("handoff_push", **_three(handoff.kv_push_gap_s)))
    return [Sentence(labels.word("handoff"), _joined(said, labels))]


def _three(block: Percentiles) -> dict[str, str]:
    return {name: digits.seconds(getattr(block, name)) for name in ("p50", "p90", "p99")}
