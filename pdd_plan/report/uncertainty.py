"""What uncertain inputs do to a plan: sentences, tables and a chart."""

from __future__ import annotations

import math

from pdd_plan.fleet.plan import Plan
from pdd_plan.fleet.plan_uncertainty import Probability, Spread, Uncertainty
from pdd_plan.report import digits
from pdd_plan.report.blocks import (
    Block,
    Chart,
    Column,
    Mark,
    Rule,
    Sentence,
    Sentences,
    Series,
    Table,
    Text,
)
from pdd_plan.report.digits import clean
from pdd_plan.report.labels import Labels
from pdd_plan.report.limit_names import key_name, latency_name
from pdd_plan.report.tables import columns, row

COST = "cost_per_token"


def risk_blocks(plan: Plan, labels: Labels) -> tuple[Block, ...]:
    """Return what is said about a plan's risk; nothing where no input is uncertain."""
    if plan.uncertainty is None:
        return ()
    return (_risk_table(plan, plan.uncertainty, labels), _sentences(plan, plan.uncertainty, labels))


def driver_blocks(plan: Plan, labels: Labels) -> tuple[Block, ...]:
    """Return the inputs with their spread and what each drives."""
    if plan.uncertainty is None:
        return ()
    return _drivers(plan.uncertainty, labels)


def searched_for_confidence(plan: Plan) -> bool:
    """Whether the plan is not the one for the values as written but one that holds."""
    return plan.uncertainty is not None and plan.uncertainty.nominal_risk is not None


def _risk_table(plan: Plan, told: Uncertainty, labels: Labels) -> Table:
    risk, before = told.risk, told.nominal_risk
    currency = clean(plan.currency)
    left = [Column(labels.word("what")), Column(labels.word("limit"), right=True)]
    right = columns(labels, (), ("holds", "interval", "holds_as_written"))
    heads = (*left, *right, *(Column(name, right=True) for name in ("P5", "P50", "P95")))

    def held(now: Probability, other: Probability | None) -> tuple[str, str, str]:
        return (
            digits.percent(now.estimate),
            f"{digits.percent(now.low)} - {digits.percent(now.high)}",
            digits.percent(other.estimate) if other is not None else "",
        )

    rows = [
        row(
            latency_name(one.metric, one.percentile, labels),
            digits.limit_seconds(one.limit),
            *held(one.holds, before.limits[number].holds if before is not None else None),
            *_times(one.predicted, one.limit, labels),
        )
        for number, one in enumerate(risk.limits)
    ]
    if len(rows) != 1:
        own = held(risk.holds, before.holds if before is not None else None)
        said = row(labels.word("every_limit"), "", *own, "", "", "")
        rows.insert(0, tuple(Text(cell.text, "strong") for cell in said))
    if not any(one.metric == "ttft" and one.percentile == 0.9 for one in risk.limits):
        name = labels.word("p90_ttft")
        rows.append(row(name, "", "", "", "", *_times(risk.ttft_p90_s, None, labels)))
    for key, spread in (
        ("per_m_out", risk.usd_per_million_output_tokens),
        ("per_hour", risk.usd_per_hour),
    ):
        amounts = (digits.money(value) for value in (spread.p5, spread.p50, spread.p95))
        rows.append(row(labels.word(key, currency=currency), "", "", "", "", *amounts))
    return Table(heads, tuple(rows))


def _times(spread: Spread, near: float | None, labels: Labels) -> tuple[str, ...]:
    return tuple(
        labels.word("unstable") if value is None else digits.seconds(value, near)
        for value in (spread.p5, spread.p50, spread.p95)
    )


def _sentences(plan: Plan, told: Uncertainty, labels: Labels) -> Sentences:
    said: list[Sentence] = []
    if told.confidence is not None:
        mark: Mark = "good" if told.confident else "bad"
        text = _confidence(plan, told, labels)
        said.append(Sentence(labels.word("confidence_lead"), text, mark))
    if told.risk.unstable_fraction:
        share = digits.percent(told.risk.unstable_fraction)
        said.append(
            Sentence(
                labels.word("unstable").capitalize(), labels.say("unstable_draws", share=share)
            )
        )
    text = labels.say("sampled", draws=digits.number(told.risk.draws, 0), seed=str(told.seed))
    if searched_for_confidence(plan) and told.headroom is not None:
        own = told.headroom
        plans, fleets = digits.number(own.plans, 0), digits.number(own.fleets, 0)
        text += labels.say("blank") + labels.say("searched", plans=plans, fleets=fleets)
    said.append(Sentence(labels.word("sampled"), text))
    return Sentences(tuple(said))


