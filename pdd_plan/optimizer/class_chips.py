"""Chips of several kinds for requests of several sizes: which classes go to which kind.

Each kind of chip serves requests of a class at a measured rate; a chip that works for several
classes shares its time over them. The cheapest counts are a small integer program: classes, cut
into equal slices or freely divisible, are packed into chips [1]_.

References
----------
.. [1] T. Griggs et al., "Mélange: Cost Efficient Large Language Model Serving by Exploiting GPU
   Heterogeneity", arXiv:2404.14527 (2024); github.com/tyler-griggs/melange-release.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulp

from pdd_plan.errors import InputError, Issue, SolverError
from pdd_plan.optimizer.solver import SolverName, solve


@dataclass(frozen=True)
class ChipKind:
    """A kind of chip, or of engine, with what it was measured to serve.

    Attributes
    ----------
    name : str
        Name.
    usd_per_hour : float
        Price of one [currency/h].
    requests_per_s : mapping of str to float
        Requests of each class that one serves alone [1/s], within its limits on latency; a class
        that is left out, or at 0, cannot be served.
    available : int or None
        Most that may be used; None for no limit.
    """

    name: str
    usd_per_hour: float
    requests_per_s: Mapping[str, float]
    available: int | None = None


@dataclass(frozen=True)
class ClassAssignment:
    """Cheapest chips, and which share of each class goes to which kind.

    Attributes
    ----------
    chips : dict of kind to int
        How many of each.
    usd_per_hour : float
        Their price [currency/h].
    shares : dict of class to dict of kind to float
        Share of the class's requests on each kind; sum to 1.
    utilization : dict of kind to float
        Busy time over time, of kinds in use.
    lower_bound_usd_per_hour : float
        Proven: no assignment is cheaper.
    """

    chips: dict[str, int]
    usd_per_hour: float
    shares: dict[str, dict[str, float]]
    utilization: dict[str, float]
    lower_bound_usd_per_hour: float


def assign_classes(
    rates_per_s: Mapping[str, float],
    kinds: Sequence[ChipKind],
    *,
    slices: int | None = None,
    most_utilization: float = 1.0,
    solver: SolverName = "highs",
    time_limit_s: float = 60.0,
) -> ClassAssignment | None:
    """Choose the cheapest chips that serve every class, and which classes they serve.

    Parameters
    ----------
    rates_per_s : mapping of str to float
        Arrivals of each class [requests/s].
    kinds : sequence of ChipKind
        Chips on offer.
    slices : int or None
        Each class is cut into so many equal slices, and a slice goes to one kind whole; None: a
        class may be divided in any way.
    most_utilization : float
        Busy time over time that a chip may reach, above 0 and at most 1.
    solver : {"highs", "cbc"}
        MILP solver.
    time_limit_s : float
        Time limit [s].

    Returns
    -------
    ClassAssignment or None
        None where the chips available cannot serve everything.

    Raises
    ------
    InputError
        If a number is out of range, or no kind serves a class.
    SolverError
        If the solver fails, or does not finish in time.
    """
    _check(rates_per_s, kinds, slices, most_utilization)
    model = pulp.LpProblem("class_chips", pulp.LpMinimize)
    counts = [
        pulp.LpVariable(f"n{k}", 0, kind.available, cat="Integer") for k, kind in enumerate(kinds)
    ]
    model += pulp.lpSum(kind.usd_per_hour * n for kind, n in zip(kinds, counts, strict=True))
    parts: dict[tuple[str, int], pulp.LpVariable] = {}
    whole = float(slices or 1)
    for c, (name, rate) in enumerate(rates_per_s.items()):
        able = [k for k, kind in enumerate(kinds) if kind.requests_per_s.get(name, 0.0) > 0.0]
        for k in able if rate > 0.0 else ():
            integer = "Continuous" if slices is None else "Integer"
            parts[name, k] = pulp.LpVariable(f"x{c}_{k}", 0, whole, cat=integer)
        if rate > 0.0:
            model += pulp.lpSum(parts[name, k] for k in able) == whole
    for k, kind in enumerate(kinds):
        busy = [
            rates_per_s[name] / kind.requests_per_s[name] / whole * part
            for (name, on), part in parts.items()
            if on == k
        ]
        model += pulp.lpSum(busy) <= most_utilization * counts[k]
    outcome = solve(model, solver, time_limit_s, 0.0)
    if outcome.solved and not outcome.feasible:
        return None
    if not outcome.solved:
        raise SolverError(f"the assignment of classes was not finished in {time_limit_s:g} s")
    chips = {kind.name: round(n.value() or 0.0) for kind, n in zip(kinds, counts, strict=True)}
    shares = {
        name: {
            kinds[k].name: float(part.value()) / whole
            for (own, k), part in parts.items()
            if own == name and part.value() > 1e-9
        }
        for name in rates_per_s
    }
    return ClassAssignment(
        chips=chips,
        usd_per_hour=sum(kind.usd_per_hour * chips[kind.name] for kind in kinds),
        shares=shares,
        utilization=_utilization(rates_per_s, kinds, chips, shares),
        lower_bound_usd_per_hour=outcome.bound,
    )


def _utilization(
    rates_per_s: Mapping[str, float],
    kinds: Sequence[ChipKind],
    chips: Mapping[str, int],
    shares: Mapping[str, Mapping[str, float]],
) -> dict[str, float]:
    """Busy time over time of each kind in use, summed again from the shares."""
    out = {}
    for kind in kinds:
        if chips[kind.name]:
            busy = sum(
                rate * shares[name][kind.name] / kind.requests_per_s[name]
                for name, rate in rates_per_s.items()
                if kind.name in shares[name]
            )
            out[kind.name] = busy / chips[kind.name]
    return out


def _check(
    rates_per_s: Mapping[str, float],
    kinds: Sequence[ChipKind],
    slices: int | None,
    most_utilization: float,
) -> None:
    issues = []
    if len({kind.name for kind in kinds}) < len(kinds):
        issues.append(Issue("two kinds of chips have one name", help="give each its own"))
    for name, rate in rates_per_s.items():
        if not (math.isfinite(rate) and rate >= 0.0):
            issues.append(Issue(f"class {name} has a rate of {rate:g} req/s", help="0 or more"))
        elif rate > 0.0 and all(kind.requests_per_s.get(name, 0.0) <= 0.0 for kind in kinds):
            known = ", ".join(kind.name for kind in kinds) or "none is given"
            issues.append(
                Issue(
                    f"no kind of chip serves class {name} ({known})",
                    help=f"add its measured rate, requests_per_s: {{{name}: 2.0}}",
                )
            )
    for kind in kinds:
        numbers = (kind.usd_per_hour, *kind.requests_per_s.values())
        if not all(math.isfinite(x) and x >= 0.0 for x in numbers):
            issues.append(Issue(f"{kind.name} has a negative or infinite number", help="0 or more"))
    if slices is not None and slices < 1:
        issues.append(Issue(f"slices = {slices}", help="1 or more, or None for any division"))
    if not 0.0 < most_utilization <= 1.0:
        issues.append(
            Issue(f"most_utilization = {most_utilization:g}", help="above 0 and at most 1")
        )
    if issues:
        raise InputError(issues)
