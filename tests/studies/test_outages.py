"""What users see of a plan with one part lost: words for it, and figures against other ways."""

from __future__ import annotations

import pytest

from pdd_plan.errors import InputError
from pdd_plan.fleet.build import build_problem
from pdd_plan.fleet.evaluate import evaluate
from pdd_plan.fleet.goodput import goodput
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.plan import OutageResult, Plan
from pdd_plan.scenario import scenario_from_data
from pdd_plan.simulation import SimulationOptions
from pdd_plan.studies.figures import goodput_of
from pdd_plan.studies.given import candidate_of_plan
from pdd_plan.studies.outage_specs import outages_of, parse_outages
from pdd_plan.studies.outages import outage_model, outage_result
from pdd_plan.studies.planning import evaluate_plan, plan_scenario
from pdd_plan.studies.scored import Scored
from pdd_plan.studies.simulating import simulate_plan
from pdd_plan.studies.traffic_parts import latency_of, slo_of
from tests.studies.scenarios import twin_cities

TWINS = scenario_from_data(twin_cities())
BUILT = build_problem(TWINS)


@pytest.fixture(scope="module")
def fleet() -> Plan:
    """A plan that prefills and decodes in both cities, half of the requests each."""
    plan = plan_scenario(TWINS)
    pools = [
        pool.model_copy(update={"site": site, "chip": "h100", "engines": engines})
        for site in ("north", "south")
        for pool, engines in zip(plan.pools, (2, 2), strict=True)
    ]
    assert [pool.role for pool in pools] == ["prefill", "decode"] * 2
    shares = [
        plan.lanes[0].model_copy(update={"from_site": site, "to_site": site, "share": 0.5})
        for site in ("north", "south")
    ]
    return plan.model_copy(update={"pools": tuple(pools), "lanes": tuple(shares)})


def lose(plan: Plan, *what: str) -> dict[str, OutageResult]:
    """As ``evaluate --fail`` does, without the baselines."""
    problem, whole = candidate_of_plan(TWINS, BUILT, plan)
    model = outage_model(PathModel(problem), problem.limits)
    lost = outages_of(problem, whole, parse_outages(TWINS, what))
    return {one.label: outage_result(model, whole, one) for one in lost}


def score(plan: Plan) -> Scored:
    """As ``evaluate`` does, without the baselines."""
    problem, whole = candidate_of_plan(TWINS, BUILT, plan)
    seen = evaluate(problem, whole)
    return Scored("", "", whole, seen, goodput(problem, whole), None, problem=problem)


def test_each_part_is_lost_by_itself_in_the_order_asked_for(fleet):
    found = lose(fleet, "line:south-north", "engines:1", "site:north", "engines:north/decode")
    assert list(found) == [
        "line:south-north",
        "engines:north/prefill",
        "engines:north/decode",
        "engines:south/prefill",
        "engines:south/decode",
        "site:north",
    ]


def test_a_line_that_is_not_used_is_not_missed(fleet):
    found = lose(fleet, "line:north-south")["line:north-south"]
    assert (found.status, found.rerouting) == ("kept", "none")
    whole = score(fleet)
    assert found.latency == latency_of(whole.evaluation)
    assert found.goodput == goodput_of(whole.problem, whole.goodput)


def test_a_lost_site_sends_its_requests_to_the_other(fleet):
    found = lose(fleet, "site:north")["site:north"]
    assert found.rerouting == "shares"
    assert [(lane.from_site, lane.to_site, lane.share) for lane in found.lanes] == [
        ("south", "south", 1.0)
    ]


@pytest.mark.parametrize("site", ["north", "south"])
def test_figures_are_those_of_a_plan_of_what_is_left(fleet, site):
    """The surviving half as a plan of its own, scored without any loss."""
    other = "south" if site == "north" else "north"
    half = fleet.model_copy(
        update={
            "pools": tuple(pool for pool in fleet.pools if pool.site == other),
            "lanes": (fleet.lanes[0].model_copy(update={"from_site": other, "to_site": other,
                                                        "share": 1.0}),),
        }
    )  # fmt: skip
    alone, found = score(half), lose(fleet, f"site:{site}")[f"site:{site}"]
    assert found.latency == latency_of(alone.evaluation)
    assert found.goodput == goodput_of(alone.problem, alone.goodput)
    assert found.slo == slo_of(alone.evaluation)


def test_figures_of_a_lost_engine_are_those_of_a_plan_with_one_less(fleet):
    found = lose(fleet, "engines:north/decode")["engines:north/decode"]
    pools = tuple(
        pool.model_copy(update={"engines": pool.engines - 1})
        if (pool.site, pool.role) == ("north", "decode")
        else pool
        for pool in fleet.pools
    )
    assert found.engines_lost == 1
    fewer = score(fleet.model_copy(update={"pools": pools}))
    assert found.latency == latency_of(fewer.evaluation)


