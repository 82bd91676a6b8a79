"""Event simulations that know nothing of the formulas under test: plain Python and heapq."""

from __future__ import annotations

import heapq
import itertools

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def draw(values: Array, weights: Array, count: int, seed: int) -> Array:
    """Sample with exactly the mean of the law: the load of a run is then the one asked for."""
    share = weights / weights.sum()
    sample = np.random.default_rng(seed).choice(values, count, p=share)
    return sample * (float(share @ values) / sample.mean())


def poisson_gaps(rate: float, count: int, seed: int) -> Array:
    """Gaps of Poisson arrivals with exactly the mean 1 / rate."""
    gaps = np.random.default_rng(10_000 + seed).exponential(1.0, count)
    return gaps / (gaps.mean() * rate)


def multi_server_waits(gaps: Array, service: Array, servers: int) -> Array:
    """Waits of a FCFS queue with several servers (Kiefer-Wolfowitz)."""
    free = [0.0] * servers
    waits = np.empty(gaps.size)
    now = 0.0
    for i, (gap, work) in enumerate(zip(gaps.tolist(), service.tolist(), strict=True)):
        now += gap
        start = max(free[0], now)
        waits[i] = start - now
        heapq.heapreplace(free, start + work)
    return waits


def shared_line(
    gaps: Array, sizes: Array, cap: float = 1.0, connections: int | None = None
) -> tuple[Array, Array]:
    """Times from arrival to delivery, and waits for a connection, of a fair-shared line.

    Exact: every active transfer has the same rate, so the amount V that each got since time 0 is
    common, and a transfer that starts at V ends at V plus its size.
    """
    arrivals = np.cumsum(gaps).tolist()
    work = sizes.tolist()
    count, limit = len(work), connections or len(work) + 1
    total, wait = np.zeros(count), np.zeros(count)
    active: list[tuple[float, int]] = []
    now = served = 0.0
    arrived = started = 0
    while arrived < count or active:
        rate = min(cap, 1.0 / len(active)) if active else 0.0
        end = now + (active[0][0] - served) / rate if active else np.inf
        following = arrivals[arrived] if arrived < count else np.inf
        served += rate * (min(end, following) - now)
        now = min(end, following)
        if end <= following:
            _, index = heapq.heappop(active)
            total[index] = now - arrivals[index]
        else:
            arrived += 1
        while started < arrived and len(active) < limit:
            wait[started] = now - arrivals[started]
            heapq.heappush(active, (served + work[started], started))
            started += 1
    return total, wait


def stepwise_batching(
    gaps: Array, tokens: NDArray[np.int64], step: Array, engines: int, reserved_s: float = 0.0
) -> tuple[float, float]:
    """Engines that make one token for each request of their batch in every step.

    Requests join at step boundaries, go to the engine with fewest requests, and hold their slot
    for `reserved_s` before. Returns the time per token (from joining to the end, over all tokens)
    and the share of requests that found all slots taken. The first tenth is left out.
    """
    arrivals = np.cumsum(gaps)
    count, slots = arrivals.size, step.size
    held = [0] * engines
    batch: list[list[list[int]]] = [[] for _ in range(engines)]  # [tokens left, request]
    ready: list[list[int]] = [[] for _ in range(engines)]
    ticking = [False] * engines
    begin, end, waited = np.zeros(count), np.zeros(count), np.zeros(count, dtype=bool)
    queue: list[int] = []
    order = itertools.count()
    events: list[tuple[float, int, str, int, int]] = [
        (float(t), next(order), "arrive", i, 0) for i, t in enumerate(arrivals)
    ]
    heapq.heapify(events)

    def seat(now: float, request: int) -> None:
        engine = min(range(engines), key=held.__getitem__)
        held[engine] += 1
        heapq.heappush(events, (now + reserved_s, next(order), "ready", request, engine))

    while events:
        now, _, kind, request, engine = heapq.heappop(events)
        if kind == "arrive":
            if min(held) >= slots or queue:
                waited[request] = True
                queue.append(request)
            else:
                seat(now, request)
            continue
        if kind == "ready":
            begin[request] = now
            ready[engine].append(request)
            if ticking[engine]:
                continue
        else:
            rows = batch[engine]
            for row in rows:
                row[0] -= 1
            for row in rows:
                if row[0] == 0:
                    end[row[1]] = now
                    held[engine] -= 1
            batch[engine] = [row for row in rows if row[0] > 0]
            while queue and min(held) < slots:
                seat(now, queue.pop(0))
        batch[engine] += [[int(tokens[r]), r] for r in ready[engine]]
        ready[engine] = []
        ticking[engine] = bool(batch[engine])
        if ticking[engine]:
            length = float(step[len(batch[engine]) - 1])
            heapq.heappush(events, (now + length, next(order), "step", -1, engine))
    kept = slice(count // 10, None)
    return float((end - begin)[kept].sum() / tokens[kept].sum()), float(waited[kept].mean())
