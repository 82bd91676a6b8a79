"""The way of a request: prefill, slot, line, relay, hand-off, main decode.

::

    prefill ─┬─ slot at main decode ─ connection ─ line ─ delays ──┬─ main decode
             └─ slot at the relay ─ RDMA ─ relay speaks ─ hand-off ┘   (relayed requests)

Prefill memory is held until main decode has acknowledged the KV cache. With ``reserve`` the slot
at main decode is taken before the transfer; else the request waits for one with its KV cache
beside the engine.
"""

from __future__ import annotations

from pdd_plan.simulation.batching import start_tokens, stop_tokens
from pdd_plan.simulation.compiled import jit
from pdd_plan.simulation.events import admit, enter, leave, schedule
from pdd_plan.simulation.handoff import exchange, extend_over
from pdd_plan.simulation.prefill import free_memory, free_server, start_next
from pdd_plan.simulation.records import (
    ACKNOWLEDGED,
    DECODE,
    RELAY,
    RELAY_ACTIVE,
    RELAY_NONE,
    RELAY_OVER,
    RELAY_WAITS,
    WAY_SLOT,
    World,
)
from pdd_plan.simulation.transfer import ask_transfer, start_transfer, use_nic, withdraw_transfer


@jit
def serve_queue(world: World, q: int, now_s: float) -> None:
    """Start passes at a prefill queue while engines can take them."""
    while True:
        r = start_next(world, q, now_s)
        if r < 0:
            return
        if world.control[0].layers > 0:
            ask_transfer(world, r, now_s)


# --- prefill has ended ---------------------------------------------------------------------------


@jit
def prefilled(world: World, r: int, now_s: float) -> None:
    """Pass done: on to the relay and to main decode."""
    requests, control = world.requests, world.control
    free_server(world.engines, requests[r].engine, now_s)
    if control[0].first_from_prefill:
        requests[r].first_token_s = now_s
        if requests[r].tokens < 1.0:
            finish(world, r, now_s)
    if control[0].layers == 0:
        ask_transfer(world, r, now_s)
    if requests[r].relayed and not requests[r].ended and requests[r].relay_state == RELAY_NONE:
        requests[r].relay_state = RELAY_WAITS
        if enter(world.stations, requests[r].relay, requests, r, now_s):
            requests[r].relay_slot_s = now_s
            use_nic(world, r, requests[r].kv_bytes, now_s)
    serve_queue(world, requests[r].queue, now_s)


@jit
def finish(world: World, r: int, now_s: float) -> None:
    """Note that the last token of a request is out."""
    world.requests[r].ended = 1
    world.requests[r].finish_s = now_s
    measure_from, measure_to = world.control[0].measure_from, world.control[0].measure_to
    if measure_from <= r < measure_to:
        world.control[0].finished += 1


# --- relay ---------------------------------------------------------------------------------------


@jit
def at_relay(world: World, r: int, now_s: float) -> None:
    """KV cache is at the relay: speak, unless main decode has taken over already."""
    requests = world.requests
    if requests[r].relay_state == RELAY_OVER:
        release_relay(world, requests[r].relay, now_s)
        return
    requests[r].relay_state = RELAY_ACTIVE
    requests[r].relay_start_s = now_s
    first = not world.control[0].first_from_prefill
    start_tokens(world, requests[r].relay, 4 * r + RELAY, r, requests[r].tokens, first, now_s)


@jit
def release_relay(world: World, i: int, now_s: float) -> None:
    """Free a relay slot and hand it to the next who still wants it."""
    leave(world.stations, i, now_s)
    while True:
        r = admit(world.stations, i, world.requests)
        if r < 0:
            return
        if world.requests[r].relay_state == RELAY_WAITS:
            world.requests[r].relay_slot_s = now_s
            use_nic(world, r, world.requests[r].kv_bytes, now_s)
            return
        world.stations[i].held -= 1


@jit
def relay_done(world: World, r: int, now_s: float) -> None:
    """End a request whose tokens the relay has all made before main decode took over."""
    requests = world.requests
    requests[r].relay_state = RELAY_OVER
    requests[r].relay_tokens = requests[r].tokens
    finish(world, r, now_s)
    release_relay(world, requests[r].relay, now_s)
    if world.control[0].drop:
        drop_transfer(world, r, now_s)


