"""Sweeps over several services: rows, records, the journal, reports; plans are invented."""

from __future__ import annotations

import csv
import io
import json
import string
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdd_plan.cli.sweep import _report
from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.shared_plan import SharedPlan
from pdd_plan.report.sweep_charts import sweep_charts
from pdd_plan.report.sweep_files import render_sweep, write_sweep
from pdd_plan.report.sweep_words import SweepLabels
from pdd_plan.scenario import SharedScenario, load_question
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.service_outcome import SERVICE_COLUMNS, ServiceOutcome
from pdd_plan.studies.sweep import SweepResult, sweep
from pdd_plan.studies.sweep_axes import parse_axes
from pdd_plan.studies.sweep_front import front
from pdd_plan.studies.sweep_journal import Journal
from pdd_plan.studies.sweep_outcome import COLUMNS, Outcome, outcome_of
from pdd_plan.studies.sweep_run import Runner
from pdd_plan.studies.sweep_workers import DaskWorkers, LocalWorkers
from tests.studies.sweep_planner import SCENARIO, Counting, invented, options_of, priced

SERVICES = "two-models"  # chat and agent
PRICE = "sites.beijing.chips.h200.price"
RATES = "services.chat.workload.rate=1..6/1 req/s"


def shared(question: SharedScenario, options: PlanOptions) -> SharedPlan:  # noqa: ARG001
    """Each service costs its rate times the price of an H200, and its P90 TTFT is its rate.

    A chat of 4 req/s misses its limits, of 5 req/s lacks a price, of 6 req/s has too little stock.
    """
    rates = {name: one.workload.rate_per_s for name, one in question.scenarios.items()}
    match rates["chat"]:
        case 4.0:
            raise InputError(Issue("cannot be met", path="services.chat.slo.ttft_p90"))
        case 5.0:
            raise InputError(Issue("no price", path="services.chat.engines"))
    whole = {"name": question.name, "sha256": question.source.sha256}
    data = {"schema_version": 1, "tool_version": "1", "scenario": whole, "status": "optimal"}
    data |= {key: [] for key in ("stock", "power", "links", "baselines", "binding", "warnings")}
    data |= {"cost": None, "demand": None, "certificate": None, "services": {}}
    if rates["chat"] == 6.0:
        why = {"reason": "H200: 6 are there, 9 are needed"}
        return parsed(data | {"status": "infeasible", "infeasibility": why})
    price = question.sites["beijing"].chips["h200"].usd_per_chip_hour
    plans = {
        name: invented(alone, rates[name] * price, rates[name]).model_dump(mode="json")
        for name, alone in question.scenarios.items()
    }
    if rates["chat"] == 3.0:
        plans["chat"]["architecture"] = "single_site"
    cost = sum(plan["cost"]["usd_per_hour"] for plan in plans.values())
    total = dict.fromkeys(("usd_per_million_output_tokens", "usd_per_million_total_tokens"), cost)
    total |= {"usd_per_hour": cost, "chips_usd_per_hour": cost, "links_usd_per_hour": 0.0}
    load = {"requests_per_s": sum(rates.values())}
    load |= dict.fromkeys(("output_tokens_per_s", "input_tokens_per_s"), 1.0)
    base = {"name": "pdd", "status": "optimal", "cost": total}
    found = {"services": plans, "cost": total, "demand": load, "baselines": [base]}
    return parsed(data | found)


def parsed(data: dict) -> SharedPlan:
    return SharedPlan.model_validate_json(json.dumps(data))


def swept(vary=(RATES,), planner=shared, workers=None, journal=None) -> SweepResult:
    runner = Runner(workers or LocalWorkers(1), journal, planner=planner)
    return sweep(SERVICES, parse_axes(vary), options_of, runner)


