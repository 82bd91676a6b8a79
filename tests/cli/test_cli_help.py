"""Help: an example everywhere, nothing heavy imported for it, the version."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from pdd_plan import __version__

COMMANDS = [
    ["optimize"],
    ["evaluate"],
    ["compare"],
    ["simulate"],
    ["calibrate"],
    ["trace"],
    ["report"],
    ["init"],
    ["schema"],
    ["profiles"],
    ["profiles", "list"],
    ["profiles", "show"],
    ["profiles", "check"],
]


@pytest.mark.parametrize("command", [[], *COMMANDS], ids=" ".join)
def test_every_help_has_an_example_and_fits_80_columns(run, command):
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Example:  pdd-plan" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "..." not in result.stdout.partition("Commands:")[2]  # no summary is cut off


def test_without_arguments_it_shows_its_help(run):
    result = run()
    assert "Usage: pdd-plan" in result.output
    assert "optimize" in result.output


def test_version(run):
    assert run("--version").stdout == f"pdd-plan {__version__}\n"


def test_help_imports_nothing_that_takes_long():
    code = (
        "import json, sys\n"
        "sys.argv = ['pdd-plan', '--help']\n"
        "from pdd_plan.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('\\n' + json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stderr.splitlines()[-1]))
    heavy = {"numpy", "scipy", "pulp", "highspy", "pydantic", "rich", "matplotlib", "numba", "yaml"}
    assert not heavy & loaded
