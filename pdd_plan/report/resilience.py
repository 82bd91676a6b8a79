"""What losses do, as blocks of a plan's report: one row a loss, and how requests are re-routed."""

from __future__ import annotations

from pdd_plan.fleet.plan import OutageResult, Plan, SloResult
from pdd_plan.report import digits, sentences, tables
from pdd_plan.report.blocks import Column, Mark, Sentence, Sentences, Table, Text
from pdd_plan.report.digits import clean
from pdd_plan.report.labels import Labels


def outages_table(plan: Plan, labels: Labels) -> Table:
    """Return one row for the whole fleet and one for each loss: limits, and load carried."""
    limited = plan.slo or tuple(_unlimited(plan))
    heads = (
        *tables.columns(labels, ("lost", "answer"), ()),
        *(Column(_limit_name(item, labels), right=True) for item in limited),
        *tables.columns(labels, (), ("carries",)),
    )
    if plan.resilience is None or not plan.resilience.outages:
        return Table(heads, ())
    whole = tables.row(
        labels.word("nothing_lost"),
        _answer("kept" if all(item.met for item in plan.slo) else "missed", labels),
        *(_predicted(item, labels) for item in limited),
        digits.rate(plan.goodput.requests_per_s if plan.goodput is not None else None),
    )
    return Table(heads, (whole, *(_row(one, len(limited), labels) for one in _outages(plan))))


def _outages(plan: Plan) -> tuple[OutageResult, ...]:
    return plan.resilience.outages if plan.resilience is not None else ()


def _row(outage: OutageResult, limits: int, labels: Labels) -> tuple[Text, ...]:
    shown = [_predicted(item, labels) for item in outage.slo or _figures(outage)]
    missing = [Text(digits.MISSING)] * (limits - len(shown))
    made = outage.goodput.requests_per_s if outage.goodput is not None else 0.0
    return tables.row(
        outage_name(outage, labels),
        _answer(outage.status, labels),
        *shown,
        *missing,
        digits.rate(made),
    )


def _unlimited(plan: Plan) -> list[SloResult]:
    """P90 TTFT and mean TPOT in the place of limits, where a plan has none."""
    if plan.latency is None:
        return []
    return _as_rows(plan.latency.ttft_s.p90, plan.latency.tpot_s.mean)


def _figures(outage: OutageResult) -> list[SloResult]:
    if outage.latency is None:
        return []
    return _as_rows(outage.latency.ttft_s.p90, outage.latency.tpot_s.mean)


def _as_rows(ttft: float | None, tpot: float | None) -> list[SloResult]:
    return [
        SloResult(metric="ttft", percentile=0.9, limit=0.0, predicted=ttft, met=True),
        SloResult(metric="tpot", percentile=None, limit=0.0, predicted=tpot, met=True),
    ]


def _limit_name(item: SloResult, labels: Labels) -> str:
    name = f"{labels.word(item.metric)} {tables.percentile_name(item.percentile, labels)}"
    return f"{name} <= {digits.limit_seconds(item.limit)}" if item.limit else name


def _predicted(item: SloResult, labels: Labels) -> Text:
    if item.predicted is None:
        return Text(labels.say("beyond"), "bad")
    said = digits.seconds(item.predicted, item.limit) if item.limit else ""
    return Text(said or digits.seconds(item.predicted), "" if item.met else "bad")


def _answer(status: str, labels: Labels) -> Text:
    mark: Mark = "good" if status == "kept" else "bad"
    return Text(labels.word(f"outage.{status}"), mark)


def outage_name(outage: OutageResult, labels: Labels) -> str:
    """Name of what is lost."""
    name = clean(outage.name)
    if outage.kind == "engines":
        return labels.word("lost_engines", name=name, count=outage.engines_lost)
    return labels.word(f"lost_{outage.kind}", name=name)


def rerouting_texts(plan: Plan, labels: Labels) -> Sentences:
    """Return how requests are re-routed after each loss, or why none can be served."""
    texts = []
    for outage in _outages(plan):
        said = _rerouted(outage, plan, labels)
        if outage.status in ("no_way_left", "overloaded"):
            said = [clean(outage.reason) + labels.say("end"), *said]
        if said:
            lead = outage_name(outage, labels)
            texts.append(Sentence(lead, labels.say("blank").join(said)))
    if texts or _outages(plan):
        texts.append(Sentence("", labels.say("carries")))
    return Sentences(tuple(texts))


def _rerouted(outage: OutageResult, plan: Plan, labels: Labels) -> list[str]:
    said = []
    if outage.rerouting in ("shares", "shares_and_threshold"):
        shares = [
            labels.say(
                "lane_share",
                a=clean(lane.from_site),
                b=clean(lane.to_site),
                share=digits.percent(lane.share),
            )
            for lane in outage.lanes
        ]
        said.append(labels.say("new_shares", shares=labels.say("comma").join(shares)))
    if outage.rerouting in ("threshold", "shares_and_threshold") and plan.routing is not None:
        never = 0.0 if plan.routing.by == "hit_rate" else None
        if outage.threshold == never:
            return [*said, labels.say("no_relay")]
        said.append(
            labels.say(
                "new_threshold",
                new=sentences.threshold_text(plan, outage.threshold),
                old=sentences.threshold_text(plan, plan.routing.threshold),
            )
        )
    return said
