"""Helpers of the command-line tests: run a command in-process, in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from pdd_plan.cli.main import app

Run = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:  # noqa: ARG001
    """Run ``pdd-plan`` with arguments; stdout and stderr are kept apart."""

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(app, list(arguments), prog_name="pdd-plan")

    return call
