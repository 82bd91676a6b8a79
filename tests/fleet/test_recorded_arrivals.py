"""Prefill pools of a scenario with a trace: whose order and times they follow."""

from __future__ import annotations

import numpy as np
import pytest

from pdd_plan.fleet.build import build_problem
from pdd_plan.fleet.prefill import PrefillPath, limit_grid
from pdd_plan.scenario import scenario_from_data

SCENARIO = {
    "schema_version": 1,
    "model": "llama-3.3-70b",
    "precision": {"weights": "fp8", "kv_cache": "fp8"},
    "slo": {"ttft_p90": "10 s"},
    "sites": {
        "here": {
            "roles": ["prefill", "relay", "decode"],
            "chips": {"h200": {"available": 16, "price": "3.8 USD/h"}},
        }
    },
}


def problem_of(folder, **workload):
    """Problem of a trace whose requests come fifty at a time."""
    rng = np.random.default_rng(1)
    count = 3000
    arrival = np.repeat(np.cumsum(rng.exponential(100.0, count // 50)), 50) + 0.01 * rng.random(
        count
    )
    length = rng.integers(1000, 50_000, count)
    rows = zip(np.sort(arrival), length, length // 2, rng.integers(1, 900, count), strict=True)
    text = "arrival_s,input_tokens,cached_tokens,output_tokens\n"
    text += "".join(f"{a:.6f},{i},{c},{o}\n" for a, i, c, o in rows)
    (folder / "trace.csv").write_text(text)
    data = SCENARIO | {"workload": {"trace": {"path": "trace.csv", "format": "csv"}} | workload}
    return build_problem(scenario_from_data(data, file=str(folder / "scenario.yaml"))).problem


def prefill(problem):
    return problem.pools[problem.pool_indices("here", "prefill")[0]]


def test_prefill_follows_a_recorded_trace(tmp_path):
    problem = problem_of(tmp_path)
    pool = prefill(problem)
    assert pool.recorded is not None
    assert pool.recorded.service_s.size == 3000
    assert pool.recorded.service_s.mean() == pytest.approx(
        problem.atoms.mean(pool.service_s), rel=1e-2
    )
    assert all(p.recorded is None for p in problem.pools if p.role != "prefill")
    assert prefill(problem.without_record()).recorded is None


def test_a_stated_burstiness_takes_precedence(tmp_path):
    assert prefill(problem_of(tmp_path, arrival_scv=2.0)).recorded is None


def test_fifty_at_a_time_wait_longer_than_any_engine_count_hides(tmp_path):
    """Share of requests that start at once on two engines, at half load: a few of each fifty."""
    problem = problem_of(tmp_path)
    grid = limit_grid(problem)
    with_trace = PrefillPath(problem, prefill(problem), grid)
    plain = problem.without_record()
    without = PrefillPath(plain, prefill(plain), grid)
    half = 14  # of the table's utilizations, about 0.5
    assert with_trace.wait_table(2)[half, 0] < 0.5 * without.wait_table(2)[half, 0]
    assert not with_trace.has_table(3)
    assert with_trace.has_table(2)
