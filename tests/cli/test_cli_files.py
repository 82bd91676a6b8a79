"""What a name on the command line means, and the command that gives a result again."""

from __future__ import annotations

import shlex

import pytest

from pdd_plan.cli.files import command_line, existing_file, shipped_scenario
from pdd_plan.errors import InputError


def test_a_missing_plan_is_named_with_its_neighbor(folder):
    (folder / "plan.json").write_text("{}")
    with pytest.raises(InputError) as caught:
        existing_file("paln.json", "plan")
    assert caught.value.issues[0].help == "did you mean plan.json?"


def test_unknown_shipped_scenario():
    assert shipped_scenario("quickstart").name == "quickstart.yaml"
    with pytest.raises(InputError) as caught:
        shipped_scenario("quickstart2")
    assert caught.value.issues[0].help == "did you mean quickstart?"


def test_command_line_can_be_pasted_into_a_shell():
    line = command_line(
        "optimize", ["my fleet.yaml"], set=["slo.ttft_p90=8 s"], seed=3, quiet=False
    )
    words = ["pdd-plan", "optimize", "my fleet.yaml", "--set", "slo.ttft_p90=8 s", "--seed", "3"]
    assert shlex.split(line) == words


def test_command_line_holds_no_path_of_the_machine(folder):
    inside, outside = folder / "plans" / "a.yaml", folder.parent / "b.yaml"
    assert command_line("optimize", [str(inside)]) == "pdd-plan optimize plans/a.yaml"
    assert command_line("optimize", [str(outside)]) == "pdd-plan optimize b.yaml"


def test_many_files_in_a_folder_are_counted_not_listed(run, here):
    (here / "out").mkdir()
    result = run("report", "plan.json", "-o", "out")
    assert result.exit_code == 0
    count = len(list((here / "out").glob("*.csv")))
    assert result.stderr.splitlines()[-1] == f"wrote {count} CSV files into out"


def test_init_into_a_folder_says_to_name_a_file_in_it(run, here):
    (here / "out").mkdir()
    result = run("init", "out")
    assert result.exit_code == 2
    assert "such as out" in result.stderr
