"""The event loop against a second implementation, request by request, on the same requests."""

from __future__ import annotations

import numpy as np
import pytest
from simpy_reference import Reference

from pdd_plan.simulation import SimulationOptions
from pdd_plan.simulation.loop import run
from pdd_plan.simulation.plant import build_plant
from pdd_plan.simulation.routes import draw_routes
from pdd_plan.simulation.stream import RequestTypes, sample_stream
from pdd_plan.simulation.world import build_world
from tests.problems import ProblemOptions, random_problem

CASES = {
    "one lane": ProblemOptions(),
    "four lanes, two chips, local": ProblemOptions(
        prefill_sites=2, decode_sites=2, chips=2, local=True
    ),
    "busy, capped, three connections": ProblemOptions(
        connections=3, connection_cap_gbps=8.0, load=(0.8, 0.9)
    ),
}
FIELDS = {
    "prefill_start_s": "prefill_start",
    "transfer_end_s": "transfer_end",
    "first_token_s": "first",
    "finish_s": "finish",
    "gap_s": "gap",
    "relay_tokens": "relay_tokens",
}


@pytest.mark.parametrize("handoff", ["one_shot", "catch_up"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_request_has_the_times_of_the_second_implementation(seed, case, handoff):
    problem, candidate = random_problem(seed, CASES[case])
    options = SimulationOptions(handoff=handoff, rdma="delay")
    plant = build_plant(problem, candidate, options)
    rng = np.random.default_rng(seed)
    types = RequestTypes.of_atoms(problem, candidate.threshold_index)
    stream = sample_stream(rng, problem, types, 300, problem.arrival_rate_per_s, 1.0)
    routes = draw_routes(rng, plant, len(stream))
    world = build_world(plant, stream, routes, range(len(stream)), drain=True)
    run(world, -1)
    records = Reference(problem, candidate, stream, routes, options, plant.slot_pools).run()
    for field, name in FIELDS.items():
        expected = np.array([getattr(record, name) for record in records], dtype=float)
        np.testing.assert_allclose(
            np.asarray(world.requests[field]), expected, rtol=1e-9, atol=1e-9, err_msg=field
        )
    assert np.isfinite(world.requests["finish_s"]).all()
    assert (world.requests["relay_tokens"] > 0).any(), "the case is to exercise the relay"
    assert np.isfinite(world.requests["gap_s"]).any(), "the case is to exercise the hand-off"
