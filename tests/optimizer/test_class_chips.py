"""Classes of requests on chips of several kinds: a published example, brute force, refusals."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from benchmarks.validation.mixed_chips import A10G, A100, RATES
from pdd_plan.errors import InputError
from pdd_plan.optimizer.class_chips import ChipKind, ClassAssignment, assign_classes


@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_the_published_example(solver):
    """30 req/s in whole classes: 3 A10G and 1 A100, $6.70 an hour."""
    best = assign_classes(RATES, [A10G, A100], slices=1, solver=solver)
    assert best is not None
    assert best.chips == {"A10G": 3, "A100-80GB": 1}
    assert best.usd_per_hour == pytest.approx(6.70, abs=0.005)
    assert best.lower_bound_usd_per_hour == pytest.approx(6.70, abs=1e-5)


def test_the_published_alternatives_of_one_kind():
    """One kind alone costs more: 12 A10G or 2 A100 by the same numbers."""
    alone = assign_classes(RATES, [A10G], slices=1)
    assert alone is not None
    # 6/2 + 3/1 + 15/5 + 6/2 = 12 chips' worth of work.
    assert alone.chips == {"A10G": 12}
    big = assign_classes(RATES, [A100], slices=1)
    assert big is not None
    # 6/20 + 3/20 + 15/40 + 6/20 = 1.125.
    assert big.chips == {"A100-80GB": 2}
    assert min(alone.usd_per_hour, big.usd_per_hour) > 6.70


def test_classes_that_may_be_divided_cost_less():
    """A third of the long prompts fills one A10G, and the rest just fits one A100: $4.68."""
    best = assign_classes(RATES, [A10G, A100])
    assert best is not None
    assert best.chips == {"A10G": 1, "A100-80GB": 1}
    assert best.usd_per_hour == pytest.approx(1.01 + 3.67)
    # By hand: moving 5 req/s of "long, short" to the A10G takes 5/40 off the A100's 1.125.
    assert best.shares["long, short"]["A10G"] == pytest.approx(1 / 3, abs=1e-6)
    assert best.utilization == pytest.approx({"A10G": 1.0, "A100-80GB": 1.0})


def enumerated(
    rates: dict[str, float], kinds: list[ChipKind], slices: int | None, most: float
) -> float:
    """Least cost, by looking at every vector of counts; packing of slices by recursion."""
    ranges = [range((kind.available or 0) + 1) for kind in kinds]
    best = np.inf
    for counts in itertools.product(*ranges):
        cost = sum(n * kind.usd_per_hour for n, kind in zip(counts, kinds, strict=True))
        if cost < best and packs(rates, kinds, counts, slices, most):
            best = cost
    return float(best)


def packs(rates, kinds, counts, slices, most) -> bool:
    """Whether counts of chips serve all rates."""
    names = list(rates)
    if slices is None:
        cells = [(i, k) for i in range(len(names)) for k in range(len(kinds))]
        cells = [(i, k) for i, k in cells if kinds[k].requests_per_s.get(names[i], 0.0) > 0.0]
        equal = np.zeros((len(names), len(cells)))
        less = np.zeros((len(kinds), len(cells)))
        for column, (i, k) in enumerate(cells):
            equal[i, column] = 1.0
            less[k, column] = rates[names[i]] / kinds[k].requests_per_s[names[i]]
        room = np.array(counts, dtype=float) * most + 1e-9
        return bool(
            linprog(np.zeros(len(cells)), less, room, equal, np.ones(len(names))).status == 0
        )
    items = [name for name in names for _ in range(slices)]

    def fill(position: int, room: tuple[float, ...]) -> bool:
        if position == len(items):
            return True
        name = items[position]
        for k, kind in enumerate(kinds):
            speed = kind.requests_per_s.get(name, 0.0)
            need = rates[name] / slices / speed if speed > 0.0 else np.inf
            if need <= room[k] + 1e-9:
                left = list(room)
                left[k] -= need
                if fill(position + 1, tuple(left)):
                    return True
        return False

    return fill(0, tuple(n * most for n in counts))


def random_case(seed: int) -> tuple[dict[str, float], list[ChipKind]]:
    rng = np.random.default_rng(seed)
    names = [f"c{i}" for i in range(int(rng.integers(2, 4)))]
    rates = {name: float(rng.uniform(0.5, 8.0)) for name in names}
    kinds = []
    for k in range(int(rng.integers(2, 4))):
        speeds = {
            name: float(rng.uniform(0.5, 4.0) * (k + 1)) for name in names if rng.uniform() < 0.85
        }
        price = float(rng.uniform(0.5, 2.0) * (k + 1) ** 0.8)
        kinds.append(ChipKind(f"k{k}", price, speeds, int(rng.integers(1, 6))))
    return rates, kinds


@pytest.mark.parametrize("slices", [1, 2, None])
@pytest.mark.parametrize("seed", range(8))
def test_cheapest_equals_enumeration(seed, slices):
    rates, kinds = random_case(seed)
    most = 0.9 if seed % 2 else 1.0
    served = all(any(k.requests_per_s.get(n, 0.0) > 0.0 for k in kinds) for n in rates)
    if not served:
        with pytest.raises(InputError):
            assign_classes(rates, kinds, slices=slices, most_utilization=most)
        return
    expected = enumerated(rates, kinds, slices, most)
    best = assign_classes(rates, kinds, slices=slices, most_utilization=most)
    if np.isinf(expected):
        assert best is None
        return
    assert best is not None
    assert best.usd_per_hour == pytest.approx(expected, rel=1e-6)
    consistent(best, rates, kinds, most)


def consistent(
    best: ClassAssignment, rates: dict[str, float], kinds: list[ChipKind], most: float
) -> None:
    """Everything is served, within stock, and nothing is busier than allowed."""
    for name, shares in best.shares.items():
        assert sum(shares.values()) == pytest.approx(1.0)
        assert name in rates
    for kind in kinds:
        busy = sum(
            rates[name] * shares.get(kind.name, 0.0) / kind.requests_per_s[name]
            for name, shares in best.shares.items()
            if shares.get(kind.name, 0.0) > 0.0
        )
        assert busy <= best.chips[kind.name] * most * (1 + 1e-6) + 1e-9
        assert best.chips[kind.name] <= (kind.available or 0)


def test_finer_slices_never_cost_more():
    costs = []
    for slices in (1, 2, 4, 8, None):
        best = assign_classes(RATES, [A10G, A100], slices=slices)
        assert best is not None
        costs.append(best.usd_per_hour)
    assert costs == sorted(costs, reverse=True)


def test_stock_that_is_too_small_has_no_answer():
    few = ChipKind("A10G", 1.01, A10G.requests_per_s, available=2)
    assert assign_classes(RATES, [few]) is None


@pytest.mark.parametrize(
    ("rates", "kinds", "options", "message"),
    [
        ({"new": 1.0}, [A10G], {}, "no kind of chip serves class new"),
        ({"short, long": -1.0}, [A10G], {}, "-1 req/s"),
        (RATES, [A10G, A10G], {}, "one name"),
        (RATES, [A10G], {"slices": 0}, "slices = 0"),
        (RATES, [A10G], {"most_utilization": 1.5}, "1.5"),
        (RATES, [ChipKind("x", -1.0, A10G.requests_per_s)], {}, "negative"),
    ],
)
def test_wrong_numbers_are_refused(rates, kinds, options, message):
    with pytest.raises(InputError, match=message):
        assign_classes(rates, kinds, **options)


def test_the_example_of_the_guide_runs():
    page = Path(__file__).resolve().parents[2] / "docs" / "size-routing.md"
    (code,) = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    exec(compile(code, str(page), "exec"), {})  # noqa: S102 - our own document
