"""The way of the KV cache: slot, connection, line or network of the site, delays."""

from __future__ import annotations

from pdd_plan.simulation.compiled import jit
from pdd_plan.simulation.events import admit, enter, leave, schedule
from pdd_plan.simulation.records import (
    AT_RELAY,
    DELIVERED,
    LINK,
    NIC,
    STAGE_WHOLE,
    WAY_CONNECTION,
    WAY_LINE,
    WAY_OVER,
    WAY_SENT,
    WAY_SLOT,
    World,
)
from pdd_plan.simulation.sharing import join, settle, withdraw


@jit
def ask_transfer(world: World, r: int, now_s: float) -> None:
    """Reserve a slot at main decode and start the transfer, or wait for a slot first."""
    world.requests[r].way = WAY_SLOT
    if not world.control[0].reserve:
        start_transfer(world, r, now_s)
    elif enter(world.stations, world.requests[r].decode, world.requests, r, now_s):
        world.requests[r].decode_slot_s = now_s
        start_transfer(world, r, now_s)


@jit
def start_transfer(world: World, r: int, now_s: float) -> None:
    """Send the missing KV cache over the line, or through the network of the site."""
    link = world.lanes[world.requests[r].lane].link
    world.requests[r].way = WAY_CONNECTION
    if link < 0:
        world.requests[r].way = WAY_LINE
        world.requests[r].transfer_start_s = now_s
        use_nic(world, r, world.requests[r].transfer_bytes, now_s)
    elif enter(world.stations, link, world.requests, r, now_s):
        use_link(world, link, r, now_s)


@jit
def use_link(world: World, link: int, r: int, now_s: float) -> None:
    """Start the bytes of a request whose connection is open."""
    world.requests[r].way = WAY_LINE
    world.requests[r].transfer_start_s = now_s
    work = world.requests[r].transfer_bytes
    join(world.stations, link, world.nodes, 4 * r + LINK, work, STAGE_WHOLE, world.steps)


@jit
def use_nic(world: World, r: int, size_bytes: float, now_s: float) -> None:
    """Send bytes out of a prefill engine inside the site."""
    nic = world.engines[world.requests[r].engine].nic
    if world.control[0].share_nics:
        settle(world.stations, nic, now_s)
        join(world.stations, nic, world.nodes, 4 * r + NIC, size_bytes, STAGE_WHOLE, world.steps)
    else:
        sent(world, r, now_s + size_bytes / world.stations[nic].capacity)


@jit
def sent(world: World, r: int, time_s: float) -> None:
    """Bytes have left the engine: they are at the other end after the delays of the way."""
    lane = world.requests[r].lane
    if world.lanes[lane].link < 0:
        arrive(world, r, time_s)
    else:
        latency_s = world.lanes[lane].rdma_latency_s
        schedule(world.events, world.control, time_s + latency_s, AT_RELAY, r)


@jit
def arrive(world: World, r: int, time_s: float) -> None:
    """Bytes for main decode have left: schedule their arrival, not before prefill is done."""
    requests, lane = world.requests, world.lanes[world.requests[r].lane]
    requests[r].way = WAY_SENT
    at_s = time_s + lane.delay_s + lane.copy_s_per_byte * requests[r].transfer_bytes
    layers = world.control[0].layers
    if layers > 0:
        last_layer_s = (at_s - requests[r].transfer_start_s) / layers
        at_s = max(at_s, requests[r].prefill_end_s + last_layer_s)
    schedule(world.events, world.control, at_s, DELIVERED, r)


@jit
def link_done(world: World, link: int, r: int, now_s: float) -> None:
    """Note that a line has carried a request's bytes: free its connection for the next."""
    arrive(world, r, now_s)
    free_connection(world, link, now_s)


@jit
def free_connection(world: World, link: int, now_s: float) -> None:
    """Close a connection and hand it to the next who still wants it."""
    leave(world.stations, link, now_s)
    while True:
        r = admit(world.stations, link, world.requests)
        if r < 0:
            return
        if world.requests[r].way == WAY_CONNECTION:
            use_link(world, link, r, now_s)
            return
        world.stations[link].held -= 1


@jit
def withdraw_transfer(world: World, r: int, now_s: float) -> bool:
    """Give up a transfer that is no longer wanted, unless all bytes have left.

    Returns
    -------
    bool
        Whether it was given up.
    """
    requests = world.requests
    way = requests[r].way
    if way >= WAY_SENT:
        return False
    requests[r].way = WAY_OVER
    if way == WAY_LINE:
        link = world.lanes[requests[r].lane].link
        settle(world.stations, link, now_s)
        withdraw(world.stations, link, world.nodes, 4 * r + LINK, world.steps)
        free_connection(world, link, now_s)
    return True