def test_a_row_holds_the_whole_and_the_part_of_each_service():
    result = swept([f"{PRICE}=2 USD/h,3 USD/h", "services.chat.workload.rate=1 req/s,2 req/s"])
    assert result.services == ("chat", "agent")
    for row, (price, rate) in zip(result.rows, [(2, 1), (2, 2), (3, 1), (3, 2)], strict=True):
        chat, agent = row.outcome.services
        assert (chat.name, chat.usd_per_hour, chat.ttft_p90_s) == ("chat", price * rate, rate)
        assert row.outcome.usd_per_hour == pytest.approx(chat.usd_per_hour + agent.usd_per_hour)
        assert row.outcome.demand_requests_per_s == rate + agent.ttft_p90_s
        assert row.outcome.chips == chat.chips + agent.chips == 2 * 136
        assert row.outcome.ttft_p90_s is None  # each service has its own
        assert row.outcome.pdd_usd_per_million_output_tokens == row.outcome.usd_per_hour
        assert row.outcome.limits_met is True


def test_a_service_has_the_figures_that_its_plan_alone_would_have():
    (row,) = swept(["services.chat.workload.rate=2 req/s"]).rows
    question = load_question(SERVICES, row.changes)
    plan = shared(question, options_of(question))
    for part in row.outcome.services:
        alone = outcome_of(plan.services[part.name])
        assert part == ServiceOutcome.of(part.name, alone.record())
        assert all(getattr(part, key) == getattr(alone, key) for key in SERVICE_COLUMNS)


def test_the_kind_is_told_where_all_services_have_the_same():
    same, _, other = swept(["services.chat.workload.rate=1..3/1 req/s"]).rows
    assert same.outcome.architecture == same.outcome.services[0].architecture
    assert other.outcome.architecture == "mixed"


def test_points_that_fail_are_rows_with_a_reason():
    rows = swept().rows
    assert [(row.outcome.status, row.outcome.reason) for row in rows[3:]] == [
        ("infeasible", "cannot be met"),
        ("input_error", "no price"),
        ("infeasible", "H200: 6 are there, 9 are needed"),
    ]
    assert not any(row.outcome.services for row in rows[3:])


def test_columns_of_one_service_are_as_ever_and_those_of_services_follow_them():
    (one,) = sweep(
        SCENARIO,
        parse_axes(["workload.rate=1 req/s"]),
        options_of,
        Runner(LocalWorkers(1), planner=priced),
    ).rows
    assert tuple(one.outcome.record()) == COLUMNS
    row = swept(["services.chat.workload.rate=1 req/s"]).rows[0]
    names = [f"services.{name}.{key}" for name in ("chat", "agent") for key in SERVICE_COLUMNS]
    assert list(row.outcome.record()) == [*COLUMNS, *names]


NAMES = st.text(string.ascii_letters + string.digits + "_- ", min_size=1, max_size=8)
FIGURES = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.dictionaries(
        NAMES, st.dictionaries(st.sampled_from(("usd_per_hour", "ttft_p90_s", "gap")), FIGURES)
    ),
    st.lists(NAMES),
)
def test_a_record_gives_its_outcome_back(parts, more):
    services = tuple(ServiceOutcome.of(name, values) for name, values in parts.items())
    outcome = Outcome("optimal", usd_per_hour=1.0, services=services)
    assert Outcome.of_record(outcome.record()) == outcome
    padded = Outcome.of_record(outcome.record(more))
    assert {one.name for one in padded.services} == {*parts, *more}
    assert set(services) <= set(padded.services)


def test_what_belongs_to_no_service_is_no_outcome():
    with pytest.raises(TypeError):
        Outcome.of_record({"status": "optimal", "services.chat.cost": 1.0})


def test_in_parallel_the_result_is_the_same():
    assert swept(workers=LocalWorkers(2)) == swept()


def test_a_dask_cluster_gives_the_same_result():
    distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as cluster:
        workers = DaskWorkers(cluster.scheduler_address)
        found = swept(workers=workers)
        workers.close()
    assert found == swept()


def test_a_resumed_sweep_takes_services_over(tmp_path):
    path = tmp_path / "j"
    with Journal(path, False) as journal:
        whole = swept(journal=journal)
    planner = Counting(shared)
    with Journal(path, True) as journal:
        assert swept(planner=planner, journal=journal) == whole
    assert planner.calls == 0


