"""Predicted against simulated: random fleets and a grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.pages import table
from benchmarks.validation import charts
from benchmarks.validation.cases import Case, grid_cases, random_cases
from benchmarks.validation.comparing import (
    REPLICATIONS,
    TOLERANCES,
    Difference,
    Outcome,
    compare,
    errors,
)
from benchmarks.validation.document import Section, image, percent, seconds, signed

Report = Callable[[str], None]

GAP_SHARE, GAP_POINTS = 0.15, 0.01
"""Errors of the share beyond a percentile up to which the law is right, but flat there: of that
share itself, and at most."""

TIGHT_DECODE = 0.85
"""Use of main decode from which its stalls, waits and the relay's work feed on each other."""

TIGHT_LINE = 0.85
"""Use of a line from which transfer times are rough."""


def random_section(plans: int, folder: Path, jobs: int, report: Report) -> Section:
    """Compare random fleets.

    Parameters
    ----------
    plans : int
        How many.
    folder : Path
        Where simulations are kept.
    jobs : int
        Replications at a time.
    report : callable
        Told what is done.
    """
    outcomes = _outcomes(list(random_cases(plans)), folder, jobs, report)
    accepted = {
        figure: np.array([one.differences[figure].accepted for one in outcomes])
        for figure in TOLERANCES
    }
    everywhere = np.all(list(accepted.values()), axis=0)
    rows = [_summary_row(outcomes, figure, accepted[figure]) for figure in TOLERANCES]
    body = "\n\n".join(
        [
            f"{plans} random fleets of ten kinds at loads up to 0.9, in turn: one prefill and one "
            "decode site; two by two sites with two chips each; larger pools; high load; no relay; "
            "capped connections; a pool of 8 connections; bursty arrivals (SCV 2.5); separate "
            "queues of the engines; decode at the prefill site too. The hand-off alternates. "
            "Traffic is drawn anew for each: prompts log-normal about 24 thousand tokens, 70-85 % "
            "of the requests with 93-99.8 % of their prompt cached. The fleets are sized from "
            "offered work alone, so a fault of the model cannot hide in the choice. Each is "
            f"simulated {REPLICATIONS} times with 80 thousand requests; a prediction is accepted "
            "if it differs by no more than the tolerance beyond the 95 % confidence interval.",
            table(
                ("", "tolerance", "accepted", "without the interval", "median error",
                 "90 % within", "bias", "interval, median"),
                rows,
                "lrrrrrrr",
            ),
            f"All four figures are accepted in {percent(float(everywhere.mean()), 1)} of the "
            f"fleets. {_took(outcomes)}",
            image("validation-errors.svg", "Histograms of relative errors"),
            image("validation-p90.svg", "Predicted against simulated P90 of TTFT"),
            _misses(outcomes),
        ]
    )  # fmt: skip
    shares = {figure: float(ok.mean()) for figure, ok in accepted.items()}
    summary = (
        f"{plans} random fleets: accepted against simulation "
        + ", ".join(f"{figure} {percent(share, 1)}" for figure, share in shares.items()),
    )
    return Section("Predicted against simulated: random fleets", body, _charts(outcomes), summary)


def grid_section(folder: Path, jobs: int, report: Report) -> Section:
    """Compare the grid: one fleet, one or two of its settings changed at a time."""
    outcomes = _outcomes(list(grid_cases()), folder, jobs, report)
    parts = [
        "One fleet of a prefill and a decode site with traffic as above. In its middle: "
        "8 engines at load 0.8, the line at 0.6, Poisson arrivals, one-shot hand-off, 30 % of the "
        "requests relayed; decode slots filled to about two thirds. Errors of the prediction by "
        "what is changed; bold where it is not accepted. Below 1 in the column of arrivals means "
        "more regular than Poisson."
    ]
    drawn: dict[str, str] = {}
    kinds = {
        "load": ("engines", "load of prefill"),
        "skew": ("hit rates", "load of the line"),
        "bursts": ("engines", "SCV of arrivals"),
        "handoff": ("hand-off", "load of the line"),
    }
    for group, labels in kinds.items():
        here = [one for one in outcomes if one.case.group == group]
        parts.append(_grid_table(here, labels))
        if group == "load":
            drawn["validation-load.svg"] = _grid_chart(here, labels)
            parts.append(image("validation-load.svg", "Errors of P90 by engines and load"))
    bad = sum(not d.accepted for one in outcomes for d in one.differences.values())
    summary = (
        f"Grid of {len(outcomes)} fleets: {bad} of {4 * len(outcomes)} figures not accepted",
    )
    parts += [_misses(outcomes), _took(outcomes)]
    return Section("Predicted against simulated: a grid", "\n\n".join(parts), drawn, summary)


def _outcomes(cases: Sequence[Case], folder: Path, jobs: int, report: Report) -> list[Outcome]:
    found = []
    for index, case in enumerate(cases):
        found.append(compare(case, folder, jobs))
        report(f"{index + 1}/{len(cases)} {case.name}")
    return found


