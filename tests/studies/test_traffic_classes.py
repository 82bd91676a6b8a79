"""Whole plans with traffic classes: what each class gets is planned, reported and simulated."""

from __future__ import annotations

from typing import Any

import pytest

from pdd_plan.errors import InputError
from pdd_plan.fleet.plan import Plan, parse_plan
from pdd_plan.report.render import render
from pdd_plan.report.tidy import plan_tables
from pdd_plan.scenario import Scenario, scenario_from_data
from pdd_plan.simulation import SimulationOptions
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.planning import plan_scenario
from pdd_plan.studies.simulating import simulate_plan
from tests.studies.test_objectives import tiny


def two_classes(**limits: Any) -> Scenario:
    """Short chats and long agent prompts on one small fleet."""
    data = tiny()
    part = data["workload"]["mixture"]
    chat = dict(part, name="chat", share=0.7, input_tokens="4k tokens", hit_rate=0.5)
    data["workload"] |= {"rate": "2 req/s", "mixture": [chat, dict(part, name="long", share=0.3)]}
    data["slo"] |= {"ttft_p90": "2 s", "classes": limits} if limits else {"ttft_p90": "2 s"}
    return scenario_from_data(data)


@pytest.fixture(scope="module")
def plan() -> Plan:
    limits = {"chat": {"ttft_p95": "1 s"}, "long": {"ttft_p90": "3 s"}}
    return plan_scenario(two_classes(**limits), PlanOptions(20.0))


def test_every_class_is_reported(plan: Plan) -> None:
    shares = {group.name: group.request_fraction for group in plan.classes}
    assert shares == {"chat": pytest.approx(0.7), "long": pytest.approx(0.3)}
    chat, long = plan.classes
    assert chat.ttft_s.p90 < long.ttft_s.p90
    limits = {(item.traffic, item.percentile): item for item in plan.slo if item.metric == "ttft"}
    assert limits["chat", 0.95].predicted == chat.ttft_s.p95
    assert limits["long", 0.9].predicted == long.ttft_s.p90
    assert limits[None, 0.9].predicted == plan.latency.ttft_s.p90
    assert all(item.met for item in plan.slo)


def test_classes_are_in_every_format(plan: Plan) -> None:
    for language, words in (("en", ("Traffic classes", "long")), ("zh", ("流量类别", "long"))):
        for name in ("console", "md", "html"):
            text = render(plan, name, lang=language)
            assert all(word in text for word in words)
    assert parse_plan(plan.to_json()) == plan
    tables = {table.name: table for table in plan_tables(plan)}
    rows = {(row[0], row[2]) for row in tables["classes"].rows}
    assert {("chat", "ttft_s"), ("long", "ttft_s"), ("long", "e2e_s")} <= rows
    at = tables["slo"].keys.index("traffic")
    assert [row[at] for row in tables["slo"].rows].count("long") == 1


def test_a_plan_without_classes_has_no_table_of_them() -> None:
    data = tiny()
    data["workload"]["rate"] = "1 req/s"
    whole = plan_scenario(scenario_from_data(data), PlanOptions(20.0))
    assert whole.classes == ()
    assert "Traffic classes" not in render(whole, "md")


def test_simulation_shows_each_class(plan: Plan) -> None:
    limits = {"chat": {"ttft_p95": "1 s"}, "long": {"ttft_p90": "3 s"}}
    options = SimulationOptions(requests=30_000, replications=3)
    report = simulate_plan(two_classes(**limits), plan, options)
    rows = {row.what: row for row in report.rows}
    for name in ("chat: TTFT P50", "long: TTFT P50", "chat: TTFT P90", "long: TTFT P90"):
        row = rows[name]
        assert abs(row.difference) <= 0.08 + row.half_width / row.simulated
    assert rows["long: TTFT P90"].limit == 3.0
    assert rows["chat: TTFT P95"].limit == 1.0
    assert rows["TTFT P90"].limit == 2.0


def test_a_limit_that_one_class_cannot_keep_is_named() -> None:
    with pytest.raises(InputError) as caught:
        plan_scenario(two_classes(long={"ttft_p99": "0.1 s"}), PlanOptions(20.0))
    assert [issue.path for issue in caught.value.issues] == ["slo.classes.long.ttft_p99"]


def test_what_would_mend_names_the_class() -> None:
    short = plan_scenario(two_classes(long={"ttft_p90": "0.54 s"}), PlanOptions(20.0))
    assert short.status == "infeasible"
    assert short.infeasibility is not None
    changes = {change.path: change.value for change in short.infeasibility.smallest_changes}
    value = changes["slo.classes.long.ttft_p90"]
    assert (
        plan_scenario(two_classes(long={"ttft_p90": value}), PlanOptions(20.0)).status == "optimal"
    )
