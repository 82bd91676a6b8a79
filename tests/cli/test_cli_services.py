"""Several services on one fleet, from the command line."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import jsonschema
import pytest

from pdd_plan.fleet.shared_plan import SharedPlan, any_plan_json_schema, load_any_plan

SCENARIO = Path(__file__).parent / "services.yaml"


@pytest.fixture
def saved(run, folder):
    """A planned and saved plan."""
    (folder / "pair.yaml").write_text(SCENARIO.read_text(encoding="utf-8"), encoding="utf-8")
    result = run("optimize", "pair.yaml", "-q", "-o", "plan.json")
    assert result.exit_code == 0, result.stderr
    return "plan.json"


def test_totals_are_the_sums_of_the_services(run, saved):  # noqa: ARG001
    plan = load_any_plan(saved)
    assert isinstance(plan, SharedPlan)
    assert plan.status == "optimal"
    assert plan.cost is not None
    own = [one.cost for one in plan.services.values() if one.cost]
    for key in ("usd_per_hour", "chips_usd_per_hour", "links_usd_per_hour"):
        assert sum(getattr(cost, key) for cost in own) == pytest.approx(getattr(plan.cost, key))
    for stock in plan.stock:
        pools = [p for one in plan.services.values() for p in one.pools]
        here = [p.chips for p in pools if (p.site, p.chip) == (stock.site, stock.chip)]
        assert sum(here) == stock.used == sum(stock.by_service.values()) <= stock.available
    (link,) = plan.links
    parts = {n: sum(x.gbps for x in one.links) for n, one in plan.services.items()}
    assert link.by_service == pytest.approx(parts)
    assert link.gbps == 10.0  # the smallest size, of which one service reserves 5 Gbps
    assert link.usd_per_hour == pytest.approx(1.0 + 10 * 100 / 730)
    assert plan.demand is not None
    assert plan.demand.requests_per_s == pytest.approx(7.0)
    assert plan.certificate is not None
    assert plan.certificate.recomputed_usd_per_hour == pytest.approx(plan.cost.usd_per_hour)


def test_the_scarce_chip_is_named_with_its_worth(run, saved):
    plan = load_any_plan(saved)
    assert [one.what for one in plan.binding] == ["sites.a.chips.h100.available"]
    shown = run("report", saved).stdout
    assert "sites.a.chips.h100.available at 3 of 3 chips" in shown
    assert "one more of h100 (a) would save up to 0.370 USD/h" in shown
    assert "a -> b, 10 Gbps bought" in shown
    more = run("optimize", "pair.yaml", "--set", "sites.a.chips.h100.available=4", "-f", "json")
    cheaper = json.loads(more.stdout)
    worth = plan.stock[0].worth_usd_per_chip_hour
    assert worth == pytest.approx(plan.cost.usd_per_hour - cheaper["cost"]["usd_per_hour"])


@pytest.mark.parametrize("width", ["80", "120"])
def test_console_fits_the_terminal(run, saved, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", width)
    result = run("report", saved)
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= int(width)
    for word in ("Services:", "search", "write", "total", "Shared by the services:"):
        assert word in result.stdout


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("form", ["console", "md", "csv", "json", "html"])
def test_every_form_holds_every_service(run, saved, form, lang):
    result = run("report", saved, "-f", form, "--lang", lang)
    assert result.exit_code == 0
    assert "search" in result.stdout
    assert "write" in result.stdout
    assert re.search(r"\b12\.3(7|69)", result.stdout)


def test_documents_hold_each_service_in_detail(run, saved):
    text = run("report", saved, "-f", "md").stdout
    for title in ("## search: Fleet", "## write: Limits", "## write: Assumptions"):
        assert title in text
    assert "search: Fleet" not in run("report", saved).stdout


def test_json_is_as_described_and_comes_back(run, saved):
    data = json.loads(Path(saved).read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(any_plan_json_schema())
    assert not list(validator.iter_errors(data))
    alone = data["services"]["search"]
    assert not list(validator.iter_errors(alone))
    assert json.loads(run("report", saved, "-f", "json").stdout) == data


def test_a_folder_gets_every_table(run, saved):
    Path("out").mkdir()
    assert run("report", saved, "-o", "out").exit_code == 0
    tables = {path.stem for path in Path("out").glob("*.csv")}
    names = {path.name for path in Path("out").iterdir()}
    assert {"plan.json", "plan.md", "plan.html"} <= names
    assert {"summary", "shared_stock", "shared_links", "shared_by_service", "baselines"} <= tables
    assert {"service_summary", "service_baselines", "pools", "slo", "latency"} <= tables
    with Path("out/pools.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["service"] for row in rows} == {"search", "write"}
    with Path("out/shared_by_service.csv").open(newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["what"] == "a h100"]
    assert [float(row["amount"]) for row in rows] == [2, 1]


def test_too_little_for_both_says_of_what(run, saved):  # noqa: ARG001
    change = ("--set", "sites.a.chips.h100.available=2")
    result = run("optimize", "pair.yaml", *change)
    assert result.exit_code == 1
    text = " ".join(result.stdout.split())
    assert "h100 at a: search at least 2, write at least 1, and there are 2 chips" in text
    assert "1 more h100 at a (3 instead of 2)" in text
    found = json.loads(run("optimize", "pair.yaml", *change, "-f", "json").stdout)
    assert found["status"] == "infeasible"
    assert found["services"] == {}
    (change,) = found["infeasibility"]["smallest_changes"]
    assert (change["path"], change["value"]) == ("sites.a.chips.h100.available", 3)


def test_a_service_that_never_fits_is_named(run, saved):  # noqa: ARG001
    result = run("optimize", "pair.yaml", "--set", "sites.a.chips.h100.available=1", "-f", "json")
    assert result.exit_code == 1
    why = json.loads(result.stdout)["infeasibility"]
    assert why["reason"].startswith("service search has no plan even with the whole fleet")
    paths = {change["path"] for change in why["smallest_changes"]}
    assert "services.search.slo.ttft_p90" in paths


def test_limits_that_cannot_be_met_name_their_service(run, saved):  # noqa: ARG001
    result = run(
        *("optimize", "pair.yaml", "--set", "services.search.slo.ttft_p90=1 ms"),
        *("--set", "services.write.slo.tpot_mean=0.1 ms"),
    )
    assert result.exit_code == 2
    assert "service search: slo.ttft_p90" in result.stderr
    assert "service write: slo.tpot_mean" in result.stderr
    assert "(services.search.slo.ttft_p90)" in result.stderr


def test_evaluating_a_plan_gives_its_figures_again(run, saved):
    planned = load_any_plan(saved)
    result = run("evaluate", "pair.yaml", "--plan", saved, "-f", "json")
    assert result.exit_code == 0
    scored = json.loads(result.stdout)
    assert scored["certificate"] is None
    assert scored["cost"]["usd_per_hour"] == pytest.approx(planned.cost.usd_per_hour)
    for name, own in planned.services.items():
        again = scored["services"][name]
        assert again["latency"]["ttft_s"]["p90"] == pytest.approx(own.latency.ttft_s.p90)
        assert [pool["engines"] for pool in again["pools"]] == [p.engines for p in own.pools]
    costs = {base["name"]: base["cost"] for base in scored["baselines"]}
    for base in planned.baselines:
        given = costs[base.name]
        assert (given is None) == (base.cost is None)
        if base.cost is not None:
            assert given["usd_per_hour"] == pytest.approx(base.cost.usd_per_hour)


def test_a_part_of_a_line_between_steps_is_evaluated_as_it_is(run, saved):
    data = json.loads(Path(saved).read_text(encoding="utf-8"))
    data["services"]["write"]["links"][0]["gbps"] = 12.5
    Path("between.json").write_text(json.dumps(data), encoding="utf-8")
    result = run("evaluate", "pair.yaml", "--plan", "between.json", "-f", "json")
    (link,) = json.loads(result.stdout)["links"]
    assert link["reserved_gbps"] == pytest.approx(12.5)
    assert link["usd_per_hour"] == pytest.approx(1.0 + 12.5 * 100 / 730)


def test_fleets_that_take_more_than_there_is_are_no_answer(run, saved):
    change = ("--set", "sites.a.chips.h100.available=2")
    result = run("evaluate", "pair.yaml", "--plan", saved, *change)
    assert result.exit_code == 1
    assert "h100 at a: the services take 3 chips, and there are 2" in result.stdout


def test_a_fleet_that_cannot_carry_its_load_names_its_service(run, saved):
    change = ("--set", "services.write.workload.rate=300 req/s")
    result = run("evaluate", "pair.yaml", "--plan", saved, *change)
    assert result.exit_code == 2
    assert "service write: the fleet of the plan cannot carry 300 req/s" in result.stderr
    assert "(services.write.workload.rate)" in result.stderr


@pytest.mark.parametrize("command", ["evaluate", "simulate"])
def test_plans_of_other_services_are_refused(run, saved, command):
    data = json.loads(Path(saved).read_text(encoding="utf-8"))
    data["services"]["serach"] = data["services"].pop("search")
    Path("other.json").write_text(json.dumps(data), encoding="utf-8")
    result = run(command, "pair.yaml", "--plan", "other.json")
    assert result.exit_code == 2
    assert "the plan has no service search" in result.stderr
    assert "did you mean search?" in result.stderr
    alone = data["services"]["write"]
    Path("one.json").write_text(json.dumps(alone), encoding="utf-8")
    result = run(command, "pair.yaml", "--plan", "one.json")
    assert result.exit_code == 2
    assert "the plan is of one service, and the scenario has several" in result.stderr


@pytest.mark.parametrize("form", ["console", "md", "csv", "json", "html"])
def test_fleets_of_services_stand_side_by_side(run, saved, form):
    change = "more: sites.a.chips.h100.available=4"
    result = run("compare", "pair.yaml", "--what-if", change, "--format", form)
    assert result.exit_code == 0, result.stderr
    assert "more" in result.stdout
    assert "search" in result.stdout
    if form == "console":
        lines = [line.split() for line in result.stdout.splitlines()]
        assert ["~", "USD/h", "12.37", "12.00", "*"] in lines
        assert ["~", "Chips,", "a", "h100", "3", "4"] in lines
        assert ["search:", "Chips", "2", "2"] in lines
    if form == "json":
        found = json.loads(result.stdout)["alternatives"]
        assert [one["name"] for one in found] == ["as written", "more"]
    same = run("compare", "pair.yaml", saved, "--format", "csv")
    assert same.exit_code == 0


def test_a_comparison_is_of_plans_of_one_kind(run, saved, folder):
    small = (SCENARIO.parent / "small.yaml").read_text(encoding="utf-8")
    (folder / "small.yaml").write_text(small, encoding="utf-8")
    result = run("compare", saved, "small.yaml")
    assert result.exit_code == 2
    assert "small is of one service and plan of several" in result.stderr


def test_no_plan_of_any_alternative_is_no(run, saved):  # noqa: ARG001
    change = "none: sites.a.chips.h100.available=2"
    one = run("compare", "pair.yaml", "--what-if", change)
    assert one.exit_code == 0
    assert "infeasible" in one.stdout
    none = run("compare", "pair.yaml", "--set", "sites.a.chips.h100.available=2", "-w", change)
    assert none.exit_code == 1


def test_each_service_is_simulated_on_its_own_fleet(run, saved):
    pytest.importorskip("numba")
    options = ("--requests", "4000", "--runs", "2", "--format", "json")
    result = run("simulate", "pair.yaml", "--plan", saved, *options)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert list(found) == ["search", "write"]
    for rows in found.values():
        (mean,) = [row for row in rows if row["what"] == "TPOT mean"]
        assert mean["simulated"] == pytest.approx(mean["predicted"], rel=0.1)
        assert mean["met"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("sweep", "pair.yaml", "--pareto"),
        ("optimize", "pair.yaml", "--why"),
        ("evaluate", "pair.yaml", "--plan", "plan.json", "--fail", "line:a-b"),
    ],
)
def test_what_works_on_one_service_says_so(run, saved, arguments):  # noqa: ARG001
    result = run(*arguments)
    assert result.exit_code == 2
    assert "pair has several services" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_sweep_plans_every_point_as_optimize_does(run, saved):  # noqa: ARG001
    zipped = (
        ("--zip", "services.search.workload.rate=4 req/s,5 req/s,4 req/s"),
        ("--zip", "sites.a.chips.h100.available=3,3,2"),
    )
    result = run("sweep", "pair.yaml", *zipped[0], *zipped[1], "-j", "1", "-f", "json")
    assert result.exit_code == 0, result.stderr
    rows = json.loads(result.stdout)["rows"]
    assert len(rows) == 3
    for row in rows:
        changes = [word for change in row["changes"] for word in ("--set", change)]
        plan = json.loads(run("optimize", "pair.yaml", *changes, "-f", "json").stdout)
        assert row["status"] == plan["status"]
        assert row["scenario_sha256"] == plan["scenario"]["sha256"]
        if plan["status"] == "infeasible":
            assert row["reason"] == plan["infeasibility"]["reason"]
            assert row["usd_per_hour"] is row["services.write.chips"] is None
            continue
        assert row["usd_per_hour"] == plan["cost"]["usd_per_hour"]
        assert row["line_gbps"] == sum(link["gbps"] for link in plan["links"])
        for base in plan["baselines"]:
            cost = base["cost"] and base["cost"]["usd_per_million_output_tokens"]
            assert row[f"{base['name']}_usd_per_million_output_tokens"] == cost
        for name, own in plan["services"].items():
            part = {k.split(".")[2]: v for k, v in row.items() if k.startswith(f"services.{name}.")}
            assert part["usd_per_hour"] == own["cost"]["usd_per_hour"]
            assert part["ttft_p90_s"] == own["latency"]["ttft_s"]["p90"]
            assert part["tpot_mean_s"] == own["latency"]["tpot_s"]["mean"]
            assert part["goodput_requests_per_s"] == own["goodput"]["requests_per_s"]
            assert part["architecture"] == own["architecture"]
            assert part["chips"] == sum(pool["chips"] for pool in own["pools"])
            assert part["limits_met"] is True
    assert [row["status"] for row in rows] == ["optimal", "optimal", "infeasible"]


@pytest.mark.parametrize(
    ("path", "exact"),
    [
        # Without an H20 the services take four H100; with one, three, and 10 Gbps of the line,
        # at 1 USD/h and 100 USD/Gbps/month.
        ("sites.b.chips.h20.price", 12.0 - 9.0 - 1.0 - 10 * 100 / 730),
        ("links.a-b.fixed_price", 12.0 - 9.0 - 1.0 - 10 * 100 / 730),
        ("links.a-b.price", (12.0 - 9.0 - 1.0 - 1.0) * 730 / 10),
    ],
)
def test_what_pays_for_all_services_together(run, saved, path, exact):  # noqa: ARG001
    more = ("--set", "sites.a.chips.h100.available=4", "-j", "1", "-f", "json")
    result = run("breakeven", "pair.yaml", "--of", path, *more)
    assert result.exit_code == 0, result.stderr
    (found,) = json.loads(result.stdout)["break_even"]
    assert found["usd_per_hour_without"] == pytest.approx(12.0)
    assert found["pays"] == "below"
    assert found["pays_at"] <= exact <= found["fails_at"] <= 1.0102 * found["pays_at"]
    assert found["proven"]


def test_the_limit_of_a_service_up_to_which_one_site_does_not_do(run, saved):  # noqa: ARG001
    path = "services.search.slo.ttft_p90"
    result = run("breakeven", "pair.yaml", "--of", path, "-j", "1", "-f", "json")
    assert result.exit_code == 0, result.stderr
    (found,) = json.loads(result.stdout)["break_even"]
    assert (found["what"], found["now"], found["unit"]) == ("split", 2.0, "s")
    for value, pays in ((found["pays_at"], True), (found["fails_at"], False)):
        plan = json.loads(
            run("optimize", "pair.yaml", "--set", f"{path}={value}", "-f", "json").stdout
        )
        kinds = {own["architecture"] for own in plan["services"].values()}
        assert bool(kinds & {"cross_site", "pdd"}) == pays


def test_a_key_that_each_service_has_is_asked_for_with_its_service(run, saved):  # noqa: ARG001
    for words in (
        ("sweep", "--vary", "slo.ttft_p90=1 s,2 s"),
        ("breakeven", "--of", "slo.ttft_p90"),
    ):
        result = run(words[0], "pair.yaml", *words[1:])
        assert result.exit_code == 2
        assert "slo is not in the scenario: each service has its own" in result.stderr
        assert "name the service: services.search.slo.ttft_p90" in result.stderr
    result = run("breakeven", "pair.yaml", "--of", "services.wrte.workload.rate")
    assert result.exit_code == 2
    assert "did you mean services.write?" in result.stderr


def test_a_plan_that_is_cut_off_is_refused(run, saved):
    data = json.loads(Path(saved).read_text(encoding="utf-8"))
    del data["services"]["search"]["cost"]
    data["stock"][0]["used"] = -1
    Path("broken.json").write_text(json.dumps(data, indent=2), encoding="utf-8")
    result = run("report", "broken.json")
    assert result.exit_code == 2
    assert "services.search.cost is missing" in result.stderr
    assert "stock.0.used = -1" in result.stderr
