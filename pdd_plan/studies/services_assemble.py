"""Put the plan of several services together from their candidates."""

from __future__ import annotations

from collections.abc import Mapping

import pdd_plan
from pdd_plan.fleet.plan import Certificate, Infeasibility, Plan, ScenarioId
from pdd_plan.fleet.shared import BuiltServices, SharedProblem
from pdd_plan.fleet.shared_plan import SharedPlan
from pdd_plan.optimizer.shared_results import SharedResult
from pdd_plan.scenario.services import SharedScenario
from pdd_plan.studies.assemble import PROOF
from pdd_plan.studies.figures import finite
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.services_capacity import (
    overdrawn,
    shared_binding,
    shared_links,
    shared_power,
    shared_stock,
)
from pdd_plan.studies.services_costs import (
    shared_aggregated,
    shared_baseline,
    shared_cost,
    sum_of_demands,
)
from pdd_plan.studies.services_scored import SharedScored, service_plans

SHARED_PROOF = (
    "Least cost of all services together, by prices on what they share. Each service: " + PROOF
)


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
    plans = service_plans(scenario, main, baselines, options)
    demand = sum_of_demands(problem)
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
        cost=shared_cost(problem, main.candidates, demand),
        demand=demand,
        services=plans,
        stock=shared_stock(problem, uses, plans, worth),
        power=shared_power(problem, uses, worth),
        links=shared_links(problem, uses, worth),
        baselines=(
            *(shared_baseline(problem, one, demand) for one in baselines),
            *((shared_aggregated(problem, plans, demand),) if options.whole else ()),
        ),
        certificate=_certificate(problem, main, plans, options, result),
        binding=shared_binding(problem, uses, worth),
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
        demand=sum_of_demands(services.problem),
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
            "the time limit ended the search: the plan is within "
            f"{100 * main.gap:.1f} % of the optimum"
        )
    return tuple(out)
