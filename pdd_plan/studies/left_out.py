"""What studies that plan many times leave out of a scenario, so that they can say so."""

from __future__ import annotations

from pdd_plan.fleet.shared_plan import AnyPlan
from pdd_plan.scenario import Question, Scenario

UNCERTAINTY = (
    "the section uncertainty is left out here: every value is taken as written, as with "
    "--set uncertainty=null; optimize and evaluate tell the risk"
)


def left_out(question: Question | None) -> tuple[str, ...]:
    """Return warnings of what a scenario says and a study of plans as written passes over.

    Parameters
    ----------
    question : Scenario, SharedScenario or None
        As loaded; None where no scenario could be.
    """
    uncertain = isinstance(question, Scenario) and question.uncertainty is not None
    return (UNCERTAINTY,) if uncertain else ()


def command_as_written(command: str, question: Question) -> str:
    """Return the command line that gives a plan for the values as written again."""
    return f"{command} --set uncertainty=null" if command and left_out(question) else command


def warned(plan: AnyPlan, question: Question) -> AnyPlan:
    """Return a plan for the values as written with the warnings of `left_out`."""
    more = left_out(question)
    return plan.model_copy(update={"warnings": (*plan.warnings, *more)}) if more else plan
