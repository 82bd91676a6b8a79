"""The labeled lines of a plan's report: summary, traffic, certificate and footer."""

from __future__ import annotations

from pdd_plan.fleet.plan import Plan
from pdd_plan.fleet.shared_plan import AnyPlan, SharedPlan
from pdd_plan.report import digits, sentences
from pdd_plan.report.blocks import Fact, Facts, Text
from pdd_plan.report.digits import clean
from pdd_plan.report.labels import Labels
from pdd_plan.report.limit_names import limit_name, limit_text
from pdd_plan.report.tables import number_text
from pdd_plan.report.uncertainty import searched_for_confidence


def headline(plan: AnyPlan, labels: Labels) -> str:
    """Return what kind of answer the plan is, its gap and the time it took."""
    proof = plan.certificate
    if isinstance(plan, Plan) and plan.uncertainty is not None and searched_for_confidence(plan):
        share = digits.percent(plan.uncertainty.confidence)
        return labels.say("headline_confident", confidence=share)
    if proof is None:
        return labels.word("infeasible" if plan.status == "infeasible" else "evaluated")
    time = digits.elapsed(proof.solve_time_s)
    if plan.status == "infeasible":
        return f"{labels.word('infeasible')}, {time}"
    key = "headline" if proof.gap is not None else "headline_unproven"
    return labels.say(key, status=labels.word(plan.status), gap=digits.gap(proof.gap), time=time)


def summary_facts(plan: Plan, labels: Labels) -> Facts:
    """Return cost, latency against its limits, and goodput."""
    facts: list[Fact] = []
    if plan.cost is not None:
        facts.append(Fact(labels.word("cost"), _cost_texts(plan, labels)))
    facts += _latency_facts(plan, labels)
    texts = []
    if plan.goodput is not None:
        made = digits.rate(plan.goodput.requests_per_s)
        texts.append(Text(labels.say("goodput", rate=made), "strong"))
    if plan.demand is not None:
        wanted = digits.rate(plan.demand.requests_per_s)
        said = labels.say("demand", rate=wanted) if texts else labels.say("rate", rate=wanted)
        texts.append(Text(said))
    if plan.bcr is not None:
        texts.append(Text(sentences.bcr_text(plan, labels)))
    if plan.goodput is not None and plan.goodput.limited_by:
        texts.append(Text(labels.say("limited_by", what=clean(plan.goodput.limited_by))))
    if texts:
        facts.append(Fact(labels.word("goodput" if plan.goodput else "demand"), tuple(texts)))
    return Facts(tuple(facts))


def _cost_texts(plan: Plan, labels: Labels) -> tuple[Text, ...]:
    assert plan.cost is not None
    currency = clean(plan.currency)
    per_hour = labels.word("per_hour", currency=currency)
    amount = digits.money(plan.cost.usd_per_million_output_tokens)
    texts = [
        Text(f"{digits.money(plan.cost.usd_per_hour)} {per_hour}", "strong"),
        Text(labels.say("per_m_output", amount=amount, currency=currency)),
    ]
    reference = next((base for base in plan.baselines if base.name == plan.bcr_reference), None)
    if reference is not None and reference.cost is not None and reference.cost.usd_per_hour > 0:
        cost = plan.cost.usd_per_hour
        texts.append(cost_against(cost, reference.cost.usd_per_hour, reference.name, labels))
    undivided = sentences.cheaper_undivided(plan)
    if undivided is not None:
        texts.append(cost_against(plan.cost.usd_per_hour, undivided, "aggregated", labels))
    return tuple(texts)


def cost_against(cost: float, base: float, name: str, labels: Labels) -> Text:
    """Say how much a cost is above or below that of a baseline."""
    ratio = cost / base
    key = "as_much" if abs(ratio - 1) < sentences.SAME else "below" if ratio < 1 else "above"
    share = digits.percent(abs(1 - ratio))
    return Text(labels.say(key, share=share, name=labels.name(clean(name))))


