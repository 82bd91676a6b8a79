"""A second implementation with SimPy: one process a request, sharing by brute force.

Written from the description of the fleet, not from the event loop: requests are SimPy processes,
shared stations keep the work left of every request in a list and go through all of it at every
change. Slow and plain.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import simpy

from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.simulation import SimulationOptions
from pdd_plan.simulation.stream import RequestStream


class Shared:
    """A station that works on all its requests at one rate, which depends on their number.

    A request has milestones, amounts of work at which an event is due; it leaves at the last.
    """

    def __init__(self, env: simpy.Environment, rate: Callable[[int], float]) -> None:
        self.env, self.rate = env, rate
        self.given: dict[int, float] = {}
        self.marks: dict[int, list[tuple[float, simpy.Event]]] = {}
        self.since = 0.0
        self.slowdown = 1.0
        self.version = 0

    def advance(self) -> None:
        if self.given:
            work = (self.env.now - self.since) * self.slowdown * self.rate(len(self.given))
            for key in self.given:
                self.given[key] += work
        self.since = self.env.now

    def _restart(self) -> None:
        self.version += 1
        if self.given:
            self.env.process(self._next(self.version))

    def _next(self, version: int):
        speed = self.slowdown * self.rate(len(self.given))
        if speed <= 0.0:
            return
        left = {key: marks[0][0] - self.given[key] for key, marks in self.marks.items()}
        yield self.env.timeout(max(min(left.values()), 0.0) / speed)
        if version != self.version:
            return
        self.advance()
        least = min(left.values())
        for key in [k for k, work in left.items() if work <= least]:
            self.marks[key].pop(0)[1].succeed()
            if not self.marks[key]:
                self.remove(key, restart=False)
        self._restart()

    def start(self, key: int, *milestones: float) -> list[simpy.Event]:
        self.advance()
        events = [self.env.event() for _ in milestones]
        self.given[key] = 0.0
        self.marks[key] = list(zip(milestones, events, strict=True))
        self._restart()
        return events

    def remove(self, key: int, *, restart: bool = True) -> None:
        self.advance()
        del self.given[key], self.marks[key]
        if restart:
            self._restart()

    def set_slowdown(self, factor: float) -> None:
        self.advance()
        self.slowdown = factor
        self._restart()


@dataclass
class Slots:
    """A relay or decode pool."""

    shared: Shared
    slots: simpy.Resource
    engines: int
    extend: tuple[float, float]
    steps: np.ndarray
    stalled: int = 0

    def stall(self, change: int) -> None:
        self.stalled += change
        self.shared.set_slowdown(max(1.0 - self.stalled / self.engines, 0.0))

    def step_s(self) -> float:
        return step_at(self.steps, max(len(self.shared.given), 1) / self.engines)


def step_at(steps: np.ndarray, batch: float) -> float:
    return float(np.interp(max(batch, 1.0), np.arange(1, steps.size + 1), steps))


def relay_made(relay: Slots, r: int) -> int:
    relay.shared.advance()
    return int(relay.shared.given[r] + 1e-9)


@dataclass
class Record:
    """What happened to one request."""

    prefill_start: float = math.nan
    first: float = math.nan
    finish: float = math.nan
    gap: float = math.nan
    relay_tokens: int = 0
    transfer_end: float = math.nan
    taken: bool = False
    ended: bool = False
    relay_speaks: bool = False
    stop: simpy.Event | None = None


class Reference:
    """A candidate in SimPy; the same rules as the default options of the event loop."""

    def __init__(
        self,
        problem: Problem,
        candidate: Candidate,
        stream: RequestStream,
        routes: dict[str, np.ndarray],
        options: SimulationOptions,
        slot_stations: dict[int, int],
    ) -> None:
        self.env = simpy.Environment()
        self.problem, self.candidate, self.stream = problem, candidate, stream
        self.routes, self.options = routes, options
        self.records = [Record() for _ in range(len(stream))]
        env = self.env
        self.prefill = {
            i: simpy.Resource(env, n * p.servers_per_engine)
            for i, (p, n) in enumerate(zip(problem.pools, candidate.engines, strict=True))
            if p.role == "prefill" and n
        }
        self.links, self.connections = {}, {}
        for i, lane in enumerate(problem.lanes):
            if lane.local:
                continue
            usable = lane.bytes_per_s[candidate.levels[i]] * lane.efficiency
            cap = lane.connection_cap_bytes_per_s
            self.links[i] = Shared(env, lambda n, usable=usable, cap=cap: min(cap, usable / n))
            self.connections[i] = simpy.Resource(env, lane.connections or 10**9)
        self.slots = {}
        for i, station in slot_stations.items():
            pool, engines = problem.pools[i], candidate.engines[i]
            shared = Shared(
                env,
                lambda n, steps=pool.step_s, engines=engines: 1.0 / step_at(steps, n / engines),
            )
            extend = (pool.extend_fixed_s, pool.extend_per_token_s)
            places = simpy.Resource(env, engines * pool.slots)
            self.slots[station] = Slots(shared, places, engines, extend, pool.step_s)

    def run(self) -> list[Record]:
        for r, at in enumerate(self.stream.arrival_s):
            self.env.process(self.request(r, float(at)))
        self.env.run()
        return self.records

    def request(self, r: int, at: float):
        env, record = self.env, self.records[r]
        types, kind = self.stream.types, self.stream.kind[r]
        lane = self.problem.lanes[self.routes["lane"][r]]
        yield env.timeout(at)
        pool = int(self.routes["pool"][r])
        with self.prefill[pool].request() as server:
            yield server
            record.prefill_start = env.now
            yield env.timeout(float(types.service_s[pool][kind]))
        record.stop = env.event()
        if types.relayed[kind] and not lane.local:
            env.process(self.relay(r))
        yield from self.decode(r)

    def transfer(self, r: int):
        env, index = self.env, int(self.routes["lane"][r])
        lane = self.problem.lanes[index]
        size = float(self.stream.types.transfer_bytes[self.stream.kind[r]])
        if lane.local:
            network = self.problem.networks[lane.source]
            yield env.timeout(size / network.bytes_per_s + network.latency_s)
            return
        with self.connections[index].request() as connection:
            yield connection
            yield self.links[index].start(r, size)[0]
        copies = size / lane.host_copy_bytes_per_s
        yield env.timeout(lane.rtt_s / 2 + lane.overhead_s + copies)

    def decode(self, r: int):
        env, record = self.env, self.records[r]
        tokens = int(self.stream.types.output_tokens[self.stream.kind[r]])
        station = self.slots[int(self.routes["decode"][r])]
        place = station.slots.request()
        yield place
        yield from self.transfer(r)
        record.transfer_end = env.now
        if not record.ended:
            if record.relay_speaks:
                yield from self.hand_over(r, station)
            record.taken = True
        if not record.ended:
            left = float(tokens - record.relay_tokens)
            first, last = station.shared.start(r, 1.0, left)
            if record.relay_tokens == 0:
                env.process(self.note_first(r, first))
            yield last
            record.finish = env.now
        station.slots.release(place)

    def relay(self, r: int):
        env, record = self.env, self.records[r]
        types, kind = self.stream.types, self.stream.kind[r]
        tokens = int(types.output_tokens[kind])
        station = self.slots[int(self.routes["relay"][r])]
        network = self.problem.networks[self.problem.lanes[self.routes["lane"][r]].source]
        place = station.slots.request()
        yield place
        if record.taken:
            station.slots.release(place)
            return
        yield env.timeout(types.kv_bytes[kind] / network.bytes_per_s + network.latency_s)
        if record.taken:
            station.slots.release(place)
            return
        record.relay_speaks = True
        first, finished = station.shared.start(r, 1.0, float(tokens))
        env.process(self.note_first(r, first))
        yield finished | record.stop
        if finished.triggered and not record.stop.triggered:
            record.ended, record.finish, record.relay_tokens = True, env.now, tokens
            record.relay_speaks = False
        station.slots.release(place)

    def note_first(self, r: int, first: simpy.Event):
        yield first
        self.records[r].first = self.env.now

    def hand_over(self, r: int, station: Slots):
        env, record = self.env, self.records[r]
        tokens = int(self.stream.types.output_tokens[self.stream.kind[r]])
        relay = self.slots[int(self.routes["relay"][r])]
        half = self.problem.lanes[self.routes["lane"][r]].rtt_s / 2
        fixed, each = station.extend
        one_shot = self.options.handoff == "one_shot"
        known = rounds = 0
        while True:
            made = min(relay_made(relay, r), tokens - 1)
            behind = made - known
            record.relay_tokens = known = made
            if behind < 1 or (not one_shot and behind <= 1):
                self.silence(r, relay)
                record.gap = 0.0 if made else math.nan
                return
            expected = (half + fixed + each * behind) / relay.step_s()
            last = one_shot or expected > behind - 1 or rounds >= 12
            rounds += 1
            stopped_at = env.now
            if last:
                self.silence(r, relay)
            yield env.timeout(half)
            station.stall(+1)
            yield env.timeout(fixed + each * behind)
            station.stall(-1)
            if last:
                record.gap = env.now - stopped_at
                return
            if record.ended:
                return

    def silence(self, r: int, relay: Slots) -> None:
        relay.shared.remove(r)
        self.records[r].relay_speaks = False
        self.records[r].stop.succeed()
