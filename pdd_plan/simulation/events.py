"""Timed events, and the gates at which requests wait for a slot or a connection in order."""

from __future__ import annotations

from pdd_plan.simulation.compiled import jit
from pdd_plan.simulation.records import RELAY, Records
from pdd_plan.simulation.sharing import settle


@jit
def schedule(events: Records, control: Records, time_s: float, kind: int, who: int) -> None:
    """Put an event into the heap; events of one time happen in the order they were put in."""
    at = control[0].events
    control[0].events += 1
    order = control[0].order
    control[0].order += 1
    while at > 0:
        parent = (at - 1) // 2
        if events[parent].time_s <= time_s:
            break
        _copy(events, at, parent)
        at = parent
    events[at].time_s = time_s
    events[at].order = order
    events[at].kind = kind
    events[at].who = who


@jit
def _copy(events: Records, to: int, source: int) -> None:
    events[to].time_s = events[source].time_s
    events[to].order = events[source].order
    events[to].kind = events[source].kind
    events[to].who = events[source].who


@jit
def _before(events: Records, one: int, other: int) -> bool:
    if events[one].time_s != events[other].time_s:
        return bool(events[one].time_s < events[other].time_s)
    return bool(events[one].order < events[other].order)


@jit
def remove_first(events: Records, control: Records) -> None:
    """Take the earliest event out of the heap."""
    control[0].events -= 1
    size = control[0].events
    if size == 0:
        return
    # the last event sinks from the top; it waits at its old place meanwhile
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _before(events, child + 1, child):
            child += 1
        if not _before(events, child, size):
            break
        _copy(events, at, child)
        at = child
    _copy(events, at, size)


@jit
def enter(stations: Records, i: int, requests: Records, r: int, now_s: float) -> bool:
    """Take a place of a station's gate, or wait for one in order of arrival.

    Returns
    -------
    bool
        Whether the place was taken at once.
    """
    settle(stations, i, now_s)
    if stations[i].held < stations[i].limit:
        stations[i].held += 1
        return True
    relay = stations[i].kind == RELAY
    if relay:
        requests[r].next_relay = -1
    else:
        requests[r].next_main = -1
    tail = stations[i].tail
    if tail < 0:
        stations[i].head = r
    elif relay:
        requests[tail].next_relay = r
    else:
        requests[tail].next_main = r
    stations[i].tail = r
    stations[i].waiting += 1
    return False


@jit
def leave(stations: Records, i: int, now_s: float) -> None:
    """Give a place of a station's gate back."""
    settle(stations, i, now_s)
    stations[i].held -= 1


@jit
def admit(stations: Records, i: int, requests: Records) -> int:
    """Let the first who waits take a free place; -1 where nobody waits or no place is free."""
    r = stations[i].head
    if r < 0 or stations[i].held >= stations[i].limit:
        return -1
    if stations[i].kind == RELAY:
        stations[i].head = requests[r].next_relay
    else:
        stations[i].head = requests[r].next_main
    if stations[i].head < 0:
        stations[i].tail = -1
    stations[i].waiting -= 1
    stations[i].held += 1
    return int(r)
