"""Break-evens: against planners whose break-even is known, and against plans made one by one."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pdd_plan.errors import InputError, Issue, SolverError
from pdd_plan.fleet.plan import BreakEven, Plan
from pdd_plan.scenario import Scenario, load_question, load_scenario
from pdd_plan.studies.break_even import break_even
from pdd_plan.studies.break_even_rules import Asked, asked_about, asked_of, verdict
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.planning import plan_scenario
from pdd_plan.studies.service_outcome import ServiceOutcome
from pdd_plan.studies.sweep_outcome import Outcome
from pdd_plan.studies.sweep_run import Runner
from pdd_plan.studies.sweep_workers import LocalWorkers
from pdd_plan.studies.why import answers
from tests.studies.sweep_planner import Counting, invented

PRICE = "sites.shanghai.chips.h20.price"
LINE = "links.beijing-shanghai"
HOME = 312.0
"""Cost of the invented fleet without the chip or the line."""


def chips(scenario: Scenario, options: PlanOptions) -> Plan:  # noqa: ARG001
    """The cheapest of three fleets: 80 or 16 H20, or none, which costs `HOME`."""
    offer = scenario.sites["shanghai"].chips["h20"]
    price = offer.usd_per_chip_hour
    fleets = [HOME]
    if offer.available:
        fleets += [100 + 80 * price, 250 + 16 * price]
    return invented(scenario, min(fleets), 1.0)


def lines(scenario: Scenario, options: PlanOptions) -> Plan:  # noqa: ARG001
    """A line that saves something from 20 Gbps and up to 150 ms on, at a cost by its size."""
    link = scenario.links[0]
    size = link.bandwidth.max_bytes_per_s / 1.25e8
    useful = size >= 20 and link.rtt_s <= 0.15
    return invented(scenario, min(HOME, 200 + size) if useful else HOME, 1.0)


def spanning(scenario: Scenario, options: PlanOptions) -> Plan:  # noqa: ARG001
    """Split up to a limit of 3 s; with a relay from 2 s on."""
    limit = scenario.slo.ttft_p90 or 0.0
    kind = "single_site" if limit > 3 else "pdd" if limit >= 2 else "cross_site"
    plan = invented(scenario, 100.0, 1.0)
    return plan.model_copy(update={"architecture": kind})


def needed(scenario: Scenario, options: PlanOptions) -> Plan:
    """As `chips`, but without H20 the limits cannot be met."""
    if not scenario.sites["shanghai"].chips["h20"].available:
        raise InputError(Issue("slo.ttft_p90 cannot be met", path="slo.ttft_p90"))
    return chips(scenario, options)


def broken(scenario: Scenario, options: PlanOptions) -> Plan:
    """As `chips`, but the solver fails above 3."""
    if scenario.sites["shanghai"].chips["h20"].usd_per_chip_hour > 3:
        raise SolverError("no plan was found in 60 s")
    return chips(scenario, options)


def found(
    planner, path, *, pays=None, between=None, precision=0.01, changes=(), now=None, ways=None
) -> tuple[BreakEven, ...]:
    scenario = load_scenario("quickstart", changes)
    unit = None if now is None else "Gbps"
    asked = asked_of(scenario, path, pays, unit)
    if now is not None:
        asked = replace(asked, now=now)
    if ways is not None:
        asked = replace(asked, ways=ways)
    runner = Runner(LocalWorkers(1), planner=planner)
    question = break_even(asked, between, precision)
    (answer,) = answers([question], "quickstart", PlanOptions(), runner, changes)
    return answer


def check(answer: BreakEven, exact: float, side: str, precision: float = 0.01) -> None:
    """The exact value lies between the bounds, which are as near as asked."""
    assert answer.pays == side
    assert answer.pays_at is not None
    assert answer.fails_at is not None
    low, high = sorted((answer.pays_at, answer.fails_at))
    assert (answer.pays_at < answer.fails_at) == (side == "below")
    assert low <= exact <= high
    assert high - low <= precision * high
    assert answer.proven


@pytest.mark.parametrize("precision", [0.05, 0.01, 1e-4])
@pytest.mark.parametrize("price", ["1.06 USD/h", "2.9 USD/h", "3.8 USD/h"])
def test_up_to_which_price_a_chip_pays(price, precision):
    # 250 + 16 p = 312 at p = 3.875; 100 + 80 p = 250 + 16 p at 2.34.
    (answer,) = found(chips, PRICE, precision=precision, changes=[f"{PRICE}={price}"])
    check(answer, 3.875, "below", precision)
    assert answer.usd_per_hour_without == HOME
    assert answer.possible_without


@pytest.mark.parametrize("price", ["3.9 USD/h", "50 USD/h", "3000 USD/h"])
def test_down_to_which_price_a_chip_must_fall(price):
    (answer,) = found(chips, PRICE, changes=[f"{PRICE}={price}"])
    check(answer, 3.875, "below")


def test_the_line_through_the_costs_saves_plans():
    counted = Counting(chips)
    found(counted, PRICE, precision=1e-4)
    assert counted.calls < 2 + 2 + math.log2(4.24 / 1e-4) * 0.8


def test_a_chip_that_is_needed():
    (answer,) = found(needed, PRICE)
    assert (answer.pays, answer.possible_without, answer.proven) == ("always", False, True)


def test_a_chip_that_never_pays():
    def useless(scenario, options):  # noqa: ARG001
        return invented(scenario, HOME, 1.0)

    (answer,) = found(useless, PRICE)
    assert answer.pays == "never"
    assert answer.tried_from == 0


def test_a_failing_solver_leaves_it_unknown():
    (answer,) = found(broken, PRICE)
    assert answer.pays == "unknown"
    assert "no plan was found" in answer.reason
    assert not answer.proven


def test_up_to_which_distance_a_line_pays():
    (answer,) = found(lines, f"{LINE}.rtt", changes=[f"{LINE}.bandwidth=40 Gbps"])
    check(answer, 150.0, "below")
    assert answer.unit == "ms"


def test_no_distance_beyond_the_earth_is_tried():
    def near(scenario, options):
        link = scenario.links[0].model_copy(update={"rtt_s": 0.0})
        return lines(scenario.model_copy(update={"links": (link,)}), options)

    (answer,) = found(near, f"{LINE}.rtt", changes=[f"{LINE}.bandwidth=40 Gbps"])
    assert (answer.pays, answer.tried_to) == ("always", 1000.0)


def test_from_and_up_to_which_size_a_line_pays():
    low, high = found(lines, f"{LINE}.bandwidth", now=60.0)
    check(low, 20.0, "above")
    check(high, 112.0, "below")
    (only,) = found(lines, f"{LINE}.bandwidth", now=60.0, ways=(-1,))
    assert only == low.model_copy(update={"tried_to": 60.0})


def test_sizes_that_pay_between_two_that_do_not():
    low, high = found(lines, f"{LINE}.bandwidth", now=60.0, between=(5.0, 200.0))
    check(low, 20.0, "above")
    check(high, 112.0, "below")
    (none,) = found(lines, f"{LINE}.bandwidth", now=60.0, between=(120.0, 200.0))
    assert (none.pays, none.tried_from, none.tried_to) == ("never", 120.0, 200.0)


def test_a_split_and_a_relay_by_a_limit():
    (split,) = found(spanning, "slo.ttft_p90")  # from 1.2 s
    check(split, 3.0, "below")
    (relay,) = found(spanning, "slo.ttft_p90", pays="relay", between=(1.0, 2.5))
    check(relay, 2.0, "above")
    (none,) = found(spanning, "slo.ttft_p90", pays="relay", between=(2.1, 2.5))
    assert (none.pays, none.tried_from, none.tried_to) == ("always", 2.1, 2.5)


# ---- proofs


def outcome(cost: float | None, bound: float | None = None, status: str = "optimal") -> Outcome:
    if cost is None:
        return Outcome("infeasible", "no fleet")
    return Outcome(
        status, usd_per_hour=cost, lower_bound_usd_per_hour=cost if bound is None else bound
    )  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("here", "without", "pays", "sure"),
    [
        (outcome(90), outcome(100), True, True),
        (outcome(100), outcome(100), False, True),
        (outcome(90), outcome(100, 85), True, False),  # without it, 85 may be possible
        (outcome(100, 80), outcome(100), False, False),  # with it, 80 may be possible
        (outcome(90), outcome(None), True, True),
        (outcome(None), outcome(100), False, True),
        (outcome(None), outcome(None), False, True),
    ],
)
def test_a_verdict_is_sure_where_the_bounds_decide_it(here, without, pays, sure):
    asked = asked_of(load_scenario("quickstart"), PRICE, None)
    got = verdict(asked, here, without)
    assert (got.pays, got.sure) == (pays, sure)


# ---- questions


def test_what_a_plan_is_asked():
    scenario = load_scenario("quickstart")
    plan = invented(scenario, 100.0, 1.0)
    asked = {one.path: one for one in asked_about(scenario, plan)}
    assert set(asked) >= {
        "sites.beijing.chips.h200.price",
        PRICE,
        f"{LINE}.price",
        f"{LINE}.rtt",
    }
    assert asked[PRICE].now == 1.06
    assert asked[f"{LINE}.price"].now == 800
    assert asked[f"{LINE}.price"].unit == "USD/Gbps/month"


@pytest.mark.parametrize(
    ("path", "pays", "said", "mend"),
    [
        ("sites.shanghia.chips.h20.price", None, "sites.shanghia is not", "shanghai"),
        ("sites.shanghai.chips.h21.price", None, "h21 is not", "h20"),
        ("links.beijing-shanhai.price", None, "links.beijing-shanhai is not", "beijing-shanghai"),
        ("links.7.price", None, "links.7 is not", "beijing-shanghai"),
        ("workload.max_atoms", None, "no single known number", "--between"),
        ("links.0.bandwidth", None, "no single known number", "--between"),
        ("slo.ttft_p90", "chip", "belongs to no chip", "split"),
        (PRICE, "line", "belongs to no line", "chip"),
    ],
)
def test_wrong_questions(path, pays, said, mend):
    with pytest.raises(InputError) as caught:
        asked_of(load_scenario("quickstart"), path, pays)
    assert re.search(said, caught.value.issues[0].message)
    assert mend in caught.value.issues[0].help


# ---- real plans

FLEET = Path(__file__).parents[2] / "docs" / "why.md"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory) -> Path:
    """The scenario of the page on sensitivity."""
    text = re.search(r"```yaml\n(.*?)```", FLEET.read_text(encoding="utf-8"), re.S)
    assert text
    file = tmp_path_factory.mktemp("fleet") / "fleet.yaml"
    file.write_text(text[1])
    return file


@pytest.mark.parametrize("path", [PRICE, f"{LINE}.price"])
def test_both_bounds_hold_against_the_single_site_of_whole_plans(fleet, path):
    """With one line to one other site, a chip or line pays where the plan beats a single site."""
    scenario = load_scenario(fleet)
    question = break_even(asked_of(scenario, path, None), None, 0.05)
    runner = Runner(LocalWorkers(1))
    ((answer,),) = answers([question], fleet, PlanOptions(), runner, ())
    for value, pays in ((answer.pays_at, True), (answer.fails_at, False)):
        plan = plan_scenario(load_scenario(fleet, [f"{path}={value} {answer.unit}"]))
        single = next(base for base in plan.baselines if base.name == "single_site")
        assert plan.cost is not None
        assert single.cost is not None
        assert (plan.cost.usd_per_hour < single.cost.usd_per_hour * (1 - 1e-6)) == pays
        assert single.cost.usd_per_hour == pytest.approx(answer.usd_per_hour_without)


# ---- several services


@pytest.mark.parametrize(
    ("kinds", "split", "relay"),
    [
        (("single_site", "single_site"), False, False),
        (("single_site", "cross_site"), True, False),
        (("pdd", "single_site"), True, True),
    ],
)
def test_a_split_pays_where_any_service_has_one(kinds, split, relay):
    parts = tuple(
        ServiceOutcome(name, architecture=kind) for name, kind in zip("ab", kinds, strict=True)
    )
    outcome = Outcome("optimal", usd_per_hour=1.0, architecture="mixed", services=parts)
    for what, pays in (("split", split), ("relay", relay)):
        assert verdict(Asked(what, "", "slo.ttft_p90", "s", 1.0), outcome, None).pays == pays


@pytest.mark.parametrize(
    ("path", "now", "unit"),
    [
        ("services.chat.workload.rate", 5.0, "req/s"),
        ("services.agent.slo.ttft_p90", 3.0, "s"),
        ("sites.beijing.chips.h200.price", 2.5, "USD/h"),
    ],
)
def test_present_values_of_services_are_known(path, now, unit):
    question = load_question("two-models", [f"{path}={now} {unit}"])
    asked = asked_of(question, path, None)
    assert (asked.now, asked.unit) == (now, unit)
