"""The journal of a sweep: one line of JSON for each point that is done, so that none is lost."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pdd_plan.errors import InputError, Issue
from pdd_plan.studies.sweep_outcome import TRIED_AGAIN, Outcome

FORMAT = 1
"""Version of the journal's lines."""


class Journal:
    """Outcomes on disk, by the key of their point.

    Parameters
    ----------
    path : Path
        File; made when the first outcome is added.
    resume : bool
        Take over the outcomes that it holds. Else it is begun anew.

    Raises
    ------
    InputError
        If it is no journal, cannot be read, or holds an unfinished sweep that is not resumed.
    """

    def __init__(self, path: Path, resume: bool) -> None:
        self.path = path
        self.known: dict[str, Outcome] = {}
        self._stream: Any = None
        self._keep = resume
        self._size = 0
        if path.exists():
            self._read(resume)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def add(self, key: str, changes: Sequence[str], outcome: Outcome, seconds: float) -> None:
        """Write an outcome down at once.

        Parameters
        ----------
        key : str
            Of the point.
        changes : sequence of str
            Its overrides, for those who read the file.
        outcome : Outcome
            What came of it.
        seconds : float
            How long it took [s].
        """
        record = outcome.record()
        known = {name: value for name, value in record.items() if value is not None}
        self._line({"key": key, "changes": list(changes), "seconds": round(seconds, 3)} | known)
        self.known[key] = outcome

    def finish(self) -> None:
        """Say that the sweep is complete; it may then be begun anew without a question."""
        self._line({"finished": True})

    def _line(self, data: dict[str, Any]) -> None:
        try:
            if self._stream is None:
                self._open()
            self._stream.write(json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n")
            self._stream.flush()
        except OSError as error:
            reason = error.strerror or str(error)
            message = f"cannot write the journal {self.path}: {reason}"
            raise InputError(Issue(message, help="write elsewhere with --output")) from error

    def _open(self) -> None:
        if self._keep and self._size:
            os.truncate(self.path, self._size)  # a line that was cut short is left out
            self._stream = self.path.open("a", encoding="utf-8")
        else:
            self._stream = self.path.open("w", encoding="utf-8")
            self._stream.write(json.dumps({"pdd_plan_sweep_journal": FORMAT}) + "\n")

    def _read(self, resume: bool) -> None:
        try:
            data = self.path.read_bytes()
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(Issue(f"cannot read the journal {self.path}: {reason}")) from error
        whole, _, _ = data.rpartition(b"\n")
        records = [_parsed(line) for line in whole.split(b"\n")] if whole else []
        if data and (not records or (records[0] or {}).get("pdd_plan_sweep_journal") != FORMAT):
            raise InputError(
                Issue(
                    f"{self.path} is not the journal of a sweep of this version",
                    path="--output",
                    help="write elsewhere with --output, or remove the file",
                )
            )
        last = records[-1] if records else None
        held = sum(1 for record in records if record and "key" in record)
        if not resume and held and not (last and last.get("finished")):
            raise InputError(
                Issue(
                    f"{self.path} holds {held} points of a sweep that was not finished",
                    path="--output",
                    help="add --resume to go on with it, or remove the file to begin anew",
                )
            )
        if resume:
            self._size = len(whole) + 1 if whole else 0
            self._take([record for record in records[1:] if record])

    def _take(self, records: Sequence[dict[str, Any]]) -> None:
        for record in records:
            try:
                key = record.pop("key")
                record.pop("changes"), record.pop("seconds")
                outcome = Outcome.of_record(record)
            except (KeyError, TypeError):
                continue
            if outcome.status not in TRIED_AGAIN:
                self.known[key] = outcome


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        data = json.loads(line)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None
