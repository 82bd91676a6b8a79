"""Stations whose requests are served together, simulated exactly by virtual time.

All requests in service at a station receive work at one common rate, which depends on their
number: a line shares its bandwidth, a batch gives every member a token a step. So the order in
which they finish never changes, and it suffices to keep the *virtual time*, the work that each
was given since the start, in a heap of the virtual times at which they finish: a departure costs
O(log n) [1]_.

The heap is a skew heap over nodes that belong to the requests, so it needs no room of its own
and a withdrawn request is just marked.

References
----------
.. [1] A. K. Parekh, R. G. Gallager, "A generalized processor sharing approach to flow control",
   IEEE/ACM Trans. Networking 1(3), 1993.
"""

from __future__ import annotations

import math

from pdd_plan.simulation.compiled import jit
from pdd_plan.simulation.records import DECODE, RELAY, STAGE_DEAD, Records


@jit
def merge(nodes: Records, one: int, other: int) -> int:
    """Merge two skew heaps given by their roots and return the root of both."""
    root = -1
    parent = -1
    while one >= 0 and other >= 0:
        if nodes[other].key < nodes[one].key:
            one, other = other, one
        if parent < 0:
            root = one
        else:
            nodes[parent].left = one
        following = nodes[one].right
        nodes[one].right = nodes[one].left
        nodes[one].left = -1
        parent = one
        one = following
    rest = one if one >= 0 else other
    if parent < 0:
        return rest
    nodes[parent].left = rest
    return root


@jit
def batch_step_s(stations: Records, i: int, steps: Records) -> float:
    """Time of one step with the active requests spread evenly over the engines [s]."""
    batch = stations[i].active / stations[i].engines
    if batch <= 1.0:
        return float(steps[stations[i].steps_at])
    low = min(int(batch), stations[i].steps)
    at = stations[i].steps_at + low - 1
    if low >= stations[i].steps:
        return float(steps[at])
    return float(steps[at] + (batch - low) * (steps[at + 1] - steps[at]))


@jit
def settle(stations: Records, i: int, now_s: float) -> None:
    """Bring virtual time and the integrals of a station up to now."""
    span = now_s - stations[i].last_s
    if span > 0.0:
        stations[i].virtual += stations[i].rate * span
        stations[i].area_active += stations[i].active * span
        stations[i].area_held += stations[i].held * span
        stations[i].area_waiting += stations[i].waiting * span
        stations[i].work += stations[i].rate * stations[i].active * span
        stations[i].stall += stations[i].stalled * span
    stations[i].last_s = now_s


@jit
def refresh(stations: Records, i: int, nodes: Records, steps: Records) -> None:
    """Find rate and next departure of a station anew, after its requests have changed."""
    root = stations[i].root
    while root >= 0 and nodes[root].stage == STAGE_DEAD:
        root = merge(nodes, nodes[root].left, nodes[root].right)
    stations[i].root = root
    active = stations[i].active
    if active == 0:
        stations[i].rate = 0.0
        stations[i].virtual = 0.0
        stations[i].next_s = math.inf
        return
    kind = stations[i].kind
    if kind in (RELAY, DECODE):
        running = 1.0 - stations[i].stalled / stations[i].engines
        rate = max(running, 0.0) / batch_step_s(stations, i, steps)
    else:
        rate = min(stations[i].cap, stations[i].capacity / active)
    stations[i].rate = rate
    left = max(nodes[root].key - stations[i].virtual, 0.0)
    stations[i].next_s = stations[i].last_s + left / rate if rate > 0.0 else math.inf


@jit
def join(
    stations: Records, i: int, nodes: Records, node: int, work: float, stage: int, steps: Records
) -> None:
    """Start to serve a node with some work; the station must be settled."""
    nodes[node].key = stations[i].virtual + work
    nodes[node].left = -1
    nodes[node].right = -1
    nodes[node].stage = stage
    stations[i].root = merge(nodes, stations[i].root, node)
    stations[i].active += 1
    refresh(stations, i, nodes, steps)


@jit
def pop(stations: Records, i: int, nodes: Records) -> int:
    """Take out the node that finishes first and set virtual time to its end exactly."""
    node = stations[i].root
    stations[i].virtual = nodes[node].key
    stations[i].root = merge(nodes, nodes[node].left, nodes[node].right)
    stations[i].active -= 1
    return int(node)


@jit
def withdraw(stations: Records, i: int, nodes: Records, node: int, steps: Records) -> None:
    """Stop serving a node before its end; the station must be settled."""
    nodes[node].stage = STAGE_DEAD
    stations[i].active -= 1
    refresh(stations, i, nodes, steps)
