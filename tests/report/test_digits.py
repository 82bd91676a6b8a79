"""How numbers are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdd_plan.report import digits


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0 ms"),
        (0.00004, "0.04 ms"),
        (0.0312, "31 ms"),
        (0.0062, "6.2 ms"),
        (0.305, "305 ms"),
        (0.9996, "1.0 s"),
        (8.7, "8.7 s"),
        (99.96, "100 s"),
        (7200.5, "7,200 s"),
    ],
)
def test_seconds(value: float | None, text: str) -> None:
    assert digits.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "limit", "text"),
    [
        (10.004, 10.0, "10.004 s"),
        (9.96, 10.0, "9.96 s"),
        (10.0, 10.0, "10.0 s"),
        (8.7, 10.0, "8.7 s"),
        (0.0604, 0.06, "60.4 ms"),
    ],
)
def test_a_time_beside_its_limit_does_not_read_like_it(
    value: float, limit: float, text: str
) -> None:
    assert digits.seconds(value, limit) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.78, "78 %"),
        (0.061, "6.1 %"),
        (0.9996, "99.96 %"),
        (0.0996, "10 %"),
        (0.0004, "0.04 %"),
        (-0.27, "-27 %"),
        (1.25, "125 %"),
    ],
)
def test_percent(value: float, text: str) -> None:
    assert digits.percent(value) == text


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_only_all_and_nothing_read_as_100_and_0_percent(fraction: float) -> None:
    assert digits.percent(fraction) not in ("0 %", "100 %") or fraction > 1 - 1e-11


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (412.8, "412.80"),
        (1.37, "1.37"),
        (0.0343, "0.0343"),
        (0.000_012_3, "0.0000123"),
        (0.0, "0.00"),
        (1_234_567.891, "1,234,567.89"),
        (2e15, "2e+15"),
        (1e-9, "1.00e-09"),
    ],
)
def test_money(value: float, text: str) -> None:
    assert digits.money(value) == text


@given(st.floats(1e-12, 1e18), st.integers(2, 8))
def test_significant_digits_are_kept(value: float, wanted: int) -> None:
    text = digits.significant(value, wanted).replace(",", "")
    assert float(text) == pytest.approx(value, rel=0.5 * 10 ** (1 - wanted) * 1.001)


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (1e-6, "0"), (1.1e-6, "0.0001 %"), (0.034, "3.4 %")]
)
def test_a_gap_of_one_in_a_million_counts_as_none(value: float, text: str) -> None:
    assert digits.gap(value) == text


def test_limits_keep_their_digits() -> None:
    assert digits.limit_seconds(10.0) == "10 s"
    assert digits.limit_seconds(2.25) == "2.25 s"
    assert digits.limit_seconds(0.06) == "60 ms"


def test_names_cannot_act_on_the_terminal() -> None:
    assert digits.clean("a\x1b[2Jb\u202ec\n") == "a\\x1b[2Jb\\u202ec\\n"
    assert digits.clean("上海 β-site") == "上海 β-site"
