"""``optimize``, ``evaluate``, ``compare`` and ``simulate`` on a small fleet."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pdd_plan.fleet.plan import Plan, load_plan

HOPELESS = ("--set", "sites.a.chips.h100.available=1", "--set", "workload.rate=40 req/s")


def test_optimize_and_report_say_the_same(run, here):  # noqa: ARG001
    planned = run("optimize", "small.yaml", "--format", "json")
    again = run("report", "plan.json", "--format", "json")
    assert planned.exit_code == again.exit_code == 0
    first, second = json.loads(planned.stdout), json.loads(again.stdout)
    for plan in (first, second):
        plan["certificate"].pop("solve_time_s")
        plan.pop("command")
    assert first == second


def test_the_command_in_a_plan_gives_the_plan_again(run, here):
    run("optimize", "small.yaml", "--set", "slo.ttft_p90=3 s", "--seed", "5", "-o", "p.json")
    plan = load_plan(here / "p.json")
    words = ["optimize", "small.yaml", "--set", "slo.ttft_p90=3 s", "--seed", "5"]
    import shlex

    assert shlex.split(plan.command) == ["pdd-plan", *words]


def test_input_hash_depends_on_content_not_on_place(run, here):
    (here / "sub").mkdir()
    shutil.copy("small.yaml", "sub/renamed.yaml")
    run("optimize", "sub/renamed.yaml", "-o", "sub.json")
    assert load_plan("sub.json").scenario.sha256 == load_plan("plan.json").scenario.sha256


def test_quantities_add_up(saved):
    plan = load_plan(saved)
    assert plan.cost is not None
    chips = sum(p.chips * (p.usd_per_chip_hour or 0) for p in plan.pools)
    assert plan.cost.chips_usd_per_hour == pytest.approx(chips)
    assert plan.cost.usd_per_hour == pytest.approx(chips + plan.cost.links_usd_per_hour)


def test_infeasible_ends_with_1_and_says_why(run, here):  # noqa: ARG001
    result = run("optimize", "small.yaml", *HOPELESS, "-o", "no.json")
    assert result.exit_code == 1
    plan = load_plan("no.json")
    assert plan.status == "infeasible"
    assert plan.infeasibility is not None
    assert plan.infeasibility.reason
    assert "Traceback" not in result.stderr


def test_evaluate_its_own_plan_reproduces_its_figures(run, here):  # noqa: ARG001
    result = run("evaluate", "small.yaml", "--plan", "plan.json", "--format", "json")
    assert result.exit_code == 0
    scored, plan = Plan.model_validate_json(result.stdout), load_plan("plan.json")
    assert scored.cost == plan.cost
    assert scored.latency == plan.latency
    assert scored.goodput == plan.goodput


def test_evaluate_under_a_limit_that_is_missed_ends_with_1(run, here):  # noqa: ARG001
    plan = load_plan("plan.json")
    assert plan.latency is not None
    assert plan.latency.ttft_s.p90 is not None
    limit = f"slo.ttft_p90={plan.latency.ttft_s.p90 * 0.7:.3f} s"
    result = run("evaluate", "small.yaml", "--plan", "plan.json", "--set", limit)
    assert result.exit_code == 1
    assert "missed" in result.stdout or "not met" in result.stdout


def test_evaluate_needs_a_plan_of_the_same_sites(run, here):
    data = json.loads((here / "plan.json").read_text())
    data["pools"][0]["site"] = "elsewhere"
    (here / "other.json").write_text(json.dumps(data))
    result = run("evaluate", "small.yaml", "--plan", "other.json", "-o", "out.json")
    assert result.exit_code == 2
    assert "elsewhere" in result.stderr
    assert not Path("out.json").exists()


def test_compare_answers_which_chip_in_one_table(run, here):  # noqa: ARG001
    result = run(
        "compare",
        "small.yaml",
        "plan.json",
        "--what-if",
        "E: sites.b.chips={e: {relative_to: h100, prefill: 0.81, decode: 2.1, memory: 80 GiB, "
        "available: 8, price: 3 USD/h}},engines=auto",
        "--what-if",
        "910B: sites.b.chips={ascend-910b: {available: 8, price: 1.5 USD/h}},engines=auto",
    )
    assert result.exit_code == 0, result.stderr
    said = result.stdout
    for word in ("as written", "plan", "E", "910B", "TTFT P90", "BCR", "Chips", "out"):
        assert word in said


def test_compare_formats_agree(run, here):  # noqa: ARG001
    arguments = ("compare", "small.yaml", "--what-if", "dear: sites.b.chips.h20.price=9 USD/h")
    data = json.loads(run(*arguments, "--format", "json").stdout)
    assert [part["name"] for part in data["alternatives"]] == ["as written", "dear"]
    plans = [Plan.model_validate_json(json.dumps(p["plan"])) for p in data["alternatives"]]
    Path("out").mkdir()
    assert run(*arguments, "-o", "out").exit_code == 0
    with Path("out/comparison.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for plan, row in zip(plans, rows, strict=True):
        assert plan.cost is not None
        assert float(row["usd_per_hour"]) == plan.cost.usd_per_hour


def test_compare_in_two_processes_gives_the_same(run, here):  # noqa: ARG001
    arguments = ("compare", "small.yaml", "--what-if", "slow: links.a-b.rtt=60 ms")
    one = json.loads(run(*arguments, "--format", "json").stdout)
    two = json.loads(run(*arguments, "--format", "json", "--jobs", "2").stdout)
    for data in (one, two):
        for part in data["alternatives"]:
            part["plan"]["certificate"].pop("solve_time_s")
    assert one == two


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["small.yaml"], "needs two"),
        (["small.yaml", "small.yaml"], "two alternatives have the name"),
        (["small.yaml", "quickstart", "--what-if", "a: workload.rate=1"], "changes one scenario"),
        (["small.yaml", "gone.json"], "there is no plan gone.json"),
        (["small.yaml", "gone.yaml"], "gone.yaml"),
        (["small.yaml", "--what-if", "nonsense"], 'what-if "nonsense" is not'),
        (["small.yaml", "--what-if", "a: workload.rat=1"], "workload.rate"),
        (["small.yaml", "--what-if", "a: sites.b.chips={h2o: {available: 8, price: 1}}"], "h20"),
    ],
)
def test_compare_refuses(run, here, arguments, said):  # noqa: ARG001
    result = run("compare", *arguments, "-o", "out.md")
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert not Path("out.md").exists()


def test_all_faults_of_all_what_ifs_are_told_at_once(run, here):  # noqa: ARG001
    faults = ["--what-if", "a: workload.rate=-1", "--what-if", "b: slo.ttft_p90=-1 s"]
    said = run("compare", "small.yaml", *faults).stderr
    assert "workload.rate" in said
    assert "slo.ttft_p90" in said


@pytest.mark.parametrize("command", ["optimize", "evaluate"])
def test_wrong_scenario_exits_2_with_file_and_line_and_writes_nothing(run, here, command):
    text = (here / "small.yaml").read_text().replace("rate: 4 req/s", "rate: -4 req/s")
    (here / "small.yaml").write_text(text)
    extra = ("--plan", "plan.json") if command == "evaluate" else ()
    result = run(command, "small.yaml", *extra, "-o", "out.json")
    assert result.exit_code == 2
    assert "small.yaml:6" in result.stderr
    assert "Traceback" not in result.stderr
    assert not Path("out.json").exists()


def test_solvers_agree(run, here):  # noqa: ARG001
    costs = []
    for solver in ("highs", "cbc"):
        result = run("optimize", "small.yaml", "--solver", solver, "--format", "json")
        assert result.exit_code == 0
        plan = Plan.model_validate_json(result.stdout)
        assert plan.cost is not None
        costs.append(plan.cost.usd_per_hour)
    assert costs[0] == pytest.approx(costs[1])


def test_nothing_on_stderr_and_no_escape_codes_without_a_terminal(here):
    done = subprocess.run(
        [sys.executable, "-c", "from pdd_plan.cli.main import main; main()", "optimize",
         "small.yaml"],
        cwd=here,
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )  # fmt: skip
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert done.stdout.startswith("small: optimal plan")


def test_simulate_puts_predictions_beside_measurements(run, here):  # noqa: ARG001
    pytest.importorskip("numba")
    result = run(
        "simulate", "small.yaml", "--plan", "plan.json", "--requests", "20000", "--format", "json"
    )
    assert result.exit_code == 0, result.output
    rows = {row["what"]: row for row in json.loads(result.stdout)["simulation"]}
    row = rows["TTFT P90"]
    plan = load_plan("plan.json")
    assert plan.latency is not None
    assert row["predicted"] == pytest.approx(plan.latency.ttft_s.p90, rel=1e-6)
    assert row["limit"] == 2
    assert abs(row["difference"]) < 0.2


def test_a_plan_of_other_sites_is_told_as_such_and_no_line_is_asked_for(run, here):
    text = (here / "plan.json").read_text().replace('"a"', '"elsewhere"')
    (here / "other.json").write_text(text)
    result = run("evaluate", "small.yaml", "--plan", "other.json")
    assert result.exit_code == 2
    assert result.stderr.count("error:") == 1
    assert "engines at elsewhere, and the scenario has no such site" in result.stderr
    assert "sites of the scenario: a, b" in result.stderr