def test_wrong_values_are_told_before_anything_is_planned():
    planner = Counting(shared)
    with pytest.raises(InputError) as caught:
        swept(["services.chta.workload.rate=1", "services.chat.slo.ttft_p90=1 s,fast"], planner)
    first, second = caught.value.issues
    assert "did you mean services.chat?" in first.help
    assert second.message == 'services.chat.slo.ttft_p90 = "fast" is not a time'
    assert planner.calls == 0


def test_a_front_is_of_one_service():
    with pytest.raises(InputError, match="each with a P90 TTFT of its own") as caught:
        front(SERVICES, (), options_of, Runner(LocalWorkers(1), planner=shared))
    assert "services.chat.slo.ttft_p90=1 s,2 s,4 s" in caught.value.issues[0].help


@pytest.mark.parametrize("rates", ["1..6/1 req/s", "4..6/1 req/s"])
def test_csv_has_the_columns_of_every_service_whether_or_not_there_is_a_plan(rates):
    report = _report(swept([f"services.chat.workload.rate={rates}"]), "")
    rows = list(csv.DictReader(io.StringIO(render_sweep(report, "csv"))))
    names = [f"services.{name}.{key}" for name in ("chat", "agent") for key in SERVICE_COLUMNS]
    assert list(rows[0])[-len(names) :] == names
    assert all(
        (row["services.agent.chips"] == "136") == (row["status"] == "optimal") for row in rows
    )
    data = json.loads(render_sweep(report, "json"))
    assert all(set(names) < set(row) for row in data["rows"])


def test_parquet_files_with_and_without_plans_can_be_joined(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra 'parquet' is not installed")
    schemas = []
    for rates in ("1,2", "4,5"):
        report = _report(swept([f"services.chat.workload.rate={rates}"]), "")
        write_sweep(report, ["parquet"], tmp_path / "x.parquet")
        schemas.append(parquet.read_schema(tmp_path / "x.parquet"))
    for key in ("fleet", "architecture", "routing_by"):
        column = f"services.chat.{key}"
        assert str(schemas[0].field(column).type) == str(schemas[1].field(column).type) == "string"


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("form", ["console", "md", "html"])
def test_reports_tell_what_each_service_does(form, lang):
    report = _report(swept(), "")
    text = render_sweep(report, form, lang, 80)
    assert text.count("agent") >= 3  # a row for each point with a plan
    for reason in ("cannot be met", "no price", "9 are needed"):
        assert reason in text
    assert ("mixed" if lang == "en" else "混合") in text
    if form == "console":
        assert max(map(len, text.splitlines())) <= 80


def test_a_grid_names_the_kinds_of_all_services_together():
    vary = ("services.chat.workload.rate=1..3/1 req/s", f"{PRICE}=1 USD/h,2 USD/h")
    text = render_sweep(_report(swept(vary), ""), "console", "en", 80)
    lines = [line.split() for line in text.splitlines()]
    agent = swept(["services.chat.workload.rate=1 req/s"]).rows[0].outcome.services[1].ttft_p90_s
    assert ["3", "req/s", f"{3 + agent:.2f}", "m", f"{2 * (3 + agent):.2f}", "m"] in lines
    assert "or m mixed" in " ".join(text.split())


def test_many_rows_of_services_are_left_to_files():
    axes = [f"{PRICE}={','.join(f'{k} USD/h' for k in range(1, 32))}"]
    report = _report(swept(axes), "")
    assert "62 rows, one a service and point" in render_sweep(report, "console", "en", 80)
    assert render_sweep(report, "md").count("agent") >= 31


def test_curves_are_drawn_for_each_service():
    report = _report(swept(["services.chat.workload.rate=1..3/1 req/s"]), "")
    charts = {chart.key: chart for chart in sweep_charts(report, SweepLabels())}
    chat, agent = charts["service_ttft"].series
    assert (chat.label, chat.x, chat.y) == ("chat", (1.0, 2.0, 3.0), (1.0, 2.0, 3.0))
    assert len({chat.tone, agent.tone}) == 2
    assert len(set(agent.y)) == 1
    assert "sweep_ttft" not in charts
    assert "sweep_goodput" not in charts
    alone = replace(report, services=())
    assert "service_ttft" not in {chart.key for chart in sweep_charts(alone, SweepLabels())}
