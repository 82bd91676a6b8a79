"""The benchmark against alternatives: what it measures, and that its contenders agree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.alternatives import aiconfigurator
from benchmarks.alternatives.contenders import planned_one_site
from benchmarks.alternatives.enumeration import one_site
from benchmarks.pages import put_section

MEASURING = """
import sys
from benchmarks.measured import measure
code = "import time; a = b'x' * 200_000_000; time.sleep(0.2); print(len(a))"
seen = measure([sys.executable, "-c", code])
assert seen.ok
assert seen.output == "200000000\\n"
assert seen.wall_s >= 0.2
assert 200e6 <= seen.rss_bytes < 400e6, seen.rss_bytes
assert not measure([sys.executable, "-c", "raise SystemExit(3)"]).ok
"""


def test_time_and_memory_are_those_of_the_child():
    # In a process that is small itself, as the benchmark is: a child starts as a copy of it.
    root = Path(__file__).resolve().parents[1]
    subprocess.run([sys.executable, "-c", MEASURING], check=True, cwd=root)


def test_enumeration_and_plan_carry_the_same_on_one_site():
    enumerated, planned = one_site(), planned_one_site()
    # Rates are found to a relative precision of 1e-3.
    assert planned["value"] == pytest.approx(enumerated["value"], rel=1e-3)
    assert planned["fleet"] == enumerated["fleet"]


def test_a_section_is_put_in_place_of_the_one_before(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\nText.\n", encoding="utf-8")
    put_section(page, "## One", "first\n")
    put_section(page, "## Two", "other\n\n### Part\n\nof it")
    put_section(page, "## One", "second with \\1\n")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Title\n\nText.\n\n## One")
    assert "first" not in text
    assert text.count("second with \\1") == 1
    # And those around it stay as they were, the last one too.
    assert text.endswith("\n\n## Two\n\nother\n\n### Part\n\nof it\n")
    put_section(page, "## Two", "other\n\n### Part\n\nof it")
    assert page.read_text(encoding="utf-8") == text


def test_a_package_that_cannot_be_had_is_told(tmp_path):
    with pytest.raises(aiconfigurator.UnavailableError, match="aiconfigurator"):
        aiconfigurator.run(tmp_path / "python")
