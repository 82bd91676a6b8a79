"""``--set path=value``."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenario_texts import CLASSES, ENGINES, scenario_text

from pdd_plan.errors import InputError, Issue
from pdd_plan.scenario import Scenario, load_scenario
from pdd_plan.scenario.overrides import real_path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "fleet.yaml"
    path.write_text(scenario_text(CLASSES, ENGINES))
    return path


def one_issue(file: Path, *overrides: str) -> Issue:
    with pytest.raises(InputError) as caught:
        load_scenario(file, overrides)
    (issue,) = caught.value.issues
    assert issue.help
    return issue


def shape(scenario: Scenario, index: int) -> int:
    assert not isinstance(scenario.engines, str)
    return scenario.engines[index].chips


def test_values_of_every_kind(file: Path) -> None:
    scenario = load_scenario(
        file,
        [
            "slo.ttft_p90=8 s",
            "links.0.bandwidth.max=50 Gbps",
            "links.beijing-shanghai.rtt=31 ms",
            "sites.beijing.chips.h200.price=3 USD/h",
            "sites.beijing.chips.h200.available=64",
            "workload.classes.long.cached_tokens=50k",
            "workload.classes.1.output_tokens=7",
            "engines.0.max_batch=32",
            "serving.dispatch=random",
            "slo.ttft_p99=20 s",
            "routing.thresholds=[0.5, 90 %]",
            "links.0.owned=false",
            "prices.h20=1 USD/h",
            "name=a = b",
        ],
    )
    assert scenario.slo.ttft_p90 == 8
    assert scenario.links[0].bandwidth.max_bytes_per_s == 6.25e9
    assert scenario.links[0].rtt_s == pytest.approx(0.031)
    assert scenario.sites["beijing"].chips["h200"].usd_per_chip_hour == 3
    assert scenario.sites["beijing"].chips["h200"].available == 64
    classes = scenario.workload.classes
    assert classes is not None
    assert classes[0].cached_tokens == 50_000
    assert classes[1].output_tokens == 7
    assert shape(scenario, 0) == 8
    assert scenario.serving.dispatch == "random"
    assert scenario.slo.ttft_p99 == 20
    assert scenario.routing.thresholds == (0.5, 0.9)
    assert scenario.name == "a = b"


def test_a_whole_section_and_its_removal(file: Path) -> None:
    whole = load_scenario(file, ["links.0.bandwidth=40 Gbps"])
    assert whole.links[0].bandwidth.levels() == (5e9,)
    assert load_scenario(file, ["slo={}"]).slo.limits == ()
    assert load_scenario(file, ["slo.tpot_p90=null"]).slo.tpot_p90 is None
    assert load_scenario(file, ["engines=auto"]).engines == "auto"


def test_the_last_of_two_wins(file: Path) -> None:
    assert load_scenario(file, ["slo.ttft_p90=8 s", "slo.ttft_p90=9 s"]).slo.ttft_p90 == 9


def test_an_override_mends_a_wrong_file(tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(scenario_text().replace("10 s", "-10 s"))
    assert load_scenario(path, ["slo.ttft_p90=8 s"]).slo.ttft_p90 == 8


@pytest.mark.parametrize(
    ("override", "message", "mend"),
    [
        ("slo.ttft_p91=8 s", "slo.ttft_p91 is not in the scenario", "slo.ttft_p9"),
        ("slo.nonsense=8 s", "slo.nonsense is not in the scenario", "known below slo: ttft_mean"),
        ("sla.ttft_p90=8 s", "sla is not in the scenario", "did you mean slo?"),
        ("sites.bejing.power=8 kW", "sites.bejing is not in the scenario", "sites.beijing"),
        ("sites.beijing.chips.h100.price=2", "chips.h100 is not in the scenario", "h200"),
        ("sites.beijing.chips.h200.prize=2", "h200.prize is not in the scenario", "price"),
        ("links.beijing-shanghia.rtt=8 ms", "links.beijing-shanghia", "links.beijing-shanghai"),
        ("links.3.rtt=8 ms", "links.3 is not in the scenario", "beijing-shanghai"),
        ("workload.classes.lon.share=1", "workload.classes.lon", "workload.classes.long"),
        ("engines.7.chips=8", "engines.7 is not in the scenario", "0 to 1"),
        ("model.layers=8", "model is one value, so it has no layers", "model={layers: ...}"),
        ("slo.ttft_p90", "is not of the form path=value", "path"[:0] + 'slo.ttft_p90=8 s'),
        ("=8 s", "is not of the form path=value", "slo.ttft_p90=8 s"),
        ("slo..x=8 s", "is not of the form path=value", "slo.ttft_p90=8 s"),
        ("routing.thresholds=[0.5", "cannot be read", "brackets"),
        ("slo={a: 1, a: 2}", "cannot be read", "brackets"),
    ],
)  # fmt: skip
def test_paths_that_are_not_there(file: Path, override: str, message: str, mend: str) -> None:
    issue = one_issue(file, override)
    assert issue.file == f"--set {override}"
    assert issue.line == 0
    assert message in issue.message
    assert mend in issue.help


def test_a_wrong_value_is_told_as_that_of_the_override(file: Path) -> None:
    issue = one_issue(file, "links.beijing-shanghai.rtt=5 Gbps")
    assert issue.file == "--set links.beijing-shanghai.rtt=5 Gbps"
    assert issue.path == "links.0.rtt"
    assert "5 Gbps is a bandwidth" in issue.message


def test_a_contradiction_by_an_override_is_told_as_such(file: Path) -> None:
    issue = one_issue(file, "slo.ttft_p50=12 s", "slo.ttft_p90=11 s")
    assert issue.file == "--set slo.ttft_p90=11 s"
    assert "11 s is below slo.ttft_p50 = 12 s" in issue.message


def test_two_lines_of_one_name_need_a_position(tmp_path: Path) -> None:
    text = scenario_text()
    line = text[text.index("  - from") :]
    path = tmp_path / "fleet.yaml"
    path.write_text(text + line)
    with pytest.raises(InputError) as caught:
        load_scenario(path, ["links.beijing-shanghai.rtt=5 ms"])
    assert any("names 2 items" in issue.message for issue in caught.value.issues)


def test_faults_of_the_file_come_before_those_of_overrides_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(scenario_text().replace("28 ms", "28 Gbps"))
    overrides = ["workload.rate=0 req/s", "name=", "slo.ttft_p90=-1 s"]
    with pytest.raises(InputError) as caught:
        load_scenario(path, overrides)
    assert [issue.file for issue in caught.value.issues] == [
        str(path),
        *(f"--set {override}" for override in overrides),
    ]


def test_a_key_that_a_service_lacks_is_told_with_the_nearest():
    data = {"services": {"chat": {"workload": {"rate": 1}}}}
    with pytest.raises(InputError) as caught:
        real_path(data, "services.chat.workload.rat")
    assert caught.value.issues[0].help == "did you mean services.chat.workload.rate?"
