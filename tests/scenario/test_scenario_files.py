"""Files that are no scenario, files that nearly are, and where scenarios are found."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from scenario_texts import scenario_text

from pdd_plan.errors import InputError, Issue
from pdd_plan.scenario import (
    SharedScenario,
    find_scenario,
    load_question,
    load_scenario,
    scenario_names,
)

VALID = scenario_text()


def issues_of(path: Path) -> tuple[Issue, ...]:
    with pytest.raises(InputError) as caught:
        load_scenario(path)
    assert all(issue.file and issue.message and issue.help for issue in caught.value.issues)
    return caught.value.issues


CONTENTS = {
    "empty": (b"", "is empty", 1),
    "blank": (b" \n\n", "is empty", 1),
    "comment only": (b"# nothing here\n", "nothing but comments", 1),
    "list": (b"- a\n- b\n", "a list, not a mapping", 1),
    "word": (b"hello\n", '"hello", not a mapping', 1),
    "number": (b"\n42\n", "42, not a mapping", 2),
    "null": (b"null\n", "nothing but comments", 1),
    "binary": (b"name: x\n\x00\x01\x02", "is binary", 2),
    "utf-16": (VALID.encode("utf-16"), "UTF-16", 1),
    "latin-1": (b"name: x\ndescription: Pek\xedn\n", "not UTF-8 text: byte 0xed", 2),
    "gzip": (gzip.compress(VALID.encode()), "compressed file", 0),
    "zstandard": (b"\x28\xb5\x2f\xfd\x00\x01", "compressed file", 0),
    "recursive alias": (b"a: 1\nb: &x [1, *x]\n", "alias refers to the value it is part of", 2),
    "deep nesting": (b"a: " + b"[" * 5000 + b"]" * 5000, "nested too deeply", 0),
    "nesting": (b"a: " + b"[" * 200 + b"]" * 200, "nested too deeply", 1),
    "merge of a number": (b"a:\n  <<: 3\n", "<< merges mappings only", 2),
    "list as key": (b"? [a]\n: 1\n", "a key must be text", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTENTS)
def test_content_that_is_no_scenario(name: str, tmp_path: Path) -> None:
    content, message, line = CONTENTS[name]
    file = tmp_path / "fleet.yaml"
    file.write_bytes(content)
    issue = next(issue for issue in issues_of(file) if message in issue.message)
    assert issue.file == str(file)
    assert line in (0, issue.line)


def test_aliases_that_multiply_are_stopped(tmp_path: Path) -> None:
    rows = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    rows += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    file = tmp_path / "laughs.yaml"
    file.write_text("\n".join(rows))
    assert "more than 500,000 values" in issues_of(file)[0].message


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "huge.yaml"
    with file.open("wb") as stream:
        stream.truncate(17 * 2**20)
    issue = issues_of(file)[0]
    assert "17 MiB" in issue.message
    assert "workload.trace.path" in issue.help


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text(VALID)
    issue = issues_of(tmp_path)[0]
    assert "is a folder" in issue.message
    assert "fleet.yaml" in issue.help


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "agent-fleet.yaml").write_text(VALID)
    issue = issues_of(tmp_path / "agent-flet.yaml")[0]
    assert "there is no file" in issue.message
    assert str(tmp_path / "agent-fleet.yaml") in issue.help
    assert "there is no folder" in issues_of(tmp_path / "nowhere" / "fleet.yaml")[0].help


def test_an_unreadable_file_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text(VALID)

    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert "Permission denied" in issues_of(file)[0].message


@pytest.mark.parametrize("change", ["bom", "crlf", "json", "no final newline", "document start"])
def test_harmless_forms_load_alike(change: str, tmp_path: Path) -> None:
    import json

    from pdd_plan.scenario.yaml_text import parse_yaml

    plain = VALID.encode()
    forms = {
        "bom": b"\xef\xbb\xbf" + plain,
        "crlf": plain.replace(b"\n", b"\r\n"),
        "json": json.dumps(parse_yaml(VALID, "").data).encode(),
        "no final newline": plain.rstrip(b"\n"),
        "document start": b"---\n" + plain + b"...\n",
    }
    base, other = tmp_path / "a.yaml", tmp_path / "b.yaml"
    base.write_bytes(plain)
    other.write_bytes(forms[change])
    assert load_scenario(other).model_dump() == load_scenario(base).model_dump()
    assert load_scenario(other).source.sha256 == load_scenario(base).source.sha256


def test_anchors_and_merges(tmp_path: Path) -> None:
    text = VALID.replace("h20:\n        available: 256", "h20:\n        <<: &o {available: 9}")
    text = text.replace("h200: {available: 128,", "h200: {<<: {available: 1}, available: 128,")
    file = tmp_path / "fleet.yaml"
    file.write_text(text)
    sites = load_scenario(file).sites
    assert sites["shanghai"].chips["h20"].available == 9
    assert sites["beijing"].chips["h200"].available == 128


def test_the_name_defaults_to_that_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "my fleet.yaml"
    file.write_text(VALID.replace("name: agent-fleet\n", ""))
    assert load_scenario(file).name == "my fleet"


def test_shipped_scenarios_are_found_by_name_and_all_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "quickstart" in scenario_names()
    assert find_scenario("quickstart") == find_scenario("quickstart.yaml")
    for name in scenario_names():
        found = load_question(name)
        scenarios = found.scenarios.values() if isinstance(found, SharedScenario) else [found]
        for scenario in scenarios:
            assert scenario.workload.rate_per_s or scenario.objective == "goodput"


def test_a_file_of_the_user_comes_before_a_shipped_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("quickstart.yaml").write_text(VALID)
    assert load_scenario("quickstart.yaml").name == "agent-fleet"


def test_a_name_near_a_shipped_one_is_suggested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        load_scenario("quikstart")
    assert "did you mean quickstart" in caught.value.issues[0].help
