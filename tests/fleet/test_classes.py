"""Traffic classes with limits of their own: the rule, the full model, the search and simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pdd_plan.fleet.check import check
from pdd_plan.fleet.evaluate import evaluate
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Limit, Problem
from pdd_plan.optimizer.search import SearchOptions, search
from tests.fleet.parts import both, idle_margins, one_shot, percentiles_off
from tests.optimizer.test_brute_force import same_as_enumeration, small_problem
from tests.problems import ProblemOptions, random_problem


def with_classes(problem: Problem, *limits: Limit) -> Problem:
    """The problem with its long prompts and its short ones as classes, and limits added."""
    atoms = problem.atoms
    kind = (atoms.input_tokens > np.median(atoms.input_tokens)).astype(np.int64)
    return replace(
        problem,
        atoms=replace(atoms, kind=kind),
        classes=("short", "long"),
        limits=(*problem.limits, *limits),
    )


def ttft(limit_s: float, traffic: str, percentile: float = 90.0) -> Limit:
    return Limit("ttft", percentile, limit_s, f"classes.{traffic}.ttft", traffic)


@pytest.mark.parametrize("threshold", [0, 2, 4])
@pytest.mark.parametrize("metric", ["ttft", "e2e"])
def test_attainment_of_all_is_the_mean_over_classes(metric: str, threshold: int) -> None:
    """Law of total probability, on the planning rule."""
    limit_s = 6.0 if metric == "ttft" else 60.0
    every = Limit(metric, 90.0, limit_s, "all")
    parts = [Limit(metric, 90.0, limit_s, name, name) for name in ("short", "long")]
    problem = with_classes(random_problem(5, ProblemOptions(decode_sites=2))[0], every, *parts)
    model = PathModel(problem)
    key = (0, 4, 0.5 * problem.arrival_rate_per_s)
    shares = [problem.atoms.weight[problem.atoms.kind == k].sum() for k in (0, 1)]
    for engines, load in ((3, 1.0), (8, 3.0)):
        whole = model.attainment(0, engines, load, key, threshold, every)
        each = [model.attainment(0, engines, load, key, threshold, part) for part in parts]
        assert whole == pytest.approx(np.dot(shares, each), abs=1e-9)
        assert metric == "e2e" or each[1] < each[0]


def test_idle_pools_are_judged_by_class() -> None:
    """What is said of idle pools at once is what the path of each state says, by class."""
    parts = [ttft(6.0, "short"), ttft(1.0, "long")]
    problem = with_classes(random_problem(5, ProblemOptions(decode_sites=2))[0], *parts)
    at_once, by_path = idle_margins(problem)
    assert at_once == pytest.approx(by_path, abs=2e-3)


def test_a_class_of_all_requests_is_the_whole() -> None:
    problem, candidate = random_problem(3)
    limits = tuple(replace(limit, traffic="all") for limit in problem.limits)
    alone = replace(problem, classes=("all",), limits=limits)
    assert check(alone, candidate) == check(problem, candidate)
    one, other = evaluate(problem, candidate), evaluate(alone, candidate)
    for before, after in zip(one.limits, other.limits, strict=True):
        assert after.predicted_s == before.predicted_s
    assert other.by_class["all"].ttft.quantile(0.9) == one.ttft.quantile(0.9)
    assert other.by_class["all"].share == pytest.approx(1.0)


def test_the_whole_is_the_mixture_of_its_classes() -> None:
    problem, candidate = random_problem(6, ProblemOptions(decode_sites=2))
    whole = evaluate(problem, candidate)
    seen = evaluate(with_classes(problem), candidate)
    assert set(seen.by_class) == {"short", "long"}
    for metric in ("ttft", "tpot", "e2e", "handoff_gap"):
        law = getattr(whole, metric)
        for time_s in (law.quantile(0.3), law.quantile(0.9), law.quantile(0.99)):
            here = law.cdf(time_s)
            assert getattr(seen, metric).cdf(time_s) == pytest.approx(here, abs=2e-3)
            if metric != "handoff_gap":
                each = [(g.share, getattr(g, metric)) for g in seen.by_class.values()]
                share = sum(share * law_of.cdf(time_s) for share, law_of in each)
                assert share == pytest.approx(here, abs=2e-3)


@pytest.mark.parametrize("shape", ["one-lane", "two-decode-sites", "two-chips-local"])
@pytest.mark.parametrize("seed", range(2))
def test_optimum_with_limits_of_classes_equals_enumeration(shape: str, seed: int) -> None:
    problem = small_problem(shape, seed)
    whole = problem.limits_of("ttft")[0]
    limits = (
        ttft(1.3 * whole.limit_s, "long"),
        ttft(0.25 * whole.limit_s, "short", 95.0),
        Limit("handoff_gap", 90.0, 0.5, "classes.long.handoff_gap_p90", "long"),
        Limit("tpot", 90.0, 0.06, "classes.short.tpot_p90", "short"),
    )
    problem = with_classes(problem, *limits)
    result, _ = same_as_enumeration(problem)
    if result.candidate is not None:
        # The rule is sufficient: the full model keeps the limit of every class.
        assert all(one.met for one in evaluate(problem, result.candidate).limits)


def test_a_limit_on_a_class_binds_where_that_on_all_does_not() -> None:
    problem = small_problem("one-lane", 1)
    free = search(problem, SearchOptions(60.0))
    assert free.candidate is not None
    seen = evaluate(with_classes(problem), free.candidate)
    limit = ttft(0.3 * seen.by_class["long"].ttft.quantile(0.9), "long")
    bound = search(with_classes(problem, limit), SearchOptions(60.0))
    assert bound.usd_per_hour > free.usd_per_hour * (1 + 1e-6)


@pytest.mark.parametrize("seed", [6, pytest.param(1, marks=pytest.mark.long)])
def test_simulation_agrees_by_class(seed: int) -> None:
    problem, candidate = one_shot(seed)
    predicted, measured = both(with_classes(problem, ttft(6.0, "long")), candidate, seed)
    for name, group in predicted.by_class.items():
        seen = measured.by_class_s[name]
        assert not percentiles_off(group.ttft, seen["ttft"]), name
        assert group.tpot.mean == pytest.approx(seen["tpot"].mean.mean, rel=0.03)
        assert group.e2e.mean == pytest.approx(seen["e2e"].mean.mean, rel=0.05)
    limit = predicted.limits[-1]
    within = measured.within[limit.limit.key]
    assert limit.within == pytest.approx(within.mean, abs=within.half_width + 0.01)
