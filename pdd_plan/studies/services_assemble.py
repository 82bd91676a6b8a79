"""Put the plan of several services together from their candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

import pdd_plan
from pdd_plan.fleet.evaluate import evaluate
from pdd_plan.fleet.goodput import goodput
from pdd_plan.fleet.plan import (
    Binding,
    Certificate,
    Cost,
    Demand,
    Infeasibility,
    Plan,
    ScenarioId,
)
from pdd_plan.fleet.problem import Candidate, FloatArray, Problem
from pdd_plan.fleet.shared import BuiltServices, Row, SharedProblem, revised
from pdd_plan.fleet.shared_plan import (
    SharedBaseline,
    SharedLink,
    SharedPlan,
    SharedPower,
    SharedStock,
)
from pdd_plan.optimizer.shared import SharedResult
from pdd_plan.scenario.services import SharedScenario
from pdd_plan.studies.assemble import PROOF, assemble_plan
from pdd_plan.studies.figures import demand_of, finite
from pdd_plan.studies.planning import PlanOptions, Scored

BITS_PER_GBIT = 8e-9
"""Gbit/s of one byte/s."""

SHARED_PROOF = (
    "Least cost of all services together, by prices on what they share. Each service: " + PROOF
)


@dataclass(frozen=True)
class SharedScored:
    """Candidates of all services that fit together.

    Attributes
    ----------
    name : str
        Of the baseline, or ``plan``.
    status : str
        ``optimal``, ``feasible`` or ``infeasible``.
    services : BuiltServices
        Whose candidates they are.
    candidates : tuple of Candidate or None
        One a service.
    gap : float or None
        Proven.
    reason : str
        Why there are none.
    """

    name: str
    status: str
    services: BuiltServices
    candidates: tuple[Candidate, ...] | None
    gap: float | None = None
    reason: str = ""


def assemble_shared(
    scenario: SharedScenario,
    main: SharedScored,
    baselines: tuple[SharedScored, ...],
    options: PlanOptions,
    result: SharedResult | None,
) -> SharedPlan:
    """Put the plan together.

    Parameters
    ----------
    scenario : SharedScenario
        As loaded.
    main : SharedScored
        The answer, with candidates.
    baselines : tuple of SharedScored
        The best of simpler kinds.
    options : PlanOptions
        As for planning.
    result : SharedResult or None
        What the search proved; None where nothing was optimized.

    Returns
    -------
    SharedPlan
        Everything that reports show.
    """
    problem = main.services.problem
    assert main.candidates is not None
    plans = _service_plans(scenario, main, baselines, options)
    demand = _sum_of_demands(problem)
    uses = {
        name: problem.use(i, candidate)
        for i, (name, candidate) in enumerate(zip(problem.names, main.candidates, strict=True))
    }
    worth = result.prices if result is not None else None
    return SharedPlan(
        schema_version=1,
        tool_version=pdd_plan.__version__,
        scenario=ScenarioId(name=scenario.name, sha256=scenario.source.sha256),
        status=main.status,  # type: ignore[arg-type]
        cost=_cost(problem, main.candidates, demand),
        demand=demand,
        services=plans,
        stock=_stock(problem, uses, plans, worth),
        power=_power(problem, uses, worth),
        links=_links(problem, uses, worth),
        baselines=(
            *(_baseline(problem, one, demand) for one in baselines),
            *((_aggregated(problem, plans, demand),) if options.whole else ()),
        ),
        certificate=_certificate(problem, main, plans, options, result),
        binding=_binding(problem, uses, worth),
        warnings=(*overdrawn(problem, uses), *_warnings(main, plans)),
        currency=scenario.currency,
        command=options.command,
    )


def infeasible_shared(
    scenario: SharedScenario,
    services: BuiltServices,
    options: PlanOptions,
    result: SharedResult,
    why: Infeasibility,
) -> SharedPlan:
    """The answer where there is no plan."""
    return SharedPlan(
        schema_version=1,
        tool_version=pdd_plan.__version__,
        scenario=ScenarioId(name=scenario.name, sha256=scenario.source.sha256),
        status="infeasible",
        cost=None,
        demand=_sum_of_demands(services.problem),
        services={},
        stock=(),
        power=(),
        links=(),
        baselines=(),
        certificate=Certificate(
            lower_bound_usd_per_hour=None,
            gap=None,
            cuts=result.columns,
            evaluations=result.searches,
            solver=options.solver,
            solve_time_s=result.solve_time_s,
            model=SHARED_PROOF,
            time_limit_s=options.time_limit_s,
        ),
        binding=(),
        warnings=(),
        currency=scenario.currency,
        command=options.command,
        infeasibility=why,
    )


def _service_plans(
    scenario: SharedScenario,
    main: SharedScored,
    baselines: Iterable[SharedScored],
    options: PlanOptions,
) -> dict[str, Plan]:
    """Each service's part of the answer as a plan of its own, lines at its share of their price."""
    services = main.services
    scored = _scored(main)
    simpler = [_scored(baseline) for baseline in baselines]
    out = {}
    for position, name in enumerate(services.problem.names):
        own = scored[position]
        assert own.problem is not None
        built = replace(services.built[name], problem=own.problem)
        out[name] = assemble_plan(
            scenario.scenarios[name],
            built,
            revised(services.models[position], own.problem),
            own,
            tuple(one[position] for one in simpler),
            options,
            None,
        )
    return out


