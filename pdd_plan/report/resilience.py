"""What losses do, as blocks of a plan's report: cost of surviving, one row a loss, re-routing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pdd_plan.fleet.plan import Lane, Latency, OutageResult, Plan, SloResult
from pdd_plan.report import digits, sentences, tables
from pdd_plan.report.blocks import Column, Fact, Facts, Mark, Sentence, Sentences, Table, Text
from pdd_plan.report.digits import clean
from pdd_plan.report.labels import Labels
from pdd_plan.report.limit_names import latency_name, predicted_text


@dataclass(frozen=True)
class _Figure:
    """A latency that has a column: its limits with nothing and with something lost [s].

    `part` is the traffic class or region whose requests count, empty for all.
    """

    metric: str
    percentile: float | None
    part: str = ""
    limit: float | None = None
    limit_lost: float | None = None

    @property
    def key(self) -> _Key:
        """What tells the figure from others."""
        return self.metric, self.percentile, self.part


_Key = tuple[str, float | None, str]


def resilience_facts(plan: Plan, labels: Labels) -> Facts:
    """Return what is tolerated, what that costs and which losses the plan was made for."""
    found = plan.resilience
    if found is None or found.tolerated is None:
        return Facts(())
    wanted, currency = found.tolerated, clean(plan.currency)
    said = []
    if wanted.engines:
        said.append(_spares(str(wanted.engines), labels))
    for kind, name in (("site", wanted.site), ("line", wanted.line)):
        if name == "any":
            said.append(labels.say(f"tolerates_any_{kind}"))
        elif name != "none":
            said.append(labels.word(f"lost_{kind}", name=clean(name)))
    facts = [Fact(labels.word("tolerates"), (Text(labels.say("or").join(said)),))]
    with_it, without = found.usd_per_hour, found.usd_per_hour_without
    if with_it is not None and without is not None:
        per_hour = labels.word("per_hour", currency=currency)
        more = labels.say(
            "extra",
            amount=digits.money(max(with_it - without, 0.0)),
            unit=per_hour,
            share=digits.percent(with_it / without - 1.0) if without > 0.0 else digits.MISSING,
        )
        plain = labels.say("without", amount=digits.money(without), unit=per_hour)
        texts = (Text(f"{digits.money(with_it)} {per_hour}", "strong"), Text(plain), Text(more))
        facts.append(Fact(labels.word("cost"), texts))
    if found.binding:
        names = labels.say("comma").join(_label(one, labels) for one in found.binding)
        facts.append(Fact(labels.word("decided_by"), (Text(names),)))
    return Facts(tuple(facts))


def _spares(count: str, labels: Labels) -> str:
    return labels.say("tolerates_engine" if count == "1" else "tolerates_engines", count=count)


def _label(outage: str, labels: Labels) -> str:
    """Name of a loss written as after ``--fail``."""
    kind, _, name = outage.partition(":")
    if kind == "engines":
        return _spares(clean(name), labels)
    return labels.word(f"lost_{kind}", name=clean(name))


def outages_table(plan: Plan, labels: Labels) -> Table:
    """Return one row for the whole fleet and one for each loss: latencies, and load carried."""
    outages = plan.resilience.outages if plan.resilience is not None else ()
    figures = _figures(plan, outages)
    heads = (
        *tables.columns(labels, ("lost", "answer"), ()),
        *(Column(_heading(figure, labels), right=True) for figure in figures),
        *tables.columns(labels, (), ("carries",)),
    )
    if not outages:
        return Table(heads, ())
    kept = "kept" if all(item.met for item in plan.slo) else "missed"
    made = plan.goodput.requests_per_s if plan.goodput is not None else None
    rows = [
        tables.row(
            labels.word("nothing_lost"),
            _answer(kept, labels),
            *(_text(figure, plan.slo, plan.latency, labels) for figure in figures),
            digits.rate(made),
        )
    ]
    rows += [
        tables.row(
            outage_name(one, labels),
            _answer(one.status, labels),
            *(_text(figure, one.slo, one.latency, labels) for figure in figures),
            digits.rate(one.goodput.requests_per_s if one.goodput is not None else 0.0),
        )
        for one in outages
    ]
    return Table(heads, tuple(rows))


def _figures(plan: Plan, outages: Sequence[OutageResult]) -> list[_Figure]:
    """Every limited latency, and P90 TTFT in any case."""
    found = {}
    lost = [item for outage in outages for item in outage.slo]
    for item in (*plan.slo, *lost):
        key = _key(item)
        found[key] = _Figure(*key, _limit_of(plan.slo, key), _limit_of(lost, key))
    found.setdefault(("ttft", 0.9, ""), _Figure("ttft", 0.9))
    return list(found.values())


def _key(item: SloResult) -> _Key:
    return item.metric, item.percentile, item.traffic or item.region or ""


def _limit_of(slo: Sequence[SloResult], key: _Key) -> float | None:
    return next((one.limit for one in slo if _key(one) == key), None)


def _heading(figure: _Figure, labels: Labels) -> str:
    name = latency_name(figure.metric, figure.percentile, labels)
    if figure.part:
        name += f" {clean(figure.part)}"
    if figure.limit is not None:
        name += f" <= {digits.limit_seconds(figure.limit)}"
    if figure.limit_lost is not None and figure.limit_lost != figure.limit:
        name += labels.say("lost_limit", limit=digits.limit_seconds(figure.limit_lost))
    return name


def _text(
    figure: _Figure, slo: Sequence[SloResult], latency: Latency | None, labels: Labels
) -> Text:
    periods = [item for item in slo if _key(item) == figure.key]
    if periods:
        worst = max(
            periods,
            key=lambda item: (
                not item.met,
                math.inf if item.predicted is None else item.predicted,
            ),
        )
        good = worst.met and worst.predicted is not None
        return Text(predicted_text(worst, labels), "" if good else "bad")
    if figure.part:
        return Text(digits.MISSING)
    block = getattr(latency, f"{figure.metric}_s", None)
    name = "mean" if figure.percentile is None else f"p{round(100 * figure.percentile)}"
    return Text(digits.seconds(getattr(block, name, None)))


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
    found = plan.resilience
    if found is None or not found.outages:
        return Sentences(())
    texts = []
    for outage in found.outages:
        said = _rerouted(outage, plan, labels)
        if outage.status in ("no_way_left", "overloaded"):
            said = [clean(outage.reason) + labels.say("end"), *said]
        if said:
            lead = outage_name(outage, labels)
            texts.append(Sentence(lead, labels.say("blank").join(said)))
    texts.append(Sentence("", labels.say("carries")))
    return Sentences(tuple(texts))


def _rerouted(outage: OutageResult, plan: Plan, labels: Labels) -> list[str]:
    said = []
    if outage.rerouting in ("shares", "shares_and_threshold"):
        shares = [_lane(lane, labels) for lane in outage.lanes]
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


def _lane(lane: Lane, labels: Labels) -> str:
    """Share of a lane; one inside a site goes by its name."""
    key = "lane_share" if lane.from_site != lane.to_site else "home_share"
    ends = {"a": clean(lane.from_site), "b": clean(lane.to_site)}
    return labels.say(key, share=digits.percent(lane.share), **ends)
