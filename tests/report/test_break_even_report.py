"""Break-evens in reports: every kind of answer in words, and both bounds in a table."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest
from report_examples import example

from pdd_plan.fleet.plan import BreakEven, Plan
from pdd_plan.report import render, write
from pdd_plan.report.break_even import FIBER_KM_PER_RTT_MS, sentence
from pdd_plan.report.labels import Labels


def item(**changes: Any) -> BreakEven:
    values: dict[str, Any] = {
        "what": "chip",
        "subject": "shanghai h20",
        "path": "sites.shanghai.chips.h20.price",
        "unit": "USD/h",
        "now": 1.06,
        "pays": "below",
        "pays_at": 2.0979,
        "fails_at": 2.12,
        "tried_from": 1.06,
        "tried_to": 4.24,
        "usd_per_hour_without": 312.32,
        "possible_without": True,
        "proven": True,
    }
    return BreakEven(**(values | changes))


NONE = {"pays_at": None, "fails_at": None}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "shanghai h20 pays while its price is at most 2.097 USD/h; now 1.06 USD/h."),
        ({"now": None}, "shanghai h20 pays while its price is at most 2.097 USD/h."),
        (
            {"pays": "above", "pays_at": 22.1481, "fails_at": 22.03, "path": "links.a-b.bandwidth",
             "unit": "Gbps", "subject": "a-b", "what": "line", "now": 60.0},
            "a-b pays while its bandwidth is at least 22.15 Gbps; now 60 Gbps.",
        ),
        (
            {"pays": "always", "possible_without": False, **NONE},
            "There is no plan without shanghai h20.",
        ),
        (
            {"pays": "always", **NONE},
            "shanghai h20 pays at every price tried, from 1.06 USD/h to 4.24 USD/h.",
        ),
        (
            {"pays": "never", **NONE},
            "shanghai h20 pays at no price tried, from 1.06 USD/h to 4.24 USD/h.",
        ),
        (
            {"pays": "unknown", "reason": "no plan in 60 s", "proven": False, **NONE},
            "shanghai h20 by price: not known, no plan in 60 s",
        ),
        (
            {"what": "relay", "subject": "", "path": "slo.ttft_p90", "unit": "s", "now": 1.5},
            "the relay pays while slo.ttft_p90 is at most 2.097 s; now 1.5 s.",
        ),
        (
            {"what": "line", "subject": "a-b", "path": "links.a-b.rtt", "unit": "ms",
             "now": 28.6, "pays_at": 50.0, "fails_at": 50.4},
            "a-b pays while its RTT is at most 50 ms; now 28.6 ms. In fiber that is at most "
            "5,100 km.",
        ),
        (
            {"what": "line", "subject": "a-b", "path": "links.a-b.rtt", "unit": "ms",
             "now": 28.6, "pays_at": 500.0, "fails_at": 504.0},
            "a-b pays while its RTT is at most 500 ms; now 28.6 ms. In fiber that is farther "
            "than any two places on earth.",
        ),
        (
            {"proven": False},
            "shanghai h20 pays while its price is at most 2.097 USD/h; now 1.06 USD/h. "
            "Not proven: the gaps of the plans leave it open.",
        ),
    ],
)  # fmt: skip
def test_every_answer_in_words(changes, said):
    assert sentence(item(**changes), Labels()) == said


def test_light_in_fiber():
    # 299,792.458 km/s through an index of 1.4682, for half of a millisecond.
    assert pytest.approx(299_792.458 / 1.4682 / 2000, rel=1e-3) == FIBER_KM_PER_RTT_MS


@pytest.fixture
def plan() -> Plan:
    data = example()
    line = item(what="line", subject="beijing-shanghai", path="links.beijing-shanghai.price",
                unit="USD/Gbps/month", now=800.0, pays_at=1809.9, fails_at=1826.5)  # fmt: skip
    data["break_even"] = [item().model_dump(), line.model_dump()]
    return Plan.model_validate_json(json.dumps(data))


@pytest.mark.parametrize("form", ["console", "md", "html"])
def test_a_plan_shows_sentences_and_bounds(plan, form):
    text = " ".join(render(plan, form, width=100).replace("\\", "").split())
    for said in ("Break-even", "at most 1,809 USD/Gbps/month", "1,809", "1,826", "312.32"):
        assert said in text, said


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_console_stays_within_its_width(plan, width):
    assert all(len(line) <= width for line in render(plan, "console", width=width).splitlines())


def test_at_80_columns_the_bounds_are_a_grid(plan):
    lines = render(plan, "console", width=80).splitlines()
    (head,) = [line for line in lines if "Pays at" in line and "Not at" in line]
    assert "without" in head


def test_chinese(plan):
    text = render(plan, "console", width=100, lang="zh")
    assert "盈亏平衡" in text
    assert "划算" in text


def test_csv_and_json_hold_all_of_it(plan, tmp_path):
    write(plan, "csv", tmp_path)
    with (tmp_path / "break_even.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["pays_at"]) for row in rows] == [2.0979, 1809.9]
    assert Plan.model_validate_json(render(plan, "json")) == plan


def test_a_plan_without_them_has_no_section():
    text = render(Plan.model_validate_json(json.dumps(example())), "console")
    assert "Break-even" not in text