def _scored(shared: SharedScored) -> tuple[Scored, ...]:
    """Each service's candidate with its evaluation, lines priced by reserved share."""
    services = shared.services
    problem = services.problem
    if shared.candidates is None:
        refused = Scored(shared.name, "infeasible", None, None, None, None, shared.reason)
        return (refused,) * len(problem.problems)
    uses = [problem.use(i, candidate) for i, candidate in enumerate(shared.candidates)]
    reserved = np.asarray(sum(uses))
    out = []
    for position, candidate in enumerate(shared.candidates):
        priced = _at_shares(problem, position, reserved)
        model = revised(services.models[position], priced)
        out.append(
            Scored(
                shared.name,
                shared.status,
                candidate,
                evaluate(priced, candidate, model),
                goodput(priced, candidate, model),
                None,
                problem=priced,
            )
        )
    return tuple(out)


def _at_shares(problem: SharedProblem, service: int, reserved: FloatArray) -> Problem:
    """The problem of a service with lines at the price of the part it reserves."""
    prices = np.zeros(len(problem.rows))
    for line, row in zip(problem.lines, problem.line_rows, strict=True):
        steps = float(reserved[row])
        prices[row] = line.price_per_hour(steps) / steps if steps else line.usd_per_step_hour
    return problem.priced(problem.problems[service], prices, np.zeros(len(problem.lines)))


def _sum_of_demands(problem: SharedProblem) -> Demand:
    loads = [demand_of(one) for one in problem.problems]
    return Demand(
        requests_per_s=sum(load.requests_per_s for load in loads),
        output_tokens_per_s=sum(load.output_tokens_per_s for load in loads),
        input_tokens_per_s=sum(load.input_tokens_per_s for load in loads),
    )


def _cost(problem: SharedProblem, candidates: tuple[Candidate, ...], demand: Demand) -> Cost:
    chips = sum(
        candidate.chips_usd_per_hour(one)
        for candidate, one in zip(candidates, problem.problems, strict=True)
    )
    return _cost_at(chips, problem.usd_per_hour(candidates) - chips, demand)


def _cost_at(chips: float, lines: float, demand: Demand) -> Cost:
    output = demand.output_tokens_per_s * 3600.0 / 1e6
    total = output + demand.input_tokens_per_s * 3600.0 / 1e6
    return Cost(
        usd_per_hour=chips + lines,
        chips_usd_per_hour=chips,
        links_usd_per_hour=max(lines, 0.0),
        usd_per_million_output_tokens=(chips + lines) / output,
        usd_per_million_total_tokens=(chips + lines) / total,
    )


