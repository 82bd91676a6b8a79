"""What the commands that plan have in common: options, progress, the command to reproduce."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pdd_plan.cli.options import Solver

if TYPE_CHECKING:
    from pdd_plan.fleet.shared_plan import AnyPlan
    from pdd_plan.scenario import Question
    from pdd_plan.studies.plan_options import PlanOptions


@dataclass(frozen=True)
class Settings:
    """Options of the planner as given on the command line; None leaves them to the scenario.

    Attributes
    ----------
    time_limit_s : float or None
        For one plan [s].
    solver : Solver or None
        MILP solver.
    seed : int
        Of all random choices.
    jobs : int
        Processes to use.
    """

    time_limit_s: float | None = None
    solver: Solver | None = None
    seed: int = 0
    jobs: int = 1

    def words(self) -> dict[str, Any]:
        """Return the options that decide a plan, as on a command line."""
        return {
            "time_limit": None if self.time_limit_s is None else f"{self.time_limit_s:g}",
            "solver": None if self.solver is None else self.solver.value,
            "seed": self.seed or None,
        }

    def options(self, scenario: Question, command: str) -> PlanOptions:
        """Return the planner's options for a scenario.

        Parameters
        ----------
        scenario : Scenario or SharedScenario
            Its section ``optimizer`` fills what is not given.
        command : str
            The command line that plans it again.
        """
        from pdd_plan.studies.plan_options import PlanOptions

        own = scenario.optimizer
        return PlanOptions(
            time_limit_s=own.time_limit_s if self.time_limit_s is None else self.time_limit_s,
            solver=own.solver if self.solver is None else self.solver.value,
            seed=self.seed,
            jobs=self.jobs,
            command=command,
        )


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[..., None] | None]:
    """Show on one line of the terminal what is being done, while it is done.

    Parameters
    ----------
    quiet : bool
        Show nothing. Nothing is shown either where stderr is no terminal.

    Yields
    ------
    callable or None
        To be told in words, and with a share from 0 to 1 where one is known.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return

    def show(*said: object) -> None:
        text = " ".join(f"{part:.0%}" if isinstance(part, float) else str(part) for part in said)
        sys.stderr.write(f"\r\x1b[2K{text[:76]}")
        sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()


def given_or_planned(
    question: Question, plan: str | None, settings: Settings, quiet: bool
) -> AnyPlan:
    """Return the plan of a file, or else the best plan of the scenario.

    Parameters
    ----------
    question : Scenario or SharedScenario
        As loaded.
    plan : str or None
        File with a saved plan, of one service or of several as the scenario.
    settings : Settings
        How to plan where no file is given.
    quiet : bool
        Show no progress.

    Raises
    ------
    InputError
        If the file holds no plan of this kind, or the scenario cannot be planned.
    """
    from pdd_plan.cli.files import existing_file
    from pdd_plan.fleet.plan import load_plan
    from pdd_plan.fleet.shared_plan import load_shared_plan
    from pdd_plan.scenario import SharedScenario

    if plan is not None:
        file = existing_file(plan, "plan")
        return load_shared_plan(file) if isinstance(question, SharedScenario) else load_plan(file)

    from pdd_plan.studies.services import plan_question

    with progress(quiet) as show:
        return plan_question(question, replace(settings.options(question, ""), progress=show))
