"""The MILP of one node in PuLP: a binary for every state of a lane, costs of sites by steps.

A plan is a state of every open lane; each site then takes its cheapest engines. The model holds
costs of sites that are never too high, and is made anew when more has been learned about them.
Variables are named by index and never read back by name.
"""

from __future__ import annotations

import numpy as np

from pdd_plan.optimizer.bounds import NodeBounds
from pdd_plan.optimizer.learned import Learned
from pdd_plan.optimizer.node import Node
from pdd_plan.optimizer.program import Program, Variable, reduced_cost, value
from pdd_plan.optimizer.repair import whole_states
from pdd_plan.optimizer.site_model import SiteModel
from pdd_plan.optimizer.solver import Outcome, SolverName

ROUNDS = 12
"""Most rounds of linear relaxation and costing its paths."""

OPEN = 1e-3
"""Share of a lane state in a linear relaxation from which its path is costed."""


class NodeModel:
    """The PuLP model of a node, and what it has learned.

    Parameters
    ----------
    node : Node
        The node; its states must not change any more.
    bounds : NodeBounds
        Bounds of the node.
    usd_per_hour, floor : float
        Cost of a known plan: only cheaper ones count; and bound of the node with instant transfers.
    """

    def __init__(self, node: Node, bounds: NodeBounds, usd_per_hour: float, floor: float) -> None:
        self.node = node
        self.problem = node.problem
        self.states = node.states
        sent = bounds.sent() < usd_per_hour
        taken = bounds.by_target.with_group_steps() < usd_per_hour
        self.sent = dict(zip(self.problem.prefill_sites, sent, strict=True))
        self.taken = dict(zip(self.problem.decode_sites, taken, strict=True))
        self.decode_usd = dict(
            zip(self.problem.decode_sites, bounds.by_target.group_usd, strict=True)
        )
        self.learned = Learned(node, self.sent, usd_per_hour - floor)
        self.closed = np.zeros(self.states.size, bool)
        self.reduced = np.zeros(self.states.size)
        self.relaxed = False
        self._rounds = 0
        self.open: list[Variable] = []
        self.sites: list[SiteModel] = []

    def _build(self, *, whole: bool) -> Program:
        """Make the model anew from what has been learned so far."""
        program, node = Program(whole=whole), self.node
        count = self.states.size
        self.closed |= [np.isinf(self.learned.path_gain(k, with_relay=False)) for k in range(count)]
        self.open = [
            program.variable(0.0 if closed else 1.0, whole=True) for closed in self.closed.tolist()
        ]
        for at in self.states.by_lane.values():
            program.at_most_one(self.open[k] for k in at)
        steps = list(zip(self.open, self.states.steps.tolist(), strict=True))
        program.equal(steps, self.problem.load_steps)
        sites = dict.fromkeys((*self.problem.prefill_sites, *self.problem.decode_sites))
        self.sites = [SiteModel(program, node, site, self.open, self.learned) for site in sites]
        for one in self.sites:
            if one.site in self.sent:
                one.send(self.sent[one.site])
            if one.site in self.taken:
                one.take(self.taken[one.site], self.decode_usd[one.site])
            one.together()
        lines = list(zip(self.open, self.states.usd_per_hour.tolist(), strict=True))
        usd = lines + [term for one in self.sites for term in one.usd]
        elsewhere = node.costs.engines.pricing.usd_per_hour - sum(o.base_usd for o in self.sites)
        program.minimize([*usd, (program.constant(max(elsewhere, 0.0)), 1.0)])
        return program

    # --- solving -------------------------------------------------------------------------------

    def relax(
        self, solver: SolverName, time_limit_s: float, known_bound: float
    ) -> tuple[float, list[int]]:
        """Solve the linear relaxation once, and cost the paths that it uses with their waits.

        The model is `relaxed` when that tells nothing new.

        Returns
        -------
        bound : float
            Lower bound on the cost of the node.
        states : list of int
            States near the solution that carry the demand; empty where there are none.
        """
        # Reduced costs go with the bound of this relaxation, not with one known before.
        outcome = self._build(whole=False).solve(solver, time_limit_s, 0.0)
        self._rounds += 1
        bound = max(known_bound, outcome.bound)
        if not (outcome.solved and outcome.feasible):
            self.relaxed = True
            return bound, []
        values = np.array([value(x) for x in self.open])
        reduced = np.array([reduced_cost(x) for x in self.open])
        self.reduced = np.maximum(self.reduced, outcome.bound + reduced)
        learned = self.learned.learn_paths(np.flatnonzero(values > OPEN).tolist())
        self.relaxed = not learned or self._rounds == ROUNDS
        return bound, whole_states(self.states, values, self.problem.load_steps)

    def close(self, usd_per_hour: float) -> None:
        """Close lane states that cost more than a known plan in the linear relaxation.

        A state with reduced cost d is not open in any solution below bound + d.
        """
        self.closed |= self.reduced > usd_per_hour * (1.0 + 1e-9)

    def solve(self, solver: SolverName, time_limit_s: float, known_bound: float) -> Outcome:
        """Solve the model as learned so far; see :func:`pdd_plan.optimizer.solver.solve`."""
        return self._build(whole=True).solve(solver, time_limit_s, known_bound)

    def chosen(self) -> list[int]:
        """Open states of the solution that the variables hold."""
        return [k for k, x in enumerate(self.open) if value(x) > 0.5]

    def learn(self) -> bool:
        """Learn where the solution costs more than the model says; False where it does not."""
        usd = {
            one.site: sum(weight * value(variable) for variable, weight in one.usd)
            for one in self.sites
        }
        return self.learned.learn(self.chosen(), usd)
