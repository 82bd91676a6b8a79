"""A sweep for other tools: its tidy table and its JSON."""

from __future__ import annotations

import json

from pdd_plan.report.sweep import SweepReport
from pdd_plan.report.tidy import Tidy, Value


def sweep_table(report: SweepReport) -> Tidy:
    """Return a sweep as one tidy table: a row a point.

    Parameters
    ----------
    report : SweepReport
        Varied values become numbers where all are numbers; their unit stands in the heading.
        Warnings, where there are any, are a last column.

    Returns
    -------
    Tidy
    """
    keys = ["point", *(item.key for axis in report.axes for item in axis.varied)]
    if report.is_front:
        keys.append("on_front")
    keys += report.rows[0].record.keys() if report.rows else ()
    rows = []
    for index, row in enumerate(report.rows, start=1):
        cells: list[Value] = [index]
        for axis, step in zip(report.axes, row.steps, strict=True):
            cells += [item.value(step) for item in axis.varied]
        if report.is_front:
            cells.append(row.on_front)
        rows.append((*cells, *row.record.values()))
    return Tidy("sweep", tuple(keys), tuple(rows)).warning(report.warnings)


def sweep_json(report: SweepReport) -> str:
    """Return a sweep as JSON: axes, rows by key, crossings.

    Parameters
    ----------
    report : SweepReport
        As planned.

    Returns
    -------
    str
        Indented, with a line end.
    """
    rows = [
        {
            "values": {
                item.path: item.texts[step]
                for axis, step in zip(report.axes, row.steps, strict=True)
                for item in axis.varied
            },
            "changes": list(row.changes),
            **({"on_front": row.on_front} if report.is_front else {}),
            **row.record,
        }
        for row in report.rows
    ]
    data = {
        "schema_version": 1,
        "tool_version": report.tool_version,
        "scenario": report.scenario,
        "command": report.command,
        "currency": report.currency,
        "warnings": list(report.warnings),
        "axes": [
            [
                {
                    "path": item.path,
                    "values": list(item.texts),
                    "unit": item.unit or None,
                    "numbers": list(item.numbers) if item.numbers else None,
                }
                for item in axis.varied
            ]
            for axis in report.axes
        ],
        "rows": rows,
        "crossings": [item.record() for item in report.crossings],
    }
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
