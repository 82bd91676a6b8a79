"""Relay and decode engines: token by token, as a fluid over a pool or step by step an engine.

Fluid: all active requests of a pool are given tokens at the common rate ``1 / t(N / engines)``.
Step by step: each engine runs a step with its own batch; requests join at the next step.
"""

from __future__ import annotations

from pdd_plan.simulation.compiled import jit
from pdd_plan.simulation.events import schedule
from pdd_plan.simulation.records import (
    STAGE_DEAD,
    STAGE_FIRST,
    STAGE_WHOLE,
    STEP_ENDS,
    World,
)
from pdd_plan.simulation.sharing import batch_step_s, join, refresh, settle, withdraw


@jit
def start_tokens(
    world: World, i: int, node: int, r: int, tokens: float, first: bool, now_s: float
) -> None:
    """Let a station make some tokens of a request.

    Parameters
    ----------
    world : World
    i, node, r : int
        Station, node of the request at it, request.
    tokens : float
        Tokens to make, 1 or more.
    first : bool
        Whether the first of them is the first of the answer, so that its time counts.
    now_s : float
    """
    stage = STAGE_FIRST if first and tokens > 1.0 else STAGE_WHOLE
    settle(world.stations, i, now_s)
    if first:
        world.requests[r].lag_s = first_token_lag_s(world, i)
    if world.control[0].stepwise:
        world.stations[i].active += 1
        world.requests[r].joined_virtual = 0.0
        join_batch(world, i, node, tokens, stage, now_s)
        return
    world.requests[r].joined_virtual = world.stations[i].virtual
    work = 1.0 if stage == STAGE_FIRST else tokens
    join(world.stations, i, world.nodes, node, work, stage, world.steps)


@jit
def first_token_lag_s(world: World, i: int) -> float:
    """Time by which the client sees all tokens later than the station makes them [s].

    Of the steps to the first token one is the step that makes it; step by step, half a step more
    is the wait for the next step to begin, which comes by itself.
    """
    own = 1.5 if world.control[0].stepwise else 1.0
    return float(max(world.stations[i].first_steps - own, 0.0) * token_time_s(world, i))


@jit
def stop_tokens(world: World, i: int, node: int, now_s: float) -> None:
    """Withdraw a request from a station before it has made all tokens."""
    settle(world.stations, i, now_s)
    if world.control[0].stepwise:
        world.nodes[node].stage = STAGE_DEAD
        world.stations[i].active -= 1
        world.batches[world.nodes[node].right].members -= 1
    else:
        withdraw(world.stations, i, world.nodes, node, world.steps)


@jit
def tokens_made(world: World, i: int, r: int, now_s: float) -> float:
    """Whole tokens that a station has made of a request so far."""
    if world.control[0].stepwise:
        return float(world.requests[r].joined_virtual)
    settle(world.stations, i, now_s)
    given = world.stations[i].virtual - world.requests[r].joined_virtual
    return float(int(given + 1e-9))


@jit
def token_time_s(world: World, i: int) -> float:
    """Time that a token takes at a station at its present load [s]."""
    return batch_step_s(world.stations, i, world.steps)


@jit
def change_stall(world: World, i: int, change: int, now_s: float) -> None:
    """Note that an engine of a station begins or ends to recompute KV cache."""
    settle(world.stations, i, now_s)
    world.stations[i].stalled += change
    if not world.control[0].stepwise:
        refresh(world.stations, i, world.nodes, world.steps)


# --- step by step --------------------------------------------------------------------------------


@jit
def least_loaded(world: World, i: int) -> int:
    """Engine of a station with the fewest requests."""
    first = world.stations[i].first_batch
    best = first
    for b in range(first, first + world.stations[i].engines):
        if world.batches[b].members < world.batches[best].members:
            best = b
    return int(best)


@jit
def join_batch(world: World, i: int, node: int, tokens: float, stage: int, now_s: float) -> None:
    """Let a request join the least loaded engine at its next step."""
    b = least_loaded(world, i)
    world.nodes[node].key = tokens
    world.nodes[node].stage = stage
    world.nodes[node].right = b
    world.nodes[node].left = world.batches[b].pending
    world.batches[b].pending = node
    world.batches[b].members += 1
    if not world.batches[b].running:
        start_step(world, b, now_s)


@jit
def start_step(world: World, b: int, now_s: float) -> None:
    """Take in who waits for the next step, and run it."""
    batches, nodes = world.batches, world.nodes
    node = batches[b].pending
    while node >= 0:
        following = nodes[node].left
        nodes[node].left = batches[b].head
        batches[b].head = node
        node = following
    batches[b].pending = -1
    if batches[b].head < 0:
        batches[b].running = 0
        return
    batches[b].running = 1
    station = batches[b].station
    size = min(batches[b].members, world.stations[station].steps)
    step_s = world.steps[world.stations[station].steps_at + size - 1]
    begin_s = max(now_s, batches[b].blocked_until_s)
    schedule(world.events, world.control, begin_s + step_s, STEP_ENDS, b)
