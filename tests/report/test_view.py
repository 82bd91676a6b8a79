"""What a report says, whatever the format."""

from __future__ import annotations

import json

import pytest
from report_examples import EXAMPLES, example, plan

from pdd_plan.errors import InputError
from pdd_plan.fleet.plan import Plan, parse_plan
from pdd_plan.report import FORMATS, render
from pdd_plan.report.blocks import Chart, Facts, Sentences, Table, View
from pdd_plan.report.labels import SENTENCES, WORDS
from pdd_plan.report.view import plan_view


def section(view: View, key: str) -> list[str]:
    """Return all texts of a section, one a fact, sentence or table row."""
    lines = []
    for part in view.sections:
        if part.key != key:
            continue
        for block in part.blocks:
            if isinstance(block, Facts):
                lines += [" | ".join([f.label, *(t.text for t in f.texts)]) for f in block.facts]
            elif isinstance(block, Sentences):
                lines += [f"{s.lead}: {s.text}" for s in block.sentences]
            elif isinstance(block, Table):
                lines += [" | ".join(t.text for t in row) for row in block.rows]
    return lines


def said(key: str, name: str = "example") -> str:
    return "\n".join(section(plan_view(plan(name)), key))


def test_the_headline_says_what_kind_of_answer_it_is() -> None:
    assert plan_view(plan()).subtitle == "optimal plan, gap 0, 0.8 s"
    assert plan_view(plan("huge")).subtitle == "feasible plan, gap 9.3 %, 61.2 s"
    assert plan_view(plan("infeasible")).subtitle == "no plan meets the limits, 0.8 s"
    assert plan_view(plan(certificate=None)).subtitle == "evaluated plan"


def test_the_answer_comes_first_and_warnings_right_after_it() -> None:
    keys = [section.key for section in plan_view(plan()).sections]
    assert keys[:5] == ["summary", "fleet", "why", "warnings", "baselines"]
    assert "warnings" not in {s.key for s in plan_view(plan(warnings=[])).sections}
    refused = [section.key for section in plan_view(plan("infeasible")).sections]
    assert refused[0] == "infeasibility"


def test_the_summary_tells_cost_limits_and_goodput() -> None:
    lines = section(plan_view(plan()), "summary")
    assert lines == [
        "Cost | 412.80 USD/h | 1.37 USD per M output tokens | 27 % below single site",
        "TTFT P90 | 8.7 s  (limit 10 s, met) | P50 3.1 s | P99 13.9 s | direct 8.9 s | relay 7.2 s",
        "TPOT P90 | 41 ms  (limit 60 ms, met)",
        "Goodput | 13.4 req/s on this fleet | demand 12.0 | BCR 1.48 against single site "
        "| limited by slo.ttft_p90",
    ]


def test_every_limit_is_told_also_those_on_means_and_periods() -> None:
    data = example()
    base = data["slo"][0]
    data["slo"] += [
        {**base, "metric": "tpot", "percentile": None, "limit": 0.05, "predicted": 0.037},
        {**base, "metric": "e2e", "percentile": 0.99, "predicted": None, "met": False},
        {**base, "percentile": 0.995, "period": "9-18 h"},
    ]
    lines = section(plan_view(Plan.model_validate_json(json.dumps(data))), "summary")
    assert "TPOT mean | 37 ms  (limit 50 ms, met)" in lines
    assert "End to end P99 | beyond the horizon  (limit 10 s, missed)" in lines
    assert any(line.startswith("TTFT P99.5 9-18 h | 8.7 s") for line in lines)


def test_latency_is_told_where_nothing_limits_it() -> None:
    lines = section(plan_view(plan(slo=[])), "summary")
    assert any(line.startswith("TTFT P90 | 8.7 s") for line in lines)
    assert "TPOT P90 | 41 ms" in lines


def test_route_sentences() -> None:
    assert (
        "Route: hit rate >= 0.93 goes straight to shanghai (78 %); the rest through the relay "
        "(22 %), which makes 6.1 % of tokens."
    ) in said("why")
    assert "every request goes straight to shanghai; none is relayed" in said("why", "no_relay")
    many = said("why", "many_sites")
    assert "from hohhot to guiyang (40 % of the demand) the threshold is 0.5." in many


@pytest.mark.parametrize(
    ("by", "threshold", "text"),
    [
        ("uncached_tokens", 19_400.0, "up to 19,400 uncached tokens goes straight"),
        ("transfer_bytes", 1.2e9, "up to 1.2 GB to send goes straight"),
        ("hit_rate", None, "a part goes straight"),
    ],
)
def test_routing_by_other_things(by: str, threshold: float | None, text: str) -> None:
    data = example()
    data["routing"].update(by=by, threshold=threshold)
    view = plan_view(Plan.model_validate_json(json.dumps(data)))
    assert text in "\n".join(section(view, "why"))


