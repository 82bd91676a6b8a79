"""What a valid scenario becomes: SI numbers, places, hash; and all errors at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from scenario_texts import CLASSES, ENGINES, SITES, TRACE, scenario_text

from pdd_plan.errors import InputError
from pdd_plan.scenario import Scenario, SloLimit, load_scenario, scenario_from_data
from pdd_plan.scenario.yaml_text import parse_value, parse_yaml


def load(tmp_path: Path, text: str, *overrides: str) -> Scenario:
    file = tmp_path / "fleet.yaml"
    file.write_text(text, encoding="utf-8")
    return load_scenario(file, overrides)


def data_of(text: str) -> Any:
    return parse_yaml(text, "").data


def test_numbers_are_in_si(tmp_path: Path) -> None:
    scenario = load(tmp_path, scenario_text())
    link = scenario.links[0]
    assert scenario.workload.rate_per_s == 12
    assert scenario.sites["beijing"].chips["h200"].usd_per_chip_hour == 3.8
    assert scenario.sites["beijing"].roles == {"prefill", "relay"}
    assert link.rtt_s == pytest.approx(0.028)
    assert link.bandwidth.levels() == pytest.approx([1.25e9 * n for n in range(1, 11)])
    # 20 Gbps at 800 USD/Gbps/month: 16,000 USD a month.
    assert link.price_per_hour(2.5e9) * 730 == pytest.approx(16_000)
    assert scenario.slo.limits == (
        SloLimit("ttft", 90.0, 10.0, "ttft_p90"),
        SloLimit("tpot", 90.0, 0.06, "tpot_p90"),
    )


def test_what_is_not_written_has_its_documented_default(tmp_path: Path) -> None:
    scenario = load(tmp_path, scenario_text())
    assert scenario.engines == "auto"
    assert scenario.currency == "USD"
    assert scenario.objective == "cost_per_token"
    assert scenario.links[0].efficiency == 0.9
    assert scenario.serving.memory_fraction == 0.9
    assert scenario.serving.min_engines.decode == 1
    assert scenario.sites["beijing"].rdma.latency_s == pytest.approx(100e-6)
    assert scenario.routing.max_thresholds == 20
    assert scenario.slo.slot_wait is None


def test_classes_engines_and_tables(tmp_path: Path) -> None:
    scenario = load(tmp_path, scenario_text(CLASSES, ENGINES))
    classes = scenario.workload.classes
    assert classes is not None
    assert [c.input_tokens for c in classes] == [65_536, 2000]
    assert not isinstance(scenario.engines, str)
    table = scenario.engines[1].decode_table
    assert table is not None
    assert table.batch == (1, 32)
    assert table.context_tokens == (1000, 64_000)
    assert table.step_s == ((0.02, 0.022), (0.03, 0.045))
    prefill = scenario.engines[1].prefill_table
    assert prefill is not None
    assert prefill.time_s == (0.44, 0.72)


def test_model_numbers_and_mean_limits() -> None:
    data = data_of(scenario_text())
    data["model"] = {
        "params": "671 B", "active_params": "37 B", "layers": 61, "hidden_size": 7168,
        "kv_bytes_per_token": "68.6 KiB/token", "attention_flop": 81920, "latent_cache": True,
        "experts": 256, "experts_per_token": 8,
    }  # fmt: skip
    data["slo"] = {"tpot_mean": "50 ms", "e2e_p99": "1 min", "handoff_gap_p99": 0.4}
    scenario = scenario_from_data(data)
    assert not isinstance(scenario.model, str)
    assert scenario.model.numbers()["params"] == 671e9
    assert [(x.metric, x.percentile, x.limit_s) for x in scenario.slo.limits] == [
        ("tpot", 0.0, 0.05),
        ("handoff_gap", 99.0, 0.4),
        ("e2e", 99.0, 60.0),
    ]


def test_one_price_for_a_chip_at_every_site(tmp_path: Path) -> None:
    sites = SITES.replace(", price: 3.8 USD/h", "").replace("        price: 1.9 USD/h\n", "")
    tail = "prices: {h200: 4 USD/h, h20: 1460 USD/month}\n"
    scenario = load(tmp_path, scenario_text(tail=tail).replace(SITES, sites))
    assert scenario.sites["beijing"].chips["h200"].usd_per_chip_hour == 4
    assert scenario.sites["shanghai"].chips["h20"].usd_per_chip_hour == pytest.approx(2)
    own = scenario_text(tail="prices: {h200: 4 USD/h}\n")
    assert load(tmp_path, own).sites["beijing"].chips["h200"].usd_per_chip_hour == 3.8


def test_a_wrong_shared_price_is_told_where_it_is_written(tmp_path: Path) -> None:
    text = scenario_text(tail="prices: {h200: -4 USD/h}\n").replace(", price: 3.8 USD/h", "")
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    assert {issue.line for issue in caught.value.issues} == {text.count("\n")}


def test_other_currency_and_routing_units(tmp_path: Path) -> None:
    text = scenario_text(tail="currency: CNY\nrouting: {by: transfer_bytes, threshold: 1 GiB}\n")
    scenario = load(tmp_path, text.replace("USD", "CNY"))
    assert scenario.currency == "CNY"
    assert scenario.routing.threshold == 2**30
    tail = "routing: {by: uncached_tokens, thresholds: [0, 8k, 64Ki tokens]}\n"
    assert load(tmp_path, scenario_text(tail=tail)).routing.thresholds == (0, 8000, 65_536)
    tail = "routing: {thresholds: [0.5, 90 %, 1]}\n"
    assert load(tmp_path, scenario_text(tail=tail)).routing.thresholds == (0.5, 0.9, 1)


def test_relative_chips_of_the_catalog_and_of_the_scenario(tmp_path: Path) -> None:
    chips = (
        "h200: {available: 8, price: 3}\n"
        "      x1: {relative_to: h200, prefill: 0.81x, decode: 210 %, available: 8, price: 1}\n"
        "      x2: {relative_to: x1, prefill: 1, decode: 1.1, available: 8, price: 1}"
    )
    text = scenario_text().replace("h200: {available: 128, price: 3.8 USD/h}", chips)
    offers = load(tmp_path, text).sites["beijing"].chips
    assert (offers["x1"].prefill, offers["x1"].decode) == (0.81, 2.1)
    assert offers["x2"].relative_to == "x1"


def test_lines_point_into_the_file_and_fall_back_to_the_parent(tmp_path: Path) -> None:
    text = scenario_text()
    source = load(tmp_path, text).source
    for path, marker in (
        ("name", "name:"),
        ("sites.beijing.chips.h200.price", "h200:"),
        ("sites.shanghai.chips.h20.price", "price: 1.9"),
        ("links.0.bandwidth.step", "bandwidth:"),
        ("links.0.rtt", "rtt:"),
        ("links.0.efficiency", "- from"),
        ("serving.dispatch", "schema_version"),
    ):
        assert source.line_of(path) == text[: text.index(marker)].count("\n") + 1, path
    issue = source.issue("links.0.rtt", "too long", "shorten it")
    assert (issue.file, issue.line, issue.help) == (source.file, 30, "shorten it")


def test_the_hash_follows_content_overrides_and_files_but_not_comments(tmp_path: Path) -> None:
    requests = tmp_path / "requests.csv"
    requests.write_text("arrival_s,input_tokens,cached_tokens,output_tokens\n0,1,0,1\n")
    text = scenario_text(TRACE)
    first = load(tmp_path, text).source.sha256
    assert len(first) == 64
    assert load(tmp_path, "# remark\n" + text).source.sha256 == first
    assert load(tmp_path, text, "slo.ttft_p90=8 s").source.sha256 != first
    same = load(tmp_path, text.replace("10 s", "8 s")).source.sha256
    assert load(tmp_path, text, "slo.ttft_p90=8 s").source.sha256 == same
    requests.write_text("arrival_s,input_tokens,cached_tokens,output_tokens\n0,1,0,22\n")
    assert load(tmp_path, text).source.sha256 != first


def test_paths_start_at_the_folder_of_the_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "fleet"
    folder.mkdir()
    (folder / "requests.csv").write_text("arrival_s\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    scenario = load(folder, scenario_text(TRACE))
    assert scenario.workload.trace is not None
    assert scenario.workload.trace.path == "requests.csv"
    assert scenario.source.folder == folder


def test_every_error_at_once_in_file_order(tmp_path: Path) -> None:
    text = (
        scenario_text(tail="serving: {handoff: never}\n")
        .replace("fp8", "fp9")
        .replace("12 req/s", "-12 req/s")
        .replace("distribution: lognormal", "distribution: lognorml")
        .replace("10 s", "10 Gbps")
        .replace("available: 128, price: 3.8 USD/h", "available: 1.5")
        .replace("[decode]", "[decode, decoder]")
        .replace("from: beijing", "from: bejing")
        .replace("28 ms", "28")
    )
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    issues = caught.value.issues
    assert [issue.path for issue in issues] == [
        "precision.weights",
        "workload.rate",
        "workload.mixture.input_tokens.distribution",
        "slo.ttft_p90",
        "sites.beijing.chips.h200.price",
        "sites.beijing.chips.h200.available",
        "sites.shanghai.roles.1",
        "links.0.from",
        "serving.handoff",
    ]
    assert [issue.line for issue in issues] == sorted(issue.line for issue in issues)
    assert str(caught.value).count(";") >= len(issues) - 1


def test_faults_of_yaml_and_of_content_come_together(tmp_path: Path) -> None:
    text = scenario_text().replace("name: agent-fleet", "name: a\nname: b").replace("10 s", "0 s")
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    assert [issue.path for issue in caught.value.issues] == ["name", "slo.ttft_p90"]


def test_a_scenario_is_frozen() -> None:
    scenario = scenario_from_data(data_of(scenario_text()))
    with pytest.raises(ValidationError):
        scenario.name = "other"  # type: ignore[misc]


def test_data_in_memory_is_left_alone() -> None:
    data = data_of(scenario_text())
    before = repr(data)
    scenario = scenario_from_data(data, ["slo.ttft_p90=8 s"], name="unused")
    assert scenario.slo.ttft_p90 == 8
    assert scenario.source.file == ""
    assert repr(data) == before


def test_yaml_has_no_surprises() -> None:
    values = parse_value(
        "[1e-3, 1E3, .5, 5., -3, +4, 0, 010, 0x1F, 0o7, 1_000, 12:30, 2026-01-01, on, off, yes, no,"
        " y, true, False, ~, null, .inf, 'true', \"1\"]"
    )
    assert values == [
        0.001, 1000.0, 0.5, 5.0, -3, 4, 0, "010", "0x1F", "0o7", "1_000", "12:30", "2026-01-01",
        "on", "off", "yes", "no", "y", True, False, None, None, float("inf"), "true", "1",
    ]  # fmt: skip
    assert [type(v) for v in values[:7]] == [float, float, float, float, int, int, int]


def test_exponent_is_a_number_in_a_scenario(tmp_path: Path) -> None:
    scenario = load(tmp_path, scenario_text(tail="optimizer: {time_limit: 1e-3}\n"))
    assert scenario.optimizer.time_limit_s == 0.001


def test_loading_pulls_no_heavy_library() -> None:
    code = (
        "import sys, pdd_plan.scenario;"
        "heavy = {'scipy', 'matplotlib', 'pulp', 'numba', 'rich', 'highspy', 'pandas'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
