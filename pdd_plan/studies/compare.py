"""Plans side by side: scenarios, changes of one scenario, and plans that were saved."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pdd_plan.errors import InputError, Issue
from pdd_plan.fleet.plan import Plan
from pdd_plan.fleet.shared_plan import AnyPlan, SharedPlan, load_any_plan
from pdd_plan.studies.left_out import command_as_written, warned

if TYPE_CHECKING:
    from pdd_plan.scenario import Question
    from pdd_plan.studies.plan_options import PlanOptions

OptionsOf = Callable[["Question", str], "PlanOptions"]

_CHANGE = re.compile(r"\s*[A-Za-z_][\w.\-\[\]]*\s*=")
"""How a change begins: the dotted path of a key and an equals sign."""

AS_WRITTEN = "as written"
"""Name of a scenario without a change, beside its what-ifs."""


@dataclass(frozen=True)
class WhatIf:
    """Changes of a scenario under a name.

    Attributes
    ----------
    name : str
        Heading of its column.
    changes : tuple of str
        ``path=value`` each, as for an override of a scenario.
    """

    name: str
    changes: tuple[str, ...]


@dataclass(frozen=True)
class Alternative:
    """One column of a comparison: a scenario to plan, or a plan to load.

    Attributes
    ----------
    name : str
        Heading of the column.
    file : Path
        Scenario, or plan where `saved`.
    changes : tuple of str
        Overrides of the scenario.
    saved : bool
        The file is a plan.
    command : str
        The command that plans this alternative alone; what is left out of the scenario is added.
    """

    name: str
    file: Path
    changes: tuple[str, ...] = ()
    saved: bool = False
    command: str = ""


def parse_what_if(text: str) -> WhatIf:
    """Read ``"name: path=value,path=value"``.

    A comma ends a change only where another ``path=`` follows and no bracket or quote is open, so
    that values may be lists and mappings: ``"H20: sites.b.chips={h20: {available: 8}}"``.

    Parameters
    ----------
    text : str
        As typed; the name may be left out and is then the changes themselves.

    Returns
    -------
    WhatIf

    Raises
    ------
    InputError
        If the text holds no ``path=value``, or an empty name.
    """
    title, colon, _ = text.partition("=")[0].rpartition(":")
    name = title.strip() if colon else text.strip()
    body = text[len(title) + 1 :] if colon else text
    changes = tuple(change.strip() for change in _split(body))
    if not name or not all(_CHANGE.match(change) for change in changes):
        raise InputError(
            Issue(
                f'what-if "{text}" is not "name: path=value,path=value"',
                help='write for example "cheaper H20: sites.shanghai.chips.h20.price=1.5 USD/h"',
            )
        )
    return WhatIf(name, changes)


def _split(text: str) -> list[str]:
    """Split at commas that are outside brackets and quotes and before another ``path=``."""
    parts, start, depth, quote = [], 0, 0, ""
    for index, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{(":
            depth += 1
        elif character in ")}]":
            depth -= 1
        elif character == "," and depth <= 0 and _CHANGE.match(text, index + 1):
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]


def compare(
    alternatives: Sequence[Alternative],
    options_of: OptionsOf,
    jobs: int = 1,
    progress: Callable[..., None] | None = None,
) -> tuple[tuple[str, AnyPlan], ...]:
    """Plan or load every alternative.

    Parameters
    ----------
    alternatives : sequence of Alternative
        At least two, with names of their own.
    options_of : callable
        Gives the options of planning a scenario with a command line.
    jobs : int
        Processes to plan in.
    progress : callable, optional
        Told in words what is being done.

    Returns
    -------
    tuple of (str, Plan or SharedPlan)
        In the order given. An infeasible alternative is an answer too.

    Raises
    ------
    InputError
        With all issues of all inputs, before anything is planned.
    SolverError
        If a solver fails.
    """
    _check_names(alternatives)
    inputs = _load(alternatives)
    tasks = [
        (index, item, options_of(item, command_as_written(alternatives[index].command, item)))
        for index, item in enumerate(inputs)
        if not isinstance(item, Plan | SharedPlan)
    ]
    plans = {
        index: item for index, item in enumerate(inputs) if isinstance(item, Plan | SharedPlan)
    }
    if jobs > 1 and len(tasks) > 1:
        _, scenarios, options = zip(*tasks, strict=True)
        with ProcessPoolExecutor(min(jobs, len(tasks))) as pool:
            made = list(pool.map(_attempt, scenarios, options))
        issues = dict.fromkeys(
            x for part in made if not isinstance(part, Plan | SharedPlan) for x in part
        )
        if issues:
            raise InputError(issues)
        found = [part for part in made if isinstance(part, Plan | SharedPlan)]
        plans |= {index: plan for (index, _, _), plan in zip(tasks, found, strict=True)}
    else:
        for index, scenario, its_options in tasks:
            show = progress and partial(progress, f"{alternatives[index].name}:")
            plans[index] = _plan(scenario, replace(its_options, progress=show))
    return tuple((item.name, plans[index]) for index, item in enumerate(alternatives))


def _plan(question: Question, options: PlanOptions) -> AnyPlan:
    from pdd_plan.studies.services import plan_question

    return warned(plan_question(question, options), question)


def _attempt(question: Question, options: PlanOptions) -> AnyPlan | tuple[Issue, ...]:
    """Plan in a process of its own; issues are handed over whole, which a pickled error is not."""
    try:
        return _plan(question, options)
    except InputError as error:
        return error.issues


def _load(alternatives: Sequence[Alternative]) -> list[Question | AnyPlan]:
    """Load all files; raise the issues of all of them together, each once."""
    from pdd_plan.scenario import load_question

    found: list[Question | AnyPlan] = []
    issues: dict[Issue, None] = {}
    for item in alternatives:
        try:
            if item.saved:
                found.append(load_any_plan(item.file))
            else:
                found.append(load_question(item.file, item.changes))
        except InputError as error:
            issues |= dict.fromkeys(error.issues)
    if issues:
        raise InputError(issues)
    return found


def _check_names(alternatives: Sequence[Alternative]) -> None:
    names = [item.name for item in alternatives]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            Issue(
                f'two alternatives have the name "{twice}"',
                help="name every file once, and give every what-if a name of its own",
            )
        )
    if len(names) < 2:
        raise InputError(
            Issue(
                "a comparison needs two alternatives",
                help="name a second scenario or plan, or add --what-if 'name: path=value'",
            )
        )