def _took(outcomes: Sequence[Outcome]) -> str:
    minutes = sum(one.seconds for one in outcomes) / 60.0
    return f"The simulations took {minutes:.0f} minutes on two shared cores."


def _summary_row(outcomes: list[Outcome], figure: str, accepted: np.ndarray) -> tuple[str, ...]:
    relative = errors(outcomes, figure)
    tolerance = TOLERANCES[figure]
    half = np.array(
        [o.differences[figure].half_width_s / o.differences[figure].simulated_s for o in outcomes]
    )
    return (
        figure,
        percent(tolerance),
        percent(float(accepted.mean()), 1),
        percent(float((abs(relative) <= tolerance).mean())),
        percent(float(np.median(abs(relative))), 1),
        percent(float(np.quantile(abs(relative), 0.9)), 1),
        signed(float(np.median(relative))),
        "± " + percent(float(np.median(half)), 1),
    )


def cause(outcome: Outcome, difference: Difference) -> str:
    """Say why a figure is off, by what can be seen of the fleet and of the law."""
    at, wanted = difference.shares
    if wanted and abs(at - wanted) <= min(GAP_SHARE * (1.0 - wanted), GAP_POINTS):
        return (
            "a gap in the law: few requests lie there, so a small error of the share moves the "
            f"percentile far (predicted share {percent(at, 1)} instead of {percent(wanted)})"
        )
    if outcome.case.problem.arrival_scv != 1.0:
        return "bursts: two moments of the arrivals do not fix the wait at few servers"
    if outcome.uses.get("decode", 0.0) > TIGHT_DECODE and outcome.uses.get("relay", 0.0) > 0.0:
        return (
            "main decode nearly full: recomputing halts it, transfers wait for slots, the relay "
            "speaks longer and leaves more to recompute; the prediction does not close that loop"
        )
    if outcome.uses["line"] > TIGHT_LINE:
        return "the line nearly full: transfer times are approximated by two moments"
    if outcome.case.problem.lanes[0].connections is not None:
        return "a connection pool nearly used up: limited sharing is an approximation"
    return "not explained"


def _misses(outcomes: Sequence[Outcome]) -> str:
    rows = [
        (
            outcome.case.name,
            " ".join(outcome.case.features.values()),
            difference.figure,
            seconds(difference.predicted_s),
            f"{seconds(difference.simulated_s)} ± "
            + percent(difference.half_width_s / difference.simulated_s, 1),
            signed(difference.relative),
            cause(outcome, difference),
        )
        for outcome in outcomes
        for difference in outcome.differences.values()
        if not difference.accepted
    ]
    if not rows:
        return "Nothing is outside its tolerance."
    heads = ("fleet", "setting", "figure", "predicted", "simulated", "error", "cause")
    return "Outside its tolerance:\n\n" + table(heads, rows, "lllrrrl")


def _grid_table(outcomes: Sequence[Outcome], labels: tuple[str, str]) -> str:
    columns = list(dict.fromkeys(one.case.features["column"] for one in outcomes))
    by_place = {(o.case.features["row"], o.case.features["column"]): o for o in outcomes}
    rows = []
    for row in dict.fromkeys(one.case.features["row"] for one in outcomes):
        for figure in TOLERANCES:
            cells = []
            for column in columns:
                one = by_place[row, column].differences[figure]
                said = signed(one.relative)
                cells.append(said if one.accepted else f"**{said}**")
            rows.append((f"{row}, {figure}".replace("_", "-"), *cells))
    return table((f"{labels[0]}; {labels[1]}:", *columns), rows, "l" + "r" * len(columns))


def _grid_chart(outcomes: Sequence[Outcome], labels: tuple[str, str]) -> str:
    rows = list(dict.fromkeys(one.case.features["row"] for one in outcomes))
    columns = list(dict.fromkeys(one.case.features["column"] for one in outcomes))
    errors_by = {
        (o.case.features["row"], o.case.features["column"]): o.differences["TTFT P90"].relative
        for o in outcomes
    }
    values = [[errors_by[row, column] for column in columns] for row in rows]
    return charts.heat("Error of the predicted P90 of TTFT", rows, columns, values, labels)


def _charts(outcomes: list[Outcome]) -> dict[str, str]:
    shown = [(figure, errors(outcomes, figure), limit) for figure, limit in TOLERANCES.items()]
    groups: dict[bool, list[tuple[float, float, str]]] = {True: [], False: []}
    for outcome in outcomes:
        one = outcome.differences["TTFT P90"]
        name = " ".join((outcome.case.name, *outcome.case.features.values()))
        groups[one.accepted].append((one.simulated_s, one.predicted_s, name))
    return {
        "validation-errors.svg": charts.error_histograms(
            f"Errors of the prediction over {len(outcomes)} random fleets", shown
        ),
        "validation-p90.svg": charts.scatter(
            "P90 of TTFT, predicted against simulated (orange: not accepted)",
            groups[True],
            ("simulated, s", "predicted, s"),
            groups[False],
        ),
    }
