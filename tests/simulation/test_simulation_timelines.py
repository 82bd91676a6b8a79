"""Single requests whose every moment can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from stations import ALL, column, fleet, requests, send

from pdd_plan.errors import InputError
from pdd_plan.fleet.problem import ServingOptions, SiteNetwork
from pdd_plan.simulation import SimulationOptions


def one(plant, **request):
    """The measured columns of one request that arrives at 0."""
    result = send(plant, requests([0.0], **request))
    return {name: float(values[0]) for name, values in result.samples[0].items()}


def test_direct_request_adds_up_station_by_station():
    # prefill 2 s; 30 bytes at 10/s = 3 s; rtt/2 0.5 s; set-up 0.25 s; copies 30/60 = 0.5 s;
    # 5 tokens of 0.1 s
    plant = fleet(
        bytes_per_s=10.0, rtt_s=1.0, overhead_s=0.25, host_copy_bytes_per_s=60.0, step_s=[0.1]
    )
    seen = one(plant, service_s=2.0, transfer_bytes=30.0, output_tokens=5)
    assert seen["ttft_s"] == pytest.approx(2 + 3 + 0.5 + 0.25 + 0.5 + 0.1)
    assert seen["e2e_s"] == pytest.approx(seen["ttft_s"] + 4 * 0.1)
    assert seen["tpot_s"] == pytest.approx(0.1)
    assert seen["transfer_s"] == pytest.approx(4.25)
    assert np.isnan(seen["handoff_gap_s"])


def test_efficiency_and_connection_cap_slow_the_line():
    slow = one(fleet(bytes_per_s=10.0, efficiency=0.5), transfer_bytes=30.0)
    assert slow["transfer_s"] == pytest.approx(6.0)
    capped = one(fleet(bytes_per_s=10.0, connection_cap_bytes_per_s=2.0), transfer_bytes=30.0)
    assert capped["transfer_s"] == pytest.approx(15.0)


def test_host_time_and_first_token_steps_only_delay_the_first_token():
    plain = one(fleet(step_s=[0.1]), service_s=1.0, output_tokens=5)
    late = one(
        fleet(step_s=[0.1], host_s=0.3, first_token_steps=1.5), service_s=1.0, output_tokens=5
    )
    assert late["ttft_s"] - plain["ttft_s"] == pytest.approx(0.3 + 0.05)
    assert late["tpot_s"] == pytest.approx(plain["tpot_s"])


def test_prefill_emits_the_first_token_where_engines_do_so():
    serving = ServingOptions(first_token_from="prefill")  # noqa: S106
    seen = one(fleet(step_s=[0.1], serving=serving), service_s=2.0, output_tokens=5)
    assert seen["ttft_s"] == pytest.approx(2.0)
    assert seen["e2e_s"] == pytest.approx(2.0 + 4 * 0.1)
    single = one(fleet(step_s=[0.1], serving=serving), service_s=2.0, output_tokens=1)
    assert single["e2e_s"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("service_s", "travel_s", "expected_s"),
    [(4.0, 10.0, 10.0), (10.0, 4.0, 10.0 + 4.0 / 8)],
)
def test_layerwise_leaves_the_last_layer_or_what_the_line_is_behind(
    service_s, travel_s, expected_s
):
    serving = ServingOptions(streaming="layerwise", layers=8)
    plant = fleet(bytes_per_s=10.0, step_s=[0.1], serving=serving)
    seen = one(plant, service_s=service_s, transfer_bytes=travel_s * 10.0)
    assert seen["ttft_s"] == pytest.approx(expected_s + 0.1)


RELAY = {
    "bytes_per_s": 10.0,
    "rtt_s": 1.0,
    "relay_step_s": [0.1],
    "step_s": [0.2],
    "network": SiteNetwork(100.0, 0.25),
}


def test_one_shot_hand_off():
    # prefill ends at 2; RDMA 50/100 + 0.25: the relay speaks from 2.75 on, first token 2.85.
    # The line takes 30/10 + 0.5: main decode has the KV cache at 5.5, when the relay has made 27.
    # Half a round trip and E(27) = 1 + 27 * 0.01; then 73 tokens of 0.2 s.
    plant = fleet(**RELAY, extend=(1.0, 0.01))
    seen = one(
        plant, service_s=2.0, transfer_bytes=30.0, kv_bytes=50.0, output_tokens=100, relayed=True
    )
    assert seen["ttft_s"] == pytest.approx(2.85)
    assert seen["relay_tokens"] == 27
    assert seen["handoff_gap_s"] == pytest.approx(0.5 + 1.27)
    assert seen["e2e_s"] == pytest.approx(5.5 + 1.77 + 73 * 0.2)


def test_request_ends_on_the_relay_where_the_line_is_slower():
    plant = fleet(**RELAY)
    seen = one(
        plant, service_s=2.0, transfer_bytes=30.0, kv_bytes=50.0, output_tokens=20, relayed=True
    )
    assert seen["relay_tokens"] == 20
    assert seen["e2e_s"] == pytest.approx(2.75 + 2.0)
    assert np.isnan(seen["handoff_gap_s"])
    assert seen["transfer_s"] == pytest.approx(3.5)  # the KV cache is delivered all the same


def test_catch_up_goes_on_until_one_token_is_left():
    # At 5.5 the relay has made 27. Each round takes half a round trip and 0.01 s a token:
    # no fixed part and no round trip here, so 27 -> 0.27 s -> 2 tokens -> 0.02 s -> none.
    plant = fleet(**{**RELAY, "rtt_s": 0.0, "overhead_s": 0.5}, extend=(0.0, 0.01))
    request = {"transfer_bytes": 30.0, "kv_bytes": 50.0, "output_tokens": 100, "relayed": True}
    plant = (replace(plant[0], serving=ServingOptions(handoff="catch_up")), plant[1])
    seen = one(plant, service_s=2.0, **request)
    # 5.5 + 0.27 = 5.77: 30 tokens made, 3 behind; + 0.03 = 5.80: 30 made, none behind
    assert seen["relay_tokens"] == 30
    assert seen["handoff_gap_s"] == 0.0
    assert seen["e2e_s"] == pytest.approx(5.80 + 70 * 0.2)


def test_catch_up_ends_with_a_gap_where_rounds_stop_shrinking():
    # E = 1 s fixed: 27 tokens -> 1.5 s -> 15 -> a further round would leave 15 again: stop.
    plant = fleet(**RELAY, extend=(1.0, 0.0), serving=ServingOptions(handoff="catch_up"))
    seen = one(
        plant, service_s=2.0, transfer_bytes=30.0, kv_bytes=50.0, output_tokens=100, relayed=True
    )
    assert seen["relay_tokens"] == 27 + 15
    assert seen["handoff_gap_s"] == pytest.approx(1.5)
    assert seen["e2e_s"] == pytest.approx(5.5 + 1.5 + 1.5 + (100 - 42) * 0.2)


def test_main_decode_starts_itself_where_the_line_beats_the_relay():
    # KV cache at main decode at 2 + 0.1 + 0.5, before RDMA of 1,000 bytes has ended
    seen = one(
        fleet(**RELAY), service_s=2.0, transfer_bytes=1.0, kv_bytes=1000.0, output_tokens=10,
        relayed=True,
    )  # fmt: skip
    assert seen["ttft_s"] == pytest.approx(2.6 + 0.2)
    assert seen["relay_tokens"] == 0
    assert np.isnan(seen["handoff_gap_s"])


def test_dropped_transfer_frees_line_slot_and_memory():
    # Request 0 speaks on the relay from 0.25 to 1.25 while 100 bytes would take 10 s; request 1
    # waits for prefill memory meanwhile, is prefilled at once and has the line for itself.
    plant = fleet(
        **{**RELAY, "step_s": [0.2]},
        servers=2,
        kv_capacity_bytes=100.0,
        serving=ServingOptions(handoff="one_shot", relay_end="drop"),
    )
    stream = requests(
        [0.0, 0.0],
        service_s=[0.0, 0.5],
        transfer_bytes=[100.0, 20.0],
        kv_bytes=[100.0, 20.0],
        output_tokens=[10, 4],
        relayed=[True, False],
    )
    seen = send(plant, stream)
    relay_s = 0.25 + 1.0  # RDMA of 100 bytes at 100/s, then ten tokens
    assert column(seen, "e2e_s")[0] == pytest.approx(relay_s + 1.0)
    assert column(seen, "prefill")[1] == pytest.approx(relay_s + 1.0)
    assert column(seen, "e2e_s")[1] == pytest.approx(relay_s + 1.0 + 0.5 + 2.0 + 0.5 + 4 * 0.2)
    delivered = send(
        (replace(plant[0], serving=ServingOptions(handoff="one_shot")), plant[1]), stream
    )
    # delivered: memory is held until 10 s of line, half a round trip, and half for the answer
    assert column(delivered, "prefill")[1] == pytest.approx(11.0)


def test_conversation_misses_what_was_dropped():
    # Request 1 extends request 0, whose 100 bytes were dropped: 100 + 20 are missing, which is
    # above the threshold, so it goes through the relay too. Request 2 extends request 1.
    plant = fleet(
        **{**RELAY, "network": SiteNetwork(1e9)},
        serving=ServingOptions(handoff="one_shot", relay_end="drop"),
    )
    stream = requests(
        [0.0, 100.0, 200.0],
        transfer_bytes=[100.0, 20.0, 10.0],
        kv_bytes=[100.0, 300.0, 400.0],
        output_tokens=[10, 200, 10],
        relayed=[True, False, False],
    )
    types = replace(stream.types, relay_above_bytes=np.full(3, 50.0))
    stream = replace(stream, types=types, previous=np.array([-1, 0, 1]))
    seen = send(plant, stream)
    assert column(seen, "relayed").tolist() == [1.0, 1.0, 0.0]
    # 120 bytes and half a round trip: the relay makes 12.5 s of tokens, then hands over
    assert column(seen, "relay_tokens").tolist() == [10, 124, 0]
    assert column(seen, "transfer_s")[2] == pytest.approx(1.5)
    alone = send(plant, replace(stream, previous=None))
    assert column(alone, "relayed").tolist() == [1.0, 0.0, 0.0]


def test_recomputing_halts_the_batch_of_its_engine():
    # Request 0 decodes 100 tokens of 0.2 s from 0.5 on; request 1 is relayed and recomputes.
    plant = fleet(**{**RELAY, "step_s": [0.2, 0.2]}, extend=(1.0, 0.0))
    stream = requests(
        [0.0, 0.0],
        service_s=[0.0, 0.1],
        transfer_bytes=[0.0, 30.0],
        output_tokens=[100, 100],
        relayed=[False, True],
    )
    halted = column(send(plant, stream), "e2e_s")
    going = column(send(plant, stream, extend_stalls=False), "e2e_s")
    assert going[0] == pytest.approx(0.5 + 20.0)
    assert halted[0] == pytest.approx(0.5 + 20.0 + 1.0)
    assert halted[1] == pytest.approx(going[1])


def test_prefill_memory_is_held_until_main_decode_has_acknowledged():
    # Two servers, memory for one prompt: the second pass waits for 1 + 3 + rtt/2 + rtt/2.
    plant = fleet(servers=2, kv_capacity_bytes=50.0, bytes_per_s=10.0, rtt_s=1.0)
    stream = requests([0.0, 0.0], service_s=1.0, transfer_bytes=30.0, kv_bytes=40.0)
    result = send(plant, stream)
    assert column(result, "prefill") == pytest.approx([0.0, 1.0 + 3.0 + 1.0])
    with pytest.raises(InputError, match="does not fit"):
        send(plant, requests([0.0], kv_bytes=51.0))


def test_slot_is_reserved_before_the_transfer_or_taken_on_arrival():
    # One slot; transfers of 3 s each alone; one token of 1 s.
    plant = fleet(bytes_per_s=10.0, step_s=[1.0])
    stream = requests([0.0, 0.0], transfer_bytes=30.0)
    reserved = send(plant, stream, reserve="before_transfer")
    assert column(reserved, "e2e_s") == pytest.approx([4.0, 8.0])
    assert column(reserved, "decode_slot") == pytest.approx([0.0, 4.0])
    arrival = send(plant, stream, reserve="on_arrival")
    assert column(arrival, "e2e_s") == pytest.approx([7.0, 8.0])
    assert column(arrival, "decode_slot") == pytest.approx([0.0, 1.0])


def test_network_of_an_engine_is_shared():
    # Two RDMA transfers of 50 bytes at 100/s from one engine: 1 s each, shared; alone 0.5 s.
    stream = requests([0.0, 0.0], transfer_bytes=1e3, kv_bytes=50.0, output_tokens=5, relayed=True)
    many = fleet(**{**RELAY, "relay_step_s": [0.1, 0.1]}, servers=2)
    assert column(send(many, stream, rdma="shared"), "ttft_s") == pytest.approx(1.0 + 0.25 + 0.1)
    assert column(send(many, stream, rdma="delay"), "ttft_s") == pytest.approx(0.5 + 0.25 + 0.1)


def test_stepwise_requests_join_at_the_next_step():
    # One engine, steps of 1 s with one and 1.5 s with two requests.
    plant = fleet(step_s=[1.0, 1.5])
    stream = requests([0.0, 0.5], output_tokens=[3, 2])
    seen = send(plant, stream, decoding="stepwise")
    # 0-1 alone; 1-2.5 and 2.5-4 together; request 0 has its third token at 4, request 1 its second
    assert column(seen, "ttft_s") == pytest.approx([1.0, 2.0])
    assert column(seen, "e2e_s") == pytest.approx([4.0, 3.5])


def test_fluid_rate_follows_the_batch():
    # Alone for 0.5 s: half a token; then both at 1/1.5 a second.
    plant = fleet(step_s=[1.0, 1.5])
    seen = send(plant, requests([0.0, 0.5], output_tokens=[3, 2]))
    # request 1 ends its 2 tokens after 3 s, at 3.5; request 0 has 2.5 by then, 0.5 s more alone
    assert column(seen, "e2e_s") == pytest.approx([4.0, 3.0])


@pytest.mark.parametrize(
    "change",
    [
        {"requests": 0},
        {"warmup_fraction": 1.0},
        {"confidence": 1.0},
        {"arrival_scv": -1.0},
        {"jobs": 0},
    ],
)
def test_options_out_of_range_are_refused(change):
    with pytest.raises(ValueError, match="must be"):
        SimulationOptions(**change)


def test_traffic_without_engines_is_refused():
    problem, candidate = fleet()
    for engines, role in (((0, 1, 1), "prefill"), ((1, 0, 1), "relay"), ((1, 1, 0), "decode")):
        with pytest.raises(InputError, match=f"has no {role}"):
            send((problem, replace(candidate, engines=engines)), requests([0.0]))
    with pytest.raises(InputError, match="is not open"):
        send((problem, replace(candidate, levels=(-1,))), requests([0.0]), ALL)
