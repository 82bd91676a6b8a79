"""Several plans → one table: alternatives as columns, what they cost and reach as rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pdd_plan.fleet.plan import Plan
from pdd_plan.report import digits, sentences
from pdd_plan.report.blocks import (
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
from pdd_plan.report.comparison import Comparison
from pdd_plan.report.digits import clean
from pdd_plan.report.labels import Labels
from pdd_plan.report.tidy import Value

PoolKey = tuple[str, str, str]


@dataclass(frozen=True)
class _Row:
    """One row: how to read its value off a plan, how to write it, and which end is best."""

    label: str
    value: Callable[[Plan], Value]
    text: Callable[[Plan], str]
    best: Callable[[Sequence[float]], float] | None = None
    is_cost: bool = False


def comparison_view(comparison: Comparison, lang: str = "en") -> View:
    """Return the report of a comparison.

    Parameters
    ----------
    comparison : Comparison
        The plans; values that differ from the first are marked, and the best of a row.
    lang : str
        Language of labels and sentences.

    Returns
    -------
    View

    Raises
    ------
    InputError
        If there is no such language.
    """
    labels = Labels(lang)
    names = tuple(clean(name) for name, _ in comparison.alternatives)
    rows = [
        *_money_rows(comparison, labels),
        *_latency_rows(comparison, labels),
        *_load_rows(comparison, labels),
        *_fleet_rows(comparison, labels),
        *_proof_rows(labels),
    ]
    table = Table(
        (Column(""), *(Column(name, right=True) for name in names)),
        tuple(_cells(row, comparison) for row in rows),
        wide=True,
    )
    notes = [Sentence("", said, "bad") for said in _notes(comparison, labels)]
    legend = Sentences((*notes, Sentence("", labels.say("legend"), "faint")))
    sections = [
        Section("comparison", labels.word("comparison"), (table, legend)),
        *_warnings(comparison, labels),
        Section("reproduce", labels.word("reproduce"), (_footer(comparison, labels),)),
    ]
    return View(
        title=labels.word("comparison"),
        subtitle=", ".join(names),
        language=lang,
        sections=tuple(sections),
        good=any(plan.status != "infeasible" for plan in comparison.plans),
    )


def _cells(row: _Row, comparison: Comparison) -> tuple[Text, ...]:
    plans = comparison.plans
    values = [row.value(plan) for plan in plans]
    differs = any(value != values[0] for value in values)
    best = _best(row, plans, values) if differs else None
    label = Text(f"~ {row.label}" if differs else f"  {row.label}", "" if differs else "faint")
    cells = [label]
    for plan, value in zip(plans, values, strict=True):
        said, mark = row.text(plan), ""
        if best is not None and value == best and _counts(row, plan):
            said, mark = f"{said} *", "best"
        elif differs and value != values[0]:
            mark = "changed"
        cells.append(Text(said, _mark(mark)))
    return tuple(cells)


def _mark(name: str) -> Mark:
    return "best" if name == "best" else "changed" if name == "changed" else ""


def _best(row: _Row, plans: Sequence[Plan], values: Sequence[Value]) -> float | None:
    """Return the best value among plans that meet their limits; None where ranks say nothing."""
    if row.best is None or (row.is_cost and len({plan.currency for plan in plans}) > 1):
        return None
    numbers = [
        float(value)
        for plan, value in zip(plans, values, strict=True)
        if isinstance(value, int | float) and _counts(row, plan)
    ]
    return row.best(numbers) if len(numbers) > 1 else None


def _counts(row: _Row, plan: Plan) -> bool:
    """Say whether a plan may be called best: one that misses a limit is not the cheapest."""
    return plan.status != "infeasible" and (not row.is_cost or all(item.met for item in plan.slo))


def _money_rows(comparison: Comparison, labels: Labels) -> list[_Row]:
    currencies = {plan.currency for plan in comparison.plans}
    one = clean(currencies.pop()) if len(currencies) == 1 else ""

    def amount(key: str) -> tuple[Callable[[Plan], Value], Callable[[Plan], str]]:
        def value(plan: Plan) -> Value:
            found = getattr(plan.cost, key, None)
            return None if found is None else float(found)

        def text(plan: Plan) -> str:
            found = value(plan)
            said = digits.money(found if isinstance(found, float) else None)
            return said if one or found is None else f"{said} {clean(plan.currency)}"

        return value, text

    keys = (
        (labels.word("per_hour", currency=one).lstrip(), "usd_per_hour"),
        (labels.word("per_m_out", currency=one).lstrip(), "usd_per_million_output_tokens"),
        (
            f"{labels.word('per_m_out', currency=one)} {labels.word('per_m_goodput')}".lstrip(),
            "usd_per_million_output_tokens_at_goodput",
        ),
        (labels.word("per_m_total", currency=one).lstrip(), "usd_per_million_total_tokens"),
    )
    rows = [_Row(label, *amount(key), best=min, is_cost=True) for label, key in keys]
    first = comparison.plans[0].cost
    if one and first is not None and first.usd_per_million_output_tokens > 0:
        base = first.usd_per_million_output_tokens

        def change(plan: Plan) -> Value:
            return None if plan.cost is None else plan.cost.usd_per_million_output_tokens / base - 1

        label = f"{keys[1][0]}, {clean(comparison.alternatives[0][0])} = 0"
        rows.insert(2, _Row(label, change, lambda plan: _signed(change(plan))))
    return rows


def _signed(value: Value) -> str:
    if not isinstance(value, float):
        return digits.MISSING
    return f"+{digits.percent(value)}" if value > 0 else digits.percent(value)


def _latency_rows(comparison: Comparison, labels: Labels) -> list[_Row]:
    def times(metric: str, name: str) -> _Row:
        def value(plan: Plan) -> Value:
            return getattr(getattr(plan.latency, metric, None), name, None)

        def text(plan: Plan) -> str:
            found = value(plan)
            return digits.seconds(found if isinstance(found, float) else None)

        key = {"ttft_s": "ttft", "tpot_s": "tpot", "handoff_gap_s": "handoff_gap"}[metric]
        return _Row(f"{labels.word(key)} {name.upper()}", value, text, best=min)

    rows = [times("ttft_s", name) for name in ("p50", "p90", "p99")]
    rows.append(times("tpot_s", "p90"))
    if any(plan.latency is not None and plan.latency.handoff_gap_s for plan in comparison.plans):
        rows.append(times("handoff_gap_s", "p90"))

    def met(plan: Plan) -> Value:
        return all(item.met for item in plan.slo) if plan.slo else None

    def met_text(plan: Plan) -> str:
        found = met(plan)
        return digits.MISSING if found is None else labels.word("yes" if found else "no")

    return [*rows, _Row(f"{labels.word('slo')}: {labels.word('met')}", met, met_text)]


def _load_rows(comparison: Comparison, labels: Labels) -> list[_Row]:
    def demand(plan: Plan) -> Value:
        return plan.demand.requests_per_s if plan.demand is not None else None

    def goodput(plan: Plan) -> Value:
        return plan.goodput.requests_per_s if plan.goodput is not None else None

    references = {plan.bcr_reference for plan in comparison.plans if plan.bcr is not None}
    shared = references.pop() if len(references) == 1 else None
    label = labels.word("bcr")
    if shared is not None:
        label = f"{label} ({labels.name(clean(shared))} = 1)"

    def bcr(plan: Plan) -> str:
        if plan.bcr is None:
            return digits.MISSING
        return digits.number(plan.bcr, 2) if shared else sentences.bcr_text(plan, labels)

    return [
        _Row(f"{labels.word('demand')}, req/s", demand, lambda p: digits.rate(_number(demand(p)))),
        _Row(
            f"{labels.word('goodput')}, req/s",
            goodput,
            lambda p: digits.rate(_number(goodput(p))),
            best=max,
        ),
        _Row(label, lambda plan: plan.bcr, bcr, best=max, is_cost=shared is None),
    ]


def _number(value: Value) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _fleet_rows(comparison: Comparison, labels: Labels) -> list[_Row]:
    plans = comparison.plans

    def of_routing(key: str) -> Callable[[Plan], Value]:
        return lambda plan: getattr(plan.routing, key, None)

    def threshold(plan: Plan) -> str:
        if plan.routing is None:
            return digits.MISSING
        return sentences.threshold_text(plan, plan.routing.threshold)

    requests, tokens = of_routing("relay_request_fraction"), of_routing("relay_token_fraction")
    rows = [
        _Row(labels.word("threshold"), of_routing("threshold"), threshold),
        _Row(
            labels.word("relay_requests"),
            requests,
            lambda plan: digits.percent(_number(requests(plan))),
        ),
        _Row(
            labels.word("relay_tokens"), tokens, lambda plan: digits.percent(_number(tokens(plan)))
        ),
    ]
    pools = [(pool.role, pool.site, pool.chip) for plan in plans for pool in plan.pools]
    order = {role: number for number, role in enumerate(("prefill", "relay", "decode"))}
    by_role = sorted(dict.fromkeys(pools), key=lambda pool: order[pool[0]])
    rows += [_chips_row(key, labels) for key in by_role]
    links = [(link.from_site, link.to_site) for plan in plans for link in plan.links]
    rows += [_link_row(key, labels) for key in dict.fromkeys(links)]
    return [*rows, _total_row(labels)]


def _chips_row(key: PoolKey, labels: Labels) -> _Row:
    role, site, chip = key

    def chips(plan: Plan) -> int:
        return sum(p.chips for p in plan.pools if (p.role, p.site, p.chip) == key)

    label = f"{labels.word('chips_row')}, {clean(site)} {labels.word(role)} {clean(chip)}"
    return _Row(label, chips, lambda plan: digits.number(chips(plan), 0) if plan.pools else "-")


def _total_row(labels: Labels) -> _Row:
    def chips(plan: Plan) -> int:
        return sum(pool.chips for pool in plan.pools)

    label = f"{labels.word('chips_row')}, {labels.word('total')}"
    return _Row(label, chips, lambda plan: digits.number(chips(plan), 0) if plan.pools else "-")


def _link_row(key: tuple[str, str], labels: Labels) -> _Row:
    def gbps(plan: Plan) -> float:
        return sum(p.gbps for p in plan.links if (p.from_site, p.to_site) == key)

    label = labels.word("line", a=clean(key[0]), b=clean(key[1]))
    return _Row(f"{label}, Gbps", gbps, lambda plan: digits.significant(gbps(plan), 6))


def _proof_rows(labels: Labels) -> list[_Row]:
    def gap(plan: Plan) -> Value:
        return plan.certificate.gap if plan.certificate is not None else None

    def status(plan: Plan) -> str:
        return labels.word(f"status.{plan.status}" if plan.certificate else "evaluated")

    return [
        _Row(labels.word("status_row"), lambda plan: plan.status, status),
        _Row(labels.word("gap"), gap, lambda plan: digits.gap(_number(gap(plan)))),
    ]


def _notes(comparison: Comparison, labels: Labels) -> list[str]:
    plans = comparison.plans
    notes = []
    if len({plan.currency for plan in plans}) > 1:
        notes.append(labels.say("other_currencies"))
    if len({plan.demand for plan in plans if plan.demand is not None}) > 1:
        notes.append(labels.say("other_scenarios"))
    return notes


def _warnings(comparison: Comparison, labels: Labels) -> list[Section]:
    texts = []
    for name, plan in comparison.alternatives:
        texts += [Sentence(clean(name), clean(text), "bad") for text in plan.warnings]
        if plan.infeasibility is not None:
            texts.append(Sentence(clean(name), clean(plan.infeasibility.reason), "bad"))
    if not texts:
        return []
    return [Section("warnings", labels.word("warnings"), (Sentences(tuple(texts)),))]


def _footer(comparison: Comparison, labels: Labels) -> Facts:
    facts = []
    if comparison.command:
        facts.append(Fact(labels.word("command"), (Text(clean(comparison.command)),)))
    versions = ", ".join(dict.fromkeys(clean(plan.tool_version) for plan in comparison.plans))
    facts.append(Fact(labels.word("version"), (Text(f"pdd-plan {versions}"),)))
    for name, plan in comparison.alternatives:
        texts = [Text(clean(plan.scenario.name)), Text(clean(plan.scenario.sha256))]
        if plan.command and plan.command != comparison.command:
            texts.append(Text(clean(plan.command)))
        facts.append(Fact(clean(name), tuple(texts)))
    return Facts(tuple(facts))
