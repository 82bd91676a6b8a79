"""Questions whose next plan depends on the last: their plans are made together, round by round."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar

from pdd_plan.studies.sweep_outcome import Outcome
from pdd_plan.studies.sweep_points import Maker
from pdd_plan.studies.sweep_run import Runner

T = TypeVar("T")

Asks = Sequence[tuple[str, ...]]
"""Scenarios to plan, each as overrides ``path=value``."""
Question = Generator[Asks, tuple[Outcome, ...], T]
"""Yields what it wants planned, is sent what came of it, and returns its answer."""


def answer_all(questions: Sequence[Question[T]], maker: Maker, runner: Runner) -> tuple[T, ...]:
    """Answer questions side by side, so that all workers have something to do.

    Parameters
    ----------
    questions : sequence of generators
        Each yields overrides and is sent an outcome for each.
    maker : Maker
        Makes a point of the scenario from overrides.
    runner : Runner
        Plans the points of all questions of a round together; equal points are planned once.

    Returns
    -------
    tuple
        The answers, in the order of the questions.
    """
    answers: dict[int, T] = {}
    waiting: dict[int, Asks] = {}
    sent: dict[int, tuple[Outcome, ...] | None] = dict.fromkeys(range(len(questions)))
    while sent:
        for number, outcomes in sent.items():
            try:
                question = questions[number]
                waiting[number] = next(question) if outcomes is None else question.send(outcomes)
            except StopIteration as end:
                answers[number] = end.value
        asked = [(number, own) for number, asks in waiting.items() for own in asks]
        done = runner.run([maker.point((index,), own) for index, (_, own) in enumerate(asked)])
        sent = {
            number: tuple(
                outcome for (asker, _), outcome in zip(asked, done, strict=True) if asker == number
            )
            for number in waiting
        }
        waiting = {}
    return tuple(answers[number] for number in range(len(questions)))