def test_routes_without_a_choice() -> None:
    data = example()
    data["routing"].update(relay_request_fraction=1.0)
    view = plan_view(Plan.model_validate_json(json.dumps(data)))
    assert "every request goes through the relay" in "\n".join(section(view, "why"))
    data = EXAMPLES["no_relay"]()
    data["lanes"] = [{"from": "beijing", "to": "beijing", "share": 1.0}]
    view = plan_view(Plan.model_validate_json(json.dumps(data)))
    assert "prefilled and decoded in beijing" in "\n".join(section(view, "why"))


def test_the_three_figures_of_cost_say_which_load_they_belong_to() -> None:
    text = said("why")
    assert "at the demand of 12.0 req/s a million output tokens costs 1.37 USD" in text
    assert "at the goodput of 13.4 req/s 1.23 USD" in text
    # BCR 1.48 is 1/1.48 - 1 = -32 % of cost per token, not -48 %
    assert "BCR 1.48 is 32 % less cost per token at goodput than single site." in text


def test_the_fleet_adds_up() -> None:
    rows = section(plan_view(plan()), "fleet")
    assert rows[0] == "beijing prefill | h200 tp8 | 9 | 72 | 0.81 | compute | 273.60"
    assert rows[3] == "beijing -> shanghai | 20 Gbps |  |  | 0.71 |  | 2.40"
    assert rows[-1] == "total |  | 17 | 136 |  |  | 412.80"


def test_all_baselines_and_the_plan_are_in_one_table() -> None:
    rows = section(plan_view(plan()), "baselines")
    assert [row.split(" | ")[0] for row in rows] == ["single site", "cross site", "this plan (PDD)"]
    assert rows[-1].split(" | ")[1:] == [
        *("412.80", "1.37", "1.23"),
        *("3.1 s", "8.7 s", "13.9 s"),
        *("13.4", "1.48"),
    ]


def test_a_baseline_that_is_the_plan_itself_is_not_told_twice() -> None:
    data = example()
    same = {key: data[key] for key in ("cost", "latency", "goodput", "bcr", "pools", "links")}
    data["baselines"].append({"name": "pdd", "status": "optimal", **same})
    view = plan_view(Plan.model_validate_json(json.dumps(data)))
    rows = [row.split(" | ")[0] for row in section(view, "baselines")]
    assert rows == ["single site", "cross site", "this plan (PDD)"]
    data["baselines"][-1]["cost"] = {**data["cost"], "usd_per_hour": 500.0}
    view = plan_view(Plan.model_validate_json(json.dumps(data)))
    rows = [row.split(" | ")[0] for row in section(view, "baselines")]
    assert rows == ["single site", "cross site", "PDD", "this plan (PDD)"]


def aggregated(usd_per_hour: float) -> Plan:
    data = example()
    data["certificate"]["objective"] = "cost_per_token"
    same = {**data["baselines"][0], "name": "aggregated"}
    same["cost"] = {**same["cost"], "usd_per_hour": usd_per_hour}
    data["baselines"].append(same)
    return Plan.model_validate_json(json.dumps(data))


@pytest.mark.parametrize(("usd_per_hour", "told"), [(309.6, True), (412.8, False), (500.0, False)])
def test_a_cheaper_fleet_without_the_split_is_told_beside_the_cost(
    usd_per_hour: float, told: bool
) -> None:
    view = plan_view(aggregated(usd_per_hour))
    summary = "\n".join(section(view, "summary"))
    said = "\n".join(section(view, "baselines"))
    assert ("33 % above aggregated" in summary) == told
    assert ("keep every limit for 309.60 USD/h, 25 % less" in said) == told


def test_a_plan_for_the_most_goodput_is_not_compared_by_cost_alone() -> None:
    data = json.loads(aggregated(309.6).model_dump_json())
    data["certificate"]["objective"] = "goodput"
    view = plan_view(Plan.model_validate_json(json.dumps(data)))
    assert "above aggregated" not in "\n".join(section(view, "summary"))


def test_an_infeasible_baseline_is_named_so() -> None:
    data = example()
    data["baselines"][1].update(status="infeasible", cost=None, latency=None, goodput=None)
    data["baselines"][1].update(bcr=None, pools=[], links=[], reason="the line is too slow")
    view = plan_view(Plan.model_validate_json(json.dumps(data)))
    assert section(view, "baselines")[1].startswith("cross site, infeasible | - | -")
    assert "the line is too slow" in render(Plan.model_validate_json(json.dumps(data)), "md")


def test_a_refusal_tells_reason_failures_and_smallest_changes() -> None:
    lines = section(plan_view(plan("infeasible")), "infeasibility")
    assert lines[0] == "Reason: prefill alone takes 0.84 s for 13 % of requests (h200, 8 chips)"
    assert "Fails: slo.ttft_p90: 1.8 s at best, limit 500 ms" in lines
    assert "Fails: sites.beijing.power: 1.3 MW at best, limit 1.2 MW" in lines
    assert "24 more h200 at beijing | sites.beijing.chips.h200.available | 152" in lines
    assert not plan_view(plan("infeasible")).good


