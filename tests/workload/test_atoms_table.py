"""Atoms tables: written, read back, wrong; and the one that ships."""

import numpy as np
import pytest

from pdd_plan.errors import InputError
from pdd_plan.workload import Atoms, read_atoms_csv, write_atoms_csv
from pdd_plan.workload.atoms_table import ATOMS_COLUMNS
from pdd_plan.workload.statistics import share_at_least
from pdd_plan.workload.tabulate import tabulate
from tests.conftest import REPOSITORY

SHIPPED = REPOSITORY / "scenarios" / "workloads" / "claude_code_agent_atoms.csv"
HEAD = ",".join(ATOMS_COLUMNS) + "\n"


def test_round_trip(tmp_path):
    rng = np.random.default_rng(0)
    length = rng.uniform(10, 1e6, 200)
    cached = length * rng.random(200)
    atoms = Atoms.from_columns(
        length, cached, rng.uniform(1, 9e3, 200), rng.random(200), cached / 3
    )
    path = tmp_path / "table.csv"
    write_atoms_csv(atoms, path, ("made up", "two\nlines"))
    table = read_atoms_csv(path)
    assert table.provenance == ("made up", "two", "lines")
    for name in ATOMS_COLUMNS:
        assert getattr(table.atoms, name) == pytest.approx(getattr(atoms, name), rel=1e-9)
    assert [entry.name for entry in tmp_path.iterdir()] == ["table.csv"]


def test_weights_may_be_counts(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(HEAD + "100,50,40,10,30\n200,0,0,20,10\n300,0,0,20,0\n")
    atoms = read_atoms_csv(path).atoms
    assert sorted(atoms.weight) == [0.25, 0.75]
    assert atoms.mean(atoms.missing_tokens) == 0.75 * 60 + 0.25 * 200


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (HEAD, 0, "no row has a positive weight"),
        (HEAD + "100,50,40,10,0\n", 0, "no row has a positive weight"),
        (HEAD + "100,50,40,10,-1\n", 2, "weight = -1 is negative"),
        (HEAD + "100,101,40,10,1\n", 2, "cached_prefill_tokens = 101 exceeds"),
        (HEAD + "100,50,140,10,1\n", 2, "cached_decode_tokens = 140 exceeds"),
        (HEAD + "100,50,40,0,1\n", 2, "output_tokens = 0 is below 1"),
        (HEAD + "0,0,0,10,1\n", 2, "input_tokens = 0 is below 1"),
        (HEAD + "# remark\n100,50,x,10,1\n", 3, "cached_decode_tokens = 'x'"),
        (HEAD + "100,50,40,10\n", 2, "4 cells, the header names 5"),
        (HEAD.replace("weight", "weigth") + "1,0,0,1,1\n", 1, "weight is missing"),
    ],
)
def test_wrong_tables(tmp_path, text, line, message):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_atoms_csv(path)
    issue = caught.value.issues[0]
    assert message in issue.message
    assert (issue.file, issue.line) == (str(path), line)


def test_a_prompt_cached_whole_leaves_its_last_token(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(HEAD + "100,100,100,10,1\n")
    table = read_atoms_csv(path)
    assert table.atoms.uncached_tokens.tolist() == [1]
    assert table.atoms.missing_tokens.tolist() == [1]


def test_the_shipped_table_is_that_of_the_sessions():
    # 49,334 calls counted independently: 88.6 % hit 95 % or more, mean hit rate 0.951, mean
    # prompt 122,379 tokens (README of the traces, and its derived table).
    table = read_atoms_csv(SHIPPED)
    atoms = table.atoms
    assert len(atoms) <= 600
    assert round(share_at_least(atoms.hit_fraction, atoms.weight, 0.95), 3) == 0.886
    assert atoms.mean(atoms.hit_fraction) == pytest.approx(0.951, abs=2e-3)
    assert atoms.mean(atoms.input_tokens) == pytest.approx(122379, abs=1)
    words = " ".join(table.provenance)
    for part in ("kv-cache-tester", "94f6046d", "Apache-2.0", "Command: pdd-plan trace"):
        assert part in words


@pytest.mark.long
def test_the_shipped_table_can_be_made_again(tmp_path, data_dir):
    path = tmp_path / "table.csv"
    trace = data_dir / "traces" / "claude_code_weka_rle.jsonl.gz"
    tabulate(trace, path, max_atoms=600)
    made, shipped = read_atoms_csv(path).atoms, read_atoms_csv(SHIPPED).atoms
    for name in ATOMS_COLUMNS:
        assert getattr(made, name) == pytest.approx(getattr(shipped, name), rel=1e-8)


def test_a_trace_without_prefixes_gives_no_table(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("arrival_s,input_tokens,output_tokens\n0,5,5\n1,6,6\n")
    with pytest.raises(InputError, match="no cached prefixes"):
        tabulate(path, tmp_path / "table.csv")
    assert not (tmp_path / "table.csv").exists()