def _confidence(plan: Plan, told: Uncertainty, labels: Labels) -> str:
    """Say whether the confidence asked for is reached, and what it costs."""
    confidence = digits.percent(told.confidence)
    own = told.headroom
    if own is None:
        key = "enough_confident" if told.confident else "less_confident"
        return labels.say(key, confidence=confidence)
    if not own.reached or own.verification is None:
        return labels.say("not_confident", confidence=confidence)
    seen = own.verification.holds
    text = labels.say(
        "confident",
        confidence=confidence,
        draws=digits.number(own.verification.draws, 0),
        share=digits.percent(seen.estimate),
        low=digits.percent(seen.low),
        high=digits.percent(seen.high),
    )
    if told.nominal_risk is None:
        return text + labels.say("blank") + labels.say("confident_same")
    nominal = told.nominal_risk.holds.estimate
    said = [
        text,
        labels.say(
            "confident_extra",
            extra=digits.percent(own.extra_fraction),
            cost=digits.money(own.nominal_usd_per_hour),
            currency=clean(plan.currency),
            share=digits.percent(nominal),
        ),
    ]
    if told.confidence is not None and nominal >= told.confidence:
        said.append(labels.say("confident_unshown", confidence=confidence))
    return labels.say("blank").join(said)


def _drivers(told: Uncertainty, labels: Labels) -> tuple[Block, ...]:
    """Table of the inputs that drive something, the strongest first; the others in a sentence."""
    names = list(dict.fromkeys(one.outcome for one in told.drivers))
    found = {(one.path, one.outcome): one.rank_correlation for one in told.drivers}
    # Independent columns correlate by chance with a standard deviation of 1 / sqrt(draws - 1).
    chance = 3.0 / math.sqrt(told.risk.draws - 1)

    def strength(path: str) -> float:
        return max(abs(found[path, name]) for name in names)

    shown = sorted(
        (one for one in told.inputs if strength(one.path) > chance),
        key=lambda one: -strength(one.path),
    )
    heads = (
        Column(labels.word("input")),
        *(Column(name, right=True) for name in (labels.word("written"), "P5", "P50", "P95")),
        *(Column(_outcome(name, labels), right=True) for name in names),
    )
    rows = [
        row(
            clean(", ".join(filter(None, (one.path, one.unit)))),
            *(digits.significant(value, 4) for value in (one.written, one.p5, one.p50, one.p95)),
            *(_correlation(found[one.path, name], chance) for name in names),
        )
        for one in shown
    ]
    rest = [clean(one.path) for one in told.inputs if one not in shown]
    quiet = (
        (Sentence(labels.word("unseen"), f"{', '.join(rest)}{labels.say('end')}"),) if rest else ()
    )
    return Table(heads, tuple(rows)), Sentences(quiet)


def _outcome(name: str, labels: Labels) -> str:
    """Return the heading for an outcome: cost, or the name of a limit such as slo.ttft_p90."""
    if name == COST:
        return labels.word("cost_short")
    return key_name(name.removeprefix("slo."), labels)


def _correlation(value: float, chance: float) -> Text:
    return Text(f"{value:+.2f}", "strong" if abs(value) > chance else "faint")


def risk_chart(plan: Plan, labels: Labels) -> Chart | None:
    """Return the histogram of P90 TTFT over the draws, with its limit."""
    told = plan.uncertainty
    if told is None or told.ttft_p90_histogram is None:
        return None
    bins = told.ttft_p90_histogram
    rules = tuple(
        Rule(f"{labels.word('limit')} {digits.limit_seconds(one.limit)}", one.limit)
        for one in told.risk.limits
        if one.metric == "ttft" and one.percentile == 0.9
    )
    return Chart(
        key="risk",
        kind="steps",
        title=labels.word("chart.risk"),
        description=labels.say("chart.risk", beyond=digits.percent(told.ttft_p90_beyond)),
        x_label=labels.word("axis.p90"),
        y_label=labels.word("axis.draws"),
        series=(Series(labels.word("all"), bins.edges, bins.weights),),
        rules=rules,
    )