def _worth(worth: FloatArray | None, row: int, scale: float = 1.0) -> float | None:
    """What one unit of a row more would save, from its price by the proof."""
    return None if worth is None else max(float(worth[row]), 0.0) * scale


def _stock(
    problem: SharedProblem,
    uses: Mapping[str, FloatArray],
    plans: Mapping[str, Plan],
    worth: FloatArray | None,
) -> tuple[SharedStock, ...]:
    pools = [pool for plan in plans.values() for pool in plan.pools]
    out = []
    for index, row in enumerate(problem.rows):
        if row.kind != "chips":
            continue
        spent = sum(p.usd_per_hour for p in pools if (p.site, p.chip) == (row.site, row.chip))
        taken = {name: round(float(use[index])) for name, use in uses.items()}
        out.append(
            SharedStock(
                site=row.site,
                chip=row.chip,
                available=int(row.capacity),
                used=sum(taken.values()),
                by_service=taken,
                usd_per_hour=spent,
                worth_usd_per_chip_hour=_worth(worth, index),
            )
        )
    return tuple(out)


def _power(
    problem: SharedProblem, uses: Mapping[str, FloatArray], worth: FloatArray | None
) -> tuple[SharedPower, ...]:
    return tuple(
        SharedPower(
            site=row.site,
            available_w=row.capacity,
            used_w=float(sum(use[index] for use in uses.values())),
            by_service={name: float(use[index]) for name, use in uses.items()},
            worth_usd_per_kw_hour=_worth(worth, index, 1000.0),
        )
        for index, row in enumerate(problem.rows)
        if row.kind == "power"
    )


def _links(
    problem: SharedProblem, uses: Mapping[str, FloatArray], worth: FloatArray | None
) -> tuple[SharedLink, ...]:
    out = []
    for line, row in zip(problem.lines, problem.line_rows, strict=True):
        gbps = line.step_bytes_per_s * BITS_PER_GBIT
        parts = {name: float(use[row]) for name, use in uses.items()}
        steps = sum(parts.values())
        if not steps:
            continue
        lane = problem.problems[0].lanes[line.lane]
        out.append(
            SharedLink(
                from_site=lane.source,
                to_site=lane.target,
                gbps=line.size_steps(steps) * gbps,
                reserved_gbps=steps * gbps,
                max_gbps=line.max_steps * gbps,
                by_service={name: part * gbps for name, part in parts.items()},
                usd_per_hour=line.price_per_hour(steps),
                worth_usd_per_gbps_hour=_worth(worth, row, 1.0 / gbps),
            )
        )
    return tuple(out)


def _baseline(problem: SharedProblem, one: SharedScored, demand: Demand) -> SharedBaseline:
    return SharedBaseline(
        name=one.name,
        status=one.status,  # type: ignore[arg-type]
        cost=_cost(problem, one.candidates, demand) if one.candidates else None,
        gap=one.gap,
        reason=one.reason or None,
    )


def _aggregated(
    problem: SharedProblem, plans: Mapping[str, Plan], demand: Demand
) -> SharedBaseline:
    """The cheapest aggregated fleet of each service, where they fit together."""
    name = "aggregated"
    parts = {
        service: next(base for base in plan.baselines if base.name == name)
        for service, plan in plans.items()
    }
    reasons = [f"{service}: {base.reason}" for service, base in parts.items() if not base.cost]
    used: dict[tuple[str, str], int] = {}
    for base in parts.values():
        for pool in base.pools:
            used[pool.site, pool.chip] = used.get((pool.site, pool.chip), 0) + pool.chips
    stock = problem.problems[0].stock
    reasons += [
        f"the cheapest of each service need {chips} {chip} at {site} together, and there are "
        f"{stock[site, chip]}"
        for (site, chip), chips in used.items()
        if chips > stock[site, chip]
    ]
    if reasons:
        return SharedBaseline(name=name, status="infeasible", cost=None, reason="; ".join(reasons))
    total = sum(base.cost.usd_per_hour for base in parts.values() if base.cost)
    return SharedBaseline(name=name, status="optimal", cost=_cost_at(total, 0.0, demand), gap=0.0)


