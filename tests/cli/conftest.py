"""Helpers of the command-line tests: run a command in-process, in a folder of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from pdd_plan.cli.main import app

Run = Callable[..., Result]

SMALL = Path(__file__).with_name("small.yaml")


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


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plan of the small fleet, made once: a fleet at site a alone."""
    file = tmp_path_factory.mktemp("plan") / "small.json"
    result = CliRunner().invoke(app, ["optimize", str(SMALL), "-o", str(file), "--quiet"])
    assert result.exit_code == 0, result.output
    return file


@pytest.fixture
def here(folder: Path, saved: Path) -> Path:
    """A folder with the scenario and its plan."""
    shutil.copy(SMALL, folder / "small.yaml")
    shutil.copy(saved, folder / "plan.json")
    return folder
