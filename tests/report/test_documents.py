"""Markdown, HTML and CSV: structure, escaping, and numbers that come back."""

from __future__ import annotations

import csv
import html.parser
import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_examples import EVIL, EXAMPLES, plan

from pdd_plan.errors import InputError
from pdd_plan.report import Comparison, render, write
from pdd_plan.report.csv_files import csv_text, safe_cell
from pdd_plan.report.markdown import escape
from pdd_plan.report.svg import ticks
from pdd_plan.report.tidy import Tidy, plan_tables

# ---- Markdown


def markdown_tables(text: str) -> list[list[list[str]]]:
    """Parse pipe tables as GitHub does: cells are parted by pipes that are not escaped."""
    tables: list[list[list[str]]] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("|"):
            if not inside:
                tables.append([])
            tables[-1].append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        inside = line.startswith("|")
    return tables


@pytest.mark.parametrize("name", EXAMPLES)
def test_markdown_tables_are_well_formed(name: str) -> None:
    for table in markdown_tables(render(plan(name), "md")):
        assert len({len(row) for row in table}) == 1
        assert all(re.fullmatch(r"---:?", cell) for cell in table[1])


def test_markdown_has_the_sections_in_order() -> None:
    heads = re.findall(r"(?m)^## (.*)$", render(plan(), "md"))
    order = ["Summary", "Fleet", "Why", "Warnings", "Against simpler fleets", "Limits", "Latency"]
    assert [head for head in heads if head in order] == order
    assert heads[-2:] == ["Assumptions", "To reproduce"]


def test_markdown_takes_no_markup_from_names() -> None:
    text = render(plan("hostile"), "md")
    assert "<script>" not in text.replace("\\<", "")
    assert "\x1b" not in text
    assert escape("a*b_c_|<x>[y](z)`") == "a\\*b_c\\_\\|\\<x>\\[y\\](z)\\`"


# ---- HTML


