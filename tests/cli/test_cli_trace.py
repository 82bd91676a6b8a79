"""``trace``: what it counts, and the workload it writes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pdd_plan.workload import read_atoms_csv

TRACE = (
    "arrival_s,input_tokens,cached_tokens,output_tokens\n"
    "0,1000,0,10\n10,1000,960,20\n20,2000,1980,30\n30,4000,2000,40\n"
)


@pytest.fixture
def trace(folder):
    """Four requests, counted by hand."""
    (folder / "requests.csv").write_text(TRACE)
    return "requests.csv"


def test_counts(run, trace):
    found = json.loads(run("trace", trace, "--format", "json").stdout)
    facts = {row["fact"]: row["value"] for row in found["arrivals"]}
    assert facts["requests"] == 4
    assert facts["span_s"] == 30
    lengths = {row["quantity"]: row for row in found["lengths"]}
    assert lengths["input_tokens"]["mean"] == 2000
    assert lengths["uncached_tokens"]["mean"] == (1000 + 40 + 20 + 2000) / 4
    assert lengths["output_tokens"]["largest"] == 40
    shares = {row["hit_rate_from"]: row["share"] for row in found["hit_rates"]}
    assert shares[0.0] == shares[0.5] == shares[0.95] == shares[0.99] == 0.25


def test_console_shows_the_skew(run, trace):
    said = run("trace", trace).stdout
    assert "csv trace, 4 requests" in said
    assert "mean over requests" in said
    assert max(map(len, said.splitlines())) <= 80


def test_workload_keeps_the_requests(run, trace, folder):
    assert run("trace", trace, "-o", "workload.csv").exit_code == 0
    atoms = read_atoms_csv(folder / "workload.csv").atoms
    assert len(atoms) == 4
    assert np.isclose(atoms.mean(atoms.input_tokens), 2000)
    assert np.isclose(atoms.mean(atoms.cached_prefill_tokens), (0 + 960 + 1980 + 2000) / 4)


def test_a_trace_without_prefixes_gives_no_workload(run, folder):
    (folder / "plain.csv").write_text("arrival_s,input_tokens,output_tokens\n0,100,1\n1,100,1\n")
    result = run("trace", "plain.csv", "-o", "workload.csv")
    assert result.exit_code == 2
    assert "hit_rate" in result.stderr
    assert not (folder / "workload.csv").exists()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("gone.csv", None, "there is no trace gone.csv"),
        ("empty.csv", "", "empty.csv"),
        ("text.csv", "hello\n", "text.csv"),
        ("wrong.csv", TRACE.replace("1980", "2080"), "wrong.csv:4"),
        ("wrong.csv", TRACE.replace("2000,1980", "-1,1980"), "wrong.csv:4"),
    ],
)
def test_wrong_traces(run, folder, name, content, said):
    if content is not None:
        (folder / name).write_text(content)
    result = run("trace", name, "-o", "workload.csv")
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert not (folder / "workload.csv").exists()


def test_output_is_checked_before_the_work(run, trace):
    result = run("trace", trace, "-o", "nowhere/workload.csv")
    assert result.exit_code == 2
    assert "no folder nowhere" in result.stderr
