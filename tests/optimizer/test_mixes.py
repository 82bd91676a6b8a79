"""Cheapest engines against every combination of counts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from pdd_plan.optimizer import together
from pdd_plan.optimizer.mixes import Front, Stairs, cheapest_mix
from pdd_plan.optimizer.together import Demand, Supply, cheapest_together


def random_stairs(rng: np.random.Generator, pool: int, chip: str) -> Stairs:
    """A pool of up to four engines whose capacity rises by uneven steps."""
    counts = np.arange(rng.integers(2, 6))
    capacity = np.append(0.0, np.cumsum(rng.uniform(0.2, 2.0, counts.size - 1)))
    price = float(rng.uniform(1.0, 4.0))
    return Stairs(pool, counts, capacity, counts * price, 8, 4000.0, ("site", chip))


def every_mix(stairs: Sequence[Stairs]) -> list[tuple[int, ...]]:
    """Every vector of options."""
    return list(itertools.product(*(range(one.counts.size) for one in stairs)))


@pytest.mark.parametrize("seed", range(20))
def test_cheapest_mix_and_front_equal_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stairs = [random_stairs(rng, pool, f"chip-{pool}") for pool in range(3)]
    does, usd = [], []
    for options in every_mix(stairs):
        pairs = list(zip(stairs, options, strict=True))
        does.append(sum(one.capacity[option] for one, option in pairs))
        usd.append(sum(one.usd_per_hour[option] for one, option in pairs))
    capacity, cost = np.array(does), np.array(usd)
    front = Front.of(stairs, 2.0 * capacity.max())
    for needed in rng.uniform(0.01, 1.1 * capacity.max(), 12):
        enough = capacity >= needed
        mix = cheapest_mix(stairs, needed)
        if not enough.any():
            assert mix is None
            assert np.isinf(front.cost(needed))
            continue
        least = cost[enough].min()
        assert mix is not None
        assert mix.usd_per_hour == pytest.approx(least, rel=1e-9)
        assert float(front.cost(needed)) == pytest.approx(least, rel=1e-9)
        assert front.usd_per_work * needed <= least


@pytest.mark.parametrize("seed", range(20))
def test_the_hull_is_nowhere_above_the_cost(seed: int) -> None:
    """Each mix does as much as its capacity at its own price: lines above that cut plans off."""
    rng = np.random.default_rng(seed)
    stairs = [random_stairs(rng, pool, f"chip-{pool}") for pool in range(3)]
    front = Front.of(stairs, float(rng.uniform(3.0, 15.0)))
    assert front.hull
    for slope, height in front.hull:
        assert (slope * front.capacity + height <= front.usd_per_hour + 1e-9).all()
    touched = [
        max(slope * work + height for slope, height in front.hull) >= usd * (1.0 - 1e-5)
        for work, usd in zip(front.capacity[1:], front.usd_per_hour[1:], strict=True)
    ]
    assert any(touched)


@pytest.mark.parametrize("block", [2, together.BLOCK])
@pytest.mark.parametrize("limits", ["stock", "power", "room", "power and room"])
@pytest.mark.parametrize("seed", range(10))
def test_roles_that_share_a_site_equal_enumeration(
    seed: int, limits: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(together, "BLOCK", block)
    rng = np.random.default_rng(seed)
    pools = [random_stairs(rng, pool, f"chip-{pool % 2}") for pool in range(4)]
    chips = {("site", f"chip-{kind}"): int(8 * rng.integers(1, 6)) for kind in range(2)}
    watts, room = float(rng.uniform(1.2e4, 4e4)), 8.0 * rng.integers(3, 8)
    supply = Supply(
        chips,
        watts if "power" in limits else np.inf,
        room if "room" in limits else np.inf,
    )
    demands = [
        Demand(pools[:2], float(rng.uniform(0.5, 4.0))),
        Demand(pools[2:], float(rng.uniform(0.5, 4.0))),
    ]
    least = np.inf
    for options in every_mix(pools):
        pairs = list(zip(pools, options, strict=True))
        engines = {one.pool: int(one.counts[option]) for one, option in pairs}
        does = [one.capacity[option] for one, option in pairs]
        if sum(does[:2]) < demands[0].needed or sum(does[2:]) < demands[1].needed:
            continue
        if supply.holds(engines, {one.pool: one for one in pools}):
            least = min(least, sum(one.usd_per_hour[option] for one, option in pairs))
    mix = cheapest_together(demands, supply)
    if np.isinf(least):
        assert mix is None
        return
    assert mix is not None
    assert mix.usd_per_hour == pytest.approx(least, rel=1e-9)
    assert supply.holds(mix.engines, {one.pool: one for one in pools})
