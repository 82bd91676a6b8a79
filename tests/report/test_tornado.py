"""What changes of the scenario do, in every form of a report."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from report_examples import example

from pdd_plan.fleet.plan import Plan
from pdd_plan.report import digits, render
from pdd_plan.report.labels import Labels
from pdd_plan.report.svg import render_svg
from pdd_plan.report.tornado import NOTHING, pairs, tornado_chart

FORMS = ("console", "md", "html")


def change(path: str, direction: str, relative: float | None, **more: Any) -> dict[str, Any]:
    kind = {"slo": "limit", "workload": "rate"}.get(path.split(".")[0], "price")
    subject = {"limit": "ttft_p90", "rate": ""}.get(kind, "shanghai h20")
    return {
        "change": f"{path} {direction}",
        "path": path,
        "value": f"{direction}-value",
        "feasible": relative is not None,
        "effect": "" if relative is not None else "prefill alone takes longer",
        "kind": kind,
        "subject": subject,
        "from_value": "now-value",
        "step": "10 %",
        "direction": direction,
        "relative_change": relative,
        "same_fleet": False if relative is not None else None,
        "within_gap": False if relative is not None else None,
    } | more


PRICE, LIMIT, RATE = "sites.shanghai.chips.h20.price", "slo.ttft_p90", "workload.rate"
CHANGES = [
    change(PRICE, "down", -0.03, same_fleet=True),
    change(PRICE, "up", 0.03, within_gap=True),
    change(LIMIT, "down", None),
    change(LIMIT, "up", -0.12),
    change(RATE, "down", 0.0),
    change(RATE, "up", 0.00001),
]


def plan(changes: list[dict[str, Any]] | None = None, objective: str = "cost_per_token") -> Plan:
    data = example()
    data["sensitivity"] += CHANGES if changes is None else changes
    data["certificate"]["objective"] = objective
    return Plan.model_validate_json(json.dumps(data))


def section(text: str) -> str:
    return re.split(r"Limits|Certificate", text.split("What moves the cost", 1)[1])[0]


def test_the_greatest_effect_comes_first():
    assert [pair.entries[0].path for pair in pairs(plan())] == [LIMIT, PRICE, RATE]
    text = section(render(plan(), "console", width=80))
    assert text.index("limit TTFT P90") < text.index("price of shanghai h20")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_tells_effects_refusals_and_what_is_uncertain(form):
    text = " ".join(section(render(plan(), form, width=100)).replace("\\", "").split())
    for said in ("no plan", "-12 % *", "-3.0 %", "+3.0 % ~", "not certain", "with another fleet"):
        assert said in text, said
    assert "prefill alone takes longer" in text
    assert "Without effect: arrival rate" in text


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_console_stays_within_its_width(width):
    assert all(len(line) <= width for line in render(plan(), "console", width=width).splitlines())


def test_chinese():
    text = render(plan(), "console", width=100, lang="zh")
    assert "成本敏感性" in text
    assert "shanghai h20 价格" in text
    assert "无方案" in text


@pytest.mark.parametrize("form", FORMS)
def test_without_such_changes_there_is_no_section(form):
    assert "What moves the cost" not in render(plan([]), form)


def test_the_fleet_sentences_keep_to_changes_of_the_fleet():
    text = render(plan(), "console", width=200)
    (line,) = [line for line in text.splitlines() if "Would change:" in line]
    assert "now-value" not in line
    assert PRICE not in line


def test_csv_and_json_hold_every_number():
    rows = [
        row
        for row in csv.DictReader(io.StringIO(render(plan(), "csv")))
        if row.get("section", row.get("table", "")) == "sensitivity"
    ]
    assert rows
    data = json.loads(render(plan(), "json"))["sensitivity"]
    assert [one["relative_change"] for one in data[-6:]] == [-0.03, 0.03, None, -0.12, 0.0, 1e-5]


def test_more_goodput_is_better_and_more_cost_worse():
    changes = [change(PRICE, "up", 0.2)]
    good = render(plan(changes, "goodput"), "html")
    bad = render(plan(changes), "html")
    assert 'class="good">+20 % *' in good
    assert 'class="changed">+20 % *' in bad
    assert "change of goodput, %" in good


def test_bars_start_at_nought_and_are_to_scale():
    chart = tornado_chart(plan(), Labels())
    assert chart is not None
    root = ElementTree.fromstring(render_svg(chart))  # noqa: S314 - made here
    assert "no plan" in render_svg(chart)
    bars = [e for e in root.iter() if e.tag.endswith("rect") and len(e)]
    width = {e[0].text: float(e.get("width", 0)) for e in bars}
    limit, cheaper, dearer = (
        next(w for t, w in width.items() if sign in t) for sign in ("-12", "-3", " 3 %")
    )
    assert limit == pytest.approx(4 * cheaper, abs=0.2)
    assert cheaper == pytest.approx(dearer, abs=0.2)
    edges = [(float(e.get("x", 0)), float(e.get("x", 0)) + float(e.get("width", 0))) for e in bars]
    assert all(low >= 0 and high <= 720 for low, high in edges)


def test_effects_of_nothing_make_no_chart():
    assert tornado_chart(plan([change(RATE, "up", 0.0)]), Labels()) is None
    assert tornado_chart(plan([]), Labels()) is None


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0 %"), (1e-6, "0 %"), (0.0123, "+1.2 %"), (-0.4, "-40 %")]
)
def test_signs(value, text):
    assert digits.signed_percent(value, NOTHING) == text
