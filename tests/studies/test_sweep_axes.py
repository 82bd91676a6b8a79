"""Reading ``--vary`` and ``--zip``: values, ranges with units, what is wrong with them."""

from __future__ import annotations

import pytest

from pdd_plan.errors import InputError
from pdd_plan.studies.sweep_axes import Axis, Scale, grid, parse_axes, scale_of


def values(text: str) -> list[str]:
    (axis,) = parse_axes([text])
    return [value for (value,) in axis.values]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1,2", ["1", "2"]),
        ("a = 1 , 2 ", ["1", "2"]),
        ("a=7", ["7"]),
        ("r=[prefill, relay],[relay]", ["[prefill, relay]", "[relay]"]),
        ("c={h20: {a: 1, b: 2}},{h200: {a: 1}}", ["{h20: {a: 1, b: 2}}", "{h200: {a: 1}}"]),
        ("n='a, b',c", ["'a, b'", "c"]),
        ("b=5 Gbps..20 Gbps/5 Gbps", ["5 Gbps", "10 Gbps", "15 Gbps", "20 Gbps"]),
        ("b=5..20/5 Gbps", ["5 Gbps", "10 Gbps", "15 Gbps", "20 Gbps"]),
        ("b=5 Gbps..15 Gbps / 5", ["5 Gbps", "10 Gbps", "15 Gbps"]),
        ("p=1 USD/h..2 USD/h/0.5 USD/h", ["1 USD/h", "1.5 USD/h", "2 USD/h"]),
        ("p=1 CNY/h..2 CNY/h/1 CNY/h", ["1 CNY/h", "2 CNY/h"]),
        ("p=1..2/0.5 USD/chip/h", ["1 USD/chip/h", "1.5 USD/chip/h", "2 USD/chip/h"]),
        ("t=500 ms..2 s/500 ms", ["500 ms", "1000 ms", "1500 ms", "2000 ms"]),
        ("t=1 s..2 s/250 ms", ["1000 ms", "1250 ms", "1500 ms", "1750 ms", "2000 ms"]),
        ("h=80 %..95 %/5 %", ["80 %", "85 %", "90 %", "95 %"]),
        ("x=1,5..9/2,20", ["1", "5", "7", "9", "20"]),
        ("x=.1...5/.2", ["0.1", "0.3", "0.5"]),
        ("x=-1..1/1", ["-1", "0", "1"]),
        ("x=1e2..3e2/1e2", ["100", "200", "300"]),
        ("x=10..12/5", ["10"]),
        ("m=../models/a.json,b.json", ["../models/a.json", "b.json"]),
    ],
)
def test_values_of_an_axis(text, expected):
    assert values(text) == expected


def test_a_range_has_no_rounding_errors():
    assert values("x=0..1/0.1") == ["0", *(f"0.{k}" for k in range(1, 10)), "1"]
    assert values("x=0.05 s..0.15 s/0.05 s") == ["0.05 s", "0.1 s", "0.15 s"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a", "is not path=value"),
        ("a=", "is not path=value"),
        ("=1", "is not path=value"),
        ("a=1,,2", "empty value"),
        ("a=1,2,", "empty value"),
        ("a=1,2,1", "has the value 1 twice"),
        ("a=1..2", "not the form first..last/step"),
        ("a=5..1/1", "ends below its start"),
        ("a=1..5/0", "step is not above 0"),
        ("a=1..5/-1", "step is not above 0"),
        ("a=1 s..5 Gbps/1 s", "mixes Gbps and s"),
        ("a=1..5 furlong/1 s", "mixes furlong and s"),
        ("a=1..1e9/1e-3", "has 999,999,999,001 values"),
    ],
)
def test_what_is_wrong_with_an_axis(text, said):
    with pytest.raises(InputError) as caught:
        parse_axes([text])
    (issue,) = caught.value.issues
    assert said in issue.message
    assert issue.help


def test_all_wrong_axes_are_told_at_once():
    with pytest.raises(InputError) as caught:
        parse_axes(["a=1..2", "b", "c=1,2", "c=3"], ["d="])
    messages = [issue.message for issue in caught.value.issues]
    assert len(messages) == 4
    assert "c is varied twice" in messages


def test_zipped_axes_advance_together():
    axes = parse_axes(["a=1,2"], ["b=1,1,2", "c=x..y,p,q"])
    assert axes[1] == Axis(("b", "c"), (("1", "x..y"), ("1", "p"), ("2", "q")))
    assert axes[1].changes(1) == ("b=1", "c=p")
    assert list(grid(axes)) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]


@pytest.mark.parametrize(
    ("together", "said"),
    [(["b=1,2", "c=1"], "b has 2, c has 1"), (["b=1,1", "c=2,2"], "there twice")],
)
def test_what_is_wrong_with_zipped_axes(together, said):
    with pytest.raises(InputError, match=said):
        parse_axes([], together)


def test_a_grid_that_is_a_typing_error_is_refused():
    with pytest.raises(InputError, match="1,000,000 points"):
        parse_axes(["a=1..1000/1", "b=1..1000/1"])


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["5 Gbps", "10 Gbps"], Scale("Gbps", (5.0, 10.0))),
        (["500 ms", "2 s"], Scale("ms", (500.0, 2000.0))),
        (["1", "2.5", "1e3"], Scale("", (1.0, 2.5, 1000.0))),
        (["80 %", "90 %"], Scale("%", (80.0, 90.0))),
        (["1 CNY/h", "2 CNY/h"], Scale("CNY/h", (1.0, 2.0))),
        (["1 s", "2 Gbps"], None),
        (["1", "many"], None),
        (["h20", "h200"], None),
        (["[1, 2]"], None),
        ([], None),
    ],
)
def test_values_as_numbers(texts, expected):
    assert scale_of(texts) == expected
