"""Every way to get a scenario wrong: the right place, the value, and a mend."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenario_texts import scenario_text
from wrong_across import ACROSS_SECTIONS
from wrong_scenarios import Wrong
from wrong_sections import IN_SECTIONS

from pdd_plan.errors import InputError, Issue
from pdd_plan.scenario import load_scenario

CASES = [*IN_SECTIONS, *ACROSS_SECTIONS]


def issues_of(path: Path) -> tuple[Issue, ...]:
    """Return the issues of a file."""
    with pytest.raises(InputError) as caught:
        load_scenario(path)
    return caught.value.issues


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_each_fault_has_place_value_and_mend(case: Wrong, tmp_path: Path) -> None:
    assert case.text.count(case.old) >= 1, "the case does not change the scenario"
    text = case.text.replace(case.old, case.new, 1)
    file = tmp_path / "fleet.yaml"
    file.write_text(text, encoding="utf-8")
    (tmp_path / "requests.csv").write_text("arrival_s,input_tokens,cached_tokens,output_tokens\n")
    (tmp_path / "empty.csv").write_text("")
    issues = issues_of(file)
    shown = "\n".join(f"{i.line} {i.path}: {i.message} [{i.help}]" for i in issues)
    assert any(issue.path == case.path for issue in issues), shown
    issue = next(issue for issue in issues if issue.path == case.path)
    assert issue.file == str(file)
    if case.at:
        index = text.rindex(case.at) if case.name in ("line twice",) else text.index(case.at)
        assert issue.line == text.count("\n", 0, index) + 1, shown
    assert issue.line > 0
    assert case.message in issue.message, shown
    assert issue.help, shown
    assert case.help in issue.help, shown
    if case.path:
        assert len(issues) == 1, shown


@pytest.mark.parametrize(("wrong", "right"), [
    ("{min: 10 Gbps, max: 100 Gbps, step: 7 Gbps}", "7.5 Gbps"),
    ("{min: 10 Gbps, max: 100 Gbps}", "9 Gbps"),
    ("{min: 10 Gbps, max: 100 Gbps, step: 1 Mbps}", "4.5 Gbps"),
])  # fmt: skip
def test_the_suggested_step_works(wrong: str, right: str, tmp_path: Path) -> None:
    text = scenario_text()
    size = "{min: 10 Gbps, max: 100 Gbps, step: 10 Gbps}"
    file = tmp_path / "fleet.yaml"
    file.write_text(text.replace(size, wrong))
    assert issues_of(file)[0].help.endswith(f" step: {right}")
    file.write_text(text.replace(size, size.replace("step: 10 Gbps", f"step: {right}")))
    assert len(load_scenario(file).links[0].bandwidth.levels()) > 5


def test_names_are_distinct_and_many() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 70
