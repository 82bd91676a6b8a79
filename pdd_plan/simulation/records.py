"""Tables of the event loop: one record a request, a station, an engine, a lane.

All are numpy structured arrays, so that the loop can be compiled and a table is one argument.
An index of -1 stands for "none" everywhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Records = Any
"""A structured array; its fields are reached as attributes, which types cannot express."""

# --- what a request does -------------------------------------------------------------------------

REQUEST = np.dtype(
    [
        # given
        ("arrival_s", "f8"),
        ("service_s", "f8"),
        ("kv_bytes", "f8"),
        ("transfer_bytes", "f8"),
        ("tokens", "f8"),  # made by relay and main decode
        ("previous", "i8"),  # request before it in its conversation
        ("relay_above_bytes", "f8"),  # relayed if more is missing at main decode
        ("relayed", "i8"),
        ("queue", "i8"),
        ("lane", "i8"),
        ("relay", "i8"),  # station
        ("decode", "i8"),  # station
        # found
        ("prefill_start_s", "f8"),
        ("prefill_end_s", "f8"),
        ("decode_slot_s", "f8"),
        ("transfer_start_s", "f8"),
        ("transfer_end_s", "f8"),
        ("relay_slot_s", "f8"),
        ("relay_start_s", "f8"),
        ("decode_start_s", "f8"),
        ("first_token_s", "f8"),
        ("finish_s", "f8"),
        ("gap_s", "f8"),
        ("relay_tokens", "f8"),
        ("lag_s", "f8"),  # from a token at the engine to the client
        # in between
        ("engine", "i8"),
        ("next_main", "i8"),
        ("next_relay", "i8"),
        ("relay_state", "i8"),
        ("way", "i8"),
        ("dropped", "i8"),
        ("ended", "i8"),
        ("joined_virtual", "f8"),
        ("stop_s", "f8"),
        ("synced", "f8"),
        ("backlog", "f8"),
        ("rounds", "i8"),
        ("final", "i8"),
    ]
)

FOUND = REQUEST.names[12:23] if REQUEST.names else ()
"""Fields that are not a number until the event has happened."""

RELAY_NONE, RELAY_WAITS, RELAY_ACTIVE, RELAY_OVER = 0, 1, 2, 3
"""States of a request at the relay: not (yet) there, waiting or in transit, speaking, left."""

WAY_NONE, WAY_SLOT, WAY_CONNECTION, WAY_LINE, WAY_SENT, WAY_OVER = range(6)
"""Where the KV cache is: waiting for a slot, for a connection, on the line, left, given up."""

NODE = np.dtype([("key", "f8"), ("left", "i8"), ("right", "i8"), ("stage", "i8")])
"""A request's place in a heap of a station (or in a batch, where `left` is the next member)."""

NIC, LINK, RELAY, DECODE = 0, 1, 2, 3
"""Node of request r at a kind of station: ``4 * r + kind``."""

STAGE_WHOLE, STAGE_FIRST, STAGE_DEAD = 0, 1, 2
"""A node ends all its work, only its first token, or was withdrawn."""

# --- stations ------------------------------------------------------------------------------------

STATION = np.dtype(
    [
        # given
        ("kind", "i8"),  # NIC, LINK, RELAY, DECODE
        ("capacity", "f8"),  # bytes/s that all share
        ("cap", "f8"),  # bytes/s of one connection
        ("engines", "i8"),
        ("first_batch", "i8"),  # index of its first engine's batch
        ("steps_at", "i8"),  # offset into the table of step times
        ("steps", "i8"),
        ("limit", "i8"),  # connections or slots
        ("first_steps", "f8"),  # steps from joining to the first token at the client
        ("extend_fixed_s", "f8"),
        ("extend_per_token_s", "f8"),
        # shared service
        ("root", "i8"),
        ("active", "i8"),
        ("stalled", "i8"),  # engines that recompute KV cache
        ("virtual", "f8"),  # work that each request in service was given so far
        ("rate", "f8"),
        ("last_s", "f8"),
        ("next_s", "f8"),
        # gate
        ("held", "i8"),
        ("waiting", "i8"),
        ("head", "i8"),
        ("tail", "i8"),
        # integrals over time
        ("area_active", "f8"),
        ("area_held", "f8"),
        ("area_waiting", "f8"),
        ("work", "f8"),
        ("stall", "f8"),
    ]
)

BATCH = np.dtype(
    [
        ("station", "i8"),
        ("head", "i8"),
        ("pending", "i8"),
        ("members", "i8"),
        ("running", "i8"),
        ("blocked_until_s", "f8"),
    ]
)
"""One relay or decode engine, where steps are simulated one by one."""

QUEUE = np.dtype(
    [
        ("first_engine", "i8"),
        ("engines", "i8"),
        ("cursor", "i8"),
        ("head", "i8"),
        ("tail", "i8"),
        ("waiting", "i8"),
        ("last_s", "f8"),
        ("area_waiting", "f8"),
    ]
)
"""A queue before prefill engines: one a pool (shared dispatch) or one an engine (random)."""

ENGINE = np.dtype(
    [
        ("queue", "i8"),
        ("nic", "i8"),
        ("free_servers", "i8"),
        ("busy_servers", "i8"),
        ("free_bytes", "f8"),
        ("last_s", "f8"),
        ("area_busy", "f8"),
        ("area_bytes", "f8"),
        ("held_bytes", "f8"),
    ]
)
"""One prefill engine."""

LANE = np.dtype(
    [
        ("link", "i8"),  # station; -1 for a local lane
        ("delay_s", "f8"),  # propagation and set-up of a transfer
        ("copy_s_per_byte", "f8"),  # staging through host memory
        ("half_rtt_s", "f8"),
        ("rdma_latency_s", "f8"),
    ]
)

EVENT = np.dtype([("time_s", "f8"), ("order", "i8"), ("kind", "i8"), ("who", "i8")])

(
    PREFILLED,
    DELIVERED,
    ACKNOWLEDGED,
    AT_RELAY,
    EXTEND_BEGINS,
    EXTEND_ENDS,
    STEP_ENDS,
) = range(7)

CONTROL = np.dtype(
    [
        ("events", "i8"),
        ("next_arrival", "i8"),
        ("order", "i8"),
        ("finished", "i8"),
        # rules of the fleet
        ("layers", "i8"),  # 0: transfer after prefill; else layer by layer
        ("catch_up_below", "f8"),  # share of relay slots taken; negative: one-shot always
        ("first_from_prefill", "i8"),
        ("reserve", "i8"),  # slot reserved before the transfer
        ("stepwise", "i8"),
        ("share_nics", "i8"),
        ("extend_stalls", "i8"),
        ("drop", "i8"),  # no delivery after a request has ended on the relay
        ("measure_from", "i8"),
        ("measure_to", "i8"),
        ("drain", "i8"),
    ]
)


class World(NamedTuple):
    """All tables of one run."""

    requests: Records
    nodes: Records
    stations: Records
    batches: Records
    queues: Records
    engines: Records
    lanes: Records
    steps: Records
    events: Records
    control: Records


def table(dtype: np.dtype[Any], size: int) -> Records:
    """Return a table of zeros, with all links between records set to "none".

    Parameters
    ----------
    dtype : dtype
        One of the record types of this module.
    size : int
        Number of records.

    Returns
    -------
    recarray, shape (size,)
    """
    rows = np.zeros(size, dtype=dtype).view(np.recarray)
    for name in ("root", "head", "tail", "left", "right", "next_main", "next_relay", "pending"):
        if name in (dtype.names or ()):
            rows[name] = -1
    return rows
