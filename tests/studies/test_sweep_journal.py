"""The journal: what it refuses, what it takes over."""

from __future__ import annotations

import json

import pytest

from pdd_plan.errors import InputError
from pdd_plan.studies.sweep_journal import Journal
from pdd_plan.studies.sweep_outcome import Outcome

PLAN = Outcome("optimal", usd_per_hour=0.1 + 0.2, ttft_p90_s=1 / 3, chips=8, limits_met=True)
NONE = Outcome("infeasible", '慢 "x"\n, y')


def written(path, finish=False):
    with Journal(path, False) as journal:
        journal.add("a", ("x=1",), PLAN, 0.5)
        journal.add("b", ("x=2",), NONE, 0.25)
        if finish:
            journal.finish()
    return path


def test_outcomes_come_back_bit_by_bit(tmp_path):
    assert Journal(written(tmp_path / "j"), True).known == {"a": PLAN, "b": NONE}


def test_every_point_is_on_disk_at_once(tmp_path):
    journal = Journal(tmp_path / "j", False)
    journal.add("a", ("x=1",), PLAN, 0.5)
    line = json.loads((tmp_path / "j").read_text().splitlines()[1])
    assert line["key"] == "a"
    assert line["changes"] == ["x=1"]
    assert line["usd_per_hour"] == 0.1 + 0.2
    assert "ttft_p50_s" not in line  # what does not exist is left out


def test_an_unfinished_sweep_is_not_overwritten_unasked(tmp_path):
    path = written(tmp_path / "j")
    with pytest.raises(InputError) as caught:
        Journal(path, False)
    assert "holds 2 points of a sweep that was not finished" in caught.value.issues[0].message
    assert "--resume" in caught.value.issues[0].help


def test_a_finished_sweep_is_begun_anew(tmp_path):
    path = written(tmp_path / "j", finish=True)
    with Journal(path, False) as journal:
        assert journal.known == {}
        journal.add("c", (), PLAN, 1.0)
    assert Journal(path, True).known == {"c": PLAN}


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("text", ["not a journal\n", '{"key": "a"}\n', "[1]\n", "x"])
def test_another_file_is_left_alone(tmp_path, text, resume):
    (tmp_path / "j").write_text(text)
    with pytest.raises(InputError, match="is not the journal of a sweep"):
        Journal(tmp_path / "j", resume)
    assert (tmp_path / "j").read_text() == text


def test_an_empty_file_and_a_head_alone_are_fresh_journals(tmp_path):
    for text in ("", '{"pdd_plan_sweep_journal": 1}\n'):
        (tmp_path / "j").write_text(text)
        assert Journal(tmp_path / "j", False).known == {}
        with Journal(tmp_path / "j", True) as journal:
            journal.add("a", (), PLAN, 1.0)
        assert Journal(tmp_path / "j", True).known == {"a": PLAN}


def test_spoiled_lines_are_planned_again(tmp_path):
    path = written(tmp_path / "j")
    lines = path.read_text().splitlines()
    lines[1] = lines[1].replace("usd_per_hour", "dollars")
    lines.insert(2, "#!garbage")
    path.write_text("\n".join(lines) + "\n")
    assert Journal(path, True).known == {"b": NONE}


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path):
    with pytest.raises(InputError, match="cannot write the journal"):
        Journal(tmp_path / "no" / "j", False).add("a", (), PLAN, 1.0)
