"""Plan a fleet that keeps its limits with any one of several things lost: key ``tolerate``."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from pdd_plan.errors import SolverError
from pdd_plan.fleet.build import BuiltProblem
from pdd_plan.fleet.evaluate import evaluate
from pdd_plan.fleet.goodput import goodput
from pdd_plan.fleet.outages import Outage
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.plan import OutageBound, Plan, Resilience, Sensitivity, Tolerated
from pdd_plan.fleet.problem import Candidate
from pdd_plan.optimizer.search import OPTIMAL_GAP, Certificate
from pdd_plan.scenario.schema import Scenario
from pdd_plan.studies.assemble import assemble_plan
from pdd_plan.studies.baselines import cheapest_baselines
from pdd_plan.studies.outages import outage_result, pool_name, pool_outages
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.rates import BUDGET_SLACK
from pdd_plan.studies.resilience_cases import Case, Cases, Tolerance
from pdd_plan.studies.resilience_refusals import over_budget, why_not
from pdd_plan.studies.resilience_starts import starts
from pdd_plan.studies.scored import ObjectiveProof, Scored, scored_plan
from pdd_plan.studies.searching import NO_PLAN
from pdd_plan.studies.survivors import Cheaper, Removal

IMPROVED = 3
"""Fleets, the cheapest after leaving out what is not needed, whose parts are exchanged."""

PROOF = (
    "Every listed loss was put to the planning rule, with requests re-routed by shares and "
    "threshold only. The bound is the dearest of these cheapest fleets: with nothing lost, with "
    "spare engines in every pool, without each site or line; or what those without each site or "
    "line cost together, every price shared out among them. No fleet that survives costs less; "
    "one that costs as little need not exist."
)


def plan_resilient(
    scenario: Scenario, built: BuiltProblem, model: PathModel, options: PlanOptions
) -> Plan:
    """Plan the cheapest fleet that is found to survive every loss that a scenario tolerates.

    Parameters
    ----------
    scenario : Scenario
        As loaded, with a loss to tolerate.
    built : BuiltProblem
        Its problem.
    model : PathModel
        Rule of the problem.
    options : PlanOptions
        Time limit of the whole search, solver and progress.

    Returns
    -------
    Plan
        With `resilience`: what it costs to survive, what binds, and what users see of each loss.

    Raises
    ------
    SolverError
        If no fleet was found that survives, and none was ruled out.
    """
    cases = Cases(model, Tolerance.of(scenario), options)
    found = cases.solve()
    lower = cases.lower_bound(found)
    budget = math.inf if scenario.budget_usd_per_hour is None else scenario.budget_usd_per_hour
    chosen = None
    if math.isfinite(lower) and lower <= budget * BUDGET_SLACK:
        chosen = cheapest_survivor(cases, found)
        _require(chosen, model, options, budget)
    main = _scored(cases, found, chosen, lower)
    usual = scored_plan("plan", model.problem, model, found[0].result)
    refusal = None
    if chosen is None and not options.whole:
        refusal = NO_PLAN
    elif chosen is None:
        refusal = (
            over_budget(scenario, found)
            if math.isfinite(lower)
            else why_not(scenario, cases, found, built)
        )
    removals = tuple(_removals(cases, chosen)) if chosen is not None else ()
    plan = assemble_plan(
        scenario,
        built,
        model,
        main,
        cheapest_baselines(model.problem, model, options, usual),
        options,
        refusal,
        sensitivity=tuple(_sensitivity(cases, chosen, removals)) if chosen is not None else (),
    )
    return plan.model_copy(
        update={"resilience": _resilience(scenario, cases, found, chosen, removals)}
    )


def cheapest_survivor(cases: Cases, found: list[Case]) -> Candidate | None:
    """The cheapest fleet found that survives everything, from several starts.

    Parameters
    ----------
    cases : Cases
        What is to be survived.
    found : list of Case
        Cheapest fleets of each case, as of `Cases.solve`.
    """
    problem = cases.model.problem
    cheaper = Cheaper(cases.survival, cases.deadline, cases.options.progress)
    tried: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
    pruned: list[Candidate] = []
    for start in starts(cases, found):
        held = cases.survival.holds(start)
        if held is None or (held.engines, held.levels) in tried:
            continue
        tried.add((held.engines, held.levels))
        less = cheaper.prune(held)
        if all((less.engines, less.levels) != (one.engines, one.levels) for one in pruned):
            pruned.append(less)
    ranked = sorted(pruned, key=lambda fleet: fleet.usd_per_hour(problem))
    improved = [cheaper.improve(fleet) for fleet in ranked[:IMPROVED]]
    return min(improved, key=lambda fleet: fleet.usd_per_hour(problem), default=None)


def _require(
    chosen: Candidate | None, model: PathModel, options: PlanOptions, budget: float
) -> None:
    if chosen is None:
        raise SolverError(
            f"no fleet that survives was found in {options.time_limit_s:g} s, and none was ruled "
            "out; allow more time with --time-limit, more stock, or tolerate less"
        )
    cost = chosen.usd_per_hour(model.problem)
    if cost > budget * BUDGET_SLACK:
        raise SolverError(
            f"no fleet that survives within the budget of {budget:g} per hour was found, and none "
            f"was ruled out; the cheapest found costs {cost:.2f} per hour"
        )


def _scored(cases: Cases, found: list[Case], chosen: Candidate | None, lower: float) -> Scored:
    problem = cases.model.problem
    cost = chosen.usd_per_hour(problem) if chosen is not None else math.inf
    gap = max(0.0, 1.0 - lower / cost) if 0.0 < cost < math.inf else 0.0
    certificate = Certificate(
        lower_bound_usd_per_hour=lower,
        gap=gap if chosen is not None else math.inf,
        cuts=sum(case.result.certificate.cuts for case in found),
        evaluations=cases.survival.evaluations
        + sum(case.result.certificate.evaluations for case in found),
        nodes=len(found),
        nodes_solved=len(found),
        solver=cases.options.solver,
        solve_time_s=time.monotonic() - cases.started,
    )
    if chosen is None:
        return Scored("plan", "infeasible", None, None, None, certificate)
    return Scored(
        "plan",
        "optimal" if gap <= OPTIMAL_GAP else "feasible",
        chosen,
        evaluate(problem, chosen, cases.model),
        goodput(problem, chosen, cases.model),
        certificate,
        proof=ObjectiveProof("cost_per_token", cost, lower, PROOF),
        unproven="the bound counts every loss by itself",
    )


def _removals(cases: Cases, chosen: Candidate) -> Iterator[Removal]:
    return Cheaper(cases.survival, math.inf).removals(chosen)


def _sensitivity(
    cases: Cases, chosen: Candidate, removals: tuple[Removal, ...]
) -> Iterator[Sensitivity]:
    """What one engine or one size of a line less would not survive."""
    problem = cases.model.problem
    for removal in removals:
        index = removal.part.index
        if removal.part.kind == "engines":
            pool, count = problem.pools[index], chosen.engines[index] - 1
            change, path = f"one {pool.role} engine fewer at {pool.site}", pool.label
            if pool_name(problem, chosen, index).count("/") > 1:
                change += f" ({pool.chip} {pool.shape})"
            value: str | int = count
        else:
            lane, level = problem.lanes[index], chosen.levels[index]
            sizes = [0.0, *lane.bytes_per_s.tolist()]
            value = f"{sizes[level] * 8e-9:g} Gbps"
            change, path = f"{value} on the line {lane.label}", lane.label
        yield Sensitivity(
            change=change,
            path=path,
            value=value,
            feasible=not removal.fails,
            usd_per_hour=chosen.usd_per_hour(problem) - removal.saved_usd_per_hour,
            effect=_effect(removal.fails),
        )


def _effect(fails: tuple[Outage | None, ...]) -> str:
    """Say what a smaller fleet would fail at."""
    if not fails:
        return "everything would still be survived"
    said = []
    for one in fails:
        if one is None:
            said.append("limits would not hold with nothing lost")
        elif one.kind == "engines":
            said.append(f"limits would not hold with {one.name} engines less in every pool")
        else:
            said.append(f"would not survive the loss of {one.kind} {one.name}")
    return ", ".join(said).replace(" 1 engines", " 1 engine")


def _resilience(
    scenario: Scenario,
    cases: Cases,
    found: list[Case],
    chosen: Candidate | None,
    removals: tuple[Removal, ...],
) -> Resilience:
    """What surviving costs, what binds, and what users see of each loss."""
    problem, tolerate = cases.model.problem, scenario.tolerate
    results = []
    if chosen is not None:
        spares = cases.tolerance.spares
        lost = pool_outages(problem, chosen, spares) if spares else ()
        results += [outage_result(cases.left, chosen, one) for one in lost]
        for one in cases.tolerance.outages:
            setting = cases.survival.rerouted(chosen, one)
            results.append(outage_result(cases.left, chosen, one, setting))
    plain = found[0].candidate
    fails = [one.label for removal in removals for one in removal.fails if one is not None]
    return Resilience(
        outages=tuple(results),
        tolerated=Tolerated(engines=tolerate.engines, site=tolerate.site, line=tolerate.line),
        usd_per_hour=chosen.usd_per_hour(problem) if chosen is not None else None,
        usd_per_hour_without=plain.usd_per_hour(problem) if plain is not None else None,
        binding=tuple(dict.fromkeys(fails)),
        bounds=tuple(
            OutageBound(
                outage=case.label,
                lower_bound_usd_per_hour=case.lower_usd_per_hour
                if math.isfinite(case.lower_usd_per_hour)
                else None,
            )
            for case in found
        ),
    )
