"""Quantities with units, against values worked out by hand."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdd_plan.errors import InputError
from pdd_plan.units import (
    DIMENSIONS,
    HOURS_PER_MONTH,
    QuantityError,
    dimension_of,
    format_quantity,
    nearest,
    parse_quantity,
    show_value,
    to_si,
    units_of,
)

KNOWN = [
    ("20 Gbps", "bandwidth", "Gbps", 2.5e9),
    ("2.5 GB/s", "bandwidth", "Gbps", 2.5e9),
    ("1 GiB/s", "bandwidth", "Gbps", 2**30),
    ("100 Mbit/s", "bandwidth", "Gbps", 12.5e6),
    (20, "bandwidth", "Gbps", 2.5e9),
    ("80 GiB", "bytes", "GiB", 80 * 2**30),
    ("80 GB", "bytes", "GiB", 80e9),
    ("70 KiB/token", "bytes_per_token", "B/token", 71680),
    ("28 ms", "time", "ms", 0.028),
    (28, "time", "ms", 0.028),
    ("10 s", "time", "ms", 10),
    ("1.5 h", "time", "s", 5400),
    ("50 µs", "time", "s", 50e-6),
    ("60 ms/token", "time_per_token", "s", 0.06),
    ("60 ms per token", "time_per_token", "s", 0.06),
    ("12 req/s", "request_rate", "req/s", 12),
    ("120 req/min", "request_rate", "req/s", 2),
    ("86400 requests/day", "request_rate", "req/s", 1),
    ("3.8 USD/h", "price", "USD/h", 3.8),
    ("730 USD/month", "price", "USD/h", 1),
    ("8760 USD/year", "price", "USD/h", 1),
    ("48 USD/chip/day", "price", "USD/h", 2),
    # 800 USD a month for 125,000,000 bytes/s over 730 hours.
    ("800 USD/Gbps/month", "bandwidth_price", "USD/Gbps/month", 800 / 125e6 / 730),
    ("0.8 USD/Mbps-month", "bandwidth_price", "USD/Gbps/month", 800 / 125e6 / 730),
    ("90 %", "fraction", "1", 0.9),
    ("90%", "fraction", "1", 0.9),
    (0.9, "fraction", "1", 0.9),
    ("0.81x", "factor", "1", 0.81),
    ("2.1×", "factor", "1", 2.1),  # noqa: RUF001
    ("700 W", "power", "W", 700),
    ("0.5 kW", "power", "W", 500),
    ("64k tokens", "tokens", "tokens", 64_000),
    ("64ktokens", "tokens", "tokens", 64_000),
    ("64k", "tokens", "tokens", 64_000),
    ("64Ki tokens", "tokens", "tokens", 65_536),
    ("1Mi", "tokens", "tokens", 2**20),
    ("1M tokens", "tokens", "tokens", 1e6),
    ("671 B", "parameters", "parameters", 671e9),
    ("989 TFLOP/s", "flop_rate", "FLOP/s", 989e12),
    ("81920 FLOP", "flop", "FLOP", 81920),
    ("1e-3 s", "time", "s", 0.001),
    (" 5ms ", "time", "s", 0.005),
    ("+.5 s", "time", "s", 0.5),
    ("-5 ms", "time", "s", -0.005),
]  # fmt: skip


@pytest.mark.parametrize(("value", "dimension", "unit", "expected"), KNOWN)
def test_known_values(value: object, dimension: str, unit: str, expected: float) -> None:
    assert parse_quantity(value, dimension, unit) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("value", "dimension", "unit", "message", "mend"),
    [
        ("28 ms", "bandwidth", "Gbps", "28 ms is a time (unit ms), not a bandwidth (unit Gbps)",
         "20 Gbps"),
        ("20 Gbps", "time", "ms", "20 Gbps is a bandwidth (unit Gbps), not a time (unit ms)",
         "10 ms"),
        ("80 GiB", "fraction", "1", "80 GiB is an amount of data (unit GiB), not a share", "90 %"),
        ("20 gbps", "bandwidth", "Gbps", 'unknown unit "gbps"', '"20 Gbps"'),
        ("64K tokens", "tokens", "tokens", "64K tokens is ambiguous", '"64Ki tokens"'),
        ("64K", "tokens", "tokens", "64K is ambiguous", '"64k tokens"'),
        ("3.5 CNY/h", "price", "USD/h", "3.5 CNY/h is in CNY, but the scenario counts in USD",
         "currency: CNY"),
        ("3.5 $/h", "price", "USD/h", 'unknown unit "$/h"', "USD/h"),
        ("3.5 USD", "price", "USD/h", 'unknown unit "USD"', "USD/h"),
        ("20", "bandwidth", "Gbps", "20 is text without a unit", "20 Gbps"),
        ("0.9", "fraction", "1", "0.9 is text without a unit", "0.9 without quotes"),
        ("", "time", "s", '"" is not a time', "10 s"),
        ("fast", "time", "s", '"fast" is not a time', "10 s"),
        ("1,000 ms", "time", "s", "1,000 ms has a separator", "10 s"),
        ("1_000 ms", "time", "s", "1_000 ms has a separator", "10 s"),
        ("1.2.3 s", "time", "s", "1.2.3 s is not a time", "10 s"),
        ("nan s", "time", "s", '"nan s" is not a time', "10 s"),
        ("nan", "time", "s", '"nan" is not a finite number', "10 s"),
        ("-inf", "time", "s", '"-inf" is not a finite number', "10 s"),
        (math.nan, "time", "s", "nan is not a finite number", "10 s"),
        (-math.inf, "time", "s", "-inf is not a finite number", "10 s"),
        ("1e400 s", "time", "s", "1e400 s is not a finite number", "10 s"),
        (10**400, "time", "s", "is not a finite number", "10 s"),
        (True, "time", "s", "true is not a time", "10 s"),
        (None, "time", "s", "an empty value is not a time", "10 s"),
        ([1], "time", "s", "a list is not a time", "10 s"),
        ({"a": 1}, "time", "s", "a mapping is not a time", "10 s"),
    ],
)  # fmt: skip
def test_wrong_values_name_value_and_mend(
    value: object, dimension: str, unit: str, message: str, mend: str
) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(value, dimension, unit)
    issue = caught.value.issues[0]
    assert message in issue.message
    assert mend in issue.help


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(10**5000, "time", "s")
    assert "more than 300 digits is not a finite number" in caught.value.issues[0].message


def test_an_error_is_an_input_error_with_exit_code_two() -> None:
    with pytest.raises(InputError) as caught:
        parse_quantity("1 parsec", "time", "s")
    assert caught.value.exit_code == 2


def test_the_help_is_in_the_currency_of_the_scenario() -> None:
    assert parse_quantity("7.5 CNY/h", "price", "CNY/h", "CNY") == 7.5
    with pytest.raises(QuantityError) as caught:
        parse_quantity("7.5 USD/h", "price", "CNY/h", "CNY")
    assert "currency: USD" in caught.value.issues[0].help
    with pytest.raises(QuantityError) as caught:
        parse_quantity("cheap", "price", "CNY/h", "CNY")
    assert "3.8 CNY/h" in caught.value.issues[0].help


FORMATTED = [
    (8.7, "time", "8.7 s"),
    (0.041, "time", "41 ms"),
    (0.9996, "time", "1 s"),
    (0.0994, "time", "99.4 ms"),
    (90.0, "time", "1.5 min"),
    (0.0, "time", "0 s"),
    (-0.028, "time", "-28 ms"),
    (2.5e9, "bandwidth", "20 Gbps"),
    (0.0, "bandwidth", "0 bps"),
    (80 * 2**30, "bytes", "80 GiB"),
    (64_000, "tokens", "64 k tokens"),
    (12.0, "request_rate", "12 req/s"),
    (13.44, "request_rate", "13.4 req/s"),
    (3.8, "price", "3.8 USD/h"),
    (412.8, "price", "413 USD/h"),
    (800 / 125e6 / 730, "bandwidth_price", "800 USD/Gbps/month"),
    (0.9, "fraction", "90 %"),
    (700.0, "power", "700 W"),
    (14300.0, "power", "14.3 kW"),
    (989e12, "flop_rate", "989 TFLOP/s"),
]


@pytest.mark.parametrize(("value", "dimension", "text"), FORMATTED)
def test_formatted_for_people(value: float, dimension: str, text: str) -> None:
    assert format_quantity(value, dimension) == text


def test_formatted_in_another_currency_and_without_end() -> None:
    assert format_quantity(7.5, "price", "CNY") == "7.5 CNY/h"
    assert format_quantity(math.inf, "time") == "inf s"


@given(
    dimension=st.sampled_from(sorted(DIMENSIONS)),
    value=st.floats(min_value=1e-12, max_value=1e15, allow_nan=False),
    digits=st.integers(min_value=2, max_value=17),
)
def test_what_is_written_is_read_back(dimension: str, value: float, digits: int) -> None:
    text = format_quantity(value, dimension, digits=digits)
    again = parse_quantity(text, dimension, "1")
    assert again == pytest.approx(value, rel=10.0 ** (1 - digits) + 1e-14)


@given(
    dimension=st.sampled_from(sorted(DIMENSIONS)),
    number=st.floats(min_value=-1e9, max_value=1e9, allow_nan=False),
    data=st.data(),
)
def test_text_with_a_unit_equals_the_bare_number_in_it(
    dimension: str, number: float, data: st.DataObject
) -> None:
    unit = data.draw(st.sampled_from(sorted(units_of(dimension))))
    written = parse_quantity(f"{number!r} {unit}", dimension, unit)
    assert written == parse_quantity(number, dimension, unit) == to_si(number, unit, dimension)


@given(st.text())
def test_any_text_is_read_or_refused_with_help(text: str) -> None:
    for dimension in ("time", "tokens", "price", "fraction"):
        try:
            number, said = parse_quantity(text, dimension, "1"), ["read"]
        except QuantityError as error:
            number, said = 0.0, [error.issues[0].message, error.issues[0].help]
        assert math.isfinite(number)
        assert all(said)


def test_examples_and_documented_names_parse() -> None:
    for dimension in DIMENSIONS.values():
        assert math.isfinite(parse_quantity(dimension.example, dimension.name, "1"))
        for name in re.findall(r"`([^`]+)`", dimension.accepts):
            if name != "/token":
                assert parse_quantity(f"1 {name}", dimension.name, "1") > 0, name
        for name in dimension.display:
            full = "USD" + name if dimension.money else name
            assert full in units_of(dimension.name)


def test_bits_and_bytes_differ_by_eight_and_binary_prefixes_by_their_power() -> None:
    rates = units_of("bandwidth")
    assert rates["GB/s"] == 8 * rates["Gbps"]
    assert units_of("bytes")["GiB"] / units_of("bytes")["GB"] == pytest.approx(1.073741824)
    assert HOURS_PER_MONTH * 12 == 8760


def test_dimension_of_a_unit() -> None:
    found = dimension_of("ms")
    assert found is not None
    assert found.name == "time"
    assert dimension_of("parsec") is None


def test_nearest_ignores_case_and_gives_up_on_strangers() -> None:
    assert nearest("H200", ["h20", "h200"]) == "h200"
    assert nearest("beijng", ["beijing", "shanghai"]) == "beijing"
    assert nearest("zzz", ["beijing"]) is None


def test_values_are_shown_as_their_author_knows_them() -> None:
    assert [show_value(v) for v in (True, None, [], {}, "28 ms", "fast", 3)] == [
        "true", "an empty value", "a list", "a mapping", "28 ms", '"fast"', "3",
    ]  # fmt: skip
    assert len(show_value("x" * 500)) == 60
