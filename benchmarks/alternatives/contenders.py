"""`python -m benchmarks.alternatives.contenders NAME`: one contender, its answer as JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.alternatives import questions
from pdd_plan.fleet.plan import Plan
from pdd_plan.scenario import Scenario

Answer = dict[str, Any]


def planned_one_site() -> Answer:
    """Plan the one site."""
    return _planned(questions.one_site(), "req/s")[0]


def planned_two_sites(atoms: str = "") -> Answer:
    """Plan the quickstart; with a number of request types, also time evaluations of the plan."""
    scenario = questions.two_sites(int(atoms) if atoms else None)
    answer, plan = _planned(scenario, "USD/h")
    return answer | _evaluations(scenario, plan) if atoms else answer


def _planned(scenario: Scenario, unit: str) -> tuple[Answer, Plan]:
    """Plan a scenario; simpler fleets to compare with are left out."""
    import scipy.special  # noqa: F401 - the other's clock starts after its imports, too

    from pdd_plan.studies.plan_options import PlanOptions
    from pdd_plan.studies.planning import plan_scenario

    started = time.perf_counter()
    plan = plan_scenario(scenario, PlanOptions(whole=False))
    search_s = time.perf_counter() - started
    assert plan.cost is not None
    assert plan.goodput is not None
    assert plan.certificate is not None
    value = plan.goodput.requests_per_s if unit == "req/s" else plan.cost.usd_per_hour
    answer = {
        "value": value,
        "unit": unit,
        "search_s": search_s,
        "looked_at": plan.certificate.evaluations,
        "fleet": _fleet(plan),
    }
    return answer, plan


def _fleet(plan: Plan) -> str:
    pools = [f"{p.engines} x {p.chip} {p.shape} {p.role}" for p in plan.pools]
    return ", ".join([*pools, *(f"{line.gbps:.0f} Gbps" for line in plan.links)])


def _evaluations(scenario: Scenario, plan: Plan) -> Answer:
    """Evaluate the plan for a second by the full model, tables and all, over and over."""
    from pdd_plan.fleet.build import build_problem
    from pdd_plan.fleet.evaluate import evaluate
    from pdd_plan.studies.given import candidate_of_plan

    problem, candidate = candidate_of_plan(scenario, build_problem(scenario), plan)
    count, started = 0, time.perf_counter()
    while (taken := time.perf_counter() - started) < 1.0:
        evaluate(problem, candidate)
        count += 1
    return {"evaluations_per_s": count / taken, "atoms": len(problem.atoms)}


def enumerated(question: str) -> Answer:
    """Enumerate; the other contenders do not wait for what this one and the next import."""
    from benchmarks.alternatives import enumeration

    return enumeration.one_site() if question == "one-site" else enumeration.two_sites()


def simulated(question: str) -> Answer:
    """Simulate instead."""
    from benchmarks.alternatives import simulated

    return simulated.one_site() if question == "one-site" else simulated.two_sites()


def planned(question: str, atoms: str = "") -> Answer:
    """Plan."""
    return planned_one_site() if question == "one-site" else planned_two_sites(atoms)


CONTENDERS: dict[str, Callable[..., Answer]] = {
    "planned": planned,
    "enumerated": enumerated,
    "simulated": simulated,
}

if __name__ == "__main__":
    how, _, question = sys.argv[1].partition("-")
    print(json.dumps(CONTENDERS[how](question, *sys.argv[2:])))
