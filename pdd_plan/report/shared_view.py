"""Plan of several services → view: totals first, then the services, then what they share."""

from __future__ import annotations

from dataclasses import replace

from pdd_plan.fleet.plan import Plan
from pdd_plan.fleet.shared_plan import SharedPlan
from pdd_plan.report import digits, facts, sentences, tables
from pdd_plan.report.blocks import (
    Column,
    Fact,
    Facts,
    Section,
    Sentence,
    Sentences,
    Table,
    Text,
    View,
)
from pdd_plan.report.digits import clean
from pdd_plan.report.labels import Labels
from pdd_plan.report.limit_names import limit_name, limit_text
from pdd_plan.report.view import (
    infeasibility_section,
    plan_view,
    section_of,
    warnings_section,
)

OWN_SECTIONS = (
    "summary",
    "fleet",
    "why",
    "baselines",
    "slo",
    "latency",
    "charts",
    "pool_details",
    "lanes",
    "sensitivity",
    "workload",
    "rejected",
    "assumptions",
)
"""Sections of a service's own report that a document holds for every service."""


def shared_view(plan: SharedPlan, lang: str = "en") -> View:
    """Return the report of a plan of several services.

    Parameters
    ----------
    plan : SharedPlan
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
        infeasibility_section(plan, labels),
        section_of("summary", labels, _summary(plan, labels)),
        section_of("services", labels, _services_table(plan, labels)),
        section_of("shared", labels, _shared_table(plan, labels), _scarce(plan, labels)),
        section_of("fleet", labels, _fleet_table(plan, labels)),
        section_of("route", labels, _routes(plan, labels)),
        warnings_section(plan, labels),
        section_of(
            "baselines", labels, _baselines_table(plan, labels), sentences.refusals(plan, labels)
        ),
        section_of("certificate", labels, facts.certificate_facts(plan, labels)),
        *_own_sections(plan, lang),
        section_of("reproduce", labels, facts.footer_facts(plan, labels)),
    ]
    return View(
        title=clean(plan.scenario.name),
        subtitle=facts.headline(plan, labels),
        language=lang,
        sections=tuple(section for section in sections if section is not None),
        good=plan.status != "infeasible",
    )


def _own_sections(plan: SharedPlan, lang: str) -> list[Section]:
    """Return the sections of each service's report, for documents."""
    return [
        replace(section, title=f"{clean(name)}: {section.title}", detail=True, brief=False)
        for name, own in plan.services.items()
        for section in plan_view(own, lang).full_sections()
        if section.key in OWN_SECTIONS
    ]


def _summary(plan: SharedPlan, labels: Labels) -> Facts:
    rows = []
    currency = clean(plan.currency)
    if plan.cost is not None:
        per_hour = labels.word("per_hour", currency=currency)
        amount = digits.money(plan.cost.usd_per_million_output_tokens)
        parts = labels.say(
            "of_cost",
            chips=digits.money(plan.cost.chips_usd_per_hour),
            lines=digits.money(plan.cost.links_usd_per_hour),
        )
        texts = [
            Text(f"{digits.money(plan.cost.usd_per_hour)} {per_hour}", "strong"),
            Text(parts),
            Text(labels.say("per_m_output", amount=amount, currency=currency)),
        ]
        rows.append(Fact(labels.word("cost"), (*texts, *_against(plan, labels))))
    if plan.demand is not None:
        tokens = digits.rate(plan.demand.output_tokens_per_s)
        texts = [
            Text(labels.say("rate", rate=digits.rate(plan.demand.requests_per_s))),
            Text(labels.say("tokens_out", rate=tokens)),
        ]
        rows.append(Fact(labels.word("demand"), tuple(texts)))
    rows += [
        Fact(clean(name), tuple(_limit_texts(own, labels))) for name, own in plan.services.items()
    ]
    return Facts(tuple(rows))


def _against(plan: SharedPlan, labels: Labels) -> tuple[Text, ...]:
    """Compare the cost with that of the first baseline that has one."""
    base = next((one for one in plan.baselines if one.cost is not None), None)
    if base is None or base.cost is None or plan.cost is None or not base.cost.usd_per_hour:
        return ()
    cost = plan.cost.usd_per_hour
    texts = [facts.cost_against(cost, base.cost.usd_per_hour, base.name, labels)]
    undivided = sentences.cheaper_undivided(plan)
    if undivided is not None and base.name != "aggregated":
        texts.append(facts.cost_against(cost, undivided, "aggregated", labels))
    return tuple(texts)


def _services_table(plan: SharedPlan, labels: Labels) -> Table:
    """Return a row a service: cost, latency against its first limits, goodput and demand."""
    currency = clean(plan.currency)
    heads = (
        *tables.columns(labels, ("service", "model"), ("chips",)),
        Column(labels.word("per_hour", currency=currency), right=True),
        Column(labels.word("per_m_out", currency=currency), right=True),
        *tables.columns(labels, (), ("demand", "goodput")),
    )
    rows = [
        tables.row(
            clean(name),
            clean(own.model),
            tables.number_text(sum(pool.chips for pool in own.pools)),
            digits.money(own.cost.usd_per_hour if own.cost else None),
            digits.money(own.cost.usd_per_million_output_tokens if own.cost else None),
            digits.rate(own.demand.requests_per_s if own.demand else None),
            digits.rate(own.goodput.requests_per_s if own.goodput else None),
        )
        for name, own in plan.services.items()
    ]
    if plan.cost is None:
        return Table(heads, ())
    chips = sum(pool.chips for own in plan.services.values() for pool in own.pools)
    rows.append(
        tables.row(
            labels.word("total"),
            "",
            tables.number_text(chips),
            digits.money(plan.cost.usd_per_hour),
            digits.money(plan.cost.usd_per_million_output_tokens),
            digits.rate(plan.demand.requests_per_s if plan.demand else None),
            "",
        )
    )
    return Table(heads, tuple(rows), total=True)


