"""The atoms table: request types as a small CSV file with its provenance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pdd_plan.errors import InputError, Issue
from pdd_plan.workload.atoms import Atoms
from pdd_plan.workload.columns import csv_columns, to_numbers
from pdd_plan.workload.files import RowProblems, read_text
from pdd_plan.workload.row_checks import WHOLE_PROMPTS, check_at_least, check_cached, note_rows

ATOMS_COLUMNS = (
    "input_tokens",
    "cached_prefill_tokens",
    "cached_decode_tokens",
    "output_tokens",
    "weight",
)


@dataclass(frozen=True, eq=False)
class AtomsTable:
    """An atoms table as read from its file.

    Attributes
    ----------
    atoms : Atoms
        The request types.
    provenance : tuple of str
        Comment lines of the file, without ``#``.
    notes : tuple of str
        What was put right while reading.
    """

    atoms: Atoms
    provenance: tuple[str, ...]
    notes: tuple[str, ...] = ()


def read_atoms_csv(path: str | Path) -> AtomsTable:
    """Read an atoms table.

    Parameters
    ----------
    path : str or Path
        CSV with the columns of `ATOMS_COLUMNS`; lines that start with ``#`` tell where it comes
        from. Weights may have any scale: they are counts or shares.

    Returns
    -------
    AtomsTable

    Raises
    ------
    InputError
        With file and line of the first bad rows, or the missing columns.
    """
    text = read_text(Path(path))
    problems = RowProblems(str(path))
    cells, lines = csv_columns(text, ATOMS_COLUMNS, (), problems)
    column = {name: to_numbers(cells[name], lines, name, problems) for name in ATOMS_COLUMNS}
    length, weight = column["input_tokens"], column["weight"]
    check_at_least(length, 1, lines, "input_tokens", problems)
    check_at_least(column["output_tokens"], 1, lines, "output_tokens", problems)
    for name in ("cached_prefill_tokens", "cached_decode_tokens"):
        check_cached(column[name], length, lines, name, problems)
    note_rows(
        weight < 0,
        lines,
        problems,
        lambda i: f"weight = {weight[i]:g} is negative",
        "weight",
        "weights are counts or shares of requests, 0 or more",
    )
    problems.check()
    if not weight.size or weight.sum() <= 0:
        raise InputError(
            Issue("no row has a positive weight", file=str(path), help="add rows with weight > 0")
        )
    comments = [line.lstrip() for line in text.splitlines() if line.lstrip().startswith("#")]
    names = ("cached_prefill_tokens", "cached_decode_tokens")
    whole = int(np.count_nonzero(column[names[0]] > length - 1))
    prefill, decode = (np.minimum(column[name], length - 1) for name in names)
    return AtomsTable(
        Atoms.from_columns(length, prefill, column["output_tokens"], weight, decode),
        tuple(line.lstrip("# ").rstrip() for line in comments),
        (WHOLE_PROMPTS.format(whole),) if whole else (),
    )


def write_atoms_csv(atoms: Atoms, path: str | Path, provenance: Sequence[str] = ()) -> None:
    """Write an atoms table, whole or not at all.

    Parameters
    ----------
    atoms : Atoms
        The request mix.
    path : str or Path
        File to write.
    provenance : sequence of str
        Lines that tell where the numbers come from; each becomes a comment.

    Notes
    -----
    Numbers have ten significant digits, so that a table read back differs by rounding only.
    """
    file = Path(path)
    columns = [getattr(atoms, name) for name in ATOMS_COLUMNS]
    lines = [f"# {part}" for line in provenance for part in line.splitlines()]
    lines.append(",".join(ATOMS_COLUMNS))
    rows = zip(*(column.tolist() for column in columns), strict=True)
    lines.extend(",".join(f"{cell:.10g}" for cell in row) for row in rows)
    draft = file.with_name(file.name + ".part")
    draft.write_text("\n".join(lines) + "\n", encoding="utf-8")
    draft.replace(file)
