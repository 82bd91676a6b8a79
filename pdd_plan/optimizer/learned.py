"""What a node has learned about its sites beyond the look-ups that its model starts with.

The model starts from costs that are never too high: prefill as if transfers took no time, relay
and decode by their convex hull, sites as if roles did not compete for chips. Where a solution costs
more than that, the difference is learned and the model made again; so it ends at the true cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pdd_plan.fleet.problem import BoolArray, FloatArray, Role
from pdd_plan.optimizer.mixes import Front
from pdd_plan.optimizer.node import Node

TOLERANCE = 2e-7
"""Costs are alike up to this much, relative to the cost of the plan."""


@dataclass(frozen=True)
class PathRow:
    """Excess of a site while a lane is in a state: ``excess >= gain x + sum of shift[s] z[s]``.

    Attributes
    ----------
    state : int
        State of the lane.
    gain : float
        Cost above that of instant transfers at some number of steps [currency/h].
    shift : ndarray, shape (steps + 1,)
        Not above 0: what the row gives up where the site carries another number of steps.
    with_relay : bool
        The cost of the relay counts as well.
    """

    state: int
    gain: float
    shift: FloatArray
    with_relay: bool


@dataclass(frozen=True)
class SiteRow:
    """Least cost of a site while its lanes are in given states [currency/h]."""

    site: str
    states: tuple[int, ...]
    usd_per_hour: float


@dataclass(frozen=True)
class JointRow:
    """Least cost of a site that carries so many steps and work beyond some mixes [currency/h]."""

    site: str
    steps: int
    beyond: tuple[tuple[Role, float], ...]
    usd_per_hour: float


class Learned:
    """Rows of a node's model that are found on the way.

    Parameters
    ----------
    node : Node
        The node; its states must not change any more.
    possible : dict of site to ndarray of bool, shape (steps + 1,)
        Numbers of steps that a prefill site may carry in a plan that counts.
    room : float
        Excess from which on a site is too dear for a plan that counts.
    """

    def __init__(self, node: Node, possible: dict[str, BoolArray], room: float) -> None:
        self.node = node
        self.possible = possible
        self.room = room
        self.thresholds: dict[tuple[Role, str], set[float]] = {}
        self.paths: dict[tuple[int, bool], FloatArray] = {}
        self.rows: list[PathRow] = []
        self.joint_rows: list[JointRow] = []
        self.site_rows: list[SiteRow] = []

    @property
    def size(self) -> int:
        """Number of things learned."""
        thresholds = sum(len(found) for found in self.thresholds.values())
        rows = len(self.rows) + len(self.joint_rows) + len(self.site_rows)
        return thresholds + len(self.paths) + rows

    # --- paths ---------------------------------------------------------------------------------

    def learn_paths(self, states: Sequence[int]) -> bool:
        """Cost the paths over lanes in some states; False where all are known already."""
        new = [state for state in states if (state, False) not in self.paths]
        for state in new:
            possible = self.possible[str(self.node.source[state])]
            relays = (False, True) if self.node.states.relay_erlang[state] > 0.0 else (False,)
            for with_relay in relays:
                excess = self.node.path_excess(state, possible, self.room, with_relay=with_relay)
                self.paths[state, with_relay] = excess
        return bool(new)

    def path_gain(self, state: int, *, with_relay: bool) -> float:
        """Excess of a site whatever steps it carries while a lane is in a state; 0 if unknown."""
        known = self.paths.get((state, with_relay))
        return 0.0 if known is None else float(known.min())

    def _learn_row(self, state: int, steps: int, *, with_relay: bool) -> bool:
        """Bind the excess of a state at a number of steps, if that is more than at any number."""
        excess = self.paths[state, with_relay]
        gain = float(excess[steps])
        if not np.isfinite(gain) or gain <= self.path_gain(state, with_relay=with_relay):
            return False
        row = PathRow(state, gain, np.minimum(excess - gain, 0.0), with_relay)
        if any(
            r.state == state and r.gain == gain and r.with_relay == with_relay for r in self.rows
        ):
            return False
        self.rows.append(row)
        return True

    # --- solutions -----------------------------------------------------------------------------

    def learn(self, chosen: Sequence[int], usd_by_site: dict[str, float]) -> bool:
        """Learn where a solution costs more than its model says; False where it does not.

        Parameters
        ----------
        chosen : sequence of int
            States of the open lanes.
        usd_by_site : dict of site to float
            Cost of each site in the model.
        """
        node, found = self.node, self.learn_paths(chosen)
        for site, usd in usd_by_site.items():
            sent = [s for s in chosen if node.source[s] == site]
            taken = [s for s in chosen if node.target[s] == site]
            if not sent and not taken:
                continue
            mix = node.site_mix(site, sent, taken)
            true = np.inf if mix is None else mix.usd_per_hour
            if true > usd * (1.0 + TOLERANCE):
                found |= self._learn_site(site, sent, taken, usd, true)
        return found

    def _learn_site(
        self, site: str, sent: Sequence[int], taken: Sequence[int], modeled: float, usd: float
    ) -> bool:
        """Learn why a site costs more than in the model: the cause that holds most widely first."""
        node, states = self.node, self.node.states
        steps = int(states.steps[list(sent)].sum()) if sent else 0
        beyond: list[tuple[Role, float]] = []
        found = False
        work: list[tuple[Role, Front, float]] = []
        if sent:
            total = float(states.relay_erlang[list(sent)].sum())
            work.append(("relay", node.costs.relay[site], total))
        if taken:
            total = float(states.decode_work_per_s[list(taken)].sum())
            work.append(("decode", node.costs.decode[site], total))
        for role, front, total in work:
            below = front.before(total) if total > 0.0 else None
            if below is not None:
                beyond.append((role, below))
                known = self.thresholds.setdefault((role, site), set())
                found |= below not in known
                known.add(below)
        for state, with_relay in [(s, r) for s in sent for r in (False, True)]:
            if (state, with_relay) in self.paths:
                found |= self._learn_row(state, steps, with_relay=with_relay)
        if found:
            return True
        joint = node.ideal_usd(site, steps, dict(beyond))
        row = JointRow(site, steps, tuple(beyond), joint)
        if joint > modeled * (1.0 + TOLERANCE) and row not in self.joint_rows:
            self.joint_rows.append(row)
            return True
        exact = SiteRow(site, tuple(sorted({*sent, *taken})), usd)
        if exact not in self.site_rows:
            self.site_rows.append(exact)
            return True
        return False