def _limit_texts(plan: Plan, labels: Labels) -> list[Text]:
    """Return every limit of a service with what is predicted."""
    said = []
    for item in plan.slo:
        text = limit_text(item, labels)
        said.append(replace(text, text=f"{limit_name(item, labels)} {text.text}"))
    return said


def _shared_table(plan: SharedPlan, labels: Labels) -> Table:
    """Return a row a thing that is shared: how much there is, and what each service takes."""
    names = list(plan.services)
    heads = (
        Column(""),
        *tables.columns(labels, (), ("there", "used")),
        *(Column(clean(name), right=True) for name in names),
        Column(labels.word("per_hour", currency=clean(plan.currency)), right=True),
    )
    rows = []
    for stock in plan.stock:
        full = stock.used and (stock.used == stock.available or stock.worth_usd_per_chip_hour)
        rows.append(
            tables.row(
                f"{clean(stock.site)} {clean(stock.chip)}",
                tables.number_text(stock.available),
                Text(tables.number_text(stock.used), "changed" if full else ""),
                *(tables.number_text(stock.by_service[name]) for name in names),
                digits.money(stock.usd_per_hour),
            )
        )
    for power in plan.power:
        amounts = (power.available_w, power.used_w, *(power.by_service[name] for name in names))
        rows.append(
            tables.row(
                labels.word("power_at", site=clean(power.site)),
                *(f"{digits.significant(watts / 1e3, 4)} kW" for watts in amounts),
                "",
            )
        )
    for link in plan.links:
        sizes = (link.max_gbps, link.reserved_gbps, *(link.by_service[name] for name in names))
        name = f"{clean(link.from_site)} -> {clean(link.to_site)}"
        if link.gbps > link.reserved_gbps:
            name = labels.say("bought", line=name, gbps=digits.significant(link.gbps, 4))
        rows.append(
            tables.row(
                name,
                *(f"{digits.significant(gbps, 4)} Gbps" for gbps in sizes),
                digits.money(link.usd_per_hour),
            )
        )
    return Table(heads, tuple(rows) if plan.services else ())


def _scarce(plan: SharedPlan, labels: Labels) -> Sentences:
    """Say what is at its limit, and what more of it would be worth."""
    worth = [
        (f"{clean(stock.chip)} ({clean(stock.site)})", stock.worth_usd_per_chip_hour)
        for stock in plan.stock
    ]
    worth += [(f"kW ({clean(one.site)})", one.worth_usd_per_kw_hour) for one in plan.power]
    worth += [
        (f"Gbps ({clean(one.from_site)}-{clean(one.to_site)})", one.worth_usd_per_gbps_hour)
        for one in plan.links
    ]
    said = [
        labels.say("worth", what=what, amount=digits.money(value), currency=clean(plan.currency))
        for what, value in worth
        if value is not None and value >= 0.005
    ]
    scarce = [Sentence(labels.word("scarce"), sentences.listed(said, labels))] if said else []
    return Sentences((*sentences.at_limit(plan, labels), *scarce))


def _fleet_table(plan: SharedPlan, labels: Labels) -> Table:
    """Return the pools and reserved parts of lines of every service in one table."""
    heads = ("service", "pool", "hardware")
    money = Column(labels.word("per_hour", currency=clean(plan.currency)), right=True)
    names = (*tables.columns(labels, heads, ("engines", "chips", "use")), money)
    rows = []
    for name, own in plan.services.items():
        part = tables.fleet_table(own, labels)
        bound_by = len(part.columns) - 2
        for i, cells in enumerate(part.rows[:-1] if part.total else part.rows):
            head = Text(clean(name) if i == 0 else "")
            rows.append((head, *cells[:bound_by], *cells[bound_by + 1 :]))
    return Table(names, tuple(rows), heads=2)


def _routes(plan: SharedPlan, labels: Labels) -> Sentences:
    return Sentences(
        tuple(
            Sentence(clean(name), sentence.text)
            for name, own in plan.services.items()
            for sentence in sentences.route(own, labels)
        )
    )


def _baselines_table(plan: SharedPlan, labels: Labels) -> Table:
    """Return all services by simpler kinds of fleet, and the plan itself."""
    currency = clean(plan.currency)
    heads = (
        Column(labels.word("plan")),
        Column(labels.word("per_hour", currency=currency), right=True),
        Column(labels.word("per_m_out", currency=currency), right=True),
        Column(labels.word("against_plan"), right=True),
    )
    if not plan.baselines or plan.cost is None:
        return Table(heads, ())
    rows, paid = [], plan.cost.usd_per_hour
    for base in plan.baselines:
        name, cost = labels.name(clean(base.name)), base.cost
        if base.status != "optimal":
            name = f"{name}, {labels.word(f'status.{base.status}')}"
        rows.append(
            tables.row(
                name,
                digits.money(cost.usd_per_hour if cost else None),
                digits.money(cost.usd_per_million_output_tokens if cost else None),
                digits.signed_percent(cost.usd_per_hour / paid - 1.0 if cost and paid else None),
            )
        )
    own = (
        labels.word("this_plan"),
        digits.money(plan.cost.usd_per_hour),
        digits.money(plan.cost.usd_per_million_output_tokens),
        "",
    )
    rows.append(tuple(Text(text, "strong") for text in own))
    return Table(heads, tuple(rows))