def _certificate(
    problem: SharedProblem,
    main: SharedScored,
    plans: Mapping[str, Plan],
    options: PlanOptions,
    result: SharedResult | None,
) -> Certificate | None:
    if result is None:
        return None
    assert main.candidates is not None
    cost = problem.usd_per_hour(main.candidates)
    return Certificate(
        lower_bound_usd_per_hour=finite(result.lower_bound_usd_per_hour),
        gap=finite(result.gap),
        cuts=result.columns,
        evaluations=result.searches,
        solver=options.solver,
        solve_time_s=result.solve_time_s,
        model=SHARED_PROOF,
        objective_value=cost,
        objective_bound=finite(result.lower_bound_usd_per_hour),
        flow_steps=problem.problems[0].load_steps,
        time_limit_s=options.time_limit_s,
        recomputed_usd_per_hour=cost,
        recomputed_slo_met=all(limit.met for plan in plans.values() for limit in plan.slo),
    )


def _binding(
    problem: SharedProblem, uses: Mapping[str, FloatArray], worth: FloatArray | None
) -> tuple[Binding, ...]:
    """Shared limits that are reached, or have a price by the proof."""
    total = sum(uses.values(), np.zeros(len(problem.rows)))
    out = []
    for index, row in enumerate(problem.rows):
        used, most = float(total[index]), row.capacity
        priced = worth is not None and worth[index] > 1e-9
        if not (used and (used >= most - problem.slacks[index] or priced)):
            continue
        scale, unit = unit_of(problem, row)
        out.append(Binding(what=path_of(row), value=used * scale, limit=most * scale, unit=unit))
    return tuple(out)


def path_of(row: Row) -> str:
    """Where in a scenario the capacity of a row stands."""
    if row.kind == "chips":
        return f"sites.{row.site}.chips.{row.chip}.available"
    return f"sites.{row.site}.power" if row.kind == "power" else f"link {row.site} bandwidth"


def unit_of(problem: SharedProblem, row: Row) -> tuple[float, str]:
    """Unit for people of a row, and what one of it is in that unit."""
    if row.kind == "chips":
        return 1.0, "chips"
    if row.kind == "power":
        return 1e-3, "kW"
    line = next(line for line in problem.lines if line.lane == row.lane)
    return line.step_bytes_per_s * BITS_PER_GBIT, "Gbps"


def overdrawn(problem: SharedProblem, uses: Mapping[str, FloatArray]) -> tuple[str, ...]:
    """Say of what services take more than there is; a plan that was given may."""
    total = sum(uses.values(), np.zeros(len(problem.rows)))
    out = []
    for row, used, slack in zip(problem.rows, total.tolist(), problem.slacks, strict=True):
        if used > row.capacity + slack:
            scale, unit = unit_of(problem, row)
            out.append(
                f"{row.label}: the services take {used * scale:g} {unit}, and there are "
                f"{row.capacity * scale:g}"
            )
    return tuple(out)


def _warnings(main: SharedScored, plans: Mapping[str, Plan]) -> tuple[str, ...]:
    """What a reader should know: of all services once, of one with its name."""
    about: dict[str, list[str]] = {}
    for name, plan in plans.items():
        for text in plan.warnings:
            about.setdefault(text, []).append(name)
    out = [
        text if len(names) == len(plans) else f"{', '.join(names)}: {text}"
        for text, names in about.items()
    ]
    if main.status == "feasible" and main.gap is not None:
        out.append(
            f"the time limit ended the search: the plan is within {main.gap:.1%} of the optimum"
        )
    return tuple(out)