def _latency_facts(plan: Plan, labels: Labels) -> list[Fact]:
    """One line for every limit; the first on TTFT also tells the other percentiles and routes."""
    facts: list[Fact] = []
    for item in plan.slo:
        texts = [limit_text(item, labels)]
        first = all(other.metric != item.metric for other in plan.slo[: plan.slo.index(item)])
        if item.metric == "ttft" and first and not item.of_part:
            texts += _ttft_texts(plan, labels, item.percentile)
        label = limit_name(item, labels)
        facts.append(Fact(f"{label} {clean(item.period or '')}".strip(), tuple(texts)))
    if plan.latency is None:
        return facts
    limited = {item.metric for item in plan.slo if not item.of_part}
    blocks = {"ttft": plan.latency.ttft_s, "tpot": plan.latency.tpot_s}
    for metric, block in blocks.items():
        if metric not in limited:
            texts = [Text(digits.seconds(block.p90), "strong")]
            texts += _ttft_texts(plan, labels, 0.9) if metric == "ttft" else []
            facts.append(Fact(f"{labels.word(metric)} P90", tuple(texts)))
    return facts


def _ttft_texts(plan: Plan, labels: Labels, percentile: float | None) -> list[Text]:
    if plan.latency is None:
        return []
    times = plan.latency
    texts = [
        Text(f"{name.upper()} {digits.seconds(getattr(times.ttft_s, name))}")
        for name in ("p50", "p90", "p99")
        if percentile is None or name != f"p{round(100 * percentile)}"
    ]
    name = f"p{round(100 * percentile)}" if percentile is not None else "mean"
    routes = (
        ("direct", times.ttft_direct_s),
        ("relay", times.ttft_relay_s),
        ("home", times.ttft_home_s),
        ("remote", times.ttft_remote_s),
    )
    for key, block in routes:
        value = getattr(block, name, None) if block is not None else None
        if value is not None:
            texts.append(Text(f"{labels.word(key)} {digits.seconds(value)}"))
    return texts


def workload_facts(plan: Plan, labels: Labels) -> Facts:
    """Return what the traffic is like."""
    facts = plan.workload
    if facts is None:
        return Facts(())
    source, atoms = clean(facts.source), number_text(facts.atoms)
    said = (
        labels.say("kinds", source=source, atoms=atoms)
        if facts.requests is None
        else labels.say("requests", count=number_text(facts.requests), source=source, atoms=atoms)
    )
    lengths = labels.say(
        "lengths",
        input=digits.number(facts.mean_input_tokens, 0),
        uncached=digits.number(facts.mean_uncached_tokens, 0),
        output=digits.number(facts.mean_output_tokens, 0),
    )
    hits = labels.say("mean_hit", value=digits.significant(facts.mean_hit_rate, 3))
    shares = [Text(hits)]
    if facts.share_hit_95 is not None:
        shares.append(Text(labels.say("hit_95", value=digits.percent(facts.share_hit_95))))
    if facts.blocks_reused_fraction is not None:
        reused = digits.percent(facts.blocks_reused_fraction)
        shares.append(Text(labels.say("blocks_reused", value=reused)))
    rows = [
        Fact(labels.word("requests"), (Text(said),)),
        Fact(labels.word("lengths"), (Text(lengths),)),
        Fact(labels.word("hits"), tuple(shares)),
    ]
    arrivals = []
    if plan.demand is not None:
        load = plan.demand
        arrivals.append(
            labels.say(
                "arrivals",
                rate=digits.rate(load.requests_per_s),
                tokens_in=digits.rate(load.input_tokens_per_s),
                tokens_out=digits.rate(load.output_tokens_per_s),
            )
        )
    if facts.arrival_scv is not None:
        arrivals.append(labels.say("scv", value=digits.significant(facts.arrival_scv, 3)))
    if arrivals:
        rows.append(Fact(labels.word("arrivals"), tuple(map(Text, arrivals))))
    return Facts(tuple(rows))


