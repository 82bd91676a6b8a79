"""Rows of one site in the model of a node: what its engines cost for the lanes that use it.

The cost of a site is that of prefill by steps of flow, of relay and of decode, and an excess. All
are bounded from below by look-ups and by what the node has learned.
"""

from __future__ import annotations

import numpy as np

from pdd_plan.fleet.problem import BoolArray, FloatArray, Role
from pdd_plan.fleet.purchase import ChipKey
from pdd_plan.optimizer.learned import Learned
from pdd_plan.optimizer.mixes import SLACK, Front
from pdd_plan.optimizer.node import Node
from pdd_plan.optimizer.program import Program, Terms, Variable
from pdd_plan.optimizer.states import IntArray


class SiteModel:
    """Variables of a site and the terms of its cost.

    Parameters
    ----------
    program : Program
        Model that the rows are added to.
    node : Node
        The node.
    site : str
        Site.
    states : list
        Variables of all lane states.
    learned : Learned
        What the node has learned so far.
    """

    def __init__(
        self,
        program: Program,
        node: Node,
        site: str,
        states: list[Variable],
        learned: Learned,
    ) -> None:
        self.program = program
        self.node = node
        self.site = site
        self.open = states
        self.learned = learned
        self.excess = program.variable()
        self.usd: Terms = [(self.excess, 1.0)]
        self.base_usd = node.costs.engines.pricing.usd_by_site.get(site, 0.0)
        if self.base_usd > 0.0:
            self.usd.append((program.constant(self.base_usd), 1.0))
        self.steps: list[Variable] = []
        self.beyond: dict[tuple[Role, float], Variable] = {}
        self.work: dict[Role, Terms] = {}

    # --- prefill and relay ---------------------------------------------------------------------

    def send(self, possible: BoolArray) -> None:
        """Add prefill and relay for the lanes that start at the site."""
        node, costs = self.node, self.node.costs
        at = np.flatnonzero(node.source == self.site)
        self.steps = self._steps_of(at, possible)
        self.work["prefill"] = [(z, costs.tables.step_per_s) for z in self.steps]
        prefill = costs.prefill[self.site]
        useful = np.isfinite(prefill[1:])
        gains = np.diff(np.where(np.isfinite(prefill), prefill, 0.0))
        for z, gain, possible_step in zip(self.steps, gains, useful, strict=True):
            if possible_step:
                self.usd.append((z, float(gain)))
            else:
                z.upBound = 0.0
        relay = self.program.variable()
        self.usd.append((relay, 1.0))
        work = node.states.relay_erlang
        self._slots("relay", relay, at, costs.relay[self.site], work)
        for with_relay in (False, True):
            gain = [self.learned.path_gain(int(k), with_relay=with_relay) for k in at]
            cost = [(self.excess, 1.0), (relay, 1.0)] if with_relay else [(self.excess, 1.0)]
            self._by_lane(cost, at, np.where(np.isinf(gain), 0.0, gain))
        for row in self.learned.rows:
            if node.source[row.state] == self.site:
                terms = [(self.excess, 1.0), (self.open[row.state], -row.gain)]
                terms += [(relay, 1.0)] if row.with_relay else []
                shift = np.diff(row.shift)
                terms += [(z, -float(by)) for z, by in zip(self.steps, shift, strict=True)]
                self.program.at_least(terms, float(row.shift[0]))

    def _steps_of(self, at: IntArray, possible: BoolArray) -> list[Variable]:
        """Variables that are 1 where lanes carry 1, 2, ... steps or more together."""
        program, states = self.program, self.node.states
        count = self.node.problem.load_steps
        steps = [program.variable(1.0, whole=True) for _ in range(count)]
        carried = [(self.open[k], -float(states.steps[k])) for k in at]
        program.equal([(z, 1.0) for z in steps] + carried, 0.0)
        for number in range(count + 1):
            upper = steps[number - 1] if number else None
            lower = steps[number] if number < count else None
            self._order(upper, lower, equal=not possible[number])
        for lane in np.unique(states.lane[at]):
            here = states.by_lane[int(lane)]
            for least in np.unique(states.steps[here]):
                more = here[states.steps[here] >= least]
                program.at_least(
                    [(steps[least - 1], 1.0), *((self.open[k], -1.0) for k in more)], 0.0
                )
        return steps

    def _order(self, upper: Variable | None, lower: Variable | None, *, equal: bool) -> None:
        """Steps come in order; those of an impossible number come and go together."""
        if upper is None and lower is not None and equal:
            lower.lowBound = 1.0
        elif lower is None and upper is not None and equal:
            upper.upBound = 0.0
        elif upper is not None and lower is not None:
            row = [(upper, 1.0), (lower, -1.0)]
            if equal:
                self.program.equal(row, 0.0)
            else:
                self.program.at_least(row, 0.0)

    # --- decode --------------------------------------------------------------------------------

    def take(self, possible: BoolArray, least_usd: FloatArray) -> None:
        """Add decode for the lanes that end at the site.

        Parameters
        ----------
        least_usd : ndarray, shape (steps + 1,)
            Cost of the least work that so many steps bring; infinite where none can.
        """
        at = np.flatnonzero(self.node.target == self.site)
        steps = self._steps_of(at, possible)
        cost = self.program.variable()
        self.usd.append((cost, 1.0))
        front, work = self.node.costs.decode[self.site], self.node.states.decode_work_per_s
        self._slots("decode", cost, at, front, work)
        useful = np.where(np.isfinite(least_usd), least_usd, 0.0)
        gains = np.diff(np.maximum.accumulate(useful))
        terms = [(z, -float(gain)) for z, gain in zip(steps, gains, strict=True)]
        self.program.at_least([(cost, 1.0), *terms], 0.0)

    # --- slots ---------------------------------------------------------------------------------

    def _slots(
        self, role: Role, cost: Variable, at: IntArray, front: Front, work: FloatArray
    ) -> None:
        """Cost of relay or decode: hull of all mixes, each lane by itself, and what is learned."""
        program, steps = self.program, self.node.states.steps[at]
        within = front.within(work[at], steps, self.node.problem.load_steps)
        used = [(self.open[k], -float(w)) for k, w in zip(at, within, strict=True) if w > 0.0]
        if not used:
            return
        self.work[role] = [(x, -amount) for x, amount in used]
        usd = front.cost(within)
        for state in at[np.isinf(usd)]:
            self.open[state].upBound = 0.0
        self._by_lane([(cost, 1.0)], at, np.where(np.isinf(usd), 0.0, usd))
        for slope, height in front.hull:
            program.at_least([(cost, 1.0), *((x, slope * w) for x, w in used)], height)
        if front.whole:
            program.at_least(used, -front.most * (1.0 + SLACK))
        if not program.whole:
            return
        for below in sorted(self.learned.thresholds.get((role, self.site), ())):
            self.beyond[role, below] = beyond = program.variable(1.0, whole=True)
            usd_beyond = front.after(below)
            if np.isinf(usd_beyond):
                beyond.upBound, usd_beyond = 0.0, 0.0
            room = max(front.most - below, 0.0)
            program.at_least([(beyond, room), *used], -below * (1.0 + SLACK))
            program.at_least([(cost, 1.0), (beyond, -usd_beyond)], 0.0)

    def _by_lane(self, cost: Terms, at: IntArray, usd: FloatArray) -> None:
        """The cost is at least that of the state of each lane."""
        lanes = self.node.states.lane[at]
        for lane in np.unique(lanes[usd > 0.0]):
            here = np.flatnonzero((lanes == lane) & (usd > 0.0))
            terms = [(self.open[at[k]], -float(usd[k])) for k in here]
            self.program.at_least([*cost, *terms], 0.0)

    # --- roles together ------------------------------------------------------------------------

    def together(self) -> None:
        """Add what is known of the roles of the site, and of its lanes, together."""
        self._share_chips()
        if self.program.whole:
            for joint in self.learned.joint_rows:
                if joint.site == self.site:
                    marks = [self.beyond[mark] for mark in joint.beyond]
                    if joint.steps:
                        marks.append(self.steps[joint.steps - 1])
                    self._all_of(marks, joint.usd_per_hour)
        for row in self.learned.site_rows:
            if row.site == self.site:
                self._all_of([self.open[state] for state in row.states], row.usd_per_hour)

    def _share_chips(self) -> None:
        """Whole engines, each at the best work it can do, within what the site has for them.

        Only where roles do not add up; else their costs by themselves say as much.
        """
        costs, program, problem = self.node.costs, self.program, self.node.problem
        stairs = {role: costs.stairs(self.site, role) for role in self.work}
        if not self.node.may_compete(self.site, [one for part in stairs.values() for one in part]):
            return
        terms = {key: one for key, one in problem.terms.items() if key[0] == self.site}
        chips: dict[ChipKey, Terms] = {key: [] for key in terms}
        usd: Terms = []
        watts: Terms = []
        room: Terms = []
        for role, part in stairs.items():
            done: Terms = []
            for one in part:
                engines = program.variable(float(one.counts[-1]), whole=True)
                done.append((engines, float((one.capacity[1:] / one.counts[1:]).max())))
                chips.setdefault(one.stock, []).append((engines, -one.chips))
                watts.append((engines, -one.watts))
                if one.stock not in terms:
                    usd.append((engines, -float(one.usd_per_hour[1] / one.counts[1])))
                    room.append((engines, -one.chips))
            needed = [(x, -amount * (1.0 - SLACK)) for x, amount in self.work[role]]
            program.at_least(done + needed, 0.0)
        for key, used in chips.items():
            if key not in terms:
                program.at_least(used, -problem.stock[key])
                continue
            nodes = program.variable(problem.stock[key] // terms[key].node, whole=True)
            nodes.lowBound = terms[key].kept // terms[key].node
            program.at_least([(nodes, terms[key].node), *used], 0.0)
            usd.append((nodes, -terms[key].node * terms[key].usd_per_chip_hour))
            room.append((nodes, -terms[key].node))
        if self.site in problem.site_watts:
            program.at_least(watts, -problem.site_watts[self.site] * (1.0 + SLACK))
        if self.site in problem.site_chips:
            program.at_least(room, -problem.site_chips[self.site])
        program.at_least(self.usd + usd, 0.0)

    def _all_of(self, marks: list[Variable], usd: float) -> None:
        """The site costs at least a number where some variables are all 1."""
        if np.isinf(usd):
            self.program.not_all(marks)
            return
        terms: dict[Variable, float] = dict(self.usd)
        for mark in marks:
            terms[mark] = terms.get(mark, 0.0) - usd
        self.program.at_least(list(terms.items()), usd * (1.0 - len(marks)))
