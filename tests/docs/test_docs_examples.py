"""Every example in the documents runs: commands in order, in a folder of their own.

A fenced block ``console`` holds commands (``$ pdd-plan …``) and, if any, what they print; any block
under a comment ``<!-- file: name -->`` is a file that later commands read. Commands end
with code 0 unless a comment ``<!-- exit: 1 -->`` stands before the block. Output shown is compared
line by line, numbers aside, and may leave lines out with ``...``.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pdd_plan.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LONG = {"guide-resilience.md", "guide-uncertainty.md", "tutorial.md"}
BLOCK = re.compile(
    r"(?:<!-- (?P<note>[^\n]+?) -->\n+)?^```(?P<kind>\w+)\n(?P<body>.*?)^```", re.M | re.S
)


@dataclass
class Example:
    """One command with what the page shows of its output."""

    command: str
    code: int
    shown: list[str] = field(default_factory=list)


def examples(text: str) -> list[Example | tuple[str, str]]:
    """Return the commands and files (name, content) of a page, in order."""
    found: list[Example | tuple[str, str]] = []
    for block in BLOCK.finditer(text):
        note, kind, body = block["note"] or "", block["kind"], block["body"]
        if note.startswith("file: "):
            found.append((note.removeprefix("file: "), body))
        if kind != "console":
            continue
        code = int(note.removeprefix("exit: ")) if note.startswith("exit: ") else 0
        lines = iter(body.splitlines())
        for line in lines:
            if line.startswith("$ "):
                command = line.removeprefix("$ ")
                while command.endswith("\\"):
                    command = command[:-1] + next(lines).strip()
                found.append(Example(command, code))
            elif found and isinstance(found[-1], Example):
                found[-1].shown.append(line)
    return found


def shape(line: str) -> str:
    """A line without its numbers and spacing."""
    return re.sub(r"\s+", " ", re.sub(r"[\d.,]+(e-?\d+)?", "#", line)).strip()


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.long] if page.name in LONG else [], id=page.name)
        for page in PAGES
    ],
)
def test_examples_of_a_page_run_as_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for example in examples(page.read_text(encoding="utf-8")):
        if isinstance(example, tuple):
            Path(example[0]).write_text(example[1], encoding="utf-8")
            continue
        words = shlex.split(example.command, comments=True)
        assert words[0] == "pdd-plan", f"{page.name}: {example.command} is not run"
        result = CliRunner().invoke(app, words[1:], prog_name="pdd-plan")
        assert result.exit_code == example.code, f"{example.command}\n{result.output}"
        printed = {shape(line) for line in result.output.splitlines()}
        for line in example.shown:
            assert line.strip() in ("", "...") or shape(line) in printed, (
                f"{page.name} shows, but {example.command} does not print:\n{line}\n"
                f"It prints:\n{result.output}"
            )


def test_what_counts_as_an_example():
    page = (
        "<!-- file: a.yaml -->\n```yaml\nname: a\n```\n\n"
        "<!-- exit: 1 -->\n```console\n$ pdd-plan optimize a.yaml \\\n    --quiet\nno plan\n```\n"
    )
    assert examples(page) == [
        ("a.yaml", "name: a\n"),
        Example("pdd-plan optimize a.yaml --quiet", 1, ["no plan"]),
    ]
    assert shape("  Cost   412.80 USD/h") == shape(" Cost 3,000.1 USD/h")
