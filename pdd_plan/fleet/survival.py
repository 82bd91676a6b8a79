"""Whether a fleet keeps its limits with any one of several things lost, by the planning rule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from pdd_plan.fleet.outages import Outage, after_outage, usable_lanes
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate
from pdd_plan.fleet.rerouting import AT_EASE, Strain, move_shares, share_out, strain, with_flows

MOST_HINTS = 6
"""Settings of the router that are remembered for each loss."""


class Survival:
    """What must hold: everything there, spare engines out, and each site or line lost.

    Parameters
    ----------
    model : PathModel
        Rule with nothing lost.
    left : PathModel
        Rule with something lost, as of `outage_model`.
    spares : int
        Engines that every pool in use can do without, all pools at once, without re-routing.
    outages : tuple of Outage
        Sites and lines that may be lost, one at a time, with requests re-routed.
    """

    def __init__(
        self, model: PathModel, left: PathModel, spares: int, outages: tuple[Outage, ...]
    ) -> None:
        self.model = model
        self.left = left
        self.spares = spares
        self.outages = list(outages)
        self.evaluations = 0
        self._hints: dict[Outage | None, list[Candidate]] = defaultdict(list)

    def suggest(self, outage: Outage | None, setting: Candidate) -> None:
        """Remember a setting of the router that did, as one to try first from now on."""
        hints = self._hints[outage]
        self._hints[outage] = [setting, *(h for h in hints if not same_setting(h, setting))]
        del self._hints[outage][MOST_HINTS:]

    def holds(self, fleet: Candidate) -> Candidate | None:
        """The fleet with shares and threshold at which it survives everything; None if it fails."""
        settled = self.settled(fleet)
        if settled is None:
            return None
        for place, outage in enumerate(self.outages):
            if self.rerouted(settled, outage) is None:
                # What failed will fail again: it is asked first next time.
                self.outages.insert(0, self.outages.pop(place))
                return None
        return settled

    def failing(self, fleet: Candidate) -> tuple[Outage | None, ...]:
        """What a fleet fails at: losses, or None for limits with nothing lost."""
        settled = self.settled(fleet)
        if settled is None:
            lanes = usable_lanes(self.model.problem, fleet)
            usual = self._first(None, self._usual_strain, fleet, lanes)
            return (None,) if usual is None else (spare_outage(self.spares),)
        return tuple(one for one in self.outages if self.rerouted(settled, one) is None)

    def settled(self, fleet: Candidate) -> Candidate | None:
        """The fleet with a setting at which nothing is lost and spare engines may be out."""
        lanes = usable_lanes(self.model.problem, fleet)
        return self._first(None, self.whole_strain, fleet, lanes)

    def rerouted(self, whole: Candidate, outage: Outage) -> Candidate | None:
        """What is left after a loss, with a setting that keeps the rule."""
        left = after_outage(self.left.problem, whole, outage)
        lanes = usable_lanes(self.left.problem, left, outage)
        return self._first(outage, self._left_strain, left, lanes)

    def whole_strain(self, candidate: Candidate) -> Strain:
        """Strain with nothing lost, or with the spare engines out, whichever is worse."""
        self.evaluations += 1
        found = strain(self.model, candidate)
        if not self.spares:
            return found
        fewer = replace(
            candidate, engines=tuple(max(n - self.spares, 0) for n in candidate.engines)
        )
        waits = dict.fromkeys((candidate.slot_wait, *self.left.problem.slot_waits))
        return max(found, min(strain(self.left, replace(fewer, slot_wait=w)) for w in waits))

    def _usual_strain(self, candidate: Candidate) -> Strain:
        self.evaluations += 1
        return strain(self.model, candidate)

    def _left_strain(self, candidate: Candidate) -> Strain:
        self.evaluations += 1
        return strain(self.left, candidate)

    def _first(
        self,
        outage: Outage | None,
        strain_of: Callable[[Candidate], Strain],
        fleet: Candidate,
        lanes: Sequence[int],
    ) -> Candidate | None:
        """The first setting without strain: known ones, then the best of them with shares moved."""
        if not lanes:
            return None
        tried: list[tuple[Strain, Candidate]] = []
        for setting in self._settings(outage, fleet, lanes):
            tried.append((strain_of(setting), setting))
            if tried[-1][0] == AT_EASE:
                break
        best = min(tried, key=lambda pair: pair[0])
        if best[0] != AT_EASE and len(lanes) > 1:
            best = move_shares(self.model.problem, strain_of, best[1], lanes)
        if best[0] != AT_EASE:
            return None
        self.suggest(outage, best[1])
        return best[1]

    def _settings(
        self, outage: Outage | None, fleet: Candidate, lanes: Sequence[int]
    ) -> Iterator[Candidate]:
        """The fleet's own setting on the lanes that are left, and those remembered."""
        problem = self.model.problem
        yield share_out(problem, fleet, lanes)
        for hint in list(self._hints[outage]):
            flows = [flow if i in lanes else 0.0 for i, flow in enumerate(hint.flows_per_s)]
            known = replace(fleet, threshold_index=hint.threshold_index, slot_wait=hint.slot_wait)
            yield share_out(problem, with_flows(problem, known, flows), lanes)


def spare_outage(spares: int) -> Outage:
    """So many engines of every pool at once, as ``engines:1``."""
    return Outage("engines", str(spares))


def same_setting(one: Candidate, other: Candidate) -> bool:
    """Whether a router is set the same way in two candidates."""
    return (one.threshold_index, one.slot_wait, one.flows_per_s) == (
        other.threshold_index,
        other.slot_wait,
        other.flows_per_s,
    )
