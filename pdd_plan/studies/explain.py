"""What a plan rests on and what holds it: assumptions, warnings, limits reached."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from pdd_plan.catalog.chips import PROFILE_KEYS
from pdd_plan.errors import UnstableQueueError
from pdd_plan.fleet.build import SLOT_WAITS, BuiltProblem
from pdd_plan.fleet.efficiencies import file_efficiencies
from pdd_plan.fleet.evaluate import Evaluation, evaluate
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.plan import Assumption, Binding, Sensitivity
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.fleet.purchase import paid_chips
from pdd_plan.roofline import Efficiencies
from pdd_plan.scenario.schema import Scenario
from pdd_plan.studies.scored import Scored

Confidence = Literal["high", "medium", "low", "user"]

NEAR = 0.97
"""Share of a limit from which on it counts as reached."""

SHOWN_EFFICIENCIES = (
    ("compute", "compute", 1.0, ""),
    ("compute_moe", "compute_moe", 1.0, ""),
    ("memory", "memory", 1.0, ""),
    ("link", "link", 1.0, ""),
    ("kernel", "kernel_s", 1e6, "us"),
)
"""Efficiencies that a plan lists: scenario key, attribute, unit and what scales to it."""


def assumptions_of(scenario: Scenario, built: BuiltProblem) -> tuple[Assumption, ...]:
    """Values that the plan rests on and the scenario did not give, with their sources."""
    out = []
    for (site, name), chip in built.chips.items():
        for key, fact in chip.facts.items():
            out.append(
                Assumption(
                    path=f"sites.{site}.chips.{name}.{PROFILE_KEYS.get(key, key)}",
                    value=fact.value,
                    unit=fact.unit,
                    source=f"{fact.source} ({fact.date})" if fact.date else fact.source,
                    confidence=_confidence(fact.confidence),
                )
            )
        if chip.relative is not None:
            ratios = f"{chip.relative.prefill:g} / {chip.relative.decode:g}"
            out.append(
                Assumption(
                    path=f"sites.{site}.chips.{name}",
                    value=f"prefill / decode speed {ratios} of {chip.relative.to}",
                    source=chip.relative.source,
                    confidence=_confidence(chip.relative.confidence),
                )
            )
    model = built.model
    out.append(
        Assumption(
            path="model",
            value=model.title,
            source=model.source,
            confidence=_confidence(model.confidence),
        )
    )
    out += _efficiencies(scenario)
    out += _defaults(scenario, built)
    return tuple(out)


def _confidence(word: str) -> Confidence | None:
    known: tuple[Confidence, ...] = ("high", "medium", "low", "user")
    return next((one for one in known if one == word), None)


def _efficiencies(scenario: Scenario) -> list[Assumption]:
    given = scenario.efficiencies.changes()
    sections = {"efficiencies": scenario.efficiencies}
    chips = {
        f"sites.{name}.chips.{chip}.efficiencies": offer.efficiencies
        for name, site in scenario.sites.items()
        for chip, offer in site.chips.items()
    }
    sections |= {path: section for path, section in chips.items() if section is not None}
    files = [
        Assumption(
            path=f"{path}.file",
            value=section.file,
            source=file_efficiencies(scenario.source.folder / section.file).source,
            confidence="user",
        )
        for path, section in sections.items()
        if section.file is not None
    ]
    if scenario.efficiencies.file is not None or len(files) == len(chips):
        return files
    default = Efficiencies.default()
    return files + [
        Assumption(
            path=f"efficiencies.{key}",
            value=float(getattr(default, name)) * scale,
            unit=unit,
            source=default.source,
            confidence="medium",
        )
        for key, name, scale, unit in SHOWN_EFFICIENCIES
        if name not in given
    ]


def _defaults(scenario: Scenario, built: BuiltProblem) -> list[Assumption]:
    workload = scenario.workload
    out = []
    if workload.arrival_scv is None:
        out.append(
            Assumption(
                path="workload.arrival_scv",
                value=built.problem.arrival_scv,
                source=built.workload.summary.arrival_scv_source,
                confidence="medium",
            )
        )
    if scenario.slo.slot_wait is None:
        tried = ", ".join(f"{100 * wait:g} %" for wait in SLOT_WAITS)
        out.append(
            Assumption(
                path="slo.slot_wait",
                value=tried,
                source="default: shares of requests that may wait for a slot, all tried",
                confidence="medium",
            )
        )
    return out


def warnings_of(built: BuiltProblem, main: Scored) -> tuple[str, ...]:
    """What a reader of the plan should know before trusting it."""
    out = list(built.workload.summary.warnings)
    used = set()
    if main.candidate is not None:
        for engines, pool in zip(main.candidate.engines, built.problem.pools, strict=True):
            if engines:
                used.add((pool.site, pool.chip))
    for site, name in sorted(used):
        low = built.chips[site, name].low_confidence()
        if low:
            fields = ", ".join(PROFILE_KEYS.get(key, key) for key in low)
            out.append(f"{name} at {site}: sources of low confidence for {fields}")
        out += [f"{name}: {note}" for note in built.chips[site, name].notes]
    evaluation = main.evaluation
    if evaluation is not None:
        out += [
            f"slo.{one.limit.key} is missed: predicted {one.predicted_s:.3g} s, "
            f"limit {one.limit.limit_s:g} s"
            for one in evaluation.limits
            if not one.met
        ]
    if main.status == "feasible" and main.certificate is not None:
        out.append(
            f"{main.unproven}: the plan is within {100 * main.certificate.gap:.1f} % of the optimum"
        )
    return tuple(dict.fromkeys(out))


def binding_of(
    problem: Problem, candidate: Candidate, evaluation: Evaluation
) -> tuple[Binding, ...]:
    """Limits that the plan has reached."""
    out = [
        Binding(
            what=f"slo.{one.limit.key}",
            value=float(one.predicted_s),
            limit=one.limit.limit_s,
            unit="s",
        )
        for one in evaluation.limits
        if NEAR * one.limit.limit_s <= one.predicted_s < np.inf
    ]
    used = candidate.chips_used(problem)
    smallest: dict[tuple[str, str], int] = {}
    for pool in problem.pools:
        key = (pool.site, pool.chip)
        smallest[key] = min(smallest.get(key, pool.chips_per_engine), pool.chips_per_engine)
    for (site, chip), chips in used.items():
        stock = problem.stock[site, chip]
        if chips and stock - chips < smallest[site, chip]:
            out.append(
                Binding(
                    what=f"sites.{site}.chips.{chip}.available",
                    value=float(chips),
                    limit=float(stock),
                    unit="chips",
                )
            )
    paid = paid_chips(problem.terms, used)
    for site, most in problem.site_chips.items():
        standing = sum(count for key, count in paid.items() if key[0] == site)
        units = [size for key, size in smallest.items() if key[0] == site]
        if most - standing < min(units, default=1):
            out.append(
                Binding(
                    what=f"sites.{site}.max_chips",
                    value=float(standing),
                    limit=float(most),
                    unit="chips",
                )
            )
    for lane, level in zip(problem.lanes, candidate.levels, strict=True):
        if not lane.local and level == lane.bytes_per_s.size - 1:
            size = float(lane.bytes_per_s[level]) * 8e-9
            out.append(
                Binding(what=f"link {lane.label} bandwidth", value=size, limit=size, unit="Gbps")
            )
    return tuple(out)


def one_fewer(problem: Problem, model: PathModel, candidate: Candidate) -> tuple[Sensitivity, ...]:
    """What one engine fewer in each pool would do."""
    out = []
    for index, engines in enumerate(candidate.engines):
        if engines == 0:
            continue
        pool = problem.pools[index]
        counts = list(candidate.engines)
        counts[index] = engines - 1
        fewer = replace(candidate, engines=tuple(counts))
        cost = fewer.usd_per_hour(problem)
        change = f"one {pool.role} engine fewer at {pool.site}"
        feasible, p90, effect = _effect(problem, model, fewer)
        out.append(
            Sensitivity(
                change=change,
                path=pool.label,
                value=engines - 1,
                feasible=feasible,
                usd_per_hour=cost,
                ttft_p90_s=p90,
                effect=effect,
            )
        )
    return tuple(out)


def _effect(problem: Problem, model: PathModel, fewer: Candidate) -> tuple[bool, float | None, str]:
    try:
        result = evaluate(problem, fewer, model)
    except UnstableQueueError:
        return False, None, "the rest cannot carry the load"
    p90 = float(result.ttft.quantile(0.9))
    missed = [one for one in result.limits if not one.met]
    shown = p90 if np.isfinite(p90) else None
    if missed:
        first = missed[0]
        text = (
            f"slo.{first.limit.key} would be {first.predicted_s:.3g} s, "
            f"limit {first.limit.limit_s:g} s"
        )
        return False, shown, text
    if result.check.ok:
        return True, shown, "every limit would still be met"
    broken = result.check.violations[0]
    kinds = {
        "prefill": "the limits would not hold on every path",
        "decode": "more requests than allowed would wait for a decode slot, or steps be too slow",
        "relay": "more requests than allowed would wait for a relay slot",
    }
    return False, shown, kinds.get(broken.kind, f"{broken.kind} at {broken.where} would be short")
