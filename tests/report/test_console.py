"""The console report: fits every width, loses nothing, colors only where wanted."""

from __future__ import annotations

import io
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_examples import EXAMPLES, LONG_SITE, plan
from rich.cells import cell_len

from pdd_plan.report import Comparison, render
from pdd_plan.report.breaking import cuts
from pdd_plan.report.console import print_console, wants_color
from pdd_plan.report.digits import clean
from pdd_plan.report.view import plan_view

WIDTHS = (40, 60, 72, 80, 100, 120, 200)
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def letters(text: str) -> str:
    """Return a text without blanks, to see whether anything is lost by breaking lines."""
    return "".join(text.split())


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_longer_than_the_terminal(name: str, width: int, lang: str) -> None:
    for line in render(plan(name), "console", width, lang).splitlines():
        assert cell_len(line) <= width, line
        assert line == line.rstrip()


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_number_is_there_at_every_width(name: str, width: int) -> None:
    """Narrow tables turn into lists that repeat labels, and never drop a cell."""
    text = letters(render(plan(name), "console", width))
    for pool in plan(name).pools:
        assert f"{pool.usd_per_hour:,.2f}" in text
        assert f"{pool.engines:,}" in text
    for item in plan(name).assumptions:
        assert all(letters(clean(word)) in text for word in item.source.split(" "))
    assert plan(name).scenario.sha256 in text


def test_long_names_are_wrapped_and_not_cut() -> None:
    for width in (60, 80):
        columns = _first_column(render(plan("hostile"), "console", width))
        assert LONG_SITE in columns


def _first_column(text: str) -> str:
    """Return what stands at the left edge, glued together."""
    return "".join(re.split(r"\s{2,}", line.strip())[0].strip() for line in text.splitlines())


def test_a_usual_plan_fits_80_columns_as_tables() -> None:
    lines = render(plan(), "console", 80).splitlines()
    heading = next(line for line in lines if line.split()[:1] == ["Pool"])
    row = next(line for line in lines if "beijing prefill" in line)
    assert heading.split() == [
        "Pool",
        "Hardware",
        "Engines",
        "Chips",
        "Use",
        "Bound",
        "by",
        "USD/h",
    ]
    assert heading.rstrip().endswith("USD/h")
    assert len(row) == len(heading)  # numbers stand under their heading


def test_numbers_are_not_parted_from_their_units() -> None:
    for width in range(40, 110):
        for line in render(plan(), "console", width).splitlines():
            assert not re.match(r"\s*(%|ms|Gbps)(\s|$)", line), (width, line)


def test_text_has_no_escapes_unless_color_is_asked_for() -> None:
    plain = render(plan("hostile"), "console", 80)
    colored = render(plan("hostile"), "console", 80, color=True)
    assert "\x1b" not in plain
    assert "\x1b[" in colored
    assert ANSI.sub("", colored) == plain


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_color_only_on_a_terminal_that_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    terminal, pipe = Terminal(), io.StringIO()
    print_console(plan_view(plan()), terminal, 80)
    print_console(plan_view(plan()), pipe, 80)
    assert "\x1b[" in terminal.getvalue()
    assert "\x1b" not in pipe.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_color(terminal)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not wants_color(terminal)


def test_english_reports_are_ascii_where_the_names_are() -> None:
    assert render(plan(), "console", 80).isascii()


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Mn", "Me"))),
       st.integers(4, 60))  # fmt: skip
def test_breaking_loses_nothing_and_fits(text: str, width: int) -> None:
    slices = cuts(text, width, width)
    assert letters("".join(text[a:b] for a, b in slices)) == letters(text)
    assert all(cell_len(text[a:b]) <= width for a, b in slices)


def test_a_chinese_line_does_not_begin_with_a_comma() -> None:
    text = "交接处间隙\uff0c" * 30
    for width in range(6, 40):
        for start, _ in cuts(text, width, width):
            assert text[start] != "\uff0c"


def comparison() -> Comparison:
    names = ("no_relay", "example", "many_sites", "infeasible", "huge", "hostile")
    return Comparison(tuple((f"{name} fleet of today", plan(name)) for name in names))


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("width", WIDTHS)
def test_comparisons_fit_too(width: int, lang: str) -> None:
    text = render(comparison(), "console", width, lang)
    assert all(cell_len(line) <= width for line in text.splitlines())
    for amount in ("382.40", "412.80", "592.20", "123,457,776,666.75"):
        assert amount in text


def test_the_console_is_the_only_format_that_needs_rich() -> None:
    code = (
        "import sys\n"
        "from report_examples import plan\n"
        "from pdd_plan.report import render\n"
        "for form in ('md', 'csv', 'json', 'html'): render(plan(), form)\n"
        "heavy = {'rich', 'matplotlib', 'scipy', 'numpy', 'pulp'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": _path()})


def _path() -> str:
    from pathlib import Path

    here = Path(__file__).resolve().parent
    return f"{here.parent.parent}:{here}"
