"""Reading ``--what-if``."""

from __future__ import annotations

import json
import shutil

import pytest

from pdd_plan.errors import InputError
from pdd_plan.studies.compare import parse_what_if


@pytest.mark.parametrize(
    ("text", "name", "changes"),
    [
        ("cheap: a.b=1.5 USD/h", "cheap", ("a.b=1.5 USD/h",)),
        ("two: a.b=1,c.d=2", "two", ("a.b=1", "c.d=2")),
        ("two: a.b=1, c.d=2 s", "two", ("a.b=1", "c.d=2 s")),
        ("roles: a.roles=[prefill, relay]", "roles", ("a.roles=[prefill, relay]",)),
        (
            "E: s.chips={e: {available: 8, price: 3 USD/h}},rate=4",
            "E",
            ("s.chips={e: {available: 8, price: 3 USD/h}}", "rate=4"),
        ),
        ("list in a value: a=1,2", "list in a value", ("a=1,2",)),
        ('quoted: a="x, b=1",c=2', "quoted", ('a="x, b=1"', "c=2")),
        ("a.b=1", "a.b=1", ("a.b=1",)),
        ("a.b=c: d", "a.b=c: d", ("a.b=c: d",)),
        ("at 10:30: a-b.c=1", "at 10:30", ("a-b.c=1",)),
        ("link: links.beijing-shanghai.rtt=5 ms", "link", ("links.beijing-shanghai.rtt=5 ms",)),
    ],
)
def test_name_and_changes(text, name, changes):
    found = parse_what_if(text)
    assert (found.name, found.changes) == (name, changes)


@pytest.mark.parametrize("text", ["", "name", "name:", "name: value", ": a=1", "name: =1"])
def test_what_is_no_what_if(text):
    with pytest.raises(InputError) as caught:
        parse_what_if(text)
    assert (
        "--what-if" in caught.value.issues[0].message or "what-if" in caught.value.issues[0].message
    )
    assert "path" in caught.value.issues[0].message


def test_files_of_one_name_are_told_apart_by_as_much_of_the_path_as_that_takes(run, here):
    for folder in ("today", "tomorrow"):
        (here / folder).mkdir()
        shutil.copy(here / "plan.json", here / folder / "plan.json")
    shutil.copy(here / "small.yaml", here / "plan.yaml")

    def names(*files):
        result = run("compare", *files, "-q", "-f", "json")
        assert result.exit_code == 0, result.stderr
        return [one["name"] for one in json.loads(result.stdout)["alternatives"]]

    assert names("today/plan.json", "small.yaml") == ["plan", "small"]
    assert names("plan.yaml", "plan.json") == ["plan.yaml", "plan.json"]
    both = ["today/plan.json", "tomorrow/plan.json"]
    assert names(*both) == both
    twice = run("compare", "plan.json", "plan.json")
    assert twice.exit_code == 2
    assert "name every file once" in twice.stderr
