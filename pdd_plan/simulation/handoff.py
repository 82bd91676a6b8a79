"""The hand-off from relay to main decode: once, or while the relay goes on."""

from __future__ import annotations

from pdd_plan.simulation.batching import change_stall, least_loaded, token_time_s, tokens_made
from pdd_plan.simulation.compiled import jit
from pdd_plan.simulation.events import schedule
from pdd_plan.simulation.records import EXTEND_BEGINS, EXTEND_ENDS, World

MOST_ROUNDS = 12
"""Rounds of catching up after which the relay is stopped whatever is left."""


@jit
def may_catch_up(world: World, relay: int) -> bool:
    """Whether the relay may go on while main decode catches up: it has slots to spare."""
    station = world.stations[relay]
    return bool(station.held <= world.control[0].catch_up_below * station.limit)


@jit
def exchange(world: World, r: int, now_s: float) -> bool:
    """Send main decode the tokens that the relay has made since the last time.

    Parameters
    ----------
    world : World
    r : int
        A request that the relay speaks and that has a slot and its KV cache at main decode.
    now_s : float

    Returns
    -------
    bool
        Whether the relay stops now: always in one shot; in catching up when at most one token
        is left, or the next would not leave a whole token less.

    Notes
    -----
    ``backlog`` is what main decode has to recompute; 0 where it can go on at once.
    """
    requests, stations = world.requests, world.stations
    made = tokens_made(world, requests[r].relay, r, now_s)
    made = min(made, requests[r].tokens - 1.0)
    backlog = made - requests[r].synced
    requests[r].relay_tokens = made
    requests[r].synced = made
    catch_up = may_catch_up(world, requests[r].relay)
    if backlog < 1.0 or (catch_up and backlog <= 1.0):
        requests[r].backlog = 0.0
        requests[r].final = 1
        return True
    i = requests[r].decode
    half_rtt_s = world.lanes[requests[r].lane].half_rtt_s
    extend_s = stations[i].extend_fixed_s + stations[i].extend_per_token_s * backlog
    expected = (half_rtt_s + extend_s) / token_time_s(world, requests[r].relay)
    going = catch_up and expected <= backlog - 1.0 and requests[r].rounds < MOST_ROUNDS
    requests[r].rounds += 1
    requests[r].backlog = backlog
    requests[r].final = 0 if going else 1
    schedule(world.events, world.control, now_s + half_rtt_s, EXTEND_BEGINS, r)
    return not going


@jit
def extend_begins(world: World, r: int, now_s: float) -> None:
    """Start to recompute the KV cache of the tokens that main decode was sent."""
    i = world.requests[r].decode
    station = world.stations[i]
    extend_s = station.extend_fixed_s + station.extend_per_token_s * world.requests[r].backlog
    end_s = now_s + extend_s
    if world.control[0].extend_stalls:
        change_stall(world, i, 1, now_s)
        if world.control[0].stepwise:
            b = least_loaded(world, i)
            end_s = max(now_s, world.batches[b].blocked_until_s) + extend_s
            world.batches[b].blocked_until_s = end_s
    schedule(world.events, world.control, end_s, EXTEND_ENDS, r)


@jit
def extend_over(world: World, r: int, now_s: float) -> None:
    """Note that main decode has the KV cache of all tokens that it was sent."""
    if world.control[0].extend_stalls:
        change_stall(world, world.requests[r].decode, -1, now_s)
