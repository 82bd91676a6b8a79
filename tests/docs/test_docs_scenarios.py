"""The scenarios that ship with the package plan as they are, and state where numbers come from."""

from __future__ import annotations

import re

import pytest

from pdd_plan.fleet.shared_plan import AnyPlan
from pdd_plan.scenario import find_scenario, load_question, scenario_names
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.services import plan_question

OPTIONS = PlanOptions(time_limit_s=30.0)


@pytest.fixture(scope="module")
def plans() -> dict[str, AnyPlan]:
    """Plans by scenario, made when asked for."""
    return {}


def plan_of(name: str, plans: dict[str, AnyPlan]) -> AnyPlan:
    if name not in plans:
        plans[name] = plan_question(load_question(name), OPTIONS)
    return plans[name]


def test_the_four_scenarios_are_there():
    assert {"quickstart", "pdd-published", "claude-code-agent", "article-chips"} <= set(
        scenario_names()
    )


@pytest.mark.parametrize("name", scenario_names())
def test_scenario_plans_within_its_limits(name, plans):
    plan = plan_of(name, plans)
    assert plan.status in ("optimal", "feasible")
    assert plan.slo_met
    assert plan.certificate is not None
    assert plan.certificate.gap is not None


@pytest.mark.parametrize("name", scenario_names())
def test_every_price_names_its_source(name):
    """A price has a comment on its line or just above it."""
    lines = find_scenario(name).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if re.search(r"\bprices?: *[\d{]", line.partition("#")[0]):
            near = lines[max(number - 4, 0) : number + 1]
            assert any("#" in text for text in near), f"{name}:{number + 1} {line}"


def test_quickstart_uses_the_relay(plans):
    plan = plan_of("quickstart", plans)
    assert plan.architecture == "pdd"
    assert plan.routing is not None
    assert 0 < plan.routing.relay_request_fraction < 1
    assert {pool.role for pool in plan.pools} == {"prefill", "relay", "decode"}
