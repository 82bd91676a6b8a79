"""Crossings of curves against straight lines, whose meeting point is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdd_plan.report.sweep_crossings import Crossing, crossings

XS = tuple(float(x) for x in range(11))


def line(slope: float, start: float):
    return tuple((x, start + slope * x) for x in XS)


@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(0.01, 9.99))
def test_straight_lines_meet_where_geometry_says(one, other, meet):
    # Both pass through (meet, 7).
    found = crossings({"one": line(one, 7 - one * meet), "other": line(other, 7 - other * meet)})
    if abs(one - other) < 1e-3:
        return
    (crossing,) = found
    assert crossing.at == pytest.approx(meet, abs=1e-6)
    assert crossing.value == pytest.approx(7, abs=1e-4)
    assert crossing.low <= meet <= crossing.high
    steeper, flatter = ("one", "other") if one > other else ("other", "one")
    assert (crossing.below, crossing.above) == (steeper, flatter)


def test_the_lower_curve_before_is_named_first():
    (found,) = crossings({"up": ((0, 1), (1, 3)), "flat": ((0, 2), (1, 2))})
    assert found == Crossing("up", "flat", 0, 1, 0.5, 2.0)


def test_curves_that_touch_or_run_together_do_not_cross():
    assert crossings({"v": ((0, 1), (1, 0), (2, 1)), "flat": ((0, 0), (1, 0), (2, 0))}) == ()
    assert crossings({"a": ((0, 1), (1, 2)), "b": ((0, 1), (1, 2))}) == ()
    assert crossings({"a": ((0, 1), (1, 2)), "b": ((0, 1), (1, 3))}) == ()


def test_curves_that_cross_while_running_together_have_the_whole_stretch_between():
    a = ((0, 1), (1, 2), (2, 2), (3, 2))
    b = ((0, 2), (1, 2), (2, 2), (3, 1))
    (found,) = crossings({"a": a, "b": b})
    assert (found.below, found.above, found.low, found.high) == ("a", "b", 0, 3)


def test_a_curve_that_begins_below_another_takes_its_place():
    a = ((0, 5), (1, 5), (2, 5))
    b = ((0, None), (1, None), (2, 3))
    assert crossings({"a": a, "b": b}) == (Crossing("a", "b", 1, 2, None, None),)


def test_a_curve_that_begins_above_another_does_not():
    assert crossings({"a": ((0, 5), (1, 5)), "b": ((0, None), (1, 8))}) == ()
    assert crossings({"a": ((0, None), (1, None)), "b": ((0, None), (1, 8))}) == ()


def test_several_crossings_come_in_order():
    wave = tuple((x, float((-1) ** int(x))) for x in XS)
    flat = tuple((x, 0.0) for x in XS)
    found = crossings({"wave": wave, "flat": flat})
    assert [item.at for item in found] == [x + 0.5 for x in XS[:-1]]


def test_only_points_that_both_have_count():
    assert crossings({"a": ((0, 1), (2, 1)), "b": ((1, 0), (3, 5))}) == ()
