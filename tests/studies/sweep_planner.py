"""A planner that invents its plans by arithmetic, so that a sweep can be foretold by hand."""

from __future__ import annotations

import json
import time
from functools import cache
from pathlib import Path

from pdd_plan.cli.planning import Settings
from pdd_plan.errors import InputError, Issue, SolverError
from pdd_plan.fleet.plan import Plan
from pdd_plan.scenario import Scenario
from pdd_plan.studies.plan_options import PlanOptions
from tests.report.report_examples import example


@cache
def _example() -> str:
    return json.dumps(example())


def invented(scenario: Scenario, cost: float, p90_s: float) -> Plan:
    """A plan of this cost per hour and P90 TTFT, whatever the scenario."""
    data = json.loads(_example())
    data["scenario"] = {"name": scenario.name, "sha256": scenario.source.sha256}
    data["cost"]["usd_per_hour"] = cost
    data["latency"]["ttft_s"]["p90"] = p90_s
    return Plan.model_validate_json(json.dumps(data))


def priced(scenario: Scenario, options: PlanOptions) -> Plan:  # noqa: ARG001
    """Cost: 100 times the price of an H20 plus the rate; P90: the rate in seconds."""
    price = scenario.sites["shanghai"].chips["h20"].usd_per_chip_hour
    rate = scenario.workload.rate_per_s or 0.0
    return invented(scenario, 100 * price + rate, rate)


def slow(scenario: Scenario, options: PlanOptions) -> Plan:
    """As `priced`, after half a second without work."""
    time.sleep(0.5)
    return priced(scenario, options)


def failing(scenario: Scenario, options: PlanOptions) -> Plan:
    """As `priced`, but every rate from 2 to 5 fails in a way of its own."""
    match scenario.workload.rate_per_s:
        case 2.0:
            raise InputError(Issue("slo.ttft_p90 = 1 s cannot be met", path="slo.ttft_p90"))
        case 3.0:
            raise InputError(Issue("no shape fits the memory", path="engines"))
        case 4.0:
            raise SolverError("no plan was found in 60 s")
        case 5.0:
            raise ZeroDivisionError("division by zero")
    return priced(scenario, options)


def killed(scenario: Scenario, options: PlanOptions) -> Plan:
    """As `priced`, but a rate of 2 ends the process."""
    import os
    import signal

    if scenario.workload.rate_per_s == 2.0:
        os.kill(os.getpid(), signal.SIGKILL)
    return priced(scenario, options)


def held(scenario: Scenario, options: PlanOptions) -> Plan:
    """As `priced`, but only where Ctrl-C does not reach the process that plans."""
    import signal

    if signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ()):
        raise AssertionError("Ctrl-C would interrupt this process")
    return priced(scenario, options)


class Interrupted:
    """Plans as `priced` until Ctrl-C comes at a given call."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.calls = 0

    def __call__(self, scenario: Scenario, options: PlanOptions) -> Plan:
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return priced(scenario, options)


class Counting:
    """Plans as another planner and counts."""

    def __init__(self, planner=priced) -> None:
        self.planner = planner
        self.calls = 0

    def __call__(self, scenario: Scenario, options: PlanOptions) -> Plan:
        self.calls += 1
        return self.planner(scenario, options)


STEPS = ((0.9, 400.0), (1.7, 300.0), (2.5, 300.0), (6.0, 220.0), (40.0, 150.0))
"""P90 TTFT [s] that can be had, and its cost; below 0.9 s nothing, and 2.5 s is no use."""


def stepped(scenario: Scenario, options: PlanOptions) -> Plan:  # noqa: ARG001
    """The cheapest of `STEPS` within the limit on P90 TTFT, and of those the fastest."""
    limit = scenario.slo.ttft_p90
    assert limit is not None
    within = [(cost, p90) for p90, cost in STEPS if p90 <= limit]
    if not within:
        raise InputError(Issue("slo.ttft_p90 cannot be met", path="slo.ttft_p90"))
    cost, p90 = min(within)
    return invented(scenario, cost, p90)


def options_of(scenario: Scenario) -> PlanOptions:
    """The scenario's own options."""
    return Settings().options(scenario, "")


SCENARIO = Path("quickstart")
PRICE = "sites.shanghai.chips.h20.price"
