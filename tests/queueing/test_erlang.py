"""Erlang's formulas against published values and closed forms."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from pdd_plan.errors import UnstableQueueError
from pdd_plan.queueing import erlang_b, erlang_b_continuous, erlang_c


def exact_erlang_b(servers: int, load: Fraction) -> Fraction:
    terms = [load**n / math.factorial(n) for n in range(servers + 1)]
    return terms[-1] / sum(terms)


@pytest.mark.parametrize(
    ("servers", "load", "loss"),
    # ITU/ETSI traffic tables: offered load at a loss of 1 % and 0.1 %, four digits
    [
        (1, 0.0101, 0.01),
        (5, 1.361, 0.01),
        (10, 4.461, 0.01),
        (50, 37.90, 0.01),
        (100, 84.06, 0.01),
        (10, 3.092, 0.001),
        (100, 75.24, 0.001),
    ],
)
def test_erlang_b_gives_the_published_loads(servers: int, load: float, loss: float) -> None:
    assert float(erlang_b(servers, load)) == pytest.approx(loss, rel=2e-3)


@pytest.mark.parametrize("servers", [1, 2, 7, 30, 170])
@pytest.mark.parametrize("part", [Fraction(1, 10), Fraction(7, 10), Fraction(3, 2)])
def test_erlang_b_equals_exact_rational_arithmetic(servers: int, part: Fraction) -> None:
    load = part * servers
    expected = float(exact_erlang_b(servers, load))
    assert float(erlang_b(servers, float(load))) == pytest.approx(expected, rel=1e-12)
    assert float(erlang_b_continuous(servers, float(load))) == pytest.approx(expected, rel=1e-10)


def test_erlang_b_holds_for_thousands_of_servers() -> None:
    loss = erlang_b([1000, 3000, 5000], [1000.0, 2900.0, 9000.0])
    # a = c: B ~ sqrt(2 / (pi c)) / (1 + ...) (Jagerman 1974: 1/B = sqrt(pi c / 2) + 2/3 + ...)
    assert loss[0] == pytest.approx(1.0 / (math.sqrt(math.pi * 500.0) + 2.0 / 3.0), rel=1e-4)
    # far overload: the loss tends to 1 - c / a
    assert loss[2] == pytest.approx(1.0 - 5.0 / 9.0, rel=1e-3)
    np.testing.assert_allclose(
        loss, erlang_b_continuous([1000, 3000, 5000], [1000, 2900, 9000]), rtol=1e-9
    )


def test_continued_loss_satisfies_its_recurrence_between_whole_numbers() -> None:
    load, x = 3.7, np.linspace(0.05, 30.0, 77)
    below = erlang_b_continuous(x, load)
    np.testing.assert_allclose(
        erlang_b_continuous(x + 1.0, load), load * below / (x + 1.0 + load * below), rtol=1e-10
    )


def test_continued_loss_far_above_the_servers() -> None:
    # 1/B = 1 + x/a + x (x - 1) / a^2 + ...
    x, load = 2.5, 5000.0
    expected = 1.0 / (1.0 + x / load + x * (x - 1.0) / load**2)
    assert float(erlang_b_continuous(x, load)) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("servers", "load", "wait"),
    # C(1, a) = a, C(2, a) = a^2 / (2 + a); C(10, 7) and C(10, 9): by exact fractions (below)
    [(1, 0.37, 0.37), (2, 1.2, 1.2**2 / 3.2)],
)
def test_erlang_c_closed_forms(servers: int, load: float, wait: float) -> None:
    assert float(erlang_c(servers, load)) == pytest.approx(wait, rel=1e-12)


@pytest.mark.parametrize(("servers", "load"), [(10, 7), (10, 9), (40, 36), (150, 140)])
def test_erlang_c_equals_exact_rational_arithmetic(servers: int, load: int) -> None:
    top = Fraction(load) ** servers / math.factorial(servers) * Fraction(servers, servers - load)
    below = sum(Fraction(load) ** n / math.factorial(n) for n in range(servers))
    assert float(erlang_c(servers, load)) == pytest.approx(float(top / (below + top)), rel=1e-11)


def test_loads_that_cannot_be_served_are_refused() -> None:
    with pytest.raises(UnstableQueueError):
        erlang_c(4, 4.0)
    with pytest.raises(ValueError, match="0 or more"):
        erlang_b(4, -1.0)
    with pytest.raises(ValueError, match="finite"):
        erlang_c(4, np.nan)
    with pytest.raises(ValueError, match="whole"):
        erlang_b(2.5, 1.0)
