"""Single changes of a scenario and what they do to its plan."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest

from pdd_plan.scenario import load_scenario
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.planning import plan_scenario
from pdd_plan.studies.probes import link_path, probes_of
from pdd_plan.studies.sensitivity import _within_gap, sensitivity
from pdd_plan.studies.sweep_outcome import Outcome, outcome_of
from pdd_plan.studies.sweep_run import Runner
from pdd_plan.studies.sweep_workers import LocalWorkers
from pdd_plan.studies.why import explained

SMALL = Path(__file__).parents[1] / "cli" / "small.yaml"


@pytest.fixture(scope="module")
def plan():
    return plan_scenario(load_scenario(SMALL))


@pytest.fixture(scope="module")
def whole(plan):
    runner = Runner(LocalWorkers(1))
    return explained(plan, load_scenario(SMALL), SMALL, PlanOptions(), runner)


def by_change(plan):
    return {(item.path, item.direction): item for item in plan.sensitivity if item.of_scenario}


def test_what_is_changed_and_by_how_much(plan):
    found = {
        (p.path, p.sign): (p.now, p.value, p.step) for p in probes_of(load_scenario(SMALL), plan)
    }
    assert found["slo.ttft_p90", -1] == ("2 s", "1.6 s", "400 ms")  # a fifth, less than a second
    assert found["slo.tpot_mean", 1] == ("50 ms", "60 ms", "10 ms")
    assert found["sites.b.chips.h20.price", 1] == ("1 USD/h", "1.1 USD/h", "10 %")
    assert found["links.a-b.price", -1] == ("100 USD/Gbps/month", "90 USD/Gbps/month", "10 %")
    assert found["workload.rate", 1] == ("4 req/s", "4.4 req/s", "10 %")
    assert found["sites.a.chips.h100.available", 1] == ("8", "9", "1 chips")
    assert ("sites.a.chips.h100.available", -1) not in found
    # Hit rates: 0.75 * 15.5 / 16 + 0.25 * 4 / 16.
    assert found["workload.mean_hit_rate", -1][1] == "73.9062 %"


def test_limits_of_ten_seconds_move_by_one(plan):
    scenario = load_scenario(SMALL, ["slo.ttft_p90=10 s"])
    values = {p.value for p in probes_of(scenario, plan) if p.path == "slo.ttft_p90"}
    assert values == {"9 s", "11 s"}


def test_high_hit_rates_go_halfway_to_one(plan):
    facts = plan.workload.model_copy(update={"mean_hit_rate": 0.97})
    probes = probes_of(load_scenario(SMALL), plan.model_copy(update={"workload": facts}))
    assert {p.value for p in probes if p.kind == "hit_rate"} == {"92 %", "98.5 %"}


@pytest.mark.parametrize(
    ("objective", "absent"), [("goodput", {"price", "rate"}), ("bcr", {"rate"})]
)
def test_changes_that_cannot_matter_are_left_out(plan, objective, absent):
    scenario = load_scenario(SMALL, [f"objective={objective}", "budget=30 USD/h"])
    kinds = {probe.kind for probe in probes_of(scenario, plan)}
    assert not kinds & absent
    assert "budget" in kinds


def test_links_that_share_a_name_go_by_position():
    scenario = load_scenario(SMALL)
    twice = scenario.model_copy(update={"links": scenario.links * 2})
    assert link_path(scenario, scenario.links[0]) == "links.a-b"
    assert link_path(twice, twice.links[0]) == "links.0"


def test_every_change_is_the_plan_that_its_override_gives(plan, whole):
    for (path, direction), item in by_change(whole).items():
        if path not in ("slo.ttft_p90", "sites.b.chips.h20.price", "workload.mean_hit_rate"):
            continue
        again = plan_scenario(load_scenario(SMALL, [f"{path}={item.value}"]))
        assert again.cost is not None
        assert item.usd_per_hour == pytest.approx(again.cost.usd_per_hour)
        assert item.relative_change == pytest.approx(
            again.cost.usd_per_million_output_tokens / plan.cost.usd_per_million_output_tokens - 1
        ), (path, direction)


def test_tighter_never_helps_and_looser_never_harms(whole):
    for (path, direction), item in by_change(whole).items():
        if item.relative_change is None or item.within_gap:
            continue
        loosens = {"price": "down", "limit": "up", "stock": "up", "hit_rate": "up"}.get(item.kind)
        if loosens is not None:
            sign = 1 if direction == loosens else -1
            assert sign * item.relative_change <= 1e-9, path


def test_a_dearer_chip_costs_its_part_at_most(plan, whole):
    # The old fleet stays possible, so the cost cannot rise by more than its share of the bill.
    for pool_site, chip in {(p.site, p.chip) for p in plan.pools}:
        spent = sum(p.usd_per_hour for p in plan.pools if (p.site, p.chip) == (pool_site, chip))
        item = by_change(whole)[f"sites.{pool_site}.chips.{chip}.price", "up"]
        share = 0.1 * spent / plan.cost.usd_per_hour
        assert item.relative_change <= share + 1e-9
        if item.same_fleet:
            assert item.relative_change == pytest.approx(share)


def test_the_rest_of_the_plan_stays(plan, whole):
    same = whole.model_copy(update={"sensitivity": plan.sensitivity, "break_even": ()})
    assert same == plan
    assert whole.sensitivity[: len(plan.sensitivity)] == plan.sensitivity


def test_an_infeasible_plan_is_left_as_it_is(plan):
    none = plan.model_copy(update={"status": "infeasible"})
    assert (
        explained(none, load_scenario(SMALL), SMALL, PlanOptions(), Runner(LocalWorkers(1))) is none
    )


def test_within_gap_is_what_optima_within_the_proofs_can_be():
    """Against drawing optima anywhere between bound and value: both signs, or only one."""
    draw = random.Random(1)  # noqa: S311
    for objective in ("cost_per_token", "goodput"):
        for _ in range(300):
            before, after = draw.uniform(0, 0.1), draw.uniform(0, 0.1)
            relative = draw.uniform(-0.2, 0.2)
            old, new = 1.0, 1.0 + relative
            if objective == "goodput":
                olds, news = (old, old / (1 - before)), (new, new / (1 - after))
            else:
                olds, news = (old * (1 - before), old), (new * (1 - after), new)
            signs = {b > a for a, b in itertools.product(olds, news)}
            assert _within_gap(relative, before, after, objective) == (len(signs) == 2)


def test_without_gaps_every_effect_is_certain():
    assert _within_gap(0.0, 0.0, 1e-9, "cost_per_token") is False
    assert _within_gap(None, 0.0, 0.0, "cost_per_token") is None
    assert _within_gap(0.1, None, 0.0, "cost_per_token") is None


def test_what_only_allows_more_is_never_worse_than_the_plan(plan):
    """A search cut short may find a dearer fleet, or none: the plan at hand is still allowed."""
    scenario = load_scenario(SMALL)
    probes = probes_of(scenario, plan)
    own = outcome_of(plan)
    cost = own.usd_per_million_output_tokens
    cut = replace(own, usd_per_million_output_tokens=1.25 * cost, gap=0.3)
    for answer in (cut, Outcome(status="solver_failed", reason="no plan in time")):
        asked = sensitivity(scenario, plan)
        next(asked)
        with pytest.raises(StopIteration) as stop:
            asked.send([answer] * len(probes))
        for probe, found in zip(probes, stop.value.value, strict=True):
            if probe.sign > 0 and probe.kind in ("limit", "stock"):
                assert found.relative_change == 0.0
                assert found.same_fleet
                # 1.25 x (1 - 0.3) of the plan's cost is the proven bound
                assert found.gap == (pytest.approx(0.125) if answer is cut else None)
            else:
                assert found.relative_change in (pytest.approx(0.25), None)
