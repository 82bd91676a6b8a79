"""Where the values of a scenario were written: file, lines, overrides, content hash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pdd_plan.errors import Issue


@dataclass(frozen=True)
class SourceMap:
    """File and line of every value of a scenario.

    Attributes
    ----------
    file : str
        File as the user named it; ``""`` for a scenario built in memory.
    sha256 : str
        Hash of the content, overrides included.
    lines : Mapping[str, int]
        Line, from 1, by dotted path of YAML keys.
    overrides : Mapping[str, str]
        ``--set`` text by dotted path.
    data : Mapping[str, Any]
        Plain data as written, overrides included, to make variants of the scenario from.
    """

    file: str = ""
    sha256: str = ""
    lines: Mapping[str, int] = field(default_factory=dict, repr=False)
    overrides: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def folder(self) -> Path:
        """Folder where relative paths start."""
        return Path(self.file).parent

    def line_of(self, path: str) -> int:
        """Return the line of a path, or of the nearest part above it that has one.

        Parameters
        ----------
        path : str
            Dotted path of YAML keys, such as ``sites.beijing.chips.h200.price``.

        Returns
        -------
        int
            Line counted from 1; 0 where there is no file.
        """
        while path and path not in self.lines:
            path = path.rpartition(".")[0]
        return self.lines.get(path, 0)

    def override_of(self, path: str) -> str:
        """Return the override that set a path or a part above it, or an empty string."""
        while path:
            if path in self.overrides:
                return self.overrides[path]
            path = path.rpartition(".")[0]
        return ""

    def issue(self, path: str, message: str, help: str = "") -> Issue:  # noqa: A002 - as in Issue
        """Return an issue about a path, placed at its line or its override.

        Parameters
        ----------
        path : str
            Dotted path of YAML keys.
        message, help : str
            As in `pdd_plan.errors.Issue`.
        """
        override = self.override_of(path)
        if override:
            return Issue(message, path, f"--set {override}", 0, help)
        return Issue(message, path, self.file, self.line_of(path), help)
