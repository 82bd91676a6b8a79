"""Plan → view: the sections of a report, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Iterable

from pdd_plan.fleet.plan import Percentiles, Plan
from pdd_plan.report import charts, digits, sentences
from pdd_plan.report.blocks import (
    Block,
    Column,
    Fact,
    Facts,
    Mark,
    Section,
    Sentence,
    Sentences,
    Table,
    Text,
    View,
)
from pdd_plan.report.digits import clean
from pdd_plan.report.labels import Labels


def plan_view(plan: Plan, lang: str = "en") -> View:
    """Return the report of one plan.

    Parameters
    ----------
    plan : Plan
        As planned or as loaded from its file: both give the same report.
    lang : str
        Language of labels and sentences; texts that the plan carries stay as they are.

    Returns
    -------
    View

    Raises
    ------
    InputError
        If there is no such language.
    """
    labels = Labels(lang)
    sections = [
        _warnings(plan, labels),
        _infeasibility(plan, labels),
        _section("summary", labels, _summary(plan, labels)),
        _section("fleet", labels, fleet_table(plan, labels)),
        _section("why", labels, sentences.why(plan, labels)),
        _section("baselines", labels, _baselines(plan, labels)),
        _section("slo", labels, _slo(plan, labels), detail=True),
        _section("latency", labels, _latency(plan, labels), detail=True),
        _section("charts", labels, *charts.all_charts(plan, labels), detail=True),
        _section("pool_details", labels, _pool_details(plan, labels), detail=True),
        _section("lanes", labels, _lanes(plan, labels), detail=len(plan.lanes) < 2),
        _section("sensitivity", labels, _sensitivity(plan, labels), detail=True),
        _section("workload", labels, _workload(plan, labels)),
        _section("certificate", labels, _certificate(plan, labels)),
        _section("rejected", labels, _rejected(plan, labels), detail=True),
        _section("assumptions", labels, _assumptions(plan, labels)),
        _section("reproduce", labels, _footer(plan, labels)),
    ]
    return View(
        title=clean(plan.scenario.name),
        subtitle=headline(plan, labels),
        language=lang,
        sections=tuple(section for section in sections if section is not None),
        good=plan.status != "infeasible",
    )


def headline(plan: Plan, labels: Labels) -> str:
    """Return what kind of answer the plan is, its gap and the time it took."""
    proof = plan.certificate
    if proof is None:
        return labels.word("infeasible" if plan.status == "infeasible" else "evaluated")
    time = digits.seconds(proof.solve_time_s)
    if plan.status == "infeasible":
        return f"{labels.word('infeasible')}, {time}"
    key = "headline" if proof.gap is not None else "headline_unproven"
    return labels.say(key, status=labels.word(plan.status), gap=digits.gap(proof.gap), time=time)


def _section(key: str, labels: Labels, *blocks: Block, detail: bool = False) -> Section | None:
    full = tuple(block for block in blocks if _holds_something(block))
    return Section(key, labels.word(key), full, detail) if full else None


def _holds_something(block: Block) -> bool:
    if isinstance(block, Facts):
        return bool(block.facts)
    if isinstance(block, Sentences):
        return bool(block.sentences)
    return bool(block.rows) if isinstance(block, Table) else True


def row(*cells: str | Text) -> tuple[Text, ...]:
    """Return a table row, plain strings turned to unmarked texts."""
    return tuple(cell if isinstance(cell, Text) else Text(cell) for cell in cells)


def columns(labels: Labels, left: Iterable[str], right: Iterable[str]) -> tuple[Column, ...]:
    """Return columns of words: first those that stand left, then those of numbers."""
    return tuple(Column(labels.word(key)) for key in left) + tuple(
        Column(labels.word(key), right=True) for key in right
    )


def _warnings(plan: Plan, labels: Labels) -> Section | None:
    texts = tuple(Sentence("", clean(text), "bad") for text in plan.warnings)
    return _section("warnings", labels, Sentences(texts))


def _infeasibility(plan: Plan, labels: Labels) -> Section | None:
    why = plan.infeasibility
    if why is None:
        return None
    texts = [Sentence(labels.word("reason"), clean(why.reason), "bad")]
    for item in why.failures:
        is_time = item.unit == "s"
        best = (
            labels.say("unbounded")
            if item.best is None
            else (
                digits.seconds(item.best, item.limit)
                if is_time
                else f"{digits.significant(item.best, 5)} {clean(item.unit)}".strip()
            )
        )
        limit = (
            digits.limit_seconds(item.limit)
            if is_time
            else (f"{digits.significant(item.limit, 5)} {clean(item.unit)}".strip())
        )
        said = labels.say("fails", what=clean(item.what), best=best, limit=limit)
        texts.append(Sentence(labels.word("fails"), said))
    changes = Table(
        columns(labels, ("change", "path", "value"), ()),
        tuple(
            row(clean(item.change), clean(item.path), plain_value(item.value))
            for item in why.smallest_changes
        ),
    )
    lead = (Sentence(labels.word("change_one"), ""),) if why.smallest_changes else ()
    return _section("infeasibility", labels, Sentences((*texts, *lead)), changes)


def _summary(plan: Plan, labels: Labels) -> Facts:
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
        unit = "" if texts else " req/s"
        texts.append(Text(labels.say("demand", rate=wanted) + unit))
    if plan.bcr is not None:
        texts.append(Text(sentences.bcr_text(plan, labels)))
    if plan.goodput is not None and plan.goodput.limited_by:
        texts.append(Text(labels.say("limited_by", what=clean(plan.goodput.limited_by))))
    if texts:
        facts.append(Fact(labels.word("goodput" if plan.goodput else "load"), tuple(texts)))
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
        ratio = plan.cost.usd_per_hour / reference.cost.usd_per_hour
        key = "as_much" if abs(ratio - 1) < 5e-4 else "below" if ratio < 1 else "above"
        name = labels.name(clean(reference.name))
        texts.append(Text(labels.say(key, share=digits.percent(abs(1 - ratio)), name=name)))
    return tuple(texts)


def _latency_facts(plan: Plan, labels: Labels) -> list[Fact]:
    """One line for every limit; the first on TTFT also tells the other percentiles and routes."""
    facts: list[Fact] = []
    for item in plan.slo:
        said = labels.say(
            "limit_met" if item.met else "limit_missed", limit=digits.limit_seconds(item.limit)
        )
        predicted = (
            labels.say("beyond")
            if item.predicted is None
            else digits.seconds(item.predicted, item.limit)
        )
        texts = [Text(f"{predicted}  {said}", "good" if item.met else "bad")]
        first = all(other.metric != item.metric for other in plan.slo[: plan.slo.index(item)])
        if item.metric == "ttft" and first:
            texts += _ttft_texts(plan, labels, item.percentile)
        label = f"{labels.word(item.metric)} {percentile_name(item.percentile, labels)}"
        facts.append(Fact(f"{label} {clean(item.period or '')}".strip(), tuple(texts)))
    if plan.latency is None:
        return facts
    limited = {item.metric for item in plan.slo}
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
    for key, block in (("direct", times.ttft_direct_s), ("relay", times.ttft_relay_s)):
        value = getattr(block, name, None) if block is not None else None
        if value is not None:
            texts.append(Text(f"{labels.word(key)} {digits.seconds(value)}"))
    return texts


def percentile_name(percentile: float | None, labels: Labels) -> str:
    """Return P90 for 0.9 and the word for the mean for None."""
    if percentile is None:
        return labels.word("mean").lower()
    return f"P{digits.significant(100 * percentile, 6)}"


def fleet_table(plan: Plan, labels: Labels) -> Table:
    """Return pools and lines in one table, as the cost adds up."""
    heads = ("pool", "chip")
    money = Column(labels.word("per_hour", currency=clean(plan.currency)), right=True)
    names = columns(labels, heads, ("engines", "chips", "use"))
    rows = [
        row(
            f"{clean(pool.site)} {labels.word(pool.role)}",
            f"{clean(pool.chip)} {clean(pool.shape)}",
            number_text(pool.engines),
            number_text(pool.chips),
            usage(pool.utilization),
            labels.name(clean(pool.bound_by)),
            digits.money(pool.usd_per_hour),
        )
        for pool in plan.pools
    ]
    rows += [
        row(
            labels.word("line", a=clean(link.from_site), b=clean(link.to_site)),
            f"{digits.significant(link.gbps, 6)} Gbps",
            "",
            "",
            usage(link.utilization),
            "",
            digits.money(link.usd_per_hour),
        )
        for link in plan.links
    ]
    if plan.cost is not None and len(rows) > 1:
        engines = number_text(sum(pool.engines for pool in plan.pools))
        chips = number_text(sum(pool.chips for pool in plan.pools))
        cost = digits.money(plan.cost.usd_per_hour)
        rows.append(row(labels.word("total"), "", engines, chips, "", "", cost))
    table_columns = (*names, Column(labels.word("bound_by")), money)
    return Table(table_columns, tuple(rows), total=plan.cost is not None and len(rows) > 1)


def number_text(value: int) -> str:
    """Write a count."""
    return digits.number(value, 0)


def usage(value: float) -> Text:
    """Write a utilization so that it reads 1 only where it is at least 1."""
    decimals = 2
    while value < 1 and float(f"{value:.{decimals}f}") >= 1 and decimals < 9:
        decimals += 1
    return Text(f"{value:.{decimals}f}", "bad" if value >= 1 else "")


def _baselines(plan: Plan, labels: Labels) -> Table:
    currency = clean(plan.currency)
    heads = (
        Column(labels.word("plan")),
        Column(labels.word("per_hour", currency=currency), right=True),
        Column(labels.word("per_m_out", currency=currency), right=True),
        Column(labels.word("per_m_goodput"), right=True),
        *columns(labels, (), ("p50_ttft", "p90_ttft", "p99_ttft", "goodput", "bcr")),
    )
    if not plan.baselines:
        return Table(heads, ())
    own = labels.word("this_plan")
    if plan.architecture is not None:
        own += f" ({labels.word(plan.architecture)})"
    entries: list[tuple[str, str, Mark, object]] = [
        (labels.name(clean(base.name)), base.status, "", base) for base in plan.baselines
    ]
    entries.append((own, plan.status, "strong", plan))
    rows = []
    for name, status, mark, item in entries:
        label = name if status == "optimal" else f"{name}, {labels.word(f'status.{status}')}"
        rows.append(tuple(Text(text, mark) for text in (label, *_baseline_cells(item))))
    return Table(heads, tuple(rows))


def _baseline_cells(item: object) -> list[str]:
    cost, latency = getattr(item, "cost", None), getattr(item, "latency", None)
    goodput, bcr = getattr(item, "goodput", None), getattr(item, "bcr", None)
    block: Percentiles | None = latency.ttft_s if latency else None
    return [
        digits.money(cost.usd_per_hour if cost else None),
        digits.money(cost.usd_per_million_output_tokens if cost else None),
        digits.money(cost.usd_per_million_output_tokens_at_goodput if cost else None),
        *(digits.seconds(getattr(block, name, None)) for name in ("p50", "p90", "p99")),
        digits.rate(goodput.requests_per_s if goodput else None),
        digits.number(bcr, 2),
    ]


def _slo(plan: Plan, labels: Labels) -> Table:
    rows = [
        row(
            f"{labels.word(item.metric)} {percentile_name(item.percentile, labels)}",
            clean(item.period or ""),
            digits.limit_seconds(item.limit),
            labels.say("beyond")
            if item.predicted is None
            else digits.seconds(item.predicted, item.limit),
            digits.percent(item.fraction_within),
            Text(labels.word("yes" if item.met else "no"), "good" if item.met else "bad"),
        )
        for item in plan.slo
    ]
    names = columns(labels, ("metric", "period"), ("limit", "predicted", "within", "met"))
    return Table(names, tuple(rows))


def _latency(plan: Plan, labels: Labels) -> Table:
    names = (Column(labels.word("metric")), *(Column(p, True) for p in ("P50", "P90", "P95")))
    names = (*names, Column("P99", True), Column(labels.word("mean"), True))
    if plan.latency is None:
        return Table(names, ())
    times = plan.latency
    blocks = (
        ("ttft", times.ttft_s),
        ("ttft_direct", times.ttft_direct_s),
        ("ttft_relay", times.ttft_relay_s),
        ("tpot", times.tpot_s),
        ("handoff_gap", times.handoff_gap_s),
        ("e2e", times.e2e_s),
    )
    rows = [
        row(
            labels.word(key),
            *(digits.seconds(getattr(block, p)) for p in ("p50", "p90", "p95", "p99", "mean")),
        )
        for key, block in blocks
        if block is not None
    ]
    return Table(names, tuple(rows))


def _pool_details(plan: Plan, labels: Labels) -> Table:
    names = (
        *columns(labels, ("site", "role", "chip", "shape"), ("engines", "chips", "available")),
        *columns(labels, (), ("request_share", "slots", "kv_use")),
        Column(labels.word("per_chip_hour", currency=clean(plan.currency)), right=True),
    )
    rows = [
        row(
            clean(pool.site),
            labels.word(pool.role),
            clean(pool.chip),
            clean(pool.shape),
            number_text(pool.engines),
            number_text(pool.chips),
            digits.number(pool.chips_available, 0),
            digits.percent(pool.request_fraction),
            digits.number(pool.slots_per_engine, 0),
            digits.percent(pool.kv_memory_utilization),
            digits.money(pool.usd_per_chip_hour),
        )
        for pool in plan.pools
    ]
    return Table(names, tuple(rows), heads=2)


def _lanes(plan: Plan, labels: Labels) -> Table:
    names = columns(labels, ("from", "to"), ("share", "threshold"))
    rows = []
    for lane in plan.lanes:
        own = lane.threshold
        if own is None and plan.routing is not None:
            own = plan.routing.threshold
        said = sentences.threshold_text(plan, own)
        rows.append(
            row(clean(lane.from_site), clean(lane.to_site), digits.percent(lane.share), said)
        )
    return Table(names, tuple(rows), heads=2)


def plain_value(value: str | bool | float | None) -> str:
    """Write a value as the scenario would take it."""
    if value is None:
        return digits.MISSING
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return clean(value)
    return digits.significant(value, 8)


def _sensitivity(plan: Plan, labels: Labels) -> Table:
    names = (
        *columns(labels, ("change", "path"), ("value",)),
        Column(labels.word("per_hour", currency=clean(plan.currency)), right=True),
        *columns(labels, (), ("p90_ttft",)),
        Column(labels.word("effect")),
    )
    rows = [
        row(
            clean(item.change),
            clean(item.path),
            plain_value(item.value),
            digits.money(item.usd_per_hour),
            digits.seconds(item.ttft_p90_s),
            sentences.effect_text(item, plan, labels),
        )
        for item in plan.sensitivity
    ]
    return Table(names, tuple(rows))


def _workload(plan: Plan, labels: Labels) -> Facts:
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
    rows = [
        Fact(labels.word("requests"), (Text(said),)),
        Fact(labels.word("lengths"), (Text(lengths), Text(hits))),
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


def _certificate(plan: Plan, labels: Labels) -> Facts:
    proof, status = plan.certificate, labels.word(f"status.{plan.status}")
    if proof is None:
        return Facts((Fact(labels.word("status"), (Text(labels.say("none_optimized")),)),))
    currency = clean(plan.currency)
    top = [Text(status, "strong"), Text(f"{labels.word('gap')} {digits.gap(proof.gap)}")]
    if proof.lower_bound_usd_per_hour is not None:
        amount = digits.money(proof.lower_bound_usd_per_hour)
        said = labels.say("bound", amount=amount, currency=currency)
        top.append(Text(f"{labels.word('bound')} {said}"))
    work = labels.say(
        "work",
        cuts=number_text(proof.cuts),
        evaluations=number_text(proof.evaluations),
        time=digits.seconds(proof.solve_time_s),
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
        Fact(labels.word("objective"), (Text(labels.name(clean(proof.objective))),)),
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


def _rejected(plan: Plan, labels: Labels) -> Table:
    rows = tuple(
        row(clean(item.site), clean(item.chip), clean(item.shape), clean(item.reason))
        for item in plan.rejected_shapes
    )
    return Table(columns(labels, ("site", "chip", "shape", "reason"), ()), rows, heads=3)


def _assumptions(plan: Plan, labels: Labels) -> Table:
    names = columns(labels, ("path", "value", "unit", "source", "confidence"), ())
    rows = tuple(
        row(
            clean(item.path),
            plain_value(item.value),
            clean(item.unit),
            clean(item.source),
            Text(
                labels.word(item.confidence) if item.confidence else "",
                "bad" if item.confidence == "low" else "",
            ),
        )
        for item in plan.assumptions
    )
    return Table(names, rows)


def _footer(plan: Plan, labels: Labels) -> Facts:
    facts = [
        ("command", plan.command),
        ("version", f"pdd-plan {plan.tool_version}"),
        ("scenario", plan.scenario.name),
        ("input_hash", plan.scenario.sha256),
        ("model", ", ".join(filter(None, (plan.model, plan.precision)))),
    ]
    return Facts(tuple(Fact(labels.word(key), (Text(clean(text)),)) for key, text in facts if text))