def test_what_is_left_behaves_as_predicted_when_simulated(fleet):
    """P90 TTFT and mean TPOT of the surviving half, by a simulation that knows of no loss."""
    found = lose(fleet, "site:north")["site:north"]
    half = fleet.model_copy(
        update={
            "pools": tuple(pool for pool in fleet.pools if pool.site == "south"),
            "lanes": found.lanes,
        }
    )
    result = simulate_plan(TWINS, half, SimulationOptions(requests=20_000, replications=4)).result
    assert found.latency is not None
    pairs = (
        (found.latency.ttft_s.p90, result.ttft_s.p90),
        (found.latency.tpot_s.mean, result.tpot_s.mean),
    )
    for predicted, simulated in pairs:
        assert predicted == pytest.approx(simulated.mean, abs=0.05 * predicted
                                          + simulated.half_width)  # fmt: skip


def test_nothing_is_left(fleet):
    south = tuple(pool for pool in fleet.pools if pool.site == "south")
    lane = fleet.lanes[1].model_copy(update={"share": 1.0})
    found = lose(fleet.model_copy(update={"pools": south, "lanes": (lane,)}), "site:south")
    one = found["site:south"]
    assert (one.status, one.reason) == ("no_way_left", "no prefill engine is left")
    assert (one.latency, one.goodput, one.lanes, one.rerouting) == (None, None, (), None)


def test_an_overload_says_how_much_is_still_carried(fleet):
    one = lose(fleet, "engines:2", "engines:north/decode")
    few = tuple(pool.model_copy(update={"engines": 1}) for pool in fleet.pools)
    found = lose(fleet.model_copy(update={"pools": few}), "site:north")["site:north"]
    assert found.status == "overloaded"
    assert found.latency is None
    assert found.goodput is not None
    assert 0.0 < found.goodput.requests_per_s < 8.0
    assert {o.status for o in one.values()} <= {"kept", "missed", "overloaded"}


@pytest.mark.parametrize(
    ("text", "message", "mend"),
    [
        ("site:nort", "names no site", "did you mean north?"),
        ("site:x9", "names no site", "known: north, south"),
        ("line:north-sout", "names no line", "did you mean north-south?"),
        ("line:", "does not say what is lost", "write site:NAME"),
        ("", "does not say what is lost", "write site:NAME"),
        ("north", "does not say what is lost", "did you mean site:north?"),
        ("north-south", "does not say what is lost", "did you mean line:north-south?"),
        ("sites:north", "nothing that can be lost", "did you mean site:north?"),
        ("engines:0", "loses no engine", "write engines:1 or more"),
        ("engines:-1", "neither a number", "write site:NAME"),
        ("engines:1.5", "neither a number", "write site:NAME"),
        ("engines:inf", "neither a number", "write site:NAME"),
        ("engines:north", "no role there", "engines:north/prefill or engines:north/relay"),
        ("engines:nort/decode", "names no site", "did you mean north?"),
        ("engines:north/decod", "names no role of north", "did you mean decode?"),
        ("engines:north/", "names no role of north", "known: prefill, relay, decode"),
    ],
)
def test_what_names_nothing_is_refused_with_help(text, message, mend):
    with pytest.raises(InputError) as caught:
        parse_outages(TWINS, [text])
    (issue,) = caught.value.issues
    assert issue.path == "--fail"
    assert message in issue.message
    assert mend in issue.help


def test_all_wrong_texts_are_told_at_once():
    with pytest.raises(InputError) as caught:
        parse_outages(TWINS, ["site:x", "site:north", "line:y", "engines:0"])
    assert len(caught.value.issues) == 3


def test_a_pool_that_the_plan_lacks_is_refused_with_those_it_has(fleet):
    with pytest.raises(InputError) as caught:
        lose(fleet, "engines:north/relay")
    assert "north/prefill, north/decode" in caught.value.issues[0].help


def test_routing_between_prefill_sites_is_refused(fleet):
    data = twin_cities(routing={"between": "prefill", "by": "uncached_tokens"})
    data["sites"]["north"]["roles"] = ["prefill"]
    data["sites"]["south"]["roles"] = ["prefill", "decode"]
    data["links"] = data["links"][:1]
    scenario = scenario_from_data(data)
    with pytest.raises(InputError, match="not with a part lost"):
        evaluate_plan(scenario, fleet, None, parse_outages(scenario, ["site:north"]))