class Page(html.parser.HTMLParser):
    """Collects texts, tags and attributes, and checks that every tag is closed in order."""

    VOID = frozenset({"meta", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_page_is_whole_and_needs_nothing_else(name: str) -> None:
    page = Page(render(plan(name), "html"))
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    names = {key for key, _ in page.attributes}
    assert not {"src", "href", "onload", "onclick", "onerror", "style"} & names
    assert "url(" not in render(plan(name), "html")
    ids = [value for key, value in page.attributes if key == "id"]
    assert len(ids) == len(set(ids))


def test_the_page_escapes_everything() -> None:
    text = render(plan("hostile"), "html")
    page = Page(text)
    assert any(EVIL in part for part in page.texts)  # shown as it is written
    assert "<script" not in text
    assert "<b>|" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_charts_are_drawn_within_their_frame() -> None:
    text = render(plan(), "html")
    assert text.count("<svg") == 5
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        width, height = map(float, re.search(r'viewBox="0 0 (\S+) (\S+)"', svg).groups())  # type: ignore[union-attr]
        assert "nan" not in svg
        for x in re.findall(r' (?:x|x1|x2|cx)="(-?[\d.]+)"', svg):
            assert 0 <= float(x) <= width
        for y in re.findall(r' (?:y|y1|y2|cy)="(-?[\d.]+)"', svg):
            assert 0 <= float(y) <= height


def test_the_limit_line_crosses_the_curve_where_the_share_is_that_of_the_limit() -> None:
    """Read the chart back: at 10 s the drawn curve of all requests has its share within."""
    svg = re.search(r'<svg[^>]*aria-labelledby="chart-ttft.*?</svg>', render(plan(), "html"))
    assert svg is not None
    rule = re.search(r'<line x1="([\d.]+)" y1="[\d.]+" x2="\1"[^>]*class="rule"', svg[0])
    zero = re.search(r'<line x1="[\d.]+" y1="([\d.]+)" x2="[\d.]+" y2="\1" class="axis"', svg[0])
    top = re.findall(r'<line x1="[\d.]+" y1="([\d.]+)" x2="[\d.]+" y2="\1" class="grid"', svg[0])
    points = re.search(r'<polyline points="([^"]*)" class="curve tone0"', svg[0])
    assert rule
    assert zero
    assert points
    drawn = [tuple(map(float, pair.split(","))) for pair in points[1].split()]
    y = min(drawn, key=lambda point: abs(point[0] - float(rule[1])))[1]
    bottom, ceiling = float(zero[1]), min(map(float, top))  # 0 and 1
    curves = plan().ttft_distribution
    assert curves is not None
    true = curves.overall[curves.time_s.index(10.0)]
    assert (bottom - y) / (bottom - ceiling) == pytest.approx(true, abs=0.005)


def test_bars_are_as_long_as_their_numbers() -> None:
    svg = re.search(r'<svg[^>]*aria-labelledby="chart-use.*?</svg>', render(plan(), "html"))
    assert svg is not None
    bars = re.findall(
        r'width="([\d.]+)" height="22" class="tone\d"><title>[^<]*: ([\d.]+)<', svg[0]
    )
    assert len(bars) == 4
    scale = {round(float(width) / float(value), 0) for width, value in bars}
    assert len(scale) == 1


@given(st.floats(-1e9, 1e9), st.floats(1e-9, 1e9))
def test_ticks_are_round_and_within(low: float, span: float) -> None:
    found = ticks(low, low + span)
    assert len(found) <= 12
    slack = 1e-6 * max(abs(low), span)
    assert all(low - slack <= tick <= low + span + slack for tick in found)


# ---- CSV


def parsed(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_number_comes_back_from_csv(name: str) -> None:
    for table in plan_tables(plan(name)):
        rows = parsed(csv_text(table))
        assert len(rows) == len(table.rows)
        for cells, row in zip(table.rows, rows, strict=True):
            for key, value in zip(table.keys, cells, strict=True):
                if isinstance(value, bool):
                    assert row[key] == str(value).lower()
                elif isinstance(value, int | float):
                    assert float(row[key]) == value
                elif value is None:
                    assert row[key] == ""
                else:
                    assert row[key] in (value, f"'{value}")


def test_csv_tables_carry_the_numbers_of_the_plan() -> None:
    tables = {table.name: parsed(csv_text(table)) for table in plan_tables(plan())}
    pools, links = tables["pools"], tables["links"]
    total = sum(float(row["usd_per_hour"]) for row in (*pools, *links))
    cost = plan().cost
    assert cost is not None
    assert total == pytest.approx(cost.usd_per_hour, rel=1e-12)
    latency = {(row["plan"], row["metric"]): row for row in tables["latency"]}
    assert float(latency["this_plan", "ttft_s"]["p90"]) == 8.7
    assert {row["baseline"] for row in tables["baselines"]} == {
        "single_site",
        "cross_site",
        "this_plan",
    }
    assert {"lanes", "assumptions", "slo", "summary"} <= set(tables)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_texts_that_begin_like_formulas_are_made_safe(start: str) -> None:
    assert safe_cell(f"{start}1+1") == f"'{start}1+1"


def test_negative_numbers_stay_numbers() -> None:
    assert safe_cell(-0.25) == "-0.25"
    assert safe_cell(-3) == "-3"


def test_no_cell_of_a_hostile_plan_is_a_formula() -> None:
    for table in plan_tables(plan("hostile")):
        for cells in csv.reader(io.StringIO(csv_text(table), newline=""), strict=True):
            for cell in cells:
                if cell[:1] in "=+-@\t\r" and cell:
                    float(cell)


@given(st.lists(st.lists(st.text() | st.floats(allow_nan=False) | st.integers(), min_size=2,
                         max_size=2), max_size=5))  # fmt: skip
def test_csv_follows_rfc_4180(rows: list[list[str | float | int]]) -> None:
    table = Tidy("any", ("a", "b"), tuple(tuple(row) for row in rows))
    text = csv_text(table)
    assert text.endswith("\r\n")
    back = list(csv.reader(io.StringIO(text, newline=""), strict=True))[1:]
    assert back == [[safe_cell(value) for value in row] for row in rows]


def test_one_long_table_holds_all_the_others() -> None:
    rows = parsed(render(plan(), "csv"))
    found = {(row["table"], row["row"], row["key"]): row["value"] for row in rows}
    assert float(found["pools", "1", "usd_per_hour"]) == pytest.approx(273.6)
    summary = {row["key"]: row["value"] for row in rows if row["table"] == "summary"}
    assert summary["routing.threshold"] == "0.93"


# ---- files


def test_csv_goes_to_a_folder_or_to_one_file(tmp_path: Path) -> None:
    files = write(plan(), "csv", tmp_path / "out")
    assert {file.name for file in files} == {f"{t.name}.csv" for t in plan_tables(plan())}
    assert all(file.is_file() for file in files)
    (one,) = write(plan(), "csv", tmp_path / "all.csv")
    assert one.read_bytes().decode("utf-8") == render(plan(), "csv")
    again = write(plan("no_relay"), "csv", tmp_path / "out")
    assert again == files
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.parametrize("form", ["console", "md", "json", "html"])
def test_files_hold_what_render_gives(form: str, tmp_path: Path) -> None:
    place = tmp_path / "报告.out"
    assert write(plan("hostile"), form, place) == (place,)
    assert place.read_bytes().decode("utf-8") == render(plan("hostile"), form, 100)
    (inside,) = write(plan(), form, tmp_path)
    assert inside.parent == tmp_path
    assert inside.stem == "plan"


def test_a_file_is_replaced_whole_and_keeps_its_rights(tmp_path: Path) -> None:
    place, link = tmp_path / "plan.md", tmp_path / "latest.md"
    place.write_text("old", encoding="utf-8")
    place.chmod(0o640)
    link.symlink_to(place)
    write(plan(), "md", link)
    assert link.is_symlink()
    assert place.read_text(encoding="utf-8").startswith("# agent-fleet")
    assert place.stat().st_mode & 0o777 == 0o640


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "plan.md"
    place.write_text("old", encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(InputError, match="No space left"):
        write(plan(), "md", place)
    assert place.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [place]
    with pytest.raises(InputError, match="No space left"):
        write(plan(), "csv", tmp_path / "new")
    assert list(tmp_path.iterdir()) == [place]


def test_places_that_cannot_be_written_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        write(plan(), "md", tmp_path / "nowhere" / "plan.md")
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="CSV needs a folder"):
        write(plan(), "csv", file)


# ---- comparisons


def comparison() -> Comparison:
    names = ("no_relay", "example", "many_sites", "infeasible")
    return Comparison(tuple((name, plan(name)) for name in names), "pdd-plan compare a b c d")


def cell(text: str, label: str) -> list[str]:
    for row in markdown_tables(text)[0]:
        if row[0].replace("\\", "").lstrip("~ ") == label:
            return [re.sub(r"^\*\*|\*\*$", "", part).replace("\\*", "*") for part in row[1:]]
    raise AssertionError(f"no row {label}")


def test_a_comparison_has_alternatives_as_columns() -> None:
    text = render(comparison(), "md")
    assert markdown_tables(text)[0][0] == ["", "no_relay", "example", "many_sites", "infeasible"]
    assert cell(text, "Chips, total") == ["128", "136", "200", "-"]
    assert cell(text, "Chips, beijing relay h200") == ["0", "8", "8", "-"]
    assert cell(text, "USD/M out against no_relay") == ["0 %", "+7.9 %", "+26 %", "-"]
    assert cell(text, "Status") == ["optimal", "optimal", "optimal", "infeasible"]
    assert cell(text, "Threshold") == ["0", "0.93", "0.93", "-"]


def test_the_best_of_a_row_is_marked_and_ties_are_shared() -> None:
    text = render(comparison(), "console", 120)
    row = next(line for line in text.splitlines() if line.strip().startswith("~ USD/M out "))
    assert row.split()[3:5] == ["1.27", "*"]
    tied = Comparison((("a", plan()), ("b", plan()), ("c", plan("many_sites"))))
    assert [part[-1] for part in cell(render(tied, "md"), "USD/h")] == ["*", "*", "0"]
    same = next(line for line in text.splitlines() if "TTFT P90" in line)
    assert "*" not in same
    assert not same.strip().startswith("~")


def test_a_plan_that_misses_a_limit_is_not_the_cheapest() -> None:
    missed = plan("example", slo=[{**json.loads(plan().to_json())["slo"][0], "met": False}])
    dear = plan("many_sites")
    text = render(Comparison((("dear", dear), ("missed", missed), ("other", plan("huge")))), "md")
    row = cell(text, "USD/h")
    assert not any("*" in part for part in row)  # only one plan of the three meets its limits


def test_unlike_things_are_called_so() -> None:
    text = render(Comparison((("usd", plan()), ("cny", plan("hostile")))), "console", 100)
    assert "different currencies" in text
    assert "412.80 CNY" in text
    more = plan(demand={**json.loads(plan().to_json())["demand"], "requests_per_s": 24.0})
    text = render(Comparison((("a", plan()), ("b", more))), "md")
    assert "not like for like" in text


def test_comparisons_come_in_every_format(tmp_path: Path) -> None:
    data = json.loads(render(comparison(), "json"))
    assert [part["name"] for part in data["alternatives"]][1] == "example"
    assert data["alternatives"][1]["plan"] == json.loads(plan().to_json())
    page = render(comparison(), "html")
    Page(page)
    assert page.count("<svg") == 2
    files = write(comparison(), "csv", tmp_path / "out")
    names = {"comparison.csv", "pools.csv", "links.csv", "warnings.csv"}
    assert {file.name for file in files} == names
    rows = parsed((tmp_path / "out" / "comparison.csv").read_bytes().decode("utf-8"))
    assert [row["alternative"] for row in rows] == [n for n, _ in comparison().alternatives]
    assert float(rows[1]["ttft_p90_s"]) == 8.7


def test_alternatives_need_names_of_their_own() -> None:
    with pytest.raises(InputError, match="two alternatives are named 'a'"):
        Comparison((("a", plan()), ("a", plan())))
    with pytest.raises(InputError, match="nothing to compare"):
        Comparison(())
