"""Prefill engines: first come, first served, as long as a server and KV memory are free."""

from __future__ import annotations

from pdd_plan.simulation.compiled import jit
from pdd_plan.simulation.events import schedule
from pdd_plan.simulation.records import PREFILLED, Records, World


@jit
def settle_engine(engines: Records, e: int, now_s: float) -> None:
    """Bring the integrals of an engine up to now."""
    span = now_s - engines[e].last_s
    if span > 0.0:
        engines[e].area_busy += engines[e].busy_servers * span
        engines[e].area_bytes += engines[e].held_bytes * span
    engines[e].last_s = now_s


@jit
def settle_queue(queues: Records, q: int, now_s: float) -> None:
    """Bring the integral of a queue's length up to now."""
    queues[q].area_waiting += queues[q].waiting * (now_s - queues[q].last_s)
    queues[q].last_s = now_s


@jit
def enqueue(world: World, r: int, now_s: float) -> None:
    """Put a request at the end of its prefill queue."""
    queues, requests = world.queues, world.requests
    q = requests[r].queue
    settle_queue(queues, q, now_s)
    requests[r].next_main = -1
    if queues[q].tail < 0:
        queues[q].head = r
    else:
        requests[queues[q].tail].next_main = r
    queues[q].tail = r
    queues[q].waiting += 1


@jit
def pick_engine(world: World, q: int, kv_bytes: float) -> int:
    """Choose the engine with most free servers, then most free memory; -1 where none fits."""
    queues, engines = world.queues, world.engines
    best = -1
    count = queues[q].engines
    for step in range(count):
        e = queues[q].first_engine + (queues[q].cursor + step) % count
        if engines[e].free_servers == 0 or engines[e].free_bytes < kv_bytes:
            continue
        if (
            best < 0
            or engines[e].free_servers > engines[best].free_servers
            or (
                engines[e].free_servers == engines[best].free_servers
                and engines[e].free_bytes > engines[best].free_bytes
            )
        ):
            best = e
    return best


@jit
def start_next(world: World, q: int, now_s: float) -> int:
    """Start the request at the head of a queue if some engine can take it.

    Returns
    -------
    int
        The request, or -1.
    """
    queues, engines, requests = world.queues, world.engines, world.requests
    r = queues[q].head
    if r < 0:
        return -1
    e = pick_engine(world, q, requests[r].kv_bytes)
    if e < 0:
        return -1
    settle_queue(queues, q, now_s)
    queues[q].head = requests[r].next_main
    if queues[q].head < 0:
        queues[q].tail = -1
    queues[q].waiting -= 1
    queues[q].cursor = (e - queues[q].first_engine + 1) % queues[q].engines
    settle_engine(engines, e, now_s)
    engines[e].free_servers -= 1
    engines[e].busy_servers += 1
    engines[e].free_bytes -= requests[r].kv_bytes
    engines[e].held_bytes += requests[r].kv_bytes
    requests[r].engine = e
    requests[r].prefill_start_s = now_s
    requests[r].prefill_end_s = now_s + requests[r].service_s
    schedule(world.events, world.control, requests[r].prefill_end_s, PREFILLED, r)
    return int(r)


@jit
def free_server(engines: Records, e: int, now_s: float) -> None:
    """Give the server of a finished pass back; its KV cache stays in memory."""
    settle_engine(engines, e, now_s)
    engines[e].free_servers += 1
    engines[e].busy_servers -= 1


@jit
def free_memory(engines: Records, e: int, kv_bytes: float, now_s: float) -> None:
    """Drop a KV cache that has arrived at main decode."""
    settle_engine(engines, e, now_s)
    engines[e].free_bytes += kv_bytes
    engines[e].held_bytes -= kv_bytes
