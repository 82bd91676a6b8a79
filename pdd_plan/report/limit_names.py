"""What limits and latencies are called, and how a prediction stands beside its limit."""

from __future__ import annotations

from pdd_plan.fleet.plan import SloResult
from pdd_plan.report import digits
from pdd_plan.report.blocks import Text
from pdd_plan.report.digits import clean
from pdd_plan.report.labels import Labels


def percentile_name(percentile: float | None, labels: Labels) -> str:
    """Return P90 for 0.9 and the word for the mean for None."""
    if percentile is None:
        return labels.word("mean").lower()
    return f"P{digits.significant(100 * percentile, 6)}"


def latency_name(metric: str, percentile: float | None, labels: Labels) -> str:
    """Return the name of a latency, such as TTFT P90."""
    return f"{labels.word(metric)} {percentile_name(percentile, labels)}"


def key_name(key: str, labels: Labels) -> str:
    """Return the name of a latency that a scenario calls ``ttft_p90`` or ``tpot_mean``."""
    metric, _, tail = key.rpartition("_")
    return (
        f"{labels.name(metric)} {labels.word('mean').lower() if tail == 'mean' else tail.upper()}"
    )


def limit_name(item: SloResult, labels: Labels) -> str:
    """Return what is limited, such as TTFT P90, and for which part of the requests."""
    name = latency_name(item.metric, item.percentile, labels)
    return f"{name} {clean(item.traffic or item.region or '')}".strip()


def predicted_text(item: SloResult, labels: Labels) -> str:
    """Return what is predicted, never so rounded that it reads like the limit."""
    if item.predicted is None:
        return labels.say("beyond")
    return digits.seconds(item.predicted, item.limit)


def limit_text(item: SloResult, labels: Labels) -> Text:
    """Return what is predicted, and whether that is within the limit."""
    said = labels.say(
        "limit_met" if item.met else "limit_missed", limit=digits.limit_seconds(item.limit)
    )
    return Text(f"{predicted_text(item, labels)}  {said}", "good" if item.met else "bad")
