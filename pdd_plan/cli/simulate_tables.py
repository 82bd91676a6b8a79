"""Predicted and simulated figures as a table."""

from __future__ import annotations

import math

from pdd_plan.cli.tables import Listing
from pdd_plan.report.digits import limit_seconds, percent, seconds
from pdd_plan.report.tidy import Tidy
from pdd_plan.studies.simulating import Comparison, SimulationReport


def simulation_tables(report: SimulationReport, service: str = "") -> list[Listing]:
    """Return the table of predicted against simulated figures.

    Parameters
    ----------
    report : SimulationReport
        From `pdd_plan.studies.simulating.simulate_plan`.
    service : str
        Name of the service, where there are several.
    """
    shown = tuple(_shown(row) for row in report.rows)
    raw = tuple(
        (
            row.what,
            row.unit,
            row.predicted,
            row.simulated,
            None if math.isnan(row.half_width) else row.half_width,
            row.difference,
            row.limit,
            not row.missed if row.limit is not None else None,
        )
        for row in report.rows
    )
    keys = ("what", "unit", "predicted", "simulated", "half_width", "difference", "limit", "met")
    labels = ("", "Predicted", "Simulated", "95 % interval", "Off by", "Limit")
    tidy = Tidy(service or "simulation", keys, raw)
    return [Listing(service or "Figures", labels, shown, tidy, frozenset(range(1, 6)))]


def _shown(row: Comparison) -> tuple[str, ...]:
    write = seconds if row.unit == "s" else percent
    limit = ""
    if row.limit is not None:
        limit = limit_seconds(row.limit) + (", missed" if row.missed else ", met")
    return (
        row.what,
        write(row.predicted),
        write(row.simulated),
        f"± {write(row.half_width)}",
        f"{100 * row.difference:+.1f} %",
        limit,
    )
