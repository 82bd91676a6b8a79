"""The cost along each of two axes: slices, their chart as a picture, and its crossings."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from xml.etree import ElementTree

import pytest

from pdd_plan.errors import InputError
from pdd_plan.report.sweep import SweepAxis, SweepReport, SweepRow, Varied, middle_slices
from pdd_plan.report.sweep_files import render_sweep
from pdd_plan.studies.sweep_outcome import Outcome

SIZES = (10.0, 20.0, 30.0, 40.0)
PRICES = (1.0, 2.0, 3.0)
COST = "usd_per_million_output_tokens"


def costs(size: float, price: float) -> dict[str, float | None]:
    """Single site 6; PDD 3 price + size / 10, from 20 Gbps on; cross site 1 more, from 30 on."""
    pdd = 3 * price + size / 10
    return {
        "single_site": 6.0,
        "pdd": pdd if size >= 20 else None,
        "cross_site": pdd + 1 if size >= 30 else None,
    }


def row(steps: tuple[int, int]) -> SweepRow:
    kinds = costs(SIZES[steps[0]], PRICES[steps[1]])
    best = min((cost, name) for name, cost in kinds.items() if cost is not None)
    values = {f"{name}_{COST}": cost for name, cost in kinds.items()}
    outcome = Outcome("optimal", currency="USD", architecture=best[1])
    return SweepRow(steps, (), outcome.record() | values | {COST: best[0]})


def axis(path: str, unit: str, numbers: tuple[float, ...]) -> SweepAxis:
    return SweepAxis((Varied(path, tuple(f"{x:g} {unit}" for x in numbers), unit, numbers),))


@pytest.fixture
def report() -> SweepReport:
    axes = (axis("links.a-b.bandwidth", "Gbps", SIZES), axis("chips.price", "USD/h", PRICES))
    rows = tuple(row(steps) for steps in product(range(len(SIZES)), range(len(PRICES))))
    return SweepReport("fleet", axes, rows, "pdd-plan sweep", "1")


def test_slices_hold_the_middle_value_of_the_other_axis(report):
    along_size, along_price = middle_slices(report)
    assert (along_size.held.path, along_size.step) == ("chips.price", 1)
    assert [r.amount(COST) for r in along_size.report.rows] == [6.0, 6.0, 6.0, 6.0]
    assert (along_price.held.path, along_price.step) == ("links.a-b.bandwidth", 2)
    assert [r.amount(COST) for r in along_price.report.rows] == [6.0, 6.0, 6.0]


@pytest.mark.parametrize("axes", [1, 3])
def test_only_two_axes_have_slices(report, axes):
    more = (report.axes * 2)[:axes]
    assert middle_slices(replace(report, axes=more)) == ()


def test_an_axis_without_numbers_or_with_two_values_has_no_curve(report):
    names = SweepAxis((Varied("chips.price", ("low", "middle", "high")),))
    (only,) = middle_slices(replace(report, axes=(report.axes[0], names)))
    assert only.report.axes == (report.axes[0],)
    pair = axis("chips.price", "USD/h", PRICES[:2])
    rows = tuple(r for r in report.rows if r.steps[1] < 2)
    (only,) = middle_slices(replace(report, axes=(report.axes[0], pair), rows=rows))
    assert only.report.axes == (report.axes[0],)


def crossed(report: SweepReport) -> SweepReport:
    """The report with a middle price of 1, at which the split is cheaper from 20 Gbps on."""
    order = (1, 0, 2)
    prices = tuple(PRICES[i] for i in (0, 1, 2))
    assert prices == PRICES
    rows = tuple(replace(r, steps=(r.steps[0], order.index(r.steps[1]))) for r in report.rows)
    numbers = (0.5, 1.0, 3.0)
    return replace(report, axes=(report.axes[0], axis("chips.price", "USD/h", numbers)), rows=rows)


def test_the_picture_has_a_panel_for_each_axis_and_marks_the_crossings(report):
    text = render_sweep(crossed(report), "svg")
    root = ElementTree.fromstring(text)  # noqa: S314 - made here
    said = [e.text or "" for e in root.iter() if e.tag.endswith("text")]
    assert "chips.price = 1 USD/h" in said
    assert "links.a-b.bandwidth = 30 Gbps" in said
    # At 1 USD/h PDD costs 5 at its first size, 20 Gbps, where single site costs 6.
    assert "20 Gbps" in said
    assert float(root.get("width", 0)) == 720
    assert "single site" in said
    assert "aggregated" not in said
    assert "prefers-color-scheme" in text


def test_the_sentences_name_the_value_that_is_held(report):
    text = " ".join(render_sweep(crossed(report), "console", width=300).split())
    assert "At chips.price = 1 USD/h: single site is cheaper up to 10 Gbps, PDD from 20" in text
    html = render_sweep(crossed(report), "html")
    assert html.count("<svg") == 3  # the levers, the cost and the kind over both axes


def test_nothing_is_drawn_without_a_plan(report):
    none = Outcome("infeasible", "no fleet").record()
    empty = replace(report, rows=tuple(replace(r, record=none) for r in report.rows))
    with pytest.raises(InputError, match="nothing to draw"):
        render_sweep(empty, "svg")
