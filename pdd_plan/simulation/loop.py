"""The event loop: whichever of arrivals, timed events and departures comes first."""

from __future__ import annotations

import math

from pdd_plan.simulation.batching import start_step
from pdd_plan.simulation.compiled import entry, jit
from pdd_plan.simulation.events import remove_first
from pdd_plan.simulation.flow import (
    at_relay,
    decode_done,
    delivered,
    extended,
    prefilled,
    relay_done,
    serve_queue,
)
from pdd_plan.simulation.handoff import extend_begins
from pdd_plan.simulation.prefill import enqueue, free_memory, settle_engine, settle_queue
from pdd_plan.simulation.records import (
    ACKNOWLEDGED,
    AT_RELAY,
    DELIVERED,
    EXTEND_BEGINS,
    EXTEND_ENDS,
    LINK,
    NIC,
    PREFILLED,
    RELAY,
    STAGE_DEAD,
    STAGE_FIRST,
    STAGE_WHOLE,
    Records,
    World,
)
from pdd_plan.simulation.sharing import join, pop, refresh, settle
from pdd_plan.simulation.transfer import link_done, sent


@entry
def run(world: World, stop_arrival: int) -> None:
    """Let things happen until a given arrival is next, or nothing is left to do.

    Parameters
    ----------
    world : World
        All tables; changed in place, so that a further call goes on from there.
    stop_arrival : int
        Index of the request before whose arrival to stop; the number of requests or more to
        run until all measured requests, or with ``drain`` all, have ended.
    """
    control, requests, events = world.control, world.requests, world.events
    count = len(requests)
    wanted = control[0].measure_to - control[0].measure_from
    while control[0].drain or control[0].finished < wanted:
        arrival = control[0].next_arrival
        if arrival == stop_arrival:
            return
        time_s = requests[arrival].arrival_s if arrival < count else math.inf
        timed = control[0].events > 0 and events[0].time_s <= time_s
        if timed:
            time_s = events[0].time_s
        station = first_departure(world, time_s)
        if station >= 0:
            depart(world, station, world.stations[station].next_s)
        elif timed:
            kind = events[0].kind
            who = events[0].who
            remove_first(events, control)
            happen(world, kind, who, time_s)
        elif arrival < count:
            control[0].next_arrival = arrival + 1
            note_cache(requests, arrival)
            enqueue(world, arrival, time_s)
            serve_queue(world, requests[arrival].queue, time_s)
        else:
            return


@jit
def note_cache(requests: Records, r: int) -> None:
    """Let main decode miss what the request before in the conversation did not deliver."""
    before = requests[r].previous
    if before < 0 or not requests[before].dropped:
        return
    missing = requests[r].transfer_bytes + requests[before].transfer_bytes
    requests[r].transfer_bytes = min(missing, requests[r].kv_bytes)
    if requests[r].transfer_bytes > requests[r].relay_above_bytes:
        requests[r].relayed = 1


@jit
def first_departure(world: World, before_s: float) -> int:
    """Station with the earliest departure before a time; -1 where there is none."""
    best = -1
    for i in range(len(world.stations)):
        if world.stations[i].next_s < before_s:
            before_s = world.stations[i].next_s
            best = i
    return best


@jit
def happen(world: World, kind: int, who: int, now_s: float) -> None:
    """Let a timed event happen."""
    requests = world.requests
    if kind == PREFILLED:
        prefilled(world, who, now_s)
    elif kind == DELIVERED:
        delivered(world, who, now_s)
    elif kind == ACKNOWLEDGED:
        free_memory(world.engines, requests[who].engine, requests[who].kv_bytes, now_s)
        serve_queue(world, requests[who].queue, now_s)
    elif kind == AT_RELAY:
        at_relay(world, who, now_s)
    elif kind == EXTEND_BEGINS:
        extend_begins(world, who, now_s)
    elif kind == EXTEND_ENDS:
        extended(world, who, now_s)
    else:
        step_over(world, who, now_s)


@jit
def depart(world: World, i: int, now_s: float) -> None:
    """End the service of the request that has the least work left at a station."""
    stations, nodes, requests = world.stations, world.nodes, world.requests
    settle(stations, i, now_s)
    node = pop(stations, i, nodes)
    r = node // 4
    if nodes[node].stage == STAGE_FIRST:
        requests[r].first_token_s = now_s
        left = requests[r].joined_virtual + requests[r].tokens - stations[i].virtual
        join(stations, i, nodes, node, left, STAGE_WHOLE, world.steps)
        return
    refresh(stations, i, nodes, world.steps)
    completed(world, i, r, now_s)


@jit
def completed(world: World, i: int, r: int, now_s: float) -> None:
    """Send a request on from a station that has done its work for it."""
    kind = world.stations[i].kind
    if kind == LINK:
        link_done(world, i, r, now_s)
    elif kind == NIC:
        sent(world, r, now_s)
    else:
        if math.isnan(world.requests[r].first_token_s):
            world.requests[r].first_token_s = now_s
        if kind == RELAY:
            relay_done(world, r, now_s)
        else:
            decode_done(world, r, now_s)


@jit
def step_over(world: World, b: int, now_s: float) -> None:
    """End a step of an engine: one token for each member that was part of it."""
    batches, nodes, requests = world.batches, world.nodes, world.requests
    i = batches[b].station
    node = batches[b].head
    batches[b].head = -1
    while node >= 0:
        following = nodes[node].left
        if nodes[node].stage != STAGE_DEAD:
            r = node // 4
            nodes[node].key -= 1.0
            requests[r].joined_virtual += 1.0
            if nodes[node].stage == STAGE_FIRST:
                requests[r].first_token_s = now_s
                nodes[node].stage = STAGE_WHOLE
            if nodes[node].key < 0.5:
                settle(world.stations, i, now_s)
                world.stations[i].active -= 1
                batches[b].members -= 1
                completed(world, i, r, now_s)
            else:
                nodes[node].left = batches[b].head
                batches[b].head = node
        node = following
    start_step(world, b, now_s)


@entry
def settle_all(world: World, now_s: float) -> None:
    """Bring the integrals of everything up to now."""
    for i in range(len(world.stations)):
        settle(world.stations, i, now_s)
    for q in range(len(world.queues)):
        settle_queue(world.queues, q, now_s)
    for e in range(len(world.engines)):
        settle_engine(world.engines, e, now_s)