@jit
def drop_transfer(world: World, r: int, now_s: float) -> None:
    """Do not deliver the KV cache of a request that ended on the relay, unless it has left."""
    requests = world.requests
    has_slot = world.control[0].reserve and requests[r].way > WAY_SLOT
    if not withdraw_transfer(world, r, now_s):
        return
    requests[r].dropped = 1
    free_memory(world.engines, requests[r].engine, requests[r].kv_bytes, now_s)
    if has_slot:
        release_decode(world, requests[r].decode, now_s)
    serve_queue(world, requests[r].queue, now_s)


# --- main decode ---------------------------------------------------------------------------------


@jit
def delivered(world: World, r: int, now_s: float) -> None:
    """KV cache is at main decode."""
    requests = world.requests
    requests[r].transfer_end_s = now_s
    back_s = now_s + world.lanes[requests[r].lane].half_rtt_s
    schedule(world.events, world.control, back_s, ACKNOWLEDGED, r)
    if world.control[0].reserve:
        if requests[r].ended:
            release_decode(world, requests[r].decode, now_s)
        else:
            take_over(world, r, now_s)
    elif not requests[r].ended and enter(world.stations, requests[r].decode, requests, r, now_s):
        requests[r].decode_slot_s = now_s
        take_over(world, r, now_s)


@jit
def take_over(world: World, r: int, now_s: float) -> None:
    """Go on from the relay, or start: main decode has slot and KV cache."""
    requests = world.requests
    if requests[r].relay_state == RELAY_ACTIVE:
        if exchange(world, r, now_s):
            stop_relay(world, r, now_s)
        return
    if requests[r].relay_state == RELAY_WAITS:
        requests[r].relay_state = RELAY_OVER
    decode(world, r, now_s)


@jit
def stop_relay(world: World, r: int, now_s: float) -> None:
    """Stop the relay; main decode goes on at once or after it has caught up."""
    requests = world.requests
    stop_tokens(world, requests[r].relay, 4 * r + RELAY, now_s)
    requests[r].relay_state = RELAY_OVER
    requests[r].stop_s = now_s
    release_relay(world, requests[r].relay, now_s)
    if requests[r].backlog <= 0.0:
        if requests[r].relay_tokens >= 1.0:
            requests[r].gap_s = 0.0
        decode(world, r, now_s)


@jit
def extended(world: World, r: int, now_s: float) -> None:
    """Go on at main decode, which has caught up, or ask for what came since."""
    requests = world.requests
    extend_over(world, r, now_s)
    if requests[r].ended:
        release_decode(world, requests[r].decode, now_s)
    elif requests[r].final:
        requests[r].gap_s = now_s - requests[r].stop_s
        decode(world, r, now_s)
    elif exchange(world, r, now_s):
        stop_relay(world, r, now_s)


@jit
def decode(world: World, r: int, now_s: float) -> None:
    """Let main decode make the tokens that are left."""
    requests = world.requests
    requests[r].decode_start_s = now_s
    left = requests[r].tokens - requests[r].relay_tokens
    first = requests[r].relay_tokens < 1.0 and not world.control[0].first_from_prefill
    start_tokens(world, requests[r].decode, 4 * r + DECODE, r, left, first, now_s)


@jit
def release_decode(world: World, i: int, now_s: float) -> None:
    """Free a slot of main decode and hand it to the next who still wants it."""
    requests = world.requests
    leave(world.stations, i, now_s)
    while True:
        r = admit(world.stations, i, requests)
        if r < 0:
            return
        if world.control[0].reserve:
            if requests[r].way == WAY_SLOT:
                requests[r].decode_slot_s = now_s
                start_transfer(world, r, now_s)
                return
        elif not requests[r].ended:
            requests[r].decode_slot_s = now_s
            take_over(world, r, now_s)
            return
        world.stations[i].held -= 1


@jit
def decode_done(world: World, r: int, now_s: float) -> None:
    """End a request whose last token main decode has made."""
    finish(world, r, now_s)
    release_decode(world, world.requests[r].decode, now_s)
