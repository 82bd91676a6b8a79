"""Measured points as runs of engines of a scenario, checked against what physics allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pdd_plan.catalog import ChipProfile, ModelProfile
from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.build import scenario_model
from pdd_plan.fleet.chips import resolve_chips
from pdd_plan.fleet.measurements import MeasuredPoint, Measurements
from pdd_plan.roofline import FRAMEWORKS, EngineShape, make_engine_times
from pdd_plan.roofline.aggregated import WAVE_SHARE
from pdd_plan.roofline.runs import MeasuredRun
from pdd_plan.scenario import Scenario
from pdd_plan.units import format_quantity, nearest
from pdd_plan.workload.files import RowProblems


@dataclass(frozen=True)
class RunsOfChip:
    """Measured runs of one chip under one framework, beside the points that they come from.

    Attributes
    ----------
    chip : str
        Name in the scenario.
    framework : str
        One of `pdd_plan.roofline.FRAMEWORKS`.
    model : str
        Name of the model.
    points : tuple of MeasuredPoint
        The points.
    runs : tuple of MeasuredRun
        The same, with profiles and shapes.
    others : int
        Points of other chips that were left out.
    """

    chip: str
    framework: str
    model: str
    points: tuple[MeasuredPoint, ...]
    runs: tuple[MeasuredRun, ...]
    others: int = 0


def measured_runs(scenario: Scenario, table: Measurements, chip: str | None = None) -> RunsOfChip:
    """Return the measured runs of one chip of a scenario.

    Parameters
    ----------
    scenario : Scenario
        Gives the model, its precision and memory share, the chips, and what a point leaves open:
        the only chip, the framework, the only engine shape of the chip.
    table : Measurements
        As read.
    chip : str or None
        Chip to take; None takes the only one of the table.

    Returns
    -------
    RunsOfChip

    Raises
    ------
    InputError
        If chips, models or frameworks are unknown or mixed, a shape is open or impossible, or a
        time lies below the physical floor; with the line of each point.
    """
    problems = RowProblems(table.file)
    chips = {name: profile for (_, name), profile in resolve_chips(scenario).items()}
    model = scenario_model(scenario)
    names = [_chip(point, chips, chip, problems) for point in table.points]
    for point in table.points:
        _check_model(point, scenario, model, problems)
    problems.check()
    chosen = _one(names, "chip", "--chip", chip, table.file)
    points = tuple(p for p, name in zip(table.points, names, strict=True) if name == chosen)
    profile = chips[chosen]
    if profile.relative is not None:
        raise InputError(
            Issue(
                f"{chosen} is stated relative to {profile.relative.to}: it has no data sheet that "
                "efficiencies could be shares of",
                file=table.file,
                help=f"calibrate {profile.relative.to}, or change prefill and decode of {chosen}",
            )
        )
    frameworks = [_framework(point, scenario, problems) for point in points]
    problems.check()
    framework = _one(frameworks, "framework", "the column framework", None, table.file)
    runs = tuple(
        run
        for point in points
        if (run := _run(scenario, model, profile, chosen, framework, point, problems)) is not None
    )
    problems.check()
    return RunsOfChip(chosen, framework, model.name, points, runs, len(table.points) - len(points))


def _chip(
    point: MeasuredPoint, chips: dict[str, ChipProfile], wanted: str | None, problems: RowProblems
) -> str:
    name = point.chip or wanted or (next(iter(chips)) if len(chips) == 1 else "")
    if not name:
        problems.add(
            point.line,
            "the point names no chip, and the scenario has several",
            "chip",
            f"add a column chip, or --chip {next(iter(chips))}; chips are {', '.join(chips)}",
        )
    elif name not in chips:
        near = nearest(name, chips)
        mend = f"did you mean {near}?" if near else f"chips are {', '.join(chips)}"
        problems.add(point.line, f"chip {name} is not in the scenario", "chip", mend)
    return name


def _one(values: Sequence[str], what: str, where: str, wanted: str | None, file: str) -> str:
    """Return the one value wanted, or the only one there is."""
    counts = {value: list(values).count(value) for value in dict.fromkeys(values)}
    if wanted is not None and wanted in counts:
        return wanted
    listed = ", ".join(f"{value} ({count})" for value, count in counts.items())
    if wanted is not None:
        raise InputError(
            Issue(f"no point is of {what} {wanted}", file=file, help=f"the points are of {listed}")
        )
    if len(counts) > 1:
        choose = f"choose one: {where} {values[0]}" if where[:2] == "--" else "keep the rows of one"
        raise InputError(
            Issue(f"points of several {what}s are mixed: {listed}", what, file, 0, choose)
        )
    return values[0]


def _check_model(
    point: MeasuredPoint, scenario: Scenario, model: ModelProfile, problems: RowProblems
) -> None:
    known = {model.name.lower(), model.title.lower(), str(scenario.model).lower()}
    if point.model and point.model.lower() not in known:
        problems.add(
            point.line,
            f"the point is of model {point.model}, the scenario of {model.name}",
            "model",
            f"keep the rows of one model; add --set model={point.model} to calibrate for the other",
        )


def _framework(point: MeasuredPoint, scenario: Scenario, problems: RowProblems) -> str:
    name = (point.framework or scenario.serving.framework or "").lower()
    if name in FRAMEWORKS:
        return name
    listed = ", ".join(FRAMEWORKS)
    if not name:
        mend = f"add a column framework ({listed}), or --set serving.framework={FRAMEWORKS[1]}"
        problems.add(point.line, "the point names no framework", "framework", mend)
    else:
        near = nearest(name, FRAMEWORKS)
        mend = f"did you mean {near}?" if near else f"frameworks are {listed}"
        problems.add(point.line, f"framework {name} is not known", "framework", mend)
    return name


def _run(
    scenario: Scenario,
    model: ModelProfile,
    profile: ChipProfile,
    chip: str,
    framework: str,
    point: MeasuredPoint,
    problems: RowProblems,
) -> MeasuredRun | None:
    """Return a point as a run, or None with what is wrong noted."""
    try:
        shape = _shape(scenario, model, chip, point)
        times = make_engine_times(
            profile,
            model,
            scenario.precision,
            shape,
            framework=framework,
            memory_fraction=scenario.serving.memory_fraction,
        )
    except InputError as error:
        for issue in error.issues:
            problems.add(point.line, issue.message, issue.path, issue.help)
        return None
    if times.kv_capacity_bytes <= 0.0:
        problems.add(
            point.line,
            f"{shape.label} of {chip} has no memory for a KV cache beside the weights of "
            f"{model.name}",
            "tensor_parallel",
            "check the degrees of parallelism, and precision.weights of the scenario",
        )
        return None
    ttft_s, tpot_s, phase = _measured(point, shape)
    decode = phase == "decode"
    batch = point.concurrency if decode else 1.0
    floor = float(times.decode_floor_s(batch, point.input_tokens))
    _check_floor(point, "tpot", tpot_s, floor, problems)
    uncached = point.input_tokens - point.cached_tokens
    floor = float(times.prefill_floor_s(uncached, point.input_tokens))
    _check_floor(point, "ttft", ttft_s, floor, problems)
    most = scenario.serving.max_batch
    return MeasuredRun(
        chip=profile,
        model=model,
        precision=scenario.precision,
        shape=shape,
        framework=framework,
        input_tokens=point.input_tokens,
        output_tokens=0.0 if decode else (1.0 if phase == "prefill" else point.output_tokens),
        concurrency=1.0 if phase == "prefill" else point.concurrency,
        ttft_s=ttft_s,
        tpot_s=tpot_s,
        phase=phase,
        cached_tokens=0.0 if decode else point.cached_tokens,
        memory_fraction=scenario.serving.memory_fraction,
        max_running=float(np.inf if most is None else most),
        wave_share=_wave_share(point),
    )


def _shape(scenario: Scenario, model: ModelProfile, chip: str, point: MeasuredPoint) -> EngineShape:
    """Return the shape of a point, from its own degrees or from the chip's only engine."""
    tensor, data, expert = point.tensor_parallel, point.data_parallel, point.expert_parallel
    if tensor is None and data is None:
        specs = () if scenario.engines == "auto" else scenario.engines
        mine = [spec for spec in specs if spec.chip == chip]
        if len({(s.chips, s.data_parallel, s.expert_parallel) for s in mine}) != 1:
            raise InputError(
                Issue(
                    f"the point names no tensor_parallel, and the scenario lists "
                    f"{'several shapes' if mine else 'no shape'} of {chip}",
                    "tensor_parallel",
                    help="add a column tensor_parallel, such as 8",
                )
            )
        data = mine[0].data_parallel
        tensor = mine[0].chips // data
        expert = expert or mine[0].expert_parallel
    chips = (tensor or 1) * (data or 1)
    return EngineShape(chips, tensor or 1, data or 1, expert or (chips if model.experts else 1))


def _measured(point: MeasuredPoint, shape: EngineShape) -> tuple[float, float, str]:
    """Return TTFT, TPOT [s] and phase, rates turned into times."""
    nan = float("nan")
    if point.phase == "prefill":
        return point.prompt_s(shape.data_parallel), nan, "prefill"
    if point.phase == "decode":
        return nan, point.step_s, "decode"
    if np.isnan(point.ttft_s) and np.isnan(point.tpot_s):
        return nan, point.step_s, "throughput"
    return point.ttft_s, point.tpot_s, "serving"


def _wave_share(point: MeasuredPoint) -> float:
    if point.phase != "serving" or np.isnan(point.requests):
        return WAVE_SHARE
    return min(1.0, point.concurrency / point.requests)


def _check_floor(
    point: MeasuredPoint, name: str, value: float, floor: float, problems: RowProblems
) -> None:
    if value < floor:
        problems.add(
            point.line,
            f"{name} of {format_quantity(value, 'time')} is below what physics allows: reading and "
            f"computing at data-sheet speed takes {format_quantity(floor, 'time')}",
            name,
            "check the unit, the parallelism and the scenario's precision; times under "
            "speculative decoding cannot be used",
        )