def test_the_end_of_a_report_identifies_the_plan() -> None:
    view = plan_view(plan())
    assert view.sections[-1].key == "reproduce"
    text = "\n".join(section(view, "reproduce"))
    for part in ("agent-fleet", "9f86d081884c7d65" * 4, "0.1.0", "--set workload.rate='12 req/s'"):
        assert part in text
    proof = "\n".join(section(view, "certificate"))
    for part in ("optimal", "Gap 0", "HiGHS 1.10.0", "cuts: 14", "evaluations: 5,312"):
        assert part in proof
    assert "default: TCP over a leased line" in "\n".join(section(view, "assumptions"))


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("form", FORMATS)
def test_a_saved_plan_reports_as_it_did_at_planning_time(name: str, form: str) -> None:
    planned = plan(name)
    reloaded = parse_plan(planned.to_json())
    for lang in ("en", "zh"):
        assert render(reloaded, form, 80, lang) == render(planned, form, 80, lang)


def test_labels_are_complete_in_every_language() -> None:
    for table in (WORDS, SENTENCES):
        for key, texts in table.items():
            assert len(texts) == 2
            assert all(texts) or key == "blank", key
            english, chinese = (set(_holes(text)) for text in texts)
            assert english == chinese, key


def _holes(text: str) -> list[str]:
    import string

    return [name for _, name, _, _ in string.Formatter().parse(text) if name]


def test_no_word_is_left_english_in_chinese() -> None:
    same = {key for key, (english, chinese) in WORDS.items() if english == chinese}
    assert same == {
        *("pdd", "p50_ttft", "p90_ttft", "p99_ttft", "bcr", "ttft", "tpot", "input_hash")
    }


@pytest.mark.parametrize("name", EXAMPLES)
def test_chinese_reports_keep_every_number(name: str) -> None:
    import re

    def numbers(lang: str) -> list[str]:
        return sorted(re.findall(r"\d[\d,.]*\d|\d", render(plan(name), "console", 400, lang)))

    assert numbers("zh") == numbers("en")


def test_other_languages_and_formats_are_refused_with_the_choice() -> None:
    with pytest.raises(InputError) as caught:
        plan_view(plan(), "fr")
    assert "en, zh" in caught.value.issues[0].help
    with pytest.raises(InputError) as caught:
        render(plan(), "pdf")
    assert "html" in caught.value.issues[0].help


def test_the_currency_is_the_plans() -> None:
    text = render(plan("hostile"), "console", 100)
    assert "412.80 CNY/h" in text
    assert text.count("USD") == 1  # within a text that the plan carries


def test_charts_are_made_from_what_there_is() -> None:
    def keys(name: str) -> list[str]:
        view = plan_view(plan(name))
        return [b.key for s in view.sections for b in s.blocks if isinstance(b, Chart)]

    assert keys("example") == ["ttft", "cost", "use", "hits", "front"]
    assert keys("infeasible") == ["hits"]


def test_simpler_fleets_that_cannot_be_share_a_line_where_they_share_a_reason() -> None:
    data = example()
    for base in data["baselines"]:
        base.update(status="infeasible", cost=None, latency=None, goodput=None, reason="no stock")
    why = {"reason": "too little stock", "failures": [], "smallest_changes": []}
    data.update(status="infeasible", cost=None, pools=[], links=[], infeasibility=why)
    said = section(plan_view(Plan.model_validate_json(json.dumps(data))), "baselines")
    assert said == ["single site, cross site: no stock"]


def test_equal_assumptions_of_two_chips_share_a_row_and_figures_have_four_digits() -> None:
    data = example()
    data["assumptions"] = [
        {"path": f"sites.{site}.chips.h20.nic", "value": 200.123456, "unit": "Gbps", "source": "s"}
        for site in ("north", "south")
    ]
    view = plan_view(Plan.model_validate_json(json.dumps(data)))
    (block,) = next(one.blocks for one in view.sections if one.key == "assumptions_brief")
    assert isinstance(block, Table)
    assert [[cell.text for cell in cells[:2]] for cells in block.rows] == [
        ["sites.north.chips.h20.nic, sites.south.chips.h20.nic", "200.1 Gbps"]
    ]


@pytest.mark.parametrize("relayed", [0.0, 0.3])
def test_the_threshold_is_drawn_only_where_something_is_relayed(relayed: float) -> None:
    data = example()
    data["routing"].update(by="hit_rate", threshold=0.9, relay_request_fraction=relayed)
    view = plan_view(Plan.model_validate_json(json.dumps(data)))
    charts = [block for one in view.sections for block in one.blocks if isinstance(block, Chart)]
    hits = next(chart for chart in charts if chart.key == "hits")
    assert ("are relayed" in hits.description) == bool(relayed)
    assert [rule.value for rule in hits.rules] == ([0.9] if relayed else [])
