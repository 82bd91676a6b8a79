"""Candidates with all that is known of them: evaluation, goodput and proof."""

from __future__ import annotations

from dataclasses import dataclass

from pdd_plan.fleet.evaluate import Evaluation, evaluate
from pdd_plan.fleet.goodput import GoodputResult, goodput
from pdd_plan.fleet.paths import PathModel
from pdd_plan.fleet.problem import Candidate, Problem
from pdd_plan.optimizer.search import Certificate, SearchResult
from pdd_plan.studies.tie_break import TieBreak


@dataclass(frozen=True)
class ObjectiveProof:
    """What is maximized, as reached and as proven, for the certificate of a plan.

    Attributes
    ----------
    objective : {"goodput", "bcr"}
        What is maximized.
    value, bound : float
        Goodput [requests/s], or requests per unit of cost.
    text : str
        What the proof covers, in words.
    """

    objective: str
    value: float
    bound: float
    text: str


@dataclass(frozen=True)
class Scored:
    """A candidate with its evaluation, goodput and certificate.

    Where the load itself was planned, ``problem`` is the problem at that load, and ``proof`` says
    what was maximized; ``tie`` says how the plan was chosen among those of its cost, and
    ``unproven`` why it may not be the best.
    """

    name: str
    status: str
    candidate: Candidate | None
    evaluation: Evaluation | None
    goodput: GoodputResult | None
    certificate: Certificate | None
    reason: str = ""
    problem: Problem | None = None
    proof: ObjectiveProof | None = None
    tie: TieBreak | None = None
    unproven: str = "the time limit ended the search"


def scored_plan(name: str, problem: Problem, model: PathModel, result: SearchResult) -> Scored:
    """What a search found, with its evaluation and goodput."""
    if result.candidate is None:
        return Scored(name, "infeasible", None, None, None, result.certificate)
    return Scored(
        name,
        result.status,
        result.candidate,
        evaluate(problem, result.candidate, model),
        goodput(problem, result.candidate, model),
        result.certificate,
    )