def certificate_facts(plan: AnyPlan, labels: Labels) -> Facts:
    """Return how good the plan is proven to be, and how."""
    proof, status = plan.certificate, labels.word(f"status.{plan.status}")
    if proof is None:
        searched = isinstance(plan, Plan) and searched_for_confidence(plan)
        key = "proof_confident" if searched else "none_optimized"
        return Facts((Fact(labels.word("status"), (Text(labels.say(key)),)),))
    currency = clean(plan.currency)
    top = [Text(status, "strong")]
    if proof.gap is not None:
        top.append(Text(f"{labels.word('gap')} {digits.gap(proof.gap)}"))
    if proof.lower_bound_usd_per_hour is not None:
        amount = digits.money(proof.lower_bound_usd_per_hour)
        said = labels.say("bound", amount=amount, currency=currency)
        top.append(Text(f"{labels.word('bound')} {said}"))
    work = labels.say(
        "work_shared" if isinstance(plan, SharedPlan) else "work",
        cuts=number_text(proof.cuts),
        evaluations=number_text(proof.evaluations),
        time=digits.elapsed(proof.solve_time_s),
    )
    grids = [Text(clean(proof.solver)), Text(work)]
    if proof.thresholds is not None:
        grids.append(Text(labels.say("thresholds", count=number_text(proof.thresholds))))
    if proof.flow_steps is not None:
        grids.append(Text(labels.say("flow_steps", count=number_text(proof.flow_steps))))
    if proof.time_limit_s is not None:
        limit = digits.limit_seconds(proof.time_limit_s)
        grids.append(Text(labels.say("time_limit", time=limit)))
    facts = [
        Fact(labels.word("status"), tuple(top)),
        Fact(labels.word("objective"), tuple(_objective_texts(plan, labels))),
        Fact(labels.word("solver"), tuple(grids)),
    ]
    if proof.model:
        facts.append(Fact(labels.word("proves"), (Text(clean(proof.model)),)))
    if proof.recomputed_usd_per_hour is not None:
        amount = digits.money(proof.recomputed_usd_per_hour)
        check = [Text(labels.say("recomputed", amount=amount, currency=currency))]
        if proof.recomputed_slo_met is not None:
            met = proof.recomputed_slo_met
            key = "recomputed_met" if met else "recomputed_missed"
            check.append(Text(labels.say(key), "good" if met else "bad"))
        facts.append(Fact(labels.word("check"), tuple(check)))
    return Facts(tuple(facts))


def _objective_texts(plan: AnyPlan, labels: Labels) -> list[Text]:
    """What is maximized, the value reached and the bound, where it is not cost."""
    proof = plan.certificate
    assert proof is not None
    texts = [Text(labels.name(clean(proof.objective)))]
    known = proof.objective_value is not None and proof.objective_bound is not None
    if proof.objective in ("goodput", "bcr") and known and plan.status != "infeasible":
        assert proof.objective_value is not None
        assert proof.objective_bound is not None
        hours = 3600.0 if proof.objective == "bcr" else 1.0
        said = labels.say(
            f"bound_{proof.objective}",
            value=digits.significant(proof.objective_value * hours, 4),
            bound=digits.significant(proof.objective_bound * hours, 4),
            currency=clean(plan.currency),
        )
        texts.append(Text(said))
    tie = proof.tie_break
    if tie is not None:
        said = labels.say(
            "tie_break" if tie.plans > 1 else "tie_alone",
            what=clean(tie.by),
            value=labels.say("beyond")
            if tie.predicted_s is None
            else digits.seconds(tie.predicted_s),
            bound=digits.seconds(tie.excluded_s, tie.promised_s),
            count=number_text(tie.plans),
        )
        texts.append(Text(said))
    return texts


def footer_facts(plan: AnyPlan, labels: Labels) -> Facts:
    """Return what two people compare to know whether they read the same plan."""
    services = plan.services.items() if isinstance(plan, SharedPlan) else [("", plan)]
    models = [f"{name}: {_model_text(one)}" if name else _model_text(one) for name, one in services]
    facts = [
        ("command", plan.command),
        ("version", f"pdd-plan {plan.tool_version}"),
        ("scenario", plan.scenario.name),
        ("input_hash", plan.scenario.sha256),
        ("model", "; ".join(models)),
    ]
    return Facts(tuple(Fact(labels.word(key), (Text(clean(text)),)) for key, text in facts if text))


def _model_text(plan: Plan) -> str:
    return ", ".join(filter(None, (plan.model, plan.precision)))
