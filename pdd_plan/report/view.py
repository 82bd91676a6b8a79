"""Plan → view: the sections of a report, in the order in which they are read."""

from __future__ import annotations

from pdd_plan.fleet.plan import Failure, Plan
from pdd_plan.fleet.shared_plan import AnyPlan
from pdd_plan.report import (
    charts,
    digits,
    facts,
    resilience,
    sentences,
    tables,
    tornado,
    uncertainty,
)
from pdd_plan.report.blocks import (
    Block,
    Facts,
    Section,
    Sentence,
    Sentences,
    Table,
    View,
)
from pdd_plan.report.break_even import break_even_blocks
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
        infeasibility_section(plan, labels),
        section_of("summary", labels, facts.summary_facts(plan, labels)),
        section_of("fleet", labels, tables.fleet_table(plan, labels)),
        section_of("why", labels, sentences.why(plan, labels)),
        warnings_section(plan, labels),
        section_of("uncertainty", labels, *uncertainty.risk_blocks(plan, labels)),
        section_of("drivers", labels, *uncertainty.driver_blocks(plan, labels)),
        section_of(
            "baselines",
            labels,
            tables.baselines_table(plan, labels),
            sentences.refusals(plan, labels),
        ),
        section_of("tornado", labels, *tornado.tornado_blocks(plan, labels)),
        section_of(
            "resilience",
            labels,
            resilience.resilience_facts(plan, labels),
            resilience.outages_table(plan, labels),
            resilience.rerouting_texts(plan, labels),
        ),
        section_of(
            "break_even", labels, *break_even_blocks(plan.break_even, plan.currency, labels)
        ),
        section_of("slo", labels, tables.limits_table(plan, labels), detail=True),
        section_of("latency", labels, tables.latency_table(plan, labels), detail=True),
        section_of("classes", labels, tables.groups_table(plan.classes, "traffic_class", labels)),
        section_of("regions", labels, tables.groups_table(plan.regions, "region", labels)),
        section_of("charts", labels, *charts.all_charts(plan, labels), detail=True),
        section_of("pool_details", labels, tables.pools_table(plan, labels), detail=True),
        section_of("lanes", labels, tables.lanes_table(plan, labels), detail=len(plan.lanes) < 2),
        section_of("sensitivity", labels, tables.sensitivity_table(plan, labels), detail=True),
        section_of("workload", labels, facts.workload_facts(plan, labels)),
        section_of("certificate", labels, facts.certificate_facts(plan, labels)),
        _rejected_brief(plan, labels),
        section_of("rejected", labels, tables.rejected_table(plan, labels), detail=True),
        _assumptions_brief(plan, labels),
        section_of("assumptions", labels, tables.assumptions_table(plan, labels), detail=True),
        section_of("reproduce", labels, facts.footer_facts(plan, labels)),
    ]
    return View(
        title=clean(plan.scenario.name),
        subtitle=facts.headline(plan, labels),
        language=lang,
        sections=tuple(section for section in sections if section is not None),
        good=plan.status != "infeasible",
    )


def section_of(key: str, labels: Labels, *blocks: Block, detail: bool = False) -> Section | None:
    """Return a section without empty blocks, or None where there are only such."""
    full = tuple(
        tables.trimmed(block) if isinstance(block, Table) else block
        for block in blocks
        if _holds_something(block)
    )
    return Section(key, labels.word(key), full, detail) if full else None


def _holds_something(block: Block) -> bool:
    if isinstance(block, Facts):
        return bool(block.facts)
    if isinstance(block, Sentences):
        return bool(block.sentences)
    return bool(block.rows) if isinstance(block, Table) else True


def warnings_section(plan: AnyPlan, labels: Labels) -> Section | None:
    """Return what to know before trusting the plan."""
    return section_of("warnings", labels, sentences.warnings(plan.warnings))


def infeasibility_section(plan: AnyPlan, labels: Labels) -> Section | None:
    """Return why there is no plan, and what would make one."""
    why = plan.infeasibility
    if why is None:
        return None
    texts = [Sentence(labels.word("reason"), clean(why.reason), "bad")]
    for item in why.failures:
        best = labels.say("unbounded") if item.best is None else _amount(item.best, item)
        limit = _amount(item.limit, item)
        said = labels.say("fails", what=clean(item.what), best=best, limit=limit)
        texts.append(Sentence(labels.word("fails"), said))
    changes = Table(
        tables.columns(labels, ("change", "path", "value"), ()),
        tuple(
            tables.row(clean(item.change), clean(item.path), tables.plain_value(item.value))
            for item in why.smallest_changes
        ),
    )
    lead = (Sentence(labels.word("change_one"), ""),) if why.smallest_changes else ()
    return section_of("infeasibility", labels, Sentences((*texts, *lead)), changes)


def _rejected_brief(plan: Plan, labels: Labels) -> Section | None:
    if not plan.rejected_shapes:
        return None
    said = labels.say("rejected", count=digits.number(len(plan.rejected_shapes), 0))
    block = Sentences((Sentence("", said),))
    return Section("rejected_brief", labels.word("rejected"), (block,), brief=True)


def _assumptions_brief(plan: Plan, labels: Labels) -> Section | None:
    if not plan.assumptions:
        return None
    block = tables.trimmed(tables.assumptions_brief(plan, labels))
    return Section("assumptions_brief", labels.word("assumptions"), (block,), brief=True)


def _amount(value: float, failure: Failure) -> str:
    """Write what is possible, or the limit, in the unit of the failed limit."""
    if failure.unit != "s":
        return f"{digits.significant(value, 5)} {clean(failure.unit)}".strip()
    if value == failure.limit:
        return digits.limit_seconds(value)
    return digits.seconds(value, failure.limit)
